/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads, forks, several interfaces, and how they end; over any transport and in any mode of the NIC. */
#include "tests/behaviour/stress/stress.h"
#include "tests/behaviour/threads/threads.h"
#include "tests/conformance/conformance.h"

int main(int argc, char **argv)
{
#define TABLE_POINTER(table) table,
	const struct test *const tables[] = {threads_chapter.tests, thread_tests, THREAD_TABLES(TABLE_POINTER) NULL};
	return peers_main(argc, argv, tables, list_names);
}
