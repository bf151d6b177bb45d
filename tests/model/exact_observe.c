/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the messages on the scripted transport mean to the model.
 *
 * Which request a message belongs to is found out when it is sent: requests of a pair leave in the order of the calls,
 * and every answer carries the token that its request had.  What arrives is then known.  Conversations, their tags and
 * tokens are the library's own business and not guaranteed; so whether two interfaces still understand each
 * other is read off the library, and only that they always do is checked, but while the program has them out of step.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/peer/peer.h"
#include "offload/wire.h"
#include "tests/model/exact.h"

#define MAX_TOKENS      40000
#define MAX_TRANSFERS   4096
#define MAX_ON_WAY      16384                /* messages from one interface to another at a time */
#define CONNECT_TIMEOUT UINT64_C(2000000000) /* as exact.c sets it */

/* A transfer that an interface reads: its own count of what the library has asked for and got. */
struct reading {
	unsigned ni, peer, request;
	bool reply;
	const void *context; /* by which the library knows it, once it has asked for anything */
	uint64_t asked, done, total;
	unsigned in_flight, stalled; /* stalled: its place in the line for room, or 0 */
	bool failed, lost;           /* lost: with its conversation */
	ptl_ni_fail_t failure;
};

/* Of a request or a long reply, as its sender gave it. */
struct token {
	uint32_t token;
	unsigned request;
	bool reply;
};

/* What a message is, and in which conversation it was sent. */
struct passage {
	uint8_t operation;
	uint16_t source_tag, target_tag;
};

static struct {
	struct token token[PROGRAM_INTERFACES][MAX_TOKENS];
	unsigned tokens[PROGRAM_INTERFACES];
	struct reading reading[MAX_TRANSFERS];
	unsigned readings, line;
	uint32_t conversation[PROGRAM_INTERFACES][PROGRAM_INTERFACES];
	bool contacting[PROGRAM_INTERFACES][PROGRAM_INTERFACES];
	/* The last messages from one to another; how many of them are still on their way the script knows. */
	struct passage passage[PROGRAM_INTERFACES][PROGRAM_INTERFACES][MAX_ON_WAY];
	unsigned sent[PROGRAM_INTERFACES][PROGRAM_INTERFACES];
} seen;

void observe_begin(void)
{
	memset(seen.tokens, 0, sizeof(seen.tokens));
	memset(seen.conversation, 0, sizeof(seen.conversation));
	memset(seen.contacting, 0, sizeof(seen.contacting));
	memset(seen.sent, 0, sizeof(seen.sent));
	seen.readings = seen.line = 0;
}

static void must(const char *wrong)
{
	if (wrong)
		disagree("%s", wrong);
}

/* --- transfers --- */

/* The one of this context, or the one that has begun and is about to get it. */
static struct reading *find_reading(const struct scripted_read *read)
{
	struct reading *found = NULL;

	for (unsigned i = 0; i < seen.readings; i++) {
		struct reading *reading = &seen.reading[i];

		if (reading->ni == read->reader && reading->context == read->context)
			return reading;
		if (reading->ni == read->reader && !reading->context)
			found = reading;
	}
	if (!found)
		disagree("interface %u reads for a request that has nothing to be read", read->reader);
	found->context = read->context;
	return found;
}

/* Bytes are asked for in order; memory exposed for one message alone says which of them are there. */
static void check_read(const struct scripted_read *read, const struct reading *reading)
{
	const struct scripted_memory_region *source = read->source;

	if (!(source->uses & REGION_READ) && !exact.disturbed[read->reader][source->owner])
		disagree("memory is read that is not exposed any more");
	if (source->owner != reading->peer ||
	    (!exact.program->pins &&
	     (source->about != reading->request || source->offset + read->offset != reading->asked)))
		disagree("other memory is read than what the request offers");
}

/* Nothing is in flight and nothing more will be asked for. */
static bool is_over(const struct reading *reading)
{
	return reading->in_flight == 0 && !reading->stalled && (reading->failed || reading->done == reading->total);
}

