/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The usual put and the usual get in one go: what they do at both ends, and that they leave every other case alone before anything
 * has happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "offload/get.h"
#include "offload/get_line.h"
#include "offload/put_line.h"
#include "offload/receive.h"
#include "offload/trace.h"

enum {
	ADDRESS = 3,
	BITS = 0x77,
	HDR_DATA = 0x55,
	TOKEN = 0x123456,
	OUR_TAG = 0x1111,
	THEIR_TAG = 0x2222,
	INDEX = 4,
	LENGTH = 8,
	LINE_MAX = 220,
	MEMORY = 200
};

static struct nic nic;
static struct settings settings;
static struct peer *peer, *met[ADDRESS + 1];
static struct event_queue *eq;
static struct descriptor *md;
static struct match_entry *entry;
static uint8_t memory[MEMORY];
static struct operation op;

/* --- a transport that keeps the line --- */

static int refusal;
static unsigned lines;
static uint64_t line[WIRE_LINE_WORDS];
static size_t line_length;
static const char *line_rest;

static int send_line(struct transport *transport, transport_address address, const uint64_t words[], size_t length,
		     const void *rest)
{
	(void)transport;
	line_rest = rest;
	assert_int_equal(address, ADDRESS);
	if (refusal)
		return refusal;
	memcpy(line, words, sizeof(line));
	line_length = length;
	lines++;
	return 0;
}

static int refuse(struct transport *transport, transport_address address, const void *header, size_t header_length,
		  const struct iovec *payload, int count)
{
	(void)transport, (void)header, (void)header_length, (void)payload, (void)count;
	assert_int_equal(address, ADDRESS);
	return refusal;
}

static bool lags;

static bool behind(struct transport *transport, transport_address address, bool reading)
{
	(void)transport;
	assert_int_equal(address, ADDRESS);
	return lags || reading;
}

static struct transport_ops ops;
static struct transport transport = {
	.ops = &ops, .limits = {.short_max = 4096, .payload_max = UINT64_MAX, .line_max = LINE_MAX, .compact = true}};

/* --- an engine that has met one peer, and has one descriptor for puts and to put from --- */

static int open_nic(void **state)
{
	const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};

	(void)state;
	memset(&nic, 0, sizeof(nic));
	memset(met, 0, sizeof(met));
	memset(&settings, 0, sizeof(settings));
	transport.limits.payload_max = 4096;
	ops = (struct transport_ops){.name = "lines", .send_line = send_line};
	transport.limits.line_max = LINE_MAX;
	refusal = 0;
	lines = 0;
	nic.settings = &settings;
	nic.self.id = (ptl_process_id_t){1, 10};
	nic.limits = (ptl_ni_limits_t){.max_mds = 4, .max_pt_index = NIC_PORTALS - 1, .max_ac_index = 0};
	nic.drive.timer = NIC_NEVER;
	nic.objects.acl[0] =
		(struct acl_entry){.id = anybody, .uid = PTL_UID_ANY, .jid = PTL_JID_ANY, .pt_index = PTL_PT_INDEX_ANY};
	nic.transports[PATH_NODE] = &transport;
	nic.drive.polling = PATH_NODE;
	nic.peers.met[PATH_NODE].peers = met;
	nic.peers.met[PATH_NODE].room = ADDRESS + 1;
	if (pool_open(&nic.objects.entries, sizeof(struct match_entry), 4, 100, 0) ||
	    pool_open(&nic.objects.descriptors, sizeof(struct descriptor), 4, 100, 0) ||
	    pool_open(&nic.objects.queues, sizeof(struct event_queue), 4, 100, 0) ||
	    pool_open(&nic.objects.operations, sizeof(struct operation), 4, 100, 0))
		return -1;
	eq = pool_take(&nic.objects.queues);
	atomic_store(&eq->ring, event_ring_get(16));
	peer = peer_create(&nic, (ptl_process_id_t){1, 20});
	peer->state = PEER_READY;
	peer->transport = &transport;
	peer->path = PATH_NODE;
	peer->address = ADDRESS;
	peer->local_tag = OUR_TAG;
	peer->remote_tag = THEIR_TAG;
	met[ADDRESS] = peer;
	entry = pool_take(&nic.objects.entries);
	entry->source = anybody;
	entry->match_bits = BITS;
	entry->must_match = UINT64_MAX;
	match_list_insert(&nic.objects.portals[INDEX], entry, NULL, PTL_INS_AFTER);
	for (int i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)i;
	const ptl_md_t user = {.start = memory,
			       .length = MEMORY,
			       .threshold = 2,
			       .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
			       .eq_handle = 1};

	return descriptor_create(&nic, &user, PTL_RETAIN, eq, entry, &md);
}

