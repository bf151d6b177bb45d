/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.20 Threads. */
#include "tests/conformance/conformance.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define THREADS 4

static const struct row rows[] = {
	{"3.20/1", "Any function may be called from any thread at any time after PtlInit"},
	{"3.20/2", "Objects belong to the process: a handle got by one thread serves all of them"},
	{"3.20/3", "A thread that waits for an event keeps no other from calling Portals"},
	{"3.20/4", "Each call is atomic with respect to the calls of other threads and to arriving messages"},
	{"3.20/5",
	 "No call but PtlEQWait, PtlEQPoll with a timeout and the end of an interface waits for other processes"},
	{"3.20/6", "Threads may wait for different queues at once; an event wakes its waiter, whoever goes on waiting"},
	{0},
};

/* Runs a function in THREADS threads at once, each with its number. */
static void in_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- Every function, from every thread ---- */

#define AREA 65536u /* bytes of the target that each thread uses */

/* What a thread has for itself. */
struct worker {
	unsigned number;
	ptl_handle_eq_t eq;
	char *near, *far; /* AREA bytes each */
};

static void ask_about_the_interface(struct worker *worker)
{
	int interfaces;
	ptl_handle_ni_t same, owner;
	ptl_ni_limits_t limits;
	ptl_process_id_t id;
	ptl_uid_t uid;
	ptl_jid_t jid;
	unsigned long distance;
	CHECK_OK(PtlInit(&interfaces));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &same));
	CHECK_EQUAL(same, ni);
	CHECK_OK(PtlNIHandle(worker->eq, &owner));
	CHECK_EQUAL(owner, ni);
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_ID(id, id_of[my_rank]);
	CHECK_OK(PtlGetUid(ni, &uid));
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK_OK(PtlNIDist(ni, target_id(), &distance));
	CHECK_EQUAL(drops(), 0);
}

/* Entries come and go on a list that all threads share. */
static void build_and_take_down(struct worker *worker)
{
	const ptl_match_bits_t bits = BITS + 1 + worker->number;
	ptl_md_t state = md_over(worker->far, 8, PTL_MD_OP_PUT, worker->eq), old;
	ptl_handle_me_t first, second, elsewhere;
	ptl_handle_md_t md;
	ptl_handle_eq_t eq;
	ptl_pt_index_t index;
	CHECK_OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq));
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, bits, 0, PTL_UNLINK, worker->number % 2, &first));
	CHECK_OK(PtlMEInsert(first, anyone, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &second));
	CHECK_OK(PtlMEAttachAny(ni, &index, anyone, bits, 0, PTL_RETAIN, &elsewhere));
	CHECK_OK(PtlMDAttach(first, state, PTL_RETAIN, &md));
	CHECK_OK(PtlMDUpdate(md, &old, &state, eq));
	CHECK_OK(PtlMDUnlink(md));
	CHECK_RC(PtlMEUnlink(first), PTL_ME_INVALID);
	CHECK_OK(PtlMEUnlink(second));
	CHECK_OK(PtlMEUnlink(elsewhere));
	CHECK_OK(PtlEQFree(eq));
	CHECK_OK(PtlACEntry(ni, 1 + worker->number, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
}

/* Bytes of this thread's own area at the target: stored, swapped, read back. */
static void move_data(struct worker *worker, size_t length, unsigned seed)
{
	const ptl_size_t offset = worker->number * AREA;
	ptl_handle_md_t md = bind_md(md_over(worker->near, length, PTL_MD_EVENT_START_DISABLE, worker->eq));
	fill_pattern(worker->near, length, seed);
	CHECK_OK(PtlPutRegion(md, 0, length, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, offset, 0));
	take(worker->eq, PTL_EVENT_SEND_END);
	take(worker->eq, PTL_EVENT_ACK);
	memset(worker->near, 0, length);
	CHECK_OK(PtlGetRegion(md, 0, length, target_id(), INDEX, 0, BITS, offset));
	take(worker->eq, PTL_EVENT_REPLY_END);
	CHECK_PATTERN(worker->near, length, seed);
	CHECK_OK(PtlMDUnlink(md));
	md = bind_md(md_over(worker->near, 8, PTL_MD_EVENT_START_DISABLE, worker->eq));
	CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, offset, 0));
	take(worker->eq, PTL_EVENT_SEND_END);
	take(worker->eq, PTL_EVENT_REPLY_END);
	CHECK_PATTERN(worker->near, 8, seed);
	CHECK_OK(PtlMDUnlink(md));
	CHECK_EMPTY(worker->eq);
}