static void finish_reading(struct reading *reading)
{
	const struct reading over = *reading;

	*reading = seen.reading[--seen.readings];
	must(reference_transferred(exact.reference, over.request, over.reply, over.failure));
}

static void begin_reading(unsigned ni, unsigned peer, unsigned request, bool reply)
{
	struct reading *reading = &seen.reading[seen.readings];
	uint64_t total;

	if (!reference_reads(exact.reference, request, reply, &total))
		return; /* it was not wanted */
	if (seen.readings++ == MAX_TRANSFERS)
		disagree("too many transfers for this tester");
	*reading = (struct reading){.ni = ni, .peer = peer, .request = request, .reply = reply, .total = total};
	if (is_over(reading))
		finish_reading(reading);
}

static void reading(struct scripted_read *read, bool taken)
{
	struct reading *reading = find_reading(read);

	check_read(read, reading);
	read->at = reading->asked;
	if (taken) {
		reading->asked += read->length;
		if (reading->in_flight++ == exact.program->depth)
			disagree("more reads are in flight for one message than its transport wants");
		reading->stalled = 0;
	} else {
		reading->stalled = ++seen.line;
	}
}

static void fail_reading(struct reading *reading, ptl_ni_fail_t failure)
{
	if (!reading->failed)
		reading->failure = failure;
	reading->failed = true;
}

static void read_ended(const struct scripted_read *read, int status)
{
	struct reading *reading = find_reading(read);

	if (status == -EACCES && !reading->lost && !exact.disturbed[read->reader][read->source->owner])
		disagree("memory is deregistered while it is read");
	reading->in_flight--;
	if (status) {
		fail_reading(reading, status == -ECONNRESET ? PTL_NI_PEER_DIED : PTL_NI_PROTOCOL);
	} else {
		reference_moved(exact.reference, reading->request, reading->reply, read->at, read->length);
		reading->done += read->length;
	}
	if (is_over(reading))
		finish_reading(reading);
}

static struct reading *first_stalled(unsigned ni)
{
	struct reading *first = NULL;

	for (unsigned i = 0; i < seen.readings; i++) {
		struct reading *reading = &seen.reading[i];

		if (reading->ni == ni && reading->stalled && reading->failed &&
		    (!first || reading->stalled < first->stalled))
			first = reading;
	}
	return first;
}

/* Transfers that waited for room are looked at again; those that failed meanwhile do not ask. */
static void polled(unsigned ni)
{
	struct reading *reading;

	while ((reading = first_stalled(ni))) {
		reading->stalled = 0;
		if (is_over(reading))
			finish_reading(reading);
	}
}

/* --- conversations --- */

/* Two tags name one; 0: there is none. */
static uint32_t conversation(unsigned ni, unsigned with)
{
	const struct peer *peer = peer_find(exact.nic[ni], exact.is[with].id);

	return peer && peer->state == PEER_READY ? (uint32_t)peer->local_tag << 16 | peer->remote_tag : 0;
}

static void lose(unsigned ni, unsigned peer, bool unsent)
{
	if (!exact.disturbed[ni][peer])
		disagree("interface %u gave up its conversation with %u without a reason", ni, peer);
	reference_lost(exact.reference, ni, exact.is[peer].id, unsent, PTL_NI_PEER_DIED);
	for (unsigned i = 0; i < seen.readings; i++) {
		struct reading *reading = &seen.reading[i];

		if (reading->ni == ni && reading->peer == peer) {
			fail_reading(reading, PTL_NI_PEER_DIED);
			reading->lost = true;
		}
	}
}

/* It looked for the other one for as long as it may. */
static void give_up(unsigned ni, unsigned peer)
{
	if (scripted_time() < CONNECT_TIMEOUT)
		disagree("interface %u gave up looking for %u too early", ni, peer);
	observe_disturbance(ni, peer);
	reference_lost(exact.reference, ni, exact.is[peer].id, true, PTL_NI_UNREACHABLE);
}

