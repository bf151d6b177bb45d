/* SPDX-License-Identifier: BSD-3-Clause */
/* Which peers are known. */
#ifndef PORTALS_OFFLOAD_PEER_TABLE_H
#define PORTALS_OFFLOAD_PEER_TABLE_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

#include "transports/transport.h"

struct nic;
struct peer;

/* The peers that we met, by the addresses where we did. */
struct peer_addresses {
	struct peer **peers;
	uint32_t room;
};

/* Ways to a peer, the most preferred first. */
enum nic_path { PATH_SELF, PATH_NODE, PATH_NETWORK, NIC_TRANSPORTS };

struct peer_table {
	struct peer *busy;   /* peers with anything under way */
	struct peer *unsent; /* those of them that every drive asks: see note_unsent() in peer.c */
	struct peer_addresses met[NIC_TRANSPORTS]; /* of compact transports: true if peer->address says so too */
	struct peer **buckets;
	uint32_t mask, count;
	uint32_t hand; /* bucket to be visited next */
};

struct peer *peer_find(struct nic *, ptl_process_id_t);
/* There is none yet.  NULL: no memory. */
struct peer *peer_create(struct nic *, ptl_process_id_t);
/* Nothing is under way with it, and it is not on nic->peers.busy. */
void peer_forget(struct nic *, struct peer *);

/* To be found so from now on.  0 or -ENOMEM. */
int peer_meet(struct nic *, struct peer *);
/* From now on it is reached that way, if at all: at the address that it holds there, or none. */
void peer_take_path(struct nic *, struct peer *, enum nic_path);
/* Has another process, which we have met, its address?  Then it was the port of both, one after the other. */
bool peer_is_replaced(const struct nic *, const struct peer *);
/* Finds the address on its path, and holds that; or a result of resolve(), and it holds what it held. */
int peer_resolve(struct nic *, struct peer *, unsigned attempt);
/* Holds an address on its path that has been resolved. */
void peer_hold(struct nic *, struct peer *, transport_address);
/* Its address is the caller's to take back. */
transport_address peer_hand_over(struct nic *, struct peer *);
/* Its path is fixed: no other addresses are needed. */
void peer_settle(struct nic *, struct peer *);
/* One success of resolve(). */
void peer_take_back(struct transport *, transport_address);
void peers_free(struct nic *);

/* Finds or creates; NULL: no memory.  We have business with it: it is no unverified peer any more. */
struct peer *peer_get(struct nic *, ptl_process_id_t);
/* A message came that only a process that has read our WELCOME can have sent. */
void peer_prove(struct nic *, struct peer *);
/* Could the peer be reached that way, as far as ids tell? */
bool peer_reachable(const struct nic *, const struct peer *, enum nic_path);
void peer_mark_busy(struct nic *, struct peer *);
/* Off nic->peers.unsent, if it is there. */
void peer_unlist_unsent(struct peer *);
/* Where its reads hung: they have ended. */
void peer_let_lost_go(struct peer *);
/*
 * What the peer was told cannot be done.  Nothing more of this conversation is heard, so that it ends at the other side
 * too; ours ends when contact_end_broken() is called, because we may be in the middle of anything.
 */
void peer_break(struct nic *, struct peer *);

#endif
