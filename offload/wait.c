/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts that wait for events.  A waiting host drives the engine itself; after PTL_SPIN without success it blocks.
 * The first that blocks sleeps for the engine (own.c); others sleep on a futex of their own, because
 * a futex per queue could not express a set of queues.
 *
 * Registration and posting both happen under ownership, so an event is either seen by the waiter before it sleeps or
 * wakes a waiter of its queue.  One event wakes one waiter, and none if it was found by a host that waits for it
 * itself and looks next: that host has claimed it.  A woken waiter, or one that has claimed an event, polls its queues,
 * takes one event and returns; it then sees to two things, if others are still blocked: that what else is unread in its
 * queues (it may have found another event than the one it was woken for) wakes one of them, and that one of them sleeps
 * for the engine.  Not before it returns: what it was woken for is unread until then, and would wake another one in
 * vain.
 */
#include <errno.h>

#include "base/cancel.h"
#include "base/hot.h"
#include "offload/doorbell.h"
#include "offload/drive.h"
#include "offload/event_fd.h"
#include "offload/futex.h"
#include "offload/hold.h"
#include "offload/nic.h"
#include "offload/thread.h"
#include "offload/wait.h"
#include "offload/waiters.h"
#include "offload/yield.h"

#define CLOCK_LOOPS 16 /* fruitless polls between readings of the clock */

/* What a thread knows of others that want its core, longer than one wait; it is in more than one only in signal handlers. */
static HOT_THREAD_LOCAL struct yielder yielder;

/* --- engine side: under ownership --- */

/* Not freed meanwhile. */
static bool still_there(const struct waiter *waiter, int i)
{
	return atomic_load_explicit(&waiter->queues[i]->item.generation, memory_order_relaxed) ==
	       waiter->generations[i];
}

static bool any_ready(const struct waiter *waiter)
{
	for (int i = 0; i < waiter->count; i++)
		if (event_ready(waiter->queues[i]) || !still_there(waiter, i))
			return true;
	return false;
}

/* A host that drives without waiting, in PtlEQGet or PtlProgress: for no queue. */
static struct waiter passer_by;

/* Of a host that looks at its queues afterwards, unless what it wants is handed over (`wanted`). */
static int drive_and_look(struct nic *nic, struct waiter *waiter)
{
	nic->waiting.looking = waiter;
	int work = nic_drive(nic);

	nic->waiting.looking = NULL;
	return work;
}

/* 0: registered, sleep; -EALREADY: look again first. */
static int wait_enter(struct nic *nic, void *argument)
{
	struct waiter *waiter = argument;
	bool drives = nic_hosts_drive(nic);

	/* Set under ownership, after which all that are registered are woken: none sleeps through the end. */
	if (atomic_load_explicit(&nic->sleep.closing, memory_order_relaxed))
		return -ESHUTDOWN;
	if (any_ready(waiter) || (drives && (drive_and_look(nic, waiter) > 0 || any_ready(waiter))))
		return -EALREADY;
	if (drives && atomic_load_explicit(&nic->sleep.sleeper, memory_order_relaxed) == SLEEPER_NONE) {
		if (nic_arm(nic, &waiter->sleep_until))
			return -EALREADY;
		waiter->sleeper = true;
		nic->drive.host_sleeps_until = waiter->sleep_until;
		nic->drive.needs_rearm = false;
		atomic_store(&nic->sleep.sleeper, SLEEPER_HOST);
	}
	nic->counters.sleeps++;
	waiter->claimed = false; /* another waiter took what was claimed: its queues are empty */
	waiter->next = nic->waiting.first;
	nic->waiting.first = waiter;
	for (int i = 0; i < waiter->count; i++)
		waiter->queues[i]->waiters++;
	return 0;
}

static void pass_on(struct nic *nic, const struct waiter *waiter)
{
	for (int i = 0; i < waiter->count; i++)
		if (still_there(waiter, i) && waiter->queues[i]->waiters > 0 && event_unread(waiter->queues[i]) > 0)
			waiters_notify(nic, waiter->queues[i]);
}

