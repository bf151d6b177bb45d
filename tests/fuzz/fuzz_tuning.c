/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever a tuning file says, node_tuning_read() takes all of it or nothing, and what it takes makes
 * sense.  The input is the file; if it begins with '+', what follows is put behind the beginning of a file that is meant for
 * this machine, as node_tuning_write() writes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/report.h"
#include "tests/fuzz/input.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_tuning.h"

extern FILE *p3_out;

static struct node_copies copies;
static char path[] = "/dev/shm/portals3-fuzz-XXXXXX", beginning[1024];

static void remove_file(void)
{
	unlink(path);
}

static void prepare(void)
{
	int fd = mkstemp(path);

	REQUIRE(fd >= 0 && (p3_out = fopen("/dev/null", "w")));
	close(fd);
	atexit(remove_file);
	copies.figures[0].way = NODE_SPLIT;
	REQUIRE(node_tuning_write(&copies, path) == 0);
	FILE *file = fopen(path, "r");

	REQUIRE(file);
	beginning[fread(beginning, 1, sizeof(beginning) - 1, file)] = '\0';
	fclose(file);
	char *rows = strchr(beginning, '[');

	REQUIRE(rows);
	rows[1] = '\0';
}

static void write_file(const uint8_t *bytes, size_t length)
{
	FILE *file = fopen(path, "w");

	REQUIRE(file);
	if (length > 0 && *bytes == '+') {
		fputs(beginning, file);
		bytes++;
		length--;
	}
	fwrite(bytes, 1, length, file);
	fclose(file);
}

/* What was read, written and read again, is the same. */
static void require_sense(void)
{
	struct node_copies again = {0};
	bool any = false;

	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		REQUIRE(copies.figures[class].way < NODE_WAYS);
		REQUIRE(copies.fixed[class] == (copies.figures[class].way != NODE_UNCHOSEN));
		any |= copies.fixed[class];
	}
	if (!any)
		return;
	REQUIRE(node_tuning_write(&copies, path) == 0);
	node_tuning_read(&again, path);
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		REQUIRE(again.fixed[class] == copies.fixed[class]);
		for (enum node_way way = NODE_ALONE; way < NODE_WAYS && copies.fixed[class]; way++)
			REQUIRE(again.figures[class].ns[way] == copies.figures[class].ns[way]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	if (!*beginning)
		prepare();
	write_file(bytes, length);
	memset(&copies, 0, sizeof(copies));
	node_tuning_read(&copies, path);
	require_sense();
	return 0;
}
