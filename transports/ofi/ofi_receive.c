/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrivals and completions.
 *
 * Messages land in multi-receive buffers, one behind the other, and are consumed inside arrived(), so a full buffer
 * can be posted again as soon as all of it was received.  That is not yet so when the provider releases it: messages
 * of several peers fill one buffer at the same time, and the last one to begin, which carries the release, may end
 * first.  A peer stopped in mid-message would otherwise go on to write into the message of another.  Such a buffer
 * waits, and another one takes its place.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_forget.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_memory.h"
#include "transports/ofi/ofi_receive.h"
#include "transports/ofi/ofi_rma.h"
#include "transports/ofi/ofi_send.h"
#include "transports/ofi/ofi_sleep.h"
#include "transports/ofi/ofi_sockets.h"
#include "transports/ofi/ofi_watch.h"

#define SUSPICION_POLLS (1u << 20) /* some 100 ms */

/*
 * Polls between looks for new connections.  A count and no time, because it weighs one system call against as many polls, of which
 * each makes one or more: a sixteenth of them at a quarter of it, and a newcomer that waits for 256 polls at four times as
 * many, neither of which can be seen beside what a connection takes.
 */
#define LOOK_AFTER 64

static int post_buffer(struct ofi *ofi, struct ofi_buffer *buffer)
{
	void *descriptor = buffer->mr ? fi_mr_desc(buffer->mr) : NULL;
	struct iovec bytes = {buffer->bytes, OFI_BUFFER_BYTES};
	struct fi_msg message = {
		.msg_iov = &bytes, .desc = &descriptor, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buffer};

	ssize_t code = fi_recvmsg(ofi->ep, &message, FI_MULTI_RECV);
	if (code)
		return report_kept(ofi_errno(code), "%s refuses a receive buffer of %u bytes: %s", ofi->profile.name,
				   OFI_BUFFER_BYTES, ofi->library->strerror((int)-code));
	buffer->received = 0;
	buffer->posted = true;
	buffer->next_queued = NULL;
	if (ofi->posted_first)
		ofi->posted_last->next_queued = buffer;
	else
		ofi->posted_first = buffer;
	ofi->posted_last = buffer;
	return 0;
}

static void free_buffer(struct ofi_buffer *buffer)
{
	if (buffer->mr)
		fi_close(&buffer->mr->fid);
	if (buffer->bytes != MAP_FAILED)
		munmap(buffer->bytes, OFI_BUFFER_BYTES);
	free(buffer);
}

static struct ofi_buffer *create_buffer(struct ofi *ofi)
{
	struct ofi_buffer *buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return NULL;
	buffer->operation.kind = OFI_RECEIVE;
	buffer->bytes = mmap(NULL, OFI_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer->bytes == MAP_FAILED ||
	    (ofi->base.limits.local_registration &&
	     ofi_register(ofi, buffer->bytes, OFI_BUFFER_BYTES, FI_RECV, &buffer->mr) != 0)) {
		free_buffer(buffer);
		return NULL;
	}
	buffer->next = ofi->buffers;
	ofi->buffers = buffer;
	return buffer;
}

static void spare(struct ofi *ofi, struct ofi_buffer *buffer)
{
	buffer->next_queued = ofi->spare_buffers;
	ofi->spare_buffers = buffer;
}

static int post_one_more(struct ofi *ofi)
{
	struct ofi_buffer *buffer = ofi->spare_buffers;

	if (buffer)
		ofi->spare_buffers = buffer->next_queued;
	else
		buffer = create_buffer(ofi);
	if (!buffer)
		return report_error(-ENOMEM, "no memory for a receive buffer of %u bytes", OFI_BUFFER_BYTES);
	int rc = post_buffer(ofi, buffer);

	if (rc)
		spare(ofi, buffer);
	return rc;
}

/*
 * shm 1.17 takes from one pool of 1024 both what notes a posted receive and what notes a message that found none.  Once a
 * flood has taken all of them, only a new buffer could free them, and it is refused for want of one.  So we keep one: a
 * receive of a kind that is never sent, cancelled when a buffer needs its place.
 */
static void keep_reserve(struct ofi *ofi)
{
	ofi->reserve.kind = OFI_RESERVE;
	ofi->reserve.posted = fi_trecv(ofi->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, 0, 0, &ofi->reserve) == 0;
}

