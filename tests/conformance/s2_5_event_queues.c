/* SPDX-License-Identifier: BSD-3-Clause */
/* 2.5 Event queues: the calls.  How events come out of a queue, and which threads may wait for them, is chapter 3.11's subject. */
#include "tests/conformance/conformance.h"

static const struct row rows[] = {
	{"2.5/1", "PtlEQAlloc creates a queue with room for at least as many events as were asked for"},
	{"2.5/2", "PtlEQAlloc of a queue for 0 events returns PTL_OK and PTL_EQ_NONE, and creates nothing"},
	{"2.5/3", "PtlEQAlloc returns PTL_NI_INVALID if the handle is no open interface"},
	{"2.5/4",
	 "PtlEQAlloc returns PTL_NO_SPACE for more events than memory holds and beyond max_eqs queues; the room of "
	 "a freed queue can be had again"},
	{"2.5/5", "PtlEQAlloc returns PTL_SEGV if there is nowhere to write the handle"},
	{"2.5/6",
	 "PtlEQFree ends a queue and the events in it; the handle names nothing any more, whatever is allocated "
	 "later"},
	{"2.5/7", "Descriptors whose queue was freed go on without one: operations work and log nothing"},
	{"2.5/8", "PtlEQFree, PtlEQGet, PtlEQWait and PtlEQPoll return PTL_EQ_INVALID for a handle that is no queue"},
	{"2.5/9",
	 "PtlEQGet never waits: the oldest event, or PTL_EQ_EMPTY, also while another thread waits for the queue"},
	{"2.5/10", "PtlEQGet, PtlEQWait and PtlEQPoll each remove the event they return"},
	{"2.5/11", "PtlEQWait returns only with an event"},
	{"2.5/12",
	 "PtlEQGet, PtlEQWait and PtlEQPoll return PTL_EQ_DROPPED, and an event with it, exactly if at least one "
	 "event between it and the one taken before was lost"},
	{"2.5/13", "PtlEQPoll returns PTL_EQ_EMPTY if no queue had an event within the timeout"},
	{"2.5/14",
	 "PtlEQPoll returns PTL_EQ_INVALID for no queues, a negative number of them, or any handle among them "
	 "that is bad or belongs to another interface"},
	{"2.5/15",
	 "PtlEQGet, PtlEQWait and PtlEQPoll return PTL_SEGV if a place for a result, or the array of queues, is "
	 "NULL"},
	{"2.5/16", "All calls on event queues return PTL_NO_INIT before PtlInit and after PtlFini"},
	{0},
};

static ptl_event_t event;
static int which;

static void c2_5_a_queue_for_no_events_is_no_queue(void)
{
	ptl_handle_eq_t eq = 5;
	CHECK_OK(PtlEQAlloc(ni, 0, PTL_EQ_HANDLER_NONE, &eq));
	CHECK_EQUAL(eq, PTL_EQ_NONE);
	CHECK_RC(PtlEQFree(eq), PTL_EQ_INVALID);
}

static void c2_5_alloc_refuses_what_is_no_interface(void)
{
	ptl_handle_ni_t second;
	ptl_handle_eq_t eq = 5;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlNIFini(second));
	const ptl_handle_any_t bad[] = {PTL_INVALID_HANDLE, PTL_EQ_NONE, second, new_eq(1),
					bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE))};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_RC(PtlEQAlloc(bad[i], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_NI_INVALID);
		CHECK_RC(PtlEQAlloc(bad[i], 0, PTL_EQ_HANDLER_NONE, &eq), PTL_NI_INVALID);
	}
	CHECK_EQUAL(eq, 5);
}

static void c2_5_more_events_than_memory_holds_are_refused(void)
{
	static const ptl_size_t counts[] = {1ull << 48, 1ull << 60, (1ull << 63) + 1, ~0ull};
	ptl_handle_eq_t eq = 5;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		CHECK_RC(PtlEQAlloc(ni, counts[i], PTL_EQ_HANDLER_NONE, &eq), PTL_NO_SPACE);
	CHECK_EQUAL(eq, 5);
}

