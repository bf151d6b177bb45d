/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact. */
#ifndef PORTALS_OFFLOAD_CONTACT_H
#define PORTALS_OFFLOAD_CONTACT_H

#include "offload/peer/peer.h"

/* Queues the operation's request, or sends it at once if nothing is in its way; begins with first contact if need be. */
void contact_request(struct nic *, struct operation *);
void contact_start(struct nic *, struct peer *);
void contact_tick(struct nic *, struct peer *, uint64_t now);
/* It holds: HELLO asks whether it still does. */
void contact_greet_again(struct nic *, struct peer *);
/* What a transport tells (nid, pid) of us while it connects the two of us; and what it was told (transport_sink). */
void contact_greet(struct nic *, ptl_process_id_t, struct transport_greeting *);
void contact_connected(struct nic *, transport_address from, const struct transport_connection *);
void contact_notice(struct nic *, const struct wire_message *, transport_address from);
/* A message that does not belong to the conversation with `peer`, if there is such a peer, was dropped. */
void contact_dropped(struct nic *, struct peer *, const struct wire_message *, transport_address from);
/* We hold no longer: tells the peer, if it was told that we do and can be told now. */
void contact_release(struct nic *, struct peer *);
/* Its PING or PONG says how much we should have heard by now: is something missing?  Then the conversation has ended. */
bool contact_misses(struct nic *, struct peer *, const struct wire_message *);
void contact_answer_version(struct nic *, const struct wire_message *, transport_address from);
/* Gives the peer up, for whatever reason: it fails, and what connects us with it is severed. */
void contact_give_up(struct nic *, struct peer *, const char *why);
/* After peer_break(). */
void contact_end_broken(struct nic *, struct peer *);
/*
 * Its conversation has ended, but it is not given up: what connects us with it is severed if reads of its memory are left
 * behind.  A living peer may never answer them, and no operation waits for them that could find that out.
 */
void contact_cut_reads(struct nic *, struct peer *);
/* A connection with it was cut just now: what comes over it is still to be known (NO PEER IS MET in contact.c). */
bool contact_settles(const struct peer *, uint64_t now);
/* Goes on severing what the reads of given-up peers wait for. */
void contact_sever_lost(struct nic *, uint64_t now);

#endif
