/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue between processes of a node, with three of them in one process: senders and a receiver whose tables of peers
 * are made by hand, and whose deaths are announced, not died.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "tests/support/harness.h"
#include "transports/node/node.h"
#include "transports/node/node_name.h"
#include "transports/node/node_place.h"
#include "transports/node/node_queue.h"

enum {
	SENDERS = 2,
	RECEIVER = SENDERS, /* its number as a pid, behind the senders' */
	PROCESSES,
	HEAD_LENGTH = 16,
	SHORT_MAX = NODE_MAX_RECORD - HEAD_LENGTH, /* payload of a record without slab */
	QUOTA_MIN = 8,
	KNOWN_AS = 5, /* the number by which every sender knows the receiver */
	RECORDS = FEWER(400000),
	PATIENCE_MS = 60000 * SLOWNESS,
};

#define STUCK_FOR_NS 3000000 /* longer than a missing line may be missing */
#define LATE_FOR_NS  200000  /* longer than a HOST_POLLED receiver may take */
#define EARLY_FOR_NS 10000   /* less than it may take in any case */

/* What a message says of itself; a payload that follows from it. */
struct stamp {
	uint32_t sender, count, length, unused;
};
_Static_assert(sizeof(struct stamp) == HEAD_LENGTH, "the head of a test's message");

static struct node nodes[PROCESSES];
static struct node_peer receiver_as_seen[SENDERS], sender_as_seen[SENDERS];
static struct node_peer *senders[SENDERS], *peers[SENDERS];
static bool dead[PROCESSES];
static unsigned wakes[SENDERS]; /* by each */
static bool wakes_refused;
static int wait_fd;
static struct {
	uint32_t next[SENDERS]; /* the count of the message that must come next */
	unsigned arrived, copy_records;
	bool untouched; /* garbage is expected: contents mean nothing */
} seen;

/* --- what the queue asks of the rest of the transport --- */

bool node_wake(struct node *node, struct node_peer *peer)
{
	uint64_t one = 1;

	(void)peer;
	wakes[node->pid]++;
	if (!wakes_refused && write(wait_fd, &one, sizeof(one)) != sizeof(one))
		abort();
	return !wakes_refused;
}

bool node_peer_dead(struct node *node, struct node_peer *peer)
{
	(void)node;
	return dead[peer->pid];
}

static void copy_record(struct node *node, struct node_peer *peer, enum node_kind kind, const uint8_t *bytes,
			size_t length)
{
	volatile uint8_t sum = 0;

	(void)node, (void)peer, (void)kind;
	for (size_t i = 0; i < length; i++)
		sum = (uint8_t)(sum + bytes[i]);
	seen.copy_records++;
}

/* --- messages --- */

static uint8_t payload_byte(const struct stamp *stamp, size_t i)
{
	return (uint8_t)(stamp->sender * 101 + stamp->count * 7 + i);
}

static void check_message(transport_address from, const void *bytes, size_t length, const void *body,
			  size_t body_length)
{
	struct stamp stamp;

	assert_true(length >= sizeof(stamp));
	memcpy(&stamp, bytes, sizeof(stamp));
	const uint8_t *payload = body ? body : (const uint8_t *)bytes + sizeof(stamp);

	assert_int_equal(stamp.sender, from);
	assert_int_equal(stamp.count, seen.next[from]);
	assert_int_equal(body ? body_length : length - sizeof(stamp), stamp.length);
	for (size_t i = 0; i < stamp.length; i++)
		if (payload[i] != payload_byte(&stamp, i))
			fail_msg("byte %zu of message %u from %u is wrong", i, stamp.count, stamp.sender);
	seen.next[from]++;
}

static void arrived(void *owner, transport_address from, const void *bytes, size_t length, const void *body,
		    size_t body_length)
{
	(void)owner;
	seen.arrived++;
	assert_true(from < SENDERS);
	if (!seen.untouched)
		check_message(from, bytes, length, body, body_length);
	else if (body_length > 0)
		assert_true(body_length <= NODE_SLAB_SIZE && *(const volatile uint8_t *)body <= UINT8_MAX);
}

static const struct transport_sink sink = {.arrived = arrived};

static int send_in_words(struct node *node, struct node_peer *to, const struct stamp *stamp, const uint8_t *payload)
{
	enum { ROOM = NODE_FIRST_BYTES - sizeof(*stamp) };
	size_t first = stamp->length < ROOM ? stamp->length : ROOM;
	uint8_t bytes[NODE_LINE_BYTES] = {0};
	uint64_t words[TRANSPORT_LINE_WORDS];

	memcpy(bytes + NODE_RECORD_HEAD, stamp, sizeof(*stamp));
	memcpy(bytes + NODE_RECORD_HEAD + sizeof(*stamp), payload, first);
	for (unsigned i = 0; i < TRANSPORT_LINE_WORDS; i++)
		words[i] = load_u64(bytes + i * sizeof(*words));
	return node_append_line(node, to, words, sizeof(*stamp) + stamp->length,
				stamp->length > ROOM ? payload + ROOM : NULL);
}

