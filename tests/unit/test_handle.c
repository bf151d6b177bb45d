/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle finds its object, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "offload/handle.h"

enum { INTERFACE = 5, OBJECTS = 3, ENTRY = 0, DESCRIPTOR = 1, QUEUE = 2 };

static struct nic nic;

/* One object of each kind, with different indexes. */
static struct match_entry *entry;
static struct descriptor *descriptor;
static struct event_queue *queue;
static struct event_ring *ring;

static void *take(struct pool *pool, int index)
{
	void *object = NULL;

	for (int i = 0; i <= index; i++)
		object = pool_take(pool);
	return object;
}

static int open_nic(void **state)
{
	(void)state;
	memset(&nic, 0, sizeof(nic));
	nic.index = INTERFACE;
	if (pool_open(&nic.objects.entries, sizeof(*entry), OBJECTS, NIC_HANDLE_GENERATIONS, 0) ||
	    pool_open(&nic.objects.descriptors, sizeof(*descriptor), OBJECTS, NIC_HANDLE_GENERATIONS, 0) ||
	    pool_open(&nic.objects.queues, sizeof(*queue), NIC_MAX_OBJECTS, NIC_HANDLE_GENERATIONS, 0))
		return -1;
	entry = take(&nic.objects.entries, ENTRY);
	descriptor = take(&nic.objects.descriptors, DESCRIPTOR);
	queue = take(&nic.objects.queues, QUEUE);
	ring = event_ring_get(1);
	atomic_store(&queue->ring, ring);
	return 0;
}

static int close_nic(void **state)
{
	(void)state;
	event_ring_put(ring);
	event_rings_free();
	pool_close(&nic.objects.entries);
	pool_close(&nic.objects.descriptors);
	pool_close(&nic.objects.queues);
	return 0;
}

static void assert_finds_nothing(uint32_t handle)
{
	assert_null(handle_me(&nic, handle));
	assert_null(handle_md(&nic, handle));
	assert_null(handle_eq(&nic, handle));
	assert_null(handle_eq_unowned(&nic, handle));
}

static void the_parts_of_a_handle_come_back(void **state)
{
	static const uint32_t generations[] = {1, 2, 1023, 1024, NIC_HANDLE_GENERATIONS};
	static const uint32_t indexes[] = {0, 1, 0x8000, NIC_MAX_OBJECTS - 1};

	(void)state;
	for (uint32_t part = 0; part < 4 * MAX_INTERFACES * 5 * 4; part++) {
		enum handle_kind kind = (enum handle_kind)(part % 4);
		uint32_t interface = part / 4 % MAX_INTERFACES, index = indexes[part / (4 * MAX_INTERFACES) % 4];
		uint32_t generation = generations[part / (4 * MAX_INTERFACES * 4)];
		uint32_t handle = handle_make(kind, interface, index, generation);

		assert_int_equal(handle_kind(handle), kind);
		assert_int_equal(handle_interface(handle), interface);
		assert_int_equal(handle_index(handle), index);
		assert_int_equal(handle_generation(handle), generation);
	}
}

/* Programs may have compiled handles in, or written them down. */
static void the_layout_is_as_documented(void **state)
{
	(void)state;
	assert_int_equal(handle_make(HANDLE_NI, 0, 0, 1), 0x00080000);
	assert_int_equal(handle_make(HANDLE_ME, 1, 2, 1), 0x40090002);
	assert_int_equal(handle_make(HANDLE_MD, 7, 0xffff, 2046), 0xbff7ffff);
	assert_int_equal(handle_make(HANDLE_EQ, 2, 0x1234, 0x555), 0xeaaa1234);
}

static void each_kind_finds_its_own_object_only(void **state)
{
	uint32_t me = handle_of(&nic, HANDLE_ME, &entry->item), md = handle_of(&nic, HANDLE_MD, &descriptor->item),
		 eq = handle_of(&nic, HANDLE_EQ, &queue->item);

	(void)state;
	assert_ptr_equal(handle_me(&nic, me), entry);
	assert_ptr_equal(handle_md(&nic, md), descriptor);
	assert_ptr_equal(handle_eq(&nic, eq), queue);
	assert_ptr_equal(handle_eq_unowned(&nic, eq), queue);
	assert_true(!handle_me(&nic, md) && !handle_me(&nic, eq));
	assert_true(!handle_md(&nic, me) && !handle_md(&nic, eq));
	assert_true(!handle_eq(&nic, me) && !handle_eq(&nic, md));
	assert_true(!handle_eq_unowned(&nic, me) && !handle_eq_unowned(&nic, md));
}

/* The same slot and generation exist in all three pools: only the kind tells them apart. */
static void kinds_with_equal_numbers_are_not_mixed_up(void **state)
{
	(void)state;
	for (int kind = HANDLE_NI; kind <= HANDLE_EQ; kind++) {
		uint32_t handle = handle_make((enum handle_kind)kind, INTERFACE, 0, 1);

		assert_int_equal(handle_me(&nic, handle) != NULL, kind == HANDLE_ME);
		assert_int_equal(handle_md(&nic, handle) != NULL, kind == HANDLE_MD);
		assert_int_equal(handle_eq(&nic, handle) != NULL, kind == HANDLE_EQ);
		handle = handle_make((enum handle_kind)kind, INTERFACE, QUEUE, 1);
		assert_int_equal(handle_eq_unowned(&nic, handle) != NULL, kind == HANDLE_EQ);
	}
}

