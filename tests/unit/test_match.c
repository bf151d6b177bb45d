/* SPDX-License-Identifier: BSD-3-Clause */
/* Match lists keep the order their makers asked for, say so by labels, and match the processes that they name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "offload/match.h"

enum { MANY = 100000, BISECTIONS = 20000 };

static struct match_list list;
static struct match_entry *entries;

static int empty(void **state)
{
	(void)state;
	list = (struct match_list){0};
	entries = calloc(MANY, sizeof(*entries));
	return entries ? 0 : -1;
}

static int release(void **state)
{
	(void)state;
	free(entries);
	return 0;
}

/* The list from its head, as characters for the entries' indexes; checks every link, count and label on the way. */
static uint32_t assert_sound(char *names)
{
	uint32_t length = 0;
	struct match_entry *previous = NULL;

	for (struct match_entry *me = list.head; me; previous = me, me = me->next) {
		assert_ptr_equal(me->previous, previous);
		assert_ptr_equal(me->list, &list);
		if (previous)
			assert_true(me->label > previous->label);
		if (names)
			*names++ = (char)('a' + (me - entries));
		length++;
	}
	if (names)
		*names = '\0';
	assert_ptr_equal(list.tail, previous);
	assert_int_equal(list.length, length);
	return length;
}

static void assert_order(const char *expected)
{
	char names[27];

	assert_sound(names);
	assert_string_equal(names, expected);
}

static void insert(char entry, char base, ptl_ins_pos_t position)
{
	match_list_insert(&list, &entries[entry - 'a'], base ? &entries[base - 'a'] : NULL, position);
}

static void entries_go_before_and_after_head_tail_and_base(void **state)
{
	(void)state;
	insert('a', 0, PTL_INS_AFTER);
	assert_order("a");
	insert('b', 0, PTL_INS_AFTER);
	assert_order("ab");
	insert('c', 0, PTL_INS_BEFORE);
	assert_order("cab");
	insert('d', 'c', PTL_INS_BEFORE);
	assert_order("dcab");
	insert('e', 'c', PTL_INS_AFTER);
	assert_order("dceab");
	insert('f', 'a', PTL_INS_BEFORE);
	assert_order("dcefab");
	insert('g', 'b', PTL_INS_AFTER);
	assert_order("dcefabg");
}

static void an_empty_list_takes_its_first_entry_at_either_end(void **state)
{
	(void)state;
	insert('a', 0, PTL_INS_BEFORE);
	assert_order("a");
	match_list_remove(&entries[0]);
	assert_order("");
	assert_null(list.head);
	insert('a', 0, PTL_INS_AFTER);
	assert_order("a");
}

static void removal_closes_the_gap_and_remembers_the_greatest_length(void **state)
{
	(void)state;
	for (const char *c = "abcde"; *c; c++)
		insert(*c, 0, PTL_INS_AFTER);
	match_list_remove(&entries[0]);
	assert_order("bcde");
	match_list_remove(&entries[4]);
	assert_order("bcd");
	match_list_remove(&entries[2]);
	assert_order("bd");
	assert_null(entries[2].list);
	insert('c', 'b', PTL_INS_AFTER);
	assert_order("bcd");
	assert_int_equal(list.greatest_length, 5);
}

static void labels_increase_after_many_insertions_anywhere(void **state)
{
	(void)state;
	srand(1);
	for (int i = 0; i < MANY; i++) {
		ptl_ins_pos_t position = rand() & 1 ? PTL_INS_AFTER : PTL_INS_BEFORE;
		struct match_entry *base = i > 0 && rand() % 8 ? &entries[rand() % i] : NULL;

		if (base && !base->list)
			base = NULL;
		match_list_insert(&list, &entries[i], base, position);
		if (rand() % 16 == 0)
			match_list_remove(&entries[i]);
	}
	assert_true(assert_sound(NULL) > MANY / 2);
}

static void labels_increase_when_one_gap_is_halved_again_and_again(void **state)
{
	(void)state;
	for (int towards_tail = 0; towards_tail < 2; towards_tail++) {
		list = (struct match_list){0};
		match_list_insert(&list, &entries[0], NULL, PTL_INS_AFTER);
		match_list_insert(&list, &entries[1], NULL, PTL_INS_AFTER);
		for (int i = 2; i < BISECTIONS; i++)
			match_list_insert(&list, &entries[i], &entries[towards_tail],
					  towards_tail ? PTL_INS_BEFORE : PTL_INS_AFTER);
		assert_int_equal(assert_sound(NULL), BISECTIONS);
		assert_ptr_equal(list.head, &entries[0]);
		assert_ptr_equal(list.tail, &entries[1]);
	}
}

