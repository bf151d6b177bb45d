/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of a program, made on both sides.  The model goes first, so that it knows of a request when it is sent. */
#include <stdlib.h>
#include <string.h>

#include "tests/model/exact.h"

static struct slot slot_of(struct slot *slots, unsigned slot)
{
	if (slot == PROGRAM_NONE)
		return (struct slot){PTL_EQ_NONE, REFERENCE_NO_QUEUE};
	return slot == PROGRAM_BAD ? (struct slot){PTL_INVALID_HANDLE, REFERENCE_INVALID} : slots[slot];
}

/* Remembers what was made. */
static void keep(struct slot *slot, const struct slot *made)
{
	*slot = *made;
	handle_note(made->number, made->handle);
}

/* A call that makes an object has returned; if it did make one, that is now in the slot. */
static void compare_made(const char *call, int actual, int expected, struct slot *slot, const struct slot *made)
{
	compare_codes(call, actual, expected);
	if (expected == PTL_OK)
		keep(slot, made);
}

static struct slots *own_slots(const struct step *step)
{
	return &exact.slots[step->ni];
}

static struct slots *second_slots(const struct step *step)
{
	return &exact.slots[step->second_ni];
}

/* --- queues and interfaces --- */

static void call_eq_alloc(const struct step *step)
{
	struct slot made;
	int code = reference_eq_alloc(exact.reference, step->ni, step->count, &made.number);

	compare_made("PtlEQAlloc", PtlEQAlloc(exact.ni[step->ni], step->count, PTL_EQ_HANDLER_NONE, &made.handle), code,
		     &own_slots(step)->queue[step->queue], &made);
	if (step->count == 0 && made.handle != PTL_EQ_NONE)
		disagree("a queue of no events is not PTL_EQ_NONE");
}

static void call_eq_free(const struct step *step)
{
	const struct slot queue = slot_of(own_slots(step)->queue, step->queue);

	compare_codes("PtlEQFree", PtlEQFree(queue.handle), reference_eq_free(exact.reference, queue.number));
}

/* Here the library goes first: it may have to drive before there is an event. */
bool exact_take(unsigned ni, const struct slot *queue)
{
	ptl_event_t actual, expected;

	reference_eq_await(exact.reference, queue->number);
	int code = PtlEQGet(queue->handle, &actual);

	observe_conversations(ni);
	int expected_code = reference_eq_get(exact.reference, queue->number, &expected);

	compare_codes("PtlEQGet", code, expected_code);
	if (code != PTL_OK && code != PTL_EQ_DROPPED)
		return false;
	compare_events(ni, &actual, &expected);
	return true;
}

static void call_eq_get(const struct step *step)
{
	const struct slot queue = slot_of(own_slots(step)->queue, step->queue);

	exact_take(step->ni, &queue);
}

/* The first queue that has an event, if all of them are queues. */
static int poll_reference(const struct step *step, ptl_event_t *event, unsigned *which)
{
	const struct slot *queues = &own_slots(step)->queue[step->queue];
	int code = PTL_EQ_EMPTY;

	for (unsigned i = 0; i < step->count; i++)
		if (!reference_alive(exact.reference, REFERENCE_QUEUE, queues[i].number))
			return PTL_EQ_INVALID;
	for (*which = 0; *which < step->count; ++*which)
		if ((code = reference_eq_get(exact.reference, queues[*which].number, event)) != PTL_EQ_EMPTY)
			break;
	return step->count ? code : PTL_EQ_INVALID;
}

static void call_eq_poll(const struct step *step)
{
	ptl_handle_eq_t handles[PROGRAM_QUEUES];
	ptl_event_t actual, expected;
	unsigned expected_which = 0;
	int which = -1;

	for (unsigned i = 0; i < step->count; i++)
		handles[i] = own_slots(step)->queue[step->queue + i].handle;
	if (step->count == 1)
		reference_eq_await(exact.reference, own_slots(step)->queue[step->queue].number);
	int code = PtlEQPoll(handles, (int)step->count, 0, &actual, &which);

	observe_conversations(step->ni);
	compare_codes("PtlEQPoll", code, poll_reference(step, &expected, &expected_which));
	if (code != PTL_OK && code != PTL_EQ_DROPPED)
		return;
	if (which != (int)expected_which)
		disagree("PtlEQPoll takes from queue %d of its array, must be %u", which, expected_which);
	compare_events(step->ni, &actual, &expected);
}

