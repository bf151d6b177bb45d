/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this layer share.
 *
 * Match bits: what a message is for, which operation of its initiator it belongs to, and a tag.  The operation is ignored by the
 * target's entries: the initiator's own events bring it back, so one descriptor serves any number of operations.
 *
 * At the end of the list stands an entry that takes whatever nothing else took, but none of its bytes.  Portals tells an initiator nothing
 * of what is dropped; of what is cut off to nothing, the ACK or REPLY does.  So an operation that was refused ends, too.
 */
#ifndef EXAMPLES_RM_INTERNAL_H
#define EXAMPLES_RM_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <portals3.h>
#include <portals3_nic.h>

#include "rm.h"

enum kind { BUFFER = 1, RECEIVE, MESSAGE, DIRECTORY };

#define OPERATIONS      1024
#define BITS_OPERATION  (0xffffULL << 32)
#define BLOCK_FRAGMENTS 32
#define PARTIALS        64

/* Operation 0 is none: nothing waits for what becomes of it. */
static inline ptl_match_bits_t bits_of(enum kind kind, unsigned operation, uint32_t tag)
{
	return (ptl_match_bits_t)kind << 48 | (ptl_match_bits_t)operation << 32 | tag;
}

/* hdr_data of a message's fragment: its number, the handler, whether it is the last, and how many bytes fill it up to a multiple of 8. */
static inline uint64_t header_of(uint32_t number, unsigned handler, bool last, unsigned padding)
{
	return (uint64_t)number << 32 | handler << 16 | (unsigned)last << 8 | padding;
}

static inline uint32_t header_number(uint64_t header)
{
	return (uint32_t)(header >> 32);
}

static inline unsigned header_handler(uint64_t header)
{
	return header >> 16 & 0xff;
}

static inline bool header_is_last(uint64_t header)
{
	return header >> 8 & 1;
}

static inline unsigned header_padding(uint64_t header)
{
	return header & 0xff;
}

/* Every descriptor's user_ptr points to one: what its events mean. */
struct source {
	void (*event)(rm_domain *, struct source *, const ptl_event_t *);
};

struct operation {
	unsigned next; /* free one */
	unsigned left; /* puts or gets that are not over */
	struct rm_notice *notice;
	struct rm_notice result; /* so far */
	ptl_handle_md_t md;      /* of its own, or invalid */
	struct buffer *buffer;   /* or NULL */
};

struct buffer {
	struct source source;
	uint32_t tag;
	char *memory; /* NULL: free */
	ptl_handle_me_t me;
	ptl_handle_md_t md; /* for requests of others and for our own */
	unsigned under_way; /* operations of ours that are to be acknowledged */
	struct rm_notice *notice;
	enum rm_direction direction;
};

/* What others look up.  They may read it while it changes, and believe it only if the check fits. */
struct directory_entry {
	uint64_t address, length, tag, check;
};

/* A write of several fragments, of which some have come. */
struct partial {
	ptl_process_id_t from;
	uint32_t tag, number;
	uint64_t left; /* bytes; 0: none */
};

struct receive {
	struct source source;
	struct receive *next;
	ptl_handle_me_t me;
	struct rm_notice *notice;
};

/* A fragment on its way.  Its bytes are in the injection memory. */
struct slot {
	enum { SLOT_FREE, SLOT_WRITE, SLOT_MESSAGE, SLOT_REFUSED } state;
	unsigned next; /* free one */
	struct peer *peer;
	unsigned failures; /* since it was answered last: it may be sent again */
	size_t length;
	uint64_t header;
};

struct early; /* deliver.c: a fragment that came before its predecessor */

/* The logical channels to and from a process. */
struct peer {
	ptl_process_id_t id;
	bool known, dead, sending;
	bool gone;                   /* its interface or its process has ended, and nothing was exchanged since */
	unsigned callers;            /* calls that have it, and run handlers */
	unsigned in_flight, refused; /* fragments; if some are refused, one is in flight */
	uint32_t sent, expected;     /* numbers of the next fragments */
	struct early *early;
	char *assembly; /* of a message whose last fragment has not come */
	size_t assembled, assembly_size;
};

struct block {
	struct source source;
	char *bytes;
	ptl_handle_me_t me;
	unsigned unhandled; /* messages in it */
	bool unlinked;
};