/*
 * A waiter returns to its caller.  Only then and not in wait_leave(), because the leaver may well block again, and
 * because a waiter that was chosen there could find an event of its own and return without sleeping.
 */
static int wait_return(struct nic *nic, void *argument)
{
	pass_on(nic, argument);
	waiters_hand_on(nic, NULL);
	return 0;
}

static int wait_leave(struct nic *nic, void *argument)
{
	struct waiter *waiter = argument;
	struct waiter **link = &nic->waiting.first;

	while (*link != waiter)
		link = &(*link)->next;
	*link = waiter->next;
	for (int i = 0; i < waiter->count; i++)
		if (still_there(waiter, i))
			waiter->queues[i]->waiters--;
	if (waiter->sleeper)
		atomic_store(&nic->sleep.sleeper, SLEEPER_NONE);
	nic->drive.needs_rearm = true; /* the transports are not armed any more */
	waiter->others_blocked = nic->waiting.first != NULL;
	return 0;
}

/* --- host side --- */

static int block(struct nic *nic, struct waiter *waiter)
{
	UNCANCELLED;

	waiter->sleeper = waiter->notified = waiter->collected = false;
	atomic_store_explicit(&waiter->woken, 0, memory_order_relaxed);
	int rc = nic_call(nic, wait_enter, waiter);

	if (rc)
		return rc == -EALREADY ? 0 : rc;
	if (waiter->sleeper) {
		uint64_t start = timing_start(&nic->timing);
		uint64_t until = waiter->sleep_until < waiter->deadline ? waiter->sleep_until : waiter->deadline;

		nic_sleep(nic, nic->doorbells.host, WATCH_TRANSPORTS, until);
		timing_stop(&nic->timing, PTL_STAGE_IDLE, start);
	} else {
		futex_wait(&waiter->woken, 0, waiter->deadline);
	}
	rc = nic_call(nic, wait_leave, waiter);
	if (rc == 0 && waiter->sleeper)
		nic_end_deep(nic);
	return rc;
}

static int take_any(const struct waiter *waiter, ptl_event_t *event, int *which)
{
	for (int i = 0; i < waiter->count; i++) {
		int rc = event_take(waiter->queues[i], waiter->generations[i], event);

		if (rc != -EAGAIN) {
			*which = i;
			return rc;
		}
	}
	return -EAGAIN;
}

/* A trace for the NIC thread; two threads that leave one at the same time may leave it together. */
static void note_host(struct nic *nic)
{
	uint64_t drives = atomic_load_explicit(&nic->hosts.drives, memory_order_relaxed);

	atomic_store_explicit(&nic->hosts.drives, drives + 1, memory_order_relaxed);
}

enum driven { DRIVEN_BY_OTHERS, DRIVEN_IN_VAIN, DRIVEN, DRIVEN_TO_EVENT };

/*
 * `waiter`: the one that looks at its queues afterwards, unless (DRIVEN_TO_EVENT) it got the event that it wanted of this one.  A
 * queue that was freed wants none: its memory may be another one's by now.
 */
static inline enum driven drive_once(struct nic *nic, struct waiter *waiter, struct event_queue *eq,
				     uint32_t generation, ptl_event_t *event)
{
	if (!nic_hosts_drive(nic) || !nic_try_own(nic)) {
		cpu_pause();
		return DRIVEN_BY_OTHERS;
	}
	bool wants = eq && atomic_load_explicit(&eq->item.generation, memory_order_relaxed) == generation;

	nic->waiting.wanted.eq = wants ? eq : NULL;
	nic->waiting.wanted.event = event;
	int work = drive_and_look(nic, waiter);
	bool got = wants && !nic->waiting.wanted.eq;

	nic->waiting.wanted.eq = NULL; /* before others' commands are served */
	nic_release(nic);
	if (got && atomic_load_explicit(&eq->item.generation, memory_order_acquire) != generation)
		return DRIVEN; /* freed by a command served just now: event_take() says so */
	return got ? DRIVEN_TO_EVENT : work > 0 ? DRIVEN : DRIVEN_IN_VAIN;
}

