/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process attaches for others, and chains above all, whose links are used up and replaced. */
#include "tests/model/free_target.h"

#include <stdlib.h>

struct lane_state lane_state[LANES];

static struct posted *graveyard; /* user_ptr of events that must not come any more */

const struct lane *my_lane(unsigned lane)
{
	return &program.lanes[my_rank][lane];
}

static bool is_chain(const struct lane *lane)
{
	return lane->kind == LANE_CHAIN || lane->kind == LANE_RECEIVES;
}

enum queue queue_of(unsigned lane)
{
	switch (my_lane(lane)->kind) {
	case LANE_FLOOD:
		return QUEUE_FLOOD;
	case LANE_RECEIVES:
		return QUEUE_UNEXPECTED;
	case LANE_CHAIN:
		return lane % 2 ? QUEUE_TARGET : QUEUE_CHAIN;
	default:
		return QUEUE_TARGET;
	}
}

/* ---- Descriptors ---- */

void posted_state(struct posted *posted, ptl_md_t md)
{
	md.user_ptr = posted;
	posted->said = md;
	posted->units = md.threshold;
	posted->active = true;
	posted->serial = lane_state[posted->lane].serials++;
}

struct posted *posted_new(unsigned lane, uint64_t length, unsigned options, enum queue which)
{
	struct posted *posted = calloc(1, sizeof(*posted));
	CHECK(posted != NULL);
	posted->lane = lane;
	area_allocate(&posted->area, length, my_lane(lane)->pieces, &own_chance);
	area_write(&posted->area, 0, filler_of((unsigned)my_rank, lane), length);
	posted_state(posted, area_md(&posted->area, PTL_MD_THRESH_INF, options, queue[which], NULL));
	return posted;
}

/* Frees the memory, so that a late access is noticed; the rest stays for late events to be recognised. */
void posted_free(struct posted *posted)
{
	free(posted->area.bytes);
	free(posted->landings);
	posted->area.bytes = NULL;
	posted->landings = NULL;
	posted->dead = true;
	posted->next = graveyard;
	graveyard = posted;
}

/* ---- Chains ---- */

void posted_link(struct posted *posted, struct posted *before)
{
	struct lane_state *chain = &lane_state[posted->lane];
	posted->previous = before;
	posted->next = before ? before->next : chain->first;
	*(before ? &before->next : &chain->first) = posted;
	*(posted->next ? &posted->next->previous : &chain->last) = posted;
	chain->live += !posted->catch_all;
}

static struct posted *posted_unlink(struct posted *posted)
{
	struct lane_state *chain = &lane_state[posted->lane];
	struct posted *before = posted->previous;
	*(before ? &before->next : &chain->first) = posted->next;
	*(posted->next ? &posted->next->previous : &chain->last) = before;
	chain->live -= !posted->catch_all;
	return before;
}

static struct posted *new_block(unsigned number)
{
	const struct lane *lane = my_lane(number);
	struct posted *posted = posted_new(number, lane->block, lane->options, queue_of(number));
	posted->said.threshold = posted->units = lane->threshold;
	posted->said.max_size = lane->max_size;
	posted->mortal = !lane->revive;
	posted->keeps_entry = lane->keeps_entry;
	return posted;
}

static ptl_unlink_t unlink_of(bool unlinks)
{
	return unlinks ? PTL_UNLINK : PTL_RETAIN;
}

/* In one step or in two; in front of the catch-all or at the end. */
static void attach_block(struct posted *posted)
{
	unsigned number = posted->lane;
	struct posted *last = lane_state[number].last, *catch_all = last && last->catch_all ? last : NULL;
	ptl_unlink_t entry_goes = unlink_of(!posted->keeps_entry), goes = unlink_of(posted->mortal);
	ptl_pt_index_t index = my_lane(number)->index;
	if (catch_all && chance(&own_chance, 50)) {
		CHECK_OK(PtlMEMDPost(ni, catch_all->me, anyone, LANE_BITS(number), ANY_TAG, entry_goes, PTL_INS_BEFORE,
				     posted->said, goes, &posted->me, &posted->md, PTL_EQ_NONE));
	} else {
		if (catch_all)
			CHECK_OK(PtlMEInsert(catch_all->me, anyone, LANE_BITS(number), ANY_TAG, entry_goes,
					     PTL_INS_BEFORE, &posted->me));
		else
			CHECK_OK(PtlMEAttach(ni, index, anyone, LANE_BITS(number), ANY_TAG, entry_goes, PTL_INS_AFTER,
					     &posted->me));
		CHECK_OK(PtlMDAttach(posted->me, posted->said, goes, &posted->md));
	}
	posted_link(posted, catch_all ? catch_all->previous : last);
}

static void attach_catch_all(unsigned number)
{
	const struct lane *lane = my_lane(number);
	unsigned options = (lane->options & ~(unsigned)PTL_MD_MAX_SIZE) | PTL_MD_TRUNCATE | PTL_MD_OP_GET;
	struct posted *posted = posted_new(number, 0, options, queue_of(number));
	posted->catch_all = true;
	CHECK_OK(PtlMEAttach(ni, lane->index, anyone, LANE_BITS(number), ANY_TAG, PTL_UNLINK, PTL_INS_AFTER,
			     &posted->me));
	CHECK_OK(PtlMDAttach(posted->me, posted->said, PTL_RETAIN, &posted->md));
	posted_link(posted, lane_state[number].last);
}

