/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Portals 3.3 says: a few interfaces as simple data structures, without speed, sharing no code with the library.
 *
 * Its steps are the calls of the API, which return what the library's must, and the happenings of the network: that a
 * request was handed over, that it reached its target, that bytes were moved, that an answer came back, that a peer
 * was lost.  Its driver tells it which happening took place when; it never looks at messages.  Happenings return
 * NULL, or what is wrong with them: that the library did what it should not have done.
 *
 * Where the specification leaves a choice the library's documented one is taken: which events an overflow costs
 * (offload/event.h), that a long reply is cut, that late answers to an inactive descriptor are dropped.
 *
 * Objects are named by numbers that are never used again; a number without an object is an invalid handle.  Events
 * carry the descriptor's number as md_handle and a number of the operation as link; a uid or jid that is unspecified is
 * PTL_UID_ANY or PTL_JID_ANY, which no process has.
 */
#ifndef PORTALS_TESTS_MODEL_REFERENCE_H
#define PORTALS_TESTS_MODEL_REFERENCE_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

#define REFERENCE_INTERFACES 3
#define REFERENCE_NO_QUEUE   0 /* PTL_EQ_NONE */
#define REFERENCE_INVALID    1 /* names nothing, ever */

struct reference;

struct reference_interface {
	ptl_process_id_t id;
	ptl_uid_t uid;
	ptl_jid_t jid;
	ptl_ni_limits_t limits;
};

struct reference_piece {
	uint64_t offset, length; /* of the interface's memory */
};

/* A descriptor as a program states it. */
struct reference_md {
	ptl_md_t stated; /* comes back in events; its addresses mean nothing here */
	unsigned queue;
	unsigned pieces; /* of its memory; looked at if start is not NULL */
	const struct reference_piece *piece;
};

/* `memory` bytes each. */
struct reference *reference_new(unsigned interfaces, const struct reference_interface *, uint64_t memory);
void reference_free(struct reference *);
uint8_t *reference_memory(struct reference *, unsigned ni);

/* --- calls --- */

int reference_status(struct reference *, unsigned ni, ptl_sr_index_t, ptl_sr_value_t *);
int reference_ac_entry(struct reference *, unsigned ni, ptl_ac_index_t, ptl_process_id_t, ptl_uid_t, ptl_jid_t,
		       ptl_pt_index_t);

int reference_eq_alloc(struct reference *, unsigned ni, uint64_t count, unsigned *number);
int reference_eq_free(struct reference *, unsigned number);
/* A call that takes from this queue alone drives until reference_eq_get(). */
void reference_eq_await(struct reference *, unsigned number);
int reference_eq_get(struct reference *, unsigned number, ptl_event_t *);

struct reference_entry {
	ptl_process_id_t match_id;
	ptl_match_bits_t match_bits, ignore_bits;
	ptl_unlink_t unlink;
};

int reference_me_attach(struct reference *, unsigned ni, ptl_pt_index_t, const struct reference_entry *, ptl_ins_pos_t,
			unsigned *me);
int reference_me_attach_any(struct reference *, unsigned ni, ptl_pt_index_t *, const struct reference_entry *,
			    unsigned *me);
int reference_me_insert(struct reference *, unsigned number, const struct reference_entry *, ptl_ins_pos_t,
			unsigned *me);
int reference_me_unlink(struct reference *, unsigned number);

int reference_md_attach(struct reference *, unsigned me, const struct reference_md *, ptl_unlink_t, unsigned *md);
int reference_md_bind(struct reference *, unsigned ni, const struct reference_md *, ptl_unlink_t, unsigned *md);
int reference_md_unlink(struct reference *, unsigned number);
/* old_md and new_md may be NULL. */
int reference_md_update(struct reference *, unsigned number, ptl_md_t *old_md, const struct reference_md *new_md,
			unsigned test_queue);

struct reference_post {
	unsigned base;
	struct reference_entry entry;
	ptl_ins_pos_t position;
	struct reference_md md;
	ptl_unlink_t unlink;
	unsigned test_queue;
};

