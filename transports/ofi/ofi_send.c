/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queued sends.  Header and payload become one contiguous object, in a slot.  Up to inject_size the provider copies it
 * and the slot is free again at once; above, the slot is the provider's until its completion.
 *
 * An injected send has no completion, and both tcp;ofi_rxm and net take any number of them for a peer that does not
 * read (200 000 to a stopped process: 72 MB).  So every now and then one to each peer is sent with a completion, and
 * a peer that owes OFI_PEER_SENDS of those gets nothing more.
 *
 * PLACED.  A provider over sockets copies nothing itself: it has the kernel take header and payload from where they are, and
 * ends the send when the last byte is taken, as a rule before fi_sendmsg() returns.  So a copy in a slot would be one
 * too many, and of such a send only the header is in one.  What the socket has no room for stays the provider's,
 * the user's memory with it, until the peer reads on or the connection breaks (ofi_sever()).
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_memory.h"
#include "transports/ofi/ofi_send.h"
#include "transports/ofi/ofi_sleep.h"

#define SLOTS_GREATEST      1024
#define PLACED_PIECES       4          /* of a message, its header among them: a provider may take less */
#define REGISTERED_GREATEST (4u << 20) /* bytes of slots if they are pinned: RLIMIT_MEMLOCK is 8 MiB by default */

static size_t slot_count(const struct ofi *ofi)
{
	size_t count = ofi->info->tx_attr->size / 2;

	if (ofi->base.limits.local_registration && count > REGISTERED_GREATEST / ofi->slot_size)
		count = REGISTERED_GREATEST / ofi->slot_size;
	if (count > SLOTS_GREATEST)
		count = SLOTS_GREATEST;
	return count ? count : 1;
}

int ofi_slots_create(struct ofi *ofi)
{
	ofi->slot_size = (ofi->base.limits.short_max + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	ofi->slot_count = slot_count(ofi);
	size_t bytes = ofi->slot_count * ofi->slot_size;

	ofi->slots = calloc(ofi->slot_count, sizeof(*ofi->slots));
	ofi->slot_bytes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!ofi->slots || ofi->slot_bytes == MAP_FAILED) {
		ofi->slot_bytes = NULL;
		return -ENOMEM;
	}
	if (ofi->base.limits.local_registration) {
		int rc = ofi_register(ofi, ofi->slot_bytes, bytes, FI_SEND, &ofi->slot_mr);
		if (rc)
			return rc;
		ofi->slot_descriptor = fi_mr_desc(ofi->slot_mr);
	}
	/* Last in, first out: only as much memory is touched as there are sends outstanding at a time. */
	for (size_t i = ofi->slot_count; i-- > 0;) {
		struct ofi_operation *slot = &ofi->slots[i];
		*slot = (struct ofi_operation){.kind = OFI_SEND, .next = ofi->free_slots};
		slot->bytes = ofi->slot_bytes + i * ofi->slot_size;
		ofi->free_slots = slot;
	}
	return 0;
}

void ofi_slots_destroy(struct ofi *ofi)
{
	if (ofi->slot_mr)
		fi_close(&ofi->slot_mr->fid);
	if (ofi->slot_bytes)
		munmap(ofi->slot_bytes, ofi->slot_count * ofi->slot_size);
	free(ofi->slots);
	ofi->slot_mr = NULL;
	ofi->slot_bytes = NULL;
	ofi->slots = ofi->free_slots = NULL;
}

/* Returns whose payload it had in its place, or NULL. */
static void *release_slot(struct ofi *ofi, struct ofi_operation *slot)
{
	struct ofi_address *peer = &ofi->addresses[slot->peer];
	void *context = slot->owner_context;

	peer->sends--;
	if (context)
		peer->placed = false;
	ofi->outstanding--;
	slot->next = ofi->free_slots;
	ofi->free_slots = slot;
	return context;
}

void ofi_send_done(struct ofi *ofi, struct ofi_operation *slot)
{
	void *context = release_slot(ofi, slot);

	if (context)
		ofi->sink->sent(ofi->owner, context);
}

/*
 * Providers connect as they send, so a post ends with whatever errno the sockets or queue pairs below them have met: all that
 * connect(), accept(), send() and recv() say of a peer, of the way to it or of what this process lacks just now.  That may pass, and
 * whether the peer is gone is for the engine to find out, which has deadlines for it.  What the call itself is refused for does not.
 */
static bool may_pass(int error)
{
	switch (error) {
	/* Nothing is free: a queue, memory, a descriptor (which providers also call EIO), a port for our end. */
	case FI_EAGAIN:
	case FI_ENOBUFS:
	case FI_ENOMEM:
	case FI_EBUSY:
	case FI_EMFILE:
	case ENFILE:
	case FI_EADDRNOTAVAIL:
	case FI_EINTR:
	/* The connection is being made. */
	case FI_EALREADY:
	case FI_EINPROGRESS:
	case FI_ENOTCONN:
	/* No process is there, yet or any more (sockets: ENOENT). */
	case FI_ENOENT:
	case FI_ECONNREFUSED:
	case FI_EHOSTDOWN:
	/* The connection has broken. */
	case EPIPE:
	case FI_ECONNRESET:
	case FI_ECONNABORTED:
	case ENETRESET:
	case FI_ESHUTDOWN:
	case FI_ETIMEDOUT:
	case FI_ECANCELED:
	/* Routers and interfaces say so while routes change or a cable is out. */
	case FI_ENETDOWN:
	case FI_ENETUNREACH:
	case FI_EHOSTUNREACH:
		return true;
	default:
		return false;
	}
}

