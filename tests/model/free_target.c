/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side: what the events of its descriptors must say, and what their memory must hold. */
#include "tests/model/free_target.h"

#include <stdlib.h>
#include <string.h>

static uint32_t beyond_started[QUEUES][FREE_PROCESSES]; /* by initiator: one more than the last START's number */
static int64_t open_operations;

bool target_has_open(void)
{
	return open_operations > 0;
}

static bool hears(const struct posted *posted, unsigned disable)
{
	return !(posted->said.options & disable);
}

static bool is_managed_remotely(const struct posted *posted)
{
	return posted->said.options & PTL_MD_MANAGE_REMOTE;
}

/* ---- The reference: which descriptor takes a request, and how much of it ---- */

static bool would_take(const struct posted *posted, const struct request *request)
{
	static const unsigned needs[] = {PTL_MD_OP_PUT, PTL_MD_OP_GET, PTL_MD_OP_PUT | PTL_MD_OP_GET};
	unsigned wanted = needs[request->kind];
	uint64_t offset = is_managed_remotely(posted) ? request->place : posted->filled;
	return posted->active && (posted->said.options & wanted) == wanted && offset <= posted->area.length &&
	       (posted->said.options & PTL_MD_TRUNCATE || request->length <= posted->area.length - offset);
}

static uint64_t kept_of(const struct posted *posted, const struct request *request, uint64_t offset)
{
	uint64_t room = posted->area.length - offset;
	return request->length < room ? request->length : room;
}

static bool is_full(const struct posted *posted)
{
	return posted->said.options & PTL_MD_MAX_SIZE && posted->area.length - posted->filled < posted->said.max_size;
}

static void use(struct posted *posted, uint64_t mlength)
{
	if (!is_managed_remotely(posted))
		posted->filled += mlength;
	if (posted->units != PTL_MD_THRESH_INF)
		posted->units--;
	if (posted->units == 0 || is_full(posted))
		posted->active = false;
}

/* ---- Events ---- */

static void check_request(const struct subject *subject, const ptl_event_t *event, const struct posted *posted)
{
	static const ptl_event_kind_t start_of[] = {PTL_EVENT_PUT_START, PTL_EVENT_GET_START, PTL_EVENT_GETPUT_START};
	const struct request *request = subject->request;
	bool has_word = request->kind != OPERATION_GET;
	AGREE_EQUAL(subject, request->target, (unsigned)my_rank);
	AGREE_EQUAL(subject, request->fate, FATE_NONE);
	AGREE_EQUAL(subject, request->lane, posted->lane);
	if (event->type != PTL_EVENT_UNLINK)
		AGREE_EQUAL(subject, event->type & ~1u, start_of[request->kind]);
	AGREE_EQUAL(subject, event->initiator.nid, id_of[subject->initiator].nid);
	AGREE_EQUAL(subject, event->initiator.pid, id_of[subject->initiator].pid);
	AGREE_EQUAL(subject, event->uid, our_uid);
	AGREE_EQUAL(subject, event->jid, jid_of[subject->initiator]);
	AGREE_EQUAL(subject, event->pt_index, index_of(request));
	AGREE_EQUAL(subject, event->rlength, request->length);
	AGREE_EQUAL(subject, event->hdr_data, has_word ? word_of(subject->initiator, subject->number) : 0);
}

static void check_descriptor(const struct subject *subject, const ptl_event_t *event, const struct posted *posted)
{
	AGREE_EQUAL(subject, event->md_handle, posted->md);
	AGREE(subject, event->md.start == posted->said.start);
	AGREE_EQUAL(subject, event->md.length, posted->said.length);
	AGREE_EQUAL(subject, event->md.options, posted->said.options);
	AGREE_EQUAL(subject, event->md.max_size, posted->said.max_size);
	AGREE_EQUAL(subject, event->md.eq_handle, posted->said.eq_handle);
	if (is_managed_remotely(posted))
		AGREE_EQUAL(subject, event->offset, subject->request->place);
	AGREE(subject, event->offset <= posted->area.length);
	AGREE_EQUAL(subject, event->mlength, kept_of(posted, subject->request, event->offset));
	if (!(posted->said.options & PTL_MD_TRUNCATE))
		AGREE_EQUAL(subject, event->mlength, event->rlength);
}