static struct worker workers[THREADS];

static void *call_everything(void *argument)
{
	struct worker *worker = &workers[(uintptr_t)argument];
	for (unsigned i = 0; i < FEWER(100); i++) {
		ask_about_the_interface(worker);
		build_and_take_down(worker);
		move_data(worker, i % 8 ? 8 + i : AREA, i);
	}
	return NULL;
}

static void c3_20_every_function_may_be_called_from_every_thread(void)
{
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	if (am_target())
		open_window(BITS, md_over(memory(THREADS * AREA), THREADS * AREA, options, PTL_EQ_NONE));
	for (unsigned i = 0; i < THREADS; i++)
		workers[i] = (struct worker){i, new_eq(16), memory(AREA), memory(AREA)};
	barrier();
	if (am_initiator())
		in_threads(call_everything);
	barrier();
}

/* ---- Handles ---- */

static struct {
	ptl_handle_eq_t eq;
	struct window window;
	char bytes[8];
} common;

static void *create(void *argument)
{
	(void)argument;
	common.eq = new_eq(8);
	common.window = open_window(BITS, md_over(common.bytes, 8, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, common.eq));
	return NULL;
}

static void *send_from_it(void *argument)
{
	(void)argument;
	memcpy(common.bytes, "shared!", 8);
	CHECK_OK(PtlPut(common.window.md, PTL_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 7));
	return NULL;
}

static void *hear_of_it(void *argument)
{
	unsigned kinds = 0;
	(void)argument;
	for (int i = 0; i < 5; i++)
		kinds |= 1u << take_any(common.eq).type;
	CHECK_EQUAL(kinds, 1u << PTL_EVENT_SEND_START | 1u << PTL_EVENT_SEND_END | 1u << PTL_EVENT_PUT_START |
				   1u << PTL_EVENT_PUT_END | 1u << PTL_EVENT_ACK);
	CHECK_STRING(common.bytes, "shared!");
	return NULL;
}

static void *destroy(void *argument)
{
	(void)argument;
	CHECK_OK(PtlMDUnlink(common.window.md));
	CHECK_OK(PtlMEUnlink(common.window.me));
	CHECK_OK(PtlEQFree(common.eq));
	return NULL;
}

static void *find_nothing(void *argument)
{
	ptl_event_t event;
	(void)argument;
	CHECK_RC(PtlMDUnlink(common.window.md), PTL_MD_INVALID);
	CHECK_RC(PtlMEUnlink(common.window.me), PTL_ME_INVALID);
	CHECK_RC(PtlEQGet(common.eq, &event), PTL_EQ_INVALID);
	return NULL;
}

static void c3_20_a_handle_serves_every_thread(void)
{
	static void *(*const lives[])(void *) = {create, send_from_it, hear_of_it, destroy, find_nothing};
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, lives[i], NULL) == 0);
		pthread_join(thread, NULL);
	}
}

/* ---- Waiting ---- */

static void *put_to_the_waiter(void *argument)
{
	static const struct timespec pause = {0, 5000000}; /* most likely it sleeps by then; it need not */
	_Atomic bool *waiting = argument;
	while (!atomic_load(waiting))
		sched_yield();
	nanosleep(&pause, NULL);
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 3));
	return NULL;
}

