/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "examples/splitc/programs.h"
#include "examples/splitc/splitc.h"
#include "tests/behaviour/layers/layers.h"

#define KEYS    FEWER(4000)
#define EDGE    24
#define SEGMENT (4u << 20)
#define FOUR(test)                                                                                                     \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 4, .traits = TRAIT_SEVERAL                                    \
	}

static void begin(size_t segment)
{
	CHECK_EQUAL(sc_init(ni, (unsigned)my_rank, (unsigned)process_count, id_of, segment), 0);
	barrier();
}

static void end(void)
{
	CHECK_EQUAL(sc_barrier(), 0);
	barrier();
	sc_end();
}

static unsigned neighbour(void)
{
	return (unsigned)(my_rank + 1) % (unsigned)process_count;
}

static void what_is_written_is_read(void)
{
	static char out[100001], in[sizeof(out)];
	begin(SEGMENT);
	uint64_t *word = sc_alloc(8), value = 0;
	char *bytes = sc_alloc(sizeof(out));
	CHECK_EQUAL(sc_barrier(), 0);
	CHECK_EQUAL(sc_write(sc_at(neighbour(), word), 1000 + (uint64_t)my_rank), 0);
	CHECK_EQUAL(sc_read(&value, sc_at(neighbour(), word)), 0);
	CHECK_EQUAL(value, 1000 + my_rank);
	fill_pattern(out, sizeof(out), (unsigned)my_rank);
	CHECK_EQUAL(sc_bulk_write(sc_plus(sc_at(neighbour(), bytes), 1), out, sizeof(out) - 1), 0);
	CHECK_EQUAL(sc_bulk_read(in, sc_plus(sc_at(neighbour(), bytes), 1), sizeof(in) - 1), 0);
	CHECK(memcmp(in, out, sizeof(out) - 1) == 0);
	CHECK_EQUAL(sc_barrier(), 0);
	CHECK_EQUAL(*word, 1000 + (my_rank + process_count - 1) % process_count);
	end();
}

/* More values than there is room for at a time. */
static void split_phases_are_over_after_sync(void)
{
	enum { VALUES = 1000 };
	static uint64_t in[VALUES];
	begin(SEGMENT);
	uint64_t *words = sc_alloc(VALUES * sizeof(*words));
	CHECK_EQUAL(sc_barrier(), 0);
	for (uint64_t i = 0; i < VALUES; i++)
		CHECK_EQUAL(sc_put(sc_at(neighbour(), words + i), i * i + (uint64_t)my_rank), 0);
	CHECK_EQUAL(sc_sync(), 0);
	for (uint64_t i = 0; i < VALUES; i++)
		CHECK_EQUAL(sc_get(&in[i], sc_at(neighbour(), words + i)), 0);
	CHECK_EQUAL(sc_sync(), 0);
	for (uint64_t i = 0; i < VALUES; i++)
		CHECK_EQUAL(in[i], i * i + (uint64_t)my_rank);
	end();
}

/* More than may be under way. */
static void many_bulk_operations_wait_for_a_sync(void)
{
	enum { PUTS = 20000 };
	static uint64_t out[16];
	begin(SEGMENT);
	uint64_t *in = sc_alloc(sizeof(out));
	CHECK_EQUAL(sc_barrier(), 0);
	for (uint64_t i = 0; i < 16; i++)
		out[i] = i + (uint64_t)my_rank;
	for (unsigned i = 0; i < (unsigned)FEWER(PUTS); i++)
		CHECK_EQUAL(sc_bulk_put(sc_at(neighbour(), in), out, sizeof(out)), 0);
	CHECK_EQUAL(sc_sync(), 0);
	CHECK_EQUAL(sc_barrier(), 0);
	for (uint64_t i = 0; i < 16; i++)
		CHECK_EQUAL(in[i], i + (uint64_t)((my_rank + process_count - 1) % process_count));
	end();
}

