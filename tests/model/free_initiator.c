/* SPDX-License-Identifier: BSD-3-Clause */
/* What the events of the initiator's descriptors must say. */
#include <string.h>

#include "tests/model/free_initiator.h"
#include "tests/model/free_target.h"

static int64_t sends_open, seen;
static uint32_t beyond_sent[2][FREE_PROCESSES]; /* by target: one more than the last SEND_START's number */

int64_t answers_seen(void)
{
	return seen;
}

bool initiator_is_quiet(void)
{
	return sends_open == 0 && origins_are_quiet();
}

void initiator_awaits(const struct origin *origin, uint32_t number)
{
	bool due = origin_hears(origin, PTL_MD_EVENT_END_DISABLE);
	record_of((unsigned)my_rank, number)->send_end_due = due;
	sends_open += due;
}

static void check_common(const struct subject *subject, const ptl_event_t *event, const struct origin *origin)
{
	const struct request *request = subject->request;
	bool answer = event->type != PTL_EVENT_SEND_START && event->type != PTL_EVENT_SEND_END;
	unsigned who = answer ? request->target : (unsigned)my_rank;
	AGREE_EQUAL(subject, subject->initiator, (unsigned)my_rank);
	AGREE(subject, subject->record->issued);
	AGREE_EQUAL(subject, event->initiator.nid, id_of[who].nid);
	AGREE_EQUAL(subject, event->initiator.pid, id_of[who].pid);
	AGREE_EQUAL(subject, event->pt_index, index_of(request));
	AGREE_EQUAL(subject, event->rlength, request->length);
	AGREE_EQUAL(subject, event->hdr_data, answer ? 0 : word_of((unsigned)my_rank, subject->number));
	AGREE_EQUAL(subject, event->md_handle, origin->handle);
	AGREE(subject, event->md.start == origin->said.start);
	AGREE_EQUAL(subject, event->md.length, origin->said.length);
	AGREE_EQUAL(subject, event->md.options, origin->said.options);
	AGREE_EQUAL(subject, event->md.eq_handle, origin->said.eq_handle);
	if (event->type != PTL_EVENT_ACK) {
		AGREE_EQUAL(subject, event->uid, our_uid);
		AGREE_EQUAL(subject, event->jid, jid_of[who]);
	}
	if (origin->said.threshold == PTL_MD_THRESH_INF)
		AGREE_EQUAL(subject, event->md.threshold, PTL_MD_THRESH_INF);
}

static void check_offset(const struct subject *subject, const ptl_event_t *event, const struct origin *origin)
{
	uint64_t expected = 0;
	if (origin->said.start == sink_pool->said.start)
		expected = subject->request->sink;
	else if (origin == pool || origin == pool_pieces || origin->said.start == pattern_all())
		expected = (uint64_t)(pattern_of((unsigned)my_rank, subject->number) - pattern_all());
	AGREE_EQUAL(subject, event->offset, expected);
}

/* A unit is used with START or ACK; without START events END is the first we hear of it. */
static void use_unit(const struct subject *subject, const ptl_event_t *event, struct origin *origin)
{
	if (origin->said.threshold == PTL_MD_THRESH_INF)
		return;
	origin->used++;
	AGREE(subject, origin->used <= origin->said.threshold);
	if (origin_hears(origin, PTL_MD_EVENT_START_DISABLE))
		AGREE_EQUAL(subject, event->md.threshold, origin->said.threshold - origin->used);
	origin->cause = event->link;
	origin->cause_bits = event->match_bits;
}

static void send_started(enum queue which, const struct subject *subject, const ptl_event_t *event,
			 struct origin *origin)
{
	uint32_t *beyond = &beyond_sent[which == QUEUE_SECOND][subject->request->target];
	AGREE(subject, subject->request->kind != OPERATION_GET);
	AGREE(subject, !subject->record->send_started);
	AGREE(subject, !subject->record->acked);
	if (subject->number < *beyond)
		DISAGREE(subject, "SEND_START after that of request %u", *beyond - 1);
	*beyond = subject->number + 1;
	AGREE_EQUAL(subject, event->mlength, event->rlength);
	subject->record->send_started = 1;
	subject->record->send_link = event->link;
	subject->record->send_left = event->md.threshold;
	origin->open += origin_hears(origin, PTL_MD_EVENT_END_DISABLE);
	use_unit(subject, event, origin);
}

