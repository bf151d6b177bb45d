/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of behaviour tests, one per subject. */
#ifndef TESTS_BEHAVIOUR_H
#define TESTS_BEHAVIOUR_H

#include "tests/support/peers.h"

#define BEHAVIOUR_TABLES(X)                                                                                            \
	X(setting_tests)                                                                                               \
	X(error_tests)                                                                                                 \
	X(wait_tests)                                                                                                  \
	X(broken_tests)                                                                                                \
	X(told_tests)                                                                                                  \
	X(event_fd_tests)                                                                                              \
	X(revoke_tests)                                                                                                \
	X(contact_tests)                                                                                               \
	X(hold_tests)                                                                                                  \
	X(spoiled_tests)                                                                                               \
	X(failure_tests)                                                                                               \
	X(bound_tests)                                                                                                 \
	X(life_tests)                                                                                                  \
	X(process_tests)                                                                                               \
	X(cost_tests)

#define DECLARE_TABLE(table) extern const struct test table[];
BEHAVIOUR_TABLES(DECLARE_TABLE)
#undef DECLARE_TABLE

#endif
