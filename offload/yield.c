/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a yield costs that finds no other thread differs by a factor of three among machines and by more under a hypervisor, so
 * all times here are multiples of it.  It is the least that a yield has taken in this process of those that the kernel
 * says have not changed threads (its count of involuntary switches, which is where a yield counts); it is asked for the
 * first few only, being a system call itself, and not again behind one that did run another thread: two processes that pass a
 * message to and fro on one core have no others.  Such a yield contains two changes of threads more.
 *
 * Processors become slower, too.  So after DOUBT yields in a row that seem to have run another the kernel is asked about one
 * more: if it found none, that is what a yield costs now, until another one costs less.
 */
#include "offload/yield.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define SAMPLES 16  /* yields known to have found no other thread, before the least of them is believed */
#define QUICK   2   /* at most so many times the least: found none */
#define DOUBT   128 /* yields in a row that seem to have run another thread */
#define SOON    1   /* in multiples of the least: while another thread wants the core, half the time is for polling, */
#define RARELY  64  /* and a sixty-fourth of it for yields while none does */

/*
 * Shares and delays that need no tuning: what they lose is bounded by themselves, and a quarter of them, or four times as
 * much, makes no difference that can be seen.  SPARE: a thirty-second of the time goes into yields past a partner that has another
 * core, so that is all they can cost a thread that needs none; a third process that needs this core gets it the later the less that is.
 * LOOK_NS: a partner that has come to this CPU is noticed so much later, once for each time that the scheduler moves it; to look
 * is a load.
 */
#define SPARE   32
#define LOOK_NS 5000

/* Ticks of cycle_clock(), of all threads of the process; a sample that is lost between two of them is no loss. */
static _Atomic uint64_t least = UINT64_MAX;
static _Atomic unsigned samples;

static uint64_t timed_yield(uint64_t *before)
{
	*before = cycle_clock();
	sched_yield();
	return cycle_clock();
}

static long switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? -1 : usage.ru_nivcsw + usage.ru_nvcsw;
}

/* A yield of which the kernel says what it did.  `anew`: what the least has been so far does not count. */
static uint64_t gauge(bool *away, bool anew)
{
	uint64_t before;
	long count = switches();
	uint64_t after = timed_yield(&before), took = after - before;

	*away = count < 0 || switches() != count;
	if (*away)
		return after;
	if (anew || took < atomic_load_explicit(&least, memory_order_relaxed))
		atomic_store_explicit(&least, took, memory_order_relaxed);
	atomic_fetch_add_explicit(&samples, 1, memory_order_relaxed);
	return after;
}

static bool is_elsewhere(uint32_t partner)
{
	return partner != 0 && partner != (uint32_t)sched_getcpu() + 1;
}

bool yield_core(struct yielder *yielder, uint32_t partner)
{
	uint64_t after, before, cost, begun = cycle_clock();
	bool away, doubt = yielder->dear >= DOUBT;
	bool learns = atomic_load_explicit(&samples, memory_order_relaxed) < SAMPLES;

	if (begun < yielder->spared && is_elsewhere(partner)) {
		yielder->next = begun + cycles_in(LOOK_NS);
		return false;
	}
	if (unlikely(doubt || (learns && yielder->dear == 0))) {
		yielder->dear = 0;
		after = gauge(&away, doubt);
		cost = atomic_load_explicit(&least, memory_order_relaxed);
	} else {
		after = timed_yield(&before);
		cost = atomic_load_explicit(&least, memory_order_relaxed);
		away = cost == UINT64_MAX || after - before > QUICK * cost;
		if (!away && after - before < cost)
			atomic_store_explicit(&least, after - before, memory_order_relaxed);
	}
	yielder->spared = after + SPARE * (after - begun);
	yielder->dear = away ? (uint16_t)(yielder->dear + 1) : 0;
	if (unlikely(cost == UINT64_MAX))
		return away;
	uint64_t interval = UINT64_C(2) * yielder->interval;

	if (interval < SOON * cost || away)
		interval = SOON * cost;
	else if (interval > RARELY * cost)
		interval = RARELY * cost;
	yielder->interval = interval < UINT32_MAX ? (uint32_t)interval : UINT32_MAX;
	yielder->next = after + yielder->interval;
	return away;
}
