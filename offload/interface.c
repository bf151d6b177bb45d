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

#include "base/cancel.h"
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

/* Devices without an address are in the list too, with one of another family. */
static int refuse_device(const struct ifaddrs *device, const char *wanted)
{
	if (strcmp(wanted, "auto") == 0)
		return report_kept(-ENODEV,
				   "no network device with an IPv4 address is up, not even the loopback (ip link set "
				   "lo up); PTL_TRANSPORT=self and node need none");
	while (device && strcmp(wanted, device->ifa_name) != 0)
		device = device->ifa_next;
	if (!device)
		return report_kept(-ENODEV,
				   "no network device has the name or the IPv4 address %s (ip address lists them)",
				   wanted);
	if (!(device->ifa_flags & IFF_UP))
		return report_kept(-ENODEV, "network device %s is down (ip link set %s up)", wanted, wanted);
	return report_kept(-ENODEV, "network device %s has no IPv4 address", wanted);
}

int interface_find(const char *wanted, char *name, size_t size, uint32_t *nid)
{
	UNCANCELLED;
	struct ifaddrs *devices, *found = NULL;

	if (getifaddrs(&devices)) /* it wants memory and a descriptor */
		return report_error(-errno, "cannot list the network devices: %s%s", strerror(errno),
				    report_descriptor_hint(-errno));
	for (int loopback = 0; loopback < 2 && !found; loopback++)
		for (struct ifaddrs *device = devices; device && !found; device = device->ifa_next)
			if (is_wanted(device, wanted, loopback))
				found = device;
	if (found) {
		snprintf(name, size, "%s", found->ifa_name);
		*nid = ntohl(((struct sockaddr_in *)(void *)found->ifa_addr)->sin_addr.s_addr);
	}
	int rc = found ? 0 : refuse_device(devices, wanted);

	freeifaddrs(devices);
	return rc;
}
