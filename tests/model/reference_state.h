/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reference model is made of; for its own files only. */
#ifndef PORTALS_TESTS_MODEL_REFERENCE_STATE_H
#define PORTALS_TESTS_MODEL_REFERENCE_STATE_H

#include "tests/model/reference.h"

#define PORTALS 64
#define ACCESS  8
#define NOBODY  REFERENCE_INTERFACES /* index of a process that does not exist */

/* First member of whatever has a handle. */
struct object {
	enum reference_object kind;
	unsigned number, ni;
	bool live;
};

struct queue {
	struct object object;
	uint64_t size, posted, taken;
	unsigned underway; /* operations begun whose end is still to be logged here */
	ptl_event_t *slots;
	bool awaited; /* a call waits at the empty queue: the next event is its own, and takes no room */
	bool handed;  /* and has come: */
	ptl_event_t direct;
};

/* What one MDAttach, MDBind or MDUpdate said of a descriptor, and what has become of it. */
struct terms {
	struct terms *next;
	struct md *md;
	ptl_md_t stated; /* threshold: what is left of it */
	struct queue *queue;
	unsigned pieces;
	struct reference_piece *piece;
	uint64_t length, local_offset;
	bool active;
};

struct md {
	struct object object;
	struct entry *entry;
	struct terms *terms;
	bool auto_unlink, unlink_due;
	unsigned pending; /* operations begun and not ended, under whatever terms */
	ptl_event_t cause;
};

struct entry {
	struct object object;
	struct reference_entry said;
	struct md *md;
	struct portal *portal;
	struct entry *next;
};

struct portal {
	struct entry *head;
	unsigned length, greatest;
};

struct access {
	ptl_process_id_t id;
	ptl_uid_t uid;
	ptl_jid_t jid;
	ptl_pt_index_t pt_index;
};

struct interface {
	struct reference_interface is;
	uint8_t *memory;
	struct portal portals[PORTALS];
	struct access access[ACCESS];
	uint64_t drops, drop_length, received, received_length, sent, sent_length;
};

/* An operation on a descriptor, from its START to its END. */
struct part {
	struct terms *terms; /* those in force when it began */
	ptl_event_t facts;
	int left; /* of the threshold, when it had taken its unit: all its events say so */
	bool pending;
};

/* Bytes that one side reads from the other. */
struct transfer {
	bool running, abandoned;
	uint64_t total;
	ptl_ni_fail_t failure; /* why it was abandoned, or how it ended */
	uint8_t *copy;         /* what the side that is read made of its bytes, or NULL */
};

struct request {
	unsigned ni, target;
	struct reference_move said; /* with the length that it came to */
	ptl_event_t facts;          /* of the initiator's events */
	struct md *md, *reply_md;
	bool wants_ack, sent, with_data, waiting;
	struct part send, reply, served; /* served: at the target */
	bool arrived, answer_with_data, release_due, lost[2];
	bool excused; /* its conversation ended after it was sent: it and its answers may never arrive */
	enum reference_debt debt, answer;
	struct transfer pull, fetch; /* by the target of a put, by the initiator of a get */
	uint8_t *data, *reply_data;  /* what travels with the messages */
	/* When each side had something under way that a loss ends, 0: never; and when the target began to owe a reply. */
	unsigned active[2], owing;
};

enum { INITIATOR, TARGET };

struct reference {
	unsigned interfaces, objects, requests, object_room, request_room;
	struct interface interface[REFERENCE_INTERFACES];
	struct object **object; /* by number */
	struct request **request;
	struct terms *terms; /* all there ever were */
	uint64_t memory_size;
	ptl_seq_t links;
	unsigned time;
};

/* What an interface has at the beginning. */
void furnish(struct reference *, unsigned ni);
/* A new request's number. */
unsigned enlist(struct reference *, struct request *);
void forget_requests(struct reference *, unsigned ni);

/* Or NULL: no live object of that kind. */
struct object *find(const struct reference *, enum reference_object, unsigned number);
/* A new object, zeroed, in the table. */
void *add(struct reference *, enum reference_object, unsigned ni, size_t size);
void *zeroed(size_t size);

/* --- descriptors and their events (reference_event.c) --- */

/* START or END of an operation. */
void log_part(const struct part *, ptl_event_kind_t, ptl_ni_fail_t);

/* An operation begins: takes a unit; `served` if it is another's on this memory. */
void begin(struct part *, struct terms *, const ptl_event_t *facts, bool served);
/* END: logs it, and unlinks the descriptor if that was due. */
void end(struct part *, ptl_event_kind_t, ptl_ni_fail_t);

/* Can it take an operation? */
bool responds(const struct md *);
bool is_quiet(const struct queue *);
void unlink_md(struct md *, bool entry_too);

/* --- memory (reference_memory.c) --- */

void region_get(const struct reference *, const struct terms *, uint64_t offset, uint64_t length, uint8_t *to);
void region_put(struct reference *, const struct terms *, uint64_t offset, uint64_t length, const uint8_t *from);
uint8_t *region_copy(const struct reference *, const struct terms *, uint64_t offset, uint64_t length);

/* --- address translation (reference_object.c) --- */

/* The descriptor that takes a request from that interface; sets *offset and *mlength. */
struct md *translate(const struct reference *, const struct request *, uint64_t *offset, uint64_t *mlength);

#endif
