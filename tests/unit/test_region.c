/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in pieces behaves like one contiguous region of the summed length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/report.h"
#include "offload/region.h"

enum { LENGTH = 12 };

static char memory[LENGTH];
static struct region region;

/* Four pieces, out of order and with empty ones between, that make memory[] appear as LENGTH bytes. */
static const struct iovec pieces[] = {{memory + 7, 5}, {NULL, 0}, {memory, 3}, {memory + 3, 0}, {memory + 3, 4}};
#define PIECES (sizeof(pieces) / sizeof(pieces[0]))

/* Where byte `offset` of the region is. */
static char *byte_at(unsigned offset)
{
	return memory + (offset + 7) % LENGTH;
}

static int fill(void **state)
{
	(void)state;
	memset(memory, '.', sizeof(memory));
	return 0;
}

static int clear(void **state)
{
	(void)state;
	region_clear(&region);
	return 0;
}

static void assert_refused(int rc, const char *reason)
{
	assert_int_equal(rc, -EINVAL);
	assert_non_null(strstr(report_last_error(), reason));
	assert_int_equal(region.count, 0);
}

static void one_piece_is_a_region(void **state)
{
	uint64_t contiguous = 0;
	struct iovec iov[REGION_MAX_PIECES];

	(void)state;
	assert_int_equal(region_set(&region, memory, LENGTH), 0);
	assert_int_equal(region.length, LENGTH);
	assert_ptr_equal(region_at(&region, 4, &contiguous), memory + 4);
	assert_int_equal(contiguous, LENGTH - 4);
	assert_int_equal(region_range(&region, 4, 2, iov), 1);
	assert_ptr_equal(iov[0].iov_base, memory + 4);
	assert_int_equal(iov[0].iov_len, 2);
	assert_int_equal(region_range(&region, LENGTH, 0, iov), 0);
}

static void a_region_without_bytes_needs_no_address(void **state)
{
	uint64_t contiguous = 1;
	struct iovec iov[REGION_MAX_PIECES];

	(void)state;
	assert_int_equal(region_set(&region, NULL, 0), 0);
	assert_int_equal(region_range(&region, 0, 0, iov), 0);
	assert_int_equal(region_set_pieces(&region, NULL, 0), 0);
	assert_int_equal(region.length, 0);
	assert_int_equal(region_range(&region, 0, 0, iov), 0);
	assert_null(region_at(&region, 0, &contiguous));
	assert_int_equal(contiguous, 0);
	region_write(&region, 0, NULL, 0);
	region_read(&region, 0, NULL, 0);
}

static void every_range_of_pieces_is_found_without_empty_ones(void **state)
{
	struct iovec iov[REGION_MAX_PIECES];

	(void)state;
	assert_int_equal(region_set_pieces(&region, pieces, PIECES), 0);
	assert_int_equal(region.length, LENGTH);
	for (unsigned offset = 0; offset <= LENGTH; offset++) {
		for (unsigned length = 0; length <= LENGTH - offset; length++) {
			unsigned at = offset;
			int count = region_range(&region, offset, length, iov);

			assert_in_range(count, length > 0, 3);
			for (int i = 0; i < count; i++) {
				assert_true(iov[i].iov_len > 0);
				for (unsigned j = 0; j < iov[i].iov_len; j++, at++)
					assert_ptr_equal((char *)iov[i].iov_base + j, byte_at(at));
			}
			assert_int_equal(at, offset + length);
		}
	}
}

static void contiguous_memory_ends_with_its_piece(void **state)
{
	static const unsigned expected[LENGTH] = {5, 4, 3, 2, 1, 3, 2, 1, 4, 3, 2, 1};
	uint64_t contiguous;

	(void)state;
	assert_int_equal(region_set_pieces(&region, pieces, PIECES), 0);
	for (unsigned offset = 0; offset < LENGTH; offset++) {
		assert_ptr_equal(region_at(&region, offset, &contiguous), byte_at(offset));
		assert_int_equal(contiguous, expected[offset]);
	}
	assert_null(region_at(&region, LENGTH, &contiguous));
	assert_int_equal(contiguous, 0);
}

