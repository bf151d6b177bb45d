/* SPDX-License-Identifier: BSD-3-Clause */
/* Old programs, over any transport and in any mode of the NIC. */
#include "tests/behaviour/clients/clients.h"

int main(int argc, char **argv)
{
#define TABLE_POINTER(table) table,
	const struct test *const tables[] = {CLIENT_TABLES(TABLE_POINTER) NULL};
	return peers_main(argc, argv, tables, list_names);
}
