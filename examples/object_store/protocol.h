/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What clients and server of the object store say to each other.
 *
 * Numbers have the byte order of the machine; the magic number of every message tells a peer of another order or version.
 * A status is 0 or a negative errno value of Linux.
 */
#ifndef OBJECT_STORE_PROTOCOL_H
#define OBJECT_STORE_PROTOCOL_H

#include <stdint.h>

#define OBJECT_MAGIC 0x6f626a6563740001ULL /* "object", version 1 */

#define OBJECT_PID      4100 /* of a server, unless its administrator chooses another */
#define OBJECT_NAME_MAX 255

/* Portal table entries, in server and clients alike. */
enum {
	OBJECT_CONTROL = 20, /* server: requests; client: replies */
	OBJECT_BULK = 21,    /* client: the memory that the server gets from or puts into */
	OBJECT_DOOR = 22     /* server: the list of its users, for any process to get */
};

/*
 * Access control entries.  Of the server: 0 to OBJECT_USERS - 1 admit a user each to OBJECT_CONTROL, the last admits every
 * process to OBJECT_DOOR.  Of a client: one admits its server, which may be another user's process.
 */
enum { OBJECT_USERS = 7, OBJECT_DOOR_ENTRY = 7, OBJECT_CLIENT_ENTRY = 1 };

/* The entry of the list is the access control entry that a client has to name. */
struct object_door {
	uint64_t magic;
	uint32_t users, uid[OBJECT_USERS];
};

/* Random; a request that is sent again keeps its id, and a change is applied once for each id. */
struct object_id {
	unsigned char bytes[16];
};

enum object_operation { OBJECT_PUT, OBJECT_GET, OBJECT_STAT, OBJECT_LIST, OBJECT_REMOVE, OBJECT_OPERATIONS };

struct object_request {
	uint64_t magic;
	struct object_id id;
	uint64_t key;  /* match bits of the client's windows, random */
	uint64_t size; /* of the data to be put, or of the memory for data that is got */
	uint32_t operation;
	uint32_t crc; /* CRC-32C of the data to be put */
	uint32_t name_length;
	unsigned char name[OBJECT_NAME_MAX + 1];
};

struct object_reply {
	uint64_t magic;
	struct object_id id;
	uint64_t size;   /* of the object, or of the list; also if the client's memory is too small for it */
	int64_t changed; /* seconds since 1970 */
	int32_t status;
	uint32_t crc;
	uint32_t uid; /* the user that has put the object */
};

/* A list is one of these for each object, each followed by its name. */
struct object_record {
	uint64_t size;
	int64_t changed;
	uint32_t crc, uid, name_length;
};

#endif
