/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way long messages go: learnt from a clock that is the test's, or fixed by a tuning file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transports/node/node_choice.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_tuning.h"

#define LENGTH (64u << 10) /* of which all ways are possible */
#define CPU    5           /* on which all this runs */
#define LEARNT 200         /* messages after which a choice is made, whatever happens */

static uint64_t now = 1; /* the monotonic clock, ns */
static struct node node;
static struct node_peer peer, other;
static uint64_t costs[NODE_WAYS]; /* ns */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){(time_t)(now / 1000000000u), (long)(now % 1000000000u)};
	return 0;
}

int __wrap_sched_getcpu(void);

int __wrap_sched_getcpu(void)
{
	return CPU;
}

static int begin(void **state)
{
	(void)state;
	memset(&node, 0, sizeof(node));
	node.copies = calloc(1, sizeof(*node.copies));
	peer = (struct node_peer){.cross_memory = true, .meeting = NODE_OPEN, .index = 3};
	other = peer;
	other.index = 7;
	return !node.copies;
}

static int finish(void **state)
{
	(void)state;
	node_choice_free(node.copies);
	free(node.copies);
	return 0;
}

static struct node_read begin_read(struct node_peer *from, uint64_t length)
{
	struct node_read read = {.peer = from, .length = length, .total = 2, .front = 1};

	read.local = read.one; /* of one piece, as long as this is its place */
	node_choose(&node, &read);
	read.local = NULL;
	read.split = read.way == NODE_SPLIT;
	return read;
}

/* A message after the one before, which takes what its way costs. */
static enum node_way message(struct node_peer *from, uint64_t length)
{
	struct node_read read = begin_read(from, length);

	now += costs[read.way];
	if (read.noted)
		node_choice_ended(&node, &read, 0);
	now += 1000000; /* the application does something else */
	return (enum node_way)read.way;
}

static void set_costs(uint64_t alone, uint64_t split, uint64_t staged)
{
	costs[NODE_ALONE] = alone;
	costs[NODE_SPLIT] = split;
	costs[NODE_STAGED] = staged;
}

static enum node_way learn(struct node_peer *from, uint64_t length)
{
	for (int i = 0; i < LEARNT; i++)
		message(from, length);
	enum node_way way = message(from, length);

	for (int i = 0; i < LEARNT; i++)
		assert_int_equal(message(from, length), way);
	return way;
}

/* --- learning --- */

static void the_way_that_took_least_is_chosen(void **state)
{
	(void)state;
	set_costs(3000, 2000, 1000);
	assert_int_equal(learn(&peer, LENGTH), NODE_STAGED);
	assert_int_equal(node.copies->figures[4].ns[NODE_ALONE], 3001);
	assert_int_equal(node.copies->figures[4].ns[NODE_STAGED], 1001);
}

static void lengths_and_peers_choose_for_themselves(void **state)
{
	(void)state;
	set_costs(3000, 2000, 1000);
	assert_int_equal(learn(&peer, LENGTH), NODE_STAGED);
	set_costs(3000, 1000, 2000);
	assert_int_equal(learn(&peer, 4 * LENGTH), NODE_SPLIT);
	set_costs(1000, 3000, 2000);
	assert_int_equal(learn(&other, LENGTH), NODE_ALONE);
	assert_int_equal(message(&peer, LENGTH + 1), NODE_STAGED);
	assert_int_equal(message(&peer, 8 * LENGTH - 1), NODE_SPLIT);
}

static void a_little_time_is_not_worth_a_processor(void **state)
{
	(void)state;
	set_costs(10000, 9900, 9800);
	assert_int_equal(learn(&peer, LENGTH), NODE_ALONE);
}

static void what_is_not_possible_is_not_tried(void **state)
{
	(void)state;
	set_costs(3000, 1, 2000);
	assert_int_equal(learn(&peer, NODE_SPLIT_MIN - 1), NODE_STAGED);
	peer.pidfd = -1;
	assert_int_equal(learn(&peer, LENGTH), NODE_STAGED);
	peer.cross_memory = false;
	assert_int_equal(message(&peer, 100), NODE_STAGED);
	assert_int_equal(message(&peer, LENGTH), NODE_STAGED);
}