static int send_message(unsigned sender, uint32_t count, uint32_t length)
{
	static _Thread_local uint8_t payload[NODE_SLAB_SIZE];
	const struct stamp stamp = {.sender = sender, .count = count, .length = length};
	struct node_peer *to = &receiver_as_seen[sender];
	/* In two parts, as from two memory segments. */
	const struct iovec parts[] = {{payload, length / 3}, {payload + length / 3, length - length / 3}};

	for (uint32_t i = 0; i < length; i++)
		payload[i] = payload_byte(&stamp, i);
	if (length <= SHORT_MAX && count % 2)
		return send_in_words(&nodes[sender], to, &stamp, payload);
	if (length <= SHORT_MAX)
		return node_append(&nodes[sender], to, NODE_MESSAGE, &stamp, sizeof(stamp), parts, 2);
	return node_append_slab(&nodes[sender], to, NODE_MESSAGE_SLAB, &stamp, sizeof(stamp), parts, 2);
}

/* --- three processes that have met --- */

static struct node_segment *map_segment(void)
{
	void *memory =
		mmap(NULL, sizeof(struct node_segment), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

static void set_quota(uint64_t lines)
{
	atomic_store(&nodes[RECEIVER].segment->quota, lines);
}

static int open_processes(void **state)
{
	(void)state;
	memset(nodes, 0, sizeof(nodes));
	memset(dead, 0, sizeof(dead));
	memset(wakes, 0, sizeof(wakes));
	wakes_refused = false;
	memset(&seen, 0, sizeof(seen));
	wait_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (unsigned i = 0; i < PROCESSES; i++) {
		nodes[i].pid = i;
		nodes[i].segment = map_segment();
		nodes[i].active_senders = 1;
	}
	for (unsigned i = 0; i < SENDERS; i++) {
		receiver_as_seen[i] = (struct node_peer){.segment = nodes[RECEIVER].segment,
							 .pid = RECEIVER,
							 .meeting = NODE_OPEN,
							 .number = KNOWN_AS,
							 .sender = (uint16_t)i,
							 .quota = QUOTA_MIN};
		sender_as_seen[i] = (struct node_peer){.segment = nodes[i].segment,
						       .pid = i,
						       .index = i,
						       .meeting = NODE_OPEN,
						       .number = (uint16_t)i,
						       .sender = KNOWN_AS};
		senders[i] = peers[i] = &sender_as_seen[i];
	}
	nodes[RECEIVER].sink = &sink;
	nodes[RECEIVER].copy_record = copy_record;
	nodes[RECEIVER].senders = senders;
	nodes[RECEIVER].peers = peers;
	nodes[RECEIVER].sender_count = nodes[RECEIVER].peer_count = nodes[RECEIVER].active_senders = SENDERS;
	set_quota(NODE_SLOTS);
	node_attend(&nodes[RECEIVER], NODE_AWAKE);
	return 0;
}

static int close_processes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PROCESSES; i++)
		munmap(nodes[i].segment, sizeof(struct node_segment));
	close(wait_fd);
	return 0;
}

static int consume_all(void)
{
	int count = 0, now;

	while ((now = node_consume(&nodes[RECEIVER], 16)) > 0)
		count += now;
	return count;
}

static bool healthy(void)
{
	const struct node *node = &nodes[RECEIVER];

	return node->counters.malformed == 0 && node->counters.skipped == 0 && !nodes[0].any_failed &&
	       !nodes[1].any_failed;
}

/* --- order, integrity, room --- */

static const uint32_t lengths[] = {0, 1,  36, 37, 92, 93, 148, 149, SHORT_MAX, SHORT_MAX + 1, 8192, NODE_SLAB_SIZE,
				   3, 200};

/* Lengths around every boundary; slabs are dear, so not too many. */
static uint32_t length_of(uint32_t count)
{
	uint32_t which = (count * 2654435761u) >> 16;

	return lengths[which % 16 ? which % 9 : which / 16 % (sizeof(lengths) / sizeof(lengths[0]))];
}

/*
 * What was said in `intent` of lines that the sender has not won would make the receiver wait for a living process that
 * has nothing to publish there.
 */
static bool claims_too_much(unsigned sender, uint64_t last_won)
{
	uint64_t intent = atomic_load(&nodes[sender].segment->intent);

	return intent != last_won && (intent >> 16) % 16 != 0;
}

static void *send_many(void *argument)
{
	unsigned sender = (unsigned)(uintptr_t)argument;
	uintptr_t wrong = 0;
	uint64_t won = 0;

	for (uint32_t count = 0; count < RECORDS && !nodes[sender].any_failed;) {
		if (send_message(sender, count, length_of(count)) == 0) {
			won = atomic_load(&nodes[sender].segment->intent);
			count++;
			continue;
		}
		wrong += claims_too_much(sender, won);
		sched_yield();
	}
	return (void *)wrong; /* NOLINT(performance-no-int-to-ptr): a number of the thread's */
}

static void receive_from_two_threads(int budget)
{
	pthread_t threads[SENDERS];
	void *wrong;

	for (uintptr_t i = 0; i < SENDERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, send_many, (void *)i), 0); /* NOLINT */
	while (seen.arrived < SENDERS * RECORDS && !nodes[0].any_failed && !nodes[1].any_failed)
		if (node_consume(&nodes[RECEIVER], budget) == 0)
			sched_yield();
	for (unsigned i = 0; i < SENDERS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	assert_int_equal(consume_all(), 0);
	assert_true(node_queue_empty(&nodes[RECEIVER]));
	assert_true(healthy());
	assert_true(nodes[RECEIVER].head > 20 * NODE_SLOTS);
}

static void records_and_slabs_of_two_senders_arrive_whole_and_in_order(void **state)
{
	(void)state;
	receive_from_two_threads(16);
}

/* A receiver that seldom says how far it is keeps the queue full. */
static void the_same_through_a_full_queue(void **state)
{
	(void)state;
	receive_from_two_threads(NODE_SLOTS);
}