/* Only for a buffer that we have and the provider has refused: memory of ours it does not make. */
static bool give_up_reserve(struct ofi *ofi)
{
	if (!ofi->reserve.posted || !ofi->spare_buffers || fi_cancel(&ofi->ep->fid, &ofi->reserve) != 0)
		return false;
	ofi->reserve.posted = false;
	return true;
}

/* Those for which there is no room now are offered again at each poll: without buffers we would be deaf. */
static void post_missing(struct ofi *ofi)
{
	while (ofi->missing > 0 && (post_one_more(ofi) == 0 || (give_up_reserve(ofi) && post_one_more(ofi) == 0)))
		ofi->missing--;
	if (unlikely(ofi->profile.scarce_receives && !ofi->reserve.posted))
		keep_reserve(ofi);
}

int ofi_buffers_create(struct ofi *ofi)
{
	int rc = 0;

	for (int i = 0; i < OFI_BUFFERS && !rc; i++)
		rc = post_one_more(ofi);
	if (!rc && ofi->profile.scarce_receives)
		keep_reserve(ofi);
	return rc;
}

void ofi_buffers_destroy(struct ofi *ofi)
{
	while (ofi->buffers) {
		struct ofi_buffer *buffer = ofi->buffers;
		ofi->buffers = buffer->next;
		free_buffer(buffer);
	}
	ofi->spare_buffers = ofi->posted_first = NULL;
	ofi->missing = 0;
	ofi->reserve.posted = false;
}

static struct ofi_buffer *take_oldest_posted(struct ofi *ofi)
{
	struct ofi_buffer *buffer = ofi->posted_first;

	ofi->posted_first = buffer->next_queued;
	buffer->posted = false;
	return buffer;
}

/* All of it has been released and received: it can be posted again. */
static void spare_if_complete(struct ofi *ofi, struct ofi_buffer *buffer)
{
	if (buffer->released && buffer->received == buffer->end) {
		buffer->released = false;
		spare(ofi, buffer);
	}
}

/*
 * Buffers fill in the order they were posted.  One that was posted earlier and is not released yet never will be if its
 * last message died with its sender (net); so it is replaced as well.
 */
static void release_buffer(struct ofi *ofi, struct ofi_buffer *buffer, size_t end)
{
	buffer->released = true;
	buffer->end = end;
	for (; buffer->posted; ofi->missing++)
		take_oldest_posted(ofi);
	spare_if_complete(ofi, buffer);
	post_missing(ofi);
}

/* A release may come with the last message or alone, with length 0 (shm); we never send 0 bytes. */
static void receive(struct ofi *ofi, const struct fi_cq_data_entry *entry, fi_addr_t source)
{
	struct ofi_buffer *buffer = entry->op_context;

	transport_address from =
		unlikely(ofi->profile.false_source) ? TRANSPORT_ADDRESS_UNKNOWN : ofi_source(ofi, source);

	if (likely(entry->len > 0)) {
		if (likely(from < ofi->address_count))
			ofi->addresses[from].heard = true;
		ofi->received++;
		ofi->sink->arrived(ofi->owner, from, entry->buf, entry->len, NULL, 0);
		buffer->received += entry->len;
	}
	if (entry->flags & FI_MULTI_RECV)
		release_buffer(ofi, buffer,
			       entry->len ? (size_t)((char *)entry->buf - buffer->bytes) + entry->len
					  : buffer->received);
	else if (unlikely(buffer->released))
		spare_if_complete(ofi, buffer);
}

static void complete(struct ofi *ofi, const struct fi_cq_data_entry *entry, fi_addr_t source)
{
	struct ofi_operation *operation = entry->op_context;

	if (!operation) /* shm and net report injected sends although not asked to */
		return;
	switch (operation->kind) {
	case OFI_RECEIVE:
		receive(ofi, entry, source);
		break;
	case OFI_SEND:
		ofi_send_done(ofi, operation);
		break;
	case OFI_RMA:
		ofi_rma_done(ofi, operation, 0);
		break;
	case OFI_RESERVE: /* what it waits for is never sent */
		operation->posted = false;
		break;
	}
}

/*
 * A dying process closes its TCP sockets a little before its port, so one look is not enough: we look again after 1, 2,
 * 4, 8 ... polls.
 */
static void look_after_suspect(struct ofi *ofi)
{
	unsigned polls = ofi->suspicion++;

	if (polls & (polls - 1))
		return;
	if (ofi->base.ops->probe(&ofi->base, ofi->suspect) == -ECONNREFUSED) {
		ofi->suspicion = 0;
		ofi->sink->peer_gone(ofi->owner, ofi->suspect);
	} else if (polls == SUSPICION_POLLS) {
		ofi->suspicion = 0;
	}
}

