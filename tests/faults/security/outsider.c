/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/faults/security/outsider.h"

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK   0x7f000001u
#define CANDIDATES 8
#define RECEIVES   64
#define MOST       17000 /* bytes of a message it can hear */
#define SAY_NS     (5000000000ull * SLOWNESS)
#define MEET_MS    (10000 * SLOWNESS)

struct outsider {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	uint32_t pid;
	unsigned attempt;
	struct {
		struct fi_context2 context;
		size_t length; /* heard, 0: posted */
		uint8_t bytes[MOST];
	} receives[RECEIVES];
	unsigned next; /* to be heard */
	bool taken;    /* the one before is in the caller's hands */
	struct fi_context2 sending, reading;
	unsigned sends;
	int read_status;
};

uint32_t noise(void)
{
	static uint32_t state = 0x9e3779b9u;

	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

void noise_fill(void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		((uint8_t *)bytes)[i] = (uint8_t)noise();
}

static struct sockaddr_in name_of(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(LOOPBACK)};
}

int tcp_connect(uint16_t port)
{
	struct sockaddr_in name = name_of(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
		return fd;
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t size = sizeof(error);

	/* A full backlog leaves it hanging, which is also an attack. */
	if (poll(&wait, 1, 100) >= 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
		return fd;
	close(fd);
	return -1;
}

/* --- the endpoint --- */

static void succeed(long code, const char *what)
{
	if (code < 0)
		FAIL("the outsider's %s: %s", what, fi_strerror((int)-code));
}

static uint32_t mix(uint32_t value)
{
	value ^= value >> 16;
	value *= 0x85ebca6bu;
	value ^= value >> 13;
	value *= 0xc2b2ae35u;
	return value ^ value >> 16;
}

/* Where all look for a pid, as the sources say. */
static uint16_t port_of_pid(uint32_t pid, unsigned attempt)
{
	return (uint16_t)(10000 + (mix(pid) % 22000 + attempt * 7919) % 22000);
}

static void find_provider(struct outsider *me)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints != NULL);
	hints->caps = FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup(over_transport("ofi:net")   ? "net"
					       : over_transport("ofi:udp") ? "udp;ofi_rxd"
									   : "tcp;ofi_rxm");
	succeed(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &me->info), "fi_getinfo");
	fi_freeinfo(hints);
}

static bool open_endpoint(struct outsider *me)
{
	struct sockaddr_in name = name_of(port_of_pid(me->pid, me->attempt));

	memcpy(me->info->src_addr, &name, sizeof(name));
	if (fi_endpoint(me->domain, me->info, &me->ep, NULL))
		return false;
	succeed(fi_ep_bind(me->ep, &me->av->fid, 0), "fi_ep_bind");
	succeed(fi_ep_bind(me->ep, &me->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	if (fi_enable(me->ep) == 0)
		return true;
	fi_close(&me->ep->fid);
	return false;
}

static void post(struct outsider *me, unsigned which)
{
	me->receives[which].length = 0;
	succeed(fi_recv(me->ep, me->receives[which].bytes, MOST, NULL, FI_ADDR_UNSPEC, &me->receives[which].context),
		"fi_recv");
}

struct outsider *outsider_open(uint32_t pid)
{
	struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_MSG, .size = 4096};
	struct fi_av_attr table = {.type = FI_AV_TABLE};
	struct outsider *me = memory(sizeof(*me));

	me->pid = pid;
	find_provider(me);
	succeed(fi_fabric(me->info->fabric_attr, &me->fabric, NULL), "fi_fabric");
	succeed(fi_domain(me->fabric, me->info, &me->domain, NULL), "fi_domain");
	succeed(fi_av_open(me->domain, &table, &me->av, NULL), "fi_av_open");
	succeed(fi_cq_open(me->domain, &queue, &me->cq, NULL), "fi_cq_open");
	while (!open_endpoint(me))
		if (++me->attempt == CANDIDATES)
			FAIL("all ports of pid %u are taken", pid);
	for (unsigned i = 0; i < RECEIVES; i++)
		post(me, i);
	return me;
}

void outsider_close(struct outsider *me)
{
	fi_close(&me->ep->fid);
	fi_close(&me->cq->fid);
	fi_close(&me->av->fid);
	fi_close(&me->domain->fid);
	fi_close(&me->fabric->fid);
	fi_freeinfo(me->info);
}

ptl_process_id_t outsider_id(const struct outsider *me)
{
	return (ptl_process_id_t){.nid = LOOPBACK, .pid = me->pid};
}

fi_addr_t outsider_towards(struct outsider *me, uint16_t port)
{
	struct sockaddr_in name = name_of(port);
	fi_addr_t address = FI_ADDR_UNSPEC;

	CHECK_EQUAL(fi_av_insert(me->av, &name, 1, &address, 0, NULL), 1);
	return address;
}

static void complete(struct outsider *me, const void *context, size_t length, int status)
{
	if (context == &me->sending) {
		me->sends--;
		return;
	}
	if (context == &me->reading) {
		me->read_status = status;
		return;
	}
	for (unsigned i = 0; i < RECEIVES; i++)
		if (context == &me->receives[i].context) {
			if (status == 0 && length > 0)
				me->receives[i].length = length;
			else if (status != -FI_ECANCELED)
				post(me, i);
		}
}

static void progress(struct outsider *me)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry error = {0};
	ssize_t count = fi_cq_read(me->cq, &entry, 1);

	if (count == 1)
		complete(me, entry.op_context, entry.len, 0);
	else if (count == -FI_EAVAIL && fi_cq_readerr(me->cq, &error, 0) == 1)
		complete(me, error.op_context, 0, -abs(error.err));
}

