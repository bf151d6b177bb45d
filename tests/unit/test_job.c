/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process is where in a job, with a launcher of our own that keeps every question until the test has it answered: how many are
 * asked, that nothing waits, what becomes of ranks that have said nothing yet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <p3/nal_types.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): to forget its books between tests */
#include "portals/runtime/job.c"

enum { SIZE = 40, QUESTIONS_MAX = 256, AT_A_TIME = 16, NID = 77 };

/* ---- Our launcher ---- */

static struct {
	unsigned rank;
	char key[64];
	launcher_answered *answered; /* NULL: has been */
	void *context;
} questions[QUESTIONS_MAX];
static unsigned asked;
static int ask_error;
static void (*meanwhile)(void); /* what another thread does while the launcher is asked */
static bool at_once;            /* whatever is asked is answered from within */

static struct {
	char key[64];
	uint8_t bytes[ADDRESS_LENGTH_MAX];
	size_t length;
} published;

static void answer_who(unsigned question);

int launcher_ask(unsigned rank, const char *key, launcher_answered *answered, void *context)
{
	if (meanwhile)
		meanwhile();
	if (ask_error)
		return ask_error;
	assert_in_range(asked, 0, QUESTIONS_MAX - 1);
	questions[asked].rank = rank;
	snprintf(questions[asked].key, sizeof(questions[asked].key), "%s", key);
	questions[asked].answered = answered;
	questions[asked++].context = context;
	if (at_once)
		answer_who(asked - 1);
	return 0;
}

int launcher_publish(const char *key, const void *bytes, size_t length)
{
	snprintf(published.key, sizeof(published.key), "%s", key);
	memcpy(published.bytes, bytes, length);
	published.length = length;
	return 0;
}

static ptl_process_id_t id_of(unsigned rank)
{
	return (ptl_process_id_t){.nid = NID, .pid = 0x12345678u + rank};
}

/* As job_publish_id() says it. */
static const uint8_t *said_by(unsigned rank)
{
	assert_int_equal(job_publish_id(0, id_of(rank)), 0);
	return published.bytes;
}

int launcher_look_up(unsigned rank, const char *key, unsigned timeout_s, void *bytes, size_t room)
{
	(void)timeout_s;
	assert_string_equal(key, "portals3.id.0");
	if (rank >= SIZE)
		return -ETIMEDOUT;
	memcpy(bytes, said_by(rank), room);
	return 8;
}

static void answer(unsigned question, const void *bytes, size_t length)
{
	launcher_answered *answered = questions[question].answered;

	assert_non_null(answered);
	questions[question].answered = NULL;
	answered(questions[question].context, bytes, length);
}

static void answer_who(unsigned question)
{
	uint8_t bytes[8];

	assert_string_equal(questions[question].key, "portals3.id.0");
	memcpy(bytes, said_by(questions[question].rank), sizeof(bytes));
	answer(question, bytes, sizeof(bytes));
}

/* ---- The book, a new one for each test ---- */

static struct address_book *book;
static char found[ADDRESS_LENGTH_MAX];

static int find_out(unsigned rank, unsigned life)
{
	return book->look_up(book, id_of(rank).nid, id_of(rank).pid, life, found);
}

static void free_answers(struct question *where)
{
	for (unsigned life = 0; life < ADDRESS_LIVES; life++)
		free(where[life].answer);
	free(where);
}

static int close_book(void **state)
{
	(void)state;
	for (unsigned rank = 0; rank < SIZE; rank++)
		if (books[0].members[rank].where)
			free_answers(books[0].members[rank].where);
	free(books[0].members);
	books[0] = (struct book){0};
	return 0;
}

static int open_book(void **state)
{
	(void)state;
	asked = 0;
	ask_error = 0;
	meanwhile = NULL;
	at_once = false;
	book = job_addresses(0, SIZE);
	return book ? 0 : -1;
}

static void an_id_is_what_was_published(void **state)
{
	ptl_process_id_t id = {0};

	(void)state;
	assert_int_equal(job_look_up_id(0, 7, 1, &id), 0);
	assert_int_equal(id.nid, id_of(7).nid);
	assert_int_equal(id.pid, id_of(7).pid);
	assert_string_equal(published.key, "portals3.id.0");
	assert_int_equal(job_look_up_id(0, SIZE, 1, &id), -ETIMEDOUT);
}

