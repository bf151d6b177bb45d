/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each puts to, gets from and swaps with every other, short and long messages in turn, and believes nothing:
 * bytes, order, number and success of everything are checked at both ends.
 */
#ifndef TESTS_HOSTS_TRAFFIC_H
#define TESTS_HOSTS_TRAFFIC_H

#include "tests/support/peers.h"

#define TRAFFIC_LENGTH 300000 /* of a long message: more than any transport sends with its header */

/* Opens the windows and learns the others' ids: every process of the test, together. */
void traffic_open(int count);
/* One step: issues what may be issued, takes what comes within a millisecond.  False: all is done, on both ends. */
bool traffic_step(void);
void traffic_finish(void);
/* What has ended so far between this process and another, on either end. */
int traffic_between(int rank);

#endif
