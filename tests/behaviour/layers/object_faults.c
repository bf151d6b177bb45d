/* SPDX-License-Identifier: BSD-3-Clause */
/* examples/object_store: what goes wrong around a server, and must not cost objects or other clients. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/behaviour/layers/object_server.h"

/* From a client that is admitted, so access control entry 0 is its own. */
static void send_raw(const struct object_server *server, void *bytes, size_t length, int count)
{
	ptl_handle_md_t md = bind_md(md_over(bytes, length, 0, PTL_EQ_NONE));
	for (int i = 0; i < count; i++)
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, server->id, OBJECT_CONTROL, 0, 0, 0, 0));
	while (PtlMDUnlink(md) == PTL_MD_IN_USE)
		sched_yield();
}

/* More than a receive block has bytes, from several processes, so that they come faster than the server takes them. */
static void a_flood_of_short_messages_does_not_end_the_server(void)
{
	struct object_server server;
	pid_t children[2];
	char byte = 0;
	make_store(&server);
	start_server(&server, TRUST, NULL);
	for (int i = 0; i < 2; i++) {
		children[i] = fork_child();
		if (children[i] == 0) {
			open_own_interface();
			send_raw(&server, &byte, 1, FEWER(200000));
			PtlFini();
			exit(0);
		}
	}
	object_client *client = call_server(&server);
	send_raw(&server, &byte, 1, FEWER(200000));
	for (int i = 0; i < 2; i++)
		join_child(children[i]);
	CHECK_EQUAL(put_pattern(client, "object", 1000, 1, NULL), 0);
	CHECK(has_pattern(client, "object", 1000, 1));
	object_close(client);
	stop_server(&server);
	remove_store(&server);
}

/* More of them than there are workers, whose patience is longer than the test's. */
static void requests_whose_windows_are_closed_keep_no_worker(void)
{
	struct object_server server;
	struct object_request request = {
		.magic = OBJECT_MAGIC, .operation = OBJECT_PUT, .size = 1000, .name_length = 4, .name = "none"};
	make_store(&server);
	start_server(&server, "--patience", "3600", NULL);
	object_client *client = call_server(&server);
	for (int i = 0; i < 16; i++) {
		CHECK_EQUAL(object_new_id(&request.id), 0);
		send_raw(&server, &request, sizeof(request), 1);
	}
	CHECK_EQUAL(put_pattern(client, "object", 1000, 1, NULL), 0);
	stop_server(&server); /* while the client is open, as some may be served now */
	object_close(client);
	CHECK_EQUAL(count_files(&server, "objects"), 1);
	CHECK_EQUAL(count_files(&server, "incoming"), 0);
	remove_store(&server);
}

static void lose_index(const struct object_server *server)
{
	static const char *const parts[] = {"", "-wal", "-shm"};
	char path[128];
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/index.sqlite%s", server->directory, parts[i]);
		CHECK(unlink(path) == 0 || i > 0);
	}
}

static void files_that_the_index_does_not_know_are_kept(void)
{
	struct object_server server;
	make_store(&server);
	start_server(&server, TRUST, NULL);
	object_client *client = call_server(&server);
	CHECK_EQUAL(put_pattern(client, "one", 1000, 1, NULL), 0);
	CHECK_EQUAL(put_pattern(client, "two", 1000, 2, NULL), 0);
	stop_server(&server);
	lose_index(&server);
	start_server(&server, TRUST, NULL);
	CHECK_EQUAL(count_files(&server, "objects"), 2);
	CHECK_EQUAL(put_pattern(client, "three", 1000, 3, NULL), 0);
	CHECK(has_pattern(client, "three", 1000, 3));
	CHECK_EQUAL(count_files(&server, "objects"), 3);
	object_close(client);
	stop_server(&server);
	remove_store(&server);
}

const struct test object_fault_tests[] = {
	{.name = "a_flood_of_short_messages_does_not_end_the_server",
	 .run = a_flood_of_short_messages_does_not_end_the_server,
	 .processes = 1,
	 .traits = TRAIT_NODE | TRAIT_NO_TSAN},
	{.name = "requests_whose_windows_are_closed_keep_no_worker",
	 .run = requests_whose_windows_are_closed_keep_no_worker,
	 .processes = 1,
	 .traits = TRAIT_NODE},
	ALONE(files_that_the_index_does_not_know_are_kept),
	{.name = NULL},
};
