/* SPDX-License-Identifier: BSD-3-Clause */
/* examples/object_store: what server and client library promise. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/object_store/points.h"
#include "tests/behaviour/layers/object_server.h"

#define CHUNK (1u << 20) /* what the server moves at a time */

static void count_one(void *context, const struct object_about *about)
{
	(void)about;
	++*(int *)context;
}

static int count_objects(object_client *client)
{
	int count = 0;
	CHECK_EQUAL(object_list(client, count_one, &count), 0);
	return count;
}

static void objects_come_back_as_they_were_put(void)
{
	static const size_t lengths[] = {0, 1, 5000, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 12345};
	struct object_server server;
	struct object_about about;
	make_store(&server);
	start_server(&server, TRUST, NULL);
	object_client *client = call_server(&server);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		CHECK_EQUAL(put_pattern(client, "object", lengths[i], i, NULL), 0);
		CHECK(has_pattern(client, "object", lengths[i], i));
		CHECK_EQUAL(object_stat(client, name_of("object"), &about), 0);
		CHECK_EQUAL(about.size, lengths[i]);
		CHECK_EQUAL(about.uid, geteuid());
		CHECK_EQUAL(count_files(&server, "objects"), 1);
	}
	char small[16];
	CHECK_EQUAL(object_get(client, name_of("object"), small, sizeof(small), &about), -EMSGSIZE);
	CHECK_EQUAL(about.size, 2 * CHUNK + 12345);
	CHECK_EQUAL(object_get(client, name_of("none"), small, sizeof(small), &about), -ENOENT);
	CHECK_EQUAL(object_remove(client, name_of("object"), NULL), 0);
	CHECK_EQUAL(object_remove(client, name_of("object"), NULL), -ENOENT);
	CHECK_EQUAL(count_objects(client), 0);
	CHECK_EQUAL(count_files(&server, "objects"), 0);
	object_close(client);
	stop_server(&server);
	remove_store(&server);
}

static void take_name(void *context, const struct object_about *about)
{
	struct object_name *wanted = context;
	if (wanted->length == about->name.length && memcmp(wanted->bytes, about->name.bytes, wanted->length) == 0)
		wanted->length = 0;
}

static void names_are_any_bytes_and_no_paths(void)
{
	char longest[OBJECT_NAME_MAX + 1];
	memset(longest, '/', sizeof(longest));
	struct object_name names[] = {{"..", 2},     {"../../escape", 12},
				      {"/tmp/x", 6}, {"a\0b", 3},
				      {"\0", 1},     {"\xff\xfe'; DROP TABLE objects", 24},
				      {"\n\"\\", 3}, {longest, OBJECT_NAME_MAX}};
	const int count = sizeof(names) / sizeof(*names);
	struct object_server server;
	struct object_about about;
	make_store(&server);
	start_server(&server, TRUST, NULL);
	object_client *client = call_server(&server);
	for (char i = 0; i < count; i++)
		CHECK_EQUAL(object_put(client, names[(int)i], &i, 1, NULL), 0);
	for (char i = 0, got; i < count; i++) {
		CHECK_EQUAL(object_get(client, names[(int)i], &got, 1, &about), 0);
		CHECK_EQUAL(got, i);
	}
	CHECK_EQUAL(count_files(&server, "objects"), count);
	CHECK_EQUAL(count_objects(client), count);
	for (int i = 0; i < count; i++) {
		CHECK_EQUAL(object_list(client, take_name, &names[i]), 0);
		CHECK_EQUAL(names[i].length, 0); /* it was there */
	}
	CHECK_EQUAL(object_put(client, (struct object_name){longest, OBJECT_NAME_MAX + 1}, "", 0, NULL), -EINVAL);
	CHECK_EQUAL(object_put(client, (struct object_name){longest, 0}, "", 0, NULL), -EINVAL);
	object_close(client);
	stop_server(&server);
	remove_store(&server);
}

