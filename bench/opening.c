/* SPDX-License-Identifier: BSD-3-Clause */
#include "opening.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "session.h"

#define PATIENCE_S      5
#define SAVE_PATIENCE_S 30 /* nothing is measured again for a limit that could not be saved */

extern FILE *p3_out;

/* What the library would print is in the answer: its own report of the failure, or nothing worth showing. */
static bool answer_opening(const struct options *options, FILE *answer)
{
	struct session session = {.options = options};
	const char *call;

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
	return code == PTL_OK;
}

/* What the library says about the file is the answer, and that it is not there. */
static bool answer_saving(const struct options *options, FILE *answer)
{
	struct session session = {.options = options};
	const char *call;
	char *said = NULL;
	size_t length = 0;

	setenv("PTL_TUNING_SAVE", options->save, 1);
	p3_out = open_memstream(&said, &length);
	int code = session_try_interface(&session, PTL_PID_ANY, &call);

	PtlNIFini(session.ni);
	PtlFini();
	fflush(p3_out);
	const char *why = code == PTL_OK ? strstr(said, "PTL_TUNING_SAVE") : said;

	fprintf(answer, "%s", why ? why : "");
	return !why;
}

static bool named_before(const struct fi_info *list, const struct fi_info *end)
{
	while (list != end && strcmp(list->fabric_attr->prov_name, end->fabric_attr->prov_name) != 0)
		list = list->next;
	return list != end;
}

static bool has_datagrams(const struct fi_info *list, const char *provider)
{
	for (; list; list = list->next)
		if (!strcmp(list->fabric_attr->prov_name, provider) && list->ep_attr->type == FI_EP_RDM)
			return true;
	return false;
}

static bool answer_listing(const struct options *options, FILE *answer)
{
	struct fi_info *list = NULL;
	int code = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &list);

	(void)options;
	for (const struct fi_info *info = list; info; info = info->next) {
		const char *provider = info->fabric_attr->prov_name;
		if (!named_before(list, info))
			fprintf(answer, "%s%s\n", has_datagrams(list, provider) ? "" : "-", provider);
	}
	if (code)
		fprintf(answer, "fi_getinfo: %s", fi_strerror(-code));
	return code == 0;
}

static void start(struct opening *opening, const struct options *options,
		  bool (*answer)(const struct options *, FILE *), unsigned patience_s)
{
	int ends[2];

	*opening = (struct opening){.pipe = -1, .patience_s = patience_s};
	fflush(stdout);
	if (pipe(ends))
		fail("cannot make a pipe: %s", strerror(errno));
	opening->child = fork();
	if (opening->child < 0)
		fail("cannot fork: %s", strerror(errno));
	close(ends[opening->child ? 1 : 0]);
	opening->pipe = ends[0];
	if (opening->child)
		return;
	FILE *out = fdopen(ends[1], "w");
	signal(SIGALRM, SIG_DFL);
	alarm(patience_s);
	bool open = answer(options, out);
	fflush(out);
	_exit(open ? 0 : 1);
}

void opening_start(struct opening *opening, const struct options *options, const char *transport)
{
	struct options own = *options;

	if (transport)
		own.transport = transport;
	start(opening, &own, answer_opening, PATIENCE_S);
}

const char *opening_transport(const struct options *options)
{
	const char *set = getenv("PTL_TRANSPORT"), *transport = options->transport ? options->transport : set;

	return transport && strcmp(transport, "auto") != 0 ? transport : "node";
}

void opening_save_limit(const struct options *options, uint64_t limit, const char *path)
{
	static struct opening opening;
	struct options own = *options;
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
	own.transport = opening_transport(options);
	own.settings = (const struct setting[]){{"PTL_SHORT_MAX", text}};
	own.save = path;
	start(&opening, &own, answer_saving, SAVE_PATIENCE_S);
	opening_end(&opening);
	if (!opening.open)
		fail("%s: %s", path, opening.text);
}

void opening_start_listing(struct opening *opening)
{
	start(opening, NULL, answer_listing, PATIENCE_S);
}

void opening_end(struct opening *opening)
{
	size_t used = 0, room = sizeof(opening->text) - 1;
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
		snprintf(opening->text, sizeof(opening->text), "not open after %u s", opening->patience_s);
	else if (WIFSIGNALED(status))
		snprintf(opening->text, sizeof(opening->text), "crashes: %s", strsignal(WTERMSIG(status)));
}
