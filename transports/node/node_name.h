/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, doorbells, and the life and death of processes. */
#ifndef PORTALS_TRANSPORTS_NODE_NAME_H
#define PORTALS_TRANSPORTS_NODE_NAME_H

#include "transports/control.h"
#include "transports/node/node.h"

/* Whose event in the wait descriptor; a pidfd's is its peer's index. */
#define NODE_SOCKET_EVENT   UINT64_MAX
#define NODE_DOORBELL_EVENT (UINT64_MAX - 1)

struct control_name node_name(uint32_t nid, uint32_t pid);

/* Binds the name of (nid, pid) and makes doorbell and wait descriptor.  -EADDRINUSE: another process has it. */
int node_name_claim(struct node *, uint32_t pid);
void node_name_release(struct node *);

/* Wakes a peer that sleeps.  False: the system refuses to, for want of memory or descriptors. */
bool node_wake(struct node *, struct node_peer *);

/* Takes back all wake-ups; were there any?  From poll() only. */
bool node_doorbell_empty(struct node *);

/* May wake-ups be written to what a peer has sent as its doorbell? */
bool node_is_doorbell(int fd);

/* Watches the process that sent a control message.  False: it has gone since. */
bool node_watch(struct node *, struct node_peer *, pid_t);

/* Watches its process no longer, and gives back its doorbell. */
void node_unwatch(struct node *, struct node_peer *);

/* Is there proof that the process has ended? */
bool node_peer_dead(struct node *, struct node_peer *);

/* The proof that its pidfd gives. */
bool node_pidfd_ended(const struct node_peer *);

/* There is other proof: node_peer_dead() from now on. */
void node_peer_ended(struct node *, struct node_peer *);

/* Wakes it by control message from now on. */
void node_doorbell_close(struct node_peer *);

/* No process has its name. -ENOENT. */
int node_nobody_there(struct node *, struct node_peer *);

#endif
