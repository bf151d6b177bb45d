/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a peer still there, that owes us anything or is owed? */
#include <errno.h>

#include "offload/peer/contact.h"
#include "offload/peer/liveness.h"
#include "offload/peer/peer.h"
#include "offload/transfer.h"

#define SILENCE_NS         1000000000u
#define LEAST_TIMEOUT_NS   1000000000u
#define PINGS_BEFORE_DEATH 3

static void note_life(struct peer *peer, uint64_t now)
{
	peer->arrivals_seen = peer->arrivals;
	peer->silent_since = now;
	peer->pings = peer->refused_probes = 0;
}

static bool probably_dead(struct peer *peer)
{
	if (peer->refused_probes >= PEER_PROBES_REFUSED)
		return true; /* its transport would not take a message */
	if (peer->transport->ops->probe(peer->transport, peer->address) == -ECONNREFUSED)
		peer->refused_probes++;
	else
		peer->refused_probes = 0;
	return peer->refused_probes >= PEER_PROBES_REFUSED;
}

/* A process that stands still for less counts on not having been given up (NIC_DOUBT_NS).  0: silence ends no peer. */
static uint64_t peer_timeout(const struct nic *nic)
{
	uint64_t timeout = nic->settings->peer_timeout;

	return timeout > 0 && timeout < LEAST_TIMEOUT_NS ? LEAST_TIMEOUT_NS : timeout;
}

/* PINGS_BEFORE_DEATH of them fit into PTL_PEER_TIMEOUT, if the transport wants no longer pauses. */
static uint64_t ping_interval(const struct nic *nic)
{
	uint64_t timeout = peer_timeout(nic);

	return timeout && timeout / (PINGS_BEFORE_DEATH + 1) < SILENCE_NS ? timeout / (PINGS_BEFORE_DEATH + 1)
									  : SILENCE_NS;
}

/* What the transport wants between two of them, but so that two fit into PTL_PEER_TIMEOUT. */
static uint64_t ping_pause(const struct nic *nic, const struct transport *transport)
{
	uint64_t most = peer_timeout(nic) / 2, pause = transport->limits.ping_pause;

	return most > 0 && pause > most ? most : pause;
}

static unsigned pings_before_death(const struct nic *nic, const struct transport *transport)
{
	uint64_t pause = ping_pause(nic, transport);

	return pause > 0 && peer_timeout(nic) / pause < PINGS_BEFORE_DEATH ? PINGS_BEFORE_DEATH - 1
									   : PINGS_BEFORE_DEATH;
}

/*
 * An answer that a transfer waits for may have been lost with a connection, or the question.  Signs of life are none, so
 * they do not put it off.
 */
static void ask_again(struct nic *nic, struct peer *peer, uint64_t now)
{
	uint64_t interval = ping_interval(nic), pause = ping_pause(nic, peer->transport);

	if (now - peer->asked_at < (pause > interval ? pause : interval))
		return;
	peer->asked_at = now;
	if (peer->state == PEER_HOLDING)
		contact_greet_again(nic, peer);
	transfers_ask_again(nic, peer);
}

/* Is its silence evidence? */
static bool answers_by_itself(const struct nic *nic, const struct peer *peer)
{
	return peer_timeout(nic) && (peer->abilities & WIRE_HAS_NIC_THREAD);
}

static bool silent_for_too_long(const struct nic *nic, const struct peer *peer, uint64_t now)
{
	return peer->pings >= pings_before_death(nic, peer->transport) && answers_by_itself(nic, peer) &&
	       now - peer->silent_since > peer_timeout(nic);
}

/*
 * The peer lives, but none of our reads of its memory has ended for PTL_PEER_TIMEOUT, though the provider keeps them in the
 * order of what the peer says: its answer is missing (ofi_memory.c says when), and what is read next would be taken for it.
 * Only the end of the connection ends that.  What has arrived while we stood still gets the benefit of the doubt: between
 * the look that finds them overdue and the one that is believed is a tick of polling, however often timers run.
 */