static struct landing *landing_add(struct posted *posted)
{
	if (posted->landing_count == posted->landing_room) {
		posted->landing_room = 2 * posted->landing_room + 8;
		posted->landings = realloc(posted->landings, posted->landing_room * sizeof(*posted->landings));
		CHECK(posted->landings != NULL);
	}
	return &posted->landings[posted->landing_count++];
}

static void remember(struct posted *posted, const ptl_event_t *event, const struct subject *subject)
{
	struct record *record = subject->record;
	record->link = event->link;
	record->mlength = (uint32_t)event->mlength;
	record->offset = event->offset;
	record->left = event->md.threshold;
	record->serial = posted->serial;
	posted->cause = event->link;
	posted->cause_bits = event->match_bits;
	if (!is_managed_remotely(posted))
		*landing_add(posted) =
			(struct landing){event->offset, event->mlength, subject->initiator, subject->number, false};
}

/* Is the initiator to hear of it? */
static bool owes_answer(const struct request *request)
{
	if (request->kind != OPERATION_PUT)
		return true;
	return request->ack && request->origin != ORIGIN_MUTE && !(lane_of(request)->options & PTL_MD_ACK_DISABLE);
}

void count_accepted(const struct request *request, unsigned initiator)
{
	atomic_fetch_add(&ledger->accepted[my_rank], 1);
	if (owes_answer(request))
		atomic_fetch_add(&ledger->owed[initiator], 1);
}

/* The first event of an operation. */
static void accepted(struct posted *posted, const ptl_event_t *event, const struct subject *subject)
{
	remember(posted, event, subject);
	posted->started++;
	use(posted, event->mlength);
	AGREE(subject, posted->units >= PTL_MD_THRESH_INF && (posted->units >= 0 || posted->said.threshold < 0));
	count_accepted(subject->request, subject->initiator);
	if (posted->receive == 0 && my_lane(posted->lane)->kind == LANE_RECEIVES)
		receives_unexpected(subject);
}

static void start(struct posted *posted, const ptl_event_t *event, const struct subject *subject)
{
	AGREE(subject, !subject->record->started);
	AGREE(subject, !subject->record->ended);
	if (!is_managed_remotely(posted))
		AGREE_EQUAL(subject, event->offset, posted->filled);
	if (!would_take(posted, subject->request))
		DISAGREE(subject,
			 "taken by a descriptor that should have refused it (serial %u, %d units, %llu of %zu)",
			 posted->serial, posted->units, (unsigned long long)posted->filled, posted->area.length);
	for (const struct posted *other = posted->previous; other; other = other->previous)
		if (other->settled && would_take(other, subject->request))
			DISAGREE(subject, "went by descriptor %u to %u", other->serial, posted->serial);
	accepted(posted, event, subject);
	AGREE_EQUAL(subject, event->md.threshold, posted->units);
	subject->record->started = 1;
	open_operations += hears(posted, PTL_MD_EVENT_END_DISABLE);
}

/* The data of a landing, once nothing will write there any more. */
static void check_landing(const struct posted *posted, struct landing *landing)
{
	const struct request *request = request_at(landing->initiator, landing->number);
	const unsigned char *expected = request->kind == OPERATION_PUT
						? pattern_of(landing->initiator, landing->number)
						: filler_of((unsigned)my_rank, posted->lane) + landing->offset;
	struct subject subject = {landing->initiator, landing->number, request, NULL};
	uint64_t at = area_differs(&posted->area, landing->offset, expected, landing->mlength);
	if (at < landing->mlength)
		DISAGREE(&subject, "byte %llu of %llu in descriptor %u is wrong", (unsigned long long)at,
			 (unsigned long long)landing->mlength, posted->serial);
	landing->checked = true;
}

static void check_data(struct posted *posted, const struct subject *subject)
{
	const struct record *record = subject->record;
	if (!is_managed_remotely(posted)) {
		for (unsigned i = posted->landing_count; i-- > 0;)
			if (posted->landings[i].initiator == subject->initiator &&
			    posted->landings[i].number == subject->number) {
				check_landing(posted, &posted->landings[i]);
				return;
			}
	}
	if (subject->request->kind == OPERATION_PUT) {
		struct landing landing = {record->offset, record->mlength, subject->initiator, subject->number, false};
		check_landing(posted, &landing);
	}
}

