/* SPDX-License-Identifier: BSD-3-Clause */
/* A harness that cannot fail proves nothing: every way a test can go wrong must end in exit code 1 and say where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/harness.h"

static char output[8192];

/* Runs one test in a runner of its own; returns the runner's exit code and leaves what it printed in `output`. */
static int run(struct test test)
{
	struct test table[] = {test, {0}};
	const struct test *tables[] = {table, NULL};
	struct harness harness = {.tables = tables};
	int file = memfd_create("runner-output", 0), status = 0;
	fflush(stdout);
	pid_t runner = fork();
	assert_true(runner >= 0);
	if (runner == 0) {
		dup2(file, STDOUT_FILENO);
		_exit((harness_run(&harness) & 0x7f) | (fflush(stdout) ? 0x80 : 0));
	}
	assert_int_equal(waitpid(runner, &status, 0), runner);
	assert_true(WIFEXITED(status));
	ssize_t got = pread(file, output, sizeof(output) - 1, 0);
	assert_true(got >= 0);
	output[got] = 0;
	close(file);
	return WEXITSTATUS(status);
}

static void assert_output(const char *part)
{
	if (strstr(output, part) == NULL)
		fail_msg("\"%s\" is not in the output:\n%s", part, output);
}

static void meets_and_gathers(void)
{
	uint64_t mine = 100u + (unsigned)my_rank, all[3];
	gather(&mine, sizeof(mine), all);
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQUAL(all[i], 100 + i);
	barrier();
	CHECK(pid_of(my_rank) == getpid());
}

static void fails_a_comparison(void)
{
	CHECK_EQUAL(2 + my_rank, 7);
}

static void fails_while_others_wait(void)
{
	if (my_rank == 1)
		CHECK(my_rank == 5);
	barrier();
}

static void hangs(void)
{
	CHECK(true);
	for (;;)
		pause();
}

static void crashes(void)
{
	signal(SIGSEGV, SIG_DFL); /* past a sanitizer's handler */
	raise(SIGSEGV);
}

static void exits_with_three(void)
{
	fprintf(stderr, "a last word\n");
	exit(3);
}

static void is_killed_as_announced(void)
{
	if (my_rank == 1) {
		expect_death(1);
		raise(SIGKILL);
	}
	barrier();
	uint64_t mine = 9, all[3];
	gather(&mine, sizeof(mine), all);
	CHECK_EQUAL(all[1], 0);
	CHECK_EQUAL(all[2], 9);
}

static void skips(void)
{
	skip_test("nothing to test here");
}

static atomic_int *rounds; /* outlive the processes */

static void loses_at_first(void)
{
	if (atomic_fetch_add(rounds, 1) < 2 * process_count)
		lose_race("it was over");
}

static void has_a_child_that_loses_at_first(void)
{
	pid_t child = fork_child();
	if (child == 0) {
		loses_at_first();
		_exit(0);
	}
	join_child(child);
}

static void loses_always(void)
{
	lose_race("it was over");
}

static void sees_its_environment(void)
{
	CHECK_STRING(getenv("HARNESS_A"), "1");
	CHECK_STRING(getenv("HARNESS_B"), "two");
}

static void has_a_failing_child(void)
{
	pid_t child = fork_child();
	if (child == 0)
		_exit(4);
	join_child(child);
}

static void test_a_good_test_passes(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "good", .run = meets_and_gathers, .processes = 3}), 0);
	assert_output("ok   good");
	assert_output("1 passed, 0 failed, 0 skipped");
}

static void test_a_failed_check_fails_and_says_where_and_what(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "bad", .run = fails_a_comparison, .processes = 1}), 1);
	assert_output("FAIL bad: ");
	assert_output("test_harness.c:");
	assert_output("2 + my_rank == 7 (2 [0x2] and 7 [0x7])");
	assert_output("0 passed, 1 failed, 0 skipped");
}

static void test_one_failing_process_ends_those_that_wait(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "bad", .run = fails_while_others_wait, .processes = 3}), 1);
	assert_output("process 1: my_rank == 5");
}

static void test_a_hanging_test_fails_with_its_last_place(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "slow", .run = hangs, .processes = 2, .seconds = 3}), 1);
	assert_output("no end after");
	assert_output("; process 1 after ");
	assert_output("test_harness.c:");
}

static void test_a_crash_fails(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "crash", .run = crashes, .processes = 1}), 1);
	assert_output("died of signal 11");
}

static void test_an_exit_code_fails_and_output_is_shown(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "exit", .run = exits_with_three, .processes = 1}), 1);
	assert_output("exited with code 3");
	assert_output("a last word");
}

static void test_an_announced_death_passes(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "death", .run = is_killed_as_announced, .processes = 3}), 0);
}

static void test_a_skip_names_its_reason(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "skip", .run = skips, .processes = 1}), 0);
	assert_output("skip skip: nothing to test here");
	assert_output("0 passed, 0 failed, 1 skipped");
}

static void test_a_lost_race_is_run_again_but_not_for_ever(void **state)
{
	(void)state;
	rounds = mmap(NULL, sizeof(*rounds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(rounds, MAP_FAILED);
	assert_int_equal(run((struct test){.name = "race", .run = loses_at_first, .processes = 1}), 0);
	assert_output("ok   race");
	assert_int_equal(atomic_load(rounds), 3);
	atomic_store(rounds, 0);
	assert_int_equal(run((struct test){.name = "race", .run = has_a_child_that_loses_at_first, .processes = 1}), 0);
	assert_int_equal(atomic_load(rounds), 3);
	assert_int_equal(run((struct test){.name = "race", .run = loses_always, .processes = 2}), 1);
	assert_output("FAIL race: it was over");
}

static void test_the_environment_is_set(void **state)
{
	(void)state;
	struct test test = {.name = "env", .run = sees_its_environment, .processes = 1};
	test.environment = "HARNESS_A=1 HARNESS_B=two";
	assert_int_equal(run(test), 0);
}

static void test_a_failing_child_fails(void **state)
{
	(void)state;
	assert_int_equal(run((struct test){.name = "child", .run = has_a_failing_child, .processes = 1}), 1);
	assert_output("child ended with status 0x400");
}

static void test_a_pattern_without_a_test_fails(void **state)
{
	(void)state;
	struct test table[] = {{.name = "something", .run = skips, .processes = 1}, {0}};
	const struct test *tables[] = {table, NULL};
	struct harness harness = {.tables = tables, .only = "nothing like it"};
	assert_int_equal(harness_run(&harness), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_test_passes),
		cmocka_unit_test(test_a_failed_check_fails_and_says_where_and_what),
		cmocka_unit_test(test_one_failing_process_ends_those_that_wait),
		cmocka_unit_test(test_a_hanging_test_fails_with_its_last_place),
		cmocka_unit_test(test_a_crash_fails),
		cmocka_unit_test(test_an_exit_code_fails_and_output_is_shown),
		cmocka_unit_test(test_an_announced_death_passes),
		cmocka_unit_test(test_a_skip_names_its_reason),
		cmocka_unit_test(test_a_lost_race_is_run_again_but_not_for_ever),
		cmocka_unit_test(test_the_environment_is_set),
		cmocka_unit_test(test_a_failing_child_fails),
		cmocka_unit_test(test_a_pattern_without_a_test_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
