/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One long message, copied by two cores: its reader takes chunks from the front, the process it comes from takes them
 * from the back.  The invariants are in node_copy.c.
 *
 * `ends` of a claim: generation (32 bits), chunks taken from the front (16), chunks taken from the back (16).  `done` and
 * `failed`: generation, and a number.
 */
#include <errno.h>
#include <string.h>

#include "base/fault.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_expose.h"
#include "transports/node/node_process.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_split.h"

#define GENERATION_SHIFT 32
#define FRONT_SHIFT      16
#define ONE_FROM_FRONT   (UINT64_C(1) << FRONT_SHIFT)
#define ONE_FROM_BACK    UINT64_C(1)

struct ends {
	uint32_t generation, front, back;
};

/* What a NODE_HELP says.  One without anything says: look at your claims, I have done what I had taken. */
struct help_record {
	uint64_t key, source, destination, length, chunk;
	uint32_t claim, generation;
};

static inline struct ends unpack(uint64_t ends)
{
	return (struct ends){(uint32_t)(ends >> GENERATION_SHIFT), (uint32_t)(ends >> FRONT_SHIFT) & 0xffff,
			     (uint32_t)ends & 0xffff};
}

/* --- the reader --- */

bool node_split_open(struct node *node, struct node_read *read)
{
	struct node_claim *claim = &node->segment->claims[read - node->copies->reads];
	uint64_t generation = (uint64_t)++read->claim_generation << GENERATION_SHIFT;
	struct help_record record = {.key = read->remote->key,
				     .source = read->remote->address,
				     .destination = read->local->address,
				     .length = read->length,
				     .claim = (uint32_t)(read - node->copies->reads),
				     .generation = read->claim_generation,
				     .chunk = read->chunk};

	read->claim = claim;
	atomic_store_explicit(&claim->done, generation, memory_order_relaxed);
	atomic_store_explicit(&claim->failed, generation, memory_order_relaxed);
	/* Whatever was stored to the message's memory before comes before what a helper writes there: pairs with the
	 * acquire of the compare-and-swap in take_from_back(). */
	atomic_store_explicit(&claim->ends, generation, memory_order_release);
	FAULT_POINT("split-asked");
	return node_append(node, read->peer, NODE_HELP, &record, sizeof(record), NULL, 0) == 0;
}

/* Are the counters what they can be?  The helper's part of them is not ours. */
static bool sane(const struct node_read *read, struct ends ends)
{
	return ends.generation == read->claim_generation && ends.front == read->front &&
	       ends.front + ends.back <= read->total;
}

/*
 * Takes one chunk, or all that are left.  What a chunk holds is ordered by `done`; sequentially consistent because a side that
 * takes the last chunk, and only then looks at `done`, must not miss what tell_reader() takes for seen.
 */
static int take_from_front(struct node_read *read, bool all)
{
	_Atomic uint64_t *ends = &read->claim->ends;
	uint64_t seen = atomic_load_explicit(ends, memory_order_relaxed), count;

	do {
		struct ends now = unpack(seen);

		if (!sane(read, now))
			return -EPROTO;
		count = read->total - now.front - now.back;
		if (count == 0)
			return 0;
		if (!all)
			count = 1;
	} while (!atomic_compare_exchange_weak_explicit(ends, &seen, seen + count * ONE_FROM_FRONT,
							memory_order_seq_cst, memory_order_relaxed));
	read->front += count;
	return 1;
}

int node_split_take(struct node_read *read)
{
	return take_from_front(read, false);
}

void node_split_close(struct node_read *read)
{
	take_from_front(read, true);
}

int node_split_result(const struct node_read *read, uint64_t *failed)
{
	const struct node_claim *claim = read->claim;
	struct ends ends = unpack(atomic_load_explicit(&claim->ends, memory_order_relaxed));
	/* Pairs with the store in end_chunk(): the helper's bytes, and `failed`, are there.  Sequentially consistent:
	 * see tell_reader(). */
	uint64_t done = atomic_load_explicit(&claim->done, memory_order_seq_cst);

	if (!sane(read, ends) || ends.front + ends.back != read->total ||
	    done >> GENERATION_SHIFT != read->claim_generation || (uint32_t)done > ends.back)
		return -EPROTO;
	if ((uint32_t)done < ends.back)
		return -EAGAIN;
	uint64_t failure = atomic_load_explicit(&claim->failed, memory_order_relaxed);

	*failed = read->total;
	if ((uint32_t)failure == 0)
		return 0;
	*failed = (uint32_t)failure - 1;
	return *failed >= ends.front && *failed < read->total ? 0 : -EPROTO;
}

