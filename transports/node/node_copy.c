/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long data within the node: it is read by the side that it goes to, chunk by chunk: at each poll one system call, which copies
 * one chunk of a long message, or those of several short ones from the same peer, as both the reader and a helper do.  A read
 * may be of many pieces of memory at either end, if it is short: then it is one chunk, of which each system call gets all that
 * is left.
 *
 * A chunk comes in one of three ways, of which node_choice.c knows the quickest:
 *   - we read the source's memory (process_vm_readv): no part of the source's process runs;
 *   - the source's process writes into ours (process_vm_writev), while a thread of its application waits, so that its
 *     core is free: "help", for messages from NODE_SPLIT_MIN on (node_split.c);
 *   - it is copied twice, through the source's slabs, by both ends at a time (node_pull.c): where that is the quickest, or where
 *     processes must not trace each other.
 *
 * OWNERSHIP.  Everything in `struct node_copies` belongs to the owner of the engine.  The only words that two processes
 * write are a claim's, in the reader's segment: `ends` (both, by compare-and-swap), `done` and `failed` (the helper; the
 * reader resets them before it opens the claim anew, when there is no helper).
 *
 * WHY NO BYTE IS WRITTEN AFTER rdma_done().  A chunk belongs to the process that has taken it, by a compare-and-swap of
 * `ends` which also compares the generation, and no other ever writes it while that generation lasts:
 *   (1) the sum of both counts in `ends` never exceeds the number of chunks, and no count ever shrinks; so once the sum
 *       is that number, nothing more is taken;
 *   (2) the helper adds to `done` after its system call has returned, whether that wrote or failed, and never later
 *       writes that chunk again;
 *   (3) the reader ends a read when the sum is full and `done` is what was taken from the back, and only then opens the
 *       claim with the next generation.  A read that fails closes its claim first: it takes all that is left.
 * There is no time after which a chunk is taken back: a stopped helper would write into memory in use for something else
 * when it goes on.  What releases it is proof that the helper's process, or the image of it that we met, is no more.
 * What the helper could not write, the reader gets itself after (3).  A generation has 32 bits: for a request for help to
 * fit a later claim, its helper has to be stopped between two instructions while 2^32 claims come and go.
 * The source cannot deregister its memory while it writes from it, because it does both as owner of its engine; when it
 * takes a chunk it looks its key up anew.
 *
 * WHOSE MEMORY IS IT?  A process id may have passed to another process, and a process may have replaced its image by
 * execve().  So a process_vm_readv() also fetches the peer's incarnation, from where that peer said it is: both
 * parts come from one address space, and since neither an id nor an image comes back, the last read vouches for those
 * before.  (It takes as long as asking a pidfd, which does not see execve().)  Once a peer was known so, a
 * word that only it and the kernel can write to vouches for it (node_voucher.c): while that is what it was before the proof, it is
 * the same process and image, and a load of it after a read, or before a write, says as much as the incarnation.  It belongs to the
 * peer's NIC thread: where there is none, or it has ended, or the system has no such words, the incarnation is asked for.
 * (What is read while the word still vouched, and found so only after its process has ended, is refused.)
 *
 * WAITING.  A reader that has taken everything polls on, and may sleep when the engine is tired of that: a helper that is
 * done finds it asleep and wakes it (tell_reader()).  So a helper that is stopped for minutes costs nothing.
 *
 * WHAT A MISBEHAVING PEER CAN DO.  Its requests are checked against what we have exposed, and name no memory of ours
 * otherwise.  What we write on its behalf goes to the process that we know it to be, wherever it says.  It can spoil
 * the claims in our segment: then a read fails (-EPROTO) or waits for its source's end.  It can send other bytes than
 * it should, it can answer a request too often or never; pieces that do not fit the read they name are dropped.  By
 * definition of process_vm_writev() it can also do without us: the peers that we meet here are the same user.
 */
#include "transports/node/node_copy.h"
#include "transports/node/node_list.h"
#include "transports/node/node_process.h"
#include "transports/node/node_pull.h"
#include "transports/node/node_read.h"
#include "transports/node/node_split.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"

/* 1: there is a chunk to be got; 0: all are taken; -EPROTO. */
static int take_chunk(struct node_read *read)
{
	if (read->split) {
		int rc = node_split_take(read);

		if (rc > 0)
			node_read_chunk(read, read->front - 1);
		return rc;
	}
	if (read->end == read->length)
		return 0;
	read->end = read->length - read->at < read->chunk ? read->length : read->at + read->chunk;
	return 1;
}

static void read_failed(struct node *node, struct node_read *read, int rc)
{
	if (rc == -EFAULT && node_identify(read->peer) == -ECONNRESET)
		rc = -ECONNRESET;
	if (rc == -EFAULT || rc == -ECONNRESET)
		node_read_finish(node, read, rc);
	else
		node_refuse_cross_memory(node, read->peer, -rc);
}