/* What it copies there takes as long as if its reader does. */
static void a_source_on_this_very_core_is_not_asked(void **state)
{
	static struct node_segment segment;

	(void)state;
	set_costs(3000, 2000, 1000);
	peer.segment = &segment;
	atomic_store(&segment.place, CPU + 2);
	assert_int_equal(learn(&peer, LENGTH), NODE_STAGED);
	atomic_store(&segment.place, CPU + 1);
	for (int i = 0; i < LEARNT; i++)
		assert_int_equal(message(&peer, LENGTH), NODE_ALONE);
	atomic_store(&segment.place, CPU + 2);
	assert_int_equal(message(&peer, LENGTH), NODE_STAGED);
	atomic_store(&segment.place, CPU + 1);
	node.copies->fixed[4] = true;
	assert_int_equal(message(&peer, LENGTH), NODE_STAGED);
}

/* Then they are read alone whatever is being measured: that says nothing of what the ways take on two cores. */
static void messages_on_this_very_core_are_no_part_of_what_is_learnt(void **state)
{
	static struct node_segment segment;

	(void)state;
	set_costs(3000, 2000, 1000);
	peer.segment = &segment;
	for (int i = 0; node.copies->figures[4].way == NODE_UNCHOSEN; i++) {
		assert_in_range(i, 0, 4 * LEARNT);
		atomic_store(&segment.place, i % 4 ? CPU + 1 : CPU + 2);
		message(&peer, LENGTH);
	}
	assert_int_equal(node.copies->figures[4].way, NODE_STAGED);
	assert_int_equal(node.copies->figures[4].ns[NODE_ALONE], 3001);
	assert_int_equal(node.copies->figures[4].ns[NODE_SPLIT], 2001);
	assert_int_equal(node.copies->figures[4].ns[NODE_STAGED], 1001);
}

/* A source that was missed is skipped for one message that would have been staged, not for one that is read alone anyway. */
static void messages_on_this_very_core_skip_no_source(void **state)
{
	static struct node_segment segment;

	(void)state;
	set_costs(3000, 2000, 1000);
	peer.segment = &segment;
	atomic_store(&segment.place, CPU + 2);
	assert_int_equal(learn(&peer, LENGTH), NODE_STAGED);
	struct node_read read = begin_read(&peer, LENGTH);

	node_choice_missed(&node, &read);
	read.way = NODE_ALONE;
	node_choice_ended(&node, &read, 0);
	atomic_store(&segment.place, CPU + 1);
	message(&peer, LENGTH);
	atomic_store(&segment.place, CPU + 2);
	assert_int_not_equal(message(&peer, LENGTH), NODE_STAGED);
	assert_int_equal(message(&peer, LENGTH), NODE_STAGED);
}

static void messages_in_a_window_count_from_the_end_of_the_one_before(void **state)
{
	enum { WINDOW = 4 };
	struct node_read reads[WINDOW];

	(void)state;
	set_costs(3000, 2000, 1000);
	for (int i = 0; i < WINDOW; i++)
		reads[i] = begin_read(&peer, LENGTH);
	for (int i = 0; i < 4 * LEARNT; i++) {
		struct node_read *read = &reads[i % WINDOW];

		now += costs[read->way];
		node_choice_ended(&node, read, 0);
		*read = begin_read(&peer, LENGTH);
	}
	assert_int_equal(reads[0].way, NODE_STAGED);
	assert_in_range(node.copies->figures[4].ns[NODE_STAGED], 1000, 3000);
}

/* --- what misled --- */

static unsigned count_staged(const struct node_read *reads, int count)
{
	unsigned staged = 0;

	for (int i = 0; i < count; i++)
		staged += reads[i].way == NODE_STAGED;
	return staged;
}

/*
 * Windows of messages, of which the reader finds two for each that it copies.  The first window finds everything cold.  What
 * is staged takes a round trip for every four messages, and to read memory takes longer while the source has that to do.
 * The way that most messages of the last windows went.
 */
static enum node_way windows(unsigned short_of_four, unsigned round_trip)
{
	enum { WINDOW = 64, WINDOWS = 1000, LAST = 200, COLD = 3500, DISTURBED = 2900, UNDISTURBED = 1100 };
	struct node_read reads[WINDOW] = {0};
	unsigned went[NODE_WAYS] = {0};

	for (int window = 0; window < WINDOWS; window++) {
		for (int ended = 0, begun = 0, staged = 0; ended < WINDOW; ended++) {
			for (int i = 0; i < 2 && begun < WINDOW; i++)
				reads[begun++] = begin_read(&peer, 8192);
			if (reads[ended].way == NODE_STAGED)
				now += staged++ % 4 == 0 ? round_trip : short_of_four;
			else if (window == 0)
				now += COLD;
			else
				now += count_staged(reads + ended, begun - ended) ? DISTURBED : UNDISTURBED;
			went[reads[ended].way] += window >= WINDOWS - LAST;
			node_choice_ended(&node, &reads[ended], 0);
		}
		now += 20000; /* until all are confirmed */
	}
	for (enum node_way way = NODE_ALONE; way < NODE_WAYS; way++)
		if (went[way] > LAST * WINDOW * 3 / 4)
			return way;
	return NODE_UNCHOSEN;
}

