/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of errors of libraries that could not have a descriptor; and where texts are kept when there are many keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"

static int left, refusal; /* descriptors, and what the next one is refused with */

int __real_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags)
{
	if (left-- > 0)
		return __real_eventfd(count, flags);
	errno = refusal;
	return -1;
}

static int cause(int error, int descriptors, int reason)
{
	left = descriptors;
	refusal = reason;
	return report_cause(error);
}

static void what_descriptors_are_refused_with_is_the_cause(void **state)
{
	(void)state;
	assert_int_equal(cause(-EIO, 0, EMFILE), -EMFILE);
	assert_int_equal(cause(-ELIBACC, 2, EMFILE), -EMFILE);
	assert_int_equal(cause(-EIO, 2, ENFILE), -ENFILE);
	assert_int_equal(cause(-EIO, 0, ENOMEM), -ENOMEM);
	left = 0;
	refusal = ENFILE;
	assert_non_null(strstr(report_descriptor_hint(-EIO), "fs.file-max"));
}

/* Such as a kernel or a filter without eventfd(). */
static void what_is_no_lack_of_descriptors_is_no_cause(void **state)
{
	(void)state;
	assert_int_equal(cause(-EIO, 100, EMFILE), -EIO);
	assert_int_equal(cause(-EIO, 0, ENOSYS), -EIO);
	assert_int_equal(cause(-EIO, 0, EPERM), -EIO);
	assert_int_equal(cause(-EINVAL, 0, EMFILE), -EINVAL);
}

static _Atomic int kept; /* by a thread, with a key */

/* As in a process that loads the library late. */
__attribute__((constructor(101))) static void make_keys(void)
{
	const char *keys = getenv("KEYS");
	pthread_key_t key;

	for (int i = keys ? atoi(keys) : 0; i > 0; i--)
		pthread_key_create(&key, NULL);
}

int __real_pthread_setspecific(pthread_key_t, const void *);
int __wrap_pthread_setspecific(pthread_key_t, const void *);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	kept++;
	return __real_pthread_setspecific(key, value);
}

static void *prepare_and_report(void *early)
{
	kept = 0;
	report_prepare();
	*(bool *)early = kept > 0;
	report_error(-EINVAL, "%s", "a text");
	return kept == 1 && strcmp(report_last_error(), "a text") == 0 ? early : NULL;
}

/* glibc allocates for the 33rd key and those after it, and a thread's first call may be in a signal handler. */
static void texts_are_made_early_if_that_takes_no_memory(void **state)
{
	pthread_t thread;
	bool early;
	void *right;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, prepare_and_report, &early), 0);
	assert_int_equal(pthread_join(thread, &right), 0);
	assert_non_null(right);
	assert_int_equal(early, !getenv("KEYS"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_descriptors_are_refused_with_is_the_cause),
		cmocka_unit_test(what_is_no_lack_of_descriptors_is_no_cause),
		cmocka_unit_test(texts_are_made_early_if_that_takes_no_memory),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