/* More stores than a window, from all to all, several times. */
static void stores_are_there_after_all_store_sync(void)
{
	enum { VALUES = 3000 };
	begin(SEGMENT);
	uint64_t *words = sc_alloc(VALUES * sizeof(*words) * (size_t)process_count);
	CHECK_EQUAL(sc_barrier(), 0);
	for (uint64_t turn = 1; turn < 4; turn++) {
		for (uint64_t i = 0; i < VALUES; i++)
			for (unsigned to = 0; to < (unsigned)process_count; to++)
				CHECK_EQUAL(sc_store(sc_at(to, words + (uint64_t)my_rank * VALUES + i), turn * i), 0);
		CHECK_EQUAL(sc_all_store_sync(), 0);
		for (uint64_t i = 0; i < VALUES * (uint64_t)process_count; i++)
			CHECK_EQUAL(words[i], turn * (i % VALUES));
		CHECK_EQUAL(sc_barrier(), 0);
	}
	end();
}

static void a_process_waits_for_bytes_stored_to_it(void)
{
	static uint64_t out[512];
	begin(SEGMENT);
	uint64_t *in = sc_alloc(sizeof(out));
	CHECK_EQUAL(sc_barrier(), 0);
	for (uint64_t turn = 1; turn < 5; turn++) {
		for (unsigned i = 0; i < 512; i++)
			out[i] = turn + i;
		CHECK_EQUAL(sc_bulk_store(sc_at(neighbour(), in), out, sizeof(out)), 0);
		CHECK_EQUAL(sc_store_sync(sizeof(out)), 0);
		for (unsigned i = 0; i < 512; i++)
			CHECK_EQUAL(in[i], turn + i);
		CHECK_EQUAL(sc_sync(), 0);
		CHECK_EQUAL(sc_barrier(), 0);
	}
	end();
}

static void addresses_that_are_not_there_are_refused(void)
{
	uint64_t value;
	begin(4096);
	CHECK(sc_alloc(4097) == NULL);
	char *last = (char *)sc_alloc(4096) + 4088;
	CHECK(sc_alloc(1) == NULL);
	CHECK_EQUAL(sc_read(&value, sc_at((unsigned)process_count, last)), -EINVAL);
	CHECK_EQUAL(sc_read(&value, sc_plus(sc_at(0, last), 1)), -EINVAL);
	CHECK_EQUAL(sc_write(sc_plus(sc_at(0, last), 8), 0), -EINVAL);
	CHECK_EQUAL(sc_store(sc_plus(sc_at(0, last), 1ull << 63), 0), -EINVAL);
	CHECK_EQUAL(sc_bulk_put(sc_at(0, last), &value, 9), -EINVAL);
	CHECK_EQUAL(sc_init(ni, 0, 1, id_of, 1), -EINVAL);
	CHECK_EQUAL(sc_write(sc_at(0, last), 1), 0);
	end();
}

static void the_end_of_a_process_is_told(void)
{
	uint64_t value = 0;
	begin(4096);
	uint64_t *word = sc_alloc(8);
	CHECK_EQUAL(sc_barrier(), 0);
	expect_death(1);
	if (my_rank == 0) {
		int rc = 0;
		CHECK(kill(pid_of(1), SIGKILL) == 0);
		while (rc == 0) /* until it is dead */
			rc = sc_write(sc_at(1, word), 1);
		CHECK_EQUAL(rc, -EHOSTDOWN);
		CHECK_EQUAL(sc_read(&value, sc_at(1, word)), -EHOSTDOWN);
	} else if (my_rank == 1) {
		while (true)
			(void)sc_read(&value, sc_at(0, word));
	}
	barrier();
}

static void samples_sort(void)
{
	begin(SORT_SEGMENT(KEYS, process_count));
	CHECK(sample_sort(KEYS, 7));
	end();
}

static void digits_sort(void)
{
	begin(SORT_SEGMENT(KEYS, process_count));
	CHECK(radix_sort(KEYS, 8));
	end();
}

static void blocks_multiply(void)
{
	begin(MATRIX_SEGMENT(EDGE, process_count));
	CHECK(matrix_multiply(EDGE, 9));
	end();
}

const struct test splitc_tests[] = {
	FOUR(what_is_written_is_read),
	FOUR(split_phases_are_over_after_sync),
	TWO(many_bulk_operations_wait_for_a_sync),
	FOUR(stores_are_there_after_all_store_sync),
	FOUR(a_process_waits_for_bytes_stored_to_it),
	TWO(addresses_that_are_not_there_are_refused),
	TWO(the_end_of_a_process_is_told),
	FOUR(samples_sort),
	FOUR(digits_sort),
	FOUR(blocks_multiply),
	{0},
};