static void a_full_queue_says_so_and_goes_on_when_there_is_room(void **state)
{
	uint32_t sent = 0;

	(void)state;
	while (send_message(0, sent, 200) == 0)
		sent++;
	assert_int_equal(sent, NODE_SLOTS / 4);
	assert_int_equal(send_message(1, 0, 0), -ENOBUFS);
	assert_int_equal(node_consume(&nodes[RECEIVER], 1), 1);
	assert_int_equal(send_message(1, 0, 0), 0);
	assert_int_equal(consume_all(), sent);
	assert_int_equal(seen.next[0], sent);
	assert_int_equal(seen.next[1], 1);
	for (uint32_t i = 0; i < 3 * NODE_SLOTS; i++) {
		assert_int_equal(send_message(0, sent + i, i % 221 < 200 ? i % 221 : 7), 0);
		assert_int_equal(consume_all(), 1);
	}
	assert_true(healthy());
}

static void a_sender_keeps_no_more_lines_unconsumed_than_its_quota(void **state)
{
	uint32_t sent = 0, others = 0;

	(void)state;
	set_quota(QUOTA_MIN);
	for (uint32_t round = 0; round < 1000; round++) {
		while (send_message(0, sent, 0) == 0)
			sent++;
		assert_true(sent - seen.next[0] <= QUOTA_MIN);
		assert_true(round == 0 || (round - 1) % 3 == 0 ||
			    sent > seen.next[0]); /* all was consumed, so there is room */
		others += send_message(1, others, 0) == 0;
		if (round % 3 == 0)
			node_consume(&nodes[RECEIVER], (int)(round % 5));
		else
			consume_all();
	}
	assert_true(others > 600); /* nor does one shut out the other */
	assert_true(healthy());
}

static void a_slab_is_not_used_again_before_its_record_was_consumed(void **state)
{
	uint32_t sent = 0;

	(void)state;
	for (int round = 0; round < 5; round++) {
		while (send_message(0, sent, NODE_SLAB_SIZE) == 0)
			sent++;
		assert_int_equal(sent - seen.next[0], NODE_SLABS);
		node_consume(&nodes[RECEIVER], 10);
		for (int i = 0; i < 10; i++)
			assert_int_equal(send_message(0, sent++, NODE_SLAB_SIZE), 0);
		assert_int_equal(send_message(0, sent, NODE_SLAB_SIZE), -ENOBUFS);
		consume_all();
	}
	assert_int_equal(seen.next[0], sent);
	assert_true(healthy());
}

static void a_receiver_is_behind_until_it_has_consumed_the_newest_slab(void **state)
{
	(void)state;
	assert_false(node_behind(&nodes[0], &receiver_as_seen[0]));
	assert_int_equal(send_message(0, 0, 16), 0); /* without a slab */
	assert_false(node_behind(&nodes[0], &receiver_as_seen[0]));
	assert_int_equal(send_message(0, 1, SHORT_MAX + 1), 0);
	assert_true(node_behind(&nodes[0], &receiver_as_seen[0]));
	assert_false(node_behind(&nodes[1], &receiver_as_seen[1]));
	assert_int_equal(consume_all(), 2);
	assert_false(node_behind(&nodes[0], &receiver_as_seen[0]));
}

/* --- death --- */

/* What a sender does that dies on the way: lines that it makes its own, of which it publishes the last ones. */
static uint64_t abandon(unsigned sender, unsigned lines, unsigned published)
{
	struct node_segment *to = nodes[RECEIVER].segment;
	uint64_t position = atomic_load(&to->tail);

	atomic_store(&nodes[sender].segment->intent, position << 20 | (uint64_t)lines << 16 | KNOWN_AS);
	atomic_store(&to->tail, position + lines);
	for (unsigned line = lines - published; line < lines; line++)
		atomic_store(&to->slots[(position + line) % NODE_SLOTS].sequence, (position + line + 1) << 4);
	return position;
}

/* Recovers and consumes, for as long as a missing line is waited for; returns what arrived. */
static unsigned wait_in_vain(void)
{
	unsigned before = seen.arrived;
	uint64_t until = monotonic_ns() + STUCK_FOR_NS;

	while (monotonic_ns() < until) {
		consume_all();
		node_recover(&nodes[RECEIVER]);
	}
	return seen.arrived - before;
}

/* Recovers and consumes until so many lines have been passed over and nothing is left; returns what arrived. */
static unsigned recover(uint64_t skipped)
{
	unsigned before = seen.arrived;
	uint64_t until = monotonic_ns() + PATIENCE_MS * 1000000ull;

	while (!node_queue_empty(&nodes[RECEIVER]) && monotonic_ns() < until) {
		consume_all();
		node_recover(&nodes[RECEIVER]);
	}
	assert_int_equal(nodes[RECEIVER].counters.skipped, skipped);
	return seen.arrived - before;
}

static void whatever_a_dead_sender_left_unfinished_is_passed_over(void **state)
{
	uint32_t sent = 0;
	uint64_t skipped = 0;

	(void)state;
	for (unsigned lines = 1; lines <= NODE_MAX_LINES; lines++)
		for (unsigned published = 0; published < lines; published++) {
			dead[0] = false;
			abandon(0, lines, published);
			assert_int_equal(send_message(1, sent, lengths[sent % 9]), 0);
			sent++;
			assert_int_equal(wait_in_vain(), 0);
			assert_int_equal(nodes[RECEIVER].counters.skipped, skipped);
			dead[0] = true;
			skipped += lines;
			assert_int_equal(recover(skipped), 1);
		}
	assert_int_equal(seen.next[1], sent);
}

