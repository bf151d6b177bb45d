/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_LAYERS_H
#define TESTS_LAYERS_H

#include "tests/support/peers.h"

extern const struct test am_tests[];
extern const struct test rm_tests[];
extern const struct test splitc_tests[];
extern const struct test object_store_tests[];
extern const struct test object_fault_tests[];
extern const struct test object_crash_tests[];
extern const struct test object_power_tests[];

#endif