/* Over a network each process is expensive to start: all of them at night. */
static void many_clients_call_at_once(void)
{
	const unsigned clients = over_transport("node") || at_night() ? FEWER(64) : 4;
	pid_t children[64];
	char name[16];
	struct object_server server;
	make_store(&server);
	start_server(&server, TRUST, NULL);
	for (unsigned i = 0; i < clients; i++) {
		children[i] = fork_child();
		if (children[i] == 0) {
			open_own_interface();
			object_client *client = call_server(&server);
			snprintf(name, sizeof(name), "%u", i);
			CHECK_EQUAL(put_pattern(client, name, 3000 * i, i, NULL), 0);
			CHECK_EQUAL(put_pattern(client, "everybody's", CHUNK, i, NULL), 0);
			CHECK(has_pattern(client, name, 3000 * i, i));
			object_close(client);
			PtlFini();
			exit(0);
		}
	}
	for (unsigned i = 0; i < clients; i++)
		join_child(children[i]);
	object_client *client = call_server(&server);
	bool whole = false;
	for (unsigned i = 0; i < clients; i++)
		whole |= has_pattern(client, "everybody's", CHUNK, i);
	CHECK(whole);
	CHECK_EQUAL(count_objects(client), clients + 1);
	object_close(client);
	stop_server(&server);
	remove_store(&server);
}

/* Also one that does not ask at the door which entry is its own, but takes another user's. */
static void users_that_are_not_named_are_refused(void)
{
	struct object_server server;
	struct object_door door;
	object_client *client;
	static struct object_request request;
	make_store(&server);
	start_server(&server, "--admit", "4242", NULL);
	CHECK_EQUAL(object_open(ni, server.id, NULL, &client), -EACCES);
	ptl_handle_eq_t eq = new_eq(16);
	ptl_md_t md = md_over(&request, sizeof(request), PTL_MD_EVENT_START_DISABLE, eq);
	ptl_handle_md_t out = bind_md(md);
	for (ptl_ac_index_t entry = 0; entry <= OBJECT_DOOR_ENTRY; entry++)
		CHECK_OK(PtlPut(out, PTL_ACK_REQ, server.id, OBJECT_CONTROL, entry, 0, 0, 0));
	md = md_over(&door, sizeof(door), PTL_MD_EVENT_START_DISABLE, eq);
	ptl_handle_md_t in = bind_md(md);
	CHECK_OK(PtlGet(in, server.id, OBJECT_DOOR, OBJECT_DOOR_ENTRY, 0, 0)); /* matched after the puts */
	for (ptl_event_t event = {0}; event.type != PTL_EVENT_REPLY_END;) {
		event = take_any(eq);
		CHECK(event.type != PTL_EVENT_ACK);
	}
	CHECK_EQUAL(door.uid[0], 4242);
	CHECK_OK(PtlEQFree(eq));
	stop_server(&server);
	remove_store(&server);
}

#define OTHER_UID 65534

static void open_interface_as(uid_t uid)
{
	const uid_t myself = geteuid();
	PtlFini();
	CHECK(seteuid(uid) == 0);
	open_interface(PTL_PID_ANY);
	CHECK(seteuid(myself) == 0);
}

/* The server runs as one user, and is told to admit another one. */
static void a_named_user_is_served_and_the_servers_own_is_not(void)
{
	struct object_server server;
	struct object_about about;
	object_client *client;
	make_store(&server);
	start_server(&server, "--trust-network", "--admit=65534", NULL);
	CHECK_EQUAL(object_open(ni, server.id, NULL, &client), -EACCES);
	open_interface_as(OTHER_UID);
	client = call_server(&server);
	CHECK_EQUAL(put_pattern(client, "object", CHUNK + 1, 1, NULL), 0);
	CHECK(has_pattern(client, "object", CHUNK + 1, 1));
	CHECK_EQUAL(object_stat(client, name_of("object"), &about), 0);
	CHECK_EQUAL(about.uid, OTHER_UID);
	object_close(client);
	open_interface_as(geteuid());
	CHECK_EQUAL(object_open(ni, server.id, NULL, &client), -EACCES);
	stop_server(&server);
	remove_store(&server);
}

static void nothing_moves_where_users_are_not_proven(void)
{
	struct object_server server;
	struct object_about about;
	int count = 0;
	make_store(&server);
	start_server(&server, NULL, NULL, NULL);
	object_client *client = call_server(&server);
	int refused = over_transport("node") ? 0 : -EPERM;
	CHECK_EQUAL(put_pattern(client, "object", 100, 1, NULL), refused);
	CHECK_EQUAL(object_list(client, count_one, &count), refused);
	CHECK_EQUAL(object_stat(client, name_of("object"), &about), refused ? -ENOENT : 0);
	CHECK_EQUAL(object_remove(client, name_of("object"), NULL), refused);
	object_close(client);
	stop_server(&server);
	remove_store(&server);
}