static int close_nic(void **state)
{
	(void)state;
	event_ring_put(atomic_load(&eq->ring));
	event_rings_free();
	nic.peers.met[PATH_NODE].peers = NULL; /* not the heap's */
	nic.peers.met[PATH_NODE].room = 0;
	peers_free(&nic);
	pool_close(&nic.objects.entries);
	pool_close(&nic.objects.descriptors);
	pool_close(&nic.objects.queues);
	pool_close(&nic.objects.operations);
	return 0;
}

static struct put_arguments usual(void)
{
	return (struct put_arguments){.md = md,
				      .local_offset = 1,
				      .length = LENGTH,
				      .target = peer->id,
				      .pt_index = INDEX,
				      .match_bits = BITS,
				      .remote_offset = 5,
				      .hdr_data = HDR_DATA};
}

/* Neither a message, nor an event, nor a unit of the threshold, nor a count. */
static void assert_nothing_happened(void)
{
	const ptl_nic_counters_t none = {0};

	assert_int_equal(lines, 0);
	assert_int_equal(event_unread(eq), 0);
	assert_int_equal(eq->underway, 0);
	assert_int_equal(md->threshold, 2);
	assert_int_equal(md->pending, 0);
	assert_int_equal(nic.next_link, 0);
	assert_int_equal(peer->arrivals, 0);
	assert_int_equal(peer->said + peer->heard, 0);
	assert_memory_equal(&nic.counters, &none, sizeof(none));
	for (int i = 0; i < MEMORY; i++)
		assert_int_equal(memory[i], i);
}

static void expect_event(ptl_event_kind_t kind, uint64_t offset)
{
	ptl_event_t event;

	assert_int_equal(event_take(eq, eq->item.generation, &event), 0);
	assert_int_equal(event.type, kind);
	assert_int_equal(event.match_bits, BITS);
	assert_int_equal(event.hdr_data, HDR_DATA);
	assert_int_equal(event.rlength, LENGTH);
	assert_int_equal(event.mlength, LENGTH);
	assert_int_equal(event.offset, offset);
	assert_int_equal(event.md.threshold, 1);
	assert_int_equal(event.ni_fail_type, PTL_NI_OK);
}

/* --- the initiator --- */

static void a_usual_put_is_a_line_and_its_events(void **state)
{
	const struct put_arguments put = usual();
	uint8_t bytes[sizeof(line)];
	struct wire_line header;

	(void)state;
	assert_true(put_line(&nic, &put));
	assert_int_equal(lines, 1);
	assert_int_equal(line_length, WIRE_LINE_HEADER + LENGTH);
	for (unsigned i = 0; i < WIRE_LINE_WORDS; i++)
		put_u64(bytes + i * sizeof(*line), line[i]);
	assert_true(wire_read_line(bytes + 4, line_length, WIRE_PUT, &header));
	assert_int_equal(header.source_tag, OUR_TAG);
	assert_int_equal(header.target_tag, THEIR_TAG);
	assert_int_equal(header.pt_index, INDEX);
	assert_int_equal(header.match_bits, BITS);
	assert_int_equal(header.offset, 5);
	assert_int_equal(header.hdr_data, HDR_DATA);
	assert_memory_equal(bytes + 4 + WIRE_LINE_HEADER, memory + 1, LENGTH);
	expect_event(PTL_EVENT_SEND_START, 1);
	expect_event(PTL_EVENT_SEND_END, 1);
	assert_int_equal(peer->said, 1);
	assert_int_equal(nic.counters.requests_sent, 1);
	assert_int_equal(nic.counters.bytes_sent, LENGTH);
	assert_int_equal(nic_counters(&nic)->bytes_in_lines, LENGTH);
}