static void whoever_asked_for_its_id_asks_the_rank_alone(void **state)
{
	ptl_process_id_t id;

	(void)state;
	assert_int_equal(job_look_up_id(0, 30, 1, &id), 0);
	assert_int_equal(find_out(30, 0), -EAGAIN);
	assert_int_equal(find_out(30, 0), -EAGAIN);
	assert_int_equal(asked, 1);
	assert_int_equal(questions[0].rank, 30);
	assert_string_equal(questions[0].key, "portals3.address.0.0");
	answer(0, "there", 6);
	assert_int_equal(find_out(30, 0), 6);
	assert_string_equal(found, "there");
	assert_int_equal(asked, 1);
}

static void an_unknown_process_is_sought_among_all_some_at_a_time(void **state)
{
	(void)state;
	assert_int_equal(find_out(33, 0), -EAGAIN);
	assert_int_equal(asked, AT_A_TIME);
	for (unsigned i = 0; i < SIZE; i++) {
		assert_int_equal(questions[i].rank, i);
		answer_who(i); /* asks the next one */
	}
	assert_int_equal(asked, SIZE);
	assert_int_equal(find_out(33, 0), -EAGAIN);
	assert_int_equal(asked, SIZE + 1);
	assert_int_equal(questions[SIZE].rank, 33);
	answer(SIZE, "here", 5);
	assert_int_equal(find_out(33, 0), 5);
}

/* Their launcher keeps the questions: others are asked all the same. */
static void ranks_that_have_not_come_hide_nobody(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(find_out(SIZE - 1, 0), -EAGAIN);
	assert_int_equal(asked, SIZE);
	answer_who(SIZE - 1);
	assert_int_equal(find_out(SIZE - 1, 0), -EAGAIN);
	assert_int_equal(questions[SIZE].rank, SIZE - 1);
}

/* However large the job: what is asked by one call is bounded. */
static void answers_at_once_do_not_ask_on(void **state)
{
	(void)state;
	at_once = true;
	assert_int_equal(find_out(SIZE - 1, 0), -EAGAIN);
	assert_int_equal(asked, AT_A_TIME);
	for (unsigned round = 2; asked < SIZE; round++) {
		assert_int_equal(find_out(SIZE - 1, 0), -EAGAIN);
		assert_int_equal(asked, round * AT_A_TIME < SIZE ? round * AT_A_TIME : SIZE);
	}
	at_once = false;
	assert_int_equal(find_out(SIZE - 1, 0), -EAGAIN);
	assert_string_equal(questions[SIZE].key, "portals3.address.0.0");
}

static void nobody_is_told_from_somebody_who_has_not_come(void **state)
{
	(void)state;
	assert_int_equal(find_out(SIZE, 0), -EAGAIN);
	for (unsigned i = 0; i < SIZE - 1; i++)
		answer_who(i);
	assert_int_equal(find_out(SIZE, 0), -EAGAIN);
	answer_who(SIZE - 1);
	assert_int_equal(find_out(SIZE, 0), -EHOSTUNREACH);
	assert_int_equal(asked, SIZE);
}

/* How long until the question is asked again, ns. */
static uint64_t pause_after(unsigned question)
{
	const uint64_t begin = monotonic_ns();

	answer(question, NULL, 0);
	while (asked == question + 1)
		assert_int_equal(find_out(3, 0), -EAGAIN);
	return monotonic_ns() - begin;
}

static void what_is_not_known_yet_is_asked_for_again_less_and_less_often(void **state)
{
	ptl_process_id_t id;

	(void)state;
	assert_int_equal(job_look_up_id(0, 3, 1, &id), 0);
	assert_int_equal(find_out(3, 0), -EAGAIN);
	assert_true(pause_after(0) >= 5000000);
	assert_true(pause_after(1) >= 10000000);
	assert_true(pause_after(2) >= 20000000);
	answer(3, "now", 4);
	assert_int_equal(find_out(3, 0), 4);
}

