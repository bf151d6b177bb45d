/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads of peers' memory. */
#include <stdlib.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_rma.h"
#include "transports/ofi/ofi_send.h"

#define BLOCK_OPERATIONS 64
#define STREAM_DELAY_NS  4000000 /* what the first short message after many long ones may have to wait for them */

struct ofi_rma_block {
	struct ofi_rma_block *next;
	struct ofi_operation operations[BLOCK_OPERATIONS];
};

static struct ofi_operation *take_operation(struct ofi *ofi)
{
	if (!ofi->free_rma) {
		struct ofi_rma_block *block = calloc(1, sizeof(*block));
		if (!block)
			return NULL;
		block->next = ofi->rma_blocks;
		ofi->rma_blocks = block;
		for (int i = 0; i < BLOCK_OPERATIONS; i++) {
			block->operations[i].kind = OFI_RMA;
			block->operations[i].next = ofi->free_rma;
			ofi->free_rma = &block->operations[i];
		}
	}
	struct ofi_operation *operation = ofi->free_rma;
	ofi->free_rma = operation->next;
	return operation;
}

static void give_operation(struct ofi *ofi, struct ofi_operation *operation)
{
	operation->next = ofi->free_rma;
	ofi->free_rma = operation;
}

/*
 * What is in flight to one peer is bounded over all messages: see the sizes in ofi_provider.c.  A greater window of the engine's is for
 * streams beside which nothing waits; but the first message that does waits behind all of it.  So it grows as long as reads of a window
 * that is in use take less than STREAM_DELAY_NS, and shrinks while they take more: a slow network never gets there.
 */
static uint64_t greatest_window(const struct ofi *ofi, const struct ofi_address *peer, uint64_t wanted)
{
	uint64_t window = wanted < peer->rma_bound ? wanted : peer->rma_bound;

	return window > ofi->rma_window ? window : ofi->rma_window;
}

static bool window_is_full(const struct ofi *ofi, const struct ofi_address *peer, size_t length, uint64_t wanted)
{
	return ofi->outstanding >= ofi->outstanding_max || ofi->lone_rma ||
	       (ofi->rma_window && peer->rma_bytes && peer->rma_bytes + length > greatest_window(ofi, peer, wanted));
}

/* Such a read has ended well, before it is taken off. */
static void adapt_window(const struct ofi *ofi, const struct ofi_operation *operation)
{
	struct ofi_address *peer = &ofi->addresses[operation->peer];
	uint64_t least = ofi->rma_window, most = ofi->profile.stream_window;
	uint64_t bound = peer->rma_bound > least ? peer->rma_bound : least;

	if (monotonic_ns() - operation->began > STREAM_DELAY_NS)
		bound -= operation->length < bound ? operation->length : bound;
	else if (peer->rma_bytes > bound / 2)
		bound += operation->length;
	peer->rma_bound = bound < least ? least : bound > most ? most : bound;
}

/*
 * shm of libfabric 2.1 answers -FI_EAGAIN both where it has no room and where its process_vm_readv() has failed
 * (smr_generic_rma: "error doing fast RMA"), at each try again.  The kernel's answer is still in errno, which is cleared before.
 * ENOMEM may pass; the others do not: that memory is not there, or not for us, or its process is not (or its first thread has ended).
 * But an EPERM may come from libfabric's own test, once a peer, of whether the kernel permits reads; then it copies through its
 * segment.  A second one in a row is the kernel's answer to the read.
 */
static ssize_t cause_of(const struct ofi_address *peer, int refusal, ssize_t code)
{
	bool lasts = refusal == EFAULT || refusal == ESRCH || (refusal == EPERM && peer->unreadable);

	return lasts ? -refusal : code;
}

static int post_error(const struct ofi *ofi, uint64_t to, int refusal, ssize_t code)
{
	code = cause_of(&ofi->addresses[to], refusal, code);
	if (code == -ESRCH)
		return report_error(
			-ECONNRESET,
			"%s: the memory of peer %lu cannot be read: its process, or the first thread of it, has ended",
			ofi->profile.name, (unsigned long)to);
	return ofi_post_error(ofi, "a read", to, code);
}