static void a_put_without_events_uses_its_unit_all_the_same(void **state)
{
	const struct put_arguments put = usual();

	(void)state;
	md->eq = NULL;
	assert_true(put_line(&nic, &put));
	assert_int_equal(md->threshold, 1);
	md->threshold = PTL_MD_THRESH_INF;
	assert_true(put_line(&nic, &put));
	assert_int_equal(md->threshold, PTL_MD_THRESH_INF);
	assert_int_equal(md->pending, 0);
	assert_true(md->active);
	assert_int_equal(event_unread(eq), 0);
	assert_int_equal(lines, 2);
	assert_int_equal(peer->said, 2);
	assert_int_equal(nic.counters.requests_sent, 2);
	assert_int_equal(nic.counters.bytes_sent, 2 * LENGTH);
	md->threshold = 1;
	assert_true(put_line(&nic, &put));
	assert_false(md->active);
}

/* What the words have no room for is the transport's to fetch. */
static void a_put_of_several_lines_begins_in_words(void **state)
{
	struct put_arguments put = usual();
	uint8_t bytes[sizeof(line)];

	(void)state;
	put.length = WIRE_LINE_PAYLOAD;
	assert_true(put_line(&nic, &put));
	assert_null(line_rest);
	put.length = LINE_MAX - WIRE_LINE_HEADER;
	assert_true(put_line(&nic, &put));
	assert_int_equal(line_length, LINE_MAX);
	assert_ptr_equal(line_rest, memory + 1 + WIRE_LINE_PAYLOAD);
	for (unsigned i = 0; i < WIRE_LINE_WORDS; i++)
		put_u64(bytes + i * sizeof(*line), line[i]);
	assert_memory_equal(bytes + 4 + WIRE_LINE_HEADER, memory + 1, WIRE_LINE_PAYLOAD);
	assert_int_equal(nic.counters.bytes_sent, put.length + WIRE_LINE_PAYLOAD);
}

/* What makes a put unusual at its initiator, one thing at a time. */
#define UNUSUAL_PUT(name, what)                                                                                        \
	static void name(struct put_arguments *put)                                                                    \
	{                                                                                                              \
		(void)put;                                                                                             \
		what;                                                                                                  \
	}
UNUSUAL_PUT(nobody_known, put->target.pid++)
UNUSUAL_PUT(an_unverified_peer, peer->unverified = 1)
UNUSUAL_PUT(a_peer_that_holds, peer->state = PEER_HOLDING)
UNUSUAL_PUT(first_contact, peer->state = PEER_CONTACTING)
UNUSUAL_PUT(a_response_waits, peer->responses.head = &op)
UNUSUAL_PUT(a_request_waits, peer->requests.head = &op)
UNUSUAL_PUT(a_refusal_before, peer->refusals = 1)
UNUSUAL_PUT(no_lines, ops.send_line = NULL)
UNUSUAL_PUT(too_long, put->length = LINE_MAX - WIRE_LINE_HEADER + 1)
UNUSUAL_PUT(too_long_for_this_transport, transport.limits.line_max = WIRE_LINE_HEADER + LENGTH - 1)
UNUSUAL_PUT(longer_than_short_max, transport.limits.payload_max = LENGTH - 1)
UNUSUAL_PUT(pieces_to_send, md->region.count = 2)
UNUSUAL_PUT(an_ack, put->ack = true)
UNUSUAL_PUT(a_wide_pt_index, put->pt_index = UINT8_MAX)
UNUSUAL_PUT(a_wide_ac_index, put->ac_index = UINT8_MAX)
UNUSUAL_PUT(stage_clocks, atomic_store(&nic.timing.on, true))
UNUSUAL_PUT(a_full_queue, refusal = -ENOBUFS)
UNUSUAL_PUT(a_peer_that_closes, refusal = -EAGAIN)

