/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runner of tests made of several processes: forking them, letting them meet, watching them, judging them.
 * The runner never touches the library under test, so every fork starts from a clean process.
 */
#include "tests/support/harness.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_SKIPPED  77
#define EXIT_LOST     78
#define MOST_TRIES    5
#define USUAL_SECONDS 180 /* a hang is told from a busy machine, not a fast one from a slow one */

/* Memory that the runner and all processes of one test share. */
struct scene {
	struct {
		const char *_Atomic file; /* literals: the same address in every forked process */
		_Atomic int line;
	} place[MAX_PROCESSES];
	_Atomic pid_t pid[MAX_PROCESSES];
	_Atomic bool may_die[MAX_PROCESSES];
	_Atomic bool told; /* the first process that has something to say writes `text` */
	char text[2048];
	_Alignas(64) char shared[SHARED_SIZE];
};

/* A process as the runner sees it. */
struct member {
	pid_t pid;
	int pidfd;
	int channel;
	bool living;
	bool waiting; /* in gather() */
	ssize_t brought;
	char blob[MAX_GATHER];
};

struct performance {
	const struct test *test;
	int processes;
	int living;
	struct member member[MAX_PROCESSES];
	struct scene *scene;
	int output; /* what the processes print; shown only when the test fails */
	uint64_t deadline;
};

int my_rank, process_count;
int machine_slowness = 1;

static struct scene *scene;
static int channel = -1;
static void (*progress_while_waiting)(void);

/* ---- In a test's process ---- */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void harness_here(const char *file, int line)
{
	atomic_store_explicit(&scene->place[my_rank].file, file, memory_order_relaxed);
	atomic_store_explicit(&scene->place[my_rank].line, line, memory_order_relaxed);
}

void fail_at(const char *file, int line, const char *format, ...)
{
	harness_here(file, line);
	if (!atomic_exchange(&scene->told, true)) {
		int used = snprintf(scene->text, sizeof(scene->text), "%s:%d: process %d: ", file, line, my_rank);
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(scene->text + used, sizeof(scene->text) - (size_t)used, format, arguments);
		va_end(arguments);
	}
	_exit(1);
}

static _Noreturn void leave(const char *reason, int status)
{
	if (!atomic_exchange(&scene->told, true))
		snprintf(scene->text, sizeof(scene->text), "%s", reason);
	_exit(status);
}

void skip_test(const char *reason)
{
	leave(reason, EXIT_SKIPPED);
}

void lose_race(const char *reason)
{
	leave(reason, EXIT_LOST);
}

void check_equal_at(const char *file, int line, const char *text, long long actual, long long expected)
{
	harness_here(file, line);
	if (actual != expected)
		fail_at(file, line, "%s (%lld [0x%llx] and %lld [0x%llx])", text, actual, actual, expected, expected);
}

void check_less_at(const char *file, int line, const char *text, long long low, long long high)
{
	harness_here(file, line);
	if (low >= high)
		fail_at(file, line, "%s (%lld and %lld)", text, low, high);
}

void check_string_at(const char *file, int line, const char *text, const char *actual, const char *expected)
{
	harness_here(file, line);
	if (actual == NULL || strcmp(actual, expected) != 0)
		fail_at(file, line, "%s is \"%s\", not \"%s\"", text, actual ? actual : "(null)", expected);
}

void harness_while_waiting(void (*progress)(void))
{
	progress_while_waiting = progress;
}

/* Waits for the runner's answer without using the library, except for the progress it may need. */
static void await_answer(void)
{
	struct pollfd answer = {.fd = channel, .events = POLLIN};
	for (;;) {
		int ready = poll(&answer, 1, progress_while_waiting ? 1 : -1);
		if (ready > 0)
			return;
		if (ready < 0 && errno != EINTR)
			FAIL("poll: %s", strerror(errno));
		if (progress_while_waiting)
			progress_while_waiting();
	}
}

void gather(const void *mine, size_t size, void *all)
{
	char nothing = 0;
	size_t total = size ? size * (size_t)process_count : 1;
	CHECK(size <= MAX_GATHER && size != 1); /* one byte on the channel means: no luggage */
	while (send(channel, size ? mine : &nothing, size ? size : 1, MSG_NOSIGNAL) < 0)
		CHECK(errno == EINTR);
	await_answer();
	char answer[MAX_GATHER * MAX_PROCESSES];
	ssize_t got;
	do
		got = recv(channel, answer, sizeof(answer), 0);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)total)
		_exit(1); /* the runner has given up and says why */
	if (size)
		memcpy(all, answer, total);
}

