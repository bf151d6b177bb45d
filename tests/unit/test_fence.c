/* SPDX-License-Identifier: BSD-3-Clause */
/* Fences with a launcher of our own, which ends them when the test wants it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "portals/runtime/fence.h"
#include "portals/runtime/launcher.h"

#define FOR_EVER UINT64_MAX
#define THREADS  4

/* ---- Our launcher ---- */

static _Atomic unsigned begun;
static unsigned ended;
static launcher_fence_ended *end;
static int refuses, at_once; /* at_once: all others have come already */

int launcher_fence(launcher_fence_ended *ended_)
{
	if (refuses)
		return refuses;
	end = ended_;
	begun++;
	if (at_once) {
		ended++;
		end(0);
	}
	return 0;
}

static void all_have_come(int result)
{
	ended++;
	end(result);
}

/* ---- The tests ---- */

static int start_anew(void **state)
{
	(void)state;
	begun = ended = 0;
	refuses = at_once = 0;
	return 0;
}

static void who_comes_last_does_not_wait(void **state)
{
	(void)state;
	at_once = 1;
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(fence_wait(i == 1 ? 0 : FOR_EVER, NULL, NULL), 0);
		assert_int_equal(begun, i);
	}
}

/* A launcher counts processes: one that came and left again has come. */
static void who_gave_up_waiting_goes_on_with_the_same_fence(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(fence_wait(1000000, NULL, NULL), -ETIMEDOUT);
	assert_int_equal(begun, 1);
	all_have_come(0);
	assert_int_equal(fence_wait(0, NULL, NULL), 0);
	assert_int_equal(begun, 1);
	assert_int_equal(fence_wait(0, NULL, NULL), -ETIMEDOUT);
	assert_int_equal(begun, 2);
	all_have_come(0);
	assert_int_equal(fence_wait(FOR_EVER, NULL, NULL), 0);
}

static void a_fence_that_failed_is_told_and_the_next_is_another(void **state)
{
	(void)state;
	assert_int_equal(fence_wait(0, NULL, NULL), -ETIMEDOUT);
	all_have_come(-EIO);
	assert_int_equal(fence_wait(FOR_EVER, NULL, NULL), -EIO);
	refuses = -ESHUTDOWN;
	assert_int_equal(fence_wait(FOR_EVER, NULL, NULL), -ESHUTDOWN);
	refuses = 0;
	at_once = 1;
	assert_int_equal(fence_wait(FOR_EVER, NULL, NULL), 0);
	assert_int_equal(begun, 2);
}

static unsigned steps;

static void step(void *unused)
{
	(void)unused;
	if (++steps == 3)
		all_have_come(0);
}

/* Here the others come only because their messages are answered. */
static void an_engine_that_nobody_else_drives_is_driven_meanwhile(void **state)
{
	(void)state;
	steps = 0;
	assert_int_equal(fence_wait(FOR_EVER, step, NULL), 0);
	assert_int_equal(steps, 3);
}

static void *wait_for_ever(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)fence_wait(FOR_EVER, NULL, NULL);
}

static void threads_that_wait_at_the_same_time_leave_together(void **state)
{
	pthread_t threads[THREADS];
	void *result;

	(void)state;
	for (unsigned round = 1; round <= 100; round++) {
		assert_int_equal(fence_wait(0, NULL, NULL), -ETIMEDOUT);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ever, NULL), 0);
		/* A process that came too late for that one began another. */
		all_have_come(0);
		for (int i = 0; i < THREADS; i++) {
			while (pthread_tryjoin_np(threads[i], &result)) {
				if (ended < begun)
					all_have_come(0);
				sched_yield();
			}
			assert_ptr_equal(result, NULL);
		}
		while (fence_wait(0, NULL, NULL) == -ETIMEDOUT)
			all_have_come(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(who_comes_last_does_not_wait, start_anew),
		cmocka_unit_test_setup(who_gave_up_waiting_goes_on_with_the_same_fence, start_anew),
		cmocka_unit_test_setup(a_fence_that_failed_is_told_and_the_next_is_another, start_anew),
		cmocka_unit_test_setup(an_engine_that_nobody_else_drives_is_driven_meanwhile, start_anew),
		cmocka_unit_test_setup(threads_that_wait_at_the_same_time_leave_together, start_anew),
	};

	return cmocka_run_group_tests_name("fence", tests, NULL, NULL);
}
