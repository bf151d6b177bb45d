/* SPDX-License-Identifier: BSD-3-Clause */
/* A word of shared memory that the kernel changes when the thread that holds it ends, in every way that there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/robust.h"

static struct {
	_Atomic uint32_t word;
} * shared;
static int to_child[2], from_child[2];

static int set_up(void **state)
{
	(void)state;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}

static int clear(void **state)
{
	(void)state;
	atomic_store(&shared->word, 0);
	return pipe(to_child) || pipe(from_child);
}

static int close_pipes(void **state)
{
	(void)state;
	return close(to_child[0]) || close(to_child[1]) || close(from_child[0]) || close(from_child[1]);
}

static void say(int fd)
{
	while (write(fd, "", 1) < 0 && errno == EINTR)
		;
}

static void hear(int fd)
{
	char byte;

	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
}

static struct robust robust;

/* Holds the word until it is told to end, or, where others are told things, until its image does. */
static void *hold(void *for_ever)
{
	robust_hold(&robust, &shared->word);
	say(from_child[1]);
	while (for_ever)
		pause();
	hear(to_child[0]);
	return NULL;
}

static pthread_t start_holder(void)
{
	pthread_t holder;

	assert_int_equal(pthread_create(&holder, NULL, hold, NULL), 0);
	hear(from_child[0]);
	return holder;
}

static uint32_t word(void)
{
	return atomic_load(&shared->word);
}

/* The system that the test runs on may have none (an emulator): then it does not know the call at all. */
static void need_lists(void)
{
	if (syscall(SYS_set_robust_list, NULL, 0) < 0 && errno == ENOSYS)
		skip();
}

static void need_word(void)
{
	need_lists();
	assert_int_not_equal(word(), 0);
	assert_false(word() & ROBUST_DIED);
}

static void a_thread_that_ends_changes_it(void **state)
{
	(void)state;
	pthread_t holder = start_holder();

	need_word();
	say(to_child[1]);
	pthread_join(holder, NULL);
	assert_true(word() & ROBUST_DIED);
}

/* Another thread of that process goes on, to what `end` does. */
static pid_t start_process(void (*end)(void))
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!pthread_create(&(pthread_t){0}, NULL, hold, &robust);
		hear(to_child[0]);
		end();
		_exit(1);
	}
	hear(from_child[0]);
	return child;
}

static void stay(void)
{
	for (;;)
		pause();
}

static void a_process_that_is_killed_changes_it(void **state)
{
	(void)state;
	pid_t child = start_process(stay);
	uint32_t id = word();

	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	need_lists();
	assert_int_not_equal(id, 0);
	assert_true(word() & ROBUST_DIED);
}

/* The new image says so by what it writes, and lives until its input ends. */
static void replace_image(void)
{
	dup2(to_child[0], 0);
	dup2(from_child[1], 1);
	close(to_child[1]);
	execl("/bin/sh", "sh", "-c", "printf x; read -r line", NULL);
}

static void another_image_changes_it_while_the_process_lives(void **state)
{
	(void)state;
	pid_t child = start_process(replace_image);
	uint32_t id = word();
	int status;

	say(to_child[1]);
	hear(from_child[0]);
	bool died = word() & ROBUST_DIED;

	assert_int_equal(kill(child, 0), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	need_lists();
	assert_int_not_equal(id, 0);
	assert_true(died);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_thread_that_ends_changes_it, clear, close_pipes),
		cmocka_unit_test_setup_teardown(a_process_that_is_killed_changes_it, clear, close_pipes),
		cmocka_unit_test_setup_teardown(another_image_changes_it_while_the_process_lives, clear, close_pipes),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
