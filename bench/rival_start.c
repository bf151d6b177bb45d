/* SPDX-License-Identifier: BSD-3-Clause */
#include "rival_start.h"

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

#define START_MS  60000 /* for a rival to start and connect; it may have to find its network first */
#define WORDS_MAX 32

/* The programs that are built here, made by embed.sh. */
static const struct {
	const char *name, *text;
} sources[] = {
#include "embedded.h"
};

#define SOURCES (sizeof sources / sizeof sources[0])

static char folder[64];

void rival_folder_make(void)
{
	const char *parent = getenv("TMPDIR");

	snprintf(folder, sizeof folder, "%s/ptlbench-XXXXXX", parent && strlen(parent) < 40 ? parent : "/tmp");
	if (!mkdtemp(folder))
		fail("cannot make a folder for the programs to compare with: %s: %s", folder, strerror(errno));
	atexit(rival_folder_remove);
}

static const char *in_folder(const char *name)
{
	static char path[96];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

void rival_folder_remove(void)
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

static void __attribute__((format(printf, 2, 3))) set_missing(struct rival_process *rival, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(rival->missing, sizeof rival->missing, format, arguments);
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
	setenv(RIVAL_SOCKET, in_folder("socket"), 1);
	become(program, command);
}

/* Writes all sources and compiles one.  False: `missing` says why. */
static bool build(struct rival_process *rival)
{
	char line[512], source[96], program[96];
	const struct rival_kind_of *kind = rival->kind;
	int status = 0;

	for (size_t i = 0; i < SOURCES; i++)
		if (!write_file(in_folder(sources[i].name), sources[i].text))
			fail("cannot write %s: %s", in_folder(sources[i].name), strerror(errno));
	snprintf(source, sizeof source, "%s", in_folder(kind->program));
	snprintf(program, sizeof program, "%s", in_folder("program"));
	size_t compiler = strcspn(kind->build, " ");
	snprintf(line, sizeof line, "%.*s -O2 -o %s %s%s", (int)compiler, kind->build, program, source,
		 kind->build + compiler);
	waitpid(launch(NULL, line), &status, 0);
	if (!status)
		return true;
	read_log(line, sizeof line);
	set_missing(rival, "cannot be built, %s wanted: %s", kind->wants, line);
	return false;
}

static int listen_for_rivals(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", in_folder("socket"));
	unlink(address.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4))
		fail("cannot listen at %s: %s", address.sun_path, strerror(errno));
	return fd;
}

static pid_t start_program(const struct rival_kind_of *kind, const char *other)
{
	char command[512];

	if (kind->program)
		snprintf(command, sizeof command, "%s %s", kind->start, in_folder("program"));
	else
		snprintf(command, sizeof command, "ptlbench rival %s", kind->start);
	return launch(kind->program ? NULL : other ? other : "/proc/self/exe", command);
}

/* One process says who it is.  False: it has died before, or takes too long. */
static bool welcome(struct rival_process *rival, int listener)
{
	struct pollfd poller = {.fd = listener, .events = POLLIN};
	struct rival_hello hello;

	for (int waited = 0; poll(&poller, 1, 100) != 1; waited += 100)
		if (waited > START_MS || waitpid(rival->child, NULL, WNOHANG) == rival->child)
			return false;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || !rival_read(fd, &hello, sizeof hello) || hello.version != RIVAL_VERSION || hello.rank > 1)
		return false;
	rival->socket[hello.rank] = fd;
	rival->pid[hello.rank] = hello.pid;
	if (hello.other_pid)
		rival->pid[!hello.rank] = hello.other_pid;
	memcpy(rival->text, hello.text, sizeof rival->text);
	rival->text[sizeof rival->text - 1] = '\0';
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

static double cpu_ns(const struct rival_process *rival)
{
	return process_cpu_ns(rival->pid[0]) + process_cpu_ns(rival->pid[1]);
}

static void tell_all(const struct rival_process *rival, int signal_number)
{
	for (int rank = 0; rank < 2; rank++)
		if (rival->pid[rank] && rival->kind->stop)
			kill(rival->pid[rank], signal_number);
}

static void goes_to_sleep(struct rival_process *rival)
{
	tell_all(rival, SIGSTOP);
	rival->cpu_ns = cpu_ns(rival);
	rival->asleep_at = rival_now();
}

static void wakes_up(struct rival_process *rival)
{
	rival->stolen_ns += cpu_ns(rival) - rival->cpu_ns;
	rival->asleep_ns += (double)(rival_now() - rival->asleep_at);
}

void rival_start(struct rival_process *rival, const struct rival_kind_of *kind, const char *other)
{
	char line[128];

	*rival = (struct rival_process){.kind = kind, .socket = {-1, -1}};
	if (kind->program && !build(rival))
		return;
	int listener = listen_for_rivals();
	rival->child = start_program(kind, other);
	bool here = true;
	for (unsigned rank = 0; here && rank < kind->ranks; rank++)
		here = welcome(rival, listener);
	close(listener);
	if (here) {
		goes_to_sleep(rival);
		return;
	}
	rival_end(rival);
	read_log(line, sizeof line);
	set_missing(rival, "does not start: %s", *line ? line : "no word of why");
}

static bool hear(struct rival_process *rival, int rank, struct samples *samples)
{
	static double values[RIVAL_VALUES];
	struct rival_answer answer;

	if (!rival_read(rival->socket[rank], &answer, sizeof answer) || answer.count > RIVAL_VALUES ||
	    (answer.count && !rival_read(rival->socket[rank], values, answer.count * sizeof *values))) {
		set_missing(rival, "has died at work");
		return false;
	}
	if (*answer.problem)
		set_missing(rival, "%.*s", (int)sizeof answer.problem, answer.problem);
	for (uint32_t i = 0; i < answer.count; i++)
		samples_add(samples, values[i]);
	return !*answer.problem;
}

double rival_ask(struct rival_process *rival, const struct rival_order *order, struct samples *samples)
{
	bool well = true;

	wakes_up(rival);
	tell_all(rival, SIGCONT);
	double before = cpu_ns(rival);
	for (unsigned rank = 0; rank < rival->kind->ranks; rank++)
		rival_write(rival->socket[rank], order, sizeof *order);
	for (unsigned rank = 0; rank < rival->kind->ranks; rank++)
		well = hear(rival, (int)rank, samples) && well;
	double spent = cpu_ns(rival) - before;
	goes_to_sleep(rival);
	return well ? spent : NAN;
}

double rival_restlessness(struct rival_process *rival)
{
	wakes_up(rival);
	goes_to_sleep(rival);
	return 100 * rival->stolen_ns / rival->asleep_ns;
}

/* The end of its sockets tells a rival that it is over; what does not end by then is made to. */
void rival_end(struct rival_process *rival)
{
	static const struct timespec moment = {.tv_nsec = 10000000};

	tell_all(rival, SIGCONT);
	for (int rank = 0; rank < 2; rank++)
		if (rival->socket[rank] >= 0)
			close(rival->socket[rank]);
	rival->socket[0] = rival->socket[1] = -1;
	for (int moments = 0; rival->child > 0 && waitpid(rival->child, NULL, WNOHANG) == 0; moments++) {
		if (moments == 500)
			kill(rival->child, SIGKILL);
		nanosleep(&moment, NULL);
	}
	rival->child = 0;
}
