/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of objects: files whose names are numbers.  A file appears under its number when all of it is on the disk, and is never
 * written to again, so a reader that has it open sees one object to the end.
 *
 * While a change is under way, each file that it adds or takes away has a second name among those that are being written.  This
 * mark is how the next start tells what a crash has left from objects that the index does not know because it is an older one.
 */
#ifndef OBJECT_STORE_FILES_H
#define OBJECT_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct files {
	int directory, lock;
	int incoming; /* directory of files that are being written, and of marks */
	int objects;  /* directory of those that are complete */
};

/* Makes what is not there.  -EBUSY: another server has it. */
int files_open(struct files *files, const char *directory);
void files_close(struct files *files);

/* A new file for writing; returns its descriptor. */
int files_create(const struct files *files, uint64_t number);
/* Makes what was written durable under the number, and leaves its mark.  Closes the descriptor in any case. */
int files_keep(const struct files *files, uint64_t number, int fd);
/* Gives a file up that is being written. */
void files_abandon(const struct files *files, uint64_t number, int fd);

/* A descriptor for reading. */
int files_read(const struct files *files, uint64_t number);
/* A change is to take the file away. */
void files_mark(const struct files *files, uint64_t number);
/* The change that added the file is committed. */
void files_unmark(const struct files *files, uint64_t number);
/* The change that takes the file away is committed. */
void files_remove(const struct files *files, uint64_t number);

/*
 * After a crash: removes files that were being written, and those that are marked and not `wanted`.  Others stay; `*unknown` becomes
 * how many of them are not wanted.
 */
int files_sweep(const struct files *files, bool (*wanted)(void *context, uint64_t number), void *context,
		unsigned *unknown);

#endif
