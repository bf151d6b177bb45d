/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "call.h"
#include "crc32c.h"

#define EVENTS 256 /* the server moves one chunk after the other, so few are there at a time */

int object_open(ptl_handle_ni_t ni, ptl_process_id_t server, const struct object_options *options,
		object_client **client)
{
	object_client *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->ni = ni;
	opened->server = server;
	if (options)
		opened->options = *options;
	if (opened->options.timeout == 0)
		opened->options.timeout = 30000;
	if (opened->options.repeat == 0)
		opened->options.repeat = 2000;
	opened->eq = opened->last = PTL_HANDLE_NONE;
	int rc = PtlEQAlloc(ni, EVENTS, PTL_EQ_HANDLER_NONE, &opened->eq) == PTL_OK &&
				 PtlACEntry(ni, OBJECT_CLIENT_ENTRY, server, PTL_UID_ANY, PTL_JID_ANY,
					    PTL_PT_INDEX_ANY) == PTL_OK
			 ? object_attach_last(opened)
			 : -EIO;
	/* An absent server is a matter of the calls, but to be refused is to be known at once. */
	if (rc == 0)
		rc = object_read_door(opened);
	if (rc && rc != -EHOSTUNREACH && rc != -ETIMEDOUT) {
		object_close(opened);
		return rc;
	}
	*client = opened;
	return 0;
}

void object_close(object_client *client)
{
	object_unlink_entry(client, client->last);
	PtlEQFree(client->eq);
	free(client);
}

static int random_bytes(void *bytes, size_t length)
{
	return getrandom(bytes, length, 0) == (ssize_t)length ? 0 : -EIO;
}

int object_new_id(struct object_id *id)
{
	return random_bytes(id, sizeof(*id));
}

static int prepare(struct object_request *request, enum object_operation operation, struct object_name name,
		   const struct object_id *id)
{
	*request = (struct object_request){
		.magic = OBJECT_MAGIC, .operation = operation, .name_length = (uint32_t)name.length};
	if (name.length > OBJECT_NAME_MAX || (name.length == 0) != (operation == OBJECT_LIST))
		return -EINVAL;
	if (name.length)
		memcpy(request->name, name.bytes, name.length);
	int rc = random_bytes(&request->key, sizeof(request->key));
	if (id)
		request->id = *id;
	else if (rc == 0)
		rc = object_new_id(&request->id);
	return rc;
}

static struct object_about about_of(const struct object_reply *reply)
{
	return (struct object_about){
		.size = reply->size, .changed = reply->changed, .crc = reply->crc, .uid = reply->uid};
}

int object_put(object_client *client, struct object_name name, const void *data, uint64_t size,
	       const struct object_id *id)
{
	struct object_request request;
	struct object_reply reply;
	int rc = prepare(&request, OBJECT_PUT, name, id);
	if (rc)
		return rc;
	request.size = size;
	request.crc = crc32c(0, data, size);
	struct object_window window = {(void *)(uintptr_t)data, size, PTL_MD_OP_GET};
	return object_call(client, &request, window, &reply);
}

/* Of an object or, without a name, of the list.  What has arrived is checked against what the server has sent. */
static int fetch_once(object_client *client, enum object_operation operation, struct object_name name, void *memory,
		      uint64_t room, struct object_about *about)
{
	struct object_request request;
	struct object_reply reply;
	int rc = prepare(&request, operation, name, NULL);
	if (rc)
		return rc;
	request.size = room;
	rc = object_call(client, &request, (struct object_window){memory, room, PTL_MD_OP_PUT}, &reply);
	*about = about_of(&reply);
	if (rc == 0 && (reply.size > room || crc32c(0, memory, reply.size) != reply.crc))
		rc = -EBADMSG;
	return rc;
}

/* Once more if checksums differ: a repeated request may have been served twice, and an object replaced between the two. */
static int fetch(object_client *client, enum object_operation operation, struct object_name name, void *memory,
		 uint64_t room, struct object_about *about)
{
	int rc = fetch_once(client, operation, name, memory, room, about);
	return rc == -EBADMSG ? fetch_once(client, operation, name, memory, room, about) : rc;
}

int object_get(object_client *client, struct object_name name, void *memory, uint64_t room, struct object_about *about)
{
	return fetch(client, OBJECT_GET, name, memory, room, about);
}

int object_stat(object_client *client, struct object_name name, struct object_about *about)
{
	struct object_request request;
	struct object_reply reply;
	int rc = prepare(&request, OBJECT_STAT, name, NULL);
	if (rc == 0)
		rc = object_call(client, &request, (struct object_window){0}, &reply);
	if (rc == 0)
		*about = about_of(&reply);
	return rc;
}

int object_remove(object_client *client, struct object_name name, const struct object_id *id)
{
	struct object_request request;
	struct object_reply reply;
	int rc = prepare(&request, OBJECT_REMOVE, name, id);
	return rc ? rc : object_call(client, &request, (struct object_window){0}, &reply);
}

static int each_record(const char *list, uint64_t length, void (*each)(void *, const struct object_about *),
		       void *context)
{
	for (uint64_t offset = 0; offset < length;) {
		struct object_record record;
		if (length - offset < sizeof(record))
			return -EPROTO;
		memcpy(&record, list + offset, sizeof(record));
		offset += sizeof(record);
		if (length - offset < record.name_length)
			return -EPROTO;
		struct object_about about = {.name = {list + offset, record.name_length},
					     .size = record.size,
					     .changed = record.changed,
					     .crc = record.crc,
					     .uid = record.uid};
		each(context, &about);
		offset += record.name_length;
	}
	return 0;
}

/* Again with more memory while the list is longer than it; the server tells how long. */
int object_list(object_client *client, void (*each)(void *context, const struct object_about *about), void *context)
{
	struct object_about list = {.size = 65536};
	for (;;) {
		uint64_t room = list.size;
		char *memory = malloc(room);
		if (!memory)
			return -ENOMEM;
		int rc = fetch(client, OBJECT_LIST, (struct object_name){NULL, 0}, memory, room, &list);
		if (rc == 0)
			rc = each_record(memory, list.size, each, context);
		free(memory);
		if (rc != -EMSGSIZE)
			return rc;
	}
}

const char *object_error(int rc)
{
	switch (rc) {
	case -EHOSTUNREACH:
		return "no object server answers there";
	case -EACCES:
		return "the server does not admit this user";
	case -EPERM:
		return "the server cannot verify users over this network (its option --trust-network)";
	case -ENOENT:
		return "no object of this name";
	case -EINVAL:
		return "not a name (1 to 255 bytes), or the id of another change";
	case -EBADMSG:
		return "checksums differ: the data was changed or damaged on its way";
	case -EPROTO:
		return "not an object server of this version";
	default:
		return strerror(-rc);
	}
}
