/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests made of several processes.
 *
 * A test is a row of a table: a name, which is the sentence it proves, and a function that runs in every one of its
 * processes at once; `my_rank` and `process_count` tell a process which part it plays.  The runner forks the processes
 * afresh for each test, joins them by a control channel of its own (so they meet without the code under test), watches
 * their time, and ends with them: no process outlives its runner.
 *
 * A process ends its test by returning, by a failed check (which ends it at once), by skip_test(), or by a death that was
 * announced with expect_death().  Anything else, including a sanitizer's complaint at exit, fails the test.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_PROCESSES 8
#define MAX_GATHER    1024  /* bytes one process brings to gather() */
#define SHARED_SIZE   65536 /* bytes of shared_memory() */

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif
#define UNDER_SANITIZER (UNDER_TSAN || UNDER_ASAN)

/* Repetitions and time limits in proportion to how slow the build makes the code. */
#define FEWER(count) (UNDER_TSAN ? (count) / 10 + 1 : UNDER_ASAN ? (count) / 4 + 1 : (count))
#define SLOWNESS     (UNDER_TSAN ? 6 : UNDER_ASAN ? 3 : 1)

/* Another factor on time limits where the machine itself is slow, as an emulated one is; 1 unless an option says more. */
extern int machine_slowness;

struct test {
	const char *name;
	void (*run)(void);
	int processes;           /* at least 1 */
	unsigned traits;         /* meaning belongs to the program; see struct harness.suits */
	const char *environment; /* "NAME=value NAME=value", set before anything else happens; or NULL */
	int seconds;             /* 0: the usual limit */
	const char *proves;      /* meaning belongs to the program: what its table of contents lists the test under */
};

enum test_outcome {
	PASSED,
	FAILED,
	SKIPPED,        /* something the test needs is missing here */
	NOT_APPLICABLE, /* the test makes no sense in this configuration */
	LOST_RACE,      /* what the test is about did not happen: run again, but not for ever */
};

struct harness {
	const struct test *const *tables; /* each ends with a row without a name; the list ends with NULL */
	/* PASSED to run it; otherwise *reason says why not.  May change the number of processes.  Optional. */
	enum test_outcome (*suits)(const struct test *, int *processes, const char **reason);
	void (*begin)(const struct test *); /* in every process, before the test; optional */
	void (*end)(const struct test *);   /* in every process that comes to its end; optional */
	const char *only;                   /* run tests whose name contains this; NULL: all */
	int part, parts;                    /* run every parts-th test, from number `part` on; 0: all */
	int repeat;                         /* times each test is run; 0 means once */
	bool quiet;                         /* print only what did not pass */
	bool first_failure;                 /* stop there */
	bool silent;                        /* of what the processes of a failed test have printed, show nothing */
};

struct tally {
	int count[4]; /* by enum test_outcome */
};

/* Runs the tests, prints a line for each and adds them up. */
void harness_perform(const struct harness *, struct tally *);
/* Prints "N passed, N failed, N skipped"; returns the exit code of the program. */
int harness_conclude(const struct harness *, const struct tally *);
/* Both. */
int harness_run(const struct harness *);
/* Runs one test once, whether or not it suits; says in `text` why it did not pass, and prints no line for it. */
enum test_outcome harness_attempt(const struct harness *, const struct test *, char *text, size_t size);

/* ---- In a test's process ---- */

extern int my_rank, process_count;

/* Every living process of the test brings `size` bytes (not 1); all get all, in rank order (absent processes: zeros). */
void gather(const void *mine, size_t size, void *all);
/* Returns when every living process of the test is there. */
void barrier(void);
/* Called over and over while gather() waits, so that a process without a NIC thread still answers.  NULL: not. */
void harness_while_waiting(void (*progress)(void));

/* Memory shared by all processes of this test, zero at first. */
void *shared_memory(void);
/* OS process id of a rank. */
pid_t pid_of(int rank);
/* Stops a process (SIGSTOP), waiting until every thread of it stands still, and lets it go on. */
void stop_process(int rank);
void continue_process(int rank);
/* From now on the process may be killed by a signal without failing the test. */
void expect_death(int rank);
/* fork() whose child dies with its parent and may use checks, but neither gather() nor barrier(). */
pid_t fork_child(void);
/* Waits for a child from fork_child() and fails unless it exited with 0; a race that it has lost is ours. */
void join_child(pid_t child);
/* ... unless it was killed. */
void join_killed_child(pid_t child);

_Noreturn void skip_test(const char *reason);
/* For what others decide: something was over before its process was killed, a port is another program's.  Five tries, and
   then the test has failed; so it must prove what its name says in each try that it does not give up. */
_Noreturn void lose_race(const char *reason);

/* Nanoseconds of the monotonic clock. */
uint64_t now_ns(void);
/* Nanoseconds of CPU that this process has used, all its threads together. */
uint64_t cpu_ns(void);

/* ---- Checks: a failed one ends the process and the test. Values are printed. ---- */

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		harness_here(__FILE__, __LINE__);                                                                      \
		if (!(condition))                                                                                      \
			fail_at(__FILE__, __LINE__, "%s", #condition);                                                 \
	} while (0)
#define CHECK_EQUAL(actual, expected)                                                                                  \
	check_equal_at(__FILE__, __LINE__, #actual " == " #expected, (long long)(actual), (long long)(expected))
#define CHECK_LESS(low, high)          check_less_at(__FILE__, __LINE__, #low " < " #high, (long long)(low), (long long)(high))
#define CHECK_STRING(actual, expected) check_string_at(__FILE__, __LINE__, #actual, actual, expected)
#define FAIL(...)                      fail_at(__FILE__, __LINE__, __VA_ARGS__)

/* Remembers where the process is, for the report if it hangs or crashes. */
void harness_here(const char *file, int line);
void fail_at(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
void check_equal_at(const char *file, int line, const char *text, long long actual, long long expected);
void check_less_at(const char *file, int line, const char *text, long long low, long long high);
void check_string_at(const char *file, int line, const char *text, const char *actual, const char *expected);

#endif
