/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of processes that differ in settings, each a ping-pong of its own, measured in turns: the others sleep meanwhile. */
#ifndef PTLBENCH_SETUPS_H
#define PTLBENCH_SETUPS_H

#include "measure.h"
#include "stage_rows.h"

struct setup {
	struct setting settings[2]; /* environment by role; variable NULL: none */
	enum wait_call wait[2];     /* by role */
	bool one_cpu;               /* both processes on the same one */
};

/* Forks; the caller must have no interface.  pairs[i] is the control channel to the initiator of a pair of setups[i]. */
void setups_open(struct peers *pairs, const struct setup *setups, size_t count, const struct options *options);

/* Bytes that the NIC of an initiator has sent, by how they got there (ptl_nic_counters_t). */
struct setup_bytes {
	double in_lines, copied, exposed;
};

/* Since it was asked before. */
struct setup_bytes setups_bytes(const struct peers *pair);

/* One turn: half a round trip of puts of so many bytes, one receive descriptor for all; median, us. */
double setups_measure(const struct peers *pair, uint64_t size);

/*
 * The median of rounds in which all take turns, us; a round takes what setups_share() has given it.  The samples of all rounds are those
 * of a row for --hist.  `spread_us`, if not NULL: how far from their median half of these are at most.
 */
void setups_medians(const struct peers *pairs, size_t count, uint64_t size, uint32_t rounds, double *median_us,
		    double *spread_us);

/* The options of each: the time of a row, divided among so many setups and the rounds of --repeat. */
struct options setups_share(const struct options *options, size_t count);

/* A row, with the stages of `pair` if --nic-timing asks for them.  Of the session only load and options are used. */
void setups_row(const struct session *session, const union cell *cells, const struct peers *pair, uint64_t size);

void setups_close(struct peers *pairs, size_t count);

#endif
