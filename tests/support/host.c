/* SPDX-License-Identifier: BSD-3-Clause */
/* See host.h. */
#include "tests/support/host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NETWORK 0x0a630000u /* 10.99.0.0, of which nothing is seen outside */

static int pair[HOSTS_IN_PAIR];

uint32_t host_nid(int host)
{
	return NETWORK + 1 + (uint32_t)host;
}

static int own_namespace(void)
{
	return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static struct ifreq request_for(const char *device)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	return request;
}

static int raise_device(int fd, const char *device)
{
	struct ifreq request = request_for(device);

	request.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &request);
}

static int raise_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = fd < 0 ? -1 : raise_device(fd, "lo");

	if (fd >= 0)
		close(fd);
	return error;
}

int host_enter(int namespace)
{
	return setns(namespace, CLONE_NEWNET);
}

bool host_alone(bool loopback)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	return !loopback || raise_loopback() == 0;
}

int host_create(void)
{
	int home = own_namespace(), made = -1;

	if (home < 0)
		return -1;
	if (unshare(CLONE_NEWNET) == 0) {
		if (raise_loopback() == 0)
			made = own_namespace();
		if (host_enter(home) != 0)
			made = -1;
	}
	close(home);
	return made;
}

static int set_address(int fd, unsigned what, uint32_t address)
{
	struct ifreq request = request_for(HOST_DEVICE);
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};

	memcpy(&request.ifr_addr, &name, sizeof(name));
	return ioctl(fd, what, &request);
}

/* The same at every life of the host, so that its neighbours' tables stay true. */
static int set_hardware_address(int fd, int host)
{
	struct ifreq request = request_for(HOST_DEVICE);

	request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(request.ifr_hwaddr.sa_data, (const char[]){2, 0, 0, 0, 0, (char)(host + 1)}, 6);
	return ioctl(fd, SIOCSIFHWADDR, &request);
}

int host_configure(int host)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	int error = set_hardware_address(fd, host) || set_address(fd, SIOCSIFADDR, host_nid(host)) ||
		    set_address(fd, SIOCSIFNETMASK, 0xffffff00u) || raise_device(fd, HOST_DEVICE);

	close(fd);
	return error ? -1 : 0;
}

static int join_pair(void)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "ip link add " HOST_DEVICE " netns /proc/%d/fd/%d type veth peer name " HOST_DEVICE
		 " netns /proc/%d/fd/%d",
		 getpid(), pair[0], getpid(), pair[1]);
	return system(command); // NOLINT(cert-env33-c): nothing of it comes from outside
}

static int configure_in(int namespace, int host)
{
	int home = own_namespace();
	int error = home < 0 || host_enter(namespace) || host_configure(host);

	error |= host_enter(home);
	close(home);
	return error;
}

const char *hosts_make_pair(void)
{
	if (geteuid() != 0)
		return "hosts are network namespaces, which only root can make";
	for (int host = 0; host < HOSTS_IN_PAIR; host++)
		if ((pair[host] = host_create()) < 0)
			return "this system makes no network namespaces";
	if (join_pair() != 0)
		return "'ip link add type veth' fails";
	for (int host = 0; host < HOSTS_IN_PAIR; host++)
		if (configure_in(pair[host], host))
			return "a veth device cannot be configured";
	return NULL;
}

int host_of_pair(int host)
{
	return pair[host];
}
