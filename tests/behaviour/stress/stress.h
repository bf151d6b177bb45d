/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of stress tests. */
#ifndef TESTS_STRESS_H
#define TESTS_STRESS_H

#include "tests/support/peers.h"

extern const struct test thread_tests[], oversubscription_tests[], churn_tests[];

static inline uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

#endif
