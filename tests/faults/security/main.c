/* SPDX-License-Identifier: BSD-3-Clause */
/* What outsiders can do to processes that talk, and what a peer can claim and use. */
#include "tests/faults/security/security.h"

int main(int argc, char **argv)
{
	const struct test *const tables[] = {trust_tests, tcp_tests, protocol_tests, control_tests, NULL};
	return peers_main(argc, argv, tables, list_names);
}