int ofi_post_error(const struct ofi *ofi, const char *what, uint64_t peer, ssize_t code)
{
	if (may_pass(-report_cause(ofi_errno(code))))
		return -EAGAIN;
	return report_error(-EHOSTUNREACH, "%s: %s to peer %lu (%zu bytes at most) fails: %s", ofi->profile.name, what,
			    (unsigned long)peer, ofi->base.limits.short_max, ofi->library->strerror((int)-code));
}

static size_t payload_length(const struct iovec *payload, int count)
{
	size_t length = 0;

	for (int i = 0; i < count; i++)
		length += payload[i].iov_len;
	return length;
}

static void gather(char *to, const void *header, size_t header_length, const struct iovec *payload, int count)
{
	memcpy(to, header, header_length);
	to += header_length;
	for (int i = 0; i < count; i++) {
		if (payload[i].iov_len)
			memcpy(to, payload[i].iov_base, payload[i].iov_len);
		to += payload[i].iov_len;
	}
}

/* The first piece is in the slot, others, if there are any, where their owner has them, which `context` means. */
static ssize_t send_slot(struct ofi *ofi, transport_address to, struct ofi_operation *slot, const struct iovec *pieces,
			 int count, void *context)
{
	struct ofi_address *peer = &ofi->addresses[to];
	void *descriptors[PLACED_PIECES] = {ofi->slot_descriptor};
	struct fi_msg message = {.msg_iov = pieces,
				 .desc = descriptors,
				 .iov_count = (size_t)count,
				 .addr = peer->number,
				 .context = slot};
	struct ofi_operation *rest = slot->next;

	ssize_t code = fi_sendmsg(ofi->ep, &message, FI_COMPLETION);
	if (code)
		return code;
	ofi->free_slots = rest;
	slot->owner_context = context;
	slot->peer = (uint32_t)to;
	if (context)
		peer->placed = true;
	ofi->outstanding++;
	peer->sends++;
	peer->injected = 0;
	return 0;
}

int ofi_send(struct transport *transport, transport_address to, const void *header, size_t header_length,
	     const struct iovec *payload, int count)
{
	struct ofi *ofi = ofi_of(transport);
	struct ofi_operation *slot = ofi->free_slots;
	size_t length = header_length + payload_length(payload, count);
	ssize_t code;

	if (unlikely(length > ofi->base.limits.short_max))
		return -EMSGSIZE;
	if (unlikely(!slot || to >= ofi->address_count))
		return slot ? -EHOSTUNREACH : -ENOBUFS;
	struct ofi_address *peer = &ofi->addresses[to];
	ofi_clear_errno();
	if (length <= ofi->inject_size && peer->injected < OFI_INJECTED_MAX) {
		if (count > 0) {
			gather(slot->bytes, header, header_length, payload, count);
			header = slot->bytes;
		}
		code = fi_inject(ofi->ep, header, length, peer->number);
		if (likely(code == 0))
			peer->injected++;
	} else {
		if (peer->sends >= ofi->peer_sends || ofi->outstanding >= ofi->outstanding_max)
			return -ENOBUFS;
		gather(slot->bytes, header, header_length, payload, count);
		code = send_slot(ofi, to, slot, &(struct iovec){slot->bytes, length}, 1, NULL);
	}
	return likely(code == 0) ? 0 : ofi_post_error(ofi, "a send", to, code);
}

/*
 * One at a time to each peer: if the way is so full that a payload has not left at once, those behind it are copied, so that of a
 * peer that does not read no more than one waits.
 */
static bool may_place(const struct ofi *ofi, transport_address to, int count)
{
	const struct ofi_address *peer = &ofi->addresses[to];

	return ofi->free_slots && to < ofi->address_count && !peer->placed && peer->sends < ofi->peer_sends &&
	       ofi->outstanding < ofi->outstanding_max && count < PLACED_PIECES &&
	       (size_t)count < ofi->info->tx_attr->iov_limit;
}

int ofi_send_placed(struct transport *transport, transport_address to, const void *header, size_t header_length,
		    const struct iovec *payload, int count, void *context)
{
	struct ofi *ofi = ofi_of(transport);
	struct ofi_operation *slot = ofi->free_slots;
	struct iovec pieces[PLACED_PIECES];

	transport->kept = false;
	if (header_length + payload_length(payload, count) > ofi->base.limits.short_max)
		return -EMSGSIZE;
	if (!may_place(ofi, to, count))
		return ofi_send(transport, to, header, header_length, payload, count);
	memcpy(slot->bytes, header, header_length);
	pieces[0] = (struct iovec){slot->bytes, header_length};
	memcpy(&pieces[1], payload, (size_t)count * sizeof(*payload));
	ofi_clear_errno();
	ssize_t code = send_slot(ofi, to, slot, pieces, count + 1, context);

	if (unlikely(code != 0))
		return ofi_post_error(ofi, "a send", to, code);
	if (!ofi_completed_at_once(ofi, slot))
		return -EINPROGRESS;
	release_slot(ofi, slot);
	return 0;
}
