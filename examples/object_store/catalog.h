/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index: which file has the data of which name, and which changes have been applied.  An SQLite data base, because both have
 * to change in one step that a crash cannot divide.  Any thread may call; one at a time is served.
 */
#ifndef OBJECT_STORE_CATALOG_H
#define OBJECT_STORE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"
#include "protocol.h"

struct catalog;

struct catalog_entry {
	uint64_t file, size;
	int64_t changed;
	uint32_t crc, uid;
};

/* -EIO: SQLite refuses, and has said why on stderr.  Before a change that takes a file away, the file is marked in `files`. */
int catalog_open(const char *directory, const struct files *files, struct catalog **catalog);
void catalog_close(struct catalog *catalog);

/* A number that no file has. */
uint64_t catalog_new_file(struct catalog *catalog);
/* Also keeps the number from becoming a new file's. */
bool catalog_has_file(struct catalog *catalog, uint64_t number);

/* -ENOENT: no object of the request's name. */
int catalog_find(struct catalog *catalog, const struct object_request *request, struct catalog_entry *entry);

/*
 * Has a change with this id been applied?  1 and its result, or 0, or -EINVAL: the id was another change's, which a client that
 * repeats a request would not do.
 */
int catalog_applied(struct catalog *catalog, const struct object_request *request, uint32_t uid,
		    struct catalog_entry *entry);

/*
 * Apply a change and remember its id, durably when they return 0; with an error that is another than -ENOENT perhaps too.  `*old_file` becomes the file that is not used any more, or 0.
 * catalog_remove: *entry becomes what was removed; -ENOENT.
 */
int catalog_replace(struct catalog *catalog, const struct object_request *request, const struct catalog_entry *entry,
		    uint64_t *old_file);
int catalog_remove(struct catalog *catalog, const struct object_request *request, uint32_t uid,
		   struct catalog_entry *entry, uint64_t *old_file);

/* All objects by name, as records of protocol.h; the caller frees them. */
int catalog_list(struct catalog *catalog, char **records, size_t *length);

#endif
