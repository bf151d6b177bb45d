/* SPDX-License-Identifier: BSD-3-Clause */
/* See wire.h.  A host's hardware address ends with its number plus one (host.c). */
#include "tests/faults/hosts/wire.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/harness.h"
#include "tests/support/host.h"

#define FRAME_SIZE 1600 /* an MTU of 1500 and its header */
#define FRAMES     4096 /* on their way at a time; more are lost, as in a switch */
#define MILLION    1000000u

enum command { RESET, DELAY, LOSE, COUNT_LOST, CUT, JOIN, VANISH, RETURN };

struct order {
	enum command command;
	unsigned value; /* a host, microseconds, frames in a million */
};

struct frame {
	uint64_t due;
	unsigned hosts; /* that it is for, one bit each */
	size_t length;
	unsigned char bytes[FRAME_SIZE];
};

struct wire {
	int control, tap[WIRE_HOSTS]; /* -1: there is no such host now */
	bool cut[WIRE_HOSTS];
	unsigned delay, loss;
	int lost;
	uint64_t dice;
	unsigned first, count; /* of frames[] */
	struct frame frames[FRAMES];
};

/* What all know of the wire: its process, and which of its descriptors is a host's namespace. */
static struct {
	pid_t pid;
	_Atomic int namespace[WIRE_HOSTS];
} * shared;
static int orders = -1;

/* ---- In the wire's process ---- */

static int open_tap(void)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", HOST_DEVICE);
	if (fd >= 0 && ioctl(fd, TUNSETIFF, &request) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The wire's own namespace does not matter: it stays on the host it made last. */
static int bring_host(struct wire *wire, int host)
{
	int namespace = host_create();

	if (namespace < 0 || host_enter(namespace) != 0)
		return -1;
	wire->tap[host] = open_tap();
	wire->cut[host] = false;
	atomic_store(&shared->namespace[host], namespace);
	return wire->tap[host] < 0 ? -1 : host_configure(host);
}

static void take_host_away(struct wire *wire, int host, int home)
{
	close(wire->tap[host]);
	wire->tap[host] = -1;
	if (host_enter(home) == 0)
		close(atomic_load(&shared->namespace[host]));
}

static bool is_lost(struct wire *wire)
{
	wire->dice ^= wire->dice << 13;
	wire->dice ^= wire->dice >> 7;
	wire->dice ^= wire->dice << 17;
	bool lost = wire->dice % MILLION < wire->loss;
	wire->lost += lost;
	return lost;
}

/* Broadcasts are for all. */
static unsigned hosts_for(const unsigned char *frame)
{
	static const unsigned char common[5] = {2};

	return memcmp(frame, common, sizeof(common)) == 0 ? 1u << (frame[5] - 1) : ~0u;
}

static void take_frames(struct wire *wire, int host)
{
	while (wire->count < FRAMES) {
		struct frame *frame = &wire->frames[(wire->first + wire->count) % FRAMES];
		ssize_t length = read(wire->tap[host], frame->bytes, sizeof(frame->bytes));

		if (length < 0)
			return;
		if (length < 6 || wire->cut[host] || is_lost(wire))
			continue;
		frame->length = (size_t)length;
		frame->hosts = hosts_for(frame->bytes) & ~(1u << host);
		frame->due = now_ns() + wire->delay * 1000ull;
		wire->count++;
	}
}

static void deliver(const struct wire *wire, const struct frame *frame)
{
	for (int host = 0; host < WIRE_HOSTS; host++)
		if ((frame->hosts & 1u << host) && wire->tap[host] >= 0 && !wire->cut[host] &&
		    write(wire->tap[host], frame->bytes, frame->length) < 0)
			continue; /* a device refuses what its host has no room for: lost */
}

/* Returns how long it takes until the next frame is due, as poll() counts, in milliseconds; -1: there is none. */
static int deliver_due(struct wire *wire)
{
	while (wire->count > 0) {
		const struct frame *frame = &wire->frames[wire->first];
		uint64_t now = now_ns();

		if (frame->due > now)
			return (int)((frame->due - now) / 1000000) + 1;
		deliver(wire, frame);
		wire->first = (wire->first + 1) % FRAMES;
		wire->count--;
	}
	return -1;
}

static int reset(struct wire *wire)
{
	int error = 0;

	wire->delay = wire->loss = wire->count = 0;
	wire->lost = 0;
	wire->dice = 0x9e3779b97f4a7c15u;
	for (int host = 0; host < WIRE_HOSTS; host++) {
		wire->cut[host] = false;
		if (wire->tap[host] < 0)
			error |= bring_host(wire, host);
	}
	return error;
}

static int obey(struct wire *wire, struct order order, int home)
{
	switch (order.command) {
	case RESET:
		return reset(wire);
	case DELAY:
		wire->delay = order.value;
		return 0;
	case LOSE:
		wire->loss = order.value;
		return 0;
	case COUNT_LOST:
		return wire->lost;
	case CUT:
	case JOIN:
		wire->cut[order.value] = order.command == CUT;
		return 0;
	case VANISH:
		take_host_away(wire, (int)order.value, home);
		return 0;
	case RETURN:
		return bring_host(wire, (int)order.value);
	}
	return -1;
}

static void carry(struct wire *wire, int home)
{
	struct pollfd watched[WIRE_HOSTS + 1] = {[WIRE_HOSTS] = {.fd = wire->control, .events = POLLIN}};
	struct order order;

	for (;;) {
		for (int host = 0; host < WIRE_HOSTS; host++)
			watched[host] = (struct pollfd){.fd = wire->tap[host], .events = POLLIN};
		poll(watched, WIRE_HOSTS + 1, deliver_due(wire));
		for (int host = 0; host < WIRE_HOSTS; host++)
			if (watched[host].revents & POLLIN)
				take_frames(wire, host);
		if ((watched[WIRE_HOSTS].revents & POLLIN) &&
		    recv(wire->control, &order, sizeof(order), 0) == sizeof(order)) {
			int result = obey(wire, order, home);

			send(wire->control, &result, sizeof(result), MSG_NOSIGNAL);
		}
	}
}

static _Noreturn void be_the_wire(int control, pid_t runner)
{
	struct wire *wire = calloc(1, sizeof(*wire));
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), result = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner || !wire || home < 0)
		_exit(1);
	wire->control = control;
	for (int host = 0; host < WIRE_HOSTS; host++)
		wire->tap[host] = -1;
	result = reset(wire);
	send(control, &result, sizeof(result), MSG_NOSIGNAL);
	carry(wire, home);
	_exit(0);
}