static void c2_5_there_are_as_many_queues_as_the_limit_says(void)
{
	const int most = limits_in_force().max_eqs;
	ptl_handle_eq_t eq, last = PTL_INVALID_HANDLE;
	int allocated = idle_queue() != PTL_INVALID_HANDLE, rc;
	while ((rc = PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &eq)) == PTL_OK && allocated <= most) {
		last = eq;
		allocated++;
	}
	CHECK_EQUAL(rc, PTL_NO_SPACE);
	CHECK_EQUAL(allocated, most);
	CHECK_OK(PtlEQFree(last));
	CHECK_OK(PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &eq));
	CHECK_RC(PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &eq), PTL_NO_SPACE);
}

static void c2_5_calls_without_a_place_for_their_result_are_refused(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	CHECK_RC(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, NULL), PTL_SEGV);
	CHECK_RC(PtlEQGet(eq, NULL), PTL_SEGV);
	CHECK_RC(PtlEQWait(eq, NULL), PTL_SEGV);
	CHECK_RC(PtlEQPoll(NULL, 1, 0, &event, &which), PTL_SEGV);
	CHECK_RC(PtlEQPoll(&eq, 1, 0, NULL, &which), PTL_SEGV);
	CHECK_RC(PtlEQPoll(&eq, 1, 0, &event, NULL), PTL_SEGV);
}

static void check_no_queue(ptl_handle_eq_t handle)
{
	ptl_handle_eq_t good = new_eq(1), first[] = {handle, good}, last[] = {good, handle};
	CHECK_RC(PtlEQGet(handle, &event), PTL_EQ_INVALID);
	CHECK_RC(PtlEQWait(handle, &event), PTL_EQ_INVALID);
	CHECK_RC(PtlEQPoll(&handle, 1, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_RC(PtlEQPoll(first, 2, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_RC(PtlEQPoll(last, 2, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_OK(PtlEQFree(good));
}

static void c2_5_handles_that_are_no_queue_are_refused(void)
{
	struct window window = open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT, PTL_EQ_NONE));
	const ptl_handle_any_t bad[] = {PTL_INVALID_HANDLE, PTL_HANDLE_NONE, PTL_EQ_NONE, ni, window.me, window.md};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_no_queue(bad[i]);
		CHECK_RC(PtlEQFree(bad[i]), PTL_EQ_INVALID);
	}
	close_window(window);
}

/* Put to ourselves: its event is in the queue when the other one, which is behind it, can be taken. */
static void leave_an_event_in(ptl_handle_eq_t eq)
{
	ptl_handle_eq_t last = new_eq(2);
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	struct window before = open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq));
	struct window behind =
		open_window(BITS + 1, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, last));
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS + 1, 0, 0));
	take(last, PTL_EVENT_PUT_END);
	close_window(before);
	close_window(behind);
	CHECK_OK(PtlEQFree(last));
}

static void c2_5_a_freed_queue_is_gone_with_its_events(void)
{
	for (int i = 0; i < 3; i++) {
		ptl_handle_eq_t eq = new_eq(4), next;
		leave_an_event_in(eq);
		CHECK_OK(PtlEQFree(eq));
		check_no_queue(eq);
		CHECK_RC(PtlEQFree(eq), PTL_EQ_INVALID);
		next = new_eq(4); /* likely in the same place */
		CHECK(next != eq);
		CHECK_EMPTY(next);
		check_no_queue(eq);
		CHECK_OK(PtlEQFree(next));
	}
}

static void descriptors_go_on_without_their_queue(size_t length)
{
	ptl_handle_eq_t freed = new_eq(8), eq = new_eq(8);
	char *near = memory(length), *far = memory(length);
	fill_pattern(near, length, (unsigned)length);
	struct window window = {0};
	if (am_target())
		window = open_window(BITS, md_over(far, length, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, freed));
	ptl_handle_md_t mute = bind_md(md_over(near, length, 0, freed));
	CHECK_OK(PtlEQFree(freed));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, length, QUIET, eq));
		put(mute, PTL_ACK_REQ, BITS); /* wants no ACK any more: it has no queue */
		put(md, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_ACK);
		CHECK_EMPTY(eq);
	}
	barrier();
	if (am_target()) {
		CHECK_PATTERN(far, length, (unsigned)length);
		close_window(window);
	}
	unlink_soon(mute);
	CHECK_EQUAL(drops(), 0);
	CHECK_OK(PtlEQFree(eq));
	barrier();
}

