/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the client library share. */
#ifndef OBJECT_STORE_CALL_H
#define OBJECT_STORE_CALL_H

#include "client.h"

struct object_client {
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;   /* of all descriptors */
	ptl_handle_me_t last; /* where the server finds that a window is closed */
	ptl_process_id_t server;
	struct object_options options;
	ptl_ac_index_t entry; /* the access control entry that admits us */
	int met;              /* ... is known, and the server has answered when it was last needed to */
};

/* What the server may do with the caller's memory: PTL_MD_OP_GET, PTL_MD_OP_PUT, or 0 if there is none. */
struct object_window {
	void *start;
	uint64_t length;
	unsigned access;
};

/*
 * door.c: learns which access control entry is ours.  -EHOSTUNREACH: the server is not there; -ETIMEDOUT: it has not answered for
 * options.repeat; -EACCES; -EPROTO: it is no server of this version.
 */
int object_read_door(object_client *client);

/* call.c: the reply's status, or what has kept it from coming. */
int object_call(object_client *client, struct object_request *request, struct object_window window,
		struct object_reply *reply);

/*
 * Ends what the server moves for a request that it serves once more, having crossed the reply: it finds no byte, and need not wait in
 * vain for a window that has been closed.
 */
int object_attach_last(object_client *client);
/* Once no operation uses the entry. */
void object_unlink_entry(const object_client *client, ptl_handle_me_t entry);

/* Lets operations that keep a descriptor or an entry go on for a moment. */
void object_wait_a_moment(const object_client *client);

#endif
