/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side of a process. */
#ifndef PORTALS_TESTS_MODEL_FREE_INITIATOR_H
#define PORTALS_TESTS_MODEL_FREE_INITIATOR_H

#include "tests/model/free_memory.h"
#include "tests/model/free_process.h"

/* ---- Descriptors ---- */

/* A descriptor that requests are issued from. */
struct origin {
	ptl_handle_md_t handle;
	ptl_md_t said;
	struct area area; /* of its own, or none */
	bool getting;     /* what is in the area goes to the sink */
	uint64_t sink;
	bool mortal; /* unlinks itself */
	bool dead;
	int used, open; /* units seen used; STARTs whose END has not come */
	ptl_seq_t cause;
	ptl_match_bits_t cause_bits;
	bool retired, must_be_free; /* we unlink it; when we try, nothing may be pending */
	uint64_t due;
	struct origin *next, *next_retired;
};

/* Does it log them?  PTL_MD_EVENT_START_DISABLE or PTL_MD_EVENT_END_DISABLE. */
bool origin_hears(const struct origin *, unsigned disable);

void origins_open(void);
struct origin *origin_new(void);
void origin_bind(struct origin *, ptl_md_t, ptl_unlink_t);
/* Its memory is the user's again: what a reply brought is kept, the rest freed so that a late access is noticed. */
void origin_release(struct origin *);
/* We unlink it, so many turns later; must_be_free: nothing may be pending then. */
void origin_retire(struct origin *, unsigned turns, bool must_be_free);
/* Unlinks what has been retired long enough. */
void origins_retire(void);
bool origins_are_quiet(void);
void origins_close(void);

/* Everything we send, in one piece and in many; where all replies are kept. */
extern struct origin *pool, *pool_pieces, *sink_pool;
/* A reply's place there. */
unsigned char *sink_of(const struct request *);

/* ---- Issuing ---- */

/* Issues what may be issued in this turn; false: nothing. */
bool issue_some(void);
bool issued_all(void);

/* ---- Events ---- */

/* From now on a SEND_END is awaited, if the descriptor logs them. */
void initiator_awaits(const struct origin *, uint32_t number);
void initiator_event(enum queue, const ptl_event_t *);
bool initiator_is_quiet(void);
/* ACKs and REPLYs. */
int64_t answers_seen(void);

#endif
