/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that environment variables name and the library writes.  Privileges must not come with files that others name;
 * no other user reads what is in them; and no link is followed: a file of its own takes the name's place at once, so
 * that a process that reads finds one or the other, whole.
 */
#ifndef PORTALS_BASE_PRIVATE_FILE_H
#define PORTALS_BASE_PRIVATE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct private_file {
	FILE *out;
	const char *variable;
	char path[PATH_MAX], temporary[PATH_MAX];
};

/* The process has privileges that its caller lacks: the variable is ignored, with a warning. */
bool private_file_forbidden(const char *variable);

/* Opens what becomes `path`, mode 0600.  0, or a negative errno value, which is reported. */
int private_file_open(struct private_file *, const char *variable, const char *path);

/* Puts it in its place.  0, or a negative errno value (that of an earlier write too), reported: nothing has changed there. */
int private_file_close(struct private_file *);

/* `wish` without its .json, then .NID.PID.json: each interface of each process has its own.  False: too long. */
bool private_file_name(char path[PATH_MAX], const char *wish, uint32_t nid, uint32_t pid);

/*
 * Others that come here with a path in the same directory wait meanwhile, threads too: for files that are read and then written
 * anew.  After a second or so without the lock it is done without: any program may hold it, and not all file systems have such.
 */
int private_file_lock(const char *path);
void private_file_unlock(int lock);

#endif
