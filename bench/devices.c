/* SPDX-License-Identifier: BSD-3-Clause */
#include "devices.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RDMA      "/sys/class/infiniband"
#define QDISC_MAX 32

struct qdisc {
	int device;
	char kind[16];
};

void devices_read(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(text, (int)size, file))
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
}

static void read_attribute(const char *directory, const char *device, const char *name, char *text, size_t size)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s/%s", directory, device, name);
	devices_read(path, text, size);
}

/* Root disciplines only: their parts say no more. */
static bool note_qdisc(const struct nlmsghdr *message, struct qdisc *qdisc)
{
	const struct tcmsg *body = NLMSG_DATA(message);
	int length = (int)TCA_PAYLOAD(message);

	if (message->nlmsg_type != RTM_NEWQDISC || body->tcm_parent != TC_H_ROOT)
		return false;
	for (const struct rtattr *part = TCA_RTA(body); RTA_OK(part, length); part = RTA_NEXT(part, length))
		if (part->rta_type == TCA_KIND) {
			qdisc->device = body->tcm_ifindex;
			snprintf(qdisc->kind, sizeof(qdisc->kind), "%s", (const char *)RTA_DATA(part));
			return true;
		}
	return false;
}

/* All disciplines of this namespace, which every process may query; returns how many. */
static size_t list_qdiscs(struct qdisc *qdiscs, size_t room)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg body;
	} request = {.header = {.nlmsg_len = sizeof(request),
				.nlmsg_type = RTM_GETQDISC,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
	_Alignas(struct nlmsghdr) char answer[16384];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	size_t count = 0;
	bool done = fd < 0 || send(fd, &request, sizeof(request), 0) < 0;

	while (!done) {
		ssize_t received = recv(fd, answer, sizeof(answer), 0);
		unsigned length = received > 0 ? (unsigned)received : 0;
		done = received <= 0;
		for (const struct nlmsghdr *message = (const void *)answer; NLMSG_OK(message, length);
		     message = NLMSG_NEXT(message, length)) {
			if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
				done = true;
			else if (count < room)
				count += note_qdisc(message, &qdiscs[count]);
		}
	}
	if (fd >= 0)
		close(fd);
	return count;
}

static const char *qdisc_of(const struct qdisc *qdiscs, size_t count, const char *device)
{
	int index = (int)if_nametoindex(device);

	for (size_t i = 0; i < count; i++)
		if (qdiscs[i].device == index)
			return qdiscs[i].kind;
	return "none";
}

void devices_network(FILE *out)
{
	struct qdisc qdiscs[QDISC_MAX];
	size_t count = list_qdiscs(qdiscs, QDISC_MAX);
	struct ifaddrs *list = NULL;
	char address[INET_ADDRSTRLEN], mtu[16], state[16];
	bool any = false;

	if (getifaddrs(&list))
		list = NULL;
	for (const struct ifaddrs *one = list; one; one = one->ifa_next) {
		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET)
			continue;
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr, address,
			  sizeof(address));
		read_attribute("/sys/class/net", one->ifa_name, "mtu", mtu, sizeof(mtu));
		read_attribute("/sys/class/net", one->ifa_name, "operstate", state, sizeof(state));
		fprintf(out, "%-10s %s, %s (link %s), mtu %s, queueing discipline %s\n", one->ifa_name, address,
			one->ifa_flags & IFF_UP ? "up" : "down", state, mtu, qdisc_of(qdiscs, count, one->ifa_name));
		any = true;
	}
	if (list)
		freeifaddrs(list);
	if (!any)
		fprintf(out, "none has an IPv4 address\n");
}

static void print_ports(FILE *out, const char *device)
{
	char directory[512], state[32], rate[32], layer[32], parent[32];

	snprintf(directory, sizeof(directory), RDMA "/%s/ports", device);
	read_attribute(RDMA, device, "parent", parent, sizeof(parent)); /* soft-RoCE: the network device beneath */
	DIR *ports = opendir(directory);
	for (struct dirent *port; ports && (port = readdir(ports));) {
		if (port->d_name[0] == '.')
			continue;
		read_attribute(directory, port->d_name, "state", state, sizeof(state));
		read_attribute(directory, port->d_name, "rate", rate, sizeof(rate));
		read_attribute(directory, port->d_name, "link_layer", layer, sizeof(layer));
		fprintf(out, "%-10s port %s: %s, %s, %s%s%s\n", device, port->d_name, state, layer, rate,
			*parent ? ", over " : "", parent);
	}
	if (ports)
		closedir(ports);
}

void devices_rdma(FILE *out)
{
	DIR *devices = opendir(RDMA);
	bool any = false;

	for (struct dirent *device; devices && (device = readdir(devices));) {
		if (device->d_name[0] == '.')
			continue;
		print_ports(out, device->d_name);
		any = true;
	}
	if (devices)
		closedir(devices);
	if (!any)
		fprintf(out, "none (" RDMA ")\n");
	else if (access("/dev/infiniband", X_OK))
		fprintf(out, "/dev/infiniband is not there: no access from here\n");
}
