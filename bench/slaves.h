/* SPDX-License-Identifier: BSD-3-Clause */
/* Many processes that do what one, the master, asks each of them for by its puts. */
#ifndef PTLBENCH_SLAVES_H
#define PTLBENCH_SLAVES_H

#include "stage_rows.h"

struct slaves {
	unsigned count;
	const struct workload *load;
	struct peers *peers;
	struct slave *slave;
	ptl_handle_md_t note; /* the master's, of no bytes */
};

/*
 * Forks them, before the caller has an interface: descendants must not inherit one.  `pinned`: so many of them run on the CPU that
 * the master does not, the others where there is room.
 */
void slaves_fork(struct slaves *slaves, unsigned count, unsigned pinned, const struct options *options);

/* They and the master, whose interface is open by now, learn each other's addresses; it attaches a sink for answers. */
void slaves_meet(struct slaves *slaves, struct session *master);

/* A descriptor of so many bytes to send from without hearing of it.  Those bytes are new: none before it may be in use. */
ptl_handle_md_t slaves_bind(struct slaves *slaves, struct session *master, uint64_t size);

/*
 * Puts `size` bytes, of which `md` is, to one of them, which answers with `answer` bytes, or, if that is negative, not at all.  At most
 * session_checked_at_once() messages may be on their way to it.
 */
void slaves_put(const struct slaves *slaves, unsigned index, ptl_handle_md_t md, uint64_t size, int64_t answer);

/* With --check: the first `count` of them have each answered, last with so many bytes. */
void slaves_check(const struct session *master, const struct slaves *slaves, unsigned count, uint64_t size);

/* What is done again and again: with how many of them, with messages of which size. */
struct round {
	unsigned active, window;
	uint64_t size;
};

/*
 * Does each of two such things for half of a row's time, in turns; medians of batches, us for each.  Events are counted from 0 in
 * each time.
 */
typedef void slaves_once(struct session *, const struct slaves *, struct round);
void slaves_time(struct session *master, const struct slaves *slaves, slaves_once *const once[2], struct round round,
		 double median_us[2]);

/* A row; with --nic-timing it has the stages of the master and of its first slave, of a batch of its own of what `once` does. */
void slaves_row(struct session *master, const struct slaves *slaves, const union cell *cells, slaves_once *once,
		struct round round);

void slaves_end(struct slaves *slaves);

#endif
