/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server of examples/object_store is killed at each of its points, in turn, while a client changes an object.  What was
 * acknowledged is there afterwards; what was not is the old object or the new one, whole; and the repeated change is applied.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/object_store/points.h"
#include "tests/behaviour/layers/object_server.h"

static const char *const points[] = {
#define POINT_NAME(name) name ":1",
	OBJECT_POINTS(POINT_NAME)
#undef POINT_NAME
};
#define POINTS (int)(sizeof(points) / sizeof(*points))
#define RUNS   (at_night() ? 200 : 24)

struct version {
	bool there;
	size_t length;
	unsigned seed;
};

static int apply(object_client *client, struct version version, const struct object_id *id)
{
	if (version.there)
		return put_pattern(client, "object", version.length, version.seed, id);
	return object_remove(client, name_of("object"), id);
}

static bool is_version(object_client *client, struct version version)
{
	struct object_about about;
	if (version.there)
		return has_pattern(client, "object", version.length, version.seed);
	return object_stat(client, name_of("object"), &about) == -ENOENT;
}

/* The client is killed after the server, unless it has had its reply by then. */
static bool acknowledged_before_crash(struct object_server *server, struct version next, const struct object_id *id)
{
	int status;
	pid_t child = fork_child();
	if (child == 0) {
		open_own_interface();
		_exit(apply(call_server(server), next, id) == 0 ? 0 : 1);
	}
	await_crash(server);
	kill(child, SIGKILL);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFEXITED(status);
}

/*
 * Short and long objects in turn.  Each second time that a point comes which a removal passes, the object is removed; a put comes
 * before each removal.
 */
static struct version version_of(int run)
{
	int point = run % POINTS;
	bool removal = (run / POINTS + point) % 2 && (point == 0 || point >= POINTS - 3);
	return (struct version){.there = !removal, .length = run % 2 ? 700 : 1500000, .seed = (unsigned)run};
}

static void a_killed_server_serves_what_it_acknowledged(void)
{
	struct object_server server;
	struct version old = {.there = true, .length = 100, .seed = 1000};
	make_store(&server);
	start_server(&server, TRUST, NULL);
	object_client *client = call_server(&server);
	CHECK_EQUAL(apply(client, old, NULL), 0);
	object_close(client);
	stop_server(&server);
	for (int run = 0; run < RUNS; run++) {
		struct version next = version_of(run);
		struct object_id id;
		CHECK_EQUAL(object_new_id(&id), 0);
		start_server(&server, TRUST, points[run % POINTS]);
		bool acknowledged = acknowledged_before_crash(&server, next, &id);
		start_server(&server, TRUST, NULL);
		client = call_server(&server);
		CHECK(is_version(client, next) || (!acknowledged && is_version(client, old)));
		CHECK_EQUAL(apply(client, next, &id), 0); /* as a client would that does not know */
		CHECK(is_version(client, next));
		object_close(client);
		if (run % 2)
			kill_server(&server);
		else
			stop_server(&server);
		CHECK_EQUAL(count_files(&server, "incoming"), 0);
		CHECK_EQUAL(count_files(&server, "objects"), next.there);
		old = next;
	}
	remove_store(&server);
}

const struct test object_crash_tests[] = {
	{.name = "a_killed_server_serves_what_it_acknowledged",
	 .run = a_killed_server_serves_what_it_acknowledged,
	 .processes = 1,
	 .traits = TRAIT_NODE | TRAIT_NO_TSAN,
	 .seconds = 600},
	{.name = NULL},
};