static void a_launcher_that_takes_no_question_is_asked_again(void **state)
{
	ptl_process_id_t id;

	(void)state;
	assert_int_equal(job_look_up_id(0, 3, 1, &id), 0);
	ask_error = -EIO;
	assert_int_equal(find_out(3, 0), -EAGAIN);
	ask_error = 0;
	while (asked == 0)
		assert_int_equal(find_out(3, 0), -EAGAIN);
	assert_int_equal(asked, 1);
}

static void learn_all(void)
{
	ptl_process_id_t id;

	meanwhile = NULL;
	for (unsigned rank = 0; rank < SIZE; rank++)
		assert_int_equal(job_look_up_id(0, rank, 1, &id), 0);
}

/* A question that failed, or an answer that says nothing, does not undo what PtlGetRankId has found out meanwhile. */
static void what_is_known_stays_known(void **state)
{
	(void)state;
	ask_error = -EIO;
	meanwhile = learn_all;
	assert_int_equal(find_out(SIZE, 0), -EAGAIN);
	assert_int_equal(find_out(SIZE, 0), -EHOSTUNREACH);
	ask_error = 0;
	for (unsigned rank = 0; rank < SIZE; rank++)
		assert_int_equal(find_out(rank, 0), -EAGAIN);
	assert_int_equal(asked, SIZE);
}

static void each_life_has_its_address(void **state)
{
	ptl_process_id_t id;

	(void)state;
	assert_int_equal(job_look_up_id(0, 3, 1, &id), 0);
	assert_int_equal(find_out(3, 1), -EAGAIN);
	assert_string_equal(questions[0].key, "portals3.address.0.1");
	assert_int_equal(find_out(3, 0), -EAGAIN);
	answer(0, "new", 4);
	answer(1, "old", 4);
	find_out(3, 1);
	assert_string_equal(found, "new");
	find_out(3, 0);
	assert_string_equal(found, "old");
}

static void what_is_too_long_for_an_address_is_none(void **state)
{
	static const uint8_t nonsense[ADDRESS_LENGTH_MAX + 1];
	ptl_process_id_t id;

	(void)state;
	assert_int_equal(job_look_up_id(0, 3, 1, &id), 0);
	assert_int_equal(find_out(3, 0), -EAGAIN);
	answer(0, nonsense, sizeof(nonsense));
	assert_int_equal(find_out(3, 0), -EAGAIN); /* and asks again, if so much time has passed */
	unsigned who = asked;
	assert_int_equal(find_out(5, 0), -EAGAIN);
	assert_string_equal(questions[who].key, "portals3.id.0");
	answer(who, nonsense, 7); /* likewise of an id */
	assert_int_equal(find_out(questions[who].rank, 0), -EAGAIN);
}

static void lives_are_counted_and_limited(void **state)
{
	char key[64];

	(void)state;
	for (int life = 0; life < ADDRESS_LIVES; life++) {
		assert_int_equal(book->publish(book, "place", 5), life);
		snprintf(key, sizeof(key), "portals3.address.0.%d", life);
		assert_string_equal(published.key, key);
		assert_memory_equal(published.bytes, "place", 5);
	}
	assert_int_equal(book->publish(book, "place", 5), -ENOSPC);
}

static void a_book_stays_the_same(void **state)
{
	(void)state;
	assert_ptr_equal(job_addresses(0, SIZE), book);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, open_book, close_book)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(an_id_is_what_was_published),
		ROW(whoever_asked_for_its_id_asks_the_rank_alone),
		ROW(an_unknown_process_is_sought_among_all_some_at_a_time),
		ROW(ranks_that_have_not_come_hide_nobody),
		ROW(answers_at_once_do_not_ask_on),
		ROW(nobody_is_told_from_somebody_who_has_not_come),
		ROW(what_is_not_known_yet_is_asked_for_again_less_and_less_often),
		ROW(a_launcher_that_takes_no_question_is_asked_again),
		ROW(what_is_known_stays_known),
		ROW(each_life_has_its_address),
		ROW(what_is_too_long_for_an_address_is_none),
		ROW(lives_are_counted_and_limited),
		ROW(a_book_stays_the_same),
	};
	return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