/* --- the helper --- */

static void drop(struct node_copies *copies, struct node_help *help)
{
	help->peer = NULL;
	copies->helps_alive--;
}

void node_help_asked(struct node *node, struct node_peer *peer, const uint8_t *bytes, size_t length)
{
	struct node_copies *copies = node->copies;
	struct help_record record;

	if (length != sizeof(record)) {
		node->counters.malformed += length != 0;
		return;
	}
	memcpy(&record, bytes, sizeof(record));
	if (record.claim >= NODE_CLAIMS || record.length == 0 || record.chunk == 0 || record.chunk > NODE_CHUNK_MAX ||
	    (record.length - 1) / record.chunk >= NODE_SPLIT_MOST ||
	    record.destination + record.length < record.destination) {
		node->counters.malformed++;
		return;
	}
	struct node_help *help = &copies->helps[copies->helps_seen++ % NODE_HELPS];

	copies->helps_alive += help->peer == NULL;
	*help = (struct node_help){.peer = peer,
				   .key = record.key,
				   .source = record.source,
				   .destination = record.destination,
				   .length = record.length,
				   .chunk = record.chunk,
				   .claim = record.claim,
				   .generation = record.generation,
				   .total = (uint32_t)((record.length - 1) / record.chunk) + 1};
}

/* Takes a chunk of a claim that is in the reader's segment.  False: there is none for us. */
static bool take_from_back(const struct node_help *help, uint32_t *chunk)
{
	_Atomic uint64_t *ends = &help->peer->segment->claims[help->claim].ends;
	uint64_t seen = atomic_load_explicit(ends, memory_order_relaxed);
	struct ends now;

	do {
		now = unpack(seen);
		if (now.generation != help->generation || now.front + now.back >= help->total)
			return false;
		/* Acquire pairs with the release store in node_split_open(). */
	} while (!atomic_compare_exchange_weak_explicit(ends, &seen, seen + ONE_FROM_BACK, memory_order_acquire,
							memory_order_relaxed));
	*chunk = help->total - 1 - now.back;
	return true;
}

/* Chunks of one reader's messages, which one system call writes. */
struct chunks {
	struct node_peer *peer;
	struct node_help *helps[NODE_BATCH];
	uint32_t chunk[NODE_BATCH];
	struct iovec local[NODE_BATCH], remote[NODE_BATCH];
	unsigned count;
	uint64_t bytes;
};

/* False: the claim is closed, or the request was none. */
static bool add_chunk(struct node *node, struct node_help *help, struct chunks *chunks)
{
	const uint8_t *source = node_exposed(node->copies, help->key, help->source, help->length);
	uint32_t chunk;

	if (!source || !help->peer->cross_memory || !take_from_back(help, &chunk))
		return false;
	uint64_t offset = (uint64_t)chunk * help->chunk, left = help->length - offset;
	unsigned at = chunks->count++;

	left = left < help->chunk ? left : help->chunk;
	chunks->helps[at] = help;
	chunks->chunk[at] = chunk;
	chunks->local[at] = (struct iovec){(void *)(uintptr_t)(source + offset), left};
	chunks->remote[at] = (struct iovec){(void *)(uintptr_t)(help->destination + offset), left};
	chunks->bytes += left;
	return true;
}

/* So many of them, from the one on.  How many bytes, or an error. */
static ssize_t write_chunks(const struct chunks *chunks, unsigned from, unsigned count)
{
	struct node_peer *peer = chunks->peer;
	/* Which process is behind os_pid?  A write could hit another one otherwise: see node_voucher.c. */
	int rc = node_ascertain(peer);

	if (rc)
		return rc;
	ssize_t written = process_vm_writev(peer->os_pid, chunks->local + from, count, chunks->remote + from, count, 0);

	return written < 0 ? -errno : written;
}

/*
 * A reader for which nothing is left to be taken may sleep until `done` says that we have done what we took.  All this is
 * sequentially consistent:
 *   - we store `done`, then load `ends`; it takes its last chunk from `ends`, then loads `done`: either we see that nothing
 *     is left, or it sees that we are done;
 *   - we then load its `attention`; it stores there that it sleeps, then (the fence in node_attend()) loads `done`: either
 *     we see that it sleeps, or it sees that we are done.
 * The record says nothing, but makes the queue wake its reader.  If that is full, what fills it has woken the reader.
 */
