/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a put, get or getput: issued, sent, arrived and matched, its bytes moved, answered, the answer received,
 * or lost at any point.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/model/reference_state.h"

static struct request *request_at(const struct reference *reference, unsigned number)
{
	return reference->request[number];
}

const struct reference_move *reference_request(const struct reference *reference, unsigned number)
{
	return &request_at(reference, number)->said;
}

enum reference_debt reference_debt(const struct reference *reference, unsigned number)
{
	return request_at(reference, number)->debt;
}

static unsigned index_of(const struct reference *reference, ptl_process_id_t id)
{
	unsigned i = 0;

	while (i < reference->interfaces &&
	       (reference->interface[i].is.id.nid != id.nid || reference->interface[i].is.id.pid != id.pid))
		i++;
	return i < reference->interfaces ? i : NOBODY;
}

static const struct reference_interface *who(const struct reference *reference, unsigned ni)
{
	return &reference->interface[ni].is;
}

/* --- issue --- */

/* A descriptor that can be the source or sink of [offset, offset + length), or all of it. */
static int find_range(const struct reference *reference, unsigned number, struct reference_move *move, struct md **md)
{
	*md = (struct md *)find(reference, REFERENCE_MD, number);
	if (!*md || !responds(*md))
		return PTL_MD_INVALID;
	uint64_t room = (*md)->terms->length;

	if (move->whole) {
		move->offset = 0;
		move->length = room;
	}
	return move->offset > room || move->length > room - move->offset ? PTL_MD_ILLEGAL : PTL_OK;
}

static int find_pair(const struct reference *reference, unsigned ni, struct reference_move *move, struct md **put_md,
		     struct md **get_md)
{
	uint64_t most = (uint64_t)who(reference, ni)->limits.max_getput_md;
	const struct object *put = find(reference, REFERENCE_MD, move->put_md);
	int code = find_range(reference, move->md, move, get_md);

	if (code)
		return code;
	if (put && put->ni != ni)
		return PTL_MD_ILLEGAL;
	if ((code = find_range(reference, move->put_md, move, put_md)))
		return code;
	return move->length > most || (*get_md)->terms->length > most ? PTL_MD_ILLEGAL : PTL_OK;
}

unsigned enlist(struct reference *reference, struct request *request)
{
	if (reference->requests == reference->request_room) {
		reference->request_room = 2 * reference->request_room + 64;
		reference->request = realloc(reference->request, reference->request_room * sizeof(struct request *));
	}
	reference->request[reference->requests] = request;
	return reference->requests++;
}

static void begin_send(struct reference *reference, struct request *request)
{
	begin(&request->send, request->md->terms, &request->facts, false);
	log_part(&request->send, PTL_EVENT_SEND_START, PTL_NI_OK);
	request->facts.link = ++reference->links; /* of the answer; the parts keep their own */
}

int reference_move(struct reference *reference, unsigned ni, const struct reference_move *said, unsigned *number)
{
	struct reference_move move = *said;
	struct md *md = NULL, *reply_md = NULL;
	int code;

	if (move.md == REFERENCE_INVALID)
		return PTL_MD_INVALID;
	if (move.target.nid == PTL_NID_ANY || move.target.pid == PTL_PID_ANY)
		return PTL_PROCESS_INVALID;
	if (move.kind == REFERENCE_GETPUT)
		code = find_pair(reference, ni, &move, &md, &reply_md);
	else
		code = find_range(reference, move.md, &move, &md);
	if (code)
		return code;
	struct request *request = zeroed(sizeof(*request));

	request->ni = ni;
	request->target = index_of(reference, move.target);
	request->said = move;
	request->md = md;
	request->reply_md = move.kind == REFERENCE_GET ? md : reply_md;
	request->wants_ack = move.kind == REFERENCE_PUT && move.ack && md->terms->queue;
	request->facts = (ptl_event_t){
		.initiator = who(reference, ni)->id,
		.uid = who(reference, ni)->uid,
		.jid = who(reference, ni)->jid,
		.pt_index = move.pt_index,
		.match_bits = move.match_bits,
		.rlength = move.length,
		.mlength = move.length,
		.offset = move.offset,
		.hdr_data = move.hdr_data,
		.link = ++reference->links,
	};
	*number = enlist(reference, request);
	if (move.kind != REFERENCE_GET)
		begin_send(reference, request);
	return PTL_OK;
}

unsigned reference_next_unsent(const struct reference *reference, unsigned ni, ptl_process_id_t target)
{
	unsigned to = index_of(reference, target);

	for (unsigned i = 1; i < reference->requests; i++) {
		const struct request *request = request_at(reference, i);

		if (request->ni == ni && request->target == to && !request->sent && !request->lost[INITIATOR])
			return i;
	}
	return 0;
}