/* The place of the process that a drive in vain waits for.  If others drove, it is these: any thread here, which may want this core. */
static uint32_t partner(const struct nic *nic, enum driven driven)
{
	return driven == DRIVEN_BY_OTHERS ? 0 : atomic_load_explicit(&nic->hosts.partner_place, memory_order_relaxed);
}

int nic_step(struct nic *nic)
{
	if (!nic_try_own(nic))
		return -1;
	int work = drive_and_look(nic, &passer_by);

	nic_release(nic);
	return work;
}

static int wait_inside(struct nic *nic, struct waiter *waiter, ptl_event_t *event, int *which)
{
	uint64_t spin = nic->settings->spin, fruitless_since = 0;
	unsigned loops = 0;
	int rc = -EAGAIN; /* as the caller has found */
	bool worked = true, away = false;

	for (;; rc = take_any(waiter, event, which)) {
		if (rc != -EAGAIN)
			return rc;
		if (atomic_load_explicit(&nic->sleep.closing, memory_order_relaxed))
			return -ESHUTDOWN;
		bool returned = away; /* from a yield that has run another thread */

		away = false;
		/* Of several queues the first: one event is handed over at a time. */
		enum driven driven = drive_once(nic, waiter, waiter->queues[0], waiter->generations[0], event);

		switch (driven) {
		case DRIVEN_TO_EVENT:
			*which = 0;
			return 0;
		case DRIVEN:
			worked = true;
			break;
		case DRIVEN_BY_OTHERS:
		case DRIVEN_IN_VAIN:
			away = !returned && adaptive_yield(&yielder, partner(nic, driven));
			break;
		}
		/* What came meanwhile is looked for before the clock, which costs more than to find it. */
		if (away || (waiter->deadline != 0 && ++loops % CLOCK_LOOPS != 0 && !returned))
			continue;
		uint64_t now = monotonic_ns();

		if (now >= waiter->deadline)
			return take_any(waiter, event, which);
		if (worked)
			fruitless_since = now;
		worked = false;
		if (now - fruitless_since < spin)
			continue;
		rc = block(nic, waiter);
		if (rc)
			return rc;
	}
}

/* Events that others were not woken for are visible here: waking, or driving, came after they were posted. */
static bool any_unread(const struct waiter *waiter)
{
	for (int i = 0; i < waiter->count; i++)
		if (event_unread(waiter->queues[i]) > 0)
			return true;
	return false;
}

static void leave_in_order(struct nic *nic, struct waiter *waiter)
{
	if ((waiter->others_blocked || waiter->claimed) && (nic_hosts_drive(nic) || any_unread(waiter)))
		nic_call(nic, wait_return, waiter);
}

/* --- queues that have a descriptor: event_fd.c --- */

struct look {
	struct event_queue *eq;
	uint32_t generation;
	ptl_event_t *event;
	bool drive;
};

static int look(struct nic *nic, void *argument)
{
	const struct look *look = argument;
	struct event_queue *eq = look->eq;
	int rc = event_take(eq, look->generation, look->event);

	if (rc == -EAGAIN && look->drive) {
		nic->waiting.polled = eq;
		nic_drive(nic);
		nic->waiting.polled = NULL;
		rc = event_take(eq, look->generation, look->event);
	}
	if (rc == -EBADF || !eq->event_fd)
		return rc;
	if (rc == -EAGAIN)
		event_fd_arm(eq);
	else if (event_unread(eq) > 0)
		event_fd_announce(eq);
	return rc;
}

