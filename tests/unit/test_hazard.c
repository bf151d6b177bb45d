/* SPDX-License-Identifier: BSD-3-Clause */
/* Closed interfaces are freed, but not under a thread that has found one and not called it yet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <portals3.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "offload/nic.h"
#include "portals/process.h"

enum { KEPT = 64, MANY = 3 * KEPT, THREADS = 100, SHORT_LIVES = 2000 };

static ptl_handle_ni_t ni, other_ni;
static ptl_handle_eq_t eq, other_eq;
static unsigned opened, freed;
static const struct nic *observed; /* which must not be freed */
static bool freed_under_caller;
static _Atomic unsigned mappings;     /* that were not given back */
static _Atomic unsigned seconds_gone; /* all closed interfaces have rested at each close */

/* What this thread does between look-up and call; and whether it is refused memory. */
static _Thread_local void (*in_between)(void);
static _Thread_local bool refused;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names. */
int __wrap_nic_look(struct nic *, struct event_queue *, uint32_t, ptl_event_t *);
int __real_nic_look(struct nic *, struct event_queue *, uint32_t, ptl_event_t *);
void __wrap_nic_free(struct nic *);
void __real_nic_free(struct nic *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
int __real_clock_gettime(clockid_t, struct timespec *);
void *__wrap_mmap64(void *, size_t, int, int, int, off_t);
void *__real_mmap64(void *, size_t, int, int, int, off_t);
int __wrap_munmap(void *, size_t);
int __real_munmap(void *, size_t);

int __wrap_nic_look(struct nic *nic, struct event_queue *queue, uint32_t generation, ptl_event_t *event)
{
	void (*act)(void) = in_between;

	in_between = NULL;
	if (act)
		act();
	return __real_nic_look(nic, queue, generation, event);
}

void __wrap_nic_free(struct nic *nic)
{
	freed_under_caller |= nic == observed;
	freed++;
	__real_nic_free(nic);
}

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	mappings++;
	if (refused) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap64(at, size, protection, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t size)
{
	mappings--;
	return __real_munmap(at, size);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int rc = __real_clock_gettime(clock, now);

	now->tv_sec += clock == CLOCK_MONOTONIC ? (time_t)seconds_gone : 0;
	return rc;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void open_one(unsigned interface, ptl_handle_ni_t *handle, ptl_handle_eq_t *queue)
{
	assert_int_equal(PtlNIInit(interface, PTL_PID_ANY, NULL, NULL, handle), PTL_OK);
	opened++;
	if (queue)
		assert_int_equal(PtlEQAlloc(*handle, 4, PTL_EQ_HANDLER_NONE, queue), PTL_OK);
}

static void start(void)
{
	int most;

	assert_int_equal(PtlInit(&most), PTL_OK);
	opened = freed = 0;
	freed_under_caller = false;
	open_one(0, &ni, &eq);
	open_one(1, &other_ni, &other_eq);
}

static void reopen(unsigned times)
{
	while (times-- > 0) {
		seconds_gone += 2;
		assert_int_equal(PtlNIFini(ni), PTL_OK);
		open_one(0, &ni, NULL);
	}
}

static unsigned kept(void)
{
	return opened - 2 - freed;
}

/* PtlFini frees whatever there is. */
static void end(void)
{
	PtlFini();
	assert_int_equal(freed, opened);
}

static void *reopen_often(void *unused)
{
	(void)unused;
	reopen(MANY);
	return NULL;
}

static void others_reopen(void)
{
	pthread_t thread;

	observed = process_nic(eq);
	assert_int_equal(pthread_create(&thread, NULL, reopen_often, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(freed_under_caller);
	observed = NULL;
}

/* --- one caller --- */

static void caller_is_stalled(void)
{
	ptl_event_t event;

	start();
	in_between = others_reopen;
	assert_int_not_equal(PtlEQGet(eq, &event), PTL_OK);
	assert_int_equal(kept(), KEPT + 1);
	/* It has found the next, and so it does not need the last any more. */
	assert_int_equal(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	assert_int_equal(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	reopen(1);
	assert_int_equal(kept(), KEPT);
	end();
}

static void no_interface_is_freed_under_who_has_found_it_and_not_called_it_yet(void **state)
{
	(void)state;
	caller_is_stalled();
}

static void call_another_and_reopen(void)
{
	ptl_event_t event;

	assert_int_equal(PtlEQGet(other_eq, &event), PTL_EQ_EMPTY);
	others_reopen();
}

static void nor_if_a_handler_has_called_another_interface_meanwhile(void **state)
{
	ptl_event_t event;

	(void)state;
	start();
	in_between = call_another_and_reopen;
	assert_int_not_equal(PtlEQGet(eq, &event), PTL_OK);
	end();
}

static void nor_under_who_has_forked(void **state)
{
	int status;

	(void)state;
	start();
	pid_t child = fork();

	if (child == 0) {
		PtlFini();
		caller_is_stalled();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end();
}

/* --- many threads --- */

static struct {
	sem_t arrived, go;
	bool refuse;
} crowd;

static void stall(void)
{
	sem_post(&crowd.arrived);
	while (sem_wait(&crowd.go) != 0)
		;
}

static void *call_late(void *unused)
{
	ptl_event_t event;

	(void)unused;
	refused = crowd.refuse;
	in_between = stall;
	return PtlEQGet(eq, &event) != PTL_OK ? NULL : &crowd;
}

/* Each of them has found a life of its own, which ends. */
static void gather(pthread_t *threads)
{
	sem_init(&crowd.arrived, 0, 0);
	sem_init(&crowd.go, 0, 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, call_late, NULL), 0);
		while (sem_wait(&crowd.arrived) != 0)
			;
		reopen(1);
		assert_int_equal(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	}
}

static void scatter(const pthread_t *threads)
{
	void *wrong;

	for (int i = 0; i < THREADS; i++)
		sem_post(&crowd.go);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}

static void without_memory_for_names_nothing_is_freed_before_the_end(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	start();
	crowd.refuse = true;
	gather(threads);
	crowd.refuse = false;
	reopen(MANY);
	assert_int_equal(kept(), THREADS + MANY);
	scatter(threads);
	end();
}

static void callers_hold_one_interface_each_and_none_when_they_are_gone(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	start();
	gather(threads);
	reopen(MANY);
	assert_int_equal(kept(), THREADS + KEPT);
	scatter(threads);
	reopen(MANY);
	assert_int_equal(kept(), KEPT);
	end();
}

static void *call_once(void *unused)
{
	ptl_event_t event;

	(void)unused;
	return PtlEQGet(eq, &event) == PTL_EQ_EMPTY ? NULL : &crowd;
}

static void threads_that_come_and_go_use_the_same_names(void **state)
{
	pthread_t thread;
	void *wrong;

	(void)state;
	start();
	unsigned before = mappings;
	for (int i = 0; i < SHORT_LIVES; i++) {
		assert_int_equal(pthread_create(&thread, NULL, call_once, NULL), 0);
		assert_int_equal(pthread_join(thread, &wrong), 0);
		assert_null(wrong);
	}
	assert_int_equal(mappings, before);
	end();
}

/* --- all at once --- */

static struct {
	_Atomic ptl_handle_eq_t queue;
	_Atomic bool over;
	_Atomic unsigned met;
} race;

static void *call_all_the_time(void *unused)
{
	ptl_event_t event;

	(void)unused;
	while (!race.over)
		race.met += PtlEQGet(race.queue, &event) == PTL_EQ_EMPTY;
	return NULL;
}

/* The sanitizers say whether it holds. */
static void callers_and_closers_run_side_by_side(void **state)
{
	pthread_t threads[4];

	(void)state;
	start();
	race.queue = eq;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_all_the_time, NULL), 0);
	for (int i = 0; i < SHORT_LIVES; i++) {
		unsigned met = race.met;

		reopen(1);
		assert_int_equal(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
		race.queue = eq;
		while (i % 16 == 0 && race.met == met)
			sched_yield();
	}
	race.over = true;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	reopen(MANY);
	assert_int_equal(kept(), KEPT);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_interface_is_freed_under_who_has_found_it_and_not_called_it_yet),
		cmocka_unit_test(nor_if_a_handler_has_called_another_interface_meanwhile),
		cmocka_unit_test(nor_under_who_has_forked),
		cmocka_unit_test(without_memory_for_names_nothing_is_freed_before_the_end),
		cmocka_unit_test(callers_hold_one_interface_each_and_none_when_they_are_gone),
		cmocka_unit_test(threads_that_come_and_go_use_the_same_names),
		cmocka_unit_test(callers_and_closers_run_side_by_side),
	};

	setenv("PTL_TRANSPORT", "self", 1);
	setenv("PTL_NIC_MODE", "host", 1);
	setenv("PTL_IFACE", "lo", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