static int start(struct ofi *ofi, struct fi_msg_rma *message, uint64_t window, void *context)
{
	size_t length = message->msg_iov->iov_len;
	size_t cost = length > ofi->profile.rma_least ? length : ofi->profile.rma_least;
	uint64_t to = message->addr;

	if (length > ofi->rma_greatest)
		return -EMSGSIZE;
	if (to >= ofi->address_count)
		return -EHOSTUNREACH;
	if (window_is_full(ofi, &ofi->addresses[to], cost, window))
		return -EAGAIN;
	struct ofi_operation *operation = take_operation(ofi);
	if (!operation)
		return -EAGAIN;
	operation->peer = (uint32_t)to;
	operation->length = cost;
	operation->owner_context = context;
	operation->began = ofi->profile.stream_window ? monotonic_ns() : 0;
	operation->posted = true;
	message->context = operation;
	message->addr = ofi->addresses[to].number;
	ofi_clear_errno();
	ssize_t code = fi_readmsg(ofi->ep, message, FI_COMPLETION);
	int refusal = code == -FI_EAGAIN && ofi->profile.lone_rma ? errno : 0; /* the kernel's */
	int rc = code ? post_error(ofi, to, refusal, code) : 0;

	ofi->addresses[to].unreadable = refusal == EPERM;
	if (code) {
		operation->posted = false;
		give_operation(ofi, operation);
		return rc;
	}
	ofi->lone_rma = ofi->profile.lone_rma ? operation : NULL;
	ofi->addresses[to].rma_bytes += cost;
	ofi->outstanding++;
	return 0;
}

int ofi_read(struct transport *transport, const struct transport_read *read)
{
	const struct ofi_region *region = read->memory_region ? read->memory_region->region : NULL;
	void *descriptor = region ? fi_mr_desc(region->mr) : NULL;
	struct iovec local = {read->local, read->length};
	struct fi_rma_iov target = {read->remote, read->length, read->key};
	struct fi_msg_rma message = {.msg_iov = &local,
				     .desc = &descriptor,
				     .iov_count = 1,
				     .addr = read->peer,
				     .rma_iov = &target,
				     .rma_iov_count = 1};

	return start(ofi_of(transport), &message, read->window, read->context);
}

/* From now on the provider may report it as often as it likes.  Returns what the owner knows it by. */
static void *take_off(struct ofi *ofi, struct ofi_operation *operation)
{
	operation->posted = false;
	ofi->lone_rma = NULL;
	ofi->addresses[operation->peer].rma_bytes -= operation->length;
	ofi->outstanding--;
	return operation->owner_context;
}

/* It is never used again. */
void ofi_rma_abandon(struct ofi *ofi, struct ofi_operation *operation, int status)
{
	ofi->sink->rdma_done(ofi->owner, take_off(ofi, operation), status);
}

/*
 * When a connection breaks at the sending side while the answer to a read is coming in, net (1.17) reports that read as
 * cancelled twice, the second time behind all others.  So what failed is used again only when the completion queue has
 * been seen empty, and what is not posted has not ended.
 */
void ofi_rma_done(struct ofi *ofi, struct ofi_operation *operation, int status)
{
	if (unlikely(!operation->posted))
		return;
	if (status == 0 && ofi->profile.stream_window)
		adapt_window(ofi, operation);
	void *context = take_off(ofi, operation);

	if (likely(status == 0)) {
		give_operation(ofi, operation);
	} else {
		operation->next = ofi->failed_rma;
		ofi->failed_rma = operation;
	}
	ofi->sink->rdma_done(ofi->owner, context, status);
}

void ofi_rma_reuse_failed(struct ofi *ofi)
{
	while (ofi->failed_rma) {
		struct ofi_operation *operation = ofi->failed_rma;
		ofi->failed_rma = operation->next;
		give_operation(ofi, operation);
	}
}

void ofi_rma_destroy(struct ofi *ofi)
{
	while (ofi->rma_blocks) {
		struct ofi_rma_block *block = ofi->rma_blocks;
		ofi->rma_blocks = block->next;
		free(block);
	}
	ofi->free_rma = ofi->failed_rma = ofi->lone_rma = NULL;
}
