/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queues: allocating them, and taking events from them without the engine's lock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/report.h"
#include "offload/eq.h"
#include "offload/wait.h"
#include "portals/process.h"
#include "portals/refuse.h"

/* Not under ownership, because giving much memory back takes its time; but event rings have a lock of their own. */
static void give_ring_back(const struct nic *nic, struct event_ring *ring)
{
	bool entered = nic_enter(nic);

	event_ring_put(ring);
	if (entered)
		nic_leave();
}

int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_eq_handler_t eq_handler, ptl_handle_eq_t *eq_handle)
{
	struct eq_arguments arguments = {.handler = eq_handler};
	struct nic *nic;

	if (!eq_handle)
		return refuse_null("eq_handle");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	if (count == 0) {
		*eq_handle = PTL_EQ_NONE;
		return PTL_OK;
	}
	if (!nic_enter(nic)) /* rings have a lock of their own */
		return process_code(nic_refuse_reentry(), PTL_FAIL);
	arguments.ring = event_ring_get(count);
	nic_leave();
	if (!arguments.ring) {
		report_error(-ENOMEM, "no memory for an event queue of %llu events", (unsigned long long)count);
		return PTL_NO_SPACE;
	}
	int code = process_code(nic_call(nic, eq_allocate, &arguments), PTL_FAIL);

	if (code == PTL_OK)
		*eq_handle = arguments.handle;
	else
		give_ring_back(nic, arguments.ring);
	return code;
}

int PtlEQFree(ptl_handle_eq_t eq_handle)
{
	struct eq_arguments arguments = {.handle = eq_handle};
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(eq_handle)))
		return refuse_handle(PTL_EQ_INVALID, eq_handle);
	int code = process_code(nic_call(nic, eq_free, &arguments), PTL_FAIL);

	if (arguments.ring)
		give_ring_back(nic, arguments.ring);
	return code;
}

/* --- taking events --- */

static int event_code(int rc)
{
	switch (rc) {
	case 0:
		return PTL_OK;
	case -EOVERFLOW:
		return PTL_EQ_DROPPED;
	case -EAGAIN:
		return PTL_EQ_EMPTY;
	default: /* freed, or its interface was closed */
		return report_error(PTL_EQ_INVALID, "the event queue was freed, or its interface closed, meanwhile");
	}
}

/* Handlers run in the thread that takes the event, with nothing locked. */
static void call_handler(struct event_queue *eq, ptl_event_t *event)
{
	ptl_eq_handler_t handler = atomic_load_explicit(&eq->handler, memory_order_relaxed);

	if (handler)
		handler(event);
}

static ptl_stage_t wait_stage(const ptl_event_t *event)
{
	return event->type == PTL_EVENT_SEND_START || event->type == PTL_EVENT_SEND_END ? PTL_STAGE_WAIT_SEND
											: PTL_STAGE_WAIT_ARRIVAL;
}

/* Programs read the failure whatever they are told (contract 3.11); the rest of the event stays as it was. */
static int nothing_there(ptl_event_t *event)
{
	event->ni_fail_type = PTL_NI_OK;
	return PTL_EQ_EMPTY;
}

/*
 * Once a queue, by the thread that takes the first event behind the gap: the engine has no time to print.  Programs that do not
 * expect PTL_EQ_DROPPED wait for what is lost.
 */
static void tell_overflow(struct event_queue *eq, ptl_handle_eq_t handle)
{
	/* Acquire: of another thread's PtlEQAlloc. */
	const struct event_ring *ring = atomic_load_explicit(&eq->ring, memory_order_acquire);

	if (ring && !atomic_exchange_explicit(&eq->overflow_told, true, memory_order_relaxed))
		report(LOG_WARN,
		       "event queue 0x%x has overflowed: it holds %llu events, older ones are lost (PTL_EQ_DROPPED); "
		       "ask "
		       "PtlEQAlloc for more or take them sooner (said once a queue)",
		       handle, (unsigned long long)ring->size);
}