static void any_other_put_is_left_alone(void **state)
{
	static void (*const unusual[])(struct put_arguments *) = {
		nobody_known,
		an_unverified_peer,
		a_peer_that_holds,
		first_contact,
		a_response_waits,
		a_request_waits,
		a_refusal_before,
		no_lines,
		too_long,
		too_long_for_this_transport,
		longer_than_short_max,
		pieces_to_send,
		an_ack,
		a_wide_pt_index,
		a_wide_ac_index,
		a_full_queue,
		a_peer_that_closes,
#if PORTALS_TIMING
		stage_clocks,
#endif
	};

	for (unsigned i = 0; i < sizeof(unusual) / sizeof(unusual[0]); i++) {
		if (i > 0)
			assert_int_equal(open_nic(state), 0);
		struct put_arguments put = usual();

		unusual[i](&put);
		if (put_line(&nic, &put))
			fail_msg("unusual put %u was taken for a usual one", i);
		assert_nothing_happened();
		peer->responses.head = peer->requests.head = NULL;
		if (i + 1 < sizeof(unusual) / sizeof(unusual[0]))
			close_nic(state);
	}
	(void)stage_clocks;
}

/* --- the target --- */

struct arrival {
	struct wire_line header;
	transport_address from;
	size_t length; /* of the payload */
	bool apart;    /* the payload is not behind the header, where are so many bytes more: */
	size_t beside;
	uint8_t bytes[WIRE_MAX_HEADER + MEMORY];
};

static struct arrival arrival(void)
{
	return (struct arrival){.header = {.source_tag = THEIR_TAG,
					   .target_tag = OUR_TAG,
					   .pt_index = INDEX,
					   .match_bits = BITS,
					   .offset = 5,
					   .hdr_data = HDR_DATA},
				.from = ADDRESS,
				.length = LENGTH};
}

static bool arrives(struct arrival *arrival)
{
	const uint8_t payload[WIRE_LINE_PAYLOAD] = {'p', 'a', 'y', 'l', 'o', 'a', 'd', '!'};
	uint64_t words[WIRE_LINE_WORDS];
	uint8_t bytes[sizeof(words)];

	wire_write_line(WIRE_PUT, &arrival->header, payload, arrival->length, words);
	for (unsigned i = 0; i < WIRE_LINE_WORDS; i++)
		put_u64(bytes + i * sizeof(*words), words[i]);
	if (!arrival->apart)
		return put_line_arrived(&nic, arrival->from, bytes + 4, WIRE_LINE_HEADER + arrival->length, NULL, 0);
	return put_line_arrived(&nic, arrival->from, bytes + 4, WIRE_LINE_HEADER + arrival->beside, payload,
				arrival->length);
}

static bool get_arrives(struct arrival *arrival)
{
	const struct wire_message get = {.operation = WIRE_GET,
					 .compact = true,
					 .source_tag = arrival->header.source_tag,
					 .target_tag = arrival->header.target_tag,
					 .token = TOKEN,
					 .pt_index = arrival->header.pt_index,
					 .ac_index = arrival->header.ac_index,
					 .match_bits = arrival->header.match_bits,
					 .offset = arrival->header.offset,
					 .length = arrival->length};
	uint8_t bytes[WIRE_MAX_HEADER];

	return get_line_arrived(&nic, arrival->from, bytes, wire_encode(&get, bytes));
}

static void a_usual_put_is_matched_copied_and_told(void **state)
{
	struct arrival usual_one = arrival();

	(void)state;
	assert_true(arrives(&usual_one));
	assert_memory_equal(memory + 5, "payload!", LENGTH);
	assert_int_equal(memory[4], 4);
	assert_int_equal(memory[5 + LENGTH], 5 + LENGTH);
	expect_event(PTL_EVENT_PUT_START, 5);
	expect_event(PTL_EVENT_PUT_END, 5);
	assert_int_equal(peer->arrivals, 1);
	assert_int_equal(peer->heard, 1);
	assert_int_equal(nic.counters.requests_received, 1);
	assert_int_equal(nic.counters.bytes_received, LENGTH);
	/* The last unit. */
	assert_true(arrives(&usual_one));
	assert_false(md->active);
	assert_false(arrives(&usual_one));
}