static void a_stopped_sender_is_waited_for_and_loses_nothing(void **state)
{
	struct node_slot *slot;
	uint64_t position;
	/* Sender 0, NODE_MESSAGE, as long as its stamp. */
	const uint8_t record[NODE_RECORD_HEAD] = {0, 0, NODE_MESSAGE, HEAD_LENGTH};
	const struct stamp stamp = {0};

	(void)state;
	position = abandon(0, 1, 0);
	assert_int_equal(send_message(1, 0, 5), 0);
	dead[1] = true; /* another's death proves nothing */
	assert_int_equal(wait_in_vain(), 0);
	slot = &nodes[RECEIVER].segment->slots[position % NODE_SLOTS];
	memcpy(slot->bytes, record, sizeof(record));
	memcpy(slot->bytes + sizeof(record), &stamp, sizeof(stamp));
	atomic_store(&slot->sequence, (position + 1) << 4 | 1);
	assert_int_equal(recover(0), 2);
}

static void a_dead_senders_last_words_are_heard(void **state)
{
	(void)state;
	assert_int_equal(send_message(0, 0, 200), 0);
	assert_int_equal(send_message(0, 1, 5000), 0);
	abandon(0, 4, 3);
	dead[0] = true;
	assert_int_equal(send_message(1, 0, 200), 0);
	assert_int_equal(recover(4), 3);
}

/* A living peer's intent elsewhere (in another queue, or long done) keeps no receiver waiting. */
static void an_intent_that_does_not_cover_the_line_keeps_nobody_waiting(void **state)
{
	uint64_t position;

	(void)state;
	position = abandon(0, 1, 0);
	dead[0] = true;
	atomic_store(&nodes[1].segment->intent, position << 20 | 1u << 16 | (KNOWN_AS + 1));
	assert_int_equal(recover(1), 0);
	atomic_store(&nodes[1].segment->intent, position << 20 | 1u << 16 | KNOWN_AS);
	abandon(0, 1, 0);
	assert_int_equal(recover(2), 0);
}

/* --- garbage --- */

/* Puts a line at the receiver's head and lets it look. */
static void receive_line(unsigned lines, const void *bytes, size_t length)
{
	struct node_segment *segment = nodes[RECEIVER].segment;
	uint64_t position = atomic_fetch_add(&segment->tail, 1);
	struct node_slot *slot = &segment->slots[position % NODE_SLOTS];

	memcpy(slot->bytes, bytes, length);
	atomic_store(&slot->sequence, (position + 1) << 4 | lines);
	assert_int_equal(node_consume(&nodes[RECEIVER], 1), 1);
}

static void a_malformed_record_is_counted_and_nothing_else(void **state)
{
	static const struct {
		uint8_t head[NODE_RECORD_HEAD];
		struct node_slab_place place;
	} malformed[] = {
		{{SENDERS, 0, NODE_MESSAGE, 8}, {0}},                                /* no such sender */
		{{0xff, 0xff, NODE_MESSAGE, 8}, {0}},                                /* nor this */
		{{0, 0, NODE_KINDS, 8}, {0}},                                        /* no such kind */
		{{0, 0, 0xff, 8}, {0}},                                              /* nor this */
		{{0, 0, NODE_MESSAGE, NODE_LINE_BYTES - NODE_RECORD_HEAD + 1}, {0}}, /* longer than its lines */
		{{0, 0, NODE_MESSAGE, 0xff}, {0}},
		{{0, 0, NODE_MESSAGE_SLAB, 7}, {0}},             /* too short to name a slab */
		{{0, 0, NODE_MESSAGE_SLAB, 8}, {NODE_SLABS, 1}}, /* no such slab */
		{{0, 0, NODE_MESSAGE_SLAB, 8}, {UINT32_MAX, 1}},
		{{0, 0, NODE_MESSAGE_SLAB, 8}, {0, NODE_SLAB_SIZE + 1}}, /* longer than a slab */
		{{0, 0, NODE_MESSAGE_SLAB, 8}, {NODE_SLABS - 1, UINT32_MAX}},
	};
	const unsigned count = sizeof(malformed) / sizeof(malformed[0]);

	(void)state;
	for (unsigned i = 0; i < count; i++)
		receive_line(1, &malformed[i], sizeof(malformed[i]));
	assert_int_equal(nodes[RECEIVER].counters.malformed, count);
	for (unsigned lines = 2; lines < 16; lines++)
		receive_line(lines, &malformed[0], sizeof(malformed[0]));
	receive_line(0, &malformed[0], sizeof(malformed[0]));
	assert_int_equal(nodes[RECEIVER].counters.skipped, 15);
	assert_int_equal(seen.arrived, 0);
	assert_int_equal(send_message(1, 0, 9000), 0);
	assert_int_equal(consume_all(), 1);
}

/* It knows our segment and its number, but has not let us have its own segment yet. */
static void a_record_of_somebody_half_met_is_malformed(void **state)
{
	const struct {
		uint8_t head[NODE_RECORD_HEAD];
		struct node_slab_place place;
	} early = {{0, 0, NODE_MESSAGE_SLAB, 8}, {1, 64}};
	struct node_peer *peer = nodes[RECEIVER].senders[0];
	struct node_segment *segment = peer->segment;

	(void)state;
	peer->segment = NULL;
	receive_line(1, &early, sizeof(early));
	peer->segment = segment;
	assert_int_equal(nodes[RECEIVER].counters.malformed, 1);
	assert_int_equal(seen.arrived, 0);
}