static __attribute__((noinline)) int not_simply_taken(struct event_queue *eq, int rc, ptl_event_t *event)
{
	if (rc == -EAGAIN)
		return nothing_there(event);
	if (rc == -EOVERFLOW) {
		tell_overflow(eq, event->md.eq_handle);
		call_handler(eq, event);
	}
	return event_code(rc);
}

static inline int taken(struct event_queue *eq, int rc, ptl_event_t *event)
{
	if (unlikely(rc != 0))
		return not_simply_taken(eq, rc, event);
	call_handler(eq, event);
	return PTL_OK;
}

/* What nic_wait() says of the queue that it took an event from. */
static inline int waited(struct event_queue *eq, int rc, ptl_event_t *event)
{
	return rc == -EDEADLK ? PTL_FAIL : taken(eq, rc, event);
}

/* If an event was taken, the time since `start` was spent waiting for it. */
static void stop_wait(struct nic *nic, int rc, const ptl_event_t *event, uint64_t start)
{
	if (rc == 0 || rc == -EOVERFLOW)
		timing_stop(&nic->timing, wait_stage(event), start);
}

/* Apart, as is look_timed(): clocks that are off keep nothing over the call. */
static __attribute__((noinline, cold)) int wait_timed(struct nic *nic, struct event_queue **queues,
						      const uint32_t *generations, int size, uint64_t timeout,
						      ptl_event_t *event, int *which)
{
	uint64_t start = timing_start(&nic->timing);
	int rc = nic_wait(nic, queues, generations, size, timeout, event, which);

	stop_wait(nic, rc, event, start);
	return rc;
}

static inline int find_queue(ptl_handle_eq_t handle, const ptl_event_t *event, struct nic **nic,
			     struct event_queue **eq)
{
	if (!event)
		return refuse_null("event");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(*nic = process_nic(handle)) || !(*eq = handle_eq_unowned(*nic, handle)))
		return refuse_handle(PTL_EQ_INVALID, handle);
	return PTL_OK;
}

/* Timing: when the first of the calls of PtlEQGet began that find nothing, of which this may be one, since timing is on. */
static uint64_t wanted_since(const struct nic *nic, struct event_queue *eq)
{
	uint64_t kept = atomic_load_explicit(&eq->wanted_since, memory_order_relaxed);
	uint64_t since = timing_resume(&nic->timing, kept);

	if (since != kept)
		atomic_store_explicit(&eq->wanted_since, since, memory_order_relaxed);
	return since;
}

static __attribute__((noinline, cold)) int look_timed(struct nic *nic, struct event_queue *eq, uint32_t generation,
						      ptl_event_t *event)
{
	uint64_t start = wanted_since(nic, eq);
	int rc = nic_look(nic, eq, generation, event);

	if (rc != -EAGAIN)
		atomic_store_explicit(&eq->wanted_since, 0, memory_order_relaxed);
	stop_wait(nic, rc, event, start);
	return rc;
}

int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event)
{
	struct event_queue *eq = NULL;
	struct nic *nic = NULL;
	int code = find_queue(eq_handle, event, &nic, &eq);

	if (code != PTL_OK)
		return code;
	uint32_t generation = handle_generation(eq_handle);

	return taken(eq,
		     timing_on(&nic->timing) ? look_timed(nic, eq, generation, event)
					     : nic_look(nic, eq, generation, event),
		     event);
}

int PtlEQPeek(ptl_handle_eq_t eq_handle, ptl_event_t *event)
{
	struct event_queue *eq = NULL;
	struct nic *nic = NULL;
	int code = find_queue(eq_handle, event, &nic, &eq);

	if (code != PTL_OK)
		return code;
	return event_code(event_peek(eq, handle_generation(eq_handle), event));
}

int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event)
{
	struct event_queue *eq = NULL;
	struct nic *nic = NULL;
	int which, code = find_queue(eq_handle, event, &nic, &eq);
	uint32_t generation = handle_generation(eq_handle);

	if (code != PTL_OK)
		return code;
	if (timing_on(&nic->timing))
		return waited(eq, wait_timed(nic, &eq, &generation, 1, NIC_NEVER, event, &which), event);
	int rc = event_take(eq, generation, event); /* mostly one of those that the last drive has left there */

	if (rc == -EAGAIN)
		rc = nic_wait(nic, &eq, &generation, 1, NIC_NEVER, event, &which);
	return waited(eq, rc, event);
}

