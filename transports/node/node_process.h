/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers as processes: whether they are the ones that were met, and whether their memory can be read. */
#ifndef PORTALS_TRANSPORTS_NODE_PROCESS_H
#define PORTALS_TRANSPORTS_NODE_PROCESS_H

#include "transports/node/node.h"

/* 0: the peer's os_pid is the process that we have met; -ECONNRESET: certainly not; -EPERM...: not to be known. */
int node_identify(const struct node_peer *);
/*
 * Is it known by the word of its segment, and for whatever was read of its memory before?  (Not after it has ended, nor
 * after a renewal of its segment; nor ever if it has no NIC thread.)
 */
static inline bool node_vouched(const struct node_peer *peer)
{
	/* After the loads of a process_vm_readv() before. */
	atomic_thread_fence(memory_order_acquire);
	return peer->alive && atomic_load_explicit(&peer->segment->alive, memory_order_acquire) == peer->alive;
}
/*
 * What its segment says before it is identified: if it is the process that we met, and until the word changes, it is no
 * other.  0: nothing.
 */
uint32_t node_alive(const struct node_peer *);
/* Is there proof that nothing of the process that we met can write to our memory any more? */
bool node_proven_gone(struct node *, struct node_peer *);
/* From now on the peer's memory is out of reach, for this reason. */
void node_refuse_cross_memory(struct node *, struct node_peer *, int error);
/* Tries whether the peer's memory can be read: `nonce` is the address of its incarnation there. */
void node_copy_probe(struct node *, struct node_peer *, uint64_t nonce);

#endif
