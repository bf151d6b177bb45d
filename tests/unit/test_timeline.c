/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of a timeline: what it keeps, what it drops and counts, and that threads may record at the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "offload/nic.h"
#include "offload/timeline.h"
#include "offload/timeline_file.h"
#include "offload/timing.h"

static struct timeline *timeline;

static int open_timeline(void **state)
{
	static uint64_t moment;

	(void)state;
	return (timeline = timeline_open(0, ++moment)) ? 0 : -1;
}

static int close_timeline(void **state)
{
	(void)state;
	timeline_close(timeline);
	return 0;
}

static struct timeline_record entry(uint64_t ticket)
{
	struct timeline_record record;

	assert_true(timeline_read(timeline, ticket, &record));
	return record;
}

static void an_entry_is_what_was_recorded(void **state)
{
	const struct timeline_message message = {.flow = 0x1234567890abcdef,
						 .bytes = UINT64_MAX,
						 .match_bits = 42,
						 .nid = UINT32_MAX,
						 .pid = 7,
						 .operation = 3};

	(void)state;
	timeline_stage(timeline, PTL_STAGE_REGISTER, 10, 20);
	timeline_note(timeline, TIMELINE_LANDED, UINT64_MAX, &message);
	timeline->current = message;
	timeline_stage(timeline, PTL_STAGE_MESSAGE, 1, 2);
	timeline_stage(timeline, PTL_STAGE_COPY, 1, 2);

	struct timeline_record stage = entry(0), landed = entry(1), whole = entry(2), lap = entry(3);

	assert_true(stage.kind == TIMELINE_STAGE && stage.stage == PTL_STAGE_REGISTER && stage.start == 10 &&
		    stage.end == 20);
	assert_int_equal(stage.message.flow, 0);
	assert_true(landed.kind == TIMELINE_LANDED && landed.start == UINT64_MAX);
	assert_int_equal(landed.message.flow, message.flow);
	assert_int_equal(landed.message.bytes, message.bytes);
	assert_int_equal(landed.message.match_bits, message.match_bits);
	assert_int_equal(landed.message.nid, message.nid);
	assert_int_equal(landed.message.pid, message.pid);
	assert_int_equal(landed.message.operation, message.operation);
	assert_int_equal(whole.message.flow, message.flow); /* a whole message is the one that is being handled, */
	assert_int_equal(lap.message.flow, 0);              /* one of its stages is not */
	assert_int_equal(atomic_load(&timeline->count), 1);
}

static void the_oldest_is_dropped(void **state)
{
	struct timeline_record record;

	(void)state;
	for (uint64_t i = 0; i < TIMELINE_ENTRIES + 10; i++)
		timeline_stage(timeline, PTL_STAGE_POLL, i, i);
	assert_int_equal(atomic_load(&timeline->next), TIMELINE_ENTRIES + 10);
	for (uint64_t i = 0; i < 10; i++)
		assert_false(timeline_read(timeline, i, &record));
	for (uint64_t i = 10; i < TIMELINE_ENTRIES + 10; i++)
		assert_int_equal(entry(i).start, i);
	assert_false(timeline_read(timeline, TIMELINE_ENTRIES + 10, &record));
}

/* Each writes the same number everywhere: an entry that is read has them all from one. */
static void *record_many(void *number)
{
	const uint64_t own = (uintptr_t)number;
	const struct timeline_message message = {
		.flow = own, .bytes = own, .match_bits = own, .nid = (uint32_t)own, .pid = (uint32_t)own};

	for (unsigned i = 0; i < TIMELINE_ENTRIES; i++)
		timeline_note(timeline, TIMELINE_SENT, own, &message);
	return NULL;
}

static void threads_record_together(void **state)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	struct timeline_record record;
	uint64_t read = 0;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, record_many, (void *)(i + 1)), 0);
	for (uint64_t i = 0; i < 3 * TIMELINE_ENTRIES; i++) {
		if (!timeline_read(timeline, i, &record))
			continue;
		const struct timeline_message *message = &record.message;

		read++;
		assert_true(record.start >= 1 && record.start <= THREADS);
		assert_true(message->flow == record.start && message->bytes == record.start);
		assert_true(message->match_bits == record.start && message->nid == record.start &&
			    message->pid == record.start);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&timeline->next), THREADS * TIMELINE_ENTRIES);
	assert_int_equal(atomic_load(&timeline->count), THREADS);
	print_message("%llu read while they were recorded\n", (unsigned long long)read);
}

