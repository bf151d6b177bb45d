/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of errors of libraries that could not have a descriptor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_descriptors_are_refused_with_is_the_cause),
		cmocka_unit_test(what_is_no_lack_of_descriptors_is_no_cause),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