/* --- the initiator's side --- */

/* Data leaves: it is read at this moment, and the buffer is the user's again. */
static void leave(struct reference *reference, struct request *request)
{
	const struct terms *terms = request->send.terms;

	request->data = region_copy(reference, terms, request->said.offset, request->said.length);
	end(&request->send, PTL_EVENT_SEND_END, PTL_NI_OK);
}

const char *reference_sent(struct reference *reference, unsigned number, bool with_data)
{
	struct request *request = request_at(reference, number);
	struct interface *ni = &reference->interface[request->ni];

	request->sent = true;
	request->with_data = with_data;
	ni->sent++;
	if (request->said.kind != REFERENCE_GET) {
		ni->sent_length += request->said.length;
		if (with_data)
			leave(reference, request);
	}
	request->waiting = request->said.kind != REFERENCE_PUT || request->wants_ack || !with_data;
	if (request->waiting)
		request->active[INITIATOR] = ++reference->time;
	return with_data || request->said.kind == REFERENCE_PUT ? NULL : "only the data of a put is left to be read";
}

/* Events of an answer name the process that gave it. */
static ptl_event_t answer_facts(struct reference *reference, const struct request *request, uint64_t mlength)
{
	ptl_event_t facts = request->facts;

	if (request->target != NOBODY && request->sent) {
		facts.uid = who(reference, request->target)->uid;
		facts.jid = who(reference, request->target)->jid;
	} else {
		facts.uid = PTL_UID_ANY; /* not known */
		facts.jid = PTL_JID_ANY;
	}
	facts.initiator = request->said.target;
	facts.mlength = mlength < facts.rlength ? mlength : facts.rlength;
	facts.hdr_data = 0;
	return facts;
}

static void drop(struct interface *ni, uint64_t length)
{
	ni->drops++;
	ni->drop_length += length;
}

/* An ACK is an operation of its own. */
static void acknowledge(struct reference *reference, struct request *request, uint64_t mlength, ptl_ni_fail_t failure)
{
	struct part part;

	if (!responds(request->md) || !request->md->terms->queue) {
		if (!failure)
			drop(&reference->interface[request->ni], 0);
		return;
	}
	const ptl_event_t facts = answer_facts(reference, request, mlength);

	begin(&part, request->md->terms, &facts, false);
	end(&part, PTL_EVENT_ACK, failure);
}

/* A reply is cut to what the descriptor has by now.  False: it has no descriptor any more. */
static bool begin_reply(struct reference *reference, struct request *request, uint64_t mlength)
{
	struct md *md = request->reply_md;

	if (!responds(md))
		return false;
	uint64_t offset = request->facts.offset, room = md->terms->length > offset ? md->terms->length - offset : 0;
	const ptl_event_t facts = answer_facts(reference, request, mlength < room ? mlength : room);

	begin(&request->reply, md->terms, &facts, false);
	log_part(&request->reply, PTL_EVENT_REPLY_START, PTL_NI_OK);
	return true;
}

static void receive_reply(struct reference *reference, struct request *request)
{
	uint64_t mlength = request->served.facts.mlength;

	if (!begin_reply(reference, request, mlength)) {
		drop(&reference->interface[request->ni], mlength);
		request->release_due = true;
		return;
	}
	const ptl_event_t *facts = &request->reply.facts;

	if (request->answer_with_data) {
		region_put(reference, request->reply.terms, facts->offset, facts->mlength, request->reply_data);
		end(&request->reply, PTL_EVENT_REPLY_END, PTL_NI_OK);
	} else {
		request->fetch =
			(struct transfer){.running = true, .total = facts->mlength, .copy = request->fetch.copy};
	}
}

/* The memory of a long put is the user's again, and the ACK may have come with the news. */
static void receive_release(struct reference *reference, struct request *request)
{
	ptl_ni_fail_t failure = request->pull.failure ? PTL_NI_PROTOCOL : PTL_NI_OK;

	end(&request->send, PTL_EVENT_SEND_END, failure);
	if (request->answer == OWED_RELEASE_AND_ACK)
		acknowledge(reference, request, request->served.facts.mlength, failure);
}

