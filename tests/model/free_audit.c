/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must hold when all is quiet: every request is accounted for once, by events at its target or by one drop; every
 * ACK and REPLY that was owed has been seen by its initiator or counted there as dropped.
 */
#include <string.h>

#include "tests/model/free_initiator.h"
#include "tests/model/free_target.h"

static int64_t addressed_to_me(void)
{
	static int64_t addressed = -1;
	if (addressed >= 0)
		return addressed;
	addressed = 0;
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++)
		for (uint32_t number = 0; number < program.count[initiator]; number++)
			addressed += request_at(initiator, number)->target == (unsigned)my_rank;
	return addressed;
}

static int64_t expected_drops(void)
{
	int64_t refused = addressed_to_me() - atomic_load(&ledger->accepted[my_rank]);
	int64_t late = atomic_load(&ledger->owed[my_rank]) - answers_seen();
	return refused + late;
}

bool all_is_quiet(void)
{
	return expected_drops() == drops() && initiator_is_quiet() && lanes_are_quiet();
}

static bool was_accepted(const struct request *request, const struct record *record)
{
	if (request->fate == FATE_NONE && accepts_by_rule(lane_of(request)))
		return true;
	return record->started || record->ended;
}

static bool is_lost(const struct request *request, const struct record *record)
{
	return request->fate == FATE_NONE && never_refuses(lane_of(request)) && !was_accepted(request, record);
}

static bool hears(const struct request *request, unsigned disable)
{
	return !(lane_of(request)->options & disable);
}

/* What is missing, for the report; NULL: nothing. */
static const char *missing(const struct request *request, const struct record *record)
{
	if (is_lost(request, record))
		return "its target has heard nothing of it";
	if (record->started && !record->ended && hears(request, PTL_MD_EVENT_END_DISABLE))
		return "the target has had START but no END";
	if (record->send_end_due && !record->send_ended)
		return "SEND_END has not come";
	return NULL;
}

/* The first request of ours or to us that is incomplete, else the sums. */
void report_unrest(void)
{
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++) {
		for (uint32_t number = 0; number < program.count[initiator]; number++) {
			const struct request *request = request_at(initiator, number);
			const char *what = missing(request, record_of(initiator, number));
			struct subject subject = {initiator, number, request, NULL};
			if (what && (initiator == (unsigned)my_rank || request->target == (unsigned)my_rank))
				DISAGREE(&subject, "%s", what);
		}
	}
	FAIL("no rest: %lld dropped, expected %lld: %lld requests, %lld accepted, %lld answers owed, %lld seen; "
	     "initiator is %squiet, target is %squiet",
	     (long long)drops(), (long long)expected_drops(), (long long)addressed_to_me(),
	     (long long)atomic_load(&ledger->accepted[my_rank]), (long long)atomic_load(&ledger->owed[my_rank]),
	     (long long)answers_seen(), initiator_is_quiet() ? "" : "not ", lanes_are_quiet() ? "" : "not ");
}

/* ---- One request of ours ---- */

/* A descriptor that stays, with units left: whatever is owed to it must be seen. */
static bool hears_every_answer(const struct request *request)
{
	if (request->origin == ORIGIN_POOL || request->origin == ORIGIN_PIECES)
		return true;
	return request->origin == ORIGIN_OWN && !(request->kind == OPERATION_PUT && request->tight);
}

static void audit_ack(const struct subject *subject, bool accepted)
{
	const struct request *request = subject->request;
	const struct record *record = subject->record;
	if (record->acked) {
		AGREE(subject, accepted);
		AGREE_EQUAL(subject, record->acked_length,
			    accepts_by_rule(lane_of(request)) ? request->length : record->mlength);
	}
	if (accepted && request->ack && hears_every_answer(request))
		AGREE_EQUAL(subject, record->acked, !(lane_of(request)->options & PTL_MD_ACK_DISABLE));
}

static bool is_blank(const unsigned char *bytes, size_t length)
{
	return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

static void audit_reply(const struct subject *subject, bool accepted)
{
	const struct request *request = subject->request;
	const struct record *record = subject->record;
	const unsigned char *expected = filler_of(request->target, request->lane) + record->offset;
	bool replied = record->replied || record->reply_started;
	uint64_t kept = replied ? record->mlength : 0;
	if (replied)
		AGREE(subject, accepted);
	if (record->replied)
		AGREE_EQUAL(subject, record->reply_length, record->mlength);
	if (accepted && hears_every_answer(request))
		AGREE(subject, replied);
	if (request->kind == OPERATION_GET)
		AGREE(subject, memcmp(sink_of(request), expected, kept) == 0);
	AGREE(subject, is_blank(sink_of(request) + kept, request->length + 1 - kept));
}

void audit(void)
{
	for (uint32_t number = 0; number < program.count[my_rank]; number++) {
		const struct request *request = request_at((unsigned)my_rank, number);
		struct record *record = record_of((unsigned)my_rank, number);
		struct subject subject = {(unsigned)my_rank, number, request, record};
		const char *what = missing(request, record);
		bool accepted = was_accepted(request, record);
		if (what)
			DISAGREE(&subject, "%s", what);
		if (request->kind == OPERATION_PUT)
			audit_ack(&subject, accepted);
		else
			audit_reply(&subject, accepted);
	}
	receives_audit();
}

/* What a getput brought is in its word or has gone to exactly one other. */
void audit_swaps(void)
{
	for (uint32_t number = 0; number < program.count[my_rank]; number++) {
		const struct request *request = request_at((unsigned)my_rank, number);
		struct record *record = record_of((unsigned)my_rank, number);
		struct subject subject = {(unsigned)my_rank, number, request, record};
		if (request->kind == OPERATION_SWAP)
			AGREE_EQUAL(&subject, atomic_load(&record->taken), request->fate == FATE_NONE);
	}
}
