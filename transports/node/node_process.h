/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers as processes: whether they are the ones that were met, and whether their memory can be read. */
#ifndef PORTALS_TRANSPORTS_NODE_PROCESS_H
#define PORTALS_TRANSPORTS_NODE_PROCESS_H

#include "transports/node/node.h"

/* 0: the peer's os_pid is the process that we have met; -ECONNRESET: certainly not; -EPERM...: not to be known. */
int node_identify(const struct node_peer *);
/*
 * What its voucher says, to be read before it is identified: if it is the process that we met, then as long as this stays the same.
 * 0: nothing.
 */
static inline uint64_t node_sign(const struct node_peer *peer)
{
	if (!peer->voucher)
		return 0;
	const uint32_t thread = atomic_load_explicit(&peer->voucher->thread, memory_order_acquire);
	const uint32_t renewals = atomic_load_explicit(&peer->voucher->renewals, memory_order_acquire);

	return thread == 0 || thread & ROBUST_DIED ? 0 : (uint64_t)renewals << 32 | thread;
}
/*
 * Is it known by its voucher, and for whatever was read of its memory before?  (Not after its NIC thread has ended; nor
 * ever if it has none.)
 */
static inline bool node_vouched(const struct node_peer *peer)
{
	/* After the loads of a process_vm_readv() before. */
	atomic_thread_fence(memory_order_acquire);
	return peer->sign && node_sign(peer) == peer->sign;
}
/* The same as node_identify(), which is asked only if the voucher does not say it. */
int node_ascertain(struct node_peer *);
/* Is there proof that nothing of the process that we met can write to our memory any more? */
bool node_proven_gone(struct node *, struct node_peer *);
/* From now on the peer's memory is out of reach, for this reason. */
void node_refuse_cross_memory(struct node *, struct node_peer *, int error);
/* Tries whether the peer's memory can be read: `nonce` is the address of its incarnation there. */
void node_copy_probe(struct node *, struct node_peer *, uint64_t nonce);

#endif