static void a_payload_apart_is_copied_from_there(void **state)
{
	struct arrival one = arrival();

	(void)state;
	one.apart = true;
	assert_true(arrives(&one));
	assert_memory_equal(memory + 5, "payload!", LENGTH);
	assert_int_equal(memory[5 + LENGTH], 5 + LENGTH);
	expect_event(PTL_EVENT_PUT_START, 5);
	expect_event(PTL_EVENT_PUT_END, 5);
	assert_int_equal(nic.counters.bytes_received, LENGTH);
}

static void what_is_empty_may_be_nowhere(void **state)
{
	struct put_arguments put = usual();
	struct arrival empty = arrival();

	(void)state;
	region_clear(&md->region);
	assert_int_equal(region_set(&md->region, NULL, 0), 0);
	put.local_offset = put.length = 0;
	assert_true(put_line(&nic, &put));
	assert_int_equal(line_length, WIRE_LINE_HEADER);
	empty.header.offset = empty.length = 0;
	assert_true(arrives(&empty));
	assert_int_equal(event_unread(eq), 4);
}

static void a_peer_that_is_behind_gets_longer_messages_unannounced(void **state)
{
	struct operation under_way = {0};

	(void)state;
	ops.behind = behind;
	transport.limits.payload_max = UINT64_MAX;
	transport.limits.behind_max = 2 * transport.limits.short_max;
	lags = false;
	assert_false(peer_far(&nic, peer, WIRE_PUT, 1024));
	assert_true(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max));
	lags = true;
	assert_false(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max));
	assert_true(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max + 1));
	transport.limits.payload_max = 4096; /* PTL_SHORT_MAX */
	assert_true(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max));
	transport.limits.payload_tuned = true; /* a file's says what is the quickest to a peer that keeps up */
	assert_false(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max));
	assert_true(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max + 1));
	lags = false;
	assert_true(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max));
	lags = true;
	transport.limits.payload_tuned = false;
	transport.limits.payload_max = UINT64_MAX;
	peer->state = PEER_UNKNOWN;
	assert_true(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max));
	peer->state = PEER_READY;
	lags = false;
	peer->active.head = &under_way; /* announced, and not read yet */
	assert_false(peer_far(&nic, peer, WIRE_PUT, transport.limits.behind_max));
	peer->active.head = NULL;
	transport.limits.behind_max = 0;
	assert_true(peer_far(&nic, peer, WIRE_PUT, transport.limits.short_max));
}

static void pieces_are_filled_as_one(void **state)
{
	const struct iovec pieces[] = {{memory, 7}, {memory + 32, 16}};
	struct arrival one = arrival();

	(void)state;
	region_clear(&md->region);
	assert_int_equal(region_set_pieces(&md->region, pieces, 2), 0);
	assert_true(arrives(&one));
	assert_memory_equal(memory + 5, "pa", 2);
	assert_int_equal(memory[7], 7);
	assert_memory_equal(memory + 32, "yload!", 6);
	assert_int_equal(memory[38], 38);
	region_clear(&md->region);
	assert_int_equal(region_set(&md->region, memory, MEMORY), 0);
}

/* What makes an arrival unusual, likewise. */
#define UNUSUAL_ARRIVAL(name, what)                                                                                    \
	static void name(struct arrival *a)                                                                            \
	{                                                                                                              \
		(void)a;                                                                                               \
		what;                                                                                                  \
	}