void exact_status(unsigned ni, ptl_sr_index_t index)
{
	ptl_sr_value_t actual = 0, expected = 0;
	int code = reference_status(exact.reference, ni, index, &expected);

	compare_codes("PtlNIStatus", PtlNIStatus(exact.ni[ni], index, &actual), code);
	if (actual != expected)
		disagree("status register %#x of interface %u is %lld, must be %lld", index, ni, (long long)actual,
			 (long long)expected);
}

static void call_status(const struct step *step)
{
	exact_status(step->ni, step->index);
}

static void call_ac_entry(const struct step *step)
{
	const struct reference_interface *is = &exact.is[step->ni];
	const ptl_uid_t uids[] = {is->uid, PTL_UID_ANY, is->uid + 1};
	const ptl_jid_t jids[] = {is->jid, PTL_JID_ANY, is->jid + 1};
	ptl_process_id_t id = exact_id(step->who);
	int code =
		reference_ac_entry(exact.reference, step->ni, step->ac, id, uids[step->uid], jids[step->jid], step->pt);

	compare_codes("PtlACEntry",
		      PtlACEntry(exact.ni[step->ni], step->ac, id, uids[step->uid], jids[step->jid], step->pt), code);
}

/* --- match entries --- */

static struct reference_entry entry_of(const struct step *step)
{
	return (struct reference_entry){exact_id(step->who), step->bits, step->ignore, step->unlink};
}

static void call_me_attach(const struct step *step)
{
	const struct reference_entry entry = entry_of(step);
	struct slot made;
	int code = reference_me_attach(exact.reference, step->ni, step->pt, &entry, step->position, &made.number);

	compare_made("PtlMEAttach",
		     PtlMEAttach(exact.ni[step->ni], step->pt, entry.match_id, entry.match_bits, entry.ignore_bits,
				 entry.unlink, step->position, &made.handle),
		     code, &own_slots(step)->entry[step->me], &made);
}

static void call_me_attach_any(const struct step *step)
{
	const struct reference_entry entry = entry_of(step);
	ptl_pt_index_t pt, expected_pt;
	struct slot made;
	int code = reference_me_attach_any(exact.reference, step->ni, &expected_pt, &entry, &made.number);

	compare_made("PtlMEAttachAny",
		     PtlMEAttachAny(exact.ni[step->ni], &pt, entry.match_id, entry.match_bits, entry.ignore_bits,
				    entry.unlink, &made.handle),
		     code, &own_slots(step)->entry[step->me], &made);
	if (code == PTL_OK && pt != expected_pt)
		disagree("PtlMEAttachAny chose index %u, must be %u, the first free one", pt, expected_pt);
}

static void call_me_insert(const struct step *step)
{
	const struct slot base = slot_of(own_slots(step)->entry, step->base);
	const struct reference_entry entry = entry_of(step);
	struct slot made;
	int code = reference_me_insert(exact.reference, base.number, &entry, step->position, &made.number);

	compare_made("PtlMEInsert",
		     PtlMEInsert(base.handle, entry.match_id, entry.match_bits, entry.ignore_bits, entry.unlink,
				 step->position, &made.handle),
		     code, &own_slots(step)->entry[step->me], &made);
}

static void call_me_unlink(const struct step *step)
{
	const struct slot entry = slot_of(own_slots(step)->entry, step->me);

	compare_codes("PtlMEUnlink", PtlMEUnlink(entry.handle), reference_me_unlink(exact.reference, entry.number));
}

/* --- descriptors --- */