static void look_at(unsigned ni, unsigned with)
{
	uint32_t before = seen.conversation[ni][with], now = conversation(ni, with);
	const struct peer *peer = peer_find(exact.nic[ni], exact.is[with].id);
	bool contacted = seen.contacting[ni][with];

	seen.conversation[ni][with] = now;
	seen.contacting[ni][with] = peer && peer->state == PEER_CONTACTING;
	if (before && before != now)
		lose(ni, with, false);
	if (contacted && peer && peer->state == PEER_UNKNOWN)
		give_up(ni, with);
}

/* Several may have ended in one step: in the library's order, which is not guaranteed. */
void observe_conversations(unsigned ni)
{
	for (const struct peer *peer = exact.nic[ni]->peers.busy; peer; peer = peer->next_busy)
		if (peer->id.nid == exact.is[ni].id.nid && peer->id.pid - SCRIPTED_PID < exact.program->interfaces)
			look_at(ni, peer->id.pid - SCRIPTED_PID);
	for (unsigned with = 0; with < exact.program->interfaces; with++)
		look_at(ni, with);
}

void observe_gone(unsigned ni, unsigned peer)
{
	if (conversation(ni, peer))
		lose(ni, peer, true);
	seen.conversation[ni][peer] = 0;
}

void observe_closed(unsigned ni)
{
	memset(seen.conversation[ni], 0, sizeof(seen.conversation[ni]));
	memset(seen.contacting[ni], 0, sizeof(seen.contacting[ni]));
	for (unsigned i = 0; i < seen.readings;)
		if (seen.reading[i].ni == ni)
			seen.reading[i] = seen.reading[--seen.readings];
		else
			i++;
}

/* --- disturbances --- */

/*
 * When one side gives up a conversation the other one goes on with it until it hears of that, by a HELLO with another
 * tag or by STALE; so what is said meanwhile is not understood, and what is exposed may be deregistered.  That is over
 * as soon as both are in the same conversation, or both in none, and everything on its way belongs to that: what does
 * not is dropped, and an old HELLO or WELCOME would part them again.  A WELCOME to a tag that is no more is ignored,
 * and so is a STALE about another conversation.  Reads and requests of earlier conversations need not have ended by
 * then: each is excused by itself, because it was lost with its conversation (reading.lost, and the model's
 * request.excused).
 */
void observe_disturbance(unsigned one, unsigned other)
{
	exact.disturbed[one][other] = exact.disturbed[other][one] = true;
}

static bool are_agreed(unsigned one, unsigned other)
{
	uint32_t here = conversation(one, other), there = conversation(other, one);

	return here == (there << 16 | there >> 16);
}

static uint16_t tag(unsigned ni, unsigned with)
{
	const struct peer *peer = peer_find(exact.nic[ni], exact.is[with].id);

	return peer ? peer->local_tag : 0;
}

static bool is_harmless(const struct passage *passage, uint16_t source_tag, uint16_t target_tag)
{
	bool from_now = passage->source_tag == source_tag && source_tag, to_now = passage->target_tag == target_tag;

	switch (passage->operation) {
	case WIRE_HELLO: /* goes to no interface's tag */
		return from_now;
	case WIRE_WELCOME:
		return from_now || !to_now;
	case WIRE_STALE: /* names the tags of what was dropped */
		return !(from_now && to_now);
	default:
		return from_now && to_now;
	}
}

static bool is_way_clear(unsigned from, unsigned to)
{
	unsigned waiting = scripted_waiting(from, to);

	if (waiting > MAX_ON_WAY)
		disagree("too many messages on their way for this tester");
	for (unsigned i = 1; i <= waiting; i++) {
		const struct passage *passage = &seen.passage[from][to][(seen.sent[from][to] - i) % MAX_ON_WAY];

		if (!is_harmless(passage, tag(from, to), tag(to, from)))
			return false;
	}
	return true;
}