static void c2_5_descriptors_go_on_when_their_queue_is_freed(void)
{
	descriptors_go_on_without_their_queue(8);
	descriptors_go_on_without_their_queue(LONG);
}

static void c2_5_poll_refuses_no_queues_and_queues_of_two_interfaces(void)
{
	ptl_handle_ni_t second;
	ptl_handle_eq_t mine = new_eq(8), other;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlEQAlloc(second, 8, PTL_EQ_HANDLER_NONE, &other));
	CHECK_RC(PtlEQPoll((ptl_handle_eq_t[]){mine, other}, 2, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_RC(PtlEQPoll((ptl_handle_eq_t[]){other, mine}, 2, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_RC(PtlEQPoll((ptl_handle_eq_t[]){mine, other}, 1, 0, &event, &which), PTL_EQ_EMPTY);
	CHECK_RC(PtlEQPoll((ptl_handle_eq_t[]){other, mine}, 1, 0, &event, &which), PTL_EQ_EMPTY);
	CHECK_RC(PtlEQPoll(&mine, 0, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_RC(PtlEQPoll(&mine, -1, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_OK(PtlNIFini(second));
	CHECK_RC(PtlEQGet(other, &event), PTL_EQ_INVALID);
}

static void check_not_initialised(ptl_handle_ni_t interface, ptl_handle_eq_t eq)
{
	CHECK_RC(PtlEQAlloc(interface, 8, PTL_EQ_HANDLER_NONE, &eq), PTL_NO_INIT);
	CHECK_RC(PtlEQFree(eq), PTL_NO_INIT);
	CHECK_RC(PtlEQGet(eq, &event), PTL_NO_INIT);
	CHECK_RC(PtlEQWait(eq, &event), PTL_NO_INIT);
	CHECK_RC(PtlEQPoll(&eq, 1, 0, &event, &which), PTL_NO_INIT);
}

static void c2_5_calls_before_init_and_after_fini_are_refused(void)
{
	check_not_initialised(PTL_INVALID_HANDLE, PTL_INVALID_HANDLE);
	open_interface(PTL_PID_ANY);
	ptl_handle_eq_t eq = new_eq(8);
	PtlFini();
	check_not_initialised(ni, eq);
}

static const struct test tests[] = {
	CASE_ALONE(c2_5_a_queue_for_no_events_is_no_queue, "2.5/2"),
	CASE_ALONE(c2_5_alloc_refuses_what_is_no_interface, "2.5/3"),
	CASE_ALONE(c2_5_more_events_than_memory_holds_are_refused, "2.5/4"),
	CASE_ALONE(c2_5_there_are_as_many_queues_as_the_limit_says, "2.5/4"),
	CASE_ALONE(c2_5_calls_without_a_place_for_their_result_are_refused, "2.5/5 2.5/15"),
	CASE_ALONE(c2_5_handles_that_are_no_queue_are_refused, "2.5/8 2.5/14"),
	CASE_ALONE(c2_5_a_freed_queue_is_gone_with_its_events, "2.5/6 2.5/8 2.5/14"),
	CASE_PAIR(c2_5_descriptors_go_on_when_their_queue_is_freed, "2.5/7"),
	CASE_ALONE(c2_5_poll_refuses_no_queues_and_queues_of_two_interfaces, "2.5/14 3.11/13"),
	CASE(c2_5_calls_before_init_and_after_fini_are_refused, "2.5/16", 1, TRAIT_BARE),
	{0},
};

const struct chapter event_queues_chapter = {.title = "2.5 Event queues: the calls", .rows = rows, .tests = tests};