UNUSUAL_ARRIVAL(from_elsewhere, a->from = ADDRESS - 1)
UNUSUAL_ARRIVAL(from_anywhere, a->from = TRANSPORT_ADDRESS_UNKNOWN)
UNUSUAL_ARRIVAL(of_one_that_moved, peer->address = ADDRESS - 1)
UNUSUAL_ARRIVAL(of_an_unverified_peer, peer->unverified = 1)
UNUSUAL_ARRIVAL(before_we_met, peer->state = PEER_CONTACTING)
UNUSUAL_ARRIVAL(of_another_conversation, a->header.source_tag++)
UNUSUAL_ARRIVAL(for_another_conversation, a->header.target_tag++)
UNUSUAL_ARRIVAL(for_no_index, a->header.pt_index = NIC_PORTALS)
UNUSUAL_ARRIVAL(for_an_index_of_255, a->header.pt_index = UINT8_MAX)
UNUSUAL_ARRIVAL(by_no_acl_entry, a->header.ac_index = 1)
UNUSUAL_ARRIVAL(of_another_user, nic.objects.acl[0].uid = peer->uid + 1)
UNUSUAL_ARRIVAL(of_another_job, nic.objects.acl[0].jid = peer->jid + 1)
UNUSUAL_ARRIVAL(of_another_nid, nic.objects.acl[0].id.nid = peer->id.nid + 1)
UNUSUAL_ARRIVAL(of_another_pid, nic.objects.acl[0].id.pid = peer->id.pid + 1)
UNUSUAL_ARRIVAL(for_another_index, nic.objects.acl[0].pt_index = INDEX + 1)
UNUSUAL_ARRIVAL(with_other_bits, a->header.match_bits++)
UNUSUAL_ARRIVAL(for_no_descriptor, entry->descriptor = NULL)
UNUSUAL_ARRIVAL(for_neither_puts_nor_gets, md->options = PTL_MD_MANAGE_REMOTE)
UNUSUAL_ARRIVAL(for_the_other_kind, md->options ^= PTL_MD_OP_PUT | PTL_MD_OP_GET)
UNUSUAL_ARRIVAL(too_long_for_it, a->header.offset = MEMORY - LENGTH + 1)
UNUSUAL_ARRIVAL(with_stage_clocks, atomic_store(&nic.timing.on, true))
UNUSUAL_ARRIVAL(with_a_trace, nic.trace = PTL_DBG_PARSE)

UNUSUAL_ARRIVAL(with_two_payloads, (a->apart = true, a->beside = 1))

static void leave_alone(void **state, bool (*taken)(struct arrival *), uint32_t operations,
			void (*const unusual[])(struct arrival *), unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (i > 0)
			assert_int_equal(open_nic(state), 0);
		struct arrival one = arrival();

		md->options = operations | PTL_MD_MANAGE_REMOTE;
		unusual[i](&one);
		if (taken(&one))
			fail_msg("unusual arrival %u was taken for a usual one", i);
		assert_nothing_happened();
		peer->responses.head = NULL;
		if (i + 1 < count)
			close_nic(state);
	}
}

/* clang-format off */
#define UNUSUAL_ARRIVALS                                                                                               \
	from_elsewhere, from_anywhere, of_one_that_moved, of_an_unverified_peer, before_we_met, of_another_conversation,       \
	for_another_conversation, for_no_index, for_an_index_of_255, by_no_acl_entry, of_another_user,                 \
	of_another_job, of_another_nid, of_another_pid, for_another_index, with_other_bits, for_no_descriptor,         \
	for_neither_puts_nor_gets, for_the_other_kind, too_long_for_it, with_a_trace
/* clang-format on */

static void any_other_arrival_is_left_alone(void **state)
{
	static void (*const unusual[])(struct arrival *) = {
		UNUSUAL_ARRIVALS,
		with_two_payloads,
#if PORTALS_TIMING
		with_stage_clocks,
#endif
	};

	leave_alone(state, arrives, PTL_MD_OP_PUT, unusual, sizeof(unusual) / sizeof(unusual[0]));
	(void)with_stage_clocks;
}

/* --- the target of a get --- */

