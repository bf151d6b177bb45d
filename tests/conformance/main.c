/* SPDX-License-Identifier: BSD-3-Clause */
/* Every sentence of Portals 3.3 that a program may rely on, over any transport and in any mode of the NIC. */
#include "tests/conformance/conformance.h"

#define CHAPTER_POINTER(name) &name##_chapter,
static const struct chapter *const chapters[] = {CHAPTERS(CHAPTER_POINTER) NULL};

static int list(const struct test *const *tables)
{
	(void)tables;
	return coverage_list(chapters);
}

int main(int argc, char **argv)
{
	const struct test *tables[sizeof(chapters) / sizeof(chapters[0])] = {0};
	const struct test *core[sizeof(chapters) / sizeof(chapters[0])] = {0};
	int core_count = 0;
	for (int i = 0; chapters[i]; i++) {
		tables[i] = chapters[i]->tests;
		if (chapters[i]->core)
			core[core_count++] = chapters[i]->tests;
	}
	peers_core(core);
	return peers_main(argc, argv, tables, list);
}