static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* A queue full of noise, of which half the lines claim to be published and to come from a peer. */
static void make_noise(uint64_t *random)
{
	struct node_segment *segment = nodes[RECEIVER].segment;
	uint64_t head = nodes[RECEIVER].head, *words;

	for (uint64_t at = head; at < head + NODE_SLOTS; at++) {
		struct node_slot *slot = &segment->slots[at % NODE_SLOTS];

		words = (uint64_t *)(void *)slot;
		for (unsigned i = 1; i < CACHE_LINE / 8; i++)
			words[i] = next_random(random);
		slot->bytes[0] = (uint8_t)(slot->bytes[0] % (SENDERS + 1));
		slot->bytes[1] = 0;
		slot->bytes[2] = (uint8_t)(slot->bytes[2] % (NODE_KINDS + 1));
		if (slot->bytes[4] % 2)
			memcpy(slot->bytes + 4, &(struct node_slab_place){slot->bytes[5], 100}, 8);
		atomic_store(&slot->sequence, (at + 1) << 4 | next_random(random) % (at % 3 ? 2 : 16));
	}
	atomic_store(&segment->tail, head + NODE_SLOTS);
}

static void noise_in_the_queue_harms_nobody(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	seen.untouched = true;
	for (int round = 0; round < FEWER(200); round++) {
		make_noise(&random);
		assert_true(consume_all() > 0);
	}
	assert_true(seen.arrived > 0 && seen.copy_records > 0);
	assert_true(nodes[RECEIVER].counters.malformed > 0 && nodes[RECEIVER].counters.skipped > 0);
	assert_true(nodes[RECEIVER].head - atomic_load(&nodes[RECEIVER].segment->tail) <= 16);
	atomic_store(&nodes[RECEIVER].segment->tail, nodes[RECEIVER].head); /* which may have passed it */
	/* The senders know the queue from before the noise. */
	seen.untouched = false;
	assert_int_equal(send_message(1, 0, 150), 0);
	assert_int_equal(consume_all(), 1);
}

static void control_words_that_cannot_be_are_noticed(void **state)
{
	struct node_segment *segment = nodes[RECEIVER].segment;
	static const uint64_t behind_head[] = {UINT64_MAX, 1u << 31, NODE_SLOTS + 1, UINT64_MAX / 2, -5ull};

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(send_message(1, i, 0), 0);
	assert_int_equal(consume_all(), 8);
	assert_false(node_queue_spoiled(&nodes[RECEIVER]));
	for (unsigned i = 0; i < sizeof(behind_head) / sizeof(behind_head[0]); i++) {
		atomic_store(&segment->tail, nodes[RECEIVER].head + behind_head[i]);
		nodes[RECEIVER].spoiled = false;
		node_recover(&nodes[RECEIVER]);
		assert_true(nodes[RECEIVER].spoiled);
	}
	atomic_store(&segment->tail, nodes[RECEIVER].head + NODE_SLOTS);
	assert_false(node_queue_spoiled(&nodes[RECEIVER]));
	atomic_store(&segment->head, nodes[RECEIVER].head + 1);
	assert_true(node_queue_spoiled(&nodes[RECEIVER]));
	atomic_store(&segment->head, nodes[RECEIVER].head);
	atomic_store(&segment->attention, nodes[RECEIVER].attention ^ NODE_CLOSED);
	assert_true(node_queue_spoiled(&nodes[RECEIVER]));
}

/* ---- Page faults, as first accesses to protected pages of the queue. ---- */

static uint64_t tail_before;
static volatile sig_atomic_t faults, faults_in_window;

static uintptr_t page_mask(void)
{
	return (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
}

static void note_fault(int signal, siginfo_t *info, void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & ~page_mask());

	(void)signal, (void)context;
	faults++;
	faults_in_window += atomic_load(&nodes[RECEIVER].segment->tail) != tail_before;
	if (mprotect(page, page_mask() + 1, PROT_READ | PROT_WRITE))
		_exit(1);
}

static void no_page_fault_comes_between_taking_lines_and_publishing_them(void **state)
{
	struct node_segment *segment = nodes[RECEIVER].segment;
	uintptr_t first = ((uintptr_t)segment->slots + page_mask()) & ~page_mask();
	size_t length = ((uintptr_t)(segment->slots + NODE_SLOTS) & ~page_mask()) - first;
	struct sigaction action = {.sa_sigaction = note_fault, .sa_flags = SA_SIGINFO}, before;

	(void)state;
	if (length == 0 || length > sizeof(segment->slots))
		skip(); /* one page holds them all */
	receiver_as_seen[0].untouched = UINT16_MAX;
	receiver_as_seen[0].quota = NODE_SLOTS;
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	assert_int_equal(mprotect((void *)first, length, PROT_NONE), 0);
	for (uint32_t count = 0, rc = 0; rc == 0; count++) {
		tail_before = atomic_load(&segment->tail);
		rc = (uint32_t)send_message(0, count, count % 2 * 100); /* records across the bounds of pages, too */
	}
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_equal(faults, length / (page_mask() + 1));
	assert_int_equal(faults_in_window, 0);
	assert_int_equal(receiver_as_seen[0].untouched, 0);
}

/* How the sender fares when there is garbage at the receiver; it looks only when it must. */
static int send_until_looking(void)
{
	int rc;

	receiver_as_seen[0].quota = 0;
	rc = send_message(0, 0, 0);
	assert_true(rc == 0 || rc == -ENOBUFS);
	return rc;
}