/* Something sent to the peer was lost.  If its port is closed too it is dead; otherwise the engine will find out. */
static void suspect(struct ofi *ofi, uint32_t peer)
{
	ofi->suspect = peer;
	ofi->suspicion = 1;
}

static void complete_in_error(struct ofi *ofi, const struct fi_cq_err_entry *entry)
{
	struct ofi_operation *operation = entry->op_context ? entry->op_context : ofi->lone_rma;
	uint32_t peer;

	if (!operation)
		return;
	switch (operation->kind) {
	case OFI_RECEIVE:
		/*
		 * A peer died in mid-message (net does not tell).  The buffer will never add up, so it stays aside for
		 * good: 256 KiB for each such death.
		 */
		ofi->receive_errors++;
		if (entry->flags & FI_MULTI_RECV)
			release_buffer(ofi, (struct ofi_buffer *)(void *)operation, SIZE_MAX);
		break;
	case OFI_SEND:
		ofi->send_errors++;
		peer = operation->peer;
		ofi_send_done(ofi, operation);
		suspect(ofi, peer);
		break;
	case OFI_RMA:
		peer = operation->peer;
		ofi_rma_done(ofi, operation, ofi_errno(-abs(entry->err))); /* shm: negative */
		suspect(ofi, peer);
		break;
	case OFI_RESERVE: /* cancelled by us, as a rule; by now it may be posted again */
		if (entry->err != FI_ECANCELED)
			operation->posted = false;
		break;
	}
}

static void read_error(struct ofi *ofi)
{
	struct fi_cq_err_entry entry = {0};

	if (fi_cq_readerr(ofi->cq, &entry, 0) == 1)
		complete_in_error(ofi, &entry);
}

/* While they are handled, sends may keep what has completed meanwhile: it is handled after them. */
static int poll_stash(struct ofi *ofi)
{
	struct fi_cq_data_entry entries[OFI_BATCH];
	fi_addr_t sources[OFI_BATCH];
	int count = ofi->stashed;

	memcpy(entries, ofi->stash, (size_t)count * sizeof(entries[0]));
	memcpy(sources, ofi->stash_source, (size_t)count * sizeof(sources[0]));
	ofi->stashed = 0;
	for (int i = 0; i < count; i++)
		complete(ofi, &entries[i], sources[i]);
	return count;
}

static inline void look_around(struct ofi *ofi)
{
	if (unlikely(ofi->watching) && ofi_watching_costs_more(ofi))
		ofi_unwatch(ofi);
	if (unlikely(++ofi->polls >= LOOK_AFTER))
		ofi_take_connections(ofi);
	if (unlikely(ofi->suspicion))
		look_after_suspect(ofi);
	if (unlikely(ofi->missing))
		post_missing(ofi);
}

/* The queue is empty.  Returns 1 if that has found something to be handled, else 0. */
static inline int tidy_up(struct ofi *ofi)
{
	if (unlikely(ofi->failed_rma))
		ofi_rma_reuse_failed(ofi);
	if (unlikely(ofi->unused_count > OFI_UNUSED_KEPT))
		ofi_reap_unused(ofi);
	if (likely(!ofi->doubts))
		return 0;
	ofi_sever_only(ofi);
	return ofi->stashed > 0; /* it has read on */
}

int ofi_poll(struct transport *transport, int budget)
{
	struct ofi *ofi = ofi_of(transport);
	int handled = 0;

	look_around(ofi);
	while (handled < budget) {
		struct fi_cq_data_entry entries[OFI_BATCH];
		fi_addr_t sources[OFI_BATCH];

		if (unlikely(ofi->stashed)) {
			handled += poll_stash(ofi);
			continue;
		}
		ssize_t count = ofi_read_queue(ofi, entries, sources, OFI_BATCH);

		if (count == -FI_EAGAIN) {
			handled += tidy_up(ofi);
			break;
		}
		if (unlikely(count == -FI_EAVAIL)) {
			read_error(ofi);
			handled++;
			continue;
		}
		if (unlikely(count < 0))
			return report_error(ofi_errno(count), "%s: the completion queue fails: %s", ofi->profile.name,
					    ofi->library->strerror((int)-count));
		for (ssize_t i = 0; i < count; i++)
			complete(ofi, &entries[i], sources[i]);
		handled += (int)count;
		if (count < OFI_BATCH)
			break;
	}
	return handled;
}