static int look_at_descriptor(struct nic *nic, struct event_queue *eq, uint32_t generation, ptl_event_t *event)
{
	struct look arguments = {.eq = eq, .generation = generation, .event = event};
	int rc = nic_call(nic, look, &arguments);

	return rc == -EDEADLK ? -EAGAIN : rc; /* in a signal handler: the descriptor stays readable */
}

static int drive_armed(struct nic *nic, struct event_queue *eq, uint32_t generation, ptl_event_t *event)
{
	struct look arguments = {.eq = eq, .generation = generation, .event = event, .drive = true};

	if (!nic_hosts_drive(nic) || !nic_try_own(nic)) {
		cpu_pause();
		return -EAGAIN;
	}
	int rc = look(nic, &arguments);

	nic_release(nic);
	return rc;
}

/* PtlEQPoll found nothing: what was announced was taken by others. */
static int look_at_announced(struct nic *nic, const struct waiter *waiter, ptl_event_t *event, int *which)
{
	for (int i = 0; i < waiter->count; i++) {
		if (!atomic_load_explicit(&waiter->queues[i]->announced, memory_order_relaxed))
			continue;
		int rc = look_at_descriptor(nic, waiter->queues[i], waiter->generations[i], event);

		if (rc != -EAGAIN) {
			*which = i;
			return rc;
		}
	}
	return -EAGAIN;
}

/* A host has found its event queues empty.  Signal handlers too, in the middle of anything. */
static void look_in_vain(struct nic *nic)
{
	if (unlikely(atomic_load_explicit(&nic->hold.on, memory_order_relaxed)) && !nic_inside())
		nic_end_hold(nic, "an event queue was found empty");
}

int nic_wait(struct nic *nic, struct event_queue **queues, const uint32_t *generations, int count, uint64_t timeout_ns,
	     ptl_event_t *event, int *which)
{
	struct waiter waiter = {.queues = queues, .generations = generations, .count = count};
	int rc = take_any(&waiter, event, which);

	if (rc != -EAGAIN)
		return rc;
	look_in_vain(nic);
	if (timeout_ns == NIC_NEVER)
		waiter.deadline = NIC_NEVER;
	else
		waiter.deadline = timeout_ns ? monotonic_ns() + timeout_ns : 0;
	yielder.waits++;
	/* Tells the NIC thread that a host drives; pairs with nothing: it is looked at now and then. */
	atomic_fetch_add_explicit(&nic->hosts.waiting, 1, memory_order_relaxed);
	rc = wait_inside(nic, &waiter, event, which);
	if (rc == -EAGAIN)
		rc = look_at_announced(nic, &waiter, event, which);
	leave_in_order(nic, &waiter);
	/* Release: nic_close() may free the engine after it has seen the last waiter leave. */
	atomic_fetch_sub_explicit(&nic->hosts.waiting, 1, memory_order_release);
	yielder.waits--;
	return rc;
}

bool nic_waits(void)
{
	return yielder.waits > 0;
}

int nic_look(struct nic *nic, struct event_queue *eq, uint32_t generation, ptl_event_t *event)
{
	int rc = event_take(eq, generation, event);

	if (rc != -EAGAIN)
		return rc;
	look_in_vain(nic);
	bool watched = unlikely(atomic_load_explicit(&eq->event_fd, memory_order_relaxed) != 0);

	if (watched && atomic_load_explicit(&eq->announced, memory_order_relaxed))
		return look_at_descriptor(nic, eq, generation, event);
	note_host(nic);
	enum driven driven = DRIVEN_BY_OTHERS;

	if (watched) {
		rc = drive_armed(nic, eq, generation, event);
	} else {
		driven = drive_once(nic, &passer_by, eq, generation, event);
		rc = driven == DRIVEN_TO_EVENT ? 0 : event_ready(eq) ? event_take(eq, generation, event) : -EAGAIN;
	}
	if (rc == -EAGAIN && driven <= DRIVEN_IN_VAIN)
		adaptive_yield(&yielder, partner(nic, driven));
	return rc;
}
