/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way long messages go: learnt from a clock that is the test's, and told by files that may be good or bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/report.h"
#include "transports/node/node_choice.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_tuning.h"

#define LENGTH (64u << 10) /* of which all ways are possible */
#define LEARNT 200         /* messages after which a choice is made, whatever happens */

extern FILE *p3_out;

static uint64_t now = 1; /* the monotonic clock, ns */
static bool secure;
static struct node node;
static struct node_peer peer, other;
static uint64_t costs[NODE_WAYS]; /* ns */
static char folder[] = "/tmp/portals3-tuning-XXXXXX", path[64], *printed;
static size_t printed_length;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
unsigned long __wrap_getauxval(unsigned long type);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){(time_t)(now / 1000000000u), (long)(now % 1000000000u)};
	return 0;
}

unsigned long __wrap_getauxval(unsigned long type)
{
	return type == AT_SECURE && secure;
}

static int begin(void **state)
{
	(void)state;
	memset(&node, 0, sizeof(node));
	node.copies = calloc(1, sizeof(*node.copies));
	peer = (struct node_peer){.cross_memory = true, .meeting = NODE_OPEN, .index = 3};
	other = peer;
	other.index = 7;
	p3_out = open_memstream(&printed, &printed_length);
	return !node.copies || !p3_out;
}

static int finish(void **state)
{
	(void)state;
	node_choice_free(node.copies);
	free(node.copies);
	fclose(p3_out);
	free(printed);
	p3_out = NULL;
	unlink(path);
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

static void write_text(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(path, 0600);
}

static void read_it(void)
{
	memset(node.copies->figures, 0, sizeof(node.copies->figures));
	memset(node.copies->fixed, 0, sizeof(node.copies->fixed));
	node_tuning_read(node.copies, path);
	fflush(p3_out);
}

static void expect_refusal(const char *why)
{
	long before = ftell(p3_out);

	read_it();
	if (!strstr(printed + before, why) || !strstr(printed + before, path))
		fail_msg("\"%s\" instead of \"%s\"", printed + before, why);
	for (unsigned class = 0; class < NODE_CLASSES; class ++)
		assert_false(node.copies->fixed[class]);
}

/* What is written here, with one text in it replaced. */
static void write_changed(const char *from, const char *to)
{
	char text[4096], changed[8192];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	char *at = strstr(text, from);

	assert_non_null(at);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	write_text(changed);
}

static void write_some(void)
{
	node.copies->figures[2] = (struct node_figures){.ns = {0, 3000, 0, 2000}, .way = NODE_STAGED};
	node.copies->figures[10] = (struct node_figures){.ns = {0, 0, UINT32_MAX, 0}, .way = NODE_SPLIT};
	assert_int_equal(node_tuning_write(node.copies, path), 0);
}

static void what_was_written_is_read_and_fixes_the_choice(void **state)
{
	struct stat status;
	char text[1024];

	(void)state;
	assert_int_equal(node_tuning_write(node.copies, path), 0); /* nothing was learnt, nothing is written */
	assert_int_equal(access(path, F_OK), -1);
	write_some();
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	read_it();
	assert_string_equal(printed, "");
	assert_true(node.copies->fixed[2] && node.copies->fixed[10] && !node.copies->fixed[3]);
	assert_int_equal(node.copies->figures[2].ns[NODE_ALONE], 3000);
	assert_int_equal(node.copies->figures[10].ns[NODE_SPLIT], UINT32_MAX);
	set_costs(1, 2, 3);
	assert_int_equal(learn(&peer, 16384), NODE_STAGED);
	assert_int_equal(learn(&peer, 64u << 20), NODE_SPLIT);
	assert_int_equal(learn(&peer, LENGTH), NODE_ALONE);
	assert_int_equal(node.copies->figures[2].ns[NODE_ALONE], 3000);
	node_choice_describe(node.copies, text, sizeof(text));
	assert_non_null(strstr(text, " 16K staged 3.0/-/2.0 (fixed), 64K cross-memory 0.0/0.0/0.0, 4M split "));
}

static void figures_of_other_machines_and_versions_are_left_alone(void **state)
{
	(void)state;
	write_some();
	write_changed("\"cpu\": \"", "\"cpu\": \"Another ");
	expect_refusal("processor \"Another ");
	write_some();
	write_changed("\"version\": \"", "\"version\": \"9");
	expect_refusal("version \"9");
	write_some();
	write_changed("tuning\": 1", "tuning\": 2");
	expect_refusal("is 2, 1 is wanted");
}

static void whatever_makes_no_sense_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "line 1: { is wanted"},
		{"[]", "line 1: { is wanted"},
		{"{\n\"node\" []}", "line 2: : is wanted"},
		{"{\n\n\"nodes\": []}", "line 3: \"portals3-tuning\", \"version\""},
		{"{\"cpu\": 3}", "a string is wanted"},
		{"{\"cpu\": \"a\\\"b\"}", "without escapes"},
		{"{\"cpu\": \"unfinished", "without escapes"},
		{"{\"portals3-tuning\": -1}", "a number is wanted"},
		{"{\"portals3-tuning\": 99999999999999999999}", "below 2^32"},
		{"{\"portals3-tuning\": 1.5}", ", or } is wanted"},
		{"{\"portals3-tuning\": 1} x", "something follows"},
		{"{\"node\": [{\"from\": 5000, \"way\": \"split\"}]}", "power of two"},
		{"{\"node\": [{\"from\": 4096, \"way\": \"pigeon\"}]}", "no such way"},
		{"{\"node\": [{\"from\": 4096, \"to\": 1}]}", "\"from\", \"way\" or \"ns\""},
		{"{\"node\": [{\"from\": 4096, \"ns\": {\"pigeon\": 1}}]}", "no such way"},
		{"{\"node\": [{\"from\": 4096},]}", "{ is wanted"},
		{"{\"node\": [{\"from\": 4096}}", ", or ] is wanted"},
		{"{}", "is 0, 1 is wanted"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_text(bad[i].text);
		expect_refusal(bad[i].why);
	}
}