static void a_usual_get_is_matched_answered_and_told(void **state)
{
	const struct wire_message reply = {.operation = WIRE_REPLY,
					   .compact = true,
					   .source_tag = OUR_TAG,
					   .target_tag = THEIR_TAG,
					   .token = TOKEN};
	const size_t lengths[] = {LENGTH, WIRE_REPLY_PAYLOAD, LINE_MAX - WIRE_COMPACT_SIZE - 15};
	uint8_t bytes[sizeof(line)], expected[WIRE_MAX_HEADER];
	ptl_event_t event;

	(void)state;
	md->options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	md->threshold = 3;
	assert_int_equal(wire_encode(&reply, expected), WIRE_COMPACT_SIZE);
	for (unsigned i = 0; i < 3; i++) {
		struct arrival one = arrival();
		size_t in_words = lengths[i] < WIRE_REPLY_PAYLOAD ? lengths[i] : WIRE_REPLY_PAYLOAD;

		one.length = lengths[i];
		assert_true(get_arrives(&one));
		assert_int_equal(lines, i + 1);
		assert_int_equal(line_length, WIRE_COMPACT_SIZE + lengths[i]);
		for (unsigned word = 0; word < WIRE_LINE_WORDS; word++)
			put_u64(bytes + word * sizeof(*line), line[word]);
		assert_memory_equal(bytes + 4, expected, WIRE_COMPACT_SIZE);
		assert_memory_equal(bytes + 4 + WIRE_COMPACT_SIZE, memory + 5, in_words);
		assert_ptr_equal(line_rest, i < 2 ? NULL : memory + 5 + WIRE_REPLY_PAYLOAD);
		for (ptl_event_kind_t kind = PTL_EVENT_GET_START; kind <= PTL_EVENT_GET_END; kind++) {
			assert_int_equal(event_take(eq, eq->item.generation, &event), 0);
			assert_int_equal(event.type, kind);
			assert_int_equal(event.match_bits, BITS);
			assert_int_equal(event.hdr_data, 0);
			assert_int_equal(event.mlength, lengths[i]);
			assert_int_equal(event.offset, 5);
			assert_int_equal(event.md.threshold, 2 - (int)i);
		}
		assert_int_equal(peer->heard, i + 1);
		assert_int_equal(peer->said, i + 1);
		assert_int_equal(nic.counters.requests_received, i + 1);
		assert_int_equal(nic.counters.responses_sent, i + 1);
	}
	assert_int_equal(nic.counters.bytes_sent, lengths[0] + lengths[1] + lengths[2]);
	assert_false(md->active);
}

/* Its START is told before the answer can be there; what is refused then waits, and its END with it. */
static void an_answer_that_is_refused_waits(void **state)
{
	static const int refusals[] = {-ENOBUFS, -EAGAIN};
	ptl_event_t event;

	(void)state;
	ops.send = refuse;
	md->options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	for (unsigned i = 0; i < 2; i++) {
		struct arrival one = arrival();

		refusal = refusals[i];
		assert_true(get_arrives(&one));
		assert_int_equal(event_take(eq, eq->item.generation, &event), 0);
		assert_int_equal(event.type, PTL_EVENT_GET_START);
		assert_int_equal(event_unread(eq), 0);
		assert_non_null(peer->responses.head);
		assert_int_equal(peer->responses.head->message.token, TOKEN);
		assert_int_equal(peer->responses.head->message.mlength, LENGTH);
		assert_int_equal(peer->said, 0);
		assert_int_equal(peer->heard, i + 1);
		assert_int_equal(nic.counters.responses_sent, 0);
		operation_unlist(peer->responses.head);
		peer->refusals = 0;
	}
	assert_int_equal(lines, 0);
}

UNUSUAL_ARRIVAL(of_a_peer_that_holds, peer->state = PEER_HOLDING)
UNUSUAL_ARRIVAL(behind_another_answer, peer->responses.head = &op)
UNUSUAL_ARRIVAL(after_a_refusal, peer->refusals = 1)
UNUSUAL_ARRIVAL(without_lines, ops.send_line = NULL)
UNUSUAL_ARRIVAL(with_an_answer_of_many_lines, transport.limits.line_max = WIRE_COMPACT_SIZE + LENGTH - 1)
UNUSUAL_ARRIVAL(with_an_answer_beyond_short_max, transport.limits.payload_max = LENGTH - 1)
UNUSUAL_ARRIVAL(for_pieces, md->region.count = 2)

static void any_other_get_is_left_alone(void **state)
{
	static void (*const unusual[])(struct arrival *) = {
		UNUSUAL_ARRIVALS,
		of_a_peer_that_holds,
		behind_another_answer,
		after_a_refusal,
		without_lines,
		with_an_answer_of_many_lines,
		with_an_answer_beyond_short_max,
		for_pieces,
#if PORTALS_TIMING
		with_stage_clocks,
#endif
	};

	leave_alone(state, get_arrives, PTL_MD_OP_GET, unusual, sizeof(unusual) / sizeof(unusual[0]));
}