static void c3_20_a_waiting_thread_keeps_no_other_from_calling(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq));
	for (int i = 0; i < 10; i++) {
		_Atomic bool waiting = false;
		pthread_t thread;
		ptl_event_t event;
		CHECK(pthread_create(&thread, NULL, put_to_the_waiter, &waiting) == 0);
		atomic_store(&waiting, true);
		CHECK_OK(PtlEQWait(eq, &event));
		CHECK_EQUAL(event.hdr_data, 3);
		pthread_join(thread, NULL);
	}
}

#define WAITERS 2

static struct {
	ptl_handle_eq_t eq[WAITERS];
	_Atomic unsigned waiting;
} room;

static void *wait_in_room(void *argument)
{
	ptl_event_t event;
	atomic_fetch_add(&room.waiting, 1);
	CHECK_OK(PtlEQWait(room.eq[(uintptr_t)argument], &event));
	CHECK_EQUAL(event.type, PTL_EVENT_SEND_END);
	return NULL;
}

/* One thread after the other, so that the first sleeps for the engine and the second beside it. */
static void enter_room(uintptr_t number, pthread_t *thread)
{
	static const struct timespec pause = {0, 3000000}; /* most likely it sleeps by then; it need not */
	unsigned before = atomic_load(&room.waiting);
	CHECK(pthread_create(thread, NULL, wait_in_room, (void *)number) == 0);
	while (atomic_load(&room.waiting) == before)
		sched_yield();
	nanosleep(&pause, NULL);
}

/* The events are logged by this thread's own calls: nothing arrives that would wake another thread. */
static void c3_20_each_of_several_waiting_threads_is_woken_by_its_own_event(void)
{
	open_door();
	if (am_target())
		open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md[WAITERS];
		pthread_t thread[WAITERS];
		for (int i = 0; i < WAITERS; i++)
			md[i] = bind_md(md_over(NULL, 0, PTL_MD_EVENT_START_DISABLE, room.eq[i] = new_eq(8)));
		ping(target_id());
		for (uintptr_t round = 0; round < 10; round++) {
			const uintptr_t first = round % 2;
			for (uintptr_t i = 0; i < WAITERS; i++)
				enter_room(i, &thread[i]);
			put(md[first], PTL_NO_ACK_REQ, BITS);
			pthread_join(thread[first], NULL);
			put(md[!first], PTL_NO_ACK_REQ, BITS);
			pthread_join(thread[!first], NULL);
		}
		ping(target_id());
	}
	barrier();
}

/* ---- Atomicity ---- */

#define WORDS (FEWER(250) * THREADS)

static struct {
	ptl_handle_md_t md;
	_Atomic unsigned accepted;
} scarce;

/* More attempts than the descriptor has units. */
static void *put_what_is_left(void *argument)
{
	const uintptr_t number = (uintptr_t)argument;
	for (unsigned i = 0; i < WORDS; i++) {
		int rc = PtlPut(scarce.md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, number * WORDS + i);
		if (rc == PTL_MD_INVALID)
			break;
		CHECK_OK(rc);
		atomic_fetch_add(&scarce.accepted, 1);
	}
	return NULL;
}