/* The statement for both sides.  Every slot has an array of its own, so that events show which one was given. */
static struct reference_md md_of(const struct step *step)
{
	static ptl_md_iovec_t arrays[PROGRAM_INTERFACES][PROGRAM_MDS + 1][PROGRAM_PIECES];
	static struct program_piece piece[PROGRAM_PIECES];
	const struct step_md *memory = &step->memory;
	ptl_md_iovec_t *array = arrays[step->ni][step->md < PROGRAM_MDS ? step->md : PROGRAM_MDS];
	const struct slot queue = slot_of(exact.slots[memory->queue_ni].queue, memory->queue);
	struct reference_md md = {.stated = {.start = exact.memory[step->ni] + memory->offset,
					     .length = memory->length,
					     .threshold = memory->threshold,
					     .max_size = memory->max_size,
					     .options = program_options(memory),
					     .user_ptr = (void *)(uintptr_t)memory->user,
					     .eq_handle = queue.handle},
				  .queue = queue.number,
				  .pieces = program_pieces(memory, piece)};

	_Static_assert(sizeof(struct program_piece) == sizeof(struct reference_piece), "the same");
	md.piece = (const struct reference_piece *)piece;
	if (memory->options & PTL_MD_IOVEC) {
		md.stated.start = array;
		md.stated.length = md.pieces;
		for (unsigned i = 0; i < md.pieces; i++)
			array[i] = (ptl_md_iovec_t){exact.memory[step->ni] + piece[i].offset, piece[i].length};
	}
	if (memory->wrong == NULL_START) {
		md.stated.start = NULL;
	} else if (memory->wrong == TOO_MANY_PIECES) {
		md.stated.start = array;
		md.stated.length = (unsigned)exact.is[step->ni].limits.max_md_iovecs + 1;
	} else if (memory->wrong == WRAPS_AROUND) {
		md.stated.start = (void *)PROGRAM_LAST_BYTES; /* NOLINT(performance-no-int-to-ptr) */
		md.stated.length = PROGRAM_BEYOND;
	}
	return md;
}

/* The library must have its own copy of the array. */
static void spoil(const struct reference_md *md)
{
	if (md->stated.options & PTL_MD_IOVEC && md->stated.start)
		memset(md->stated.start, 0xA5, PROGRAM_PIECES * sizeof(ptl_md_iovec_t));
}

static void call_md_attach(const struct step *step)
{
	const struct slot entry = slot_of(own_slots(step)->entry, step->me);
	const struct reference_md md = md_of(step);
	struct slot made;
	int code = reference_md_attach(exact.reference, entry.number, &md, step->md_unlink, &made.number);

	compare_made("PtlMDAttach", PtlMDAttach(entry.handle, md.stated, step->md_unlink, &made.handle), code,
		     &own_slots(step)->md[step->md], &made);
	spoil(&md);
}

static void call_md_bind(const struct step *step)
{
	const struct reference_md md = md_of(step);
	struct slot made;
	int code = reference_md_bind(exact.reference, step->ni, &md, step->md_unlink, &made.number);

	compare_made("PtlMDBind", PtlMDBind(exact.ni[step->ni], md.stated, step->md_unlink, &made.handle), code,
		     &own_slots(step)->md[step->md], &made);
	spoil(&md);
}

static void call_md_update(const struct step *step)
{
	const struct slot md = slot_of(own_slots(step)->md, step->md);
	const struct slot queue = slot_of(second_slots(step)->queue, step->queue);
	const ptl_md_t untouched = {.length = 4711};
	ptl_md_t actual = untouched, expected = untouched;
	struct reference_md said = md_of(step);
	bool new_md = step->count > 0;
	int code = reference_md_update(exact.reference, md.number, &expected, new_md ? &said : NULL, queue.number);

	compare_codes("PtlMDUpdate", PtlMDUpdate(md.handle, &actual, new_md ? &said.stated : NULL, queue.handle), code);
	compare_md("old_md of PtlMDUpdate", &actual, &expected);
	spoil(&said);
}

static void call_md_unlink(const struct step *step)
{
	const struct slot md = slot_of(own_slots(step)->md, step->md);

	compare_codes("PtlMDUnlink", PtlMDUnlink(md.handle), reference_md_unlink(exact.reference, md.number));
}

