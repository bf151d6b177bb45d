/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/interface.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/report.h"

static bool is_wanted(const struct ifaddrs *device, const char *wanted, bool loopback)
{
	char address[INET_ADDRSTRLEN];

	if (!device->ifa_addr || device->ifa_addr->sa_family != AF_INET || !(device->ifa_flags & IFF_UP))
		return false;
	if (strcmp(wanted, "auto") == 0)
		return loopback == !!(device->ifa_flags & IFF_LOOPBACK);
	inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)device->ifa_addr)->sin_addr, address, sizeof(address));
	return strcmp(wanted, device->ifa_name) == 0 || strcmp(wanted, address) == 0;
}

int interface_find(const char *wanted, char *name, size_t size, uint32_t *nid)
{
	struct ifaddrs *devices, *found = NULL;

	if (getifaddrs(&devices))
		return report_error(-ENODEV, "cannot list the network devices: %s", strerror(errno));
	for (int loopback = 0; loopback < 2 && !found; loopback++)
		for (struct ifaddrs *device = devices; device && !found; device = device->ifa_next)
			if (is_wanted(device, wanted, loopback))
				found = device;
	if (found) {
		snprintf(name, size, "%s", found->ifa_name);
		*nid = ntohl(((struct sockaddr_in *)(void *)found->ifa_addr)->sin_addr.s_addr);
	}
	freeifaddrs(devices);
	if (!found)
		return report_error(-ENODEV, "no network device of the name or IPv4 address %s is up", wanted);
	return 0;
}