/* The buffer is ours again: a late reader reads nonsense. */
static void scramble(struct origin *origin)
{
	static const unsigned char nonsense[4096] = {[0 ... 4095] = 0xee};
	for (uint64_t at = 0; at < origin->area.length; at += sizeof(nonsense)) {
		uint64_t left = origin->area.length - at;
		area_write(&origin->area, at, nonsense, left < sizeof(nonsense) ? left : sizeof(nonsense));
	}
}

static void send_ended(enum queue which, const struct subject *subject, const ptl_event_t *event, struct origin *origin)
{
	(void)which;
	AGREE(subject, subject->request->kind != OPERATION_GET);
	AGREE(subject, !subject->record->send_ended);
	AGREE(subject, !subject->record->acked);
	AGREE_EQUAL(subject, event->mlength, event->rlength);
	if (origin_hears(origin, PTL_MD_EVENT_START_DISABLE)) {
		AGREE(subject, subject->record->send_started);
		AGREE_EQUAL(subject, event->link, subject->record->send_link);
		AGREE_EQUAL(subject, event->md.threshold, subject->record->send_left);
		origin->open--;
	} else {
		use_unit(subject, event, origin);
	}
	subject->record->send_ended = 1;
	subject->record->send_link = event->link;
	sends_open--;
	if (origin->area.bytes && subject->request->kind == OPERATION_PUT)
		scramble(origin);
	if (subject->request->origin == ORIGIN_KEPT)
		origin_retire(origin, 0, true);
}

static void acked(enum queue which, const struct subject *subject, const ptl_event_t *event, struct origin *origin)
{
	(void)which;
	AGREE(subject, subject->request->ack);
	AGREE(subject, subject->request->fate == FATE_NONE);
	AGREE(subject, !(lane_of(subject->request)->options & PTL_MD_ACK_DISABLE));
	AGREE(subject, !subject->record->acked);
	if (origin_hears(origin, PTL_MD_EVENT_END_DISABLE))
		AGREE(subject, subject->record->send_ended);
	AGREE(subject, event->mlength <= event->rlength);
	if (!window_has(subject))
		DISAGREE(subject, "acknowledged, but the data is not there");
	subject->record->acked = 1;
	subject->record->acked_length = (uint32_t)event->mlength;
	seen++;
	use_unit(subject, event, origin);
}

static void reply_started(enum queue which, const struct subject *subject, const ptl_event_t *event,
			  struct origin *origin)
{
	(void)which;
	AGREE(subject, subject->request->kind != OPERATION_PUT);
	AGREE(subject, !subject->record->reply_started);
	AGREE(subject, event->mlength <= event->rlength);
	subject->record->reply_started = 1;
	subject->record->reply_link = event->link;
	subject->record->reply_left = event->md.threshold;
	seen++;
	origin->open += origin_hears(origin, PTL_MD_EVENT_END_DISABLE);
	use_unit(subject, event, origin);
}

/* A target whose offsets we chose tells us in advance what it will answer. */
static void check_reply(const struct subject *subject)
{
	const struct request *request = subject->request;
	if (lane_of(request)->kind != LANE_SOURCE)
		return;
	const unsigned char *expected = filler_of(request->target, request->lane) + request->place;
	uint64_t room = LONGEST - request->place;
	AGREE_EQUAL(subject, subject->record->reply_length, request->length < room ? request->length : room);
	if (memcmp(sink_of(request), expected, subject->record->reply_length) != 0)
		DISAGREE(subject, "the reply is not what the target has at %llu", (unsigned long long)request->place);
}

