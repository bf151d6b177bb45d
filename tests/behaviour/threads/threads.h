/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs with several threads, forked children, several interfaces and untidy ends depend on.  Besides these
 * tables the program runs two that exist already: every call from every thread (conformance, 3.20) and threads that put,
 * get, attach and unlink under a storm of signals (stress).
 */
#ifndef TESTS_THREADS_H
#define TESTS_THREADS_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/peers.h"
#include "tests/support/resources.h"

#define THREAD_TABLES(X)                                                                                               \
	X(waiter_tests)                                                                                                \
	X(handler_tests)                                                                                               \
	X(closing_tests)                                                                                               \
	X(fork_tests)                                                                                                  \
	X(interface_tests)                                                                                             \
	X(exit_tests)                                                                                                  \
	X(cancelled_tests)                                                                                             \
	X(bare_tests)                                                                                                  \
	X(cpu_tests)

#define DECLARE_TABLE(table) extern const struct test table[];
THREAD_TABLES(DECLARE_TABLE)
#undef DECLARE_TABLE

static inline void start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
	CHECK(pthread_create(thread, NULL, run, argument) == 0);
}

#endif