static void handles_of_another_interface_find_nothing(void **state)
{
	(void)state;
	for (uint32_t interface = 0; interface < MAX_INTERFACES; interface++) {
		uint32_t me = handle_make(HANDLE_ME, interface, ENTRY, 1),
			 md = handle_make(HANDLE_MD, interface, DESCRIPTOR, 1),
			 eq = handle_make(HANDLE_EQ, interface, QUEUE, 1);

		assert_int_equal(handle_me(&nic, me) != NULL, interface == INTERFACE);
		assert_int_equal(handle_md(&nic, md) != NULL, interface == INTERFACE);
		assert_int_equal(handle_eq(&nic, eq) != NULL, interface == INTERFACE);
	}
}

static void handles_of_other_generations_and_slots_find_nothing(void **state)
{
	(void)state;
	for (uint32_t generation = 0; generation < 2048; generation++) {
		if (generation != 1) {
			assert_finds_nothing(handle_make(HANDLE_ME, INTERFACE, ENTRY, generation));
			assert_finds_nothing(handle_make(HANDLE_MD, INTERFACE, DESCRIPTOR, generation));
			assert_finds_nothing(handle_make(HANDLE_EQ, INTERFACE, QUEUE, generation));
		}
		for (uint32_t index = QUEUE + 1; index < NIC_MAX_OBJECTS; index = index * 2 + 1)
			for (int kind = HANDLE_NI; kind <= HANDLE_EQ; kind++)
				assert_finds_nothing(handle_make((enum handle_kind)kind, INTERFACE, index, generation));
	}
}

static void handles_of_dead_objects_find_nothing(void **state)
{
	uint32_t me = handle_of(&nic, HANDLE_ME, &entry->item), md = handle_of(&nic, HANDLE_MD, &descriptor->item),
		 eq = handle_of(&nic, HANDLE_EQ, &queue->item);

	(void)state;
	pool_give(&nic.objects.entries, entry);
	pool_give(&nic.objects.descriptors, descriptor);
	pool_give(&nic.objects.queues, queue);
	assert_finds_nothing(me);
	assert_finds_nothing(md);
	assert_finds_nothing(eq);
}

static void a_queue_without_a_ring_is_not_there_yet(void **state)
{
	(void)state;
	atomic_store(&queue->ring, NULL);
	assert_null(handle_eq_unowned(&nic, handle_of(&nic, HANDLE_EQ, &queue->item)));
}

static void what_an_update_replaced_has_no_handle(void **state)
{
	struct descriptor successor;

	(void)state;
	descriptor->successor = &successor;
	assert_finds_nothing(handle_of(&nic, HANDLE_MD, &descriptor->item));
}

static void special_values_are_never_handles(void **state)
{
	static const uint32_t special[] = {PTL_INVALID_HANDLE, PTL_HANDLE_NONE, PTL_EQ_NONE, 0};

	(void)state;
	for (int i = 0; i < 4; i++) {
		uint32_t generation = handle_generation(special[i]);

		assert_true(generation < 1 || generation > NIC_HANDLE_GENERATIONS);
		/* Nor is anything found by one, whatever the generation of the object in that slot. */
		nic.index = handle_interface(special[i]);
		assert_finds_nothing(special[i]);
	}
}

static void a_slot_used_for_ever_never_issues_a_special_value(void **state)
{
	(void)state;
	nic.index = MAX_INTERFACES - 1;
	pool_close(&nic.objects.entries);
	assert_int_equal(pool_open(&nic.objects.entries, sizeof(*entry), 1, NIC_HANDLE_GENERATIONS, 0), 0);
	nic.objects.entries.restless = true;
	for (int use = 0; use < 3 * NIC_HANDLE_GENERATIONS; use++) {
		struct pool_item *item = pool_take(&nic.objects.entries);
		uint32_t handle = handle_of(&nic, HANDLE_ME, item);

		assert_ptr_equal(handle_me(&nic, handle), item);
		assert_in_range(handle_generation(handle), 1, NIC_HANDLE_GENERATIONS);
		pool_give(&nic.objects.entries, item);
	}
}

static void a_refusal_is_no_errno_value_and_has_its_code(void **state)
{
	(void)state;
	for (int code = PTL_OK + 1; code <= PTL_SR_INDEX_INVALID; code++) {
		assert_true(refusal(code) < -REFUSAL_ERRNO_MAX);
		assert_int_equal(refusal_code(refusal(code)), code);
	}
	assert_int_equal(refusal_code(0), PTL_OK);
	assert_int_equal(refusal_code(-EINVAL), PTL_OK);
	assert_int_equal(refusal_code(-REFUSAL_ERRNO_MAX), PTL_OK);
	assert_int_equal(handle_refuse(PTL_ME_INVALID, PTL_INVALID_HANDLE), refusal(PTL_ME_INVALID));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_nic, close_nic)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_parts_of_a_handle_come_back),
		TEST(the_layout_is_as_documented),
		TEST(each_kind_finds_its_own_object_only),
		TEST(kinds_with_equal_numbers_are_not_mixed_up),
		TEST(handles_of_another_interface_find_nothing),
		TEST(handles_of_other_generations_and_slots_find_nothing),
		TEST(handles_of_dead_objects_find_nothing),
		TEST(a_queue_without_a_ring_is_not_there_yet),
		TEST(what_an_update_replaced_has_no_handle),
		TEST(special_values_are_never_handles),
		TEST(a_refusal_is_no_errno_value_and_has_its_code),
		TEST(a_slot_used_for_ever_never_issues_a_special_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
