/* SPDX-License-Identifier: BSD-3-Clause */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"

#define WORDS_MAX     40
#define CHILD_SETTING "PTLBENCH_CHILD"

static void __attribute__((noreturn)) become(const char *command, int out, int err)
{
	char *words[WORDS_MAX + 2] = {"ptlbench"}, *text = strdup(command), *rest;
	int count = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv(CHILD_SETTING, "1", 1);
	dup2(out, STDOUT_FILENO);
	if (err >= 0)
		dup2(err, STDERR_FILENO);
	for (char *word = strtok_r(text, " ", &rest); word && count < WORDS_MAX; word = strtok_r(NULL, " ", &rest))
		if (count == 1 && strchr(word, '='))
			putenv(word);
		else
			words[count++] = word;
	execv("/proc/self/exe", words);
	_exit(1);
}

bool child_is_one(void)
{
	return getenv(CHILD_SETTING) != NULL;
}

/* What it prints is kept in memory, so that it never waits for us to read it. */
static int open_memory(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		fail("no memory for what a test prints: %s", strerror(errno));
	return fd;
}

static char *take_text(int fd)
{
	off_t length = lseek(fd, 0, SEEK_END), got = 0;
	char *text = calloc(1, (size_t)length + 1);

	if (!text)
		fail("no memory for what a test prints");
	while (got < length) {
		ssize_t part = pread(fd, text + got, (size_t)(length - got), got);
		if (part <= 0)
			break;
		got += part;
	}
	close(fd);
	return text;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

void child_run(const char *command, bool keep_err, struct child_end *end)
{
	int out = open_memory("out"), err = keep_err ? open_memory("err") : -1, status;
	struct rusage usage;

	fflush(stdout);
	pid_t child = fork();
	if (child < 0)
		fail("cannot fork: %s", strerror(errno));
	if (!child)
		become(command, out, err);
	while (wait4(child, &status, 0, &usage) < 0)
		if (errno != EINTR)
			fail("cannot wait for a test: %s", strerror(errno));
	end->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	end->cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	end->out = take_text(out);
	end->err = keep_err ? take_text(err) : strdup("");
}

void child_end_free(struct child_end *end)
{
	free(end->out);
	free(end->err);
}
