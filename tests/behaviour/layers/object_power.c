/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a failure of the power leaves of a change depends on what is on the disk by then.  No test cuts it: this one reads the order of
 * the server's writes, syncs, links, unlinks and replies, as object_recorded.c has seen them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/behaviour/layers/object_server.h"

static char record[80];

/* Several of one kind in a row are one. */
static void check_order(const char *wanted)
{
	char lines[2][64] = {"", ""}, all[512] = "";
	size_t length = 0;
	FILE *stream = fopen(record, "r");
	CHECK(stream != NULL);
	for (int i = 0; fgets(lines[i], sizeof(lines[i]), stream); i = !i)
		if (strcmp(lines[0], lines[1]) != 0 && length < sizeof(all))
			length += (size_t)snprintf(all + length, sizeof(all) - length, "%s", lines[i]);
	fclose(stream);
	if (strcmp(all, wanted) != 0)
		fail_at(__FILE__, __LINE__, "the server did:\n%sand not:\n%s", all, wanted);
	CHECK(truncate(record, 0) == 0);
}

static void each_step_is_on_the_disk_before_the_next(void)
{
	struct object_server server;
	make_store(&server);
	snprintf(record, sizeof(record), "%s/record", server.directory);
	FILE *stream = fopen(record, "w");
	CHECK(stream != NULL && fclose(stream) == 0);
	CHECK(setenv("OBJECT_RECORD", record, 1) == 0 && setenv("LD_PRELOAD", OBJECT_RECORDED, 1) == 0);
	start_server(&server, TRUST, NULL);
	unsetenv("LD_PRELOAD");
	object_client *client = call_server(&server);
	CHECK_EQUAL(put_pattern(client, "object", 1000, 1, NULL), 0); /* SQLite begins its log */
	CHECK(truncate(record, 0) == 0);
	CHECK_EQUAL(put_pattern(client, "object", 3000000, 2, NULL), 0);
	check_order("write data\nsync data\nlink names\nsync names\nwrite index\nsync index\nunlink names\nreply \n");
	CHECK_EQUAL(object_remove(client, name_of("object"), NULL), 0);
	check_order("write index\nsync index\nunlink names\nreply \n");
	object_close(client);
	stop_server(&server);
	remove_store(&server);
}

const struct test object_power_tests[] = {
	{.name = "each_step_is_on_the_disk_before_the_next",
	 .run = each_step_is_on_the_disk_before_the_next,
	 .processes = 1,
	 .traits = TRAIT_NODE | TRAIT_NO_SANITIZER},
	{.name = NULL},
};
