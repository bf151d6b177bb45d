/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process attaches for others. */
#ifndef PORTALS_TESTS_MODEL_FREE_TARGET_H
#define PORTALS_TESTS_MODEL_FREE_TARGET_H

#include "tests/model/free_memory.h"
#include "tests/model/free_process.h"

/* What has landed in locally managed memory. */
struct landing {
	uint64_t offset, mlength;
	unsigned initiator;
	uint32_t number;
	bool checked;
};

/* A descriptor of a lane with its entry. */
struct posted {
	unsigned lane;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_md_t said;
	struct area area;
	uint32_t serial;
	bool mortal;      /* unlinks itself ... */
	bool keeps_entry; /* ... but not its entry */
	bool catch_all;   /* the last of its chain: takes everything, keeps nothing */
	bool settled;     /* it was there before everything whose events are still to be read */
	bool dead;
	/* as the reference has it */
	bool active;
	int units;
	uint64_t filled;
	unsigned started, ended;
	ptl_seq_t cause; /* the last operation's link and match bits: UNLINK repeats them */
	ptl_match_bits_t cause_bits;
	struct landing *landings;
	unsigned landing_count, landing_room;
	struct posted *previous, *next; /* in its chain */
	uint32_t receive; /* of the lane that receives as MPI does: the number of a posted receive; else 0 */
};

struct lane_state {
	struct posted *first, *last; /* in list order */
	unsigned live;               /* without the catch-all */
	uint32_t serials;
};

extern struct lane_state lane_state[LANES];

const struct lane *my_lane(unsigned lane);
enum queue queue_of(unsigned lane);
void lanes_open(void);
/* Replaces what was used up. */
void lanes_refill(void);
/* Every event of the queue has been read: what was posted before is there for all that follow. */
void lanes_settled(enum queue);
bool lanes_are_quiet(void);
void lanes_close(void);

/* A descriptor with memory of its own. */
struct posted *posted_new(unsigned lane, uint64_t length, unsigned options, enum queue);
/* What is attached is to be as `md` says. */
void posted_state(struct posted *, ptl_md_t md);
/* Puts it into its lane's list behind `before`, or first. */
void posted_link(struct posted *, struct posted *before);
/* It has unlinked itself. */
void posted_gone(struct posted *);
void posted_free(struct posted *);
void posted_check_contents(struct posted *);

/* ---- Lanes that stay as they are ---- */

/* Lays out the windows of all processes. */
void windows_lay_out(void);
void window_open(unsigned number);
/* What they and their words hold in the end. */
void window_audit(unsigned number);
/* Is a put's data where it should be?  The initiator may look, too: did it come before the ACK? */
bool window_has(const struct subject *);
/* Reads the queue that is too small. */
void flood_drain(void);

/* ---- Events ---- */

void target_event(enum queue, const ptl_event_t *);
/* A START without its END. */
bool target_has_open(void);
void count_accepted(const struct request *, unsigned initiator);

/* ---- Receives ---- */

/* The marker; the chain comes behind it. */
void receives_open(unsigned number);
void receives_post(void);
void receives_unexpected(const struct subject *);
void receives_matched(const struct posted *, const struct subject *);
void receives_gone(struct posted *);
/* Nothing will come any more: posted receives are taken back, the rest is received.  False: not yet. */
bool receives_finish(void);
void receives_audit(void);

#endif
