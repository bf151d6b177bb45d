/* SPDX-License-Identifier: BSD-3-Clause */
#include "candidate_start.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "temporary.h"

#define START_MS  60000 /* for a candidate to start and connect; it may have to find its network first */
#define WORDS_MAX 32

/* The programs that are built here, made by embed.sh. */
static const struct {
	const char *name, *text;
} sources[] = {
#include "embedded.h"
};

#define SOURCES (sizeof(sources) / sizeof(sources[0]))

static temporary_folder folder;

void candidate_folder_make(void)
{
	temporary_folder_make(folder);
	atexit(candidate_folder_remove);
}

static const char *in_folder(const char *name)
{
	static char path[sizeof(folder) + 32];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

void candidate_folder_remove(void)
{
	if (!*folder)
		return;
	for (size_t i = 0; i < SOURCES; i++)
		unlink(in_folder(sources[i].name));
	unlink(in_folder("program"));
	unlink(in_folder("socket"));
	unlink(in_folder("log"));
	rmdir(folder);
	*folder = '\0';
}

static void __attribute__((format(printf, 2, 3)))
set_missing(struct candidate_process *candidate, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(candidate->missing, sizeof(candidate->missing), format, arguments);
	va_end(arguments);
}

static bool write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	bool written = file && fputs(text, file) >= 0;

	return file && !fclose(file) && written;
}

/* The first line that a compiler or a program wrote before it gave up. */
static void read_log(char *line, size_t size)
{
	FILE *file = fopen(in_folder("log"), "re");

	*line = '\0';
	while (file && fgets(line, (int)size, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[strspn(line, "- \t")])
			break;
	}
	if (file)
		fclose(file);
}

/* Becomes the program with the words of the command. */
static void __attribute__((noreturn)) become(const char *program, char *command)
{
	char *words[WORDS_MAX + 1] = {NULL}, *rest;
	int count = 0;

	for (char *word = strtok_r(command, " ", &rest); word && count < WORDS_MAX; word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	execvp(program ? program : words[0] ? words[0] : "", words);
	dprintf(STDERR_FILENO, "no %s", words[0]);
	_exit(127);
}

/* Runs the command, as this file if there is a program, with all output in the log; does not wait. */
static pid_t launch(const char *program, char *command)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		fail("cannot fork: %s", strerror(errno));
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	int log = open(in_folder("log"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	int nothing = open("/dev/null", O_RDONLY);
	dup2(nothing, STDIN_FILENO);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	setenv(CANDIDATE_SOCKET, in_folder("socket"), 1);
	become(program, command);
}

/* Writes all sources and compiles one.  False: `missing` says why. */
static bool build(struct candidate_process *candidate)
{
	char line[512], source[96], program[96];
	const struct candidate_kind_of *kind = candidate->kind;
	int status = 0;

	for (size_t i = 0; i < SOURCES; i++)
		if (!write_file(in_folder(sources[i].name), sources[i].text))
			fail("cannot write %s: %s", in_folder(sources[i].name), strerror(errno));
	snprintf(source, sizeof(source), "%s", in_folder(kind->program));
	snprintf(program, sizeof(program), "%s", in_folder("program"));
	size_t compiler = strcspn(kind->build, " ");
	snprintf(line, sizeof(line), "%.*s -O2 -o %s %s%s", (int)compiler, kind->build, program, source,
		 kind->build + compiler);
	waitpid(launch(NULL, line), &status, 0);
	if (!status)
		return true;
	read_log(line, sizeof(line));
	set_missing(candidate, "cannot be built, %s wanted: %s", kind->wants, line);
	return false;
}

static int listen_for_candidates(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_folder("socket"));
	unlink(address.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 4))
		fail("cannot listen at %s: %s", address.sun_path, strerror(errno));
	return fd;
}

static pid_t start_program(const struct candidate_kind_of *kind, const char *other)
{
	char command[512];

	if (kind->program)
		snprintf(command, sizeof(command), "%s %s", kind->start, in_folder("program"));
	else
		snprintf(command, sizeof(command), "ptlbench rival %s", kind->start);
	return launch(kind->program ? NULL : other ? other : "/proc/self/exe", command);
}

/* One process introduces itself.  False: it has died before, or takes too long. */
static bool welcome(struct candidate_process *candidate, int listener)
{
	struct pollfd poller = {.fd = listener, .events = POLLIN};
	struct candidate_hello hello;

	for (int waited = 0; poll(&poller, 1, 100) != 1; waited += 100)
		if (waited > START_MS || waitpid(candidate->child, NULL, WNOHANG) == candidate->child)
			return false;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || !candidate_read(fd, &hello, sizeof(hello)) || hello.version != CANDIDATE_VERSION ||
	    hello.rank > 1)
		return false;
	candidate->socket[hello.rank] = fd;
	candidate->pid[hello.rank] = hello.pid;
	if (hello.other_pid)
		candidate->pid[!hello.rank] = hello.other_pid;
	memcpy(candidate->text, hello.text, sizeof(candidate->text));
	candidate->text[sizeof(candidate->text) - 1] = '\0';
	return true;
}