/* Each value comes back once: the one that was there in the beginning, or one that another getput brought. */
static void check_swapped_out(const struct subject *subject)
{
	const struct request *request = subject->request;
	const unsigned char *value = sink_of(request);
	uint64_t name;
	memcpy(&name, value, sizeof(name));
	unsigned initiator = (unsigned)(name >> 32) - 1, word = (unsigned)(request->place / request->length);
	uint32_t number = (uint32_t)name;
	AGREE_EQUAL(subject, subject->record->reply_length, request->length);
	if (name == 0) {
		AGREE_EQUAL(subject, atomic_fetch_add(&ledger->blank_taken[request->target][request->lane][word], 1),
			    0);
		return;
	}
	AGREE(subject, initiator < program.round.processes && number < program.count[initiator]);
	const struct request *other = request_at(initiator, number);
	AGREE(subject, other->kind == OPERATION_SWAP && other->fate == FATE_NONE && other->target == request->target &&
			       other->lane == request->lane && other->place == request->place);
	AGREE(subject, memcmp(value + 8, pattern_of(initiator, number) + 8, request->length - 8) == 0);
	AGREE_EQUAL(subject, atomic_fetch_add(&record_of(initiator, number)->taken, 1), 0);
}

static void reply_ended(enum queue which, const struct subject *subject, const ptl_event_t *event,
			struct origin *origin)
{
	(void)which;
	AGREE(subject, subject->request->kind != OPERATION_PUT);
	AGREE(subject, !subject->record->replied);
	if (origin_hears(origin, PTL_MD_EVENT_START_DISABLE)) {
		AGREE(subject, subject->record->reply_started);
		AGREE_EQUAL(subject, event->link, subject->record->reply_link);
		AGREE_EQUAL(subject, event->md.threshold, subject->record->reply_left);
		origin->open--;
	} else {
		seen++;
		use_unit(subject, event, origin);
	}
	subject->record->replied = 1;
	subject->record->reply_length = (uint32_t)event->mlength;
	if (origin->area.bytes)
		area_read(&origin->area, 0, sink_of(subject->request), event->mlength);
	check_reply(subject);
	if (subject->request->kind == OPERATION_SWAP)
		check_swapped_out(subject);
	if (subject->request->origin == ORIGIN_KEPT)
		origin_retire(origin, 0, true);
}

static void unlinked(const struct subject *subject, const ptl_event_t *event, struct origin *origin)
{
	AGREE(subject, origin->mortal);
	if (origin_hears(origin, PTL_MD_EVENT_START_DISABLE) || origin_hears(origin, PTL_MD_EVENT_END_DISABLE))
		AGREE_EQUAL(subject, origin->used, origin->said.threshold);
	AGREE_EQUAL(subject, origin->open, 0);
	if (origin_hears(origin, PTL_MD_EVENT_START_DISABLE)) {
		AGREE_EQUAL(subject, event->link, origin->cause);
		AGREE_EQUAL(subject, event->match_bits, origin->cause_bits);
	}
	AGREE_EQUAL(subject, event->md.threshold, 0);
	AGREE_EQUAL(subject, PtlMDUnlink(origin->handle), PTL_MD_INVALID);
	origin_release(origin);
}

void initiator_event(enum queue which, const ptl_event_t *event)
{
	static void (*const act[])(enum queue, const struct subject *, const ptl_event_t *, struct origin *) = {
		[PTL_EVENT_SEND_START] = send_started,
		[PTL_EVENT_SEND_END] = send_ended,
		[PTL_EVENT_REPLY_START] = reply_started,
		[PTL_EVENT_REPLY_END] = reply_ended,
		[PTL_EVENT_ACK] = acked,
	};
	struct subject subject = subject_of(event);
	struct origin *origin = event->md.user_ptr;
	if (origin->dead && origin->mortal)
		DISAGREE(&subject, "%s after UNLINK", PtlEventKindStr(event->type));
	if (event->type == PTL_EVENT_UNLINK) {
		unlinked(&subject, event, origin);
		return;
	}
	if (event->type >= sizeof(act) / sizeof(act[0]) || !act[event->type])
		DISAGREE(&subject, "%s at the initiator", PtlEventKindStr(event->type));
	if ((event->type & 1) == 0 && event->type < PTL_EVENT_ACK)
		AGREE(&subject, origin_hears(origin, PTL_MD_EVENT_START_DISABLE));
	if ((event->type & 1) == 1 && event->type < PTL_EVENT_ACK)
		AGREE(&subject, origin_hears(origin, PTL_MD_EVENT_END_DISABLE));
	check_common(&subject, event, origin);
	check_offset(&subject, event, origin);
	act[event->type](which, &subject, event, origin);
}