static void open_chain(unsigned number)
{
	const struct lane *lane = my_lane(number);
	if (lane->catch_all)
		attach_catch_all(number);
	while (lane_state[number].live < lane->depth)
		attach_block(new_block(number));
}

static void replace(struct posted *posted, struct posted *fresh)
{
	fresh->me = posted->me;
	posted_link(fresh, posted_unlink(posted));
	posted_free(posted);
}

/* An entry whose descriptor has unlinked itself gets another. */
void posted_gone(struct posted *posted)
{
	if (posted->receive) {
		receives_gone(posted);
	} else if (posted->keeps_entry) {
		struct posted *fresh = new_block(posted->lane);
		CHECK_OK(PtlMDAttach(posted->me, fresh->said, PTL_UNLINK, &fresh->md));
		replace(posted, fresh);
	} else {
		posted_unlink(posted);
		posted_free(posted);
	}
}

static bool is_used_up(const struct posted *posted)
{
	return !posted->active && !posted->mortal && posted->started == posted->ended;
}

/*
 * Used up is what cannot take more.  A lane without START events does not tell what is still under way there; but then the test
 * queue is not empty, and the update waits.
 */
static void revive(struct posted *posted)
{
	bool tested = posted->said.options & PTL_MD_EVENT_START_DISABLE || chance(&own_chance, 50);
	struct posted *fresh = new_block(posted->lane);
	ptl_md_t was;
	int rc = PtlMDUpdate(posted->md, &was, &fresh->said, tested ? queue[queue_of(posted->lane)] : PTL_EQ_NONE);
	CHECK_EQUAL(was.length, posted->said.length);
	CHECK(was.user_ptr == posted);
	if (tested && rc == PTL_MD_NO_UPDATE) {
		posted_free(fresh);
		return;
	}
	CHECK_RC(rc, PTL_OK);
	CHECK_EQUAL(was.threshold, posted->units);
	fresh->md = posted->md;
	posted_check_contents(posted);
	replace(posted, fresh);
}

void lanes_refill(void)
{
	for (unsigned number = 0; number < LANES; number++) {
		if (!is_chain(my_lane(number)))
			continue;
		for (struct posted *posted = lane_state[number].first, *next; posted; posted = next) {
			next = posted->next;
			if (is_used_up(posted))
				revive(posted);
		}
		while (lane_state[number].live < my_lane(number)->depth)
			attach_block(new_block(number));
	}
}

void lanes_settled(enum queue which)
{
	for (unsigned number = 0; number < LANES; number++)
		for (struct posted *posted = lane_state[number].first; posted; posted = posted->next)
			posted->settled |= queue_of(number) == which;
}

/* ---- All lanes ---- */

/* What no event will tell. */
static void count_silently_accepted(void)
{
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++) {
		for (uint32_t number = 0; number < program.count[initiator]; number++) {
			const struct request *request = request_at(initiator, number);
			if (request->target == (unsigned)my_rank && request->fate == FATE_NONE &&
			    accepts_by_rule(lane_of(request)))
				count_accepted(request, initiator);
		}
	}
}

void lanes_open(void)
{
	windows_lay_out();
	for (unsigned number = 0; number < LANES; number++) {
		if (my_lane(number)->kind == LANE_FLOOD)
			queue[QUEUE_FLOOD] = new_eq(my_lane(number)->queue_length);
		if (my_lane(number)->kind == LANE_RECEIVES)
			receives_open(number);
		if (is_chain(my_lane(number)))
			open_chain(number);
		else
			window_open(number);
	}
	count_silently_accepted();
}

/* ---- The end ---- */

bool lanes_are_quiet(void)
{
	for (unsigned number = 0; number < LANES; number++)
		for (const struct posted *posted = lane_state[number].first; posted; posted = posted->next)
			if (posted->mortal && !posted->active)
				return false;
	return !target_has_open();
}

/* Takes the entry away, which takes the descriptor along whatever its unlink_op says. */
static void take_away(struct posted *posted)
{
	bool may_be_pending = posted->said.options & PTL_MD_EVENT_END_DISABLE;
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	int rc;
	while ((rc = PtlMEUnlink(posted->me)) == PTL_ME_IN_USE && may_be_pending && now_ns() < deadline)
		lend_time();
	CHECK_RC(rc, PTL_OK);
	CHECK_RC(PtlMDUnlink(posted->md), PTL_MD_INVALID);
	CHECK_RC(PtlMEUnlink(posted->me), PTL_ME_INVALID);
}

void lanes_close(void)
{
	for (unsigned number = 0; number < LANES; number++) {
		while (lane_state[number].first) {
			struct posted *posted = lane_state[number].first;
			take_away(posted);
			posted_unlink(posted);
			if (!is_chain(my_lane(number)))
				posted->area.bytes = NULL; /* not from malloc() */
			else
				posted_check_contents(posted);
			posted_free(posted);
		}
		window_audit(number);
	}
	while (graveyard) {
		struct posted *posted = graveyard;
		graveyard = posted->next;
		free(posted);
	}
}
