/* SPDX-License-Identifier: BSD-3-Clause */
/* See traffic.h. */
#include "tests/faults/hosts/traffic.h"

#include <string.h>

#define IN_FLIGHT  4 /* rounds: a put, a get and a swap each */
#define PUT_BITS   0x1000
#define GET_BITS   0x2000
#define SWAP_BITS  0x3000
#define NO_START   PTL_MD_EVENT_START_DISABLE
#define IN_ROOM(r) ((size_t)(r)*TRAFFIC_LENGTH) /* of a round in a buffer of many */

/* What passes between this process and one other. */
struct lane {
	int rank;
	char *near, *far, *fetched; /* a room for each round: what is put, what the other puts, what is got */
	uint64_t mine, theirs;      /* the word that we bring to a swap, and that the other swaps with */
	ptl_handle_md_t put_md, get_md, swap_md;
	int issued, sent, acked, got, swapped; /* rounds */
	int begun, stored, served, exchanged;  /* ... of the other's */
	bool seen[64];
};

static struct lane lanes[MAX_PROCESSES];
static ptl_handle_eq_t near_eq, far_eq;
static int rounds;

static size_t length_of(int round)
{
	return round % 3 == 2 ? TRAFFIC_LENGTH : 64;
}

static unsigned seed_of(int from, int to, int round)
{
	return (unsigned)(from * 10007 + to * 101 + round);
}

static ptl_md_t described(struct lane *lane, void *start, size_t length, unsigned options, ptl_handle_eq_t eq)
{
	ptl_md_t md = md_over(start, length, options, eq);
	md.user_ptr = lane;
	return md;
}

static void open_lane(struct lane *lane, int rank, int count)
{
	unsigned far = PTL_MD_MANAGE_REMOTE;
	*lane = (struct lane){.rank = rank};
	lane->near = memory(IN_ROOM(count));
	lane->far = memory(IN_ROOM(count));
	lane->fetched = memory(IN_ROOM(count));
	for (int i = 0; i < count; i++)
		fill_pattern(lane->near + IN_ROOM(i), length_of(i), seed_of(my_rank, rank, i));
	lane->put_md = bind_md(described(lane, lane->near, IN_ROOM(count), NO_START, near_eq));
	lane->get_md = bind_md(described(lane, lane->fetched, IN_ROOM(count), NO_START, near_eq));
	lane->swap_md = bind_md(described(lane, &lane->mine, sizeof(lane->mine), NO_START, near_eq));
	ptl_match_bits_t from = (ptl_match_bits_t)rank;
	open_window(PUT_BITS + from, described(lane, lane->far, IN_ROOM(count), far | PTL_MD_OP_PUT, far_eq));
	open_window(GET_BITS + from,
		    described(lane, lane->near, IN_ROOM(count), far | PTL_MD_OP_GET | NO_START, far_eq));
	open_window(SWAP_BITS + from, described(lane, &lane->theirs, sizeof(lane->theirs),
						far | PTL_MD_OP_PUT | PTL_MD_OP_GET | NO_START, far_eq));
}

void traffic_open(int count)
{
	CHECK(count <= 64);
	rounds = count;
	/* Others go on while we are in a barrier: room for everything. */
	near_eq = new_eq(8 * (ptl_size_t)(count * process_count));
	far_eq = new_eq(8 * (ptl_size_t)(count * process_count));
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			open_lane(&lanes[rank], rank, count);
	barrier();
}

/* The same bytes are got that the other puts to us, so it is known what they have to be. */
static void issue_round(struct lane *lane)
{
	ptl_process_id_t to = id_of[lane->rank];
	ptl_match_bits_t me = (ptl_match_bits_t)my_rank;
	int round = lane->issued++;
	size_t at = IN_ROOM(round);
	CHECK_OK(PtlPutRegion(lane->put_md, at, length_of(round), PTL_ACK_REQ, to, INDEX, 0, PUT_BITS + me, at,
			      (ptl_hdr_data_t)round));
	CHECK_OK(PtlGetRegion(lane->get_md, at, length_of(round), to, INDEX, 0, GET_BITS + me, at));
}

