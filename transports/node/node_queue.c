/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of a receiving NIC: cache lines, written by all its peers and consumed by itself, in order.
 *
 * A record takes one to four lines, and each line carries its own sequence word, because old user data could equal a
 * valid sequence on a later lap.  To append, a sender
 *   1. says in its own segment which lines it is about to take (`intent`), then moves the receiver's `tail` past them by
 *      compare-and-swap: the lines are its own now, and no other sender's ever;
 *   2. fills them, the last first, and publishes each by a release store of its sequence, the first line last;
 *   3. loads the receiver's `attention`, and wakes the receiver if that says so.
 * The receiver looks only at the line at its head, copies what is published to private memory, and then checks it.
 *
 * WHY NO WAKE-UP IS LOST.  A receiver that goes to sleep stores ASLEEP with a new epoch, then (a sequentially
 * consistent fence between) compares `tail` with its head, and stays awake if they differ.  The sender's
 * compare-and-swap of `tail` and its load of `attention` are sequentially consistent too.  So either the receiver sees
 * the moved tail, and polls until the line is there, or the sender sees ASLEEP, after it has published.  The stamp
 * itself need be no more than a release store, which lets the stores of one message overlap with the next.  Every
 * sender wakes by itself, once an epoch: a flag cleared by one sender on behalf of all would be lost with it if it died
 * before its system call.  A wake-up that the system refuses (control_wake()) is tried again with the next record.
 * HOST_POLLED means that the application drives now and then, with a NIC thread behind it that looks every
 * PTL_NIC_TICK: the sender remembers what it sent, and if it finds it unconsumed LATE_NS later, it wakes the NIC thread.
 *
 * WHY A DEAD SENDER BLOCKS NO OTHER.  A sender that wins a position said so in `intent` before, and leaves it there
 * until after it has published.  So if the line at the head is missing although the tail is past it, and no living
 * peer's intent covers it, it will never be published: the receiver passes over it, line by line, and over CONT lines
 * that a dead sender left without their first.  Death is proven, never guessed (node_peer_dead): a sender that is
 * stopped between 1 and 2, some 20 ns, stops its receiver until it goes on.  So it takes no page fault there, which can
 * last milliseconds: it touches the lines before it says that it wants them, each page of the queue once.
 *
 * FAIRNESS.  A sender keeps at most `quota` lines unconsumed, which the receiver makes smaller as more peers are met.
 * It counts by a mark: when the head has passed the mark, all lines before it are consumed, and a new mark is set.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "transports/node/node.h"
#include "transports/node/node_name.h"
#include "transports/node/node_place.h"
#include "transports/node/node_queue.h"

#define SEQUENCE_SHIFT 4 /* of the position in a slot's sequence; lines below */
#define INTENT_LINES   16
#define INTENT_SHIFT   20    /* intent: number of the receiver (16 bits), lines (4), position (44) */
#define WRITE_AHEAD    2     /* lines ahead that a sender asks to own: worth it where cores are distant */
#define READ_AHEAD     4     /* records ahead for whose lines a receiver asks that is behind, */
#define BEHIND         16    /* records of a drive that say so */
#define SLAB_AHEAD     1024  /* bytes of the next slab that a sender asks to own */
#define LATE_NS        20000 /* what a HOST_POLLED receiver may take */
#define WAKE_AGAIN_NS  1000000
#define STUCK_NS       1000000

_Static_assert(sizeof(struct node_slot) == CACHE_LINE, "a slot is a line");
_Static_assert(TRANSPORT_LINE_WORDS * sizeof(uint64_t) == NODE_LINE_BYTES, "send_line()'s words fill a line");
_Static_assert((NODE_SLOTS & (NODE_SLOTS - 1)) == 0, "positions are masked");
_Static_assert(NODE_SLOTS / NODE_STRETCH == 16, "a bit of `untouched` for each stretch");

static inline uint64_t sequence_of(uint64_t position, unsigned lines)
{
	return (position + 1) << SEQUENCE_SHIFT | lines;
}

static inline struct node_slot *slot_at(struct node_segment *segment, uint64_t position)
{
	return &segment->slots[position & (NODE_SLOTS - 1)];
}

