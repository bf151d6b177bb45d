/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the command line tool share. */
#ifndef OBJECT_STORE_TOOL_H
#define OBJECT_STORE_TOOL_H

#include <stdbool.h>

#include "client.h"

/* file.c: each returns 0 or a negative errno value. */

/* All of a file, to be read; an empty one has no memory. */
struct source {
	void *bytes;
	uint64_t size;
};
int source_open(struct source *source, const char *path);
void source_close(struct source *source);

/* Memory for an object that is to become a file, which appears under its name when it is complete; "-" is the standard output. */
struct destination {
	const char *path;
	char *temporary;
	int fd;
	void *bytes;
	uint64_t size;
};
int destination_open(struct destination *destination, const char *path, uint64_t size);
/* `complete`: the first `size` bytes are what it is to be. */
int destination_close(struct destination *destination, bool complete, uint64_t size);

/* print.c */

/* A line for people; with --json an object of JSON. */
void print_object(const struct object_about *about, bool json);
/* Of a change. */
void print_changed(const char *what, struct object_name name, const struct object_id *id, bool json);
void print_json_string(const void *bytes, size_t length);
/* object_options.progress: a bar on the terminal, for what takes a while. */
void print_progress(void *context, uint64_t moved, uint64_t size);

#endif
