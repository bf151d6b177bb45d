/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of dead objects find nothing, and stay dead for as long as the pool promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/report.h"
#include "offload/pool.h"
#include "tests/support/harness.h"
#include "tests/unit/resident.h"

enum { CAPACITY = 4 * POOL_RESERVE, GENERATIONS = 3 };

struct object {
	struct pool_item item;
	uint64_t value[3];
};

static struct pool pool;
static uint64_t now; /* the monotonic clock, ns */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){(time_t)(now / 1000000000u), (long)(now % 1000000000u)};
	return 0;
}

static void open_pool(uint32_t capacity, uint32_t generations, uint32_t first)
{
	assert_int_equal(pool_open(&pool, sizeof(struct object), capacity, generations, first), 0);
}

static int close_pool(void **state)
{
	(void)state;
	pool_close(&pool);
	return 0;
}

static uint32_t generation(const struct object *object)
{
	return atomic_load(&object->item.generation);
}

static void a_full_pool_gives_nothing_until_something_comes_back(void **state)
{
	struct object *objects[5];

	(void)state;
	open_pool(5, GENERATIONS, 0);
	for (uint32_t i = 0; i < 5; i++) {
		objects[i] = pool_take(&pool);
		assert_non_null(objects[i]);
		assert_int_equal(objects[i]->item.index, i);
	}
	assert_int_equal(pool.live, 5);
	assert_null(pool_take(&pool));
	assert_int_equal(pool.live, 5);
	pool_give(&pool, objects[3]);
	pool_give(&pool, objects[1]);
	assert_ptr_equal(pool_take(&pool), objects[3]);
	assert_ptr_equal(pool_take(&pool), objects[1]);
	assert_null(pool_take(&pool));
}

static void objects_are_zeroed_behind_their_item(void **state)
{
	static const uint64_t zero[3];
	struct object *object;

	(void)state;
	open_pool(1, GENERATIONS, 0);
	for (int round = 0; round < 2; round++) {
		object = pool_take(&pool);
		assert_memory_equal(object->value, zero, sizeof(zero));
		memset(object->value, 0xa5, sizeof(object->value));
		pool_give(&pool, object);
	}
}

static void scratch_space_at_the_end_of_an_object_is_left_alone(void **state)
{
	struct object *object;

	(void)state;
	open_pool(1, GENERATIONS, 0);
	pool.zeroed = offsetof(struct object, value[2]);
	object = pool_take(&pool);
	memset(object->value, 0xa5, sizeof(object->value));
	pool_give(&pool, object);
	object = pool_take(&pool);
	assert_true(object->value[0] == 0 && object->value[1] == 0);
	assert_true(object->value[2] == UINT64_C(0xa5a5a5a5a5a5a5a5));
}

static void freed_objects_are_reused_in_order_once_a_reserve_of_them_waits(void **state)
{
	struct object *objects[POOL_RESERVE], *fresh;

	(void)state;
	open_pool(CAPACITY, GENERATIONS, 0);
	for (int i = 0; i < POOL_RESERVE; i++)
		objects[i] = pool_take(&pool);
	for (int i = POOL_RESERVE - 1; i > 0; i--)
		pool_give(&pool, objects[i]);
	fresh = pool_take(&pool);
	assert_int_equal(fresh->item.index, POOL_RESERVE);
	pool_give(&pool, objects[0]);
	assert_ptr_equal(pool_take(&pool), objects[POOL_RESERVE - 1]);
	pool_give(&pool, fresh);
	for (int i = POOL_RESERVE - 2; i > 0; i--) {
		assert_ptr_equal(pool_take(&pool), objects[i]);
		pool_give(&pool, objects[i]);
	}
	assert_ptr_equal(pool_take(&pool), objects[0]);
	pool_give(&pool, objects[0]);
	assert_ptr_equal(pool_take(&pool), fresh);
}

static void a_number_finds_its_object_only_while_that_lives(void **state)
{
	struct object *object;

	(void)state;
	open_pool(1, GENERATIONS, 0);
	assert_null(pool_find(&pool, 0, 0));
	assert_null(pool_find(&pool, 0, 1));
	object = pool_take(&pool);
	assert_ptr_equal(pool_find(&pool, 0, 1), object);
	assert_null(pool_find(&pool, 0, 2));
	assert_null(pool_find(&pool, 1, 1));
	assert_null(pool_find(&pool, POOL_NONE, 1));
	pool_give(&pool, object);
	for (uint32_t g = 0; g <= GENERATIONS + 1; g++)
		assert_null(pool_find(&pool, 0, g));
	assert_ptr_equal(pool_take(&pool), object);
	assert_ptr_equal(pool_find(&pool, 0, 2), object);
	assert_null(pool_find(&pool, 0, 1));
}