/* Local offsets follow each other without gap or overlap, and a thread's own messages keep their order. */
static void check_filled_in_order(ptl_handle_eq_t eq)
{
	ptl_hdr_data_t next[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		next[i] = i * WORDS;
	for (unsigned i = 0; i < WORDS; i++) {
		ptl_event_t event = take(eq, PTL_EVENT_PUT_END);
		CHECK_EQUAL(event.offset, 8 * i);
		CHECK_EQUAL(event.hdr_data, next[event.hdr_data / WORDS]);
		next[event.hdr_data / WORDS]++;
	}
	CHECK_EMPTY(eq);
}

/* All threads put from one descriptor with as many units as its target has room. */
static void c3_20_threads_share_units_and_room_exactly(void)
{
	ptl_handle_eq_t out = new_eq(4), in = new_eq(WORDS);
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	if (am_target())
		open_window(BITS, md_over(memory(8 * WORDS), 8 * WORDS, options, in));
	barrier();
	if (am_initiator()) {
		scarce.md = bind_mortal_md(with_threshold(md_over(memory(8), 8, QUIET, out), WORDS));
		in_threads(put_what_is_left);
		CHECK_EQUAL(atomic_load(&scarce.accepted), WORDS);
		take(out, PTL_EVENT_UNLINK);
		CHECK_EMPTY(out);
	}
	if (am_target()) {
		check_filled_in_order(in);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

/* The number of the update is told by the region's length and the pointer alike: never one without the other. */
static void *update_all_the_time(void *argument)
{
	const ptl_handle_md_t md = *(const ptl_handle_md_t *)argument;
	static char bytes[2];
	for (uintptr_t i = 0; i < WORDS; i++) {
		ptl_md_t state =
			md_over(bytes, 1 + i % 2, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE);
		state.user_ptr = &bytes[i % 2];
		CHECK_OK(PtlMDUpdate(md, NULL, &state, PTL_EQ_NONE));
	}
	return NULL;
}

static void c3_20_an_update_is_seen_as_a_whole(void)
{
	struct window window = open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT, PTL_EQ_NONE));
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, update_all_the_time, &window.md) == 0);
	for (unsigned i = 0; i < WORDS; i++) {
		ptl_md_t state = state_of(window.md);
		if (state.length > 0)
			CHECK(state.user_ptr == (char *)state.start + state.length - 1);
	}
	pthread_join(thread, NULL);
}

/* ---- Calls that do not block ---- */

static void c3_20_calls_return_while_the_target_stands_still(void)
{
	ptl_handle_eq_t eq = new_eq(64);
	char *bytes = memory(LONG);
	struct worker worker = {0, eq, bytes, bytes};
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_event_t event;
		int which;
		ping(target_id());
		stop_process(1);
		ptl_handle_md_t md = bind_md(md_over(bytes, LONG, PTL_MD_EVENT_START_DISABLE, eq));
		ptl_handle_md_t word = bind_md(md_over(bytes, 8, QUIET, PTL_EQ_NONE));
		for (int i = 0; i < 8; i++) {
			CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			CHECK_OK(PtlGet(md, target_id(), INDEX, 0, BITS, 0));
			CHECK_OK(PtlGetPut(word, word, target_id(), INDEX, 0, BITS, 0, 0));
		}
		ask_about_the_interface(&worker);
		build_and_take_down(&worker);
		CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
		CHECK_RC(PtlEQPoll(&eq, 1, 0, &event, &which), PTL_EQ_EMPTY);
		CHECK_RC(PtlMDUnlink(md), PTL_MD_IN_USE);
		continue_process(1);
		for (int i = 0; i < 8; i++) /* not taken */
			take(eq, PTL_EVENT_SEND_END);
		ping(target_id());
	}
	barrier();
}

static const struct test tests[] = {
	CASE_PAIR(c3_20_every_function_may_be_called_from_every_thread, "3.20/1 3.20/4"),
	CASE_ALONE(c3_20_a_handle_serves_every_thread, "3.20/2"),
	CASE_ALONE(c3_20_a_waiting_thread_keeps_no_other_from_calling, "3.20/3"),
	CASE_PAIR(c3_20_each_of_several_waiting_threads_is_woken_by_its_own_event, "3.20/6"),
	CASE_PAIR(c3_20_threads_share_units_and_room_exactly, "3.20/4"),
	CASE_ALONE(c3_20_an_update_is_seen_as_a_whole, "3.20/4"),
	CASE_TWO(c3_20_calls_return_while_the_target_stands_still, "3.20/5"),
	{0},
};

const struct chapter threads_chapter = {.title = "3.20 Threads", .rows = rows, .tests = tests};