int reference_post(struct reference *, unsigned ni, const struct reference_post *, unsigned *me, unsigned *number);

enum reference_kind { REFERENCE_PUT, REFERENCE_GET, REFERENCE_GETPUT };

struct reference_move {
	enum reference_kind kind;
	unsigned md, put_md;     /* put_md: getput only, md is its get descriptor */
	bool whole;              /* else: */
	uint64_t offset, length; /* of the region */
	bool ack;
	ptl_process_id_t target;
	ptl_pt_index_t pt_index;
	ptl_ac_index_t ac_index;
	ptl_match_bits_t match_bits;
	uint64_t remote_offset;
	ptl_hdr_data_t hdr_data;
};

/* *number names it in what follows, if the result is PTL_OK. */
int reference_move(struct reference *, unsigned ni, const struct reference_move *, unsigned *number);

/* --- happenings --- */

/* What the target of a request owes its initiator. */
enum reference_debt {
	OWED_NOTHING,
	OWED_ACK,
	OWED_REPLY,
	OWED_NOTICE,          /* that there will be no answer */
	OWED_RELEASE,         /* that the initiator's memory is not read any more */
	OWED_RELEASE_AND_ACK, /* both in one */
};

/* The oldest request to the process that was not handed over yet, or 0. */
unsigned reference_next_unsent(const struct reference *, unsigned ni, ptl_process_id_t target);
const struct reference_move *reference_request(const struct reference *, unsigned number);
enum reference_debt reference_debt(const struct reference *, unsigned number);

/* The request was handed to the network; with its data, or what the target has to read. */
const char *reference_sent(struct reference *, unsigned number, bool with_data);
/* It reached its target. */
const char *reference_arrived(struct reference *, unsigned number, bool with_data);
/* The target handed its answer to the network, with data or for the initiator to read. */
const char *reference_answered(struct reference *, unsigned number, bool with_data);
/* The answer (ACK or REPLY), or the notice that there will be none, reached the initiator. */
const char *reference_answer_arrived(struct reference *, unsigned number, bool with_data);
/* The side whose memory was read heard that this is over. */
const char *reference_released(struct reference *, unsigned number);

/* Bytes that one side (`reply`: the initiator) has to read from the other, none if it reads nothing. */
bool reference_reads(const struct reference *, unsigned number, bool reply, uint64_t *bytes);
/* The side that is read made a copy first. */
void reference_copied(struct reference *, unsigned number, bool reply);
/* A part of the message was read. */
void reference_moved(struct reference *, unsigned number, bool reply, uint64_t offset, uint64_t length);
/* Nothing more will be. */
const char *reference_transferred(struct reference *, unsigned number, bool reply, ptl_ni_fail_t);

/*
 * One side gave up what it had under way with the other; `unsent`: also what was not handed over yet.  Transfers that
 * one of the two reads end later, with reference_transferred().
 */
void reference_lost(struct reference *, unsigned ni, ptl_process_id_t id, bool unsent, ptl_ni_fail_t);

/* The interface was closed and opened again: its objects are gone, and no event tells of its operations. */
void reference_restart(struct reference *, unsigned ni);

/* --- what must be true when nothing moves any more --- */

/*
 * NULL, or what has not happened.  Of a request that was sent before its initiator lost its target only what has begun
 * must have ended; so too if the two are `lossy`: out of step, so that what was sent last may be lost as well.
 */
const char *reference_unfinished(const struct reference *, unsigned *number,
				 bool (*lossy)(unsigned ni, ptl_process_id_t peer));

/* The next live object of a kind after `previous` (0: the first), or 0. */
enum reference_object { REFERENCE_NOTHING, REFERENCE_QUEUE, REFERENCE_ENTRY, REFERENCE_MD };
unsigned reference_next(const struct reference *, enum reference_object, unsigned ni, unsigned previous);
bool reference_alive(const struct reference *, enum reference_object, unsigned number);

#endif
