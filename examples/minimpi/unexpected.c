/* SPDX-License-Identifier: BSD-3-Clause */
#include "unexpected.h"

#include <stdlib.h>

#include "envelope.h"
#include "fetch.h"
#include "slots.h"

#define BLOCKS         4
#define BLOCK_SIZE     (512u * 1024)
#define BLOCK_MESSAGES 1024 /* bounds the events of messages without bytes, of which a block would take any number */

struct block {
	struct listener listener;
	unsigned users; /* messages in it that have not been received */
	bool full;
	struct block *next;  /* of the spare ones */
	struct block *older; /* of all there are */
	char bytes[BLOCK_SIZE];
};

ptl_handle_me_t unexpected_marker;
static ptl_handle_me_t headers;
static struct minimpi_message *first, *last, *first_new;
static struct minimpi_message *open_messages; /* their STARTs have come, not their ENDs */
static struct block *spare, *youngest;
static void (*deliver)(struct minimpi_message *);

static const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY}, nobody = {0, 0};

/* ---- the list ---- */

struct minimpi_message *unexpected_find(uint64_t bits, uint64_t ignore, const struct minimpi_message **seen)
{
	for (struct minimpi_message *message = *seen ? (*seen)->next : first; message; message = message->next)
		if (envelope_matches(message->bits, bits, ignore))
			return message;
	*seen = last;
	return NULL;
}

struct minimpi_message *unexpected_first_new(void)
{
	struct minimpi_message *message = first_new;
	if (message)
		first_new = message->next;
	return message;
}

static void append(struct minimpi_message *message)
{
	message->next = NULL;
	message->previous = last;
	*(last ? &last->next : &first) = message;
	last = message;
	if (!first_new)
		first_new = message;
}

void unexpected_remove(struct minimpi_message *message)
{
	*(message->previous ? &message->previous->next : &first) = message->next;
	*(message->next ? &message->next->previous : &last) = message->previous;
	if (first_new == message)
		first_new = message->next;
}

static struct minimpi_message *new_message(const ptl_event_t *event)
{
	struct minimpi_message *message = job_memory(sizeof(*message));
	*message = (struct minimpi_message){
		.bits = event->match_bits,
		.length = event->rlength,
		.peer = slots_sender(event->hdr_data),
		.where = event->hdr_data & HEADER_WHERE,
		.link = event->link,
	};
	append(message);
	slots_learn(event->hdr_data);
	return message;
}

/* ---- blocks ---- */

static void hear_block(struct listener *self, const ptl_event_t *event);

static struct block *new_block(void)
{
	struct block *block = job_memory(sizeof(*block));
	block->older = youngest;
	youngest = block;
	return block;
}

static void post_block(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	struct block *block = spare;
	if (block)
		spare = block->next;
	else
		block = new_block();
	block->listener.hear = hear_block;
	block->users = 0;
	block->full = false;
	PORTALS(PtlMEInsert(headers, anyone, 0, ~ENVELOPE_LONG, PTL_UNLINK, PTL_INS_BEFORE, &me));
	PORTALS(PtlMDAttach(me,
			    (ptl_md_t){.start = block->bytes,
				       .length = BLOCK_SIZE,
				       .threshold = BLOCK_MESSAGES,
				       .max_size = UNEXPECTED_SHORT,
				       .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE,
				       .user_ptr = block,
				       .eq_handle = progress_unexpected},
			    PTL_UNLINK, &md));
}

static void leave_block(struct block *block)
{
	if (block->users > 0 || !block->full)
		return;
	block->next = spare;
	spare = block;
}

void unexpected_free(struct minimpi_message *message)
{
	if (message->block) {
		message->block->users--;
		leave_block(message->block);
	}
	free(message);
}

static void begin(struct block *block, const ptl_event_t *event)
{
	struct minimpi_message *message = new_message(event);
	message->block = block;
	block->users++;
	message->opened = open_messages;
	open_messages = message;
}

/* STARTs and ENDs of one message have the same link; nearly always they follow each other. */
static void end(const ptl_event_t *event)
{
	struct minimpi_message **place = &open_messages, *message;
	while ((*place)->link != event->link)
		place = &(*place)->opened;
	message = *place;
	*place = message->opened;
	message->bytes = message->block->bytes + event->offset;
	message->failed = event->ni_fail_type != PTL_NI_OK;
	message->whole = true;
	slots_count(event->hdr_data);
	if (message->wanted)
		deliver(message);
}

static void hear_block(struct listener *self, const ptl_event_t *event)
{
	struct block *block = (struct block *)self;
	if (event->type == PTL_EVENT_PUT_START) {
		begin(block, event);
	} else if (event->type == PTL_EVENT_PUT_END) {
		end(event);
	} else {
		block->full = true;
		post_block();
		leave_block(block);
	}
}

/* ---- headers ---- */

static void hear_header(struct listener *self, const ptl_event_t *event)
{
	struct minimpi_message *message = new_message(event);
	(void)self;
	message->whole = true;
	fetch_header(message, event->hdr_data & HEADER_COUNTED);
}

/*
 * A descriptor without bytes that truncates takes any message and keeps none of it.  It sends no ACK, so that the sender
 * keeps the data until it is fetched.
 */
static void post_headers(void)
{
	static struct listener listener = {hear_header};
	ptl_handle_md_t md;
	PORTALS(PtlMEInsert(unexpected_marker, anyone, 0, ~UINT64_C(0), PTL_RETAIN, PTL_INS_AFTER, &headers));
	PORTALS(PtlMDAttach(
		headers,
		(ptl_md_t){.threshold = PTL_MD_THRESH_INF,
			   .options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_ACK_DISABLE | PTL_MD_EVENT_END_DISABLE,
			   .user_ptr = &listener,
			   .eq_handle = progress_unexpected},
		PTL_RETAIN, &md));
}

unsigned unexpected_events(void)
{
	/* START and END of what is in blocks, their UNLINKs, and a START of each message that is not answered. */
	return BLOCKS * (2 * BLOCK_MESSAGES + 1) + 2 * JOB_SENT;
}

void unexpected_open(void (*deliver_message)(struct minimpi_message *))
{
	deliver = deliver_message;
	PORTALS(PtlMEAttach(job.ni, INDEX_MESSAGES, nobody, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &unexpected_marker));
	post_headers();
	for (int i = 0; i < BLOCKS; i++)
		post_block();
}

void unexpected_close(void)
{
	struct minimpi_message *next;
	for (struct minimpi_message *message = first; message; message = next) {
		next = message->next;
		free(message);
	}
	while (youngest) {
		struct block *block = youngest;
		youngest = block->older;
		free(block);
	}
}
