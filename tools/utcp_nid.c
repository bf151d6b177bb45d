/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: utcp_nid [DEVICE]
 * Prints the node id of an interface on a network device, named or by its IPv4 address; without one, of PTL_IFACE, else of the
 * one that the library would take.  For scripts that make a PTL_NIDMAP.
 */
#include <p3nal_utcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
	const char *device = count > 1 ? arguments[1] : getenv("PTL_IFACE");
	unsigned nid;

	if (count > 2 || (count == 2 && arguments[1][0] == '-')) {
		int help = strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0;

		fprintf(help ? stdout : stderr, "usage: utcp_nid [DEVICE]\n"
						"Prints the node id of an interface on DEVICE, as in 0x7f000001.\n");
		return help ? 0 : 2;
	}
	if (!device || !*device)
		device = "auto";
	if (p3tcp_my_nid(device, &nid)) {
		fprintf(stderr, "utcp_nid: no device %s with an IPv4 address\n", device);
		return 1;
	}
	printf("0x%08x\n", nid);
	return 0;
}