/* As after some 2^31 insertions at one end: the labels there are used up. */
static void labels_increase_at_the_ends_of_their_range(void **state)
{
	(void)state;
	insert('a', 0, PTL_INS_AFTER);
	entries[0].label = 1;
	insert('b', 0, PTL_INS_BEFORE);
	assert_order("ba");
	entries[1].label = UINT64_C(1) << 31;
	insert('c', 0, PTL_INS_BEFORE);
	assert_order("cba");
	entries[0].label = UINT64_MAX;
	insert('d', 0, PTL_INS_AFTER);
	assert_order("cbad");
	entries[3].label = UINT64_MAX - (UINT64_C(1) << 31);
	insert('e', 0, PTL_INS_AFTER);
	assert_order("cbade");
}

static const ptl_process_id_t us = {7, 8}, anyone = {PTL_NID_ANY, PTL_PID_ANY};

static const struct {
	ptl_process_id_t source;
	uint64_t match_bits, ignore_bits;
	ptl_process_id_t from;
	uint64_t bits;
	bool matches;
} requests[] = {
	{{7, 8}, 5, 0, {7, 8}, 5, true},
	{{7, 8}, 5, 0, {6, 8}, 5, false},
	{{7, 8}, 5, 0, {7, 9}, 5, false},
	{{7, PTL_PID_ANY}, 5, 0, {7, 9}, 5, true},
	{{7, PTL_PID_ANY}, 5, 0, {6, 9}, 5, false},
	{{PTL_NID_ANY, 8}, 5, 0, {6, 8}, 5, true},
	{{PTL_NID_ANY, 8}, 5, 0, {6, 9}, 5, false},
	{{PTL_NID_ANY, PTL_PID_ANY}, 5, 0, {6, 9}, 5, true},
	{{PTL_NID_ANY, PTL_PID_ANY}, 5, 0, {6, 9}, 4, false},
	{{0, 0}, 5, 0, {7, 8}, 5, false},
	{{7, 8}, 5, 2, {7, 8}, 7, true},
	{{7, 8}, 5, 2, {7, 8}, 6, false},
	{{7, 8}, 5, UINT64_MAX, {7, 8}, 0, true},
	{{7, 8}, 5, UINT64_MAX, {7, 9}, 0, false},
	{{7, 8}, 5, UINT64_C(1) << 63, {7, 8}, UINT64_C(1) << 63 | 5, true},
	{{7, 8}, 5, 0, {7, 8}, UINT64_C(1) << 63 | 5, false},
};

static void an_entry_matches_whom_and_what_it_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		const struct match_entry me = {.source = requests[i].source,
					       .match_bits = requests[i].match_bits,
					       .must_match = ~requests[i].ignore_bits};

		if (match_entry_matches(&me, requests[i].from, requests[i].bits) != requests[i].matches)
			fail_msg("request %zu of the table", i);
	}
}

static void each_bit_decides_unless_it_is_ignored(void **state)
{
	(void)state;
	for (int bit = 0; bit < 64; bit++) {
		uint64_t one = UINT64_C(1) << bit;
		const struct match_entry exact = {.source = anyone, .match_bits = 0x1234, .must_match = UINT64_MAX};
		const struct match_entry ignoring = {.source = anyone, .match_bits = 0x1234, .must_match = ~one};
		const struct match_entry only = {.source = anyone, .match_bits = 0x1234, .must_match = one};

		assert_false(match_entry_matches(&exact, us, 0x1234 ^ one));
		assert_true(match_entry_matches(&ignoring, us, 0x1234 ^ one));
		assert_false(match_entry_matches(&only, us, 0x1234 ^ one));
		assert_true(match_entry_matches(&only, us, ~UINT64_C(0x1234) ^ one));
	}
}

/* --- the index --- */

enum { LONG = 3000, KEYS = 40, STEPS = 60000, SEARCHES = 40 };

/* Kinds of entries: how many masks there are, and how many of a hundred leave their source open. */
static const struct mixture {
	unsigned masks, wild;
} mixtures[] = {{1, 0}, {1, 10}, {4, 0}, {4, 50}, {64, 10}, {3000, 20}};

static const ptl_process_id_t processes[] = {{1, 1}, {1, 2}, {2, 1}};

static void make_up(struct match_entry *me, const struct mixture *mixture)
{
	ptl_process_id_t source = processes[rand() % 3];
	unsigned mask = (unsigned)rand() % mixture->masks;

	if ((unsigned)rand() % 100 < mixture->wild)
		source.nid = PTL_NID_ANY;
	if ((unsigned)rand() % 100 < mixture->wild)
		source.pid = PTL_PID_ANY;
	me->source = source;
	me->match_bits = (uint64_t)(rand() % KEYS) << 32 | (uint64_t)(rand() & 0xffff);
	me->must_match = ~(uint64_t)mask << 1 | (mask & 1);
}

