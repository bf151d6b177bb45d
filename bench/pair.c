/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

static void confine(const struct peers *place, enum role role)
{
	struct peers one = *place;

	one.role = role;
	peers_pin(&one);
}

static void be_pair(struct peers *parent, const void *argument)
{
	const struct pair *pair = argument;
	struct options own = pair->options;
	struct session session;

	own.load.persistent = true;
	if (pair->one_cpu) {
		own.unpinned = true;
		confine(parent, pair->cpu);
	}
	if (own.load.raw)
		session_open_bare(&session, &own);
	else
		session_open(&session, &own);
	if (pair->wait[session.peers.role] == WAIT_EQGET)
		session.load.wait = WAIT_EQGET;
	if (session.peers.role == INITIATOR)
		pair->initiate(&session, parent);
	else
		measure_serve(&session);
	if (own.load.raw)
		session_close_bare(&session);
	else
		session_close(&session);
	if (session.peers.role == INITIATOR)
		peers_part(parent);
}

void pair_start(struct peers *control, const struct pair *pair)
{
	peers_start(control, be_pair, pair);
}