bool outsider_say(struct outsider *me, fi_addr_t to, const void *bytes, size_t length)
{
	static uint8_t kept[MOST]; /* sends end one after the other */
	uint64_t deadline = now_ns() + SAY_NS;
	ssize_t code;

	CHECK(length <= MOST);
	memcpy(kept, bytes, length);
	while ((code = fi_send(me->ep, kept, length, NULL, to, &me->sending)) == -FI_EAGAIN && now_ns() < deadline)
		progress(me);
	if (code)
		return false;
	for (me->sends++; me->sends > 0 && now_ns() < deadline;)
		progress(me);
	return true;
}

bool outsider_say_message(struct outsider *me, fi_addr_t to, const struct wire_message *message)
{
	uint8_t bytes[WIRE_MAX_HEADER] = {0};
	size_t length = wire_encode(message, bytes);

	return outsider_say(me, to, bytes, length);
}

bool outsider_hear(struct outsider *me, unsigned ms, struct wire_message *message)
{
	uint64_t deadline = now_ns() + ms * 1000000ull;

	for (;; me->next = (me->next + 1) % RECEIVES, me->taken = false) {
		if (me->taken) {
			post(me, me->next);
			continue;
		}
		while (me->receives[me->next].length == 0) {
			if (now_ns() > deadline)
				return false;
			progress(me);
		}
		me->taken = true;
		if (wire_decode(me->receives[me->next].bytes, me->receives[me->next].length, message) == 0)
			return true;
	}
}

int outsider_read(struct outsider *me, fi_addr_t from, uint64_t address, uint64_t key, void *to, size_t length,
		  unsigned ms)
{
	uint64_t deadline = now_ns() + ms * 1000000ull;
	ssize_t code;

	me->read_status = -FI_EAGAIN;
	while ((code = fi_read(me->ep, to, length, NULL, from, address, key, &me->reading)) == -FI_EAGAIN &&
	       now_ns() < deadline)
		progress(me);
	if (code)
		return (int)code;
	while (me->read_status == -FI_EAGAIN && now_ns() < deadline)
		progress(me);
	return me->read_status;
}

struct wire_message outsider_hello(const struct outsider *me, ptl_process_id_t claimed, ptl_process_id_t wanted)
{
	return (struct wire_message){
		.operation = WIRE_HELLO,
		.attempt = (uint8_t)me->attempt,
		.source_nid = claimed.nid,
		.source_pid = claimed.pid,
		.source_tag = (uint16_t)(noise() | 1),
		.wanted_nid = wanted.nid,
		.wanted_pid = wanted.pid,
		.uid = geteuid(),
		.jid = claimed.pid,
		.incarnation_high = noise(),
		.incarnation_low = noise(),
		.abilities = WIRE_HAS_NIC_THREAD,
	};
}

struct wire_message outsider_meet(struct outsider *me, fi_addr_t to, ptl_process_id_t wanted,
				  struct wire_message *hello)
{
	struct wire_message answer;

	*hello = outsider_hello(me, outsider_id(me), wanted);
	CHECK(outsider_say_message(me, to, hello));
	do
		if (!outsider_hear(me, MEET_MS, &answer))
			FAIL("no WELCOME for an outsider that gives its own name");
	while (answer.operation != WIRE_WELCOME);
	return answer;
}

/* --- recording --- */

size_t tcp_record_greeting(void *bytes, size_t size)
{
	struct sockaddr_in name = name_of(0);
	socklen_t length = sizeof(name);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), fd = -1;
	struct outsider *me = outsider_open(own_pid(200));
	uint64_t deadline = now_ns() + SAY_NS * 5;
	ssize_t count = -1;

	CHECK_EQUAL(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	CHECK_EQUAL(listen(listener, 1), 0);
	CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&name, &length), 0);
	fi_addr_t to = outsider_towards(me, ntohs(name.sin_port));

	while (count <= 0 && now_ns() < deadline) {
		fi_send(me->ep, "x", 1, NULL, to, &me->sending);
		progress(me);
		if (fd < 0)
			fd = accept(listener, NULL, NULL);
		if (fd >= 0)
			count = recv(fd, bytes, size, MSG_DONTWAIT);
	}
	if (count <= 0)
		FAIL("the provider says nothing when it connects");
	close(fd);
	close(listener);
	outsider_close(me);
	return (size_t)count;
}