static void generations_count_from_the_first_to_the_last_and_then_from_one(void **state)
{
	static const uint32_t expected[] = {3, 1, 2};
	struct object *object;

	(void)state;
	open_pool(1, GENERATIONS, 2);
	for (int i = 0; i < 6; i++) {
		object = pool_take(&pool);
		assert_int_equal(generation(object), expected[i % 3]);
		pool_give(&pool, object);
		now += i == 2 ? 2 * POOL_REST_NS : 0;
	}
	pool_close(&pool);
	open_pool(1, GENERATIONS, GENERATIONS);
	assert_int_equal(generation(pool_take(&pool)), 1);
}

/* Of restless pools too, in which a turn follows the other at once. */
static void a_restless_object_begins_again_at_once(void **state)
{
	(void)state;
	open_pool(1, GENERATIONS, 0);
	pool.restless = true;
	for (int i = 0; i < 10; i++) {
		struct object *object = pool_take(&pool);

		assert_non_null(object);
		assert_int_equal(generation(object), i % GENERATIONS + 1);
		pool_give(&pool, object);
	}
}

/* Takes and gives one after the other, `step` ns apart, until that number comes again.  Returns how often. */
static uint64_t allocations_until(uint32_t index, uint32_t dead, uint64_t step)
{
	struct object *object = pool_take(&pool);
	uint64_t count = 1;

	for (; object->item.index != index || generation(object) != dead; count++) {
		now += step;
		pool_give(&pool, object);
		object = pool_take(&pool);
		assert_non_null(object);
	}
	pool_give(&pool, object);
	return count;
}

static uint32_t take_and_give(uint32_t *dead)
{
	struct object *object = pool_take(&pool);

	*dead = generation(object);
	pool_give(&pool, object);
	return object->item.index;
}

/* But for those of what waits in reserve. */
static void assert_comes_back(uint32_t index, uint32_t dead, uint64_t step, uint64_t numbers)
{
	assert_in_range(allocations_until(index, dead, step), numbers - POOL_RESERVE, numbers);
}

static void a_dead_number_comes_back_when_all_numbers_were_used(void **state)
{
	uint32_t dead, index;

	(void)state;
	open_pool(CAPACITY, GENERATIONS, 0);
	index = take_and_give(&dead);
	assert_comes_back(index, dead, POOL_REST_NS, CAPACITY * GENERATIONS);
	assert_comes_back(index, dead, POOL_REST_NS, CAPACITY * GENERATIONS);
}

/* Those that live take no part. */
static void a_dead_number_comes_back_when_the_numbers_of_all_that_are_free_were_used(void **state)
{
	enum { FREE = CAPACITY / 4 };
	uint32_t dead, index;

	(void)state;
	open_pool(CAPACITY, GENERATIONS, 0);
	for (int i = 0; i < CAPACITY - FREE; i++)
		assert_non_null(pool_take(&pool));
	index = take_and_give(&dead);
	assert_comes_back(index, dead, POOL_REST_NS, FREE * GENERATIONS);
}

/* As many as a handle can have, in one turn of the slots. */
static void no_handle_comes_back_before_134_million_allocations(void **state)
{
	const uint32_t capacity = UNDER_SANITIZER ? 4096 : 65536;
	uint32_t dead, index;

	(void)state;
	open_pool(capacity, 2046, 0);
	index = take_and_give(&dead);
	assert_comes_back(index, dead, 1000, (uint64_t)capacity * 2046);
}

static void all_numbers_used_within_a_second_rest_until_it_is_over(void **state)
{
	uint32_t dead;

	(void)state;
	open_pool(CAPACITY, GENERATIONS, 0);
	now += 5 * POOL_REST_NS;
	const uint64_t start = now;

	for (int i = 0; i < CAPACITY * GENERATIONS; i++) {
		now += 1000;
		take_and_give(&dead);
	}
	assert_null(pool_take(&pool));
	assert_int_equal(pool_refuse(&pool, CAPACITY, "objects", "most"), -ENOSPC);
	assert_non_null(strstr(report_last_error(), "0 objects exist, most is 1024, but the handles of all others"));
	now = start + POOL_REST_NS;
	assert_null(pool_take(&pool));
	now = start + POOL_REST_NS + POOL_REST_NS / 100; /* the first has rested, the last has not */
	assert_int_equal(take_and_give(&dead), 0);
	assert_int_equal(dead, 1);
}

