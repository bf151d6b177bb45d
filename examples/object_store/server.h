/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the server share.
 *
 * The main thread takes requests from the receive blocks into a queue; workers take them from there, one at a time, and move
 * the data when they are ready, so memory and disk see as many transfers as there are workers, however many clients call.  A
 * worker owns a request from queue_take() to queue_done().
 */
#ifndef OBJECT_STORE_SERVER_H
#define OBJECT_STORE_SERVER_H

#include <portals3.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "catalog.h"
#include "files.h"
#include "protocol.h"

#define WORKERS     8
#define CHUNK       (1u << 20) /* bytes that a worker moves at a time */
#define QUEUE_LIMIT 1024       /* requests; clients repeat what finds no place */

struct work {
	struct object_request request;
	ptl_process_id_t from;
	ptl_uid_t uid;
	bool taken;
	struct work *next;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct work *first; /* the oldest, with those that workers have taken */
	unsigned count;
	bool ended;
};

struct server {
	ptl_handle_ni_t ni;
	struct files files;
	struct catalog *catalog;
	struct queue queue;
	ptl_time_t patience; /* milliseconds until a client that moves nothing is given up */
	bool verified;       /* the transport proves users, or the administrator trusts the network */
};

/* A thread that serves. */
struct worker {
	struct server *server;
	pthread_t thread;
	ptl_handle_eq_t eq; /* of the descriptors that the worker binds, one at a time */
	char *chunk;
};

/* queue.c */
void queue_init(struct queue *queue);
/* A copy of the work, unless the same request is there already or there is no place. */
void queue_put(struct queue *queue, const struct work *work);
/* Waits; NULL when the queue has ended. */
struct work *queue_take(struct queue *queue);
void queue_done(struct queue *queue, struct work *work);
void queue_end(struct queue *queue);
void queue_destroy(struct queue *queue);

/* receive.c.  The memory is in use until the interface is closed. */
struct receiver {
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	struct object_request *blocks;
};
int receive_open(struct receiver *receiver, ptl_handle_ni_t ni);
/* Puts requests into the queue until `*stop`; returns 0 or -EIO. */
int receive_requests(struct receiver *receiver, struct server *server, const volatile sig_atomic_t *stop);

/* serve.c: the body of a thread; its argument is a struct worker. */
void *serve(void *argument);

/*
 * move.c: between the chunk and the client's windows.  0; -EHOSTDOWN: the client died; -ETIMEDOUT: it moves nothing; -EPROTO: its
 * window is too short; -EIO: Portals refuses.
 */
int move_pull(struct worker *worker, const struct work *work, uint64_t offset, size_t length);
int move_push(struct worker *worker, const struct work *work, void *bytes, uint64_t offset, size_t length);
int move_reply(struct worker *worker, const struct work *work, struct object_reply *reply);

#endif