static double process_cpu_ns(pid_t pid)
{
	struct timespec time = {0};
	clockid_t clock;

	if (pid && !clock_getcpuclockid(pid, &clock))
		clock_gettime(clock, &time);
	return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static double cpu_ns(const struct candidate_process *candidate)
{
	return process_cpu_ns(candidate->pid[0]) + process_cpu_ns(candidate->pid[1]);
}

static void tell_all(const struct candidate_process *candidate, int signal_number)
{
	for (int rank = 0; rank < 2; rank++)
		if (candidate->pid[rank] && candidate->kind->stop)
			kill(candidate->pid[rank], signal_number);
}

static void goes_to_sleep(struct candidate_process *candidate)
{
	tell_all(candidate, SIGSTOP);
	candidate->cpu_ns = cpu_ns(candidate);
	candidate->asleep_at = candidate_now();
}

static void wakes_up(struct candidate_process *candidate)
{
	candidate->stolen_ns += cpu_ns(candidate) - candidate->cpu_ns;
	candidate->asleep_ns += (double)(candidate_now() - candidate->asleep_at);
}

void candidate_start(struct candidate_process *candidate, const struct candidate_kind_of *kind, const char *other)
{
	char line[128];

	*candidate = (struct candidate_process){.kind = kind, .socket = {-1, -1}};
	if (kind->program && !build(candidate))
		return;
	int listener = listen_for_candidates();
	candidate->child = start_program(kind, other);
	bool here = true;
	for (unsigned rank = 0; here && rank < kind->ranks; rank++)
		here = welcome(candidate, listener);
	close(listener);
	if (here) {
		goes_to_sleep(candidate);
		return;
	}
	candidate_end(candidate);
	read_log(line, sizeof(line));
	set_missing(candidate, "does not start: %s", *line ? line : "no word of why");
}

static bool hear(struct candidate_process *candidate, int rank, struct samples *samples)
{
	static double values[CANDIDATE_VALUES];
	struct candidate_answer answer;

	if (!candidate_read(candidate->socket[rank], &answer, sizeof(answer)) || answer.count > CANDIDATE_VALUES ||
	    (answer.count && !candidate_read(candidate->socket[rank], values, answer.count * sizeof(*values)))) {
		set_missing(candidate, "has died at work");
		return false;
	}
	if (*answer.problem)
		set_missing(candidate, "%.*s", (int)sizeof(answer.problem), answer.problem);
	for (uint32_t i = 0; i < answer.count; i++)
		samples_add(samples, values[i]);
	return !*answer.problem;
}

void candidate_tell(struct candidate_process *candidate, const struct candidate_order *order)
{
	wakes_up(candidate);
	tell_all(candidate, SIGCONT);
	candidate->told_ns = cpu_ns(candidate);
	for (unsigned rank = 0; rank < candidate->kind->ranks; rank++)
		candidate_write(candidate->socket[rank], order, sizeof(*order));
}

double candidate_hear(struct candidate_process *candidate, struct samples *samples)
{
	bool well = true;

	for (unsigned rank = 0; rank < candidate->kind->ranks; rank++)
		well = hear(candidate, (int)rank, samples) && well;
	double spent = cpu_ns(candidate) - candidate->told_ns;
	goes_to_sleep(candidate);
	return well ? spent : NAN;
}

double candidate_ask(struct candidate_process *candidate, const struct candidate_order *order, struct samples *samples)
{
	candidate_tell(candidate, order);
	return candidate_hear(candidate, samples);
}

double candidate_restlessness(struct candidate_process *candidate)
{
	wakes_up(candidate);
	goes_to_sleep(candidate);
	return 100 * candidate->stolen_ns / candidate->asleep_ns;
}

/* The end of its sockets tells a candidate that it is over; what does not end by then is made to. */
void candidate_end(struct candidate_process *candidate)
{
	static const struct timespec moment = {.tv_nsec = 10000000};

	tell_all(candidate, SIGCONT);
	for (int rank = 0; rank < 2; rank++)
		if (candidate->socket[rank] >= 0)
			close(candidate->socket[rank]);
	candidate->socket[0] = candidate->socket[1] = -1;
	for (int moments = 0; candidate->child > 0 && waitpid(candidate->child, NULL, WNOHANG) == 0; moments++) {
		if (moments == 500)
			kill(candidate->child, SIGKILL);
		nanosleep(&moment, NULL);
	}
	candidate->child = 0;
}