/* All but one live, and that one changes. */
static void the_last_object_rests_when_its_numbers_are_used_up(void **state)
{
	struct object *objects[5];
	uint32_t dead;

	(void)state;
	open_pool(5, GENERATIONS, 0);
	for (int i = 0; i < 5; i++)
		objects[i] = pool_take(&pool);
	assert_int_equal(pool_refuse(&pool, 5, "objects", "most"), -ENOSPC);
	assert_string_equal(report_last_error(), "5 objects exist, more are not allowed (most)");
	pool_give(&pool, objects[2]);
	for (int i = 1; i < GENERATIONS; i++)
		assert_int_equal(take_and_give(&dead), 2);
	assert_null(pool_take(&pool));
	pool_give(&pool, objects[4]); /* has numbers left */
	assert_int_equal(take_and_give(&dead), 4);
	now += 2 * POOL_REST_NS;
	assert_int_equal(take_and_give(&dead), 2);
	assert_int_equal(dead, 1);
}

/* Cleared like any other: its memory may have stayed. */
static void an_object_that_has_rested_is_zeroed(void **state)
{
	static const uint64_t zero[3];

	(void)state;
	open_pool(1, 1, 0);
	for (int round = 0; round < 3; round++) {
		struct object *object = pool_take(&pool);

		assert_memory_equal(object->value, zero, sizeof(zero));
		memset(object->value, 0xa5, sizeof(object->value));
		pool_give(&pool, object);
		now += 2 * POOL_REST_NS;
	}
}

/* However long it goes on: what is in its turn is there, and what lives. */
static void objects_that_rest_have_no_memory(void **state)
{
	enum { OBJECTS = 256 * POOL_GROUP, LAPS = 3, FEW = 4 * POOL_GROUP * sizeof(struct object) + (2 << 20) };
	struct object *kept[3] = {NULL};
	uint32_t dead, at = 0;

	(void)state;
	open_pool(OBJECTS, 2, 0);
	for (int i = 0; i < 3 * OBJECTS * LAPS; i++) {
		now += POOL_REST_NS / POOL_GROUP;
		take_and_give(&dead);
		if (i % OBJECTS == 0 && i / OBJECTS < 3)
			kept[i / OBJECTS] = pool_take(&pool);
	}
	assert_in_range(pool.used, OBJECTS - 3, OBJECTS);
	assert_true(resident_in(pool.objects, OBJECTS * sizeof(struct object)) <= FEW);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(pool_find(&pool, kept[i]->item.index, generation(kept[i])), kept[i]);
	for (int i = 0; i < 3; i++)
		assert_non_null(pool_next(&pool, &at));
	assert_null(pool_next(&pool, &at));
}

static void the_walk_meets_the_living_in_order_of_their_index(void **state)
{
	struct object *objects[10];
	uint32_t at = 0;

	(void)state;
	open_pool(CAPACITY, GENERATIONS, 0);
	assert_null(pool_next(&pool, &at));
	for (int i = 0; i < 10; i++)
		objects[i] = pool_take(&pool);
	pool_give(&pool, objects[0]);
	pool_give(&pool, objects[4]);
	pool_give(&pool, objects[5]);
	pool_give(&pool, objects[9]);
	at = 0;
	for (int i = 1; i < 9; i++)
		if (i != 4 && i != 5)
			assert_ptr_equal(pool_next(&pool, &at), objects[i]);
	assert_null(pool_next(&pool, &at));
	assert_int_equal(pool.live, 6);
}

static void more_than_the_address_space_is_refused(void **state)
{
	(void)state;
	assert_int_equal(pool_open(&pool, (size_t)1 << 45, 1 << 10, GENERATIONS, 0), -ENOMEM);
	assert_non_null(strstr(report_last_error(), " bytes of address space for 1024 objects"));
	assert_null(pool.objects);
}

#define TEST(name) cmocka_unit_test_teardown(name, close_pool)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_full_pool_gives_nothing_until_something_comes_back),
		TEST(objects_are_zeroed_behind_their_item),
		TEST(scratch_space_at_the_end_of_an_object_is_left_alone),
		TEST(freed_objects_are_reused_in_order_once_a_reserve_of_them_waits),
		TEST(a_number_finds_its_object_only_while_that_lives),
		TEST(generations_count_from_the_first_to_the_last_and_then_from_one),
		TEST(a_restless_object_begins_again_at_once),
		TEST(a_dead_number_comes_back_when_all_numbers_were_used),
		TEST(a_dead_number_comes_back_when_the_numbers_of_all_that_are_free_were_used),
		TEST(no_handle_comes_back_before_134_million_allocations),
		TEST(all_numbers_used_within_a_second_rest_until_it_is_over),
		TEST(the_last_object_rests_when_its_numbers_are_used_up),
		TEST(an_object_that_has_rested_is_zeroed),
		TEST(objects_that_rest_have_no_memory),
		TEST(the_walk_meets_the_living_in_order_of_their_index),
		TEST(more_than_the_address_space_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