const char *reference_answer_arrived(struct reference *reference, unsigned number, bool with_data)
{
	struct request *request = request_at(reference, number);
	enum reference_debt answer = request->answer;

	if (!request->waiting || answer == OWED_NOTHING)
		return "an answer that nobody waits for was taken";
	if (with_data != request->answer_with_data)
		return "an answer has changed on its way";
	request->waiting = false;
	if (answer == OWED_ACK)
		acknowledge(reference, request, request->served.facts.mlength, PTL_NI_OK);
	else if (answer == OWED_REPLY)
		receive_reply(reference, request);
	else if (answer == OWED_NOTICE && request->send.pending)
		end(&request->send, PTL_EVENT_SEND_END, PTL_NI_OK);
	else if (answer == OWED_RELEASE || answer == OWED_RELEASE_AND_ACK)
		receive_release(reference, request);
	if (!request->fetch.running)
		request->active[INITIATOR] = 0;
	return NULL;
}

/* --- the target's side --- */

static void serve_put(struct reference *reference, struct request *request)
{
	struct part *served = &request->served;
	bool grants = request->wants_ack && !(served->terms->stated.options & PTL_MD_ACK_DISABLE);

	log_part(served, PTL_EVENT_PUT_START, PTL_NI_OK);
	if (request->with_data) {
		region_put(reference, served->terms, served->facts.offset, served->facts.mlength, request->data);
		end(served, PTL_EVENT_PUT_END, PTL_NI_OK);
		request->debt = grants ? OWED_ACK : request->wants_ack ? OWED_NOTICE : OWED_NOTHING;
	} else {
		request->pull =
			(struct transfer){.running = true, .total = served->facts.mlength, .copy = request->pull.copy};
		request->active[TARGET] = ++reference->time;
	}
}

static void serve_get(struct reference *reference, struct request *request)
{
	log_part(&request->served, PTL_EVENT_GET_START, PTL_NI_OK);
	request->debt = OWED_REPLY;
	request->owing = ++reference->time;
}

static void serve_getput(struct reference *reference, struct request *request)
{
	struct part *served = &request->served;
	const ptl_event_t *facts = &served->facts;

	log_part(served, PTL_EVENT_GETPUT_START, PTL_NI_OK);
	request->reply_data = region_copy(reference, served->terms, facts->offset, facts->mlength);
	region_put(reference, served->terms, facts->offset, facts->mlength, request->data);
	end(served, PTL_EVENT_GETPUT_END, PTL_NI_OK);
	request->debt = OWED_REPLY;
}

static void accept(struct reference *reference, struct request *request, struct md *md, uint64_t offset,
		   uint64_t mlength)
{
	static void (*const serve[])(struct reference *, struct request *) = {
		[REFERENCE_PUT] = serve_put, [REFERENCE_GET] = serve_get, [REFERENCE_GETPUT] = serve_getput};
	const struct reference_interface *from = who(reference, request->ni);
	const ptl_event_t facts = {
		.initiator = from->id,
		.uid = from->uid,
		.jid = from->jid,
		.pt_index = request->said.pt_index,
		.match_bits = request->said.match_bits,
		.rlength = request->said.length,
		.mlength = mlength,
		.offset = offset,
		.hdr_data = request->said.hdr_data,
		.link = ++reference->links,
	};

	if (request->said.kind != REFERENCE_GET)
		reference->interface[request->target].received_length += mlength;
	begin(&request->served, md->terms, &facts, true);
	serve[request->said.kind](reference, request);
}

const char *reference_arrived(struct reference *reference, unsigned number, bool with_data)
{
	struct request *request = request_at(reference, number);
	uint64_t offset, mlength;

	if (!request->sent || request->arrived || with_data != request->with_data)
		return "a request arrived that was not sent so, or twice";
	request->arrived = true;
	reference->interface[request->target].received++;
	struct md *md = translate(reference, request, &offset, &mlength);

	if (md) {
		accept(reference, request, md, offset, mlength);
		return NULL;
	}
	drop(&reference->interface[request->target], request->said.length);
	if (request->said.kind != REFERENCE_PUT || request->wants_ack || !with_data)
		request->debt = OWED_NOTICE;
	return NULL;
}

static const char *answer_get(struct reference *reference, struct request *request, bool with_data)
{
	struct part *served = &request->served;

	request->owing = 0;
	if (with_data) {
		free(request->reply_data);
		request->reply_data =
			region_copy(reference, served->terms, served->facts.offset, served->facts.mlength);
		end(served, PTL_EVENT_GET_END, PTL_NI_OK);
	} else {
		request->active[TARGET] = ++reference->time;
	}
	return NULL;
}

const char *reference_answered(struct reference *reference, unsigned number, bool with_data)
{
	struct request *request = request_at(reference, number);

	if (request->debt == OWED_NOTHING)
		return "an answer is given that is not owed";
	request->answer = request->debt;
	request->debt = OWED_NOTHING;
	request->answer_with_data = with_data;
	if (request->answer == OWED_REPLY)
		reference->interface[request->target].sent_length += request->served.facts.mlength;
	if (request->answer == OWED_REPLY && request->said.kind == REFERENCE_GET)
		return answer_get(reference, request, with_data);
	return with_data || request->answer != OWED_REPLY ? NULL : "only the data of a get is left to be read";
}