void barrier(void)
{
	gather(NULL, 0, NULL);
}

void *shared_memory(void)
{
	return scene->shared;
}

pid_t pid_of(int rank)
{
	return atomic_load(&scene->pid[rank]);
}

/* State character of a thread: the field after the last parenthesis of its stat line. */
static char thread_state(const char *process, const char *thread)
{
	char path[64 + 256], line[512] = "";
	snprintf(path, sizeof(path), "%s/%s/stat", process, thread);
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return 'T'; /* it has ended meanwhile */
	size_t got = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[got] = 0;
	const char *end = strrchr(line, ')');
	if (end == NULL)
		return '?';
	return end[2];
}

static bool stands_still(pid_t pid)
{
	char path[64];
	bool still = true;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *threads = opendir(path);
	CHECK(threads != NULL);
	for (struct dirent *entry; still && (entry = readdir(threads)) != NULL;)
		if (entry->d_name[0] != '.')
			still = thread_state(path, entry->d_name) == 'T';
	closedir(threads);
	return still;
}

void stop_process(int rank)
{
	CHECK(kill(pid_of(rank), SIGSTOP) == 0);
	while (!stands_still(pid_of(rank)))
		sched_yield();
}

void continue_process(int rank)
{
	CHECK(kill(pid_of(rank), SIGCONT) == 0);
}

void expect_death(int rank)
{
	atomic_store(&scene->may_die[rank], true);
}

pid_t fork_child(void)
{
	pid_t parent = getpid();
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(channel);
		channel = -1;
	}
	return child;
}

static int status_of(pid_t child)
{
	int status = 0;
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_LOST)
		_exit(EXIT_LOST); /* it has said why */
	return status;
}

void join_child(pid_t child)
{
	int status = status_of(child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		FAIL("child ended with status 0x%x", status);
}

void join_killed_child(pid_t child)
{
	int status = status_of(child);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		FAIL("child ended with status 0x%x instead of SIGKILL", status);
}

/* "NAME=value NAME=value" */
static void set_environment(const char *list)
{
	char copy[512];
	if (list == NULL)
		return;
	snprintf(copy, sizeof(copy), "%s", list);
	for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
		char *value = strchr(word, '=');
		*value = 0;
		setenv(word, value + 1, 1);
	}
}

static int seconds_allowed(const struct test *test)
{
	return (test->seconds ? test->seconds : USUAL_SECONDS) * SLOWNESS * machine_slowness;
}

static _Noreturn void perform(const struct harness *harness, const struct performance *show, int rank, int to_runner,
			      pid_t runner)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner)
		_exit(1);
	alarm((unsigned)seconds_allowed(show->test) + 15); /* in case the runner itself is stopped */
	my_rank = rank;
	process_count = show->processes;
	scene = show->scene;
	channel = to_runner;
	dup2(show->output, STDOUT_FILENO);
	dup2(show->output, STDERR_FILENO);
	set_environment(show->test->environment);
	barrier(); /* every pid is known from here on */
	if (harness->begin)
		harness->begin(show->test);
	show->test->run();
	if (harness->end)
		harness->end(show->test);
	progress_while_waiting = NULL;
	exit(0);
}

/* ---- In the runner ---- */

static bool raise_curtain(const struct harness *harness, struct performance *show)
{
	int ends[MAX_PROCESSES][2];
	pid_t runner = getpid();
	fflush(stdout);
	for (int rank = 0; rank < show->processes; rank++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends[rank]) < 0)
			return false;
	for (int rank = 0; rank < show->processes; rank++) {
		pid_t pid = fork();
		if (pid < 0)
			return false;
		if (pid == 0) {
			for (int other = 0; other < show->processes; other++) {
				close(ends[other][0]);
				if (other != rank)
					close(ends[other][1]);
			}
			perform(harness, show, rank, ends[rank][1], runner);
		}
		atomic_store(&show->scene->pid[rank], pid);
		show->member[rank] = (struct member){.pid = pid, .channel = ends[rank][0], .living = true};
		show->member[rank].pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		show->living++;
	}
	for (int rank = 0; rank < show->processes; rank++)
		close(ends[rank][1]);
	return true;
}

/* The runner's own finding; a process that already told its reason knows better. */
static void __attribute__((format(printf, 2, 3))) tell(struct scene *told, const char *format, ...)
{
	if (atomic_exchange(&told->told, true))
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(told->text, sizeof(told->text), format, arguments);
	va_end(arguments);
}

