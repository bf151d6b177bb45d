/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of one node that are kept apart, or are many: the tables of tests, and what their tests share. */
#ifndef TESTS_CONTAINERS_H
#define TESTS_CONTAINERS_H

#include "tests/support/peers.h"

extern const struct test hardening_tests[], node_tests[];

/* Waits until `count` processes, children among them, have come here as often as this one; lets the engine work. */
void meet(unsigned count);

#endif
