/* SPDX-License-Identifier: BSD-3-Clause */
/* The layers of examples/ that are built on Portals: what each promises, between processes. */
#include "tests/behaviour/layers/layers.h"

int main(int argc, char **argv)
{
	static const struct test *const tables[] = {am_tests, rm_tests, splitc_tests, NULL};
	return peers_main(argc, argv, tables, list_names);
}