static void call_post(const struct step *step)
{
	const struct slot base = slot_of(second_slots(step)->entry, step->base);
	const struct slot queue = slot_of(second_slots(step)->queue, step->queue);
	const struct reference_post post = {.base = base.number,
					    .entry = entry_of(step),
					    .position = step->position,
					    .md = md_of(step),
					    .unlink = step->md_unlink,
					    .test_queue = queue.number};
	struct slot me, md;
	int code = reference_post(exact.reference, step->ni, &post, &me.number, &md.number);

	compare_made("PtlMEMDPost",
		     PtlMEMDPost(exact.ni[step->ni], base.handle, post.entry.match_id, post.entry.match_bits,
				 post.entry.ignore_bits, post.entry.unlink, step->position, post.md.stated,
				 step->md_unlink, &me.handle, &md.handle, queue.handle),
		     code, &own_slots(step)->entry[step->me], &me);
	spoil(&post.md);
	if (code == PTL_OK)
		keep(&own_slots(step)->md[step->md], &md);
}

/* --- moving data --- */

static int move_library(const struct step *step, ptl_handle_md_t md, ptl_handle_md_t put_md)
{
	const ptl_process_id_t target = exact_id(step->who);
	ptl_ack_req_t ack = step->ack ? PTL_ACK_REQ : PTL_NO_ACK_REQ;

	switch (step->kind) {
	case STEP_PUT:
		return PtlPut(md, ack, target, step->pt, step->ac, step->bits, step->remote_offset, step->hdr_data);
	case STEP_PUT_REGION:
		return PtlPutRegion(md, step->offset, step->length, ack, target, step->pt, step->ac, step->bits,
				    step->remote_offset, step->hdr_data);
	case STEP_GET:
		return PtlGet(md, target, step->pt, step->ac, step->bits, step->remote_offset);
	case STEP_GET_REGION:
		return PtlGetRegion(md, step->offset, step->length, target, step->pt, step->ac, step->bits,
				    step->remote_offset);
	default:
		return PtlGetPut(md, put_md, target, step->pt, step->ac, step->bits, step->remote_offset,
				 step->hdr_data);
	}
}

static void call_move(const struct step *step)
{
	const struct slot md = slot_of(own_slots(step)->md, step->md);
	const struct slot put_md = slot_of(second_slots(step)->md, step->put_md);
	bool put = step->kind == STEP_PUT || step->kind == STEP_PUT_REGION;
	const struct reference_move move = {
		.kind = put                         ? REFERENCE_PUT
			: step->kind == STEP_GETPUT ? REFERENCE_GETPUT
						    : REFERENCE_GET,
		.md = md.number,
		.put_md = put_md.number,
		.whole = step->kind != STEP_PUT_REGION && step->kind != STEP_GET_REGION,
		.offset = step->offset,
		.length = step->length,
		.ack = step->ack,
		.target = exact_id(step->who),
		.pt_index = step->pt,
		.ac_index = step->ac,
		.match_bits = step->bits,
		.remote_offset = step->remote_offset,
		.hdr_data = put || step->kind == STEP_GETPUT ? step->hdr_data : 0,
	};
	unsigned request;

	for (unsigned i = 0; i < step->count || i == 0; i++) {
		int code = reference_move(exact.reference, step->ni, &move, &request);

		compare_codes("the operation", move_library(step, md.handle, put_md.handle), code);
	}
}

void exact_call(const struct step *step)
{
	static void (*const calls[])(const struct step *) = {
		[STEP_EQ_ALLOC] = call_eq_alloc,   [STEP_EQ_FREE] = call_eq_free,
		[STEP_EQ_GET] = call_eq_get,       [STEP_EQ_POLL] = call_eq_poll,
		[STEP_STATUS] = call_status,       [STEP_AC_ENTRY] = call_ac_entry,
		[STEP_ME_ATTACH] = call_me_attach, [STEP_ME_ATTACH_ANY] = call_me_attach_any,
		[STEP_ME_INSERT] = call_me_insert, [STEP_ME_UNLINK] = call_me_unlink,
		[STEP_MD_ATTACH] = call_md_attach, [STEP_MD_BIND] = call_md_bind,
		[STEP_MD_UPDATE] = call_md_update, [STEP_MD_UNLINK] = call_md_unlink,
		[STEP_POST] = call_post,           [STEP_PUT] = call_move,
		[STEP_PUT_REGION] = call_move,     [STEP_GET] = call_move,
		[STEP_GET_REGION] = call_move,     [STEP_GETPUT] = call_move,
	};

	calls[step->kind](step);
}
