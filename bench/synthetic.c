/* SPDX-License-Identifier: BSD-3-Clause */
#include "synthetic.h"

#include <errno.h>
#include <portals3_nic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "offload/drive.h"
#include "offload/nic.h"
#include "offload/peer/peer.h"
#include "offload/wire.h"
#include "portals/process.h"

#define SYNTHETIC_PID 1000u
#define PAYLOAD       8u

enum act { SILENT, GREETING, PUTTING, LEAVING };

static struct {
	struct transport transport;
	struct transport_config config;
	ptl_handle_ni_t ni;
	uint32_t most;
	uint16_t *tags; /* that the engine has chosen for each */
	/* What the peers do at the next polls. */
	enum act act;
	uint32_t next, among;
	uint64_t left, random, match_bits;
	bool greeted, acknowledged;
} synthetic;

ptl_process_id_t synthetic_id(uint32_t peer)
{
	return (ptl_process_id_t){synthetic.config.nid, SYNTHETIC_PID + peer};
}

/* --- what they say --- */

static uint16_t tag_of(uint32_t peer)
{
	return (uint16_t)(peer % UINT16_MAX + 1);
}

static size_t write_hello(uint32_t peer, uint8_t *to)
{
	const struct wire_message hello = {.operation = WIRE_HELLO,
					   .source_nid = synthetic_id(peer).nid,
					   .source_pid = synthetic_id(peer).pid,
					   .source_tag = tag_of(peer),
					   .wanted_nid = synthetic.config.nid,
					   .wanted_pid = synthetic.config.pid,
					   .uid = geteuid(),
					   .incarnation_high = 1,
					   .incarnation_low = peer,
					   .abilities = WIRE_HAS_NIC_THREAD};

	return wire_encode(&hello, to);
}

static size_t write_put(uint32_t peer, uint8_t *to)
{
	const struct wire_message put = {.operation = WIRE_PUT,
					 .compact = synthetic.transport.limits.compact,
					 .flags = synthetic.acknowledged ? WIRE_WANTS_ACK : 0,
					 .source_nid = synthetic_id(peer).nid,
					 .source_pid = synthetic_id(peer).pid,
					 .source_tag = tag_of(peer),
					 .target_tag = synthetic.tags[peer],
					 .token = peer,
					 .pt_index = SYNTHETIC_INDEX,
					 .match_bits = synthetic.match_bits,
					 .length = PAYLOAD};
	size_t length = wire_encode(&put, to);

	memset(to + length, (int)peer, PAYLOAD);
	return length + PAYLOAD;
}

static uint32_t any_peer(void)
{
	synthetic.random = synthetic.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((synthetic.random >> 32) * synthetic.among >> 32);
}

/* Whose turn it is, and the bytes of the next message: none if a peer leaves. */
static uint32_t make_up(uint8_t *bytes, size_t *length)
{
	bool orderly = synthetic.act != PUTTING, puts = synthetic.act == PUTTING || synthetic.greeted;
	uint32_t peer = orderly ? synthetic.next : any_peer();

	*length = synthetic.act == LEAVING ? 0 : puts ? write_put(peer, bytes) : write_hello(peer, bytes);
	synthetic.greeted = synthetic.act == GREETING && !synthetic.greeted;
	if (!synthetic.greeted) {
		synthetic.next += orderly;
		if (--synthetic.left == 0)
			synthetic.act = SILENT;
	}
	return peer;
}

static int synthetic_poll(struct transport *transport, int budget)
{
	uint8_t bytes[WIRE_MAX_HEADER + PAYLOAD];
	int done = 0;

	(void)transport;
	for (; done < budget && synthetic.act != SILENT; done++) {
		size_t length;
		uint32_t peer = make_up(bytes, &length);

		if (length)
			synthetic.config.sink->arrived(synthetic.config.owner, peer, bytes, length, NULL, 0);
		else
			synthetic.config.sink->peer_gone(synthetic.config.owner, peer);
	}
	return done;
}

/* --- what they hear --- */

static int synthetic_send(struct transport *transport, transport_address to, const void *header, size_t header_length,
			  const struct iovec *payload, int count)
{
	struct wire_message message;

	(void)transport, (void)payload, (void)count;
	if (wire_decode(header, header_length, &message) == 0 && message.operation == WIRE_WELCOME)
		synthetic.tags[to] = message.source_tag;
	return 0;
}

/* --- the rest of a transport --- */

static int synthetic_resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt,
			     transport_address *address)
{
	(void)transport;
	if (attempt > 0 || nid != synthetic.config.nid || pid - SYNTHETIC_PID >= synthetic.most)
		return -ENOENT;
	*address = pid - SYNTHETIC_PID;
	return 0;
}

static int do_nothing(struct transport *transport)
{
	(void)transport;
	return 0;
}

static void be_closed(struct transport *transport)
{
	(void)transport;
}

static unsigned own_attempt(const struct transport *transport)
{
	(void)transport;
	return 0;
}

static int no_descriptor(const struct transport *transport)
{
	(void)transport;
	return -1;
}

static int still_there(struct transport *transport, transport_address peer)
{
	(void)transport, (void)peer;
	return 0;
}