static void *record_one(void *unused)
{
	timeline_stage(timeline, PTL_STAGE_POLL, 1, 2);
	return unused;
}

/* All at the same time, because the number of one that has ended comes again. */
static pthread_barrier_t all_recorded;

static void *record_and_stay(void *unused)
{
	record_one(unused);
	pthread_barrier_wait(&all_recorded);
	return unused;
}

static void threads_without_a_track_are_counted(void **state)
{
	enum { MORE = TIMELINE_TRACKS + 3 };
	pthread_t threads[MORE];

	(void)state;
	pthread_barrier_init(&all_recorded, NULL, MORE);
	for (int i = 0; i < MORE; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, record_and_stay, NULL), 0);
	for (int i = 0; i < MORE; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_recorded);
	assert_int_equal(atomic_load(&timeline->next), TIMELINE_TRACKS);
	assert_int_equal(atomic_load(&timeline->lost), MORE - TIMELINE_TRACKS);
}

/* A thread that has a track in another one, perhaps at the same address, gets one here. */
static void each_timeline_has_tracks_of_its_own(void **state)
{
	struct timeline *first = timeline;

	record_one(NULL);
	assert_int_equal(atomic_load(&timeline->count), 1);
	assert_int_equal(open_timeline(state), 0);
	record_one(NULL);
	assert_int_equal(atomic_load(&timeline->count), 1);
	timeline_close(timeline);
	timeline = first;
	record_one(NULL);
	assert_int_equal(atomic_load(&timeline->count), 1);
}

static void the_clocks_record_laps_and_messages(void **state)
{
	static struct timing timing;

	(void)state;
	timing.timeline = timeline;
	timing_set(&timing, true);
	timing_begin(&timing);
	timing_lap(&timing, PTL_STAGE_INSPECT);
	timing_lap(&timing, PTL_STAGE_MATCH);
	timing_end(&timing);
	timing_set(&timing, false);
	timing_stop(&timing, PTL_STAGE_SEND, timing_start(&timing));
	timing.timeline = NULL;
	assert_int_equal(atomic_load(&timeline->next), 3);

	struct timeline_record first = entry(0), second = entry(1), whole = entry(2);

	assert_true(first.stage == PTL_STAGE_INSPECT && second.stage == PTL_STAGE_MATCH &&
		    whole.stage == PTL_STAGE_MESSAGE);
	assert_true(first.start == whole.start && first.end == second.start && second.end == whole.end);
}

/* The engine goes on, or is closed, while a file is written. */
static void a_copy_is_written_as_it_was_filled(void **state)
{
	struct nic *nic = calloc(1, sizeof(*nic));
	struct timeline_copy *copy = timeline_copy_new();
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_true(nic && copy && out);
	nic->timing.timeline = timeline;
	timeline_stage(timeline, PTL_STAGE_MATCH, 1000000, 2000000);
	timeline_copy_fill(copy, nic);
	for (uint64_t i = 0; i < TIMELINE_ENTRIES; i++)
		timeline_stage(timeline, PTL_STAGE_POLL, i, i);
	free(nic);
	timeline_copy_write(copy, out);
	timeline_copy_free(copy);
	fclose(out);
	assert_non_null(strstr(text, "\"recorded\":1,\"dropped\":0"));
	assert_non_null(strstr(text, "\"name\":\"match\""));
	assert_null(strstr(text, "\"name\":\"poll\""));
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_timeline, close_timeline)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_entry_is_what_was_recorded),
		TEST(the_oldest_is_dropped),
		TEST(threads_record_together),
		TEST(threads_without_a_track_are_counted),
		TEST(each_timeline_has_tracks_of_its_own),
		TEST(the_clocks_record_laps_and_messages),
		TEST(a_copy_is_written_as_it_was_filled),
	};

	if (!PORTALS_TIMING)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
