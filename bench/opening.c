/* SPDX-License-Identifier: BSD-3-Clause */
#include "opening.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "session.h"

#define PATIENCE_S 5

extern FILE *p3_out;

/* What the library would print is in the answer: its own report of the failure, or nothing worth showing. */
static void __attribute__((noreturn)) be_opener(const struct options *options, FILE *answer)
{
	struct session session = {.options = options};
	const char *call;

	signal(SIGALRM, SIG_DFL);
	alarm(PATIENCE_S);
	p3_out = fopen("/dev/null", "we");
	int code = session_try_interface(&session, PTL_PID_ANY, &call);
	const char *why = PtlNicErrorText();
	if (code == PTL_OK)
		fprintf(answer, "opened in: PtlInit and PtlNIInit %.1f ms, all transports after %.1f ms\n%s",
			session.open_ns / 1e6, session.ready_ns / 1e6, session.info);
	else if (*why)
		fprintf(answer, "%s", why);
	else
		fprintf(answer, "%s: %s", call, PtlErrorStr((unsigned)code));
	fflush(answer);
	_exit(code != PTL_OK);
}

void opening_start(struct opening *opening, const struct options *options, const char *transport)
{
	struct options own = *options;
	int ends[2];

	*opening = (struct opening){.pipe = -1};
	if (transport)
		own.transport = transport;
	fflush(stdout);
	if (pipe(ends))
		fail("cannot make a pipe: %s", strerror(errno));
	opening->child = fork();
	if (opening->child < 0)
		fail("cannot fork: %s", strerror(errno));
	if (opening->child == 0) {
		close(ends[0]);
		be_opener(&own, fdopen(ends[1], "w"));
	}
	close(ends[1]);
	opening->pipe = ends[0];
}

void opening_end(struct opening *opening)
{
	size_t used = 0, room = sizeof opening->text - 1;
	ssize_t length;
	int status = 0;

	while ((length = read(opening->pipe, opening->text + used, room - used)) > 0 || (length < 0 && errno == EINTR))
		used += length > 0 ? (size_t)length : 0;
	opening->text[used] = '\0';
	close(opening->pipe);
	while (waitpid(opening->child, &status, 0) < 0 && errno == EINTR)
		;
	opening->open = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(opening->text, sizeof opening->text, "not open after %d s", PATIENCE_S);
	else if (WIFSIGNALED(status))
		snprintf(opening->text, sizeof opening->text, "crashes: %s", strsignal(WTERMSIG(status)));
}