static void a_receiver_whose_head_cannot_be_is_failed(void **state)
{
	struct node_segment *segment = nodes[RECEIVER].segment;
	static const uint64_t heads[] = {2001, UINT64_MAX, 1 << 20, 1999, 0};

	(void)state;
	for (unsigned i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		receiver_as_seen[0].failed = nodes[0].any_failed = false;
		receiver_as_seen[0].head_seen = 2000;
		atomic_store(&segment->tail, 2000);
		atomic_store(&segment->head, heads[i]);
		assert_int_equal(send_until_looking(), -ENOBUFS);
		assert_true(receiver_as_seen[0].failed && nodes[0].any_failed);
	}
	receiver_as_seen[0].failed = nodes[0].any_failed = false;
	atomic_store(&segment->head, 2000);
	atomic_store(&segment->tail, 2000 + NODE_SLOTS + 1);
	assert_int_equal(send_until_looking(), -ENOBUFS);
	assert_true(receiver_as_seen[0].failed && nodes[0].any_failed);
}

static void a_quota_that_cannot_be_is_the_smallest(void **state)
{
	static const uint64_t quotas[] = {0, 7, NODE_SLOTS + 1, UINT64_MAX};

	(void)state;
	for (unsigned i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
		set_quota(quotas[i]);
		assert_int_equal(send_until_looking(), 0);
		assert_int_equal(receiver_as_seen[0].quota, QUOTA_MIN);
		seen.next[0] = 0;
		assert_int_equal(consume_all(), 1);
	}
}

/* --- attention --- */

static void each_sender_wakes_once_for_each_sleep(void **state)
{
	uint32_t sent = 0;

	(void)state;
	for (unsigned sleep = 1; sleep <= 5; sleep++) {
		assert_true(node_queue_empty(&nodes[RECEIVER]));
		node_attend(&nodes[RECEIVER], NODE_ASLEEP);
		for (unsigned i = 0; i < 3; i++, sent++)
			for (unsigned sender = 0; sender < SENDERS; sender++) {
				assert_int_equal(send_message(sender, sent, 50), 0);
				assert_int_equal(wakes[sender], sleep);
			}
		assert_false(node_queue_empty(&nodes[RECEIVER]));
		node_attend(&nodes[RECEIVER], sleep % 2 ? NODE_AWAKE : NODE_HOST_POLLED);
		consume_all();
		assert_int_equal(send_message(0, sent, 50), 0);
		assert_int_equal(send_message(1, sent++, 50), 0);
		consume_all();
	}
}

static void a_wake_that_was_refused_is_tried_again_without_a_message(void **state)
{
	(void)state;
	node_attend(&nodes[RECEIVER], NODE_ASLEEP);
	wakes_refused = true;
	assert_int_equal(send_message(0, 0, 50), 0);
	assert_int_equal(wakes[0], 1);
	wakes_refused = false;
	node_wake_deferred(&nodes[0], true);
	assert_int_equal(wakes[0], 2);
	consume_all();
	node_wake_deferred(&nodes[0], true);
	assert_int_equal(wakes[0], 2);
}

static void a_wake_that_was_refused_is_tried_again_with_the_next_message(void **state)
{
	(void)state;
	node_attend(&nodes[RECEIVER], NODE_ASLEEP);
	for (uint32_t sent = 0; sent < 5; sent++) {
		wakes_refused = sent < 2;
		assert_int_equal(send_message(0, sent, 50), 0);
		assert_int_equal(wakes[0], sent < 2 ? sent + 1 : 3);
	}
	consume_all();
}

static void wake_deferred_for(uint64_t ns)
{
	uint64_t until = monotonic_ns() + ns;

	do
		node_wake_deferred(&nodes[0], false);
	while (monotonic_ns() < until);
	node_wake_deferred(&nodes[0], false); /* this thread may have slept all the time */
}

/*
 * Sends, and lets the sender see at once that no wake-up is needed yet.  Only what it saw too late, because this thread
 * was kept from running, may be woken for: that is done again.  False if it never saw it in time.
 */
static bool send_and_defer(uint32_t *sent)
{
	for (int tries = 0; tries < 1000; tries++) {
		const unsigned before = wakes[0];
		const uint64_t began = monotonic_ns();

		assert_int_equal(send_message(0, (*sent)++, 0), 0);
		node_wake_deferred(&nodes[0], false);
		if (wakes[0] == before)
			return true;
		assert_true(monotonic_ns() - began >= EARLY_FOR_NS);
		consume_all();
		node_wake_deferred(&nodes[0], true); /* nothing is left to wake for */
		wakes[0] = before;
	}
	return false;
}

static void a_host_polled_receiver_is_woken_only_for_what_stays_unconsumed(void **state)
{
	uint64_t until = monotonic_ns() + PATIENCE_MS * 1000000ull;
	uint32_t sent = 0;

	(void)state;
	node_attend(&nodes[RECEIVER], NODE_HOST_POLLED);
	assert_true(send_and_defer(&sent));
	consume_all();
	wake_deferred_for(LATE_FOR_NS);
	assert_int_equal(wakes[0], 0);
	assert_null(nodes[0].deferring);
	assert_int_equal(send_message(0, sent++, 0), 0);
	assert_int_equal(wakes[0], 0);
	while (wakes[0] == 0 && monotonic_ns() < until)
		node_wake_deferred(&nodes[0], false);
	assert_int_equal(wakes[0], 1);
	consume_all();
	wake_deferred_for(STUCK_FOR_NS);
	assert_int_equal(wakes[0], 1);
	assert_null(nodes[0].deferring);
	assert_int_equal(wakes[1], 0);
}

