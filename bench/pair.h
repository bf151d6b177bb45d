/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of processes beside this one, each an initiator and a target with interfaces of their own. */
#ifndef PTLBENCH_PAIR_H
#define PTLBENCH_PAIR_H

#include "measure.h"

struct pair {
	struct options options;
	enum wait_call wait[2]; /* by role */
	bool one_cpu;           /* both processes, and their NIC threads, are started on one, as by taskset: */
	enum role cpu;          /* that of this role */
	void (*initiate)(struct session *, struct peers *parent);
};

/* Forks; the caller must have no interface.  `control` is the channel to the initiator, which runs pair->initiate(). */
void pair_start(struct peers *control, const struct pair *pair);

#endif
