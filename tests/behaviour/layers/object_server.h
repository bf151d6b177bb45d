/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of examples/object_store as a test starts, kills and calls it. */
#ifndef TESTS_OBJECT_SERVER_H
#define TESTS_OBJECT_SERVER_H

#include "examples/object_store/client.h"
#include "tests/behaviour/layers/layers.h"

struct object_server {
	char directory[64];
	pid_t process;
	ptl_process_id_t id;
};

/* A directory for the objects of this test. */
void make_store(struct object_server *server);
/* Starts it with up to one more option and its argument, and returns when clients may call.  `crash`: NULL, or NAME:COUNT of points.h. */
void start_server(struct object_server *server, const char *option, const char *argument, const char *crash);
void kill_server(struct object_server *server);
/* Ends it as an administrator does; it must leave no error. */
void stop_server(struct object_server *server);
/* Returns when it has been killed at the point it was given. */
void await_crash(struct object_server *server);
/* Files in its directory of this name. */
int count_files(const struct object_server *server, const char *name);
void remove_store(const struct object_server *server);

/* Trusts any user over a network, as --trust-network does. */
#define TRUST "--trust-network", NULL

struct object_name name_of(const char *text);
/* With an interface of its own process. */
object_client *call_server(const struct object_server *server);
/* In a forked child, which begins with the interface of its parent. */
void open_own_interface(void);

/* Puts, or expects, an object whose bytes follow from `seed`. */
int put_pattern(object_client *client, const char *name, size_t length, unsigned seed, const struct object_id *id);
bool has_pattern(object_client *client, const char *name, size_t length, unsigned seed);

#endif