static bool reads_are_stuck(const struct nic *nic, struct peer *peer, uint64_t now)
{
	if (peer->reads == 0 || peer->reads_ended != peer->reads_ended_seen || peer->reads_stuck_since == 0) {
		peer->reads_ended_seen = peer->reads_ended;
		peer->reads_stuck_since = now;
		peer->reads_overdue_since = 0;
		return false;
	}
	if (peer->path != PATH_NETWORK || !answers_by_itself(nic, peer) ||
	    now - peer->reads_stuck_since <= peer_timeout(nic))
		return false;
	if (!peer->reads_overdue_since)
		peer->reads_overdue_since = now;
	return now - peer->reads_overdue_since >= PEER_TICK_NS;
}

static bool may_ping(const struct nic *nic, const struct peer *peer, uint64_t now)
{
	uint64_t since = now - peer->pinged_at;

	return since >= ping_interval(nic) && since >= ping_pause(nic, peer->transport);
}

static void ping(struct nic *nic, struct peer *peer, uint64_t now)
{
	peer->pinged_at = now;
	peer_ask(nic, peer, 0);
}

/*
 * A peer that talks is asked nothing for its silence; but what it owes, or we owe it, may have been lost (WHAT IS MISSING
 * in peer.c).
 */
static void ask_what_is_missing(struct nic *nic, struct peer *peer, uint64_t now)
{
	const struct operation *op = peer->active.head;

	while (op && op->failure) /* of a conversation that is over: its reads have yet to end */
		op = op->next;
	uint32_t oldest = op ? operation_token(op) : 0;

	if (oldest != peer->oldest) {
		peer->oldest = oldest;
		peer->oldest_since = now;
	}
	if (oldest && peer_met_us(peer) && peer->path != PATH_SELF && now - peer->oldest_since >= ping_interval(nic) &&
	    may_ping(nic, peer, now))
		ping(nic, peer, now);
}

/*
 * Kernel evidence first: the peer's port is closed.  It is asked for after some silence, or always where it costs
 * nothing.  Only then silence itself, and only of peers that would answer by themselves.
 */
void liveness_tick(struct nic *nic, struct peer *peer, uint64_t now)
{
	const struct transport *transport = peer->transport;
	uint64_t interval = ping_interval(nic);

	if (peer->state == PEER_UNKNOWN && ((peer->lost && peer_reads_hang(peer)) || contact_settles(peer, now)))
		return; /* what can be done has been done: contact_sever_lost() goes on with it */
	if (peer_met_us(peer)) {
		ask_again(nic, peer, now);
		if (reads_are_stuck(nic, peer, now)) {
			contact_give_up(nic, peer, "it lives, but its memory cannot be read");
			return;
		}
	}
	if (peer->arrivals != peer->arrivals_seen || peer->silent_since == 0) {
		peer->examined &= peer->arrivals == peer->arrivals_seen;
		note_life(peer, now);
		ask_what_is_missing(nic, peer, now);
		return;
	}
	bool silent = now - peer->silent_since >= interval;

	if (!transport || peer->address == TRANSPORT_ADDRESS_UNKNOWN || peer->path == PATH_SELF ||
	    !(silent || transport->limits.late_doorbell))
		return;
	if (probably_dead(peer)) {
		contact_give_up(nic, peer, "its port is closed");
		return;
	}
	if (!silent || !peer_met_us(peer) || peer->refused_probes > 0)
		return;
	if (peer->examined && !answers_by_itself(nic, peer)) {
		peer->examined = false; /* whatever we ask, its silence would prove nothing */
		return;
	}
	if (silent_for_too_long(nic, peer, now)) {
		contact_give_up(nic, peer, "silent for PTL_PEER_TIMEOUT");
		return;
	}
	if (!may_ping(nic, peer, now))
		return;
	peer->pings++;
	ping(nic, peer, now);
}