void observe_reconciled(void)
{
	for (unsigned one = 0; one < exact.program->interfaces; one++)
		for (unsigned other = one; other < exact.program->interfaces; other++)
			if (exact.disturbed[one][other] && are_agreed(one, other) && is_way_clear(one, other) &&
			    is_way_clear(other, one))
				exact.disturbed[one][other] = exact.disturbed[other][one] = false;
}

static void unknown(unsigned ni, uint32_t nid, uint32_t pid)
{
	reference_lost(exact.reference, ni, (ptl_process_id_t){nid, pid}, true, PTL_NI_UNREACHABLE);
}

/* --- what is sent --- */

static void note_passage(const struct scripted_message *sent, const struct wire_message *message)
{
	unsigned *count = &seen.sent[sent->from][sent->to];

	seen.passage[sent->from][sent->to][(*count)++ % MAX_ON_WAY] =
		(struct passage){message->operation, message->source_tag, message->target_tag};
}

static void note_token(unsigned ni, uint32_t token, unsigned request, bool reply)
{
	unsigned *count = &seen.tokens[ni];

	if (*count >= MAX_TOKENS)
		disagree("too many requests for this tester");
	seen.token[ni][(*count)++] = (struct token){token, request, reply};
}

static unsigned find_token(unsigned ni, uint32_t token, bool *reply)
{
	for (unsigned i = seen.tokens[ni]; i-- > 0;) {
		if (seen.token[ni][i].token == token) {
			*reply = seen.token[ni][i].reply;
			return seen.token[ni][i].request;
		}
	}
	disagree("an answer goes to an operation that interface %u never named", ni);
}

/* The memory that the message says can be read: whose data it is, and whether that is a copy made for the purpose. */
static void note_segments(const struct wire_message *message, unsigned request, bool reply)
{
	uint64_t offset = 0;

	for (unsigned i = 0; i < message->segment_count; i++) {
		const struct wire_segment segment = wire_segment(message, i);
		struct scripted_memory_region *memory_region = scripted_memory_region(segment.key);
		const uint8_t *memory = exact.memory[memory_region->owner];

		memory_region->about = request;
		memory_region->offset = offset;
		offset += segment.length;
		if (memory_region->base < memory || memory_region->base >= memory + PROGRAM_MEMORY)
			reference_copied(exact.reference, request, reply);
	}
	if (offset != (reply ? message->mlength : message->length))
		disagree("a long message offers %llu bytes of %llu", (unsigned long long)offset,
			 (unsigned long long)message->length);
}

static unsigned identify_request(const struct scripted_message *sent, const struct wire_message *message)
{
	static const enum reference_kind kinds[] = {[WIRE_PUT] = REFERENCE_PUT,
						    [WIRE_PUT_LONG] = REFERENCE_PUT,
						    [WIRE_GET] = REFERENCE_GET,
						    [WIRE_GETPUT] = REFERENCE_GETPUT};
	unsigned request = reference_next_unsent(exact.reference, sent->from, exact.is[sent->to].id);

	if (!request)
		disagree("interface %u sends %u a %s that nobody asked for", sent->from, sent->to,
			 wire_operation_name(message->operation));
	const struct reference_move *move = reference_request(exact.reference, request);

	if (move->kind != kinds[message->operation] || move->match_bits != message->match_bits ||
	    move->length != message->length || (move->kind != REFERENCE_GET && move->hdr_data != message->hdr_data))
		disagree("interface %u sends %u a %s, but its oldest request is another", sent->from, sent->to,
			 wire_operation_name(message->operation));
	return request;
}

static void request_sent(const struct scripted_message *sent, const struct wire_message *message, unsigned request)
{
	note_token(sent->from, message->token, request, false);
	must(reference_sent(exact.reference, request, message->operation != WIRE_PUT_LONG));
}

