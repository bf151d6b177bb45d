/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of dead objects find nothing, and stay dead for as long as the pool promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/report.h"
#include "offload/pool.h"

enum { CAPACITY = 4 * POOL_RESERVE, GENERATIONS = 3 };

struct object {
	struct pool_item item;
	uint64_t value[3];
};

static struct pool pool;

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

static void generations_count_from_the_first_to_the_last_and_begin_again_with_one(void **state)
{
	static const uint32_t expected[] = {3, 1, 2, 3, 1};
	struct object *object;

	(void)state;
	open_pool(1, GENERATIONS, 2);
	for (int i = 0; i < 5; i++) {
		object = pool_take(&pool);
		assert_int_equal(generation(object), expected[i]);
		pool_give(&pool, object);
	}
	pool_close(&pool);
	open_pool(1, GENERATIONS, GENERATIONS);
	assert_int_equal(generation(pool_take(&pool)), 1);
}

static void a_dead_number_names_nothing_else_for_the_promised_number_of_allocations(void **state)
{
	struct object *object;
	uint32_t index, dead, allocations = 0;

	(void)state;
	open_pool(CAPACITY, GENERATIONS, 0);
	object = pool_take(&pool);
	index = object->item.index;
	dead = generation(object);
	do {
		pool_give(&pool, object);
		object = pool_take(&pool);
		allocations++;
	} while (object->item.index != index || generation(object) != dead);
	assert_true(allocations > POOL_RESERVE * (GENERATIONS - 1));
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

static void more_than_the_address_space_is_refused_with_the_size(void **state)
{
	(void)state;
	assert_int_equal(pool_open(&pool, (size_t)1 << 45, 1 << 10, GENERATIONS, 0), -ENOMEM);
	assert_non_null(strstr(report_last_error(), "36028797018963968 bytes"));
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
		TEST(generations_count_from_the_first_to_the_last_and_begin_again_with_one),
		TEST(a_dead_number_names_nothing_else_for_the_promised_number_of_allocations),
		TEST(the_walk_meets_the_living_in_order_of_their_index),
		TEST(more_than_the_address_space_is_refused_with_the_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
