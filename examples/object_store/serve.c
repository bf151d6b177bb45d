/* SPDX-License-Identifier: BSD-3-Clause */
/* What a worker does for a request.  The order in which a put becomes durable: data, name, index; and the reply after all of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "crc32c.h"
#include "points.h"
#include "server.h"

static size_t next_chunk(uint64_t size, uint64_t offset)
{
	return size - offset < CHUNK ? (size_t)(size - offset) : CHUNK;
}

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, bytes, length);
		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			bytes += written;
			length -= (size_t)written;
		}
	}
	return 0;
}

/* -EBADMSG: the file ends too early. */
static int read_all(int fd, char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t got = read(fd, bytes, length);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return -EBADMSG;
		if (got > 0) {
			bytes += got;
			length -= (size_t)got;
		}
	}
	return 0;
}

static int pull_into(struct worker *worker, const struct work *work, int fd)
{
	uint64_t size = work->request.size;
	uint32_t crc = 0;
	for (uint64_t offset = 0; offset < size;) {
		size_t length = next_chunk(size, offset);
		int rc = move_pull(worker, work, offset, length);
		if (rc == 0)
			rc = write_all(fd, worker->chunk, length);
		if (rc)
			return rc;
		object_point("written");
		crc = crc32c(crc, worker->chunk, length);
		offset += length;
	}
	return crc == work->request.crc ? 0
					: -EBADMSG; /* the client has changed the data meanwhile, or it was damaged */
}

static int put(struct worker *worker, const struct work *work, struct catalog_entry *entry)
{
	const struct files *files = &worker->server->files;
	uint64_t old, number = catalog_new_file(worker->server->catalog);
	int fd = files_create(files, number);
	if (fd < 0)
		return fd;
	int rc = pull_into(worker, work, fd);
	if (rc) {
		files_abandon(files, number, fd);
		return rc;
	}
	rc = files_keep(files, number, fd);
	if (rc)
		return rc;
	*entry = (struct catalog_entry){.file = number,
					.size = work->request.size,
					.crc = work->request.crc,
					.uid = work->uid,
					.changed = time(NULL)};
	rc = catalog_replace(worker->server->catalog, &work->request, entry, &old);
	if (rc == 0)
		files_unmark(files, number);
	if (rc == 0 && old)
		files_remove(files, old);
	return rc; /* a commit that failed may be on the disk nevertheless: the next start decides which file goes */
}

static int removal(const struct worker *worker, const struct work *work, struct catalog_entry *entry)
{
	uint64_t old;
	int rc = catalog_remove(worker->server->catalog, &work->request, work->uid, entry, &old);
	if (rc == 0)
		files_remove(&worker->server->files, old);
	return rc;
}

/* A change that was applied before its reply got lost, perhaps with the server, is not applied again. */
static int change(struct worker *worker, const struct work *work, struct catalog_entry *entry)
{
	int rc = catalog_applied(worker->server->catalog, &work->request, work->uid, entry);
	if (rc)
		return rc > 0 ? 0 : rc;
	return work->request.operation == OBJECT_PUT ? put(worker, work, entry) : removal(worker, work, entry);
}

static int push_from(struct worker *worker, const struct work *work, int fd, const struct catalog_entry *entry)
{
	uint32_t crc = 0;
	for (uint64_t offset = 0; offset < entry->size;) {
		size_t length = next_chunk(entry->size, offset);
		int rc = read_all(fd, worker->chunk, length);
		if (rc == 0)
			rc = move_push(worker, work, worker->chunk, offset, length);
		if (rc)
			return rc;
		crc = crc32c(crc, worker->chunk, length);
		offset += length;
	}
	return crc == entry->crc ? 0 : -EBADMSG;
}

/* An object that is replaced between the look into the index and the opening of its file has another file by then. */
static int open_object(const struct server *server, const struct work *work, struct catalog_entry *entry)
{
	for (uint64_t missing = 0;;) {
		int rc = catalog_find(server->catalog, &work->request, entry);
		if (rc)
			return rc;
		if (entry->file == missing)
			return -EBADMSG;
		int fd = files_read(&server->files, entry->file);
		if (fd != -ENOENT)
			return fd;
		missing = entry->file;
	}
}

static int get(struct worker *worker, const struct work *work, struct catalog_entry *entry)
{
	int fd = open_object(worker->server, work, entry);
	if (fd < 0)
		return fd;
	int rc = entry->size > work->request.size ? -EMSGSIZE : push_from(worker, work, fd, entry);
	close(fd);
	return rc;
}

static int list(struct worker *worker, const struct work *work, struct catalog_entry *entry)
{
	char *records;
	size_t length;
	int rc = catalog_list(worker->server->catalog, &records, &length);
	if (rc)
		return rc;
	*entry = (struct catalog_entry){.size = length, .crc = crc32c(0, records, length)};
	if (length > work->request.size)
		rc = -EMSGSIZE;
	for (uint64_t offset = 0; rc == 0 && offset < length; offset += CHUNK)
		rc = move_push(worker, work, records + offset, offset, next_chunk(length, offset));
	free(records);
	return rc;
}

/* Where any process may claim to be any user, nothing is changed and no data is given away. */
static int perform(struct worker *worker, const struct work *work, struct catalog_entry *entry)
{
	const struct server *server = worker->server;
	if (work->request.operation == OBJECT_STAT)
		return catalog_find(server->catalog, &work->request, entry);
	if (!server->verified)
		return -EPERM;
	switch (work->request.operation) {
	case OBJECT_GET:
		return get(worker, work, entry);
	case OBJECT_LIST:
		return list(worker, work, entry);
	default:
		return change(worker, work, entry);
	}
}

void *serve(void *argument)
{
	struct worker *worker = argument;
	struct queue *queue = &worker->server->queue;
	for (struct work *work; (work = queue_take(queue));) {
		object_point("received");
		struct catalog_entry entry = {0};
		int rc = perform(worker, work, &entry);
		struct object_reply reply = {.magic = OBJECT_MAGIC,
					     .id = work->request.id,
					     .status = rc,
					     .size = entry.size,
					     .crc = entry.crc,
					     .uid = entry.uid,
					     .changed = entry.changed};
		if (rc != -EHOSTDOWN) /* no process is there to take it */
			move_reply(worker, work, &reply);
		object_point("replied");
		queue_done(queue, work);
	}
	return NULL;
}
