/* SPDX-License-Identifier: BSD-3-Clause */
/* examples/object_store, which is built where SQLite is. */
#include "tests/behaviour/layers/layers.h"

int main(int argc, char **argv)
{
	static const struct test *const tables[] = {object_store_tests, object_fault_tests, object_crash_tests,
						    object_power_tests, NULL};
	return peers_main(argc, argv, tables, list_names);
}