static void end(struct posted *posted, const ptl_event_t *event, const struct subject *subject)
{
	AGREE(subject, !subject->record->ended);
	if (hears(posted, PTL_MD_EVENT_START_DISABLE)) {
		AGREE(subject, subject->record->started);
		AGREE_EQUAL(subject, event->link, subject->record->link);
		AGREE_EQUAL(subject, event->offset, subject->record->offset);
		AGREE_EQUAL(subject, event->mlength, subject->record->mlength);
		AGREE_EQUAL(subject, event->md.threshold, subject->record->left);
		open_operations--;
	} else {
		accepted(posted, event, subject);
	}
	subject->record->ended = 1;
	posted->ended++;
	check_data(posted, subject);
}

/* ---- Closing a locally managed descriptor ---- */

static int by_place(const void *left, const void *right)
{
	const struct landing *a = left, *b = right;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->mlength != b->mlength)
		return a->mlength < b->mlength ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Messages lie end to end, those of one initiator in the order it sent them; behind them nothing has changed. */
void posted_check_contents(struct posted *posted)
{
	int64_t last[FREE_PROCESSES];
	uint64_t filled = 0;
	memset(last, -1, sizeof(last));
	if (posted->landing_count > 1)
		qsort(posted->landings, posted->landing_count, sizeof(*posted->landings), by_place);
	for (unsigned i = 0; i < posted->landing_count; i++) {
		struct landing *landing = &posted->landings[i];
		struct subject subject = {landing->initiator, landing->number, NULL, NULL};
		AGREE_EQUAL(&subject, landing->offset, filled);
		AGREE(&subject, (int64_t)landing->number > last[landing->initiator]);
		last[landing->initiator] = landing->number;
		filled += landing->mlength;
		if (!landing->checked)
			check_landing(posted, landing);
	}
	const unsigned char *rest = filler_of((unsigned)my_rank, posted->lane) + filled;
	CHECK_EQUAL(area_differs(&posted->area, filled, rest, posted->area.length - filled),
		    posted->area.length - filled);
	CHECK(area_gaps_are_blank(&posted->area));
}

static void unlinked(struct posted *posted, const ptl_event_t *event, const struct subject *subject)
{
	AGREE(subject, posted->mortal);
	AGREE(subject, !posted->active);
	if (hears(posted, PTL_MD_EVENT_END_DISABLE))
		AGREE_EQUAL(subject, posted->started, posted->ended);
	if (hears(posted, PTL_MD_EVENT_START_DISABLE)) {
		AGREE_EQUAL(subject, event->link, posted->cause);
		AGREE_EQUAL(subject, event->match_bits, posted->cause_bits);
	}
	AGREE_EQUAL(subject, PtlMDUnlink(posted->md), PTL_MD_INVALID);
	if (!posted->keeps_entry)
		AGREE_EQUAL(subject, PtlMEUnlink(posted->me), PTL_ME_INVALID);
	posted_check_contents(posted);
	posted_gone(posted);
}

void target_event(enum queue which, const ptl_event_t *event)
{
	struct posted *posted = event->md.user_ptr;
	struct subject subject = subject_of(event);
	if (posted->dead)
		DISAGREE(&subject, "%s after UNLINK", PtlEventKindStr(event->type));
	check_request(&subject, event, posted);
	check_descriptor(&subject, event, posted);
	if (event->type == PTL_EVENT_UNLINK) {
		unlinked(posted, event, &subject);
	} else if (event->type & 1) {
		AGREE(&subject, hears(posted, PTL_MD_EVENT_END_DISABLE));
		end(posted, event, &subject);
	} else {
		AGREE(&subject, hears(posted, PTL_MD_EVENT_START_DISABLE));
		if (subject.number < beyond_started[which][subject.initiator])
			DISAGREE(&subject, "START after that of request %u",
				 beyond_started[which][subject.initiator] - 1);
		beyond_started[which][subject.initiator] = subject.number + 1;
		start(posted, event, &subject);
		if (posted->receive)
			receives_matched(posted, &subject);
	}
}
