/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timeline of an interface (PTL_TRACE): what each thread did when, stage by stage, and which message of one process is
 * which of another.  For people and their viewers; trace.h is what PtlNIDebug has printed.
 *
 * It lives on the stage clocks: everything is recorded where they measure already, so it costs nothing while they are off.
 *
 * A ring of fixed size, the oldest entries are overwritten.  Any thread records, hence a ticket for each entry, and atomic words
 * in it.  An entry has one writer at a time: a thread that stood still for a whole round finds a later ticket there, or none to
 * be had, and writes nothing.  A reader that meets another ticket than it expects, before or after, counts the entry as dropped.
 *
 * FLOWS.  A message is named by its conversation (both processes and both tags) and its number in it, which each side
 * counts anyway (WHAT IS MISSING in peer.c): both sides work out the same name, and nothing more is sent.
 */
#ifndef PORTALS_OFFLOAD_TIMELINE_H
#define PORTALS_OFFLOAD_TIMELINE_H

#include <portals3_nic.h>
#include <stdatomic.h>
#include <stdbool.h>

#define TIMELINE_ENTRIES (1 << 16) /* 4 MiB of what is used */
#define TIMELINE_TRACKS  64        /* threads that are told apart; what others do is counted as dropped */
#define TIMELINE_WORDS   7

enum timeline_kind {
	TIMELINE_STAGE,  /* from `start` to `end`; of PTL_STAGE_MESSAGE also the message that it was */
	TIMELINE_SENT,   /* a transport has taken a message; `start` is that of the stage "queued send" */
	TIMELINE_LANDED, /* a put has had its PUT_END */
	TIMELINE_DROPPED /* a message that was dropped */
};

/* A message of a conversation, as one side of it sees it. */
struct timeline_message {
	uint64_t flow; /* 0: none */
	uint64_t bytes, match_bits;
	uint32_t nid, pid; /* the other side */
	uint8_t operation; /* enum wire_operation */
};

/* An entry as the reader sees it. */
struct timeline_record {
	enum timeline_kind kind;
	ptl_stage_t stage;
	unsigned track;
	uint64_t start, end; /* ticks */
	struct timeline_message message;
};

struct timeline_track {
	_Atomic int thread; /* as gettid() says; 0: its name is not there yet */
	char name[16];
};

struct timeline {
	_Atomic uint64_t next;  /* ticket of the next entry: as many have been recorded */
	_Atomic uint64_t lost;  /* of threads that have no track */
	_Atomic uint32_t count; /* tracks */
	struct timeline_track tracks[TIMELINE_TRACKS];
	struct timeline_message current;  /* what is being handled; owner of the engine only */
	uint64_t opened_at, opened_ticks; /* the same moment on both clocks */
	uint32_t number;                  /* of the timelines of this process, from 1 on */
	struct timeline_entry {
		_Atomic uint64_t ticket; /* plus one; 0: being written, or never was */
		_Atomic uint64_t words[TIMELINE_WORDS];
	} entries[TIMELINE_ENTRIES];
};

/* At that moment, of which no other has been opened.  NULL: no memory. */
struct timeline *timeline_open(uint64_t ns, uint64_t ticks);
void timeline_close(struct timeline *);

void timeline_stage(struct timeline *, ptl_stage_t, uint64_t start, uint64_t end);
void timeline_note(struct timeline *, enum timeline_kind, uint64_t start, const struct timeline_message *);

/* The entry of that ticket.  False: overwritten, or being written. */
bool timeline_read(struct timeline *, uint64_t ticket, struct timeline_record *);

#endif
