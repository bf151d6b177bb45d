/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handlers that call Portals, in several threads at once.  Tokens go to and fro between two processes, or round in one,
 * moved on by handlers alone: what a PUT_END brings is sent on from a descriptor that the handler binds; the handler of the
 * queue where that descriptor logs unlinks it.  The first handler takes from that queue, so that the second runs
 * within the first.  Were anything locked around a handler, no token would come home.
 */
#include "tests/behaviour/threads/threads.h"

#include <sched.h>

#define THREADS 3
#define TOKENS  6
#define HOPS    FEWER(200)

static struct {
	ptl_handle_eq_t in, out;
	ptl_process_id_t peer;
	_Atomic unsigned bound, unlinked;
} relay;

static void unlink_what_was_sent(ptl_event_t *event)
{
	CHECK_EQUAL(event->type, PTL_EVENT_SEND_END);
	CHECK_OK(PtlMDUnlink(event->md_handle));
	atomic_fetch_add(&relay.unlinked, 1);
}

/* hdr_data: the hops a token still has to go. */
static void send_token(ptl_hdr_data_t hops)
{
	static char token[8];
	ptl_handle_md_t md = bind_md(md_over(token, sizeof(token), PTL_MD_EVENT_START_DISABLE, relay.out));
	atomic_fetch_add(&relay.bound, 1);
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, relay.peer, INDEX, 0, BITS, 0, hops));
}

static void pass_on(ptl_event_t *event)
{
	_Atomic unsigned *home = shared_memory();
	ptl_event_t sent;
	CHECK_EQUAL(event->type, PTL_EVENT_PUT_END);
	if (event->hdr_data == 0)
		atomic_fetch_add(home, 1);
	else
		send_token(event->hdr_data - 1);
	int rc = PtlEQGet(relay.out, &sent);
	CHECK(rc == PTL_OK || rc == PTL_EQ_EMPTY);
}

static bool all_home(void)
{
	_Atomic unsigned *home = shared_memory();
	return atomic_load(home) == TOKENS * (unsigned)process_count;
}

static void *take_tokens(void *argument)
{
	while (!all_home()) {
		ptl_event_t event;
		int which;
		int rc = PtlEQPoll(&relay.in, 1, 5, &event, &which);
		CHECK(rc == PTL_OK || rc == PTL_EQ_EMPTY);
	}
	return argument;
}

static void handlers_of_several_threads_put_unlink_and_take_from_another_queue(void)
{
	static char area[8];
	pthread_t threads[THREADS];
	ptl_event_t event;
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	CHECK_OK(PtlEQAlloc(ni, 64, pass_on, &relay.in));
	CHECK_OK(PtlEQAlloc(ni, 64, unlink_what_was_sent, &relay.out));
	relay.peer = id_of[process_count - 1 - my_rank];
	open_window(BITS, md_over(area, sizeof(area), options, relay.in));
	barrier();
	for (unsigned i = 0; i < TOKENS; i++)
		send_token(HOPS);
	for (int i = 0; i < THREADS; i++)
		start_thread(&threads[i], take_tokens, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	barrier();
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	while (atomic_load(&relay.unlinked) < atomic_load(&relay.bound) && now_ns() < deadline)
		PtlEQGet(relay.out, &event);
	CHECK_EQUAL(atomic_load(&relay.unlinked), atomic_load(&relay.bound));
	CHECK_EMPTY(relay.in);
	barrier();
}

const struct test handler_tests[] = {
	PAIR(handlers_of_several_threads_put_unlink_and_take_from_another_queue),
	{0},
};