static void tell_reader(struct node *node, const struct node_help *help)
{
	struct node_peer *peer = help->peer;
	struct node_segment *segment = peer->segment;
	struct ends now = unpack(atomic_load_explicit(&segment->claims[help->claim].ends, memory_order_seq_cst));

	if (now.generation != help->generation || now.front + now.back < help->total || peer->meeting != NODE_OPEN)
		return;
	uint64_t attention = atomic_load_explicit(&segment->attention, memory_order_seq_cst);

	if ((attention & ((1u << NODE_ATTENTION_BITS) - 1)) != NODE_AWAKE)
		(void)node_append(node, peer, NODE_HELP, "", 0, NULL, 0);
}

static void end_chunk(struct node *node, const struct chunks *chunks, unsigned at, int rc)
{
	struct node_help *help = chunks->helps[at];
	struct node_claim *claim = &help->peer->segment->claims[help->claim];
	uint64_t generation = (uint64_t)help->generation << GENERATION_SHIFT;

	node->counters.chunks_helped++;
	if (rc)
		atomic_store_explicit(&claim->failed, generation | (chunks->chunk[at] + 1), memory_order_relaxed);
	FAULT_POINT("split-written");
	/* Publishes the chunk, or its failure: pairs with the load in node_split_result(). */
	atomic_store_explicit(&claim->done, generation | ++help->done, memory_order_seq_cst);
	FAULT_POINT("split-done");
	tell_reader(node, help);
	if (rc)
		drop(node->copies, help);
}

/* Of messages of which there is one chunk for us: of longer ones the oldest goes first. */
static void join(struct node *node, struct chunks *chunks)
{
	struct node_copies *copies = node->copies;

	if (chunks->helps[0]->length > NODE_CHUNK_MAX)
		return;
	for (uint32_t i = copies->helps_first + 1; i != copies->helps_seen && chunks->count < NODE_BATCH; i++) {
		struct node_help *help = &copies->helps[i % NODE_HELPS];

		if (help->peer == chunks->peer && help->length <= NODE_CHUNK_MAX &&
		    chunks->bytes + help->chunk <= NODE_CHUNK_MAX)
			add_chunk(node, help, chunks);
	}
}

/* By one system call; after a failure each by its own, to know which it is. */
static void copy_chunks(struct node *node, const struct chunks *chunks)
{
	unsigned at = 0, most = chunks->count;

	while (at < chunks->count) {
		unsigned count = chunks->count - at < most ? chunks->count - at : most;
		ssize_t written = write_chunks(chunks, at, count), length = (ssize_t)chunks->local[at].iov_len;

		if (written < length && count > 1) {
			most = 1;
			continue;
		}
		if (written == -EPERM)
			node_refuse_cross_memory(node, chunks->peer, EPERM);
		if (written < length) {
			end_chunk(node, chunks, at++, written < 0 ? (int)written : -EFAULT);
			continue;
		}
		for (; at < chunks->count && written >= (ssize_t)chunks->local[at].iov_len; at++) {
			written -= (ssize_t)chunks->local[at].iov_len;
			end_chunk(node, chunks, at, 0);
		}
	}
}

/* False: the claim is closed, or the request was none. */
static bool help_with(struct node *node, struct node_help *help)
{
	struct chunks chunks;

	chunks.peer = help->peer;
	chunks.count = 0;
	chunks.bytes = 0;
	if (!add_chunk(node, help, &chunks))
		return false;
	join(node, &chunks);
	FAULT_POINT("split-claimed");
	copy_chunks(node, &chunks);
	return true;
}

/* NULL: none is alive. */
static struct node_help *oldest_help(struct node_copies *copies)
{
	if (copies->helps_seen - copies->helps_first > NODE_HELPS)
		copies->helps_first = copies->helps_seen - NODE_HELPS;
	for (; copies->helps_first != copies->helps_seen; copies->helps_first++)
		if (copies->helps[copies->helps_first % NODE_HELPS].peer)
			return &copies->helps[copies->helps_first % NODE_HELPS];
	return NULL;
}

/*
 * The oldest first.  A reader does the same with what it reads from us: of each message of a window the same part is
 * written by the same processor, and messages end in their order.  Readers do not take turns here, as the peers of a
 * reader do there: each gets by itself what we do not write.
 */
int node_help_step(struct node *node)
{
	struct node_help *help;

	if (!node_help_pending(node))
		return 0;
	while ((help = oldest_help(node->copies))) {
		if (help_with(node, help))
			return 1;
		drop(node->copies, help);
	}
	return 0;
}

bool node_help_pending(const struct node *node)
{
	return node->copies->helps_alive > 0 && node->sink->host_waits(node->owner);
}