/* One swap at a time: the word that comes back is the one that was left there before. */
static void issue_swap(struct lane *lane)
{
	lane->mine = (uint64_t)seed_of(my_rank, lane->rank, lane->swapped + 1);
	CHECK_OK(PtlGetPut(lane->swap_md, lane->swap_md, id_of[lane->rank], INDEX, 0,
			   SWAP_BITS + (ptl_match_bits_t)my_rank, 0, 0));
}

static int slowest(const struct lane *lane)
{
	return lane->acked < lane->got ? lane->acked : lane->got;
}

static void issue_what_may_be(struct lane *lane)
{
	while (lane->issued < rounds && lane->issued - slowest(lane) < IN_FLIGHT) {
		if (lane->issued == 0)
			issue_swap(lane);
		issue_round(lane);
	}
}

static void answered(struct lane *lane, const ptl_event_t *event)
{
	int round = (int)(event->offset / TRAFFIC_LENGTH);
	if (event->md_handle == lane->swap_md) {
		if (event->type != PTL_EVENT_REPLY_END)
			return;
		uint64_t expected = lane->swapped ? seed_of(my_rank, lane->rank, lane->swapped) : 0;
		CHECK_EQUAL(lane->mine, expected);
		if (++lane->swapped < rounds)
			issue_swap(lane);
	} else if (event->type == PTL_EVENT_REPLY_END) {
		CHECK_EQUAL(event->mlength, length_of(round));
		CHECK_PATTERN(lane->fetched + IN_ROOM(round), length_of(round), seed_of(lane->rank, my_rank, round));
		lane->got++;
	} else if (event->type == PTL_EVENT_ACK) {
		CHECK_EQUAL(event->mlength, length_of(round));
		lane->acked++;
	} else {
		CHECK_EQUAL(event->type, PTL_EVENT_SEND_END);
		lane->sent++;
	}
}

/* Puts begin in the order in which they were issued, each once; long ones may end later than short ones behind them. */
static void served(struct lane *lane, const ptl_event_t *event)
{
	int round = (int)event->hdr_data;
	switch (event->type) {
	case PTL_EVENT_PUT_START:
		CHECK_EQUAL(round, lane->begun);
		lane->begun++;
		break;
	case PTL_EVENT_PUT_END:
		CHECK(round < lane->begun && !lane->seen[round]);
		lane->seen[round] = true;
		CHECK_EQUAL(event->mlength, length_of(round));
		CHECK_PATTERN(lane->far + IN_ROOM(round), length_of(round), seed_of(lane->rank, my_rank, round));
		lane->stored++;
		break;
	case PTL_EVENT_GET_END:
		lane->served++;
		break;
	case PTL_EVENT_GETPUT_END:
		lane->exchanged++;
		break;
	default:
		FAIL("unexpected %s", PtlEventKindStr(event->type));
	}
}

static bool is_done(const struct lane *lane)
{
	return lane->sent == rounds && lane->acked == rounds && lane->got == rounds && lane->swapped == rounds &&
	       lane->stored == rounds && lane->served == rounds && lane->exchanged == rounds;
}

int traffic_between(int rank)
{
	const struct lane *lane = &lanes[rank];
	return lane->acked + lane->got + lane->swapped + lane->stored + lane->served + lane->exchanged;
}

static void take_what_came(void)
{
	ptl_handle_eq_t queues[2] = {near_eq, far_eq};
	ptl_event_t event;
	int which, rc;
	while ((rc = PtlEQPoll(queues, 2, 1, &event, &which)) == PTL_OK) {
		struct lane *lane = event.md.user_ptr;
		if (event.ni_fail_type != PTL_NI_OK)
			FAIL("%s with process %d failed: %s", PtlEventKindStr(event.type), lane->rank,
			     PtlNIFailStr(ni, event.ni_fail_type));
		if (which == 0)
			answered(lane, &event);
		else
			served(lane, &event);
		issue_what_may_be(lane);
	}
	CHECK_RC(rc, PTL_EQ_EMPTY);
}

bool traffic_step(void)
{
	bool done = true;
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			issue_what_may_be(&lanes[rank]);
	take_what_came();
	for (int rank = 0; rank < process_count; rank++)
		done = done && (rank == my_rank || is_done(&lanes[rank]));
	return !done;
}

void traffic_finish(void)
{
	while (traffic_step())
		;
	take_what_came();
	CHECK_EMPTY(near_eq);
	CHECK_EMPTY(far_eq);
	CHECK_EQUAL(drops(), 0);
}
