/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page that a process with PTL_STAT=1 has for ptlstat: sealed memory without a name (memfd), mode 0600, which is found among
 * the process's descriptors (/proc/PID/fd) and vanishes with it.
 *
 * A reader raises `request` and wakes; the process answers, and writes down which request it has answered.  It reads
 * nothing else in the page but `wants_text`, which it repeats in its answer; the two decide nothing but whether it answers, and
 * with which text: any process of the user can write here.  The answer is guarded by `sequence`, which is odd while it is being written.
 */
#ifndef PORTALS_BASE_STAT_PAGE_H
#define PORTALS_BASE_STAT_PAGE_H

#include <linux/futex.h>
#include <portals3_nic.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STAT_PAGE_NAME       "portals3-stat"
#define STAT_PAGE_MAGIC      UINT64_C(0x3474617473337470) /* of this layout */
#define STAT_PAGE_INTERFACES 8
#define STAT_PAGE_TEXT       (252 << 10)

struct stat_interface {
	uint32_t
		life; /* 0: it is not open; else another number each time it is opened, when its counters begin again */
	uint32_t nid, pid, entries, descriptors, queues, operations, peers;
	uint64_t unread; /* events, in all queues */
	ptl_nic_counters_t counters;
	struct {
		uint64_t count, ns;
	} stages[PTL_STAGE_COUNT]; /* while the clocks are on */
};

/* What the text of an answer is to be. */
enum stat_text { STAT_NONE, STAT_QUEUES, STAT_TRACE, STAT_TEXTS };

struct stat_page {
	_Atomic uint64_t magic; /* 0: PtlFini was called, and nothing is answered any more */
	uint32_t unix_pid;      /* as the process itself sees it */
	char version[16];
	_Atomic uint32_t request; /* a futex */
	_Atomic uint32_t
		wants_text; /* of the next answer: enum stat_text, and a multiple of STAT_TEXTS that tells readers apart */
	/* Written before the engines are asked, so that it is there if one never answers. */
	_Atomic uint32_t owners[STAT_PAGE_INTERFACES]; /* enum nic_owner + 1; 0: not open */
	_Atomic uint32_t hosts_waiting[STAT_PAGE_INTERFACES];
	_Atomic uint32_t asking;   /* the interface that is being asked + 1; 0: none */
	_Atomic uint64_t asked_at; /* since when, CLOCK_MONOTONIC ns */

	_Atomic uint32_t answered; /* a futex */
	_Atomic uint32_t sequence;
	uint64_t at, text_at; /* when the two parts of the answer were written, CLOCK_MONOTONIC ns; 0: never */
	struct stat_interface interfaces[STAT_PAGE_INTERFACES];
	uint32_t text_for; /* what `wants_text` was: one reader at a time is answered, another asks again */
	uint32_t text_length;
	char text[STAT_PAGE_TEXT];
};

/* Between processes.  May return early. */
static inline void stat_page_sleep(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0);
}

static inline void stat_page_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

#endif