/* A message for its handler. */
struct arrival {
	struct arrival *next;
	ptl_process_id_t from;
	unsigned handler;
	char *data, *own; /* own: to be freed */
	size_t length;
	struct block *block; /* that it lies in, or NULL */
};

struct rm_domain {
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	struct rm_options options;
	struct source copied, injected, direct, sent, deaths;
	bool direct_has_left;
	struct rm_notice asked; /* of rm_translate() */
	unsigned question;      /* its operation */
	ptl_handle_me_t last, directory_me;
	struct directory_entry directory[RM_BUFFERS], copy[RM_BUFFERS];
	ptl_handle_md_t copy_md;
	struct buffer buffers[RM_BUFFERS];
	struct partial partials[PARTIALS];
	unsigned next_partial, writes;
	struct receive *receives;
	struct operation operations[OPERATIONS];
	unsigned free_operation; /* 0: none */
	char *injection;
	ptl_handle_md_t injection_md;
	struct slot *slots;
	unsigned free_slot; /* options.slots: none */
	struct peer peers[RM_PEERS];
	struct block *blocks;
	struct arrival *arrivals, **arrivals_end;
	rm_handler *handlers[RM_HANDLERS];
	struct rm_counters counters;
	bool in_handler;
	int failure;
};

/* domain.c */
/* Memory for the interface: its pages are there from the beginning, so no message waits for them.  NULL: there is not so much. */
char *rm_memory(size_t length);
/* In front of the entry that refuses. */
int rm_attach(rm_domain *domain, ptl_process_id_t from, ptl_match_bits_t bits, ptl_md_t md, ptl_unlink_t unlink,
	      ptl_handle_me_t *me, ptl_handle_md_t *handle);
void rm_detach(rm_domain *domain, ptl_handle_me_t me);
void rm_release(rm_domain *domain, ptl_handle_md_t md);
/* Sorts the events that are there; runs no handler.  Returns how many. */
int rm_take_events(rm_domain *domain);
/*
 * Waits for one if there is none, and runs handlers: two processes may be waiting for each other's.  -EAGAIN: a handler calls, and there
 * is none.
 */
int rm_progress(rm_domain *domain);
static inline bool rm_same(ptl_process_id_t one, ptl_process_id_t other)
{
	return one.nid == other.nid && one.pid == other.pid;
}

/* operation.c */
void rm_operations_open(rm_domain *domain);
void rm_operations_close(rm_domain *domain);
/* Of so many puts or gets; number 0 without a notice.  -EAGAIN: in a handler, and all are in use. */
int rm_operation_begin(rm_domain *domain, struct rm_notice *notice, unsigned parts, unsigned *number);
/* A put or get of it was refused by Portals. */
void rm_operation_undo(rm_domain *domain, unsigned number);
void rm_operation_event(rm_domain *domain, const ptl_event_t *event);
int rm_status(const ptl_event_t *event);

/* buffer.c */
struct buffer *rm_buffer_find(rm_domain *domain, uint32_t tag);
/* The rest of what a process that died was writing never comes, and what follows it, under its id, counts anew. */
void rm_forget_writes(rm_domain *domain, ptl_process_id_t from);

/* directory.c */
int rm_directory_open(rm_domain *domain);
void rm_directory_close(rm_domain *domain);
void rm_directory_set(rm_domain *domain, unsigned number, const void *memory, size_t length, uint32_t tag);

/* inject.c */
int rm_injection_open(rm_domain *domain);
void rm_injection_close(rm_domain *domain);
/* -EAGAIN: in a handler, and all are in use. */
int rm_slot_take(rm_domain *domain, unsigned *slot);
void rm_slot_free(rm_domain *domain, unsigned slot);
char *rm_slot_bytes(const rm_domain *domain, unsigned slot);

/* message.c */
struct peer *rm_peer(rm_domain *domain, ptl_process_id_t id);
void rm_message_event(rm_domain *domain, unsigned number, const ptl_event_t *event);
void rm_peer_died(rm_domain *domain, struct source *source, const ptl_event_t *event);

/* deliver.c */
int rm_blocks_open(rm_domain *domain);
void rm_blocks_close(rm_domain *domain);
void rm_run_handlers(rm_domain *domain);
/* What has come of messages that are not complete. */
void rm_forget_early(struct peer *peer);

/* send_receive.c */
void rm_receives_close(rm_domain *domain);

#endif
