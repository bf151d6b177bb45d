/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_HOSTS_HOSTS_H
#define TESTS_HOSTS_HOSTS_H

#include "tests/faults/hosts/wire.h"
#include "tests/support/peers.h"

#define HOSTS 2 /* rank r begins on host r % HOSTS of the wire; the third host has only processes that go there */

#define FOUR(test)                                                                                                     \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 4, .traits = TRAIT_SEVERAL                                    \
	}

extern const struct test together_tests[], impaired_tests[], vanish_tests[];

#endif
