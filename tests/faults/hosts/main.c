/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of messages between hosts when the network fails them, and which way they take. */
#include "tests/faults/hosts/hosts.h"

static void enter(int host)
{
	if (my_rank == 0)
		wire_reset();
	barrier();
	wire_enter(host);
}

int main(int argc, char **argv)
{
	const struct test *const tables[] = {together_tests, impaired_tests, vanish_tests, NULL};
	const char *unable = wire_start();
	if (unable)
		return peers_skip("hosts", unable);
	peers_on_hosts(HOSTS, enter);
	return peers_main(argc, argv, tables, list_names);
}