/* As it was recorded: staged it takes 1612 ns on average, more than undisturbed. */
static void what_disturbs_the_other_way_is_not_the_quicker_one(void **state)
{
	(void)state;
	assert_int_equal(windows(950, 3600), NODE_ALONE);
}

static void what_is_quicker_in_a_window_is_taken(void **state)
{
	(void)state;
	assert_int_equal(windows(600, 2000), NODE_STAGED);
}

/* Of what is staged behind a message that goes another way, the time is that message's. */
static void what_overlaps_with_another_way_does_not_count(void **state)
{
	enum { DEPTH = 4 };
	struct node_read reads[DEPTH];

	(void)state;
	for (int i = 0; i < DEPTH; i++)
		reads[i] = begin_read(&peer, 8192);
	for (int i = 0, since = 0; i < 40 * LEARNT; i++) {
		struct node_read *read = &reads[i % DEPTH];
		bool alone = read->way == NODE_ALONE;

		since = alone ? 0 : since + 1;
		now += alone ? 2000 : since <= DEPTH ? 100 : 3000;
		node_choice_ended(&node, read, 0);
		*read = begin_read(&peer, 8192);
	}
	assert_int_equal(node.copies->figures[1].way, NODE_ALONE);
	assert_int_equal(node.copies->figures[1].ns[NODE_ALONE], 2001);
	assert_int_equal(node.copies->figures[1].ns[NODE_STAGED], 3001);
}

/* Each way's row once, and twice what is the quicker one. */
static void rows_that_were_disturbed_decide_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < LEARNT; i++) {
		struct node_read read = begin_read(&peer, 8192);
		uint64_t cost = read.way == NODE_ALONE ? 1000 : 2000;

		now += i % 20 < 8 && i < 20 ? 4000000 : cost;
		node_choice_ended(&node, &read, 0);
	}
	assert_int_equal(node.copies->figures[1].way, NODE_ALONE);
	assert_int_equal(node.copies->figures[1].ns[NODE_ALONE], 1001);
	assert_int_equal(node.copies->figures[1].ns[NODE_STAGED], 2001);
}

/* The choice that was made last, after as many messages as need another one. */
static enum node_way choose_again(uint64_t alone, uint64_t staged)
{
	set_costs(alone, UINT32_MAX, staged);
	for (int i = 0; i < 20 * LEARNT; i++)
		message(&peer, 8192);
	return node.copies->figures[1].way;
}

/* Rows differ by so much that two ways as good as each other would take turns. */
static void a_little_time_changes_no_choice(void **state)
{
	(void)state;
	assert_int_equal(choose_again(10000, 9800), NODE_ALONE);
	assert_int_equal(choose_again(10000, 9000), NODE_STAGED);
	assert_int_equal(choose_again(10000, 9800), NODE_STAGED);
	assert_int_equal(choose_again(10000, 10100), NODE_ALONE);
}

/* It would be measured for as long as it lasts otherwise. */
static void a_message_that_never_ends_stops_no_measurement(void **state)
{
	(void)state;
	set_costs(3000, 2000, 1000);
	begin_read(&peer, LENGTH);
	for (int i = 0; i < 2000; i++)
		message(&peer, LENGTH);
	assert_int_equal(node.copies->figures[4].way, NODE_STAGED);
}

/* --- again, and sources that are not there --- */

static void a_choice_is_made_anew_after_a_while(void **state)
{
	(void)state;
	set_costs(3000, 2000, 1000);
	assert_int_equal(learn(&peer, LENGTH), NODE_STAGED);
	set_costs(1000, 2000, 3000);
	for (int i = 0; i < 3000; i++)
		message(&peer, LENGTH);
	assert_int_equal(node.copies->figures[4].way, NODE_ALONE);
}

/* A message for which the source does nothing. */
static void without_source(uint64_t cost)
{
	struct node_read read = begin_read(&peer, LENGTH);

	if (read.way == NODE_STAGED) {
		node_choice_missed(&node, &read);
		read.way = NODE_ALONE;
	}
	read.front = read.total;
	now += cost;
	node_choice_ended(&node, &read, 0);
}

