/* SPDX-License-Identifier: BSD-3-Clause */
/* What the transport between processes of a node does where the kernel refuses something, and where there are many. */
#include "tests/faults/containers/containers.h"

int main(int argc, char **argv)
{
	const struct test *const tables[] = {hardening_tests, node_tests, NULL};
	return peers_main(argc, argv, tables, list_names);
}