static void who_goes_to_sleep_wakes_at_once_for_what_is_unconsumed(void **state)
{
	uint32_t sent = 0;

	(void)state;
	node_attend(&nodes[RECEIVER], NODE_HOST_POLLED);
	assert_int_equal(send_message(0, sent++, 0), 0);
	node_wake_deferred(&nodes[0], true);
	assert_int_equal(wakes[0], 1);
	node_wake_deferred(&nodes[0], true);
	assert_int_equal(wakes[0], 1); /* for this one it has */
	consume_all();
	assert_true(send_and_defer(&sent));
	node_wake_deferred(&nodes[0], true);
	assert_int_equal(wakes[0], 2);
}

/*
 * However fast a HOST_POLLED receiver consumes, something of a stream is always on its way.  Only when this thread is
 * kept from running between sending and consuming may a message be found late.
 */
static void a_stream_that_is_being_consumed_wakes_nobody(void **state)
{
	enum { CALM = 1000 }; /* messages that nothing has held up */
	uint64_t last = monotonic_ns(), until = last + STUCK_FOR_NS, patience = last + PATIENCE_MS * 1000000ull;
	uint32_t sent = 0, calm = 0;
	bool held_up = false;

	(void)state;
	node_attend(&nodes[RECEIVER], NODE_HOST_POLLED);
	assert_int_equal(send_message(0, sent++, 0), 0);
	while (last < until || (calm < CALM && last < patience)) {
		const unsigned before = wakes[0];

		assert_int_equal(send_message(0, sent++, 0), 0);
		node_wake_deferred(&nodes[0], false);
		node_consume(&nodes[RECEIVER], 1);
		const bool was_held_up = held_up;
		const uint64_t now = monotonic_ns();

		held_up = now - last >= EARLY_FOR_NS;
		last = now;
		calm += !held_up;
		assert_true(wakes[0] == before || held_up || was_held_up);
	}
	assert_true(calm >= CALM);
}

/* The sender itself looks at the head when it needs room; what it learns there counts as consumed, too. */
static void a_look_for_room_does_not_hide_that_the_receiver_consumes(void **state)
{
	uint32_t sent = 0;

	(void)state;
	node_attend(&nodes[RECEIVER], NODE_HOST_POLLED);
	assert_true(send_and_defer(&sent));
	consume_all();
	const uint64_t known = receiver_as_seen[0].head_seen;

	while (receiver_as_seen[0].head_seen == known) {
		node_consume(&nodes[RECEIVER], 1);
		assert_int_equal(send_message(0, sent++, 0), 0);
	}
	for (uint64_t until = monotonic_ns() + LATE_FOR_NS; monotonic_ns() < until;)
		cpu_pause();
	node_wake_deferred(&nodes[0], false);
	assert_int_equal(wakes[0], 0);
	assert_non_null(nodes[0].deferring);
}

static void a_closed_receiver_is_failed(void **state)
{
	(void)state;
	node_attend(&nodes[RECEIVER], NODE_CLOSED);
	assert_int_equal(send_message(0, 0, 0), 0);
	assert_true(receiver_as_seen[0].failed && nodes[0].any_failed);
	assert_int_equal(wakes[0], 0);
}

/* Sleeps as the engine does: only if the queue is empty after all can see it. */
static void sleep_or_see_something(void)
{
	struct pollfd wait = {.fd = wait_fd, .events = POLLIN};
	uint64_t count;

	node_attend(&nodes[RECEIVER], NODE_ASLEEP);
	if (node_queue_empty(&nodes[RECEIVER])) {
		assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1); /* or a wake-up was lost */
		assert_int_equal(read(wait_fd, &count, sizeof(count)), sizeof(count));
	}
	node_attend(&nodes[RECEIVER], NODE_AWAKE);
}

static void pause_for_up_to(unsigned count, uint64_t *random)
{
	for (uint64_t pause = next_random(random) % count; pause > 0; pause--)
		cpu_pause();
}

/* Sends when the receiver has consumed what came before, and is about to sleep. */
static void *send_while_going_to_sleep(void *unused)
{
	struct node_segment *to = nodes[RECEIVER].segment;
	uint64_t random = 1;

	for (uint32_t count = 0; count < RECORDS; count++) {
		while (send_message(0, count, 8))
			sched_yield();
		for (unsigned wait = 0; atomic_load(&to->head) != atomic_load(&to->tail); wait++)
			if (wait > 1000)
				sched_yield();
		pause_for_up_to(4, &random);
	}
	return unused;
}

static void no_wake_up_is_lost(void **state)
{
	pthread_t thread;
	uint64_t random = 2;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, send_while_going_to_sleep, NULL), 0);
	while (seen.arrived < RECORDS) {
		if (node_consume(&nodes[RECEIVER], 16) > 0)
			continue;
		pause_for_up_to(32, &random); /* what the sender takes to see that its message has been consumed */
		sleep_or_see_something();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(wakes[0] > 0);
	assert_true(healthy());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_processes, close_processes)

/* --- where processes run --- */

static uint32_t seen_at;

static void partner_seen(void *owner, uint32_t place)
{
	(void)owner;
	seen_at = place;
}