/* ---- In the others ---- */

const char *wire_start(void)
{
	int ends[2], result = -1;
	pid_t runner = getpid();

	if (geteuid() != 0)
		return "hosts are network namespaces, which only root can make";
	if (access("/dev/net/tun", R_OK | W_OK) != 0)
		return "no /dev/net/tun for the devices of the hosts";
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return "no memory or descriptors for the wire";
	shared->pid = fork();
	if (shared->pid == 0) {
		shared->pid = getpid();
		close(ends[0]);
		be_the_wire(ends[1], runner);
	}
	orders = ends[0];
	close(ends[1]);
	if (recv(orders, &result, sizeof(result), 0) != sizeof(result) || result != 0)
		return "this system makes no network namespaces with TAP devices";
	return NULL;
}

void wire_enter(int host)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", shared->pid, atomic_load(&shared->namespace[host]));
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && host_enter(fd) == 0);
	close(fd);
}

/* Returns the answer; below 0: it could not be done. */
static int tell(enum command command, unsigned value)
{
	struct order order = {command, value};
	int result = -1;

	CHECK(send(orders, &order, sizeof(order), MSG_NOSIGNAL) == sizeof(order));
	CHECK(recv(orders, &result, sizeof(result), 0) == sizeof(result));
	CHECK(result >= 0);
	return result;
}

void wire_reset(void)
{
	tell(RESET, 0);
}

void wire_delay(unsigned microseconds)
{
	tell(DELAY, microseconds);
}

void wire_lose(unsigned frames_in_million)
{
	tell(LOSE, frames_in_million);
}

int wire_lost(void)
{
	return tell(COUNT_LOST, 0);
}

void wire_cut(int host)
{
	tell(CUT, (unsigned)host);
}

void wire_join(int host)
{
	tell(JOIN, (unsigned)host);
}

void wire_vanish(int host)
{
	tell(CUT, (unsigned)host);
	tell(VANISH, (unsigned)host);
}

void wire_return(int host)
{
	tell(RETURN, (unsigned)host);
}