/* Is that what is owed for the request? */
static void check_debt(const struct wire_message *message, unsigned request)
{
	static const char *const names[] = {"nothing", "ACK", "REPLY", "notice", "release", "release with ACK"};
	enum reference_debt owed = reference_debt(exact.reference, request), given = OWED_NOTHING;

	if (message->operation == WIRE_SOURCE_FREE)
		given = message->flags & WIRE_ACKED ? OWED_RELEASE_AND_ACK : OWED_RELEASE;
	else if (message->operation == WIRE_DISCARDED)
		given = OWED_NOTICE;
	else
		given = message->operation == WIRE_ACK ? OWED_ACK : OWED_REPLY;
	if (given != owed)
		disagree("a request is answered with %s, must be %s", names[given], names[owed]);
}

/* With `taken` false the transport has no room, so it happens again; only what must be known at once is noted. */
static void response_sent(struct scripted_message *sent, const struct wire_message *message, bool taken)
{
	bool reply, with_data = message->operation == WIRE_REPLY;
	unsigned request = find_token(sent->to, message->token, &reply);

	sent->about = request;
	if (message->operation == WIRE_REPLY_LONG)
		note_segments(message, request, true);
	if (!taken || reply) /* the initiator of a get has read the reply: reference_released() when that arrives */
		return;
	check_debt(message, request);
	if (message->operation == WIRE_REPLY_LONG)
		note_token(sent->from, message->reply_token, request, true);
	must(reference_answered(exact.reference, request, with_data));
}

static void sending(struct scripted_message *sent, bool taken)
{
	struct wire_message message;

	observe_conversations(sent->from); /* what was lost was lost before this is sent */
	if (wire_decode(sent->bytes, sent->length, &message))
		disagree("interface %u sends what is no message", sent->from);
	if (taken)
		note_passage(sent, &message);
	if (message.operation <= WIRE_GETPUT) {
		sent->about = identify_request(sent, &message);
		if (message.operation == WIRE_PUT_LONG)
			note_segments(&message, sent->about, false);
		if (taken)
			request_sent(sent, &message, sent->about);
	} else if (message.operation <= WIRE_DISCARDED) {
		response_sent(sent, &message, taken);
	}
}

/* --- what arrives --- */

static void request_arrives(const struct scripted_message *arrived, const struct wire_message *message)
{
	must(reference_arrived(exact.reference, arrived->about, message->operation != WIRE_PUT_LONG));
	if (message->operation == WIRE_PUT_LONG)
		begin_reading(arrived->to, arrived->from, arrived->about, false);
}

static void response_arrives(const struct scripted_message *arrived, const struct wire_message *message)
{
	bool reply;

	find_token(arrived->to, message->token, &reply);
	if (reply) {
		must(reference_released(exact.reference, arrived->about));
		return;
	}
	must(reference_answer_arrived(exact.reference, arrived->about, message->operation == WIRE_REPLY));
	if (message->operation == WIRE_REPLY_LONG)
		begin_reading(arrived->to, arrived->from, arrived->about, true);
}

/* Messages of an earlier conversation mean nothing. */
static bool is_understood(const struct scripted_message *arrived, const struct wire_message *message)
{
	bool understood =
		conversation(arrived->to, arrived->from) == ((uint32_t)message->target_tag << 16 | message->source_tag);

	if (!understood && !exact.disturbed[arrived->to][arrived->from])
		disagree("interface %u does not understand what %u says", arrived->to, arrived->from);
	return understood;
}

static void arriving(const struct scripted_message *arrived)
{
	struct wire_message message;

	wire_decode(arrived->bytes, arrived->length, &message);
	if (message.operation > WIRE_DISCARDED || !is_understood(arrived, &message))
		return;
	if (message.operation <= WIRE_GETPUT)
		request_arrives(arrived, &message);
	else
		response_arrives(arrived, &message);
}

static void arrived(const struct scripted_message *arrived)
{
	look_at(arrived->to, arrived->from);
}

const struct scripted_observer exact_observer = {
	.sending = sending,
	.arriving = arriving,
	.arrived = arrived,
	.reading = reading,
	.read_ended = read_ended,
	.polled = polled,
	.unknown = unknown,
};