/* What was read as well as the chunk says whose memory it is; if nothing was, the peer's voucher does. */
struct origin {
	uint64_t nonce[2];
	size_t length; /* of it, 0 or all */
	uint64_t sign;
};

static struct origin ask_for_origin(const struct node_peer *peer)
{
	struct origin origin = {.length = 0};

	if (node_vouched(peer))
		return origin;
	origin.length = sizeof(origin.nonce);
	origin.sign = node_sign(peer);
	return origin;
}

/* After the read.  0, or -ECONNRESET...: it was another process, or that is not known. */
static int check_origin(struct node_peer *peer, const struct origin *origin, size_t got)
{
	if (origin->length == 0)
		return node_ascertain(peer);
	if (got < origin->length || memcmp(origin->nonce, peer->incarnation, origin->length) != 0)
		return -ECONNRESET;
	peer->sign = origin->sign;
	return 0;
}

/* Reads of one peer that one system call advances, each by the rest of its chunk at hand. */
struct batch {
	struct node_read *reads[NODE_BATCH];
	unsigned count;
	uint64_t bytes;
	struct origin origin;
	struct iovec local[1 + TRANSPORT_PIECES_MAX], remote[1 + TRANSPORT_PIECES_MAX];
	unsigned here, there;
};

static void add(struct batch *batch, struct node_read *read)
{
	const uint64_t left = read->end - read->at;

	batch->here += node_walk_iovec((struct node_walk){read->local, read->at, left}, batch->local + batch->here);
	batch->there += node_walk_iovec((struct node_walk){read->remote, read->at, left}, batch->remote + batch->there);
	batch->reads[batch->count++] = read;
	batch->bytes += left;
}

/* Behind a place for what says whose memory it is. */
static void begin_batch(struct batch *batch, struct node_read *read)
{
	batch->count = 0;
	batch->bytes = 0;
	batch->here = batch->there = 1;
	add(batch, read);
}

/* Of one piece at either end, and short: of longer ones the oldest goes first. */
static bool is_plain(const struct node_read *read)
{
	return read->local == &read->one[0] && read->length <= NODE_CHUNK_MAX;
}

/* What its next system call gets. */
static uint64_t next_length(const struct node_read *read)
{
	const uint64_t left = read->length - read->at;

	if (read->at < read->end)
		return read->end - read->at;
	return left < read->chunk ? left : read->chunk;
}

static bool may_join(const struct batch *batch, const struct node_read *read)
{
	const struct node_read *first = batch->reads[0];

	return read != first && read->state == READ_READY && read->peer == first->peer && read->way != NODE_STAGED &&
	       is_plain(read) && batch->bytes + next_length(read) <= NODE_CHUNK_MAX;
}

static void join(struct node_copies *copies, struct batch *batch)
{
	if (!is_plain(batch->reads[0]))
		return;
	for (uint32_t i = 0; i < copies->read_count && batch->count < NODE_BATCH; i++) {
		struct node_read *read = &copies->reads[copies->order[i]];

		if (may_join(batch, read) && (read->at < read->end || take_chunk(read) > 0))
			add(batch, read);
	}
}

/* `got` bytes have been read, in the order of the batch. */
static void share_out(struct node *node, const struct batch *batch, uint64_t got)
{
	for (unsigned i = 0; i < batch->count; i++) {
		struct node_read *read = batch->reads[i];
		uint64_t part = read->end - read->at;

		part = part < got ? part : got;
		read->at += part;
		got -= part;
	}
	/* Often the last: then they need not wait for the next poll. */
	for (unsigned i = 0; i < batch->count; i++) {
		struct node_read *read = batch->reads[i];

		if (read->state == READ_READY && !read->split && read->at == read->length)
			node_read_end(node, read, 0);
	}
}

/* 0, or why nothing was read for the first. */
static int read_batch(struct node *node, struct batch *batch)
{
	struct node_peer *peer = batch->reads[0]->peer;

	batch->origin = ask_for_origin(peer);
	const size_t asked = batch->origin.length;
	const unsigned skipped = asked == 0;

	batch->local[0] = (struct iovec){batch->origin.nonce, asked};
	batch->remote[0] = (struct iovec){(void *)(uintptr_t)peer->nonce, asked};
	FAULT_POINT("read-before");
	ssize_t got = process_vm_readv(peer->os_pid, batch->local + skipped, batch->here - skipped,
				       batch->remote + skipped, batch->there - skipped, 0);
	FAULT_POINT("read-after");
	int rc = got < 0 ? -errno : check_origin(peer, &batch->origin, (size_t)got);

	if (rc == 0 && (size_t)got == asked)
		rc = -EFAULT;
	if (rc == 0)
		share_out(node, batch, (uint64_t)got - asked);
	return rc;
}

