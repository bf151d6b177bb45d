/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client library of the object store.
 *
 * A call opens windows onto the caller's memory, sends a request and waits for the reply; the server moves the data meanwhile.  A
 * server that is not there, or that goes away, is asked again until it has been silent for the client's timeout; it applies a
 * change once however often it is asked.  One thread at a time may use a client.
 *
 * All functions return 0 or a negative errno value, object_error() says what it means:
 *   -EHOSTUNREACH  no server has answered within the timeout
 *   -EACCES        it does not admit this user
 *   -EPERM         it cannot verify users over this transport and so moves and changes nothing
 *   -ENOENT        no object of this name
 *   -EINVAL        a name of no or too many bytes; an id that was another change's
 *   -EMSGSIZE      the object is larger than the memory for it
 *   -EBADMSG       checksums differ
 *   -EIO           Portals refuses (see PtlNicErrorText()), or the server's disk does; others of the server's disk, as -ENOSPC
 */
#ifndef OBJECT_STORE_CLIENT_H
#define OBJECT_STORE_CLIENT_H

#include <portals3.h>
#include <stddef.h>

#include "protocol.h"

typedef struct object_client object_client;

struct object_options {
	ptl_time_t timeout; /* milliseconds of silence; 0: 30 s */
	ptl_time_t repeat;  /* milliseconds of silence before a request is sent again; 0: 2 s */
	/* Told how much has moved, as the server takes or brings it; or NULL. */
	void (*progress)(void *context, uint64_t moved, uint64_t size);
	void *context;
};

struct object_name {
	const void *bytes; /* any bytes */
	size_t length;     /* 1 to OBJECT_NAME_MAX */
};

struct object_about {
	struct object_name name; /* of object_list() only, and valid in its callback only */
	uint64_t size;
	int64_t changed; /* seconds since 1970 */
	uint32_t crc;    /* CRC-32C */
	uint32_t uid;
};

/* Takes access control entry OBJECT_CLIENT_ENTRY of the interface.  `options` may be NULL. */
int object_open(ptl_handle_ni_t ni, ptl_process_id_t server, const struct object_options *options,
		object_client **client);
void object_close(object_client *client);

/* A new id, for changes that a later process may have to repeat. */
int object_new_id(struct object_id *id);

/* On the server's disk when it returns 0.  `id` NULL: a new one. */
int object_put(object_client *client, struct object_name name, const void *data, uint64_t size,
	       const struct object_id *id);
/* `*about` is what the object is; with -EMSGSIZE too. */
int object_get(object_client *client, struct object_name name, void *memory, uint64_t room, struct object_about *about);
int object_stat(object_client *client, struct object_name name, struct object_about *about);
int object_remove(object_client *client, struct object_name name, const struct object_id *id);
/* Calls `each` for every object, by name. */
int object_list(object_client *client, void (*each)(void *context, const struct object_about *about), void *context);

const char *object_error(int rc);

#endif
