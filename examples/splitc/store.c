/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores, which are not acknowledged, and the barrier.
 *
 * Each store is an event at its target, which must not be lost: so a process has at most WINDOW stores towards another one
 * that the other has not counted.  The target acknowledges nothing.  It keeps the count where others can get it, and a sender that has used
 * its window looks there: one get for WINDOW stores, answered by the target's NIC.
 */
#include "internal.h"

static unsigned rank_of(ptl_process_id_t id)
{
	unsigned rank = 0;
	while (rank < sc.size && (sc.ids[rank].nid != id.nid || sc.ids[rank].pid != id.pid))
		rank++;
	return rank;
}

/*
 * Others get the count while it changes, so their get finds the one value or the other: an aligned word, which is read and written
 * whole.  The thread sanitizer cannot know that of the NIC's copy and would call it a race.
 */
__attribute__((no_sanitize_thread)) static void count_store(unsigned rank)
{
	__atomic_store_n(&sc.taken[rank], sc.taken[rank] + 1, __ATOMIC_RELAXED);
}

void sc_store_event(const ptl_event_t *event)
{
	unsigned rank = rank_of(event->initiator);
	if (rank == sc.size)
		return;
	sc.stored_here += event->mlength;
	sc.from[rank] += event->mlength;
	count_store(rank);
}

/* Counts what comes here meanwhile: two processes may be waiting for each other. */
static int await_window(unsigned process)
{
	while (sc.sent_to[process] - sc.taken_by[process] >= WINDOW) {
		int rc = sc_fetch_word(&sc.taken_by[process], process, TAKEN, sc.rank * sizeof(uint64_t));
		if (rc)
			return rc;
	}
	sc.sent_to[process]++;
	return 0;
}

static int counted(int rc, sc_global to, size_t bytes)
{
	if (rc)
		sc.sent_to[to.process]--;
	else
		sc.stored_to[to.process] += bytes;
	return rc;
}

int sc_store(sc_global to, uint64_t value)
{
	if (!sc_valid(to, sizeof(value)))
		return -EINVAL;
	int rc = await_window(to.process);
	return rc ? rc : counted(sc_send_word(to, value, STORES), to, sizeof(value));
}

int sc_bulk_store(sc_global to, const void *from, size_t bytes)
{
	if (!sc_valid(to, bytes))
		return -EINVAL;
	int rc = await_window(to.process);
	return rc ? rc : counted(sc_send(to, from, bytes, STORES), to, bytes);
}

int sc_store_sync(uint64_t bytes)
{
	while (sc.stored_here - sc.stored_before < bytes && !sc.failure)
		sc_progress();
	sc.stored_before += bytes;
	return sc.failure;
}

/* Each tells each other how many bytes it has stored there, ever: what has come since the last time need not be known. */
int sc_all_store_sync(void)
{
	for (unsigned process = 0; process < sc.size; process++) {
		int rc = sc_tell_word(process, TOLD, sc.rank * sizeof(uint64_t), sc.stored_to[process]);
		if (rc)
			return rc;
	}
	int rc = sc_sync();
	if (rc == 0)
		rc = sc_barrier();
	for (unsigned process = 0; rc == 0 && process < sc.size; process++)
		while (rc == 0 && sc.from[process] != __atomic_load_n(&sc.told[process], __ATOMIC_RELAXED))
			rc = sc_progress();
	sc.stored_before = sc.stored_here;
	return rc ? rc : sc_barrier();
}

/*
 * Dissemination: in round r each process tells the one 2^r places ahead.  Rounds of later barriers may come before this
 * one is over, so what came is counted for each round.
 */
int sc_barrier(void)
{
	sc.barriers++;
	for (unsigned round = 0, distance = 1; distance < sc.size; round++, distance *= 2) {
		int rc = sc_notify((sc.rank + distance) % sc.size, round);
		while (rc == 0 && sc.arrived[round] < sc.barriers)
			rc = sc_progress();
		if (rc)
			return rc;
	}
	return 0;
}