/*
 * Reads the rest of the chunk at hand, with those of others from the same peer: of short messages the price of a system call
 * is a good part.  What fails is tried by itself, to know that it is not another one's fault.
 */
static void read_chunk(struct node *node, struct node_read *read)
{
	struct batch batch;

	begin_batch(&batch, read);
	join(node->copies, &batch);
	int rc = read_batch(node, &batch);

	if (rc && batch.count > 1) {
		begin_batch(&batch, read);
		rc = read_batch(node, &batch);
	}
	if (rc)
		read_failed(node, read, rc);
}

/* Asks for the next stretch.  Returns how much was done. */
static int pull(struct node *node, struct node_read *read)
{
	int rc = node_pull_ask(node, read);

	if (rc == -ENOBUFS && read->peer->cross_memory) { /* a source that does not consume does not copy */
		node_read_alone(node, read);
		return 1;
	}
	if (rc == -EFAULT)
		node_read_finish(node, read, rc);
	read->blocked = rc == -EAGAIN || rc == -ENOBUFS;
	return !read->blocked;
}

/* Works at one chunk.  Returns how much was done. */
static int advance(struct node *node, struct node_read *read)
{
	if (read->at == read->end) {
		int rc = take_chunk(read);

		if (rc <= 0) {
			node_read_finish(node, read, rc);
			return 1;
		}
	}
	if (read->way == NODE_STAGED || !read->peer->cross_memory)
		return pull(node, read);
	read_chunk(node, read);
	return 1;
}

static struct node_read *next_late(struct node_copies *copies)
{
	for (uint32_t i = 0; i < copies->read_count; i++) {
		struct node_read *read = &copies->reads[copies->order[i]];

		if (node_read_impatient(read) && cycle_clock() >= read->late_at)
			return read;
	}
	return NULL;
}

/* Peers in turn, of each the oldest read. */
static struct node_read *next_ready(struct node_copies *copies)
{
	struct node_read *next = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < copies->read_count; i++) {
		struct node_read *read = &copies->reads[copies->order[i]];
		uint32_t distance = read->peer->index - copies->served - 1;

		if (read->state == READ_READY && (!next || distance < least)) {
			next = read;
			least = distance;
		}
	}
	return next;
}

static struct node_read *next_settled(struct node *node)
{
	struct node_copies *copies = node->copies;

	for (uint32_t i = 0; i < copies->read_count; i++) {
		struct node_read *read = &copies->reads[copies->order[i]];

		if (read->state == READ_SETTLING && node_read_settle(node, read))
			return read;
	}
	return NULL;
}

static int read_step(struct node *node)
{
	struct node_copies *copies = node->copies;
	struct node_read *read;

	if (likely(copies->read_count == 0))
		return 0;
	if (next_settled(node))
		return 1;
	while ((read = next_late(copies)))
		node_read_alone(node, read);
	if (!(read = next_ready(copies)))
		return 0;
	copies->served = read->peer->index;
	return advance(node, read);
}

int node_copy_step(struct node *node)
{
	int done = read_step(node);

	done += node_pull_step(node);
	return done ? done : node_help_step(node);
}

bool node_copies_pending(const struct node *node)
{
	const struct node_copies *copies = node->copies;
	uint64_t failed;

	for (uint32_t i = 0; i < copies->read_count; i++) {
		const struct node_read *read = &copies->reads[copies->order[i]];

		if ((read->state == READ_READY && !read->blocked) || node_read_impatient(read) ||
		    (read->state == READ_SETTLING && node_split_result(read, &failed) != -EAGAIN))
			return true;
	}
	for (uint32_t i = 0; i < copies->pull_count; i++)
		if (!copies->pulls[i].blocked)
			return true;
	return node_help_pending(node);
}

bool node_copies_blocked(const struct node *node)
{
	const struct node_copies *copies = node->copies;

	for (uint32_t i = 0; i < copies->read_count; i++) {
		const struct node_read *read = &copies->reads[copies->order[i]];

		if (read->state == READ_READY && read->blocked)
			return true;
	}
	return copies->pull_count > 0;
}

/* --- records --- */

void node_copy_record(struct node *node, struct node_peer *peer, enum node_kind kind, const uint8_t *bytes,
		      size_t length)
{
	if (kind == NODE_HELP)
		node_help_asked(node, peer, bytes, length);
	else if (kind == NODE_PULL)
		node_pull_asked(node, peer, bytes, length);
	else if (!node_pulled_piece(node, peer, bytes, length))
		node->counters.malformed++;
}