/* A record in private memory, as its lines will hold it. */
struct record {
	_Alignas(CACHE_LINE) uint8_t bytes[NODE_MAX_LINES * NODE_LINE_BYTES];
};

/* --- sending --- */

/* Reads how far the peer has come.  Garbage there means that its segment is not to be used any more. */
static void look_at_head(struct node *node, struct node_peer *peer)
{
	/* Between the loads others send and are consumed: the head is no later than the tail after it, and not a whole
	 * queue behind the tail before it. */
	uint64_t earlier = atomic_load_explicit(&peer->segment->tail, memory_order_acquire);
	/* Pairs with the release store in node_consume(): what was consumed may be overwritten. */
	uint64_t head = atomic_load_explicit(&peer->segment->head, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(&peer->segment->tail, memory_order_relaxed);
	uint64_t quota = atomic_load_explicit(&peer->segment->quota, memory_order_relaxed);

	if (head < peer->head_seen || head > tail || (head < earlier && earlier - head > NODE_SLOTS)) {
		peer->failed = node->any_failed = true;
		return;
	}
	peer->head_seen = head;
	peer->quota = quota >= NODE_QUOTA_MIN && quota <= NODE_SLOTS ? (uint32_t)quota : NODE_QUOTA_MIN;
	if (head >= peer->mark) {
		peer->before_mark = head == tail ? 0 : peer->behind_mark;
		peer->behind_mark = 0;
		peer->mark = tail;
	}
}

static inline bool within_quota(const struct node_peer *peer, unsigned lines)
{
	return peer->before_mark + peer->behind_mark + lines <= peer->quota;
}

static inline bool fits(const struct node_peer *peer, uint64_t tail, unsigned lines)
{
	return tail + lines - peer->head_seen <= NODE_SLOTS && within_quota(peer, lines);
}

static bool has_room(struct node *node, struct node_peer *peer, unsigned lines)
{
	uint64_t tail = atomic_load_explicit(&peer->segment->tail, memory_order_relaxed);

	if (likely(fits(peer, tail, lines)))
		return true;
	look_at_head(node, peer);
	return !peer->failed && fits(peer, tail, lines);
}

/* Adds nothing to words that others may be writing, so that what is mapped here may be written from now on. */
static void touch(struct node_peer *peer, uint64_t position)
{
	uint64_t stretch = position % NODE_SLOTS / NODE_STRETCH, first = stretch * NODE_STRETCH;

	if (!(peer->untouched >> stretch & 1))
		return;
	atomic_fetch_add_explicit(&slot_at(peer->segment, first)->sequence, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&slot_at(peer->segment, first + NODE_STRETCH - 1)->sequence, 0, memory_order_relaxed);
	peer->untouched &= (uint16_t) ~(1u << stretch);
}

/* Makes `lines` lines of the peer's queue ours.  0 or -ENOBUFS. */
static int reserve(struct node *node, struct node_peer *peer, unsigned lines, uint64_t *position)
{
	_Atomic uint64_t *tail = &peer->segment->tail, *intent = &node->segment->intent;

	*position = atomic_load_explicit(tail, memory_order_relaxed);
	do {
		if (unlikely(!fits(peer, *position, lines)) && !has_room(node, peer, lines)) {
			/* Not to be waited for where another has won: it may die there. */
			atomic_store_explicit(intent, 0, memory_order_release);
			return -ENOBUFS;
		}
		if (unlikely(peer->untouched)) {
			touch(peer, *position);
			touch(peer, *position + lines - 1);
		}
		FAULT_POINT("send-before-intent");
		/* Ordered before the compare-and-swap by that, and after what was published before by this release, which
		 * pairs with the acquire load in covers(). */
		atomic_store_explicit(intent, *position << INTENT_SHIFT | (uint64_t)lines << 16 | peer->number,
				      memory_order_release);
		FAULT_POINT("send-after-intent");
		/* Before the load in alert(): see above. */
	} while (!atomic_compare_exchange_weak_explicit(tail, position, *position + lines, memory_order_seq_cst,
							memory_order_relaxed));
	FAULT_POINT("send-after-reserve");
	peer->behind_mark += lines;
	return 0;
}

void node_intend_nothing(struct node *node, uint16_t number)
{
	_Atomic uint64_t *intent = &node->segment->intent;

	/* Release as in reserve(). */
	if ((atomic_load_explicit(intent, memory_order_relaxed) & 0xffff) == number)
		atomic_store_explicit(intent, 0, memory_order_release);
}

static void defer_wake(struct node *node, struct node_peer *peer, uint64_t end)
{
	peer->deferred = end;
	if (peer->listed)
		return;
	peer->listed = true;
	peer->deferred_at = 0;
	peer->next_deferring = node->deferring;
	node->deferring = peer;
}

/* A wake-up that was refused, for want of memory or of descriptors, is tried again with the next record and by those deferred. */
static void wake_sleeper(struct node *node, struct node_peer *peer, uint64_t attention, uint64_t end)
{
	node_note_place(node);
	if (node_wake(node, peer)) {
		peer->woken_from = attention;
		return;
	}
	peer->woken_from = 0;
	defer_wake(node, peer, end);
}

/* Something was published for the peer, which ends at `end`. */
static inline void alert(struct node *node, struct node_peer *peer, uint64_t end)
{
	/* Pairs with the fence in node_attend(). */
	uint64_t attention = atomic_load_explicit(&peer->segment->attention, memory_order_seq_cst);

	switch (node_attention_state(attention)) {
	case NODE_AWAKE:
		return;
	case NODE_HOST_POLLED:
		defer_wake(node, peer, end);
		return;
	case NODE_ASLEEP:
		if (peer->woken_from != attention) {
			wake_sleeper(node, peer, attention, end);
			FAULT_POINT("wake-after");
		}
		return;
	default: /* CLOSED */
		peer->failed = node->any_failed = true;
	}
}

static inline void publish(struct node_slot *slot, const uint8_t *bytes, uint64_t sequence)
{
	memcpy(slot->bytes, bytes, sizeof(slot->bytes));
	/* Pairs with the acquire loads in node_consume() and copy_record(). */
	atomic_store_explicit(&slot->sequence, sequence, memory_order_release);
}

static inline unsigned lines_for(size_t length)
{
	return (unsigned)((length + NODE_RECORD_HEAD + NODE_LINE_BYTES - 1) / NODE_LINE_BYTES);
}

/* *end: the position behind it. */
static int append_lines(struct node *node, struct node_peer *peer, const struct record *record, unsigned lines,
			uint64_t *end)
{
	struct node_segment *to = peer->segment;
	uint64_t position;
	int rc = reserve(node, peer, lines, &position);

	if (rc)
		return rc;
	for (unsigned line = lines - 1; line > 0; line--)
		publish(slot_at(to, position + line), record->bytes + line * NODE_LINE_BYTES,
			sequence_of(position + line, 0));
	FAULT_POINT("send-before-first-line");
	publish(slot_at(to, position), record->bytes, sequence_of(position, lines));
	FAULT_POINT("send-after-first-line");
	*end = position + lines;
	for (unsigned line = 0; line < lines; line++) /* as many as were used: the next record may be like this one */
		prefetch_for_write(slot_at(to, *end + WRITE_AHEAD + line));
	alert(node, peer, *end);
	return 0;
}

/* The lines behind the first of a message, the last first, straight from the user's memory. */
static void publish_rest(struct node_segment *to, uint64_t position, unsigned lines, const uint8_t *rest, size_t length)
{
	for (unsigned line = lines - 1; line > 0; line--) {
		size_t at = (line - 1) * NODE_LINE_BYTES;
		struct node_slot *slot = slot_at(to, position + line);

		if (length - at < NODE_LINE_BYTES)
			memcpy(slot->bytes, rest + at, length - at);
		else
			memcpy(slot->bytes, rest + at, NODE_LINE_BYTES);
		/* Pairs with the acquire load in copy_record(). */
		atomic_store_explicit(&slot->sequence, sequence_of(position + line, 0), memory_order_release);
	}
}

/* Faults while no peer waits for us yet: see WHY A DEAD SENDER BLOCKS NO OTHER. */
static inline void touch_source(const volatile uint8_t *bytes, size_t length)
{
	(void)bytes[0];
	(void)bytes[length - 1];
}

/* Without the others where there is one, which then costs nothing but itself. */
static inline __attribute__((always_inline)) int append_words(struct node *node, struct node_peer *peer,
							      const uint64_t words[TRANSPORT_LINE_WORDS], size_t length,
							      unsigned lines, const uint8_t *rest)
{
	const uint64_t head = peer->sender | (uint64_t)NODE_MESSAGE << 16 | (uint64_t)length << 24;
	struct node_segment *to = peer->segment;
	uint64_t position;

	int rc = reserve(node, peer, lines, &position);

	if (unlikely(rc))
		return rc;
	if (lines > 1)
		publish_rest(to, position, lines, rest, length - NODE_FIRST_BYTES);
	struct node_slot *slot = slot_at(to, position);

	FAULT_POINT("send-before-first-line");
	put_u64(slot->bytes, words[0] | head);
	for (unsigned i = 1; i < TRANSPORT_LINE_WORDS; i++)
		put_u64(slot->bytes + i * sizeof(*words), words[i]);
	/* Pairs with the acquire load in consume_one(). */
	atomic_store_explicit(&slot->sequence, sequence_of(position, lines), memory_order_release);
	FAULT_POINT("send-after-first-line");
	for (unsigned line = 0; line < lines; line++) /* as in append_lines() */
		prefetch_for_write(slot_at(to, position + lines + WRITE_AHEAD + line));
	alert(node, peer, position + lines);
	return 0;
}

int node_append_line(struct node *node, struct node_peer *peer, const uint64_t words[TRANSPORT_LINE_WORDS],
		     size_t length, const uint8_t *rest)
{
	if (length <= NODE_FIRST_BYTES)
		return append_words(node, peer, words, length, 1, NULL);
	touch_source(rest, length - NODE_FIRST_BYTES);
	return append_words(node, peer, words, length, lines_for(length), rest);
}

static inline uint8_t *gather(uint8_t *to, const struct iovec *parts, int count)
{
	for (int i = 0; i < count; i++) {
		memcpy(to, parts[i].iov_base, parts[i].iov_len);
		to += parts[i].iov_len;
	}
	return to;
}

static inline uint8_t *begin(struct record *record, const struct node_peer *peer, enum node_kind kind, size_t length)
{
	record->bytes[0] = (uint8_t)peer->sender;
	record->bytes[1] = (uint8_t)(peer->sender >> 8);
	record->bytes[2] = (uint8_t)kind;
	record->bytes[3] = (uint8_t)length;
	return record->bytes + NODE_RECORD_HEAD;
}

int node_append(struct node *node, struct node_peer *peer, enum node_kind kind, const void *head, size_t head_length,
		const struct iovec *parts, int count)
{
	struct record record;
	size_t length = head_length;
	uint64_t end;

	for (int i = 0; i < count; i++)
		length += parts[i].iov_len;
	uint8_t *to = begin(&record, peer, kind, length);

	memcpy(to, head, head_length);
	gather(to + head_length, parts, count);
	return append_lines(node, peer, &record, lines_for(length), &end);
}

/* --- slabs --- */

/* Is that slab free, or has its reader got past the record that named it? */
static bool slab_free(struct node *node, uint32_t slab)
{
	struct node_peer *peer = node->slab_users[slab].peer;

	if (!peer)
		return true;
	if (peer->head_seen < node->slab_users[slab].end)
		look_at_head(node, peer);
	if (peer->head_seen < node->slab_users[slab].end)
		return false;
	peer->slabs--;
	node->slab_users[slab].peer = NULL;
	return true;
}

bool node_behind(struct node *node, const struct node_peer *peer)
{
	uint32_t newest = (node->next_slab + NODE_SLABS - 1) % NODE_SLABS;

	return node->slab_users[newest].peer == peer && !slab_free(node, newest);
}

static uint32_t share_of_slabs(const struct node *node, enum node_kind kind)
{
	uint32_t share = node->active_senders > 1 ? NODE_SLABS / node->active_senders + 1 : NODE_SLABS;

	if (kind != NODE_PULLED)
		return share;
	return share > 2 * NODE_SLABS_AHEAD ? NODE_SLABS_AHEAD : (share + 1) / 2; /* the rest is for short messages */
}

/* The next in turn that is free.  Negative: none, or the peer has its share, and consumes slowly. */
static int find_slab(struct node *node, const struct node_peer *peer, uint32_t share)
{
	for (uint32_t slab = 0; peer->slabs >= share && slab < NODE_SLABS; slab++)
		if (node->slab_users[slab].peer == peer)
			slab_free(node, slab);
	if (peer->slabs >= share)
		return -1;
	for (uint32_t i = 0; i < NODE_SLABS; i++) {
		uint32_t slab = (node->next_slab + i) % NODE_SLABS;

		if (slab_free(node, slab))
			return (int)slab;
	}
	return -1;
}

/* The next body will be like this one; its lines are its last reader's now.  (2 KiB: 1.3 -> 0.7 us between distant cores.) */
static void own_next_slab(const struct node *node, size_t length)
{
	for (size_t at = 0; at < length && at < SLAB_AHEAD; at += CACHE_LINE)
		prefetch_for_write(node->segment->slabs[node->next_slab] + at);
}

int node_append_slab(struct node *node, struct node_peer *peer, enum node_kind kind, const void *head,
		     size_t head_length, const struct iovec *parts, int count)
{
	struct record record;
	struct node_slab_place place;
	size_t length = sizeof(place) + head_length;
	uint64_t end;
	int slab;

	if (!has_room(node, peer, lines_for(length)) || (slab = find_slab(node, peer, share_of_slabs(node, kind))) < 0)
		return -ENOBUFS;
	uint8_t *start = node->segment->slabs[slab], *to = begin(&record, peer, kind, length);

	place = (struct node_slab_place){.slab = (uint32_t)slab,
					 .length = (uint32_t)(gather(start, parts, count) - start)};
	memcpy(to, &place, sizeof(place));
	memcpy(to + sizeof(place), head, head_length);
	FAULT_POINT("slab-before-record");
	/* Room may be gone if others were quicker; then the slab is still free. */
	if (append_lines(node, peer, &record, lines_for(length), &end))
		return -ENOBUFS;
	FAULT_POINT("slab-after-record");
	node->slab_users[slab].peer = peer;
	node->slab_users[slab].end = end;
	peer->slabs++;
	node->next_slab = ((uint32_t)slab + 1) % NODE_SLABS;
	node->counters.slab_bodies++;
	own_next_slab(node, place.length);
	return 0;
}

/* --- waking --- */

static void defer_until_late(struct node_peer *peer, uint64_t now)
{
	peer->deferred_at = now + cycles_in(LATE_NS);
	peer->deferred_head = peer->head_seen;
}

static bool late(struct node_peer *peer, uint64_t now)
{
	if (peer->deferred_at == 0)
		defer_until_late(peer, now);
	return now >= peer->deferred_at;
}

/* False: there is nothing to wake for any more. */
static bool wake_if_late(struct node *node, struct node_peer *peer, bool at_once, uint64_t now)
{
	if (peer->meeting != NODE_OPEN || peer->failed)
		return false;
	if (!at_once && !late(peer, now))
		return true;
	look_at_head(node, peer);
	if (peer->failed || peer->head_seen >= peer->deferred)
		return false;
	if (!at_once && peer->head_seen != peer->deferred_head) { /* it consumes, though not yet the newest */
		defer_until_late(peer, now);
		return true;
	}
	(void)node_wake(node, peer);
	peer->deferred_at = now + cycles_in(WAKE_AGAIN_NS);
	return !at_once;
}

void node_wake_deferred(struct node *node, bool at_once)
{
	struct node_peer **link = &node->deferring;
	uint64_t now = cycle_clock();

	while (*link) {
		struct node_peer *peer = *link;

		if (wake_if_late(node, peer, at_once, now)) {
			link = &peer->next_deferring;
		} else {
			peer->listed = false;
			*link = peer->next_deferring;
		}
	}
}

/* --- receiving --- */

void node_attend(struct node *node, enum node_attention state)
{
	uint64_t epoch = node->attention >> NODE_ATTENTION_BITS;

	epoch += state == NODE_ASLEEP;
	node->attention = epoch << NODE_ATTENTION_BITS | state;
	atomic_store_explicit(&node->segment->attention, node->attention, memory_order_release);
	/* Between the store and the load of the tail in node_queue_empty(): pairs with the tail's compare-and-swap in
	 * reserve() and the load in alert(). */
	if (state == NODE_ASLEEP)
		atomic_thread_fence(memory_order_seq_cst);
}

bool node_queue_empty(struct node *node)
{
	return atomic_load_explicit(&node->segment->tail, memory_order_seq_cst) == node->head;
}

/* The lines behind the first are there already: they were published before it. */
static bool copy_record(struct node *node, struct record *record, unsigned lines)
{
	for (unsigned line = 1; line < lines; line++) {
		struct node_slot *slot = slot_at(node->segment, node->head + line);

		/* Pairs with the release store in publish(). */
		if (atomic_load_explicit(&slot->sequence, memory_order_acquire) != sequence_of(node->head + line, 0))
			return false;
		memcpy(record->bytes + line * NODE_LINE_BYTES, slot->bytes, NODE_LINE_BYTES);
	}
	return true;
}

static bool deliver_slab(struct node *node, struct node_peer *peer, const uint8_t *bytes, size_t length)
{
	struct node_slab_place place;

	if (length < sizeof(place))
		return false;
	memcpy(&place, bytes, sizeof(place));
	if (place.slab >= NODE_SLABS || place.length > NODE_SLAB_SIZE)
		return false;
	node->partner = peer;
	node->sink->arrived(node->owner, peer->index, bytes + sizeof(place), length - sizeof(place),
			    peer->segment->slabs[place.slab], place.length);
	return true;
}

/* Pairs with the acquire load in look_at_head(): a sender that sees it may overwrite lines and slabs. */
static inline void publish_head(struct node *node)
{
	atomic_store_explicit(&node->segment->head, node->head, memory_order_release);
}

/* False: it makes no sense. */
static bool deliver(struct node *node, const struct record *record, unsigned lines)
{
	const uint8_t *bytes = record->bytes + NODE_RECORD_HEAD;
	uint32_t number = record->bytes[0] | (uint32_t)record->bytes[1] << 8;
	size_t length = record->bytes[3];
	struct node_peer *peer = number < node->sender_count ? node->senders[number] : NULL;

	/* A number is given out before its holder's segment is here: until then it has no business with us. */
	if (unlikely(!peer || !peer->segment || length > lines * NODE_LINE_BYTES - NODE_RECORD_HEAD))
		return false;
	/* It is OPEN to us; what makes us OPEN to it may still be on its way. */
	if (unlikely(peer->unreported))
		node_report_connected(node, peer);
	switch ((enum node_kind)record->bytes[2]) {
	case NODE_MESSAGE:
		node->partner = peer;
		node->sink->arrived(node->owner, peer->index, bytes, length, NULL, 0);
		return true;
	case NODE_MESSAGE_SLAB:
		return deliver_slab(node, peer, bytes, length);
	case NODE_HELP:
	case NODE_PULL:
		node->copy_record(node, peer, (enum node_kind)record->bytes[2], bytes, length);
		return true;
	case NODE_PULLED:
		node->copy_record(node, peer, NODE_PULLED, bytes, length);
		publish_head(node); /* its slab is wanted for the next piece but few */
		return true;
	case NODE_KINDS:
		break;
	}
	return false;
}

/* Takes what is published at the head: so many lines, 0 if nothing is. */
static inline unsigned consume_one(struct node *node)
{
	struct node_slot *slot = slot_at(node->segment, node->head);
	/* Pairs with the release store in publish(). */
	uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
	unsigned lines = sequence & ((1u << SEQUENCE_SHIFT) - 1);
	struct record record;

	if (sequence >> SEQUENCE_SHIFT != node->head + 1)
		return 0;
	FAULT_POINT("receive-before-copy");
	memcpy(record.bytes, slot->bytes, NODE_LINE_BYTES);
	if (unlikely(lines == 0 || lines > NODE_MAX_LINES || !copy_record(node, &record, lines))) {
		node->counters.skipped++; /* left by a sender that died before it had published its first line */
		node->head++;
		return 1;
	}
	FAULT_POINT("receive-after-copy");
	node->head += lines;
	if (unlikely(!deliver(node, &record, lines)))
		node->counters.malformed++;
	return lines;
}

/*
 * A line that is asked for before it is written travels twice, and makes its sender wait.  So lines are asked for only while we are
 * behind: then they have been written long ago.  We are if the last drive found all that it may handle, or if this one has found more
 * than READ_AHEAD and the last row of full drives was longer than one: a stream comes as the last one came.
 */
static inline bool is_behind(const struct node *node, int count)
{
	return (unsigned)count + node->lead > BEHIND;
}

/* The next records may be like the last one. */
static inline void read_ahead(const struct node *node, unsigned lines)
{
	for (unsigned line = 0; line < lines; line++)
		__builtin_prefetch(slot_at(node->segment, node->head + READ_AHEAD * (uint64_t)lines - line));
}

/* Not of drives that find little, but for the one that ends a row of full ones; nor of those that may handle nothing. */
static void note_drive(struct node *node, bool full)
{
	if (full) {
		node->full_drives++;
		node->lead = BEHIND;
	} else {
		node->lead = node->full_drives > 1 ? BEHIND - READ_AHEAD : 0;
		node->full_drives = 0;
	}
}

/*
 * All that a partner on this CPU has sent before it gave way is there at once, the next message behind the answer that the host
 * waits for.  One at a time: the host gets its answer, and posts its receive, before that message is matched.  Only the first few
 * after a poll in vain: behind them it is a stream.
 */
int node_consume(struct node *node, int budget)
{
	unsigned lines;
	int count = 0;

	if (unlikely(node->singly > 0) && budget > 0)
		budget = 1;
	while (count < budget && (lines = consume_one(node)) > 0)
		if (unlikely(is_behind(node, ++count)))
			read_ahead(node, lines);
	if (unlikely(count > READ_AHEAD || (node->lead == BEHIND && budget > 0)))
		note_drive(node, count == budget);
	FAULT_POINT("receive-before-head");
	if (count > 0)
		publish_head(node);
	node->singly -= node->singly > 0 && count > 0;
	return count;
}

/* Does the peer still mean to publish the line at our head? */
static bool covers(const struct node *node, struct node_peer *peer)
{
	uint64_t intent = atomic_load_explicit(&peer->segment->intent, memory_order_acquire);
	uint64_t distance = (node->head - (intent >> INTENT_SHIFT)) & (UINT64_MAX >> INTENT_SHIFT);

	return (intent & 0xffff) == peer->sender && distance < (intent >> 16) % INTENT_LINES;
}

bool node_queue_spoiled(const struct node *node)
{
	const struct node_segment *segment = node->segment;

	return atomic_load_explicit(&segment->head, memory_order_relaxed) != node->head ||
	       atomic_load_explicit(&segment->attention, memory_order_relaxed) != node->attention ||
	       atomic_load_explicit(&segment->tail, memory_order_relaxed) - node->head > NODE_SLOTS;
}

static bool published(const struct node *node)
{
	struct node_slot *slot = slot_at(node->segment, node->head);

	/* Pairs with the release store in publish(). */
	return atomic_load_explicit(&slot->sequence, memory_order_acquire) >> SEQUENCE_SHIFT == node->head + 1;
}

static bool sender_lives(struct node *node)
{
	for (uint32_t i = 0; i < node->peer_count; i++) {
		struct node_peer *peer = node->peers[i];

		if (peer->segment && covers(node, peer) && !node_peer_dead(node, peer))
			return true;
	}
	return false;
}

void node_recover(struct node *node)
{
	uint64_t tail = atomic_load(&node->segment->tail), now = monotonic_ns();

	node->spoiled |= node_queue_spoiled(node);
	if (tail == node->head || published(node) || node->spoiled) {
		node->stuck_at = 0;
	} else if (node->stuck_at == 0 || node->stuck_head != node->head) {
		node->stuck_at = now;
		node->stuck_head = node->head;
	} else if (now - node->stuck_at >= STUCK_NS && !sender_lives(node) && !published(node)) {
		/* Looked at twice: a sender may have published, and then died, since the first time. */
		node->counters.skipped++;
		node->head++;
		publish_head(node);
	}
}
