/* SPDX-License-Identifier: BSD-3-Clause */
/* Several application threads in one process, all in Portals at once. */
#include "tests/behaviour/stress/stress.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

#define THREADS 4
#define ROUNDS  FEWER(1500)
#define AREA    (256u << 10) /* bytes each thread owns at the peer */

struct worker {
	int number;
	uint32_t random;
	ptl_handle_eq_t eq;
	unsigned char *source, *buffer; /* AREA bytes each */
	ptl_process_id_t self, peer;
};

static size_t any_length(struct worker *worker)
{
	static const uint32_t limits[] = {1, 64, 1024, 20000, AREA + 1};
	return next_random(&worker->random) % limits[next_random(&worker->random) % 5];
}

/* Puts random bytes into this thread's area at the peer and reads them back. */
static void put_and_get_back(struct worker *worker)
{
	size_t length = any_length(worker), offset = (size_t)worker->number * AREA;
	fill_pattern(worker->source, length, worker->random);
	ptl_handle_md_t md = bind_md(md_over(worker->source, length, PTL_MD_EVENT_START_DISABLE, worker->eq));
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, worker->peer, INDEX, 0, BITS, offset, 0));
	take(worker->eq, PTL_EVENT_SEND_END);
	take(worker->eq, PTL_EVENT_ACK);
	CHECK_OK(PtlMDUnlink(md));
	md = bind_md(md_over(worker->buffer, length, PTL_MD_EVENT_START_DISABLE, worker->eq));
	CHECK_OK(PtlGet(md, worker->peer, INDEX, 0, BITS, offset));
	CHECK_EQUAL(take(worker->eq, PTL_EVENT_REPLY_END).mlength, length);
	CHECK(memcmp(worker->buffer, worker->source, length) == 0);
	CHECK_OK(PtlMDUnlink(md));
}

static void get_and_unlink_at_once(struct worker *worker)
{
	ptl_handle_md_t md = bind_md(md_over(worker->buffer, any_length(worker), 0, PTL_EQ_NONE));
	CHECK_OK(PtlGet(md, worker->peer, INDEX, 0, BITS, (size_t)worker->number * AREA));
	unlink_soon(md);
}

/* Entries come and go on a list that all threads share. */
static void attach_insert_and_unlink(struct worker *worker)
{
	ptl_handle_me_t me[3];
	ptl_handle_md_t md;
	ptl_match_bits_t bits = BITS + (ptl_match_bits_t)worker->number;
	ptl_pt_index_t any;
	CHECK_OK(PtlMEAttach(ni, INDEX_SIDE, anyone, bits, 0, PTL_UNLINK, next_random(&worker->random) % 2, &me[0]));
	CHECK_OK(PtlMEInsert(me[0], anyone, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &me[1]));
	CHECK_OK(PtlMEAttachAny(ni, &any, anyone, bits, 0, PTL_RETAIN, &me[2]));
	CHECK_OK(PtlMDAttach(me[0], md_over(worker->buffer, 64, PTL_MD_OP_PUT, worker->eq), PTL_RETAIN, &md));
	CHECK_OK(PtlMDUnlink(md));
	CHECK_RC(PtlMEUnlink(me[0]), PTL_ME_INVALID);
	CHECK_OK(PtlMEUnlink(me[1]));
	CHECK_OK(PtlMEUnlink(me[2]));
}

static void receive_from_myself_and_unlink(struct worker *worker)
{
	struct window window;
	ptl_match_bits_t bits = BITS + 100 + (ptl_match_bits_t)worker->number;
	size_t length = any_length(worker);
	ptl_md_t md = md_over(worker->buffer, AREA, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, worker->eq);
	md.threshold = 1;
	fill_pattern(worker->source, length, worker->random);
	window = open_window_at(__FILE__, __LINE__, INDEX_SIDE, bits, md, PTL_UNLINK);
	ptl_handle_md_t source = bind_md(md_over(worker->source, length, 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, worker->self, INDEX_SIDE, 0, bits, 0, 0));
	take(worker->eq, PTL_EVENT_PUT_END);
	take(worker->eq, PTL_EVENT_UNLINK);
	CHECK_PATTERN(worker->buffer, length, worker->random);
	CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
	unlink_soon(source);
}