/* Every match of a search, in its order, against a walk of the whole list; returns what the search has walked. */
static uint32_t assert_finds_what_walking_finds(void)
{
	ptl_process_id_t from = processes[rand() % 3];
	uint64_t bits = (uint64_t)(rand() % KEYS) << 32 | (uint64_t)(rand() & 0xffff);
	struct match_search search;

	if (rand() % 4 && list.tail)
		bits = list.tail->match_bits;
	match_begin(&search, &list, from, bits);
	for (struct match_entry *me = list.head; me; me = me->next)
		if (match_entry_matches(me, from, bits))
			assert_ptr_equal(match_next(&search), me);
	assert_null(match_next(&search));
	match_end(&search);
	return search.walked;
}

/* Inserted anywhere, removed anywhere; `insertions` of a hundred steps insert. */
static void step(const struct mixture *mixture, int insertions)
{
	struct match_entry *me = &entries[rand() % LONG];
	struct match_entry *base = rand() % 2 ? &entries[rand() % LONG] : NULL;

	if (rand() % 100 >= insertions) {
		if (me->list)
			match_list_remove(me);
	} else if (!me->list) {
		make_up(me, mixture);
		match_list_insert(&list, me, base && base->list ? base : NULL,
				  rand() & 1 ? PTL_INS_AFTER : PTL_INS_BEFORE);
	}
}

static void an_index_finds_what_walking_finds(void **state)
{
	(void)state;
	srand(2);
	for (size_t kind = 0; kind < sizeof(mixtures) / sizeof(mixtures[0]); kind++) {
		bool indexed = false;

		for (int i = 0; i < STEPS; i++) {
			step(&mixtures[kind], i / 6000 % 2 ? 40 : 70);
			if (i % SEARCHES == 0)
				assert_finds_what_walking_finds();
			indexed |= list.index != NULL;
		}
		assert_true(indexed);
		assert_sound(NULL);
		while (list.head)
			match_list_remove(list.head);
		assert_null(list.index);
	}
}

static void append(struct match_entry *me, uint64_t bits, uint64_t must_match)
{
	me->source = processes[0];
	me->match_bits = bits;
	me->must_match = must_match;
	match_list_insert(&list, me, NULL, PTL_INS_AFTER);
}

/* The last entry of the list is sought until the list has no better index to offer; what one search then walks. */
static uint32_t walked_in_the_long_run(void)
{
	struct match_search search = {0};

	for (int i = 0; i < 200; i++) {
		match_begin(&search, &list, processes[0], list.tail->match_bits);
		assert_ptr_equal(match_next(&search), list.tail);
		match_end(&search);
	}
	return search.walked;
}

static void a_long_list_is_walked_no_longer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		append(&entries[i], i, ~(uint64_t)0 << i % 4 * 8);
	list.tail->match_bits = UINT64_MAX; /* what no other has */
	match_list_remove(&entries[MANY - 1]);
	append(&entries[MANY - 1], UINT64_MAX, ~(uint64_t)0);
	assert_true(walked_in_the_long_run() < 100);
	match_list_free(&list);
}

/* The classes of the time when the index was made are gone; those that came instead get their rows, too. */
static void an_index_follows_its_list(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		append(&entries[i], i, ~(uint64_t)i << 1);
	append(&entries[1000], UINT64_MAX, UINT64_MAX);
	walked_in_the_long_run();
	assert_non_null(list.index);
	for (unsigned i = 0; i < 1000; i++)
		match_list_remove(&entries[i]);
	assert_non_null(list.index);
	for (unsigned i = 0; i < 1000; i++)
		append(&entries[i], i, UINT64_MAX << 1);
	match_list_remove(&entries[1000]);
	append(&entries[1000], UINT64_MAX, UINT64_MAX);
	assert_true(walked_in_the_long_run() < 100);
	match_list_free(&list);
}

/* An index that cannot help is not paid for again and again. */
static void a_list_of_nothing_but_different_masks_is_walked(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2000; i++)
		append(&entries[i], i, ~(uint64_t)i << 1);
	append(&entries[2000], UINT64_MAX, UINT64_MAX);
	for (int i = 0; i < 100; i++)
		walked_in_the_long_run();
	assert_true(list.doublings > 3);
	assert_true(walked_in_the_long_run() <= 2001 + MATCH_GLANCE + MATCH_CLASSES);
	match_list_free(&list);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, empty, release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entries_go_before_and_after_head_tail_and_base),
		TEST(an_empty_list_takes_its_first_entry_at_either_end),
		TEST(removal_closes_the_gap_and_remembers_the_greatest_length),
		TEST(labels_increase_after_many_insertions_anywhere),
		TEST(labels_increase_when_one_gap_is_halved_again_and_again),
		TEST(labels_increase_at_the_ends_of_their_range),
		TEST(an_entry_matches_whom_and_what_it_names),
		TEST(each_bit_decides_unless_it_is_ignored),
		TEST(an_index_finds_what_walking_finds),
		TEST(a_long_list_is_walked_no_longer),
		TEST(an_index_follows_its_list),
		TEST(a_list_of_nothing_but_different_masks_is_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
