/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a machine is too busy to measure on it, by what its kernel says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/busy.h"

/* Of a kernel that says this; an empty text: it has no such file. */
static struct machine_load read_texts(const char *loadavg, const char *stat, double clock_s)
{
	FILE *files[2] = {*loadavg ? fmemopen((char *)(uintptr_t)loadavg, strlen(loadavg), "r") : NULL,
			  *stat ? fmemopen((char *)(uintptr_t)stat, strlen(stat), "r") : NULL};
	struct machine_load load = {.clock_s = clock_s};

	busy_read(&load, files[0], files[1]);
	for (int i = 0; i < 2; i++)
		if (files[i])
			fclose(files[i]);
	return load;
}

static struct machine_load idle_at(double clock_s)
{
	return read_texts("0.10 0.20 0.30 1/100 4242\n", "cpu 100 0 50 100000 7 1 2 0 0 0\n", clock_s);
}

static void the_kernels_numbers_are_read(void **state)
{
	const double ticks = (double)sysconf(_SC_CLK_TCK);
	const struct machine_load load =
		read_texts("1.50 0.20 0.30 4/100 4242\n", "cpu 100 20 50 100000 7 1 2 33 5 0\n", 0);

	(void)state;
	assert_true(load.average == 1.5);
	assert_int_equal(load.runnable, 3); /* without the reader */
	assert_true(fabs(load.busy_s - 173 / ticks) < 1e-9);
	assert_true(fabs(load.stolen_s - 33 / ticks) < 1e-9);
}

static void an_idle_machine_is_not_busy(void **state)
{
	const struct machine_load begin = idle_at(0), end = idle_at(10);

	(void)state;
	assert_false(busy_spoils(&begin, &end, 2, 2));
	assert_true(busy_stolen_percent(&begin, &end, 2) == 0);
}

static void threads_that_want_to_run_are_a_reason(void **state)
{
	const struct machine_load begin = idle_at(0);
	struct machine_load end = idle_at(10);

	(void)state;
	end.runnable = 2;
	assert_true(busy_spoils(&begin, &end, 2, 2));
	assert_false(busy_spoils(&begin, &end, 4, 4));
}

static void a_load_average_is_a_reason_unless_it_is_left_out(void **state)
{
	const struct machine_load begin = idle_at(0);
	struct machine_load end = idle_at(10);

	(void)state;
	end.average = 3;
	assert_true(busy_spoils(&begin, &end, 4, 4));
	end.average = NAN;
	assert_false(busy_spoils(&begin, &end, 4, 4));
}

static void what_a_hypervisor_takes_is_a_reason(void **state)
{
	const struct machine_load begin = idle_at(0);
	struct machine_load end = idle_at(10);

	(void)state;
	end.stolen_s = begin.stolen_s + 0.15;
	assert_false(busy_spoils(&begin, &end, 2, 2));
	end.stolen_s = begin.stolen_s + 0.5;
	assert_true(fabs(busy_stolen_percent(&begin, &end, 2) - 2.5) < 1e-9);
	assert_true(busy_spoils(&begin, &end, 2, 2));
	assert_false(busy_spoils(&begin, &end, 64, 64));
}

static void one_tick_in_a_short_time_is_no_reason(void **state)
{
	const struct machine_load begin = idle_at(0);
	struct machine_load end = idle_at(0.05);

	(void)state;
	end.stolen_s = begin.stolen_s + 0.01;
	assert_true(isnan(busy_stolen_percent(&begin, &end, 2)));
	assert_false(busy_spoils(&begin, &end, 2, 2));
}

static void too_few_processors_that_are_allowed_are_a_reason(void **state)
{
	const struct machine_load begin = idle_at(0), end = idle_at(10);

	(void)state;
	assert_true(busy_spoils(&begin, &end, 64, 1));
	assert_false(busy_spoils(&begin, &end, 64, 2));
}

static void what_the_kernel_does_not_tell_is_no_reason(void **state)
{
	const struct machine_load begin = read_texts("", "", 0), end = read_texts("", "intr 5\n", 10);

	(void)state;
	assert_true(isnan(end.average) && isnan(end.stolen_s) && isnan(end.busy_s));
	assert_int_equal(end.runnable, 0);
	assert_false(busy_spoils(&begin, &end, 2, 2));
	assert_false(busy_spoils(&end, &end, 2, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_numbers_are_read),
		cmocka_unit_test(an_idle_machine_is_not_busy),
		cmocka_unit_test(threads_that_want_to_run_are_a_reason),
		cmocka_unit_test(a_load_average_is_a_reason_unless_it_is_left_out),
		cmocka_unit_test(what_a_hypervisor_takes_is_a_reason),
		cmocka_unit_test(one_tick_in_a_short_time_is_no_reason),
		cmocka_unit_test(too_few_processors_that_are_allowed_are_a_reason),
		cmocka_unit_test(what_the_kernel_does_not_tell_is_no_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
