/* SPDX-License-Identifier: BSD-3-Clause */
/* Yields become rare where no thread wants the core, whatever one costs here, and soon where one does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>

#include "offload/yield.h"

/* A machine whose yields cost what the test says. */
static uint64_t bare_ns, others_ns;
static long switched;
static unsigned yields, asked;
static uint32_t partner; /* where it was seen; 0: not known */

int __wrap_sched_yield(void);
int __wrap_getrusage(int who, struct rusage *usage);
int __wrap_sched_getcpu(void);

int __wrap_sched_getcpu(void)
{
	return 2;
}

int __wrap_sched_yield(void)
{
	uint64_t until = monotonic_ns() + bare_ns + others_ns;

	while (monotonic_ns() < until)
		;
	yields++;
	switched += others_ns > 0;
	return 0;
}

int __wrap_getrusage(int who, struct rusage *usage)
{
	(void)who;
	asked++;
	memset(usage, 0, sizeof(*usage));
	usage->ru_nivcsw = switched;
	return 0;
}

/* Polls until the next yield is due, so many times; how often others are said to have had the core. */
static unsigned poll_for(struct yielder *yielder, unsigned times)
{
	unsigned away = 0;

	for (yields = 0; yields < times;)
		away += adaptive_yield(yielder, partner);
	return away;
}

/* On a loaded machine another may indeed have the core meanwhile: it has to happen in one of many rounds. */
static void assert_yields_become_rare(struct yielder *yielder)
{
	for (int round = 0; round < 1000; round++) {
		poll_for(yielder, 12);
		if (yielder->interval >= cycles_in(32 * bare_ns))
			return;
	}
	fail_msg("a yield of %d ns that finds nobody is taken for one that ran somebody", (int)bare_ns);
}

static void yields_that_find_nobody_become_rare_whatever_they_cost(void **state)
{
	struct yielder yielder = {0};

	(void)state;
	others_ns = 0;
	bare_ns = 1000;
	assert_yields_become_rare(&yielder);
}

/* Two processes that pass a message to and fro on one core: to ask costs as much as the yield. */
static void the_kernel_is_asked_rarely_while_each_yield_runs_another_thread(void **state)
{
	struct yielder yielder = {0};

	(void)state;
	bare_ns = 500;
	others_ns = 500;
	asked = 0;
	assert_int_equal(poll_for(&yielder, 1024), 1024);
	assert_in_range(asked, 1, 1024 / 16);
}

static void the_price_of_a_yield_is_learnt_beside_others_too(void **state)
{
	struct yielder yielder = {0};

	(void)state;
	bare_ns = 2000;
	others_ns = 30000; /* the first yields all run another thread */
	assert_true(poll_for(&yielder, 20) > 0);
	others_ns = 0;
	assert_yields_become_rare(&yielder);
}

static void whoever_runs_others_yields_soon_again(void **state)
{
	struct yielder yielder = {0};

	(void)state;
	bare_ns = 1000;
	others_ns = 0;
	assert_yields_become_rare(&yielder);
	others_ns = 20000;
	assert_int_equal(poll_for(&yielder, 50), 50);
	assert_true(yielder.interval <= cycles_in(4 * bare_ns));
}

/* A processor that is throttled, or was fast only at first. */
static void a_yield_that_has_become_dearer_is_learnt_anew(void **state)
{
	struct yielder yielder = {0};

	(void)state;
	bare_ns = 1000;
	others_ns = 0;
	assert_yields_become_rare(&yielder);
	bare_ns = 5000;
	assert_yields_become_rare(&yielder);
}

/* A thread that computes here takes a slice for each yield: few are made for a thread that does not need this core. */
static void past_a_partner_elsewhere_yields_take_little_of_the_time(void **state)
{
	struct yielder yielder = {0};
	const uint64_t began = monotonic_ns(), slice = 3000000;

	(void)state;
	others_ns = (unsigned)slice;
	partner = 1 + 3;
	for (yields = 0; monotonic_ns() - began < 100000000;)
		adaptive_yield(&yielder, partner);
	assert_in_range(yields, 1, 1 + (monotonic_ns() - began) / (16 * slice));
	partner = 1 + 2; /* it has come here */
	poll_for(&yielder, 50);
	partner = 0;
}

/* A third process, without which the partner does not get on, wants this core for a message. */
static void past_a_partner_elsewhere_the_core_is_given_to_who_gives_it_back_soon(void **state)
{
	struct yielder yielder = {0};
	const uint64_t until = monotonic_ns() + 10000000000;

	(void)state;
	others_ns = 2000;
	partner = 1 + 3;
	for (yields = 0; yields < 20 && monotonic_ns() < until;)
		adaptive_yield(&yielder, partner);
	partner = 0;
	others_ns = 0;
	assert_true(yields >= 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* In this order: what is learnt is the process's, and becomes less sooner than more. */
		cmocka_unit_test(the_kernel_is_asked_rarely_while_each_yield_runs_another_thread),
		cmocka_unit_test(the_price_of_a_yield_is_learnt_beside_others_too),
		cmocka_unit_test(yields_that_find_nobody_become_rare_whatever_they_cost),
		cmocka_unit_test(whoever_runs_others_yields_soon_again),
		cmocka_unit_test(a_yield_that_has_become_dearer_is_learnt_anew),
		cmocka_unit_test(past_a_partner_elsewhere_yields_take_little_of_the_time),
		cmocka_unit_test(past_a_partner_elsewhere_the_core_is_given_to_who_gives_it_back_soon),
	};

	return cmocka_run_group_tests_name("yield", tests, NULL, NULL);
}