/* --- the initiator of a get --- */

static void a_usual_get_is_a_line_and_awaits_its_answer(void **state)
{
	struct put_arguments get = usual();
	struct wire_message expected = {.operation = WIRE_GET,
					.compact = true,
					.source_tag = OUR_TAG,
					.target_tag = THEIR_TAG,
					.pt_index = INDEX,
					.match_bits = BITS,
					.offset = 5,
					.length = LENGTH};
	uint8_t bytes[sizeof(line)], encoded[WIRE_MAX_HEADER];

	(void)state;
	assert_int_equal(get_issue(&nic, &get), 0);
	assert_int_equal(lines, 1);
	assert_int_equal(line_length, WIRE_LINE_HEADER);
	struct operation *began = peer->active.head;

	assert_non_null(began);
	expected.token = operation_token(began);
	assert_int_equal(wire_encode(&expected, encoded), WIRE_LINE_HEADER);
	for (unsigned i = 0; i < WIRE_LINE_WORDS; i++)
		put_u64(bytes + i * sizeof(*line), line[i]);
	assert_memory_equal(bytes + 4, encoded, WIRE_LINE_HEADER);
	assert_null(peer->requests.head);
	assert_true(peer->busy);
	assert_int_equal(peer->said, 1);
	assert_int_equal(peer->outstanding, 1);
	assert_int_equal(nic.counters.requests_sent, 1);
	assert_int_equal(event_unread(eq), 0);
	const struct wire_message reply = {.operation = WIRE_REPLY, .mlength = 3, .body = (const uint8_t *)"abc"};

	assert_int_equal(operation_advance(&nic, began, OP_REPLY, &reply), 0);
	assert_memory_equal(memory + 1, "abc", 3);
	assert_int_equal(event_unread(eq), 2);
	assert_int_equal(peer->outstanding, 0);
}

UNUSUAL_PUT(a_full_window, peer->outstanding = PEER_WINDOW)

static void any_other_get_waits_its_turn(void **state)
{
	static void (*const unusual[])(struct put_arguments *) = {
		a_peer_that_holds,
		first_contact,
		a_response_waits,
		a_request_waits,
		a_refusal_before,
		no_lines,
		a_full_window,
		a_wide_pt_index,
		a_wide_ac_index,
		a_full_queue,
		a_peer_that_closes,
#if PORTALS_TIMING
		stage_clocks,
#endif
	};

	for (unsigned i = 0; i < sizeof(unusual) / sizeof(unusual[0]); i++) {
		if (i > 0)
			assert_int_equal(open_nic(state), 0);
		struct put_arguments get = usual();
		struct operation began = {.peer = peer};

		unusual[i](&get);
		unsigned outstanding = peer->outstanding;

		began.message = operation_request(&get, WIRE_GET);
		if (get_line(&nic, &began))
			fail_msg("unusual get %u was taken for a usual one", i);
		assert_nothing_happened();
		assert_null(began.list);
		assert_false(began.windowed);
		assert_int_equal(peer->outstanding, outstanding);
		assert_false(peer->busy);
		peer->responses.head = peer->requests.head = NULL;
		if (i + 1 < sizeof(unusual) / sizeof(unusual[0]))
			close_nic(state);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_nic, close_nic)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_usual_put_is_a_line_and_its_events),
		TEST(a_put_without_events_uses_its_unit_all_the_same),
		TEST(a_put_of_several_lines_begins_in_words),
		TEST(any_other_put_is_left_alone),
		TEST(a_usual_put_is_matched_copied_and_told),
		TEST(a_payload_apart_is_copied_from_there),
		TEST(what_is_empty_may_be_nowhere),
		TEST(pieces_are_filled_as_one),
		TEST(any_other_arrival_is_left_alone),
		TEST(a_usual_get_is_matched_answered_and_told),
		TEST(an_answer_that_is_refused_waits),
		TEST(any_other_get_is_left_alone),
		TEST(a_usual_get_is_a_line_and_awaits_its_answer),
		TEST(any_other_get_waits_its_turn),
		TEST(a_peer_that_is_behind_gets_longer_messages_unannounced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