#define POLL_ON_STACK 16

struct queue_set {
	struct event_queue *queue_room[POLL_ON_STACK], **queues;
	uint32_t generation_room[POLL_ON_STACK], *generations;
};

static int set_open(struct queue_set *set, int size)
{
	set->queues = set->queue_room;
	set->generations = set->generation_room;
	if (size <= POLL_ON_STACK)
		return 0;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers is meant */
	set->queues = calloc((size_t)size, sizeof(*set->queues));
	set->generations = calloc((size_t)size, sizeof(*set->generations));
	return set->queues && set->generations ? 0 : report_error(-ENOMEM, "no memory to poll %d event queues", size);
}

static void set_close(struct queue_set *set)
{
	if (set->queues != set->queue_room)
		free(set->queues);
	if (set->generations != set->generation_room)
		free(set->generations);
}

/* Which of the handles is bad, where there are several. */
static void refuse_member(const ptl_handle_eq_t *handles, int size, int at)
{
	char text[192];

	if (at > 0 && handle_kind(handles[at]) == HANDLE_EQ &&
	    handle_interface(handles[at]) != handle_interface(handles[0])) {
		report_error(
			PTL_EQ_INVALID,
			"eq_handles[%d]: event queue 0x%x is of interface %u, eq_handles[0] of interface %u; those of "
			"one interface can be polled together",
			at, handles[at], handle_interface(handles[at]), handle_interface(handles[0]));
		return;
	}
	refuse_handle(PTL_EQ_INVALID, handles[at]);
	if (size == 1)
		return;
	snprintf(text, sizeof(text), "%s", report_last_error());
	report_error(PTL_EQ_INVALID, "eq_handles[%d] of %d: %s", at, size, text);
}

/* The queues of one interface, or NULL, reported, if a handle is bad or of another one. */
static struct nic *set_fill(struct queue_set *set, const ptl_handle_eq_t *handles, int size)
{
	struct nic *nic = process_nic(handles[0]);

	if (!nic)
		refuse_member(handles, size, 0);
	for (int i = 0; nic && i < size; i++) {
		if (handle_interface(handles[i]) != nic->index ||
		    !(set->queues[i] = handle_eq_unowned(nic, handles[i]))) {
			refuse_member(handles, size, i);
			return NULL;
		}
		set->generations[i] = handle_generation(handles[i]);
	}
	return nic;
}

static int poll_set(struct queue_set *set, const ptl_handle_eq_t *handles, int size, ptl_time_t timeout,
		    ptl_event_t *event, int *which_eq)
{
	struct nic *nic = set_fill(set, handles, size);
	int which = 0;

	if (!nic)
		return PTL_EQ_INVALID;
	uint64_t time = timeout == PTL_TIME_FOREVER ? NIC_NEVER : (uint64_t)timeout * 1000000u;
	int rc = timing_on(&nic->timing) ? wait_timed(nic, set->queues, set->generations, size, time, event, &which)
					 : nic_wait(nic, set->queues, set->generations, size, time, event, &which);

	int code = waited(set->queues[which], rc, event);

	if (code == PTL_OK || code == PTL_EQ_DROPPED)
		*which_eq = which;
	return code;
}

int PtlEQPoll(ptl_handle_eq_t *eq_handles, int size, ptl_time_t timeout, ptl_event_t *event, int *which_eq)
{
	struct queue_set set;

	if (!eq_handles || !event || !which_eq)
		return refuse_null("eq_handles, event or which_eq");
	if (!process_ready())
		return refuse_uninitialised();
	if (size <= 0)
		return report_error(PTL_EQ_INVALID, "%d event queues to wait for, at least one is needed", size);
	int code = set_open(&set, size) ? PTL_NO_SPACE : poll_set(&set, eq_handles, size, timeout, event, which_eq);

	set_close(&set);
	return code;
}