static void be_removed(struct transport *transport, struct memory_region *memory_region)
{
	(void)transport, (void)memory_region;
}

static int describe(const struct transport *transport, char *text, size_t size)
{
	(void)transport;
	return snprintf(text, size, "%u synthetic peers", synthetic.most);
}

static const struct transport_ops synthetic_ops = {
	.name = "synthetic",
	.open = do_nothing,
	.close = be_closed,
	.forked = be_closed,
	.resolve = synthetic_resolve,
	.own_attempt = own_attempt,
	.send = synthetic_send,
	.deregister = be_removed,
	.poll = synthetic_poll,
	.arm = do_nothing,
	.unsent = own_attempt,
	.wait_fd = no_descriptor,
	.probe = still_there,
	.describe = describe,
};

static int claim(struct transport_config *config, struct transport **out)
{
	synthetic.config = *config;
	synthetic.transport.ops = &synthetic_ops;
	synthetic.transport.limits.short_max = 4096;
	synthetic.transport.limits.payload_max = config->settings->short_max;
	synthetic.transport.limits.rma_chunk = 65536;
	synthetic.transport.limits.rma_depth = 1;
	synthetic.transport.limits.sleepable = true;
	synthetic.transport.limits.tells_gone = true;
	*out = &synthetic.transport;
	return 0;
}

/* Instead of what the library refers to; the linker wants this name. */
extern const struct transport_ops __wrap_transport_ofi;
const struct transport_ops __wrap_transport_ofi = {.name = "synthetic", .claim = claim};

/* --- what the program sees --- */

ptl_handle_ni_t synthetic_open(uint32_t most, bool compact)
{
	int interfaces;

	memset(&synthetic, 0, sizeof(synthetic));
	synthetic.most = most;
	synthetic.random = 1;
	synthetic.transport.limits.compact = compact;
	synthetic.tags = calloc(most, sizeof(*synthetic.tags));
	if (!synthetic.tags)
		fail("no memory for %u synthetic peers", most);
	memset(synthetic.tags, 1,
	       most * sizeof(*synthetic.tags)); /* memory of the script, not to be taken for the engine's */
	setenv("PTL_TRANSPORT", "ofi", 1);
	setenv("PTL_NIC_MODE", "host", 1);
	setenv("PTL_IFACE", "lo", 1);
	setenv("PTL_LINGER", "0", 1);
	if (PtlInit(&interfaces) || PtlNIInit(PTL_IFACE_DEFAULT, SYNTHETIC_PID - 1, NULL, NULL, &synthetic.ni) ||
	    PtlNicReady(synthetic.ni))
		fail("an interface on the script: %s", PtlNicErrorText());
	return synthetic.ni;
}

void synthetic_close(void)
{
	PtlFini();
	free(synthetic.tags);
}

static int drive_until_silent(struct nic *nic, void *drives)
{
	for (uint64_t i = 0; synthetic.act != SILENT || i < *(uint64_t *)drives; i++)
		nic_drive(nic);
	return 0;
}

static void drive(uint64_t drives)
{
	if (nic_call(process_ni(synthetic.ni), drive_until_silent, &drives))
		fail("the engine cannot be driven");
}

static void begin(enum act act, uint32_t first, uint64_t count)
{
	synthetic.act = count ? act : SILENT;
	synthetic.next = first;
	synthetic.left = count;
}

void synthetic_greet(uint32_t first, uint32_t count)
{
	begin(GREETING, first, count);
	drive(0);
}

static void begin_puts(uint64_t count, uint32_t among, uint64_t match_bits, bool acknowledged)
{
	synthetic.among = among;
	synthetic.match_bits = match_bits;
	synthetic.acknowledged = acknowledged;
	begin(PUTTING, 0, count);
}

void synthetic_put(uint64_t count, uint32_t among, uint64_t match_bits, bool acknowledged)
{
	begin_puts(count, among, match_bits, acknowledged);
	drive(0);
	synthetic.acknowledged = false;
}

void synthetic_leave(uint32_t first, uint32_t count)
{
	begin(LEAVING, first, count);
	drive(0);
}

void synthetic_idle(uint64_t drives)
{
	drive(drives);
}

void synthetic_rehearse(uint64_t count, uint32_t among)
{
	uint8_t bytes[WIRE_MAX_HEADER + PAYLOAD];
	volatile uint8_t seen = 0;
	size_t length;

	begin_puts(count, among, 0, false);
	while (synthetic.act != SILENT) {
		make_up(bytes, &length);
		seen = bytes[length - 1];
	}
	(void)seen;
}

static int count_asked(struct nic *nic, void *count)
{
	for (const struct peer *peer = nic->peers.unsent; peer; peer = peer->next_unsent)
		(*(uint32_t *)count)++;
	return 0;
}

uint32_t synthetic_asked(void)
{
	uint32_t count = 0;

	if (nic_call(process_ni(synthetic.ni), count_asked, &count))
		fail("the engine cannot be looked at");
	return count;
}

uint64_t synthetic_accepted(void)
{
	ptl_nic_counters_t counters;

	if (PtlNicCounters(synthetic.ni, &counters))
		fail("PtlNicCounters: %s", PtlNicErrorText());
	return counters.requests_received - counters.drops;
}