const char *reference_released(struct reference *reference, unsigned number)
{
	struct request *request = request_at(reference, number);

	(void)reference;
	if (!request->release_due || request->answer_with_data || !request->served.pending)
		return "a reply is released that was not read";
	request->release_due = false;
	request->active[TARGET] = 0;
	end(&request->served, PTL_EVENT_GET_END, request->fetch.failure ? PTL_NI_PROTOCOL : PTL_NI_OK);
	return NULL;
}

/* --- long data --- */

static struct transfer *transfer_of(struct request *request, bool reply)
{
	return reply ? &request->fetch : &request->pull;
}

bool reference_reads(const struct reference *reference, unsigned number, bool reply, uint64_t *bytes)
{
	const struct transfer *transfer = transfer_of(request_at(reference, number), reply);

	*bytes = transfer->total;
	return transfer->running;
}

/* Where the bytes of a transfer come from, and from which offset on. */
static const struct terms *source_of(const struct request *request, bool reply, uint64_t *offset)
{
	*offset = reply ? request->served.facts.offset : request->said.offset;
	return reply ? request->served.terms : request->send.terms;
}

void reference_copied(struct reference *reference, unsigned number, bool reply)
{
	struct request *request = request_at(reference, number);
	struct transfer *transfer = transfer_of(request, reply);
	uint64_t offset, length = reply ? request->served.facts.mlength : request->said.length;
	const struct terms *source = source_of(request, reply, &offset);

	if (!transfer->copy)
		transfer->copy = region_copy(reference, source, offset, length);
}

void reference_moved(struct reference *reference, unsigned number, bool reply, uint64_t offset, uint64_t length)
{
	struct request *request = request_at(reference, number);
	const struct transfer *transfer = transfer_of(request, reply);
	const struct part *sink = reply ? &request->reply : &request->served;
	uint64_t base;
	const struct terms *source = source_of(request, reply, &base);
	uint8_t *bytes = zeroed(length);

	if (transfer->copy)
		memcpy(bytes, transfer->copy + offset, length);
	else
		region_get(reference, source, base + offset, length, bytes);
	region_put(reference, sink->terms, sink->facts.offset + offset, length, bytes);
	free(bytes);
}

const char *reference_transferred(struct reference *reference, unsigned number, bool reply, ptl_ni_fail_t failure)
{
	struct request *request = request_at(reference, number);
	struct transfer *transfer = transfer_of(request, reply);

	(void)reference;
	if (!transfer->running)
		return "a transfer ended twice";
	transfer->running = false;
	transfer->failure = transfer->abandoned ? transfer->failure : failure;
	request->active[reply ? INITIATOR : TARGET] = 0;
	end(reply ? &request->reply : &request->served, reply ? PTL_EVENT_REPLY_END : PTL_EVENT_PUT_END,
	    transfer->failure);
	if (transfer->abandoned)
		return NULL;
	if (reply) {
		request->release_due = true;
		return NULL;
	}
	bool grants = request->wants_ack && !(request->served.terms->stated.options & PTL_MD_ACK_DISABLE);

	request->debt = grants ? OWED_RELEASE_AND_ACK : OWED_RELEASE;
	return NULL;
}

/* --- loss --- */

static void abandon(struct transfer *transfer, ptl_ni_fail_t failure)
{
	transfer->abandoned = true;
	transfer->failure = failure;
}

static void lose_reply(struct reference *reference, struct request *request, ptl_ni_fail_t failure)
{
	if (begin_reply(reference, request, 0))
		end(&request->reply, PTL_EVENT_REPLY_END, failure);
}

static void lose_as_initiator(struct reference *reference, struct request *request, ptl_ni_fail_t failure)
{
	bool sent = request->sent;

	request->lost[INITIATOR] = true;
	request->waiting = false;
	if (request->fetch.running) {
		abandon(&request->fetch, failure);
		return;
	}
	if (request->send.pending)
		end(&request->send, PTL_EVENT_SEND_END, failure);
	else if (sent && request->said.kind == REFERENCE_PUT)
		acknowledge(reference, request, 0, failure);
	if (request->said.kind != REFERENCE_PUT)
		lose_reply(reference, request, failure);
	request->active[INITIATOR] = 0;
}

