/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active Messages over Portals 3.3.
 *
 * A message names a handler of its target and brings it arguments, and perhaps data.  A handler runs when its process polls.
 * Every request is answered by exactly one reply: by the one that its handler sends, or else by an empty one.  The handler of
 * a request may send that reply and no other message; the handler of a reply sends none.  So a process that waits may run
 * reply handlers at any time, and no cycle of processes that wait for each other can close.
 *
 * One thread at a time may use a bundle.  All functions return 0 or a negative errno value.
 */
#ifndef EXAMPLES_AM_H
#define EXAMPLES_AM_H

#include <portals3.h>

#define AM_ARGUMENTS 4    /* of 64 bits each */
#define AM_MEDIUM    4096 /* bytes a message may carry to its handler */
#define AM_HANDLERS  256
#define AM_PEERS     1024 /* of one endpoint */

typedef struct am_bundle am_bundle;     /* endpoints that are polled together */
typedef struct am_endpoint am_endpoint; /* one process's part of a virtual network */
typedef struct am_token am_token;       /* where a message came from; valid while its handler runs */

/*
 * `data` is the receive buffer itself for a medium message, the place in the segment for a bulk one, and NULL for a short one.  A
 * medium message's buffer is used again when the handler has returned.
 */
typedef void am_handler(am_token *token, const uint64_t arguments[AM_ARGUMENTS], void *data, size_t length);

/* How requests are kept from overrunning their target. */
enum am_flow {
	/* A requester may have so many unanswered requests towards each peer, which has memory for all of them. */
	AM_CREDITS,
	/* The same, counted for short, medium and bulk requests apart, each with receive memory of its own. */
	AM_CREDITS_BY_SIZE,
	/*
	 * No credits.  The receive memory does not grow with the peers; what finds it full is cut off after its header by
	 * Portals, and fetched from its requester's memory as soon as there is room.
	 */
	AM_FETCH
};

struct am_options {
	enum am_flow flow;
	unsigned credits;        /* towards each peer, and of each size with AM_CREDITS_BY_SIZE */
	unsigned requests;       /* unanswered ones of an endpoint at a time, all peers together; at most 4096 */
	ptl_pt_index_t pt_index; /* the portal table entry that all endpoints of the bundle share */
};

extern const struct am_options am_defaults;

/* What a bundle has done since it was created. */
struct am_counters {
	uint64_t requests, replies; /* handled */
	uint64_t waits;             /* requests that had to wait for a credit or for one of `requests` */
	uint64_t fetched;           /* requests that found no receive memory and were fetched */
};

/* `options` NULL: am_defaults.  -EINVAL: options that make no sense; -ENOMEM; -EIO: Portals refused, see PtlNicErrorText(). */
int am_bundle_create(ptl_handle_ni_t ni, const struct am_options *options, am_bundle **bundle);
/* Also destroys its endpoints.  -EBUSY: called by a handler. */
int am_bundle_destroy(am_bundle *bundle);
void am_bundle_counters(const am_bundle *bundle, struct am_counters *counters);

/* `number` names the endpoint to others, `tag` protects it: an endpoint that does not map it with the same tag does not reach it. */
int am_endpoint_create(am_bundle *bundle, uint16_t number, uint32_t tag, am_endpoint **endpoint);
/* Handler 0 is told of requests that could not be delivered: arguments are the handler's number and an errno value. */
int am_handler_set(am_endpoint *endpoint, unsigned number, am_handler *handler);
/* The memory that bulk messages may be put into.  Once. */
int am_segment_set(am_endpoint *endpoint, void *base, size_t length);
/* Peer `index` is endpoint `number`, protected by `tag`, of process `id`.  Again only if it has died, and all its requests are back. */
int am_map(am_endpoint *endpoint, unsigned index, ptl_process_id_t id, uint16_t number, uint32_t tag);

/*
 * Each copies the arguments and data, or waits until they have left, before it returns; and polls meanwhile, replies only if
 * a handler calls it.
 *   -EINVAL    peer not mapped, handler above AM_HANDLERS, too many arguments, data too long
 *   -EDEADLK   a request by a handler, a second reply, or the reply to a reply
 *   -EHOSTDOWN the peer has died
 *   -EIO       Portals refused, see PtlNicErrorText()
 */
int am_request(am_endpoint *endpoint, unsigned peer, unsigned handler, const uint64_t *arguments, unsigned count);
int am_request_medium(am_endpoint *endpoint, unsigned peer, unsigned handler, const void *data, size_t length,
		      const uint64_t *arguments, unsigned count);
/* The data goes to `offset` of the peer's segment; then the handler runs. */
int am_request_bulk(am_endpoint *endpoint, unsigned peer, unsigned handler, const void *data, size_t length,
		    uint64_t offset, const uint64_t *arguments, unsigned count);
int am_reply(am_token *token, unsigned handler, const uint64_t *arguments, unsigned count);
int am_reply_medium(am_token *token, unsigned handler, const void *data, size_t length, const uint64_t *arguments,
		    unsigned count);
int am_reply_bulk(am_token *token, unsigned handler, const void *data, size_t length, uint64_t offset,
		  const uint64_t *arguments, unsigned count);

/* The endpoint that a message came to, and from which peer of it (-1: from one that is not mapped). */
am_endpoint *am_token_endpoint(const am_token *token);
int am_token_peer(const am_token *token);

/* Runs the handlers of what has arrived.  Returns how many; 0 at once if nothing has. */
int am_poll(am_bundle *bundle);
/*
 * The same; if nothing has arrived, it waits at most so many milliseconds.  If nothing has come then, it asks peers that owe a reply
 * whether they are there.
 */
int am_wait(am_bundle *bundle, ptl_time_t milliseconds);

#endif