static void open_and_close_a_queue(struct worker *worker)
{
	ptl_handle_eq_t eq = new_eq(1 + next_random(&worker->random) % 100);
	ptl_event_t event;
	CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	CHECK_OK(PtlEQFree(eq));
	CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_INVALID);
}

static void *work(void *argument)
{
	static void (*const deeds[])(struct worker *) = {put_and_get_back, get_and_unlink_at_once,
							 attach_insert_and_unlink, receive_from_myself_and_unlink,
							 open_and_close_a_queue};
	struct worker *worker = argument;
	for (int i = 0; i < ROUNDS; i++)
		deeds[next_random(&worker->random) % 5](worker);
	return NULL;
}

static void run_workers(struct worker *workers)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		struct worker *worker = &workers[i];
		worker->number = i;
		worker->random = (uint32_t)(my_rank * THREADS + i + 1);
		worker->eq = new_eq(64);
		worker->source = memory(AREA);
		worker->buffer = memory(AREA);
		worker->self = id_of[my_rank];
		worker->peer = id_of[process_count - 1 - my_rank];
	}
	barrier();
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void four_threads_put_get_attach_and_unlink_at_once(void)
{
	static struct worker workers[THREADS];
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	open_window(BITS, md_over(memory(THREADS * AREA), THREADS * AREA, options, PTL_EQ_NONE));
	run_workers(workers);
	barrier();
	for (int i = 0; i < THREADS; i++)
		CHECK_EMPTY(workers[i].eq);
}

static void on_alarm(int number)
{
	(void)number;
}

static void four_threads_work_under_a_storm_of_signals(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval storm = {{0, 500 * SLOWNESS}, {0, 500 * SLOWNESS}}, calm = {{0, 0}, {0, 0}};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &storm, NULL) == 0);
	four_threads_put_get_attach_and_unlink_at_once();
	CHECK(setitimer(ITIMER_REAL, &calm, NULL) == 0);
}

/* ---- Many consumers of one queue ---- */

static struct {
	ptl_handle_eq_t eq;
	_Atomic unsigned sum, taken;
	unsigned expected;
} pool;

static void *consume(void *argument)
{
	int which, way = (int)(uintptr_t)argument;
	while (atomic_load(&pool.taken) < pool.expected) {
		ptl_event_t event;
		int rc = way ? PtlEQPoll(&pool.eq, 1, 20, &event, &which) : PtlEQGet(pool.eq, &event);
		if (rc == PTL_EQ_EMPTY)
			continue;
		CHECK_EQUAL(rc, PTL_OK);
		atomic_fetch_add(&pool.sum, (unsigned)event.hdr_data);
		atomic_fetch_add(&pool.taken, 1);
	}
	return NULL;
}

static void *produce(void *argument)
{
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
	for (unsigned i = 0; i < pool.expected / 2; i++)
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, i));
	return argument;
}

static void producers_and_consumers_lose_and_double_no_event(void)
{
	pthread_t threads[6];
	pool.expected = 2 * FEWER(5000);
	pool.eq = new_eq(pool.expected);
	if (am_target())
		open_window(BITS,
			    md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE, pool.eq));
	barrier();
	int count = 0;
	for (uintptr_t i = 0; i < 4 && am_target(); i++)
		CHECK(pthread_create(&threads[count++], NULL, consume, (void *)(i % 2)) == 0);
	for (int i = 0; i < 2 && am_initiator(); i++)
		CHECK(pthread_create(&threads[count++], NULL, produce, NULL) == 0);
	while (count > 0)
		pthread_join(threads[--count], NULL);
	if (am_target()) {
		unsigned half = pool.expected / 2;
		CHECK_EQUAL(atomic_load(&pool.taken), pool.expected);
		CHECK_EQUAL(atomic_load(&pool.sum), half * (half - 1)); /* each number twice */
		CHECK_EMPTY(pool.eq);
	}
	barrier();
}

#define LONG_PAIR(test)                                                                                                \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_PAIR                                       \
	}

const struct test thread_tests[] = {
	LONG_PAIR(four_threads_put_get_attach_and_unlink_at_once),
	LONG_PAIR(four_threads_work_under_a_storm_of_signals),
	LONG_PAIR(producers_and_consumers_lose_and_double_no_event),
	{0},
};