static void lose_as_target(struct request *request, ptl_ni_fail_t failure)
{
	request->lost[TARGET] = true;
	request->debt = OWED_NOTHING;
	request->owing = 0;
	if (request->pull.running) {
		abandon(&request->pull, failure);
		return;
	}
	request->active[TARGET] = 0;
	if (request->served.pending)
		end(&request->served, PTL_EVENT_GET_END, failure);
}

/* Of what is under way between the two, as the first of them sees it: what came next after `after`. */
static struct request *next_active(const struct reference *reference, unsigned ni, unsigned peer, unsigned after,
				   int *side)
{
	struct request *found = NULL;
	unsigned best = 0;

	for (unsigned i = 1; i < reference->requests; i++) {
		struct request *request = request_at(reference, i);
		const unsigned stamps[] = {request->ni == ni && request->target == peer ? request->active[INITIATOR]
											: 0,
					   request->ni == peer && request->target == ni ? request->active[TARGET] : 0};

		for (int k = 0; k < 2; k++) {
			if (stamps[k] > after && (!best || stamps[k] < best)) {
				best = stamps[k];
				found = request;
				*side = k;
			}
		}
	}
	return found;
}

static struct request *next_owing(const struct reference *reference, unsigned ni, unsigned peer)
{
	struct request *found = NULL;

	for (unsigned i = 1; i < reference->requests; i++) {
		struct request *request = request_at(reference, i);

		if (request->ni == peer && request->target == ni && request->owing &&
		    (!found || request->owing < found->owing))
			found = request;
	}
	return found;
}

static void excuse_sent(const struct reference *reference, unsigned ni, unsigned peer)
{
	for (unsigned i = 1; i < reference->requests; i++)
		if (request_at(reference, i)->ni == ni && request_at(reference, i)->target == peer)
			request_at(reference, i)->excused |= request_at(reference, i)->sent;
}

/* The order is the library's: what was under way, then what waited to be answered, then what was never sent. */
void reference_lost(struct reference *reference, unsigned ni, ptl_process_id_t id, bool unsent, ptl_ni_fail_t failure)
{
	unsigned peer = index_of(reference, id), after = 0, number;
	struct request *request;
	int side = INITIATOR;

	while ((request = next_active(reference, ni, peer, after, &side))) {
		after = request->active[side];
		if (side == INITIATOR)
			lose_as_initiator(reference, request, failure);
		else
			lose_as_target(request, failure);
	}
	while ((request = next_owing(reference, ni, peer)))
		lose_as_target(request, failure);
	for (unsigned i = 1; i < reference->requests; i++) /* acknowledgements, which are not seen */
		if (request_at(reference, i)->ni == peer && request_at(reference, i)->target == ni)
			request_at(reference, i)->debt = OWED_NOTHING;
	excuse_sent(reference, ni, peer);
	while (unsent && (number = reference_next_unsent(reference, ni, id)))
		lose_as_initiator(reference, request_at(reference, number), failure);
}

static void forget_as_initiator(struct request *request)
{
	request->excused = true;
	request->lost[INITIATOR] = true;
	request->waiting = false;
	request->send.pending = request->reply.pending = request->fetch.running = false;
	request->active[INITIATOR] = 0;
}

static void forget_as_target(struct request *request)
{
	request->lost[TARGET] = true;
	request->debt = OWED_NOTHING;
	request->served.pending = request->pull.running = false;
	request->active[TARGET] = request->owing = 0;
}

void forget_requests(struct reference *reference, unsigned ni)
{
	for (unsigned i = 1; i < reference->requests; i++) {
		struct request *request = request_at(reference, i);

		if (request->ni == ni)
			forget_as_initiator(request);
		if (request->target == ni)
			forget_as_target(request);
	}
}

/* --- the end --- */

static const char *not_done(const struct request *request, bool lossy)
{
	if (request->send.pending || request->reply.pending || request->served.pending)
		return "an operation has a START and no END";
	if (request->waiting)
		return "an initiator still waits for an answer";
	if (!request->sent && !request->lost[INITIATOR])
		return "a request was never sent";
	if (lossy || request->excused)
		return NULL;
	if (request->sent && !request->arrived)
		return "a request never arrived";
	if (request->debt != OWED_NOTHING || (request->release_due && !request->answer_with_data))
		return "an answer or release was never given";
	return NULL;
}

const char *reference_unfinished(const struct reference *reference, unsigned *number,
				 bool (*lossy)(unsigned ni, ptl_process_id_t peer))
{
	for (unsigned i = 1; i < reference->requests; i++) {
		const struct request *request = request_at(reference, i);
		const char *what = not_done(request, lossy(request->ni, request->said.target));

		*number = i;
		if (what)
			return what;
	}
	return NULL;
}
