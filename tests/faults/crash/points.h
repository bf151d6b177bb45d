/* SPDX-License-Identifier: BSD-3-Clause */
/* The fault points in transports/node/node*.c (base/fault.h), in the order in which a message meets them. */
#ifndef TESTS_CRASH_POINTS_H
#define TESTS_CRASH_POINTS_H

enum trait_of_point {
	POINT_BLOCKS = 1, /* a process that stands still there holds up all that send to the same process: some 20 ns */
	POINT_SPLITS = 2, /* passed only where processes may write into each other's memory */
	POINT_PULLS = 4,  /* ... may not read each other's memory, or have chosen not to */
	POINT_COPIES = 8, /* ... may read each other's memory */
	POINT_ALONE = 16, /* passed a few times in the life of a process: first contact */
};

#define CRASH_POINTS(X)                                                                                                \
	/* First contact. */                                                                                           \
	X("control-before", POINT_ALONE) /* before each datagram of first contact */                                   \
	X("control-taken", POINT_ALONE)  /* after each, before it is acted on */                                       \
	X("peer-mapped", POINT_ALONE)    /* after the peer's segment is mapped, before it is known */                  \
	X("peer-open", POINT_ALONE)                                                                                    \
	/* Sending a record. */                                                                                        \
	X("slab-before-record", 0)                                                                                     \
	X("send-before-intent", 0)                                                                                     \
	X("send-after-intent", POINT_BLOCKS) /* as far as others can tell, it may have won the lines */                \
	X("send-after-reserve", POINT_BLOCKS)                                                                          \
	X("send-before-first-line", POINT_BLOCKS)                                                                      \
	X("send-after-first-line", 0) /* before the receiver's attention is looked at */                               \
	X("slab-after-record", 0)                                                                                      \
	X("wake-before", 0)                                                                                            \
	X("wake-after", 0)                                                                                             \
	/* Receiving one. */                                                                                           \
	X("poll", 0)                                                                                                   \
	X("receive-before-copy", 0)                                                                                    \
	X("receive-after-copy", 0)                                                                                     \
	X("receive-before-head", 0)                                                                                    \
	X("sleep-before-attention", 0)                                                                                 \
	X("sleep-after-attention", 0)                                                                                  \
	X("wake", 0)                                                                                                   \
	/* Long data. */                                                                                               \
	X("read-before", POINT_COPIES)                                                                                 \
	X("read-after", POINT_COPIES)                                                                                  \
	X("split-asked", POINT_SPLITS)                                                                                 \
	X("split-claimed", POINT_SPLITS)                                                                               \
	X("split-written", POINT_SPLITS)                                                                               \
	X("split-done", POINT_SPLITS)                                                                                  \
	X("pull-asked", POINT_PULLS)                                                                                   \
	X("pull-before-piece", POINT_PULLS)                                                                            \
	X("pull-before-copy", POINT_PULLS)

#endif