static void who_is_missed_is_asked_less_and_less_often(void **state)
{
	int asked = 0;

	(void)state;
	set_costs(3000, 2000, 1000);
	assert_int_equal(learn(&peer, LENGTH), NODE_STAGED);
	for (int i = 0; i < 600; i++) {
		struct node_read read = begin_read(&peer, LENGTH);

		if (read.way == NODE_STAGED) {
			asked++;
			assert_true(read.patience > 0);
			node_choice_missed(&node, &read);
			read.way = NODE_ALONE;
		}
		node_choice_ended(&node, &read, 0);
	}
	assert_in_range(asked, 5, 20);
	while (message(&peer, LENGTH) != NODE_STAGED)
		;
	for (int i = 0; i < 100; i++)
		assert_int_equal(message(&peer, LENGTH), NODE_STAGED);
}

static void a_source_that_never_comes_does_not_keep_others_from_being_chosen(void **state)
{
	(void)state;
	for (int i = 0; i < LEARNT; i++)
		without_source(1000);
	assert_int_not_equal(node.copies->figures[4].way, NODE_UNCHOSEN);
	assert_int_equal(node.copies->figures[4].ns[NODE_STAGED], 0);
}

/* Asking costs next to nothing, and nothing is known against it. */
static void a_source_that_computed_at_first_is_asked_for_help_later(void **state)
{
	(void)state;
	for (int i = 0; i < LEARNT; i++)
		without_source(3000);
	set_costs(3000, 2000, 4000);
	for (int i = 0; i < LEARNT; i++)
		assert_int_equal(message(&peer, LENGTH), NODE_SPLIT);
}

/* ALONE, then: what it took is not what splitting takes. */
static void a_little_help_is_not_counted_as_a_split_message(void **state)
{
	(void)state;
	for (int i = 0; i < LEARNT; i++) {
		struct node_read read = begin_read(&peer, 64 * LENGTH);

		read.total = 16;
		read.front = 13;
		if (i % 2)
			read.split = false; /* there was no room for the request */
		now += read.way == NODE_SPLIT ? 3000 : 2000;
		node_choice_ended(&node, &read, 0);
	}
	assert_int_not_equal(node.copies->figures[10].way, NODE_UNCHOSEN);
	assert_int_equal(node.copies->figures[10].ns[NODE_SPLIT], 0);
}

/* A helper begins with the newest of a window: it copies whole messages, and others not at all. */
static void what_is_split_by_whole_messages_counts_as_split(void **state)
{
	(void)state;
	set_costs(3000, 5000, 4000);
	for (int i = 0; i < LEARNT; i++) {
		struct node_read read = begin_read(&peer, LENGTH);

		read.front = i % 3 ? read.total : 0;
		now += costs[read.way];
		node_choice_ended(&node, &read, 0);
	}
	assert_int_equal(node.copies->figures[4].ns[NODE_SPLIT], 5001);
	assert_int_equal(node.copies->figures[4].way, NODE_ALONE);
}

/* One of so many messages loses patience in the middle.  The way that is taken after a while. */
static enum node_way stage_late(int one_of)
{
	set_costs(4500, 2500, 2000);
	for (int i = 0, staged = 0; i < 3 * LEARNT; i++) {
		struct node_read read = begin_read(&peer, LENGTH);

		now += costs[read.way];
		if (read.way == NODE_STAGED && ++staged % one_of == 0) {
			read.at = 1;
			node_choice_missed(&node, &read);
			read.way = NODE_ALONE;
			now += 3600;
		}
		node_choice_ended(&node, &read, 0);
	}
	return node.copies->figures[4].way;
}

static void who_is_late_in_the_middle_too_often_is_not_the_quickest(void **state)
{
	(void)state;
	assert_int_equal(stage_late(3), NODE_SPLIT);
}

static void who_is_late_now_and_then_may_be_the_quickest(void **state)
{
	(void)state;
	assert_int_equal(stage_late(30), NODE_STAGED);
}

static void a_row_that_cannot_win_is_cut_short(void **state)
{
	int count = 0;

	(void)state;
	set_costs(3000, 1000, 9000);
	for (; node.copies->figures[4].way == NODE_UNCHOSEN; count++)
		message(&peer, LENGTH);
	assert_in_range(count, 20, 35); /* of 45 */
	assert_int_equal(node.copies->figures[4].way, NODE_SPLIT);
	assert_int_equal(node.copies->figures[4].ns[NODE_ALONE], 3001);
	assert_int_equal(node.copies->figures[4].ns[NODE_SPLIT], 1001);
	assert_int_equal(node.copies->figures[4].ns[NODE_STAGED], 9001);
}