static void an_absent_server_is_an_error(void)
{
	object_client *client;
	struct object_about about;
	const struct object_options options = {.timeout = 300, .repeat = 100};
	CHECK_EQUAL(object_open(ni, nobody(), &options, &client), 0);
	CHECK_EQUAL(object_stat(client, name_of("object"), &about), -EHOSTUNREACH);
	CHECK_EQUAL(put_pattern(client, "object", CHUNK, 1, NULL), -EHOSTUNREACH);
	object_close(client);
}

static void a_killed_client_costs_its_own_request(void)
{
	struct object_server server;
	struct object_about about;
	make_store(&server);
	start_server(&server, TRUST, NULL);
	pid_t child = fork_child();
	if (child == 0) {
		setenv("OBJECT_STORE_CRASH", OBJECT_CLIENT_POINT ":1", 1);
		open_own_interface();
		put_pattern(call_server(&server), "lost", 64 * CHUNK, 1, NULL);
		_exit(1);
	}
	object_client *client = call_server(&server);
	CHECK_EQUAL(put_pattern(client, "kept", CHUNK, 2, NULL), 0);
	join_killed_child(child);
	CHECK_EQUAL(put_pattern(client, "kept too", CHUNK, 3, NULL), 0);
	CHECK(has_pattern(client, "kept", CHUNK, 2));
	CHECK_EQUAL(object_stat(client, name_of("lost"), &about), -ENOENT);
	object_close(client);
	stop_server(&server);
	CHECK_EQUAL(count_files(&server, "incoming"), 0);
	CHECK_EQUAL(count_files(&server, "objects"), 2);
	remove_store(&server);
}

static void a_repeated_change_is_applied_once(void)
{
	struct object_server server;
	struct object_id first, removal;
	CHECK_EQUAL(object_new_id(&first), 0);
	CHECK_EQUAL(object_new_id(&removal), 0);
	make_store(&server);
	start_server(&server, TRUST, NULL);
	object_client *client = call_server(&server);
	CHECK_EQUAL(put_pattern(client, "object", 1000, 1, &first), 0);
	CHECK_EQUAL(put_pattern(client, "object", 2000, 2, NULL), 0);
	CHECK_EQUAL(put_pattern(client, "removed", 10, 3, NULL), 0);
	CHECK_EQUAL(object_remove(client, name_of("removed"), &removal), 0);
	CHECK_EQUAL(put_pattern(client, "removed", 20, 4, NULL), 0);
	for (int restarted = 0; restarted < 2; restarted++) {
		CHECK_EQUAL(put_pattern(client, "object", 1000, 1, &first), 0);
		CHECK(has_pattern(client, "object", 2000, 2));
		CHECK_EQUAL(object_remove(client, name_of("removed"), &removal), 0);
		CHECK(has_pattern(client, "removed", 20, 4));
		CHECK_EQUAL(put_pattern(client, "another", 1000, 1, &first), -EINVAL);
		CHECK_EQUAL(put_pattern(client, "object", 1000, 5, &first), -EINVAL);
		if (!restarted) { /* the same client finds the server that follows */
			kill_server(&server);
			start_server(&server, TRUST, NULL);
		}
	}
	object_close(client);
	stop_server(&server);
	remove_store(&server);
}

const struct test object_store_tests[] = {
	ALONE(objects_come_back_as_they_were_put),
	ALONE(names_are_any_bytes_and_no_paths),
	{.name = "many_clients_call_at_once",
	 .run = many_clients_call_at_once,
	 .processes = 1,
	 .traits = TRAIT_NO_TSAN,
	 .seconds = 600},
	ALONE(users_that_are_not_named_are_refused),
	{.name = "a_named_user_is_served_and_the_servers_own_is_not",
	 .run = a_named_user_is_served_and_the_servers_own_is_not,
	 .processes = 1,
	 .traits = TRAIT_ROOT | TRAIT_USERS},
	ALONE(nothing_moves_where_users_are_not_proven),
	ALONE(an_absent_server_is_an_error),
	{.name = "a_killed_client_costs_its_own_request",
	 .run = a_killed_client_costs_its_own_request,
	 .processes = 1,
	 .traits = TRAIT_NO_TSAN},
	ALONE(a_repeated_change_is_applied_once),
	{.name = NULL},
};