static const char *place_of(const struct scene *at, int rank, char *text, size_t size)
{
	const char *file = atomic_load(&at->place[rank].file);
	snprintf(text, size, "%s:%d", file ? file : "(no check reached)", atomic_load(&at->place[rank].line));
	return text;
}

static enum test_outcome judge_end(struct performance *show, int rank, int status)
{
	char place[256];
	place_of(show->scene, rank, place, sizeof(place));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return PASSED;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED)
		return SKIPPED;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_LOST)
		return LOST_RACE;
	if (WIFSIGNALED(status) && atomic_load(&show->scene->may_die[rank]))
		return PASSED;
	if (WIFSIGNALED(status))
		tell(show->scene, "process %d died of signal %d (%s) after %s", rank, WTERMSIG(status),
		     strsignal(WTERMSIG(status)), place);
	else
		tell(show->scene, "process %d exited with code %d after %s", rank, WEXITSTATUS(status), place);
	return FAILED;
}

static enum test_outcome reap(struct performance *show, int rank)
{
	struct member *dead = &show->member[rank];
	int status = 0;
	while (waitpid(dead->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(dead->pidfd);
	close(dead->channel);
	dead->living = false;
	show->living--;
	return judge_end(show, rank, status);
}

/* When every living process waits, all get what all brought. */
static bool answer_gather(struct performance *show)
{
	char all[MAX_GATHER * MAX_PROCESSES] = {0};
	ssize_t size = -1;
	for (int rank = 0; rank < show->processes; rank++) {
		const struct member *member = &show->member[rank];
		if (!member->living)
			continue;
		if (!member->waiting)
			return true;
		if (size >= 0 && member->brought != size) {
			tell(show->scene, "processes met with %zd and %zd bytes", size, member->brought);
			return false;
		}
		size = member->brought;
		memcpy(all + (size_t)rank * (size_t)size, member->blob, (size_t)size);
	}
	/* One byte stands for a meeting without luggage and is answered by one byte. */
	size_t total = size == 1 ? 1 : (size_t)size * (size_t)show->processes;
	for (int rank = 0; rank < show->processes; rank++) {
		if (!show->member[rank].living)
			continue;
		show->member[rank].waiting = false;
		send(show->member[rank].channel, all, total, MSG_NOSIGNAL);
	}
	return true;
}

static enum test_outcome attend(struct performance *show, struct pollfd *events)
{
	enum test_outcome worst = PASSED;
	bool changed = false;
	for (int rank = 0; rank < show->processes && worst == PASSED; rank++) {
		struct member *member = &show->member[rank];
		if (!member->living)
			continue;
		if (!member->waiting && (events[2 * rank].revents & POLLIN)) {
			member->brought = recv(member->channel, member->blob, sizeof(member->blob), MSG_DONTWAIT);
			member->waiting = member->brought > 0;
			changed = true;
		}
		if (events[2 * rank + 1].revents & POLLIN) {
			worst = reap(show, rank);
			changed = true;
		}
	}
	if (worst == PASSED && changed && show->living > 0 && !answer_gather(show))
		worst = FAILED;
	return worst;
}

static enum test_outcome out_of_time(struct performance *show)
{
	char text[1024] = "";
	for (int rank = 0; rank < show->processes; rank++) {
		char place[256];
		size_t used = strlen(text);
		if (show->member[rank].living)
			snprintf(text + used, sizeof(text) - used, "; process %d after %s%s", rank,
				 place_of(show->scene, rank, place, sizeof(place)),
				 show->member[rank].waiting ? " (in a barrier)" : "");
	}
	tell(show->scene, "no end after %d s%s", seconds_allowed(show->test), text);
	return FAILED;
}

static enum test_outcome supervise(struct performance *show)
{
	enum test_outcome outcome = PASSED;
	while (show->living > 0 && outcome == PASSED) {
		struct pollfd events[2 * MAX_PROCESSES];
		for (int rank = 0; rank < show->processes; rank++) {
			const struct member *member = &show->member[rank];
			bool listen = member->living && !member->waiting;
			events[2 * rank] = (struct pollfd){.fd = listen ? member->channel : -1, .events = POLLIN};
			events[2 * rank + 1] =
				(struct pollfd){.fd = member->living ? member->pidfd : -1, .events = POLLIN};
		}
		uint64_t now = now_ns();
		if (now >= show->deadline)
			return out_of_time(show);
		int ready = poll(events, (nfds_t)(2 * show->processes), (int)((show->deadline - now) / 1000000) + 1);
		if (ready > 0)
			outcome = attend(show, events);
	}
	return outcome;
}

static void clear_stage(struct performance *show)
{
	for (int rank = 0; rank < show->processes; rank++)
		if (show->member[rank].living)
			kill(show->member[rank].pid, SIGKILL);
	for (int rank = 0; rank < show->processes; rank++)
		if (show->member[rank].living)
			reap(show, rank);
}

static void show_output(int output)
{
	char line[4096];
	lseek(output, 0, SEEK_SET);
	for (ssize_t got; (got = read(output, line, sizeof(line))) > 0;)
		fwrite(line, 1, (size_t)got, stdout);
}

static enum test_outcome run_once(const struct harness *harness, const struct test *test, int processes, char *text,
				  size_t size)
{
	struct performance show = {.test = test, .processes = processes};
	show.scene = mmap(NULL, sizeof(*show.scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	show.output = memfd_create("test-output", MFD_CLOEXEC);
	show.deadline = now_ns() + (uint64_t)seconds_allowed(test) * 1000000000u;
	enum test_outcome outcome = FAILED;
	if (show.scene != MAP_FAILED && show.output >= 0 && raise_curtain(harness, &show))
		outcome = supervise(&show);
	else
		tell(show.scene, "cannot start: %s", strerror(errno));
	clear_stage(&show);
	snprintf(text, size, "%s", show.scene->text);
	if (outcome == FAILED && !harness->silent)
		show_output(show.output);
	close(show.output);
	munmap(show.scene, sizeof(*show.scene));
	return outcome;
}

enum test_outcome harness_attempt(const struct harness *harness, const struct test *test, char *text, size_t size)
{
	return run_once(harness, test, test->processes, text, size);
}

static enum test_outcome run_until_won(const struct harness *harness, const struct test *test, int processes,
				       char *text, size_t size)
{
	enum test_outcome outcome = LOST_RACE;
	for (int i = 0; outcome == LOST_RACE && i < MOST_TRIES; i++)
		outcome = run_once(harness, test, processes, text, size);
	return outcome == LOST_RACE ? FAILED : outcome;
}

static enum test_outcome run_test(const struct harness *harness, const struct test *test)
{
	char text[2048] = "";
	const char *reason = text;
	int processes = test->processes;
	enum test_outcome outcome = harness->suits ? harness->suits(test, &processes, &reason) : PASSED;
	uint64_t start = now_ns();
	for (int i = 0; outcome == PASSED && i < (harness->repeat ? harness->repeat : 1); i++)
		outcome = run_until_won(harness, test, processes, text, sizeof(text));
	static const char *const word[] = {"ok  ", "FAIL", "skip", "n/a "};
	if (outcome == PASSED && !harness->quiet)
		printf("%s %s (%.2f s)\n", word[outcome], test->name, (double)(now_ns() - start) / 1e9);
	else if (outcome == FAILED || !harness->quiet)
		printf("%s %s: %s\n", word[outcome], test->name, reason);
	fflush(stdout);
	return outcome;
}

static bool chosen(const struct harness *harness, const struct test *test, int number, const struct tally *tally)
{
	if (harness->first_failure && tally->count[FAILED] > 0)
		return false;
	if (harness->parts && number % harness->parts != harness->part - 1)
		return false;
	return harness->only == NULL || strstr(test->name, harness->only) != NULL;
}

void harness_perform(const struct harness *harness, struct tally *tally)
{
	int number = 0;

	for (const struct test *const *table = harness->tables; *table; table++)
		for (const struct test *test = *table; test->name; test++, number++)
			if (chosen(harness, test, number, tally))
				tally->count[run_test(harness, test)]++;
}

int harness_conclude(const struct harness *harness, const struct tally *tally)
{
	const int *count = tally->count;
	if (count[PASSED] + count[FAILED] + count[SKIPPED] + count[NOT_APPLICABLE] == 0) {
		printf("no test has \"%s\" in its name\n", harness->only ? harness->only : "");
		return 1;
	}
	printf("%d passed, %d failed, %d skipped\n", count[PASSED], count[FAILED], count[SKIPPED]);
	return count[FAILED] ? 1 : 0;
}

int harness_run(const struct harness *harness)
{
	struct tally tally = {0};
	harness_perform(harness, &tally);
	return harness_conclude(harness, &tally);
}
