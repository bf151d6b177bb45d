/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric's shm, for users that name it.  Within a node `node` is better in every way but one: this shows that the
 * library runs on a provider that has neither sockets nor a descriptor to sleep on.  What is wrong with it, and what is
 * done about it:
 *
 * PEERS MUST MEET before one sends to the other: ofi_shm_control.c.  That a peer lives is looked at again when nothing
 * has been heard of it for a while (is_due()), and when the engine asks.  One that is gone is removed from the provider
 * in poll(), when nothing is left to be received: what it had sent is attributed to it, and the provider does not
 * survive a command of a peer that it does not know any more.
 *
 * NOTHING TO SLEEP ON.  The owner sleeps on its doorbell, a datagram socket, and not on a futex in the page, because
 * the NIC thread sleeps on several transports at once, by ppoll(), and a futex cannot be polled.  A wake-up costs a
 * system call on either side, so the page's word `sleeping` guards it.  No wake-up is lost:
 *
 *     the owner, in arm()                          a sender, in wake(), after the provider took the message
 *     empties the doorbell
 *     sleeping = number of this sleep              (the message is in the owner's queue)
 *     seq_cst fence                                seq_cst fence
 *     looks into its queue; something: awake       reads `sleeping`; not a number it has woken it from: wakes it
 *     sleeps until the doorbell is readable
 *
 * By the fences not both can miss the other's store.  A wake-up that comes between the first step and the last stays in
 * the socket.  A wake-up that finds the socket full is not needed: it is readable (transports/control.c).  One that is
 * refused for want of memory or descriptors is tried again with what is sent next.  Senders do not clear the word, because
 * one that dies before its system call would leave the owner asleep; each wakes it once for each number instead.  Should
 * all this be wrong, the engine looks again after limits.poll_interval, 100 ms.
 *
 * READS.  Where the kernel allows cross-memory attach the provider reads at once, without the other side.  Where it does
 * not, both sides have to progress, several times: the target is woken as often as it falls asleep, and arm() says that
 * nothing will announce the end.  A read that fails has no context, and returned 0 (profile.lone_rma: one at a time of the
 * whole endpoint).  So without cross-memory attach one stopped peer stops all reads, until it goes on or dies.
 *
 * WHAT CANNOT BE MENDED, and why `auto` never takes this: a sender holds a spin lock in the receiver's memory while it
 * writes, and a reader holds one in the memory's owner's, for as long as the copy takes.  If it is killed then, the
 * other side spins in the provider for good.  Likewise a process must not outlive an interface of its own that it has met:
 * is_neighbour().
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "transports/ofi/ofi_address.h"
#include "transports/ofi/ofi_common.h"
#include "transports/ofi/ofi_open.h"
#include "transports/ofi/ofi_provider.h"
#include "transports/ofi/ofi_receive.h"
#include "transports/ofi/ofi_rma.h"
#include "transports/ofi/ofi_send.h"
#include "transports/ofi/ofi_shm.h"
#include "transports/ofi/ofi_shm_control.h"
#include "transports/ofi/ofi_sleep.h"
#include "transports/ofi/ofi_table.h"

#define DUE_NS 50000000 /* silence after which we look whether a peer still lives */

static uint64_t coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* milliseconds will do, and it costs a quarter */
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- before and after something is posted --- */

/* Nothing has been heard of it for DUE_NS, though we have sent. */
static bool is_due(struct ofi_address *address, struct shm_peer *peer)
{
	if (address->heard) {
		address->heard = false;
		peer->due_at = 0;
		return false;
	}
	uint64_t now = coarse_ns(), due = peer->due_at;

	if (due == 0 || now >= due)
		peer->due_at = now + DUE_NS;
	return due != 0 && now >= due;
}

/* 0: it may be sent to; -EAGAIN; -ENOENT: no process is there; -EHOSTUNREACH. */
static int reach(struct ofi *ofi, transport_address index)
{
	if (unlikely(index >= ofi->address_count))
		return -EHOSTUNREACH;
	struct shm_peer *peer = shm_peer_at(ofi, index);

	if (unlikely(!peer))
		return -EAGAIN;
	if (unlikely(peer->state != SHM_OPEN))
		return ofi_shm_connect(ofi, index, peer);
	if (likely(!is_due(&ofi->addresses[index], peer)) || !ofi_shm_is_gone(ofi, index, peer))
		return 0;
	ofi_shm_fail(ofi->shm, peer);
	return -ENOENT;
}

/* Wakes peers that we have sent something, or, being refused, may have sent the provider's own introduction. */
static int wake(struct ofi *ofi, transport_address index, int result)
{
	struct shm_peer *peer = &ofi->shm->peers[index];

	/* What was sent before what is read; pairs with the fence in shm_arm(). */
	atomic_thread_fence(memory_order_seq_cst);
	uint32_t sleeping = atomic_load_explicit(&peer->page->sleeping, memory_order_relaxed);

	if (likely(sleeping == SHM_AWAKE || sleeping == peer->woken_from))
		return result;
	if (sleeping != SHM_CLOSED) {
		int rc = ofi_shm_wake(ofi->shm, peer->page);

		peer->woken_from = rc ? SHM_AWAKE : sleeping; /* refused: what is sent next wakes it */
		if (rc != -ECONNREFUSED)
			return result;
	}
	ofi_shm_fail(ofi->shm, peer);
	return -ENOENT;
}

/* --- the operations --- */

static int shm_send(struct transport *transport, transport_address to, const void *header, size_t header_length,
		    const struct iovec *payload, int count)
{
	int rc = reach(ofi_of(transport), to);

	if (unlikely(rc))
		return rc;
	return wake(ofi_of(transport), to, ofi_send(transport, to, header, header_length, payload, count));
}

static int shm_read(struct transport *transport, const struct transport_read *read)
{
	int rc = reach(ofi_of(transport), read->peer);

	if (rc)
		return rc == -ENOENT ? -ECONNRESET : rc;
	rc = ofi_read(transport, read);
	/* If it was taken its end comes by rdma_done(), even if the peer has gone. */
	wake(ofi_of(transport), read->peer, rc);
	return rc;
}

static void stay_awake(struct shm *shm)
{
	if (!shm->asleep)
		return;
	shm->asleep = false;
	atomic_store_explicit(&shm->page->sleeping, SHM_AWAKE, memory_order_relaxed);
}

/* A read goes on only if its target does. */
static void wake_lone_target(struct ofi *ofi)
{
	uint32_t target = ofi->lone_rma->peer;
	struct shm_peer *peer = &ofi->shm->peers[target];

	if (peer->state != SHM_OPEN)
		return;
	wake(ofi, target, 0);
	if (is_due(&ofi->addresses[target], peer) && ofi_shm_is_gone(ofi, target, peer))
		ofi_shm_fail(ofi->shm, peer);
}

static int shm_poll(struct transport *transport, int budget)
{
	struct ofi *ofi = ofi_of(transport);
	struct shm *shm = ofi->shm;

	stay_awake(shm);
	int handled = ofi_poll(transport, budget);

	if (unlikely(shm_control_pending(shm)))
		handled += ofi_shm_read_control_messages(ofi);
	if (unlikely(ofi->lone_rma != NULL))
		wake_lone_target(ofi);
	if (unlikely(shm->failed) && handled < budget && ofi_fill_stash(ofi) == 0)
		ofi_shm_reap(ofi);
	return handled;
}

static int shm_arm(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);
	struct shm *shm = ofi->shm;

	if (ofi_shm_read_control_messages(ofi) ||
	    shm->failed) /* a control message may have opened a peer for which something waits */
		return -EAGAIN;
	do {
		shm->sleep++;
	} while (shm->sleep == SHM_AWAKE || shm->sleep == SHM_CLOSED);
	shm->asleep = true;
	atomic_store_explicit(&shm->page->sleeping, shm->sleep, memory_order_relaxed);
	/* The word before the look; pairs with the fence in wake(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (ofi_fill_stash(ofi) == 0)
		return ofi->lone_rma || ofi->missing > 0;
	stay_awake(shm);
	return -EAGAIN;
}

static int shm_wait_fd(const struct transport *transport)
{
	const struct ofi *ofi = (const struct ofi *)(const void *)transport;

	return ofi->shm ? ofi->shm->doorbell : -1;
}

static int shm_resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt,
		       transport_address *out)
{
	UNCANCELLED;

	if (attempt >= OFI_CANDIDATES)
		return -ENOENT;
	return ofi_make_address(ofi_of(transport), nid, ofi_candidate_port(pid, attempt), out);
}

static int shm_probe(struct transport *transport, transport_address index)
{
	struct ofi *ofi = ofi_of(transport);
	struct shm_peer *peer = index < ofi->address_count ? shm_peer_at(ofi, index) : NULL;
	uint64_t nonce;

	if (!peer)
		return 0;
	if (peer->state == SHM_UNVERIFIED)
		return ofi_shm_page_find(ofi->addresses[index].nid, ofi->addresses[index].port, &nonce, NULL) == -ENOENT
			       ? -ECONNREFUSED
			       : 0;
	if (!ofi_shm_is_gone(ofi, index, peer))
		return 0;
	ofi_shm_fail(ofi->shm, peer);
	return -ECONNREFUSED;
}

/* --- life --- */

/* Should a thread fork meanwhile, shm_forked() is not to close what has the number next. */
static void drop_name(struct shm *shm)
{
	int doorbell = shm->doorbell, lock = shm->lock;

	shm->doorbell = shm->lock = -1;
	if (shm->page)
		ofi_shm_page_drop(shm->page, lock);
	if (doorbell >= 0)
		close(doorbell);
	shm->page = NULL;
}

static int make_name(struct ofi *ofi)
{
	struct shm *shm = ofi->shm;
	int rc = ofi_shm_page_claim(ofi->nid, ofi->port, &shm->page, &shm->lock);

	if (rc == -EPERM)
		return ofi_refuse(ofi, rc, "files for port %u in /dev/shm belong to another user", ofi->port);
	if (rc)
		return rc;
	int doorbell = ofi_shm_make_doorbell(shm->page);

	if (doorbell < 0) {
		drop_name(shm);
		return doorbell;
	}
	shm->doorbell = doorbell;
	return 0;
}

int ofi_shm_take_name(struct ofi *ofi)
{
	char name[SHM_NAME_ROOM];

	drop_name(ofi->shm);
	int rc = make_name(ofi);

	if (rc)
		return rc;
	ofi_shm_provider_name(ofi->nid, ofi->port, name);
	free(ofi->info->src_addr);
	ofi->info->src_addr = strdup(name);
	ofi->info->src_addrlen = strlen(name) + 1;
	return ofi->info->src_addr ? 0 : -ENOMEM;
}

static void shm_end(struct ofi *ofi)
{
	struct shm *shm = ofi->shm;

	ofi->shm = NULL;
	if (!shm)
		return;
	drop_name(shm);
	for (size_t i = 0; i < shm->peer_room; i++)
		ofi_shm_page_unmap(shm->peers[i].page);
	free(shm->peers);
	free(shm);
}

static void announce(struct ofi *ofi)
{
	ofi->base.limits.sleepable = true;
	ofi->base.limits.poll_interval = OFI_POLL_INTERVAL_US;
	ofi_shm_page_publish(ofi->shm->page);
}

static int shm_open_provider(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);

	struct shm *shm = calloc(1, sizeof(*shm));

	if (!shm)
		return -ENOMEM;
	shm->doorbell = shm->lock = -1;
	ofi->shm = shm;
	ofi_shm_pages_sweep();
	int rc = ofi_open(transport);

	if (rc)
		shm_end(ofi);
	else
		announce(ofi);
	return rc;
}

/*
 * No peer is to come while we leave.  But the name stays ours until the endpoint is closed, because that removes the
 * segment by its name, no matter which process has it then.
 */
static void shm_close(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);

	if (ofi->shm)
		ofi_shm_page_retire(ofi->shm->page);
	ofi_release(ofi);
	shm_end(ofi);
	ofi_close(transport);
}

static void shm_forked(struct transport *transport)
{
	const struct ofi *ofi = ofi_of(transport);

	if (ofi->shm && ofi->shm->doorbell >= 0)
		close(ofi->shm->doorbell);
	if (ofi->shm && ofi->shm->lock >= 0)
		close(ofi->shm->lock);
	ofi_forked(transport);
}

const struct transport_ops transport_ofi_shm = {
	OFI_COMMON_OPS,       .open = shm_open_provider, .close = shm_close,
	.forked = shm_forked, .resolve = shm_resolve,    .own_attempt = ofi_own_attempt,
	.send = shm_send,     .read = shm_read,          .poll = shm_poll,
	.arm = shm_arm,       .wait_fd = shm_wait_fd,    .probe = shm_probe,
};
