/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes that stay as they are: windows, what gets read, the words of getputs, and a window with a queue too small. */
#include <stdlib.h>
#include <string.h>

#include "tests/model/free_target.h"

static struct area window[FREE_PROCESSES][LANES]; /* of all processes: an initiator looks, too */
static ptl_seq_t flood_sequence;

/* Each lays out all, the same way. */
void windows_lay_out(void)
{
	for (unsigned process = 0; process < program.round.processes; process++) {
		for (unsigned number = 0; number < LANES; number++) {
			const struct lane *lane = &program.lanes[process][number];
			struct random random = {program.round.seed + process * LANES + number};
			if (lane->kind == LANE_WINDOW || lane->kind == LANE_FLOOD || lane->kind == LANE_SWAP)
				area_lay_out(&window[process][number], window_memory + lane->window_memory, lane->size,
					     lane->pieces, &random);
		}
	}
}

static bool is_window(const struct request *request)
{
	return lane_of(request)->kind == LANE_WINDOW || lane_of(request)->kind == LANE_FLOOD;
}

bool window_has(const struct subject *subject)
{
	const struct request *request = subject->request;
	const struct area *area = &window[request->target][request->lane];
	const unsigned char *expected = pattern_of(subject->initiator, subject->number);
	return !is_window(request) || area_differs(area, request->place, expected, request->length) == request->length;
}

void window_open(unsigned number)
{
	const struct lane *lane = my_lane(number);
	struct posted *posted = calloc(1, sizeof(*posted));
	ptl_handle_eq_t eq = lane->mute ? PTL_EQ_NONE : queue[queue_of(number)];
	CHECK(posted != NULL);
	posted->lane = number;
	posted->area = window[my_rank][number];
	if (lane->kind == LANE_SOURCE)
		area_cut(&posted->area, (void *)filler_of((unsigned)my_rank, number), lane->size, lane->pieces,
			 &own_chance);
	posted_state(posted, area_md(&posted->area, PTL_MD_THRESH_INF, lane->options, eq, NULL));
	CHECK_OK(PtlMEAttach(ni, lane->index, anyone, LANE_BITS(number), ANY_TAG, PTL_RETAIN, PTL_INS_AFTER,
			     &posted->me));
	CHECK_OK(PtlMDAttach(posted->me, posted->said, PTL_RETAIN, &posted->md));
	posted_link(posted, NULL);
}

/* ---- The small queue ---- */

/* DROPPED comes with the first event behind a gap, and then only. */
static bool flood_take(void)
{
	ptl_event_t event;
	int rc = PtlEQGet(queue[QUEUE_FLOOD], &event);
	if (rc == PTL_EQ_EMPTY)
		return false;
	struct subject subject = subject_of(&event);
	AGREE_EQUAL(&subject, rc, event.sequence == flood_sequence + 1 ? PTL_OK : PTL_EQ_DROPPED);
	AGREE(&subject, event.sequence > flood_sequence);
	AGREE_EQUAL(&subject, subject.request->target, (unsigned)my_rank);
	AGREE_EQUAL(&subject, lane_of(subject.request)->kind, LANE_FLOOD);
	AGREE_EQUAL(&subject, subject.request->fate, FATE_NONE);
	AGREE_EQUAL(&subject, event.offset, subject.request->place);
	AGREE_EQUAL(&subject, event.mlength, subject.request->length);
	if (event.type == PTL_EVENT_PUT_END && !window_has(&subject))
		DISAGREE(&subject, "PUT_END, but the data is not there");
	flood_sequence = event.sequence;
	return true;
}

void flood_drain(void)
{
	while (flood_take())
		;
}

/* Even of those that were lost there were as many as there must have been. */
static void check_flood_total(unsigned number)
{
	const unsigned options = my_lane(number)->options;
	uint32_t expected = 0;
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++) {
		for (uint32_t i = 0; i < program.count[initiator]; i++) {
			const struct request *request = request_at(initiator, i);
			if (request->target == (unsigned)my_rank && request->lane == number &&
			    request->fate == FATE_NONE)
				expected +=
					!(options & PTL_MD_EVENT_START_DISABLE) + !(options & PTL_MD_EVENT_END_DISABLE);
		}
	}
	CHECK_EQUAL(flood_sequence, expected);
}

/* ---- The end ---- */

static void check_window(unsigned number)
{
	const struct area *area = &window[my_rank][number];
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++) {
		for (uint32_t i = 0; i < program.count[initiator]; i++) {
			const struct request *request = request_at(initiator, i);
			struct subject subject = {initiator, i, request, NULL};
			if (request->target != (unsigned)my_rank || request->lane != number ||
			    request->fate != FATE_NONE)
				continue;
			if (!window_has(&subject))
				DISAGREE(&subject, "the window does not have its data");
			AGREE(&subject, area_is_blank(area, request->place + request->length, 1));
		}
	}
	CHECK(area_gaps_are_blank(area));
}

/* The value that is left in a word has been brought by one process and not come back to any. */
static void check_word(unsigned number, unsigned word)
{
	const struct lane *lane = my_lane(number);
	unsigned char value[256];
	uint64_t name;
	area_read(&window[my_rank][number], (uint64_t)word * lane->word_length, value, lane->word_length);
	memcpy(&name, value, sizeof(name));
	if (name == 0) {
		CHECK_EQUAL(atomic_fetch_add(&ledger->blank_taken[my_rank][number][word], 1), 0);
		return;
	}
	unsigned initiator = (unsigned)(name >> 32) - 1;
	CHECK(initiator < program.round.processes && (uint32_t)name < program.count[initiator]);
	CHECK(memcmp(value + 8, pattern_of(initiator, (uint32_t)name) + 8, lane->word_length - 8) == 0);
	CHECK_EQUAL(atomic_fetch_add(&record_of(initiator, (uint32_t)name)->taken, 1), 0);
}

void window_audit(unsigned number)
{
	switch (my_lane(number)->kind) {
	case LANE_FLOOD:
		flood_drain();
		check_flood_total(number);
		check_window(number);
		break;
	case LANE_WINDOW:
		check_window(number);
		break;
	case LANE_SWAP:
		for (unsigned word = 0; word < my_lane(number)->words; word++)
			check_word(number, word);
		break;
	default:
		break;
	}
}