static void what_is_fixed_stays_so_though_the_source_never_comes(void **state)
{
	(void)state;
	node.copies->figures[4] = (struct node_figures){.ns = {0, 3000, 0, 2000}, .way = NODE_STAGED};
	node.copies->fixed[4] = true;
	for (int i = 0; i < 20000; i++)
		without_source(1000);
	assert_int_equal(node.copies->figures[4].way, NODE_STAGED);
	assert_int_equal(node.copies->figures[4].ns[NODE_ALONE], 3000);
}

/* A file may say anything; measured by the clock of the test, a stretch may take any time. */
static void nobody_is_waited_for_longer_than_a_millisecond(void **state)
{
	(void)state;
	node.copies->figures[4] = (struct node_figures){.ns = {0, UINT32_MAX, 0, 0}, .way = NODE_STAGED};
	node.copies->fixed[4] = true;
	struct node_read read = begin_read(&peer, LENGTH);

	assert_int_equal(read.way, NODE_STAGED);
	assert_in_range(read.patience, 1, cycles_in(1000000));
}

static void a_forgotten_peer_begins_anew(void **state)
{
	(void)state;
	set_costs(3000, 2000, 1000);
	assert_int_equal(learn(&peer, LENGTH), NODE_STAGED);
	node_choice_forget(node.copies, &peer);
	node_choice_forget(node.copies, &other); /* was never known */
	assert_int_equal(message(&peer, LENGTH), NODE_ALONE);
}

/* --- the file --- */

static void what_the_file_says_fixes_the_choice(void **state)
{
	struct tuning tuning = {0};
	char text[1024];

	(void)state;
	tuning.node[2] = (struct node_figures){.ns = {0, 3000, 0, 2000}, .way = NODE_STAGED};
	tuning.node[10] = (struct node_figures){.ns = {0, 0, UINT32_MAX, 0}, .way = NODE_SPLIT};
	node_tuning_apply(node.copies, &tuning);
	assert_true(node.copies->fixed[2] && node.copies->fixed[10] && !node.copies->fixed[3]);
	set_costs(1, 2, 3);
	assert_int_equal(learn(&peer, 16384), NODE_STAGED);
	assert_int_equal(learn(&peer, 64u << 20), NODE_SPLIT);
	assert_int_equal(learn(&peer, LENGTH), NODE_ALONE);
	assert_int_equal(node.copies->figures[2].ns[NODE_ALONE], 3000);
	node_choice_describe(node.copies, text, sizeof(text));
	assert_non_null(strstr(text, " 16K staged 3.0/-/2.0 (fixed), 64K cross-memory 0.0/0.0/0.0, 4M split "));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_way_that_took_least_is_chosen),
		TEST(lengths_and_peers_choose_for_themselves),
		TEST(a_little_time_is_not_worth_a_processor),
		TEST(what_is_not_possible_is_not_tried),
		TEST(a_source_on_this_very_core_is_not_asked),
		TEST(messages_on_this_very_core_are_no_part_of_what_is_learnt),
		TEST(messages_on_this_very_core_skip_no_source),
		TEST(messages_in_a_window_count_from_the_end_of_the_one_before),
		TEST(what_disturbs_the_other_way_is_not_the_quicker_one),
		TEST(what_is_quicker_in_a_window_is_taken),
		TEST(what_overlaps_with_another_way_does_not_count),
		TEST(rows_that_were_disturbed_decide_nothing),
		TEST(a_little_time_changes_no_choice),
		TEST(a_message_that_never_ends_stops_no_measurement),
		TEST(a_choice_is_made_anew_after_a_while),
		TEST(who_is_missed_is_asked_less_and_less_often),
		TEST(a_source_that_never_comes_does_not_keep_others_from_being_chosen),
		TEST(a_source_that_computed_at_first_is_asked_for_help_later),
		TEST(a_little_help_is_not_counted_as_a_split_message),
		TEST(what_is_split_by_whole_messages_counts_as_split),
		TEST(who_is_late_in_the_middle_too_often_is_not_the_quickest),
		TEST(who_is_late_now_and_then_may_be_the_quickest),
		TEST(a_row_that_cannot_win_is_cut_short),
		TEST(what_is_fixed_stays_so_though_the_source_never_comes),
		TEST(nobody_is_waited_for_longer_than_a_millisecond),
		TEST(a_forgotten_peer_begins_anew),
		TEST(what_the_file_says_fixes_the_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
