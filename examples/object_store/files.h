/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of objects: files whose names are numbers.  A file appears under its number when all of it is on the disk, and is never
 * written to again, so a reader that has it open sees one object to the end.
 */
#ifndef OBJECT_STORE_FILES_H
#define OBJECT_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct files {
	int directory, lock;
	int incoming; /* directory of files that are being written */
	int objects;  /* directory of those that are complete */
};

/* Makes what is not there.  -EBUSY: another server has it. */
int files_open(struct files *files, const char *directory);
void files_close(struct files *files);

/* A new file for writing; returns its descriptor. */
int files_create(const struct files *files, uint64_t number);
/* Makes what was written durable under the number.  Closes the descriptor in any case. */
int files_keep(const struct files *files, uint64_t number, int fd);
/* Gives a file up that is being written. */
void files_abandon(const struct files *files, uint64_t number, int fd);

/* A descriptor for reading. */
int files_read(const struct files *files, uint64_t number);
void files_remove(const struct files *files, uint64_t number);

/* After a crash: removes files that were being written, and those that are not `wanted`. */
int files_sweep(const struct files *files, bool (*wanted)(void *context, uint64_t number), void *context);

#endif