/* Whatever is cut off or changed by a byte is refused or read, but never more than that. */
static void no_damage_to_a_file_does_any(void **state)
{
	char whole[4096], text[4096];

	(void)state;
	write_some();
	FILE *file = fopen(path, "r");
	size_t length = fread(whole, 1, sizeof(whole) - 1, file);

	fclose(file);
	for (size_t i = 0; i < length; i++) {
		memcpy(text, whole, length);
		text[length] = '\0';
		text[i] = '\0';
		write_text(text);
		read_it();
		memcpy(text, whole, length);
		text[i] = (char)(text[i] ^ 1 << i % 7);
		write_text(text);
		read_it();
	}
}

static void files_that_others_chose_or_can_change_are_not_read(void **state)
{
	char target[80], big[20000];

	(void)state;
	expect_refusal("No such file");
	snprintf(target, sizeof(target), "%s.target", path);
	write_some();
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	expect_refusal("symbolic link");
	write_some(); /* in place of the link */
	assert_int_equal(unlink(target), 0);
	read_it();
	assert_true(node.copies->fixed[2]);
	chmod(path, 0620);
	expect_refusal("others than its reader may write it");
	memset(big, ' ', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	write_text(big);
	expect_refusal("no file of at most");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refusal("no file of at most");
	unlink(path);
	write_some();
	secure = true;
	read_it();
	assert_non_null(strstr(printed, "PTL_TUNING_FILE is ignored"));
	assert_false(node.copies->fixed[2]);
	unlink(path);
	node.copies->figures[2].way = NODE_SPLIT;
	node_tuning_write(node.copies, path);
	secure = false;
	assert_int_equal(access(path, F_OK), -1);
}

static void what_cannot_be_written_is_told_and_leaves_nothing(void **state)
{
	char nowhere[80];

	(void)state;
	snprintf(nowhere, sizeof(nowhere), "%s/no/folder", folder);
	node.copies->figures[2].way = NODE_SPLIT;
	assert_int_equal(node_tuning_write(node.copies, nowhere), -ENOENT);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(node_tuning_write(node.copies, path) < 0);
	fflush(p3_out);
	assert_non_null(strstr(printed, "cannot be written"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0); /* it is empty */
	assert_int_equal(mkdir(folder, 0700), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_way_that_took_least_is_chosen),
		TEST(lengths_and_peers_choose_for_themselves),
		TEST(a_little_time_is_not_worth_a_processor),
		TEST(what_is_not_possible_is_not_tried),
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
		TEST(what_was_written_is_read_and_fixes_the_choice),
		TEST(figures_of_other_machines_and_versions_are_left_alone),
		TEST(whatever_makes_no_sense_is_told_with_its_line),
		TEST(no_damage_to_a_file_does_any),
		TEST(files_that_others_chose_or_can_change_are_not_read),
		TEST(what_cannot_be_written_is_told_and_leaves_nothing),
	};

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/file", folder);
	report_set_level(LOG_WARN);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rmdir(folder);
	return failed;
}
