/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/behaviour/layers/object_server.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void make_store(struct object_server *server)
{
	*server = (struct object_server){.directory = "/tmp/object-store-XXXXXX"};
	CHECK(mkdtemp(server->directory) != NULL);
}

static void execute(const struct object_server *server, const char *option, const char *argument, const char *crash)
{
	char pid[16];
	const char *words[8] = {OBJECT_SERVER, "--pid", pid, "--patience", "5"};
	int count = 5;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter_other_host();
	snprintf(pid, sizeof(pid), "%u", server->id.pid);
	if (option)
		words[count++] = option;
	if (argument)
		words[count++] = argument;
	words[count] = NULL;
	if (crash)
		setenv("OBJECT_STORE_CRASH", crash, 1);
	const char *all[9];
	memcpy(all, words, sizeof(words));
	all[count++] = server->directory;
	all[count] = NULL;
	execv(OBJECT_SERVER, (char **)(uintptr_t)all);
	_exit(127);
}

/* Its address is its first line, and the pid is the same each time: clients find the server that follows. */
void start_server(struct object_server *server, const char *option, const char *argument, const char *crash)
{
	int ends[2];
	char line[64];
	unsigned a, b, c, d;
	server->id.pid = own_pid(9);
	CHECK(pipe(ends) == 0);
	server->process = fork();
	CHECK(server->process >= 0);
	if (server->process == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execute(server, option, argument, crash);
	}
	close(ends[1]);
	FILE *out = fdopen(ends[0], "r");
	CHECK(out != NULL);
	bool told = fgets(line, sizeof(line), out) != NULL;
	fclose(out);
	CHECK(told);
	CHECK_EQUAL(sscanf(line, "%u.%u.%u.%u:%u", &a, &b, &c, &d, &server->id.pid), 5);
	server->id.nid = a << 24 | b << 16 | c << 8 | d;
}

static int end_with(struct object_server *server, int signal)
{
	int status;
	if (signal)
		kill(server->process, signal);
	CHECK_EQUAL(waitpid(server->process, &status, 0), server->process);
	return status;
}

void kill_server(struct object_server *server)
{
	end_with(server, SIGKILL);
}

void await_crash(struct object_server *server)
{
	int status = end_with(server, 0);
	CHECK(WIFSIGNALED(status));
	CHECK_EQUAL(WTERMSIG(status), SIGKILL);
}

void stop_server(struct object_server *server)
{
	int status = end_with(server, SIGTERM);
	CHECK(WIFEXITED(status));
	CHECK_EQUAL(WEXITSTATUS(status), 0);
}

int count_files(const struct object_server *server, const char *name)
{
	char path[128];
	int count = 0;
	snprintf(path, sizeof(path), "%s/%s", server->directory, name);
	DIR *stream = opendir(path);
	CHECK(stream != NULL);
	for (const struct dirent *entry; (entry = readdir(stream));)
		count += entry->d_name[0] != '.';
	closedir(stream);
	return count;
}

void remove_store(const struct object_server *server)
{
	pid_t child = fork();
	if (child == 0) {
		execlp("rm", "rm", "-rf", server->directory, (char *)NULL);
		_exit(127);
	}
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
}

struct object_name name_of(const char *text)
{
	return (struct object_name){text, strlen(text)};
}

object_client *call_server(const struct object_server *server)
{
	object_client *client;
	const struct object_options options = {.timeout = (ptl_time_t)PATIENCE, .repeat = 200};
	CHECK_EQUAL(object_open(ni, server->id, &options, &client), 0);
	return client;
}

void open_own_interface(void)
{
	PtlFini();
	open_interface(PTL_PID_ANY);
}

int put_pattern(object_client *client, const char *name, size_t length, unsigned seed, const struct object_id *id)
{
	char *bytes = malloc(length + 1);
	CHECK(bytes != NULL);
	fill_pattern(bytes, length, seed);
	int rc = object_put(client, name_of(name), bytes, length, id);
	free(bytes);
	return rc;
}

bool has_pattern(object_client *client, const char *name, size_t length, unsigned seed)
{
	struct object_about about;
	char *bytes = malloc(2 * length + 2), *expected = bytes + length + 1;
	CHECK(bytes != NULL);
	fill_pattern(expected, length, seed);
	int rc = object_get(client, name_of(name), bytes, length, &about);
	bool same = rc == 0 && about.size == length && memcmp(bytes, expected, length) == 0;
	free(bytes);
	return same;
}
