/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of compare's rows, in their order. */
#ifndef PTLBENCH_COMPARE_TESTS_H
#define PTLBENCH_COMPARE_TESTS_H

#define COMPARE_TESTS                                                                                                  \
	"put-latency, get-latency, rewritten, rate, put-bandwidth, get-bandwidth, match-depth, unexpected, overlap, "  \
	"loaded, dedicated, self, tcp-latency, tcp-bandwidth, net-latency, net-bandwidth"

#endif
