/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this layer share.
 *
 * A bundle has one event queue.  Every memory descriptor's user_ptr points to a `struct source`, whose function is called with the
 * descriptor's events.  These functions only sort: they put messages into the bundle's queues and take slots and buffers back,
 * so events may be taken anywhere, also inside a handler that waits for a buffer.  Handlers run in am_poll() alone.
 *
 * The match list of the bundle's portal table entry, per endpoint:
 *
 *     request blocks    any requester    offset managed here, max_size: one message behind the other
 *     overflow          the same bits    no bytes, truncates: what finds all blocks full leaves its header here
 *     replies           any replier      one place for each request under way, the replier names it
 *     slots             any target       the requests under way, for those that were cut off and are fetched
 *     segment           any peer         bulk data, at the sender's offset
 *
 * Match bits say what a message is for, the header (hdr_data) what is to be done with it.
 */
#ifndef EXAMPLES_AM_INTERNAL_H
#define EXAMPLES_AM_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <portals3.h>
#include <portals3_nic.h>

#include "am.h"

enum kind { REQUEST, REPLY, SEGMENT, SLOTS };
enum body { PLAIN, BULK, NO_HANDLER, UNDELIVERABLE };

#define CHANNELS 3
#define SLOT_SHORT                                                                                                     \
	((AM_ARGUMENTS + 2) * 8) /* arguments; of a bulk message also where its data went and how long it is */
#define SLOT (SLOT_SHORT + AM_MEDIUM)

#define BITS_TAG     0xffffffffULL
#define BITS_SOURCE  (0xfffULL << 44)
#define BITS_CHANNEL (3ULL << 56)
#define ENDPOINTS    4096

/* tag, endpoint it is for, endpoint it is from, channel, kind */
static inline ptl_match_bits_t bits_of(enum kind kind, unsigned channel, unsigned from, unsigned number, uint32_t tag)
{
	return (ptl_match_bits_t)kind << 58 | (ptl_match_bits_t)channel << 56 | (ptl_match_bits_t)from << 44 |
	       (ptl_match_bits_t)number << 32 | tag;
}

struct header {
	unsigned handler, count, padding; /* bytes behind the data, so that the next message is aligned */
	enum body body;
	unsigned slot; /* the requester's: where the reply goes */
	uint32_t tag;  /* the sender's own */
};

struct source {
	void (*event)(struct source *, const ptl_event_t *);
	am_endpoint *endpoint;
};

/* Receive memory of one channel.  It is posted again when it has been unlinked and no message in it waits for its handler. */
struct block {
	struct source source;
	unsigned channel, unhandled;
	bool unlinked;
	ptl_handle_me_t entry;
	char *bytes;
	struct block *next;
};

/* A message on its way to its handler, or the data of a bulk message that came before it. */
struct arrival {
	struct arrival *next;
	am_endpoint *endpoint;
	ptl_process_id_t from;
	unsigned from_number;
	bool is_reply, data_failed;
	unsigned generation; /* of the slot that it is the reply for */
	struct header header;
	struct block *block; /* that it lies in, or NULL */
	char *fetched;       /* its own memory, or NULL */
	const char *bytes;
	size_t length;
	uint64_t reason; /* of a failure that this process itself has noticed */
};

struct queue {
	struct arrival *first, **end;
};

struct peer {
	bool mapped, dead;
	bool probed; /* asked whether it is there, and has not answered yet */
	ptl_process_id_t id;
	unsigned number;
	uint32_t tag;
	unsigned under_way[CHANNELS];
};

struct slot {
	bool busy;
	unsigned peer, channel, handler;
	unsigned generation; /* counts its requests: what is heard of an earlier one is not about this one */
};

/* Places in an array of buffers that are free. */
struct places {
	struct source source;
	char *bytes;
	unsigned *free, count;
	ptl_handle_md_t md;
};

/* Entries of an endpoint that stay. */
enum entry { OVERFLOW, REPLIES, REQUESTS, LANDING, ENTRIES };

struct am_endpoint {
	am_endpoint *next;
	am_bundle *bundle;
	unsigned number;
	uint32_t tag;
	am_handler *handlers[AM_HANDLERS];
	struct peer peers[AM_PEERS];
	unsigned mapped;
	struct slot *slots;
	struct places requests, replies; /* to send from */
	struct source overflow, incoming, landing;
	char *reply_bytes; /* where replies arrive */
	char *segment;
	size_t segment_length;
	struct block *blocks;
	unsigned block_count[CHANNELS];
	ptl_handle_me_t entries[ENTRIES];
};

struct am_token {
	const struct arrival *arrival;
	bool answered;
	int peer;
};

enum running { NO_HANDLER_RUNS, REQUEST_HANDLER, REPLY_HANDLER };

struct am_bundle {
	ptl_handle_ni_t ni;
	struct am_options options;
	ptl_handle_eq_t eq;
	struct source deaths;
	am_endpoint *endpoints;
	struct queue requests, replies; /* ready for their handlers */
	struct queue waiting, landed;   /* bulk messages without their data, and data without its message */
	enum running running;
	unsigned asked; /* gets under way: a bundle outlives them */
	int failure;    /* negative errno: events were lost, nothing can be relied on */
	struct am_counters counters;
};

/* header.c */
uint64_t am_pack(const struct header *header);
struct header am_unpack(uint64_t word);

/* queue.c */
void am_queue_init(struct queue *queue);
void am_queue_put(struct queue *queue, struct arrival *arrival);
struct arrival *am_queue_take(struct queue *queue);
/* Takes out the one that belongs to `other`, or returns NULL. */
struct arrival *am_queue_partner(struct queue *queue, const struct arrival *other);
void am_queue_clear(struct queue *queue);

/* receive.c */
/* Offset and length of a bulk message's data.  False: that is outside the segment, and Portals has dropped the data. */
bool am_bulk_place(const struct arrival *arrival, uint64_t where[2]);
/* A message has come, `about` says where it lies. */
void am_arrive(struct source *source, const ptl_event_t *event, struct arrival about);
int am_receive_open(am_endpoint *endpoint);
int am_receive_grow(am_endpoint *endpoint);
int am_segment_open(am_endpoint *endpoint);
void am_receive_done(struct arrival *arrival);
void am_receive_close(am_endpoint *endpoint);

/* fetch.c */
void am_cut_off(struct source *source, const ptl_event_t *event);

/* send.c */
int am_places_open(am_endpoint *endpoint, struct places *places, void (*event)(struct source *, const ptl_event_t *));
void am_places_close(struct places *places);
void am_request_sent(struct source *source, const ptl_event_t *event);
void am_reply_sent(struct source *source, const ptl_event_t *event);
int am_answer(const struct arrival *to, enum body body, unsigned handler, const uint64_t *arguments, unsigned count);
void am_slot_release(am_endpoint *endpoint, unsigned number);
/* Has handler 0 told that the request in this slot has failed, and releases it. */
void am_slot_fail(am_endpoint *endpoint, unsigned number, int reason);
/* Its requests fail. */
void am_peer_lost(am_endpoint *endpoint, unsigned peer);
void am_peer_died(struct source *source, const ptl_event_t *event);

/* probe.c */
void am_probe(am_bundle *bundle);

/* poll.c */
void am_take_events(am_bundle *bundle);

#endif
