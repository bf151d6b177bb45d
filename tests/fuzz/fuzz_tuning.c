/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever a tuning file says, tuning_read() takes all of it or nothing, and what it takes makes
 * sense.  The input is the file; if it begins with '+', what follows is put behind the beginning of a file that is meant for
 * this machine, as tuning_write() writes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/report.h"
#include "tests/fuzz/input.h"
#include "transports/tuning.h"

extern FILE *p3_out;

static struct tuning tuning;
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
	tuning.node[0].way = NODE_SPLIT;
	REQUIRE(tuning_write(&tuning, path) == 0);
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

/* What was read, written and read again, is the same, but for classes that are to be measured, which have no row. */
static void require_sense(void)
{
	struct tuning again;
	bool any = tuning.short_count > 0;

	REQUIRE(tuning.short_count <= TUNING_SHORTS);
	for (unsigned i = 0; i < tuning.short_count; i++)
		REQUIRE(*tuning.shorts[i].transport && memchr(tuning.shorts[i].transport, '\0', TUNING_NAME_MAX));
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		REQUIRE(tuning.node[class].way < NODE_WAYS);
		any |= tuning.node[class].way != NODE_UNCHOSEN;
	}
	unlink(path); /* nothing to merge with */
	REQUIRE(tuning_write(&tuning, path) == 0);
	if (!any)
		return;
	tuning_read(&again, path);
	REQUIRE(again.short_count == tuning.short_count);
	REQUIRE(memcmp(again.shorts, tuning.shorts, sizeof(tuning.shorts)) == 0);
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		REQUIRE(again.node[class].way == tuning.node[class].way);
		for (enum node_way way = NODE_ALONE; way < NODE_WAYS && tuning.node[class].way; way++)
			REQUIRE(again.node[class].ns[way] == tuning.node[class].ns[way]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	if (!*beginning)
		prepare();
	write_file(bytes, length);
	tuning_read(&tuning, path);
	require_sense();
	return 0;
}