static void writes_cross_pieces_and_touch_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(region_set_pieces(&region, pieces, PIECES), 0);
	region_write(&region, 4, "abcdef", 6);
	for (unsigned i = 0; i < LENGTH; i++)
		assert_int_equal(*byte_at(i), i < 4 || i >= 10 ? '.' : "abcdef"[i - 4]);
}

static void reads_give_back_what_was_written(void **state)
{
	static const char text[] = "0123456789AB";
	char bytes[LENGTH];

	(void)state;
	assert_int_equal(region_set_pieces(&region, pieces, PIECES), 0);
	region_write(&region, 0, text, LENGTH);
	for (unsigned offset = 0; offset <= LENGTH; offset++) {
		memset(bytes, '.', sizeof(bytes));
		region_read(&region, offset, bytes, LENGTH - offset);
		assert_memory_equal(bytes, text + offset, LENGTH - offset);
		for (unsigned i = LENGTH - offset; i < LENGTH; i++)
			assert_int_equal(bytes[i], '.');
	}
}

static void the_array_of_pieces_is_copied(void **state)
{
	struct iovec array[PIECES], one = pieces[0];
	uint64_t contiguous;

	(void)state;
	memcpy(array, pieces, sizeof(array));
	assert_int_equal(region_set_pieces(&region, array, PIECES), 0);
	memset(array, 0, sizeof(array));
	assert_ptr_equal(region_at(&region, 5, &contiguous), memory);
	region_clear(&region);
	assert_int_equal(region_set_pieces(&region, &one, 1), 0);
	one = (struct iovec){0};
	assert_ptr_equal(region_at(&region, 1, &contiguous), memory + 8);
	assert_int_equal(contiguous, 4);
}

static void as_many_pieces_as_allowed_and_no_more(void **state)
{
	static struct iovec many[REGION_MAX_PIECES + 1];
	struct iovec iov[REGION_MAX_PIECES];

	(void)state;
	for (unsigned i = 0; i <= REGION_MAX_PIECES; i++)
		many[i] = (struct iovec){memory + i % LENGTH, 1};
	assert_refused(region_set_pieces(&region, many, REGION_MAX_PIECES + 1), "257 pieces");
	assert_int_equal(region_set_pieces(&region, many, REGION_MAX_PIECES), 0);
	assert_int_equal(region_range(&region, 0, REGION_MAX_PIECES, iov), REGION_MAX_PIECES);
}

static void what_is_no_memory_is_refused(void **state)
{
	struct iovec nowhere[] = {{memory, 1}, {NULL, 1}};
	uint64_t rest = UINT64_MAX - (uintptr_t)memory; /* up to the last address */
	struct iovec overflow[] = {{memory, rest}, {memory, rest}};
	struct iovec around[] = {{memory, SIZE_MAX}, {memory, 0}};

	(void)state;
	assert_refused(region_set(&region, NULL, 1), "starts at NULL");
	assert_refused(region_set(&region, memory, UINT64_MAX), "wraps around");
	assert_refused(region_set(&region, memory, rest + 1), "wraps around");
	assert_refused(region_set_pieces(&region, NULL, 1), "at NULL");
	assert_refused(region_set_pieces(&region, nowhere, 2), "piece 1 of the descriptor");
	assert_refused(region_set_pieces(&region, overflow, 2), "piece 1 of the descriptor");
	assert_refused(region_set_pieces(&region, around, 2), "piece 0 of the descriptor");
	assert_refused(region_set_pieces(&region, around, 1), "piece 0 of the descriptor");
	assert_int_equal(region_set(&region, memory, rest), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fill, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_piece_is_a_region),
		TEST(a_region_without_bytes_needs_no_address),
		TEST(every_range_of_pieces_is_found_without_empty_ones),
		TEST(contiguous_memory_ends_with_its_piece),
		TEST(writes_cross_pieces_and_touch_nothing_else),
		TEST(reads_give_back_what_was_written),
		TEST(the_array_of_pieces_is_copied),
		TEST(as_many_pieces_as_allowed_and_no_more),
		TEST(what_is_no_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