static void the_engine_is_told_where_its_partner_polls(void **state)
{
	static const struct transport_sink tells = {.arrived = arrived, .partner_seen = partner_seen};

	(void)state;
	nodes[RECEIVER].sink = nodes[0].sink = nodes[1].sink = &tells;
	seen_at = 0;
	node_note_places(&nodes[0]);
	assert_true(atomic_load(&nodes[0].segment->place) > 0);
	node_note_places(&nodes[RECEIVER]);
	assert_int_equal(seen_at, 0); /* no message yet: no sender is waited for */
	assert_int_equal(send_message(0, 0, 8), 0);
	assert_int_equal(consume_all(), 1);
	atomic_store(&nodes[0].segment->place, 77);
	node_note_places(&nodes[RECEIVER]);
	assert_int_equal(seen_at, 77);
	assert_int_equal(send_message(1, 0, SHORT_MAX + 1), 0); /* in a slab; from one that has not polled yet */
	assert_int_equal(consume_all(), 1);
	node_note_places(&nodes[RECEIVER]);
	assert_int_equal(seen_at, 0);
	atomic_store(&nodes[1].segment->place, 78);
	node_note_places(&nodes[RECEIVER]);
	assert_int_equal(seen_at, 78);
	sender_as_seen[1].segment = NULL; /* gone */
	node_note_places(&nodes[RECEIVER]);
	assert_int_equal(seen_at, 0);
}

static void a_partner_that_polls_on_this_cpu_is_noticed(void **state)
{
	cpu_set_t before, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	node_note_places(&nodes[RECEIVER]);
	assert_int_equal(nodes[RECEIVER].singly, 0); /* it has none yet */
	assert_int_equal(send_message(0, 0, 8), 0);
	assert_int_equal(consume_all(), 1);
	atomic_store(&nodes[0].segment->place, (uint32_t)sched_getcpu() + 1);
	node_note_places(&nodes[RECEIVER]);
	assert_int_equal(nodes[RECEIVER].singly, NODE_SINGLY);
	for (uint32_t i = 1; i <= 3 * NODE_SINGLY; i++)
		assert_int_equal(send_message(0, i, 8), 0);
	for (int i = 0; i < NODE_SINGLY; i++)
		assert_int_equal(node_consume(&nodes[RECEIVER], 3 * NODE_SINGLY), 1);
	assert_int_equal(node_consume(&nodes[RECEIVER], 3 * NODE_SINGLY), 2 * NODE_SINGLY);
	atomic_store(&nodes[0].segment->place, 77);
	node_note_places(&nodes[RECEIVER]);
	assert_int_equal(nodes[RECEIVER].singly, 0);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* It is neither part of a row of full ones, nor its end. */
static void a_drive_that_may_handle_nothing_says_nothing_of_a_stream(void **state)
{
	enum { FULL = 16 };

	(void)state;
	for (uint32_t i = 0; i < FULL; i++)
		assert_int_equal(send_message(0, i, 8), 0);
	assert_int_equal(node_consume(&nodes[RECEIVER], FULL), FULL);
	assert_int_equal(nodes[RECEIVER].full_drives, 1);
	assert_int_equal(node_consume(&nodes[RECEIVER], 0), 0);
	assert_int_equal(nodes[RECEIVER].full_drives, 1);
	assert_int_equal(node_consume(&nodes[RECEIVER], FULL), 0);
	assert_int_equal(nodes[RECEIVER].full_drives, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_engine_is_told_where_its_partner_polls),
		TEST(a_partner_that_polls_on_this_cpu_is_noticed),
		TEST(a_drive_that_may_handle_nothing_says_nothing_of_a_stream),
		TEST(records_and_slabs_of_two_senders_arrive_whole_and_in_order),
		TEST(the_same_through_a_full_queue),
		TEST(a_full_queue_says_so_and_goes_on_when_there_is_room),
		TEST(a_sender_keeps_no_more_lines_unconsumed_than_its_quota),
		TEST(a_slab_is_not_used_again_before_its_record_was_consumed),
		TEST(a_receiver_is_behind_until_it_has_consumed_the_newest_slab),
		TEST(whatever_a_dead_sender_left_unfinished_is_passed_over),
		TEST(a_stopped_sender_is_waited_for_and_loses_nothing),
		TEST(a_dead_senders_last_words_are_heard),
		TEST(an_intent_that_does_not_cover_the_line_keeps_nobody_waiting),
		TEST(a_malformed_record_is_counted_and_nothing_else),
		TEST(a_record_of_somebody_half_met_is_malformed),
		TEST(noise_in_the_queue_harms_nobody),
		TEST(control_words_that_cannot_be_are_noticed),
		TEST(no_page_fault_comes_between_taking_lines_and_publishing_them),
		TEST(a_receiver_whose_head_cannot_be_is_failed),
		TEST(a_quota_that_cannot_be_is_the_smallest),
		TEST(each_sender_wakes_once_for_each_sleep),
		TEST(a_wake_that_was_refused_is_tried_again_with_the_next_message),
		TEST(a_wake_that_was_refused_is_tried_again_without_a_message),
		TEST(a_host_polled_receiver_is_woken_only_for_what_stays_unconsumed),
		TEST(who_goes_to_sleep_wakes_at_once_for_what_is_unconsumed),
		TEST(a_stream_that_is_being_consumed_wakes_nobody),
		TEST(a_look_for_room_does_not_hide_that_the_receiver_consumes),
		TEST(a_closed_receiver_is_failed),
		TEST(no_wake_up_is_lost),
	};

	return cmocka_run_group_tests_name("node_queue", tests, NULL, NULL);
}
