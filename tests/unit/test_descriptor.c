/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory descriptors: what they accept, when they become inactive, when they go, and what an update changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/report.h"
#include "offload/descriptor.h"
#include "offload/match.h"
#include "offload/nic.h"
#include "offload/operation.h"

enum { MAX_MDS = 8, MEMORY = 100, HANDLE = 4711, QUEUE_HANDLE = 42, BOTH = PTL_MD_OP_PUT | PTL_MD_OP_GET };

static struct nic nic;
static struct event_queue *eq;
static char memory[MEMORY], other_memory[MEMORY];
static ptl_event_t event;

static struct event_queue *new_queue(uint32_t handle)
{
	struct event_queue *queue = pool_take(&nic.objects.queues);

	queue->handle = handle;
	atomic_store(&queue->ring, event_ring_get(64));
	return queue;
}

static int open_nic(void **state)
{
	(void)state;
	memset(&nic, 0, sizeof(nic));
	nic.limits.max_mds = MAX_MDS;
	if (pool_open(&nic.objects.entries, sizeof(struct match_entry), 8, 100, 0) ||
	    pool_open(&nic.objects.descriptors, sizeof(struct descriptor), MAX_MDS + 1, 100, 0) ||
	    pool_open(&nic.objects.queues, sizeof(struct event_queue), 8, 100, 0) ||
	    pool_open(&nic.objects.operations, sizeof(struct operation), 64, 100, 0))
		return -1;
	eq = new_queue(QUEUE_HANDLE);
	return 0;
}

static int close_nic(void **state)
{
	struct descriptor *md;
	struct event_queue *queue;

	(void)state;
	for (uint32_t i = 0; (md = pool_next(&nic.objects.descriptors, &i));)
		region_clear(&md->region);
	for (uint32_t i = 0; (queue = pool_next(&nic.objects.queues, &i));)
		event_ring_put(atomic_load(&queue->ring));
	event_rings_free();
	pool_close(&nic.objects.entries);
	pool_close(&nic.objects.descriptors);
	pool_close(&nic.objects.queues);
	pool_close(&nic.objects.operations);
	return 0;
}

/* --- short ways --- */

static ptl_md_t user_md(unsigned options, int threshold)
{
	return (ptl_md_t){.start = memory,
			  .length = MEMORY,
			  .threshold = threshold,
			  .options = options,
			  .user_ptr = &nic,
			  .eq_handle = QUEUE_HANDLE};
}

static struct descriptor *create(ptl_md_t user, ptl_unlink_t unlink, struct match_entry *entry)
{
	struct descriptor *md = NULL;

	assert_int_equal(descriptor_create(&nic, &user, unlink, eq, entry, &md), 0);
	md->handle = HANDLE;
	return md;
}

static struct match_entry *new_entry(bool unlink)
{
	struct match_entry *entry = pool_take(&nic.objects.entries);

	entry->unlink = unlink;
	match_list_insert(&nic.objects.portals[0], entry, NULL, PTL_INS_AFTER);
	return entry;
}

static bool lives(const struct descriptor *md)
{
	return md->item.live;
}

/* A put of `mlength` bytes has been accepted by a descriptor and is under way. */
static struct operation *begin(struct descriptor *md, ptl_seq_t link, uint64_t mlength)
{
	struct operation *op = pool_take(&nic.objects.operations);

	op->md = op->pinned = md;
	op->info = (struct event_info){.link = link, .mlength = mlength, .rlength = mlength, .match_bits = link * 10};
	descriptor_start(md, &op->info, true);
	return op;
}

static void end(struct operation *op)
{
	operation_unpin(&nic, op, PTL_EVENT_PUT_END, PTL_NI_OK);
	assert_null(op->pinned);
	pool_give(&nic.objects.operations, op);
}

static void run(struct descriptor *md, ptl_seq_t link, uint64_t mlength)
{
	end(begin(md, link, mlength));
}

static int take(struct event_queue *queue)
{
	return event_take(queue, atomic_load(&queue->item.generation), &event);
}

static void assert_event(ptl_event_kind_t kind, ptl_seq_t link)
{
	assert_int_equal(take(eq), 0);
	assert_int_equal(event.type, kind);
	assert_int_equal(event.link, link);
}

static void assert_no_event(void)
{
	assert_int_equal(take(eq), -EAGAIN);
}

/* --- acceptance --- */

enum { R = PTL_MD_MANAGE_REMOTE, T = PTL_MD_TRUNCATE, M = PTL_MD_MAX_SIZE };
#define MOST    UINT64_MAX
#define REFUSED false, 0, 0

static const struct {
	unsigned options;
	uint64_t length, local_offset, remote_offset, rlength;
	bool accepted;
	uint64_t offset, mlength;
} requests[] = {
	/* The local offset counts, the request's does not. */
	{0, 100, 0, 7, 100, true, 0, 100},
	{0, 100, 0, 0, 101, REFUSED},
	{0, 100, 40, 0, 60, true, 40, 60},
	{0, 100, 40, MOST, 60, true, 40, 60},
	{0, 100, 40, 0, 61, REFUSED},
	{0, 100, 100, 0, 0, true, 100, 0},
	{0, 100, 100, 0, 1, REFUSED},
	{0, 0, 0, 0, 0, true, 0, 0},
	{0, 0, 0, 0, 1, REFUSED},
	/* offset + length would overflow */
	{0, 100, 40, 0, MOST, REFUSED},
	{0, 100, 40, 0, MOST - 39, REFUSED},
	{0, 100, 40, 0, MOST - 38, REFUSED},
	{0, MOST, 0, 0, MOST, true, 0, MOST},
	{0, MOST, 1, 0, MOST, REFUSED},
	/* Truncation: to what is left, possibly nothing. */
	{T, 100, 0, 0, 101, true, 0, 100},
	{T, 100, 40, 0, 10, true, 40, 10},
	{T, 100, 40, 0, 60, true, 40, 60},
	{T, 100, 40, 0, 61, true, 40, 60},
	{T, 100, 40, 0, MOST, true, 40, 60},
	{T, 100, 40, 0, MOST - 39, true, 40, 60},
	{T, 100, 100, 0, 5, true, 100, 0},
	{T, 0, 0, 0, 5, true, 0, 0},
	/* The request's offset counts, the local one does not. */
	{R, 100, 40, 7, 93, true, 7, 93},
	{R, 100, 40, 7, 94, REFUSED},
	{R, 100, 40, 100, 0, true, 100, 0},
	{R, 100, 0, 101, 0, REFUSED},
	{R, 100, 0, MOST, 0, REFUSED},
	{R, 100, 0, MOST, 1, REFUSED},
	{R, 100, 0, MOST - 9, 20, REFUSED},
	{R, 100, 0, 1, MOST, REFUSED},
	{R, MOST, 0, 1, MOST - 1, true, 1, MOST - 1},
	{R, MOST, 0, 1, MOST, REFUSED},
	{R | T, 100, 40, 90, 20, true, 90, 10},
	{R | T, 100, 0, 100, 20, true, 100, 0},
	{R | T, 100, 0, 101, 0, REFUSED},
	{R | T, 100, 0, MOST, 1, REFUSED},
	/* max_size (10) is no limit for a request. */
	{M, 100, 40, 0, 60, true, 40, 60},
	{M, 100, 95, 0, 5, true, 95, 5},
};

static void a_request_is_accepted_if_it_fits_and_truncated_if_that_is_allowed(void **state)
{
	struct descriptor *md = create(user_md(0, 1), PTL_RETAIN, NULL), before;

	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct access access = {.operations = PTL_MD_OP_PUT,
					.remote_offset = requests[i].remote_offset,
					.rlength = requests[i].rlength};

		md->options = requests[i].options | BOTH;
		md->max_size = 10;
		md->local_offset = requests[i].local_offset;
		md->region.length = requests[i].length;
		memcpy(&before, md, sizeof(before));
		if (descriptor_accepts(md, &access) != requests[i].accepted)
			fail_msg("request %zu of the table", i);
		if (requests[i].accepted &&
		    (access.offset != requests[i].offset || access.mlength != requests[i].mlength))
			fail_msg("request %zu of the table gets %llu bytes at %llu", i,
				 (unsigned long long)access.mlength, (unsigned long long)access.offset);
		assert_memory_equal(md, &before, sizeof(before));
	}
}

static void a_request_needs_every_operation_it_consists_of(void **state)
{
	struct descriptor *md = create(user_md(0, 1), PTL_RETAIN, NULL);

	(void)state;
	for (unsigned allowed = 0; allowed <= BOTH; allowed++) {
		for (unsigned wanted = 1; wanted <= BOTH; wanted++) {
			struct access access = {.operations = wanted, .rlength = 1};

			md->options = allowed | PTL_MD_ACK_DISABLE;
			assert_int_equal(descriptor_accepts(md, &access), (wanted & ~allowed) == 0);
		}
	}
}

/* --- activity --- */

static bool accepts(const struct descriptor *md)
{
	struct access access = {.operations = PTL_MD_OP_PUT};

	return descriptor_accepts(md, &access);
}

static void a_descriptor_takes_as_many_operations_as_its_threshold_says(void **state)
{
	static const bool sides[] = {false, true};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct descriptor *md = create(user_md(BOTH, 3), PTL_RETAIN, NULL);

		for (int left = 2; left >= 0; left--) {
			assert_true(accepts(md));
			descriptor_start(md, &(struct event_info){0}, sides[i]);
			assert_int_equal(md->threshold, left);
			descriptor_end(md);
			descriptor_settle(&nic, md);
		}
		assert_false(accepts(md));
		assert_true(lives(md));
	}
}

static void an_infinite_threshold_is_never_used_up(void **state)
{
	struct descriptor *md = create(user_md(BOTH, PTL_MD_THRESH_INF), PTL_UNLINK, NULL);

	(void)state;
	for (int i = 0; i < 1000; i++)
		descriptor_start(md, &(struct event_info){0}, true);
	assert_int_equal(md->threshold, PTL_MD_THRESH_INF);
	assert_true(accepts(md));
}

static void no_threshold_or_a_negative_one_is_inactive_but_stays(void **state)
{
	static const int thresholds[] = {0, -2, INT32_MIN};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct descriptor *md = create(user_md(BOTH, thresholds[i]), PTL_UNLINK, NULL);

		assert_false(accepts(md));
		descriptor_settle(&nic, md);
		assert_true(lives(md));
	}
	assert_no_event();
}

static void the_local_offset_grows_by_what_others_moved(void **state)
{
	struct descriptor *md = create(user_md(BOTH, PTL_MD_THRESH_INF), PTL_RETAIN, NULL);

	(void)state;
	run(md, 1, 30);
	assert_int_equal(md->local_offset, 30);
	descriptor_start(md, &(struct event_info){.mlength = 50}, false);
	assert_int_equal(md->local_offset, 30);
	run(md, 2, 0);
	run(md, 3, 70);
	assert_int_equal(md->local_offset, MEMORY);
	md->options |= PTL_MD_MANAGE_REMOTE;
	run(md, 4, 10);
	assert_int_equal(md->local_offset, MEMORY);
}

/* Is a descriptor of 100 bytes still active after a request for `mlength` of them? */
static bool active_after(unsigned options, uint64_t max_size, uint64_t mlength, bool target)
{
	ptl_md_t user = user_md(options | BOTH, PTL_MD_THRESH_INF);

	user.max_size = max_size;
	struct descriptor *md = create(user, PTL_RETAIN, NULL);

	descriptor_start(md, &(struct event_info){.mlength = mlength}, target);
	descriptor_end(md);
	bool active = md->active;

	descriptor_unlink(&nic, md, false);
	return active;
}

static void fewer_than_max_size_bytes_left_make_a_descriptor_inactive(void **state)
{
	(void)state;
	assert_true(active_after(M, 10, 90, true)); /* exactly max_size left */
	assert_false(active_after(M, 10, 91, true));
	assert_false(active_after(M, 10, 100, true));
	assert_true(active_after(M, 0, 100, true));
	assert_true(active_after(M, 100, 0, true));
	assert_false(active_after(M, 101, 0, true));
	assert_false(active_after(M, UINT64_MAX, 0, true));
	assert_true(active_after(0, 10, 91, true));
	assert_true(active_after(M | R, 10, 91, true));
	assert_true(active_after(M | R, 101, 0, true));
	assert_true(active_after(M, 101, 91, false));
}

/* --- the end --- */

static void an_inactive_descriptor_goes_when_its_last_operation_ends(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 3), PTL_UNLINK, NULL);
	struct operation *first = begin(md, 1, 10), *second = begin(md, 2, 20), *third = begin(md, 3, 30);

	(void)state;
	assert_false(accepts(md));
	end(third);
	end(first);
	assert_true(lives(md));
	assert_event(PTL_EVENT_PUT_END, 3);
	assert_event(PTL_EVENT_PUT_END, 1);
	assert_no_event();
	end(second);
	assert_false(lives(md));
	assert_event(PTL_EVENT_PUT_END, 2);
	/* The rest is as in the event that made it inactive. */
	assert_event(PTL_EVENT_UNLINK, 3);
	assert_true(event.mlength == 30 && event.match_bits == 30 && event.ni_fail_type == PTL_NI_OK);
	assert_true(event.md_handle == HANDLE && event.md.user_ptr == &nic && event.md.threshold == 0);
	assert_no_event();
	assert_int_equal(nic.objects.descriptors.live, 0);
}

static void a_full_descriptor_goes_as_one_that_is_used_up(void **state)
{
	ptl_md_t user = user_md(BOTH | M, PTL_MD_THRESH_INF);

	(void)state;
	user.max_size = 50;
	struct descriptor *md = create(user, PTL_UNLINK, NULL);

	run(md, 1, 50);
	assert_true(lives(md));
	run(md, 2, 1);
	assert_false(lives(md));
	assert_event(PTL_EVENT_PUT_END, 1);
	assert_event(PTL_EVENT_PUT_END, 2);
	assert_event(PTL_EVENT_UNLINK, 2);
}

static void a_retained_descriptor_stays_when_it_is_used_up(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 1), PTL_RETAIN, NULL);

	(void)state;
	run(md, 1, 10);
	assert_true(lives(md) && !accepts(md));
	assert_event(PTL_EVENT_PUT_END, 1);
	assert_no_event();
}

static void a_descriptor_without_a_queue_goes_silently(void **state)
{
	struct event_queue *queue = eq;

	(void)state;
	eq = NULL;
	struct descriptor *md = create(user_md(BOTH, 1), PTL_UNLINK, NULL);

	eq = queue;
	run(md, 1, 10);
	assert_false(lives(md));
	assert_no_event();
}

static void an_entry_goes_with_its_descriptor_if_it_was_made_so(void **state)
{
	struct match_entry *gone = new_entry(true), *stays = new_entry(false);

	(void)state;
	struct descriptor *first = create(user_md(BOTH, 1), PTL_UNLINK, gone),
			  *second = create(user_md(BOTH, 1), PTL_UNLINK, stays);

	assert_ptr_equal(gone->descriptor, first);
	run(first, 1, 0);
	run(second, 2, 0);
	assert_false(gone->item.live);
	assert_true(stays->item.live);
	assert_null(stays->descriptor);
	assert_ptr_equal(nic.objects.portals[0].head, stays);
	assert_int_equal(nic.objects.portals[0].length, 1);
	/* Unlinked by the user: the entry's wish counts, unless it is the entry that is being unlinked. */
	descriptor_unlink(&nic, create(user_md(BOTH, 1), PTL_RETAIN, stays), false);
	assert_true(stays->item.live);
	descriptor_unlink(&nic, create(user_md(BOTH, 1), PTL_RETAIN, stays), true);
	assert_false(stays->item.live);
	assert_int_equal(nic.objects.portals[0].length, 0);
}

/* --- events --- */

static void start_and_end_events_can_be_switched_off(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 1), PTL_RETAIN, NULL);

	(void)state;
	for (int kind = PTL_EVENT_GET_START; kind <= PTL_EVENT_UNLINK; kind++) {
		bool alone = kind == PTL_EVENT_ACK || kind == PTL_EVENT_UNLINK;
		bool is_start = kind == PTL_EVENT_GET_START || kind == PTL_EVENT_PUT_START ||
				kind == PTL_EVENT_GETPUT_START || kind == PTL_EVENT_REPLY_START ||
				kind == PTL_EVENT_SEND_START;

		md->options = PTL_MD_EVENT_START_DISABLE;
		descriptor_log(&nic, md, (ptl_event_kind_t)kind, &(struct event_info){0}, PTL_NI_OK);
		assert_int_equal(take(eq), !is_start || alone ? 0 : -EAGAIN);
		md->options = PTL_MD_EVENT_END_DISABLE;
		descriptor_log(&nic, md, (ptl_event_kind_t)kind, &(struct event_info){0}, PTL_NI_OK);
		assert_int_equal(take(eq), is_start || alone ? 0 : -EAGAIN);
		md->options = 0;
		descriptor_log(&nic, md, (ptl_event_kind_t)kind, &(struct event_info){0}, PTL_NI_FAIL);
		assert_int_equal(take(eq), 0);
		assert_true(event.type == (ptl_event_kind_t)kind && event.ni_fail_type == PTL_NI_FAIL);
	}
}

static void events_show_the_descriptor_as_it_is_after_them(void **state)
{
	struct iovec pieces[] = {{memory, 10}, {memory + 20, 30}};
	ptl_md_t user = user_md(BOTH | PTL_MD_IOVEC, 5);

	(void)state;
	user.start = pieces;
	user.length = 2;
	user.max_size = 3;
	run(create(user, PTL_RETAIN, NULL), 7, 11);
	assert_event(PTL_EVENT_PUT_END, 7);
	assert_true(event.md.start == pieces && event.md.length == 2 && event.md.threshold == 4);
	assert_true(event.md.max_size == 3 && event.md.options == (BOTH | PTL_MD_IOVEC));
	assert_true(event.md.user_ptr == &nic && event.md.eq_handle == QUEUE_HANDLE);
	assert_true(event.md_handle == HANDLE && event.mlength == 11);
}

static void a_queue_knows_how_many_operations_will_still_log_there(void **state)
{
	struct descriptor *md = create(user_md(BOTH, PTL_MD_THRESH_INF), PTL_RETAIN, NULL);
	struct operation *first = begin(md, 1, 0), *second = begin(md, 2, 0);

	(void)state;
	assert_int_equal(eq->underway, 2);
	end(first);
	assert_int_equal(eq->underway, 1);
	end(second);
	assert_int_equal(eq->underway, 0);
}

/* --- making and describing --- */

static void what_was_said_of_a_descriptor_can_be_asked_again(void **state)
{
	ptl_md_t user = user_md(BOTH | M, 5), answer;

	(void)state;
	user.max_size = 17;
	struct descriptor *md = create(user, PTL_RETAIN, NULL);

	run(md, 1, 10);
	descriptor_describe(md, &answer);
	assert_true(answer.start == memory && answer.length == MEMORY && answer.threshold == 4);
	assert_true(answer.max_size == 17 && answer.options == (BOTH | M) && answer.user_ptr == &nic);
	assert_int_equal(answer.eq_handle, QUEUE_HANDLE);
	md->eq = NULL;
	descriptor_describe(md, &answer);
	assert_int_equal(answer.eq_handle, PTL_EQ_NONE);
}

static void a_descriptor_of_no_memory_or_one_too_many_is_refused(void **state)
{
	ptl_md_t user = user_md(0, 1);
	struct descriptor *md = NULL;
	struct match_entry *entry = new_entry(false);

	(void)state;
	user.start = NULL;
	assert_int_equal(descriptor_create(&nic, &user, PTL_RETAIN, eq, entry, &md), -EINVAL);
	user.options = PTL_MD_IOVEC;
	assert_int_equal(descriptor_create(&nic, &user, PTL_RETAIN, eq, entry, &md), -EINVAL);
	assert_true(!md && !entry->descriptor && nic.objects.descriptors.live == 0);
	for (int i = 0; i < MAX_MDS; i++)
		create(user_md(0, 1), PTL_RETAIN, NULL);
	user = user_md(0, 1);
	assert_int_equal(descriptor_create(&nic, &user, PTL_RETAIN, eq, entry, &md), -ENOSPC);
	assert_non_null(strstr(report_last_error(), "8 memory descriptors exist"));
	assert_true(!md && !entry->descriptor);
}

static void links_are_never_the_same_twice(void **state)
{
	ptl_seq_t first = event_link(&nic);

	(void)state;
	assert_int_equal(event_link(&nic), first + 1);
	assert_int_equal(event_link(&nic), first + 2);
}

/* --- update --- */

static ptl_md_t new_md(int threshold)
{
	ptl_md_t user = user_md(BOTH, threshold);

	user.start = other_memory;
	user.length = MEMORY / 2;
	return user;
}

static void update(struct descriptor *md, ptl_md_t user)
{
	assert_int_equal(descriptor_update(&nic, md, &user, eq), 0);
}

static void an_update_replaces_everything_but_entry_and_unlink(void **state)
{
	struct match_entry *entry = new_entry(false);
	struct descriptor *md = create(user_md(BOTH, 5), PTL_UNLINK, entry);
	struct event_queue *queue = new_queue(QUEUE_HANDLE + 1);
	ptl_md_t user = {.start = other_memory,
			 .length = 7,
			 .threshold = 1,
			 .max_size = 3,
			 .options = PTL_MD_OP_PUT,
			 .user_ptr = other_memory},
		 answer;

	(void)state;
	run(md, 1, 20);
	assert_event(PTL_EVENT_PUT_END, 1);
	assert_int_equal(descriptor_update(&nic, md, &user, queue), 0);
	descriptor_describe(md, &answer);
	assert_true(answer.start == other_memory && answer.length == 7 && answer.threshold == 1);
	assert_true(answer.max_size == 3 && answer.options == PTL_MD_OP_PUT && answer.user_ptr == other_memory);
	assert_int_equal(answer.eq_handle, QUEUE_HANDLE + 1);
	assert_true(md->local_offset == 0 && md->region.length == 7 && md->handle == HANDLE);
	assert_ptr_equal(entry->descriptor, md);
	run(md, 2, 0);
	assert_false(lives(md));
	assert_no_event();
	assert_int_equal(take(queue), 0);
	assert_int_equal(take(queue), 0);
	assert_int_equal(event.type, PTL_EVENT_UNLINK);
}

static void an_update_activates_and_deactivates_without_unlinking(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 0), PTL_UNLINK, NULL);

	(void)state;
	update(md, new_md(PTL_MD_THRESH_INF));
	assert_true(accepts(md));
	update(md, new_md(0));
	assert_false(accepts(md));
	descriptor_settle(&nic, md);
	assert_true(lives(md));
	update(md, new_md(2));
	assert_true(accepts(md));
}

static void a_wrong_update_changes_nothing(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 5), PTL_RETAIN, NULL), before;
	struct operation *op = begin(md, 1, 10);
	ptl_md_t user = new_md(1);

	(void)state;
	user.start = NULL;
	memcpy(&before, md, sizeof(before));
	assert_int_equal(descriptor_update(&nic, md, &user, NULL), -EINVAL);
	assert_memory_equal(md, &before, sizeof(before));
	assert_ptr_equal(op->pinned, md);
	end(op);
}

static void operations_under_way_finish_with_what_an_update_replaced(void **state)
{
	struct iovec pieces[] = {{memory, 10}, {memory + 20, 30}};
	ptl_md_t user = user_md(BOTH | PTL_MD_IOVEC, 5);
	uint64_t contiguous;

	(void)state;
	user.start = pieces;
	user.length = 2;
	struct descriptor *md = create(user, PTL_RETAIN, NULL);
	struct operation *op = begin(md, 1, 10);
	struct event_queue *queue = eq;

	eq = new_queue(QUEUE_HANDLE + 1);
	update(md, new_md(3));
	run(md, 2, 5);
	assert_event(PTL_EVENT_PUT_END, 2);
	assert_ptr_equal(event.md.start, other_memory);
	/* The old operation: its memory, its queue, its threshold, under the same handle. */
	assert_ptr_equal(region_at(&op->pinned->region, 10, &contiguous), memory + 20);
	assert_int_equal(eq->underway, 0);
	assert_int_equal(queue->underway, 1);
	assert_int_equal(md->pending, 1);
	eq = queue;
	end(op);
	assert_event(PTL_EVENT_PUT_END, 1);
	assert_true(event.md.start == pieces && event.md_handle == HANDLE && event.md.threshold == 4);
	assert_true(md->pending == 0 && queue->underway == 0 && nic.objects.descriptors.live == 1);
}

static void an_updated_descriptor_goes_after_the_operations_it_had_before(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 2), PTL_UNLINK, NULL);
	struct operation *first = begin(md, 1, 10), *second = begin(md, 2, 10);

	(void)state;
	update(md, new_md(1)); /* it was inactive and about to go: not any more */
	assert_true(accepts(md));
	run(md, 3, 5);
	end(first);
	assert_event(PTL_EVENT_PUT_END, 3);
	assert_event(PTL_EVENT_PUT_END, 1);
	assert_no_event();
	assert_true(lives(md));
	end(second);
	assert_event(PTL_EVENT_PUT_END, 2);
	assert_event(PTL_EVENT_UNLINK, 3);
	assert_false(lives(md));
	assert_int_equal(nic.objects.descriptors.live, 0);
}

static void an_update_saves_a_descriptor_that_was_about_to_go(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 1), PTL_UNLINK, NULL);
	struct operation *op = begin(md, 1, 10);

	(void)state;
	update(md, new_md(2));
	end(op);
	assert_event(PTL_EVENT_PUT_END, 1);
	assert_no_event();
	assert_true(accepts(md));
}

/* A get without its reply, a put without its ACK: what comes later is the updated descriptor's. */
static void operations_belong_to_the_descriptor_whatever_memory_they_use(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 5), PTL_RETAIN, NULL);
	struct operation *op = begin(md, 1, 10), *waiting = pool_take(&nic.objects.operations);

	(void)state;
	waiting->md = md;
	update(md, new_md(5));
	assert_true(waiting->md == md && waiting->pinned == NULL);
	assert_true(op->md == md && op->pinned != md);
	end(op);
	assert_int_equal(md->pending, 0);
}

static void operations_from_before_several_updates_end_one_by_one(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 5), PTL_RETAIN, NULL);
	struct operation *first = begin(md, 1, 10), *second;

	(void)state;
	update(md, new_md(5));
	second = begin(md, 2, 5);
	update(md, user_md(BOTH, 5));
	assert_int_equal(md->pending, 2);
	assert_ptr_equal(second->pinned->user_start, other_memory);
	end(first);
	assert_int_equal(md->pending, 1);
	end(second);
	assert_int_equal(md->pending, 0);
	assert_int_equal(nic.objects.descriptors.live, 1);
}

static void updates_with_nothing_begun_between_them_leave_nothing_pending(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 5), PTL_RETAIN, NULL);
	struct operation *op = begin(md, 1, 10);

	(void)state;
	update(md, new_md(5));
	update(md, new_md(4));
	update(md, new_md(3));
	assert_true(md->pending > 0);
	end(op);
	assert_int_equal(md->pending, 0);
	assert_int_equal(nic.objects.descriptors.live, 1);
}

static void an_update_that_finds_no_room_for_what_is_pending_changes_nothing(void **state)
{
	struct descriptor *md = create(user_md(BOTH, 5), PTL_RETAIN, NULL), before;
	struct operation *op = begin(md, 1, 10);
	struct iovec pieces[] = {{memory, 1}, {memory, 2}};
	ptl_md_t user = new_md(1);

	(void)state;
	while (pool_take(&nic.objects.descriptors))
		;
	user.options |= PTL_MD_IOVEC;
	user.start = pieces;
	user.length = 2;
	memcpy(&before, md, sizeof(before));
	assert_int_equal(descriptor_update(&nic, md, &user, eq), -ENOSPC);
	assert_memory_equal(md, &before, sizeof(before));
	assert_ptr_equal(op->pinned, md);
	end(op);
	assert_int_equal(md->pending, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_nic, close_nic)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_accepted_if_it_fits_and_truncated_if_that_is_allowed),
		TEST(a_request_needs_every_operation_it_consists_of),
		TEST(a_descriptor_takes_as_many_operations_as_its_threshold_says),
		TEST(an_infinite_threshold_is_never_used_up),
		TEST(no_threshold_or_a_negative_one_is_inactive_but_stays),
		TEST(the_local_offset_grows_by_what_others_moved),
		TEST(fewer_than_max_size_bytes_left_make_a_descriptor_inactive),
		TEST(an_inactive_descriptor_goes_when_its_last_operation_ends),
		TEST(a_full_descriptor_goes_as_one_that_is_used_up),
		TEST(a_retained_descriptor_stays_when_it_is_used_up),
		TEST(a_descriptor_without_a_queue_goes_silently),
		TEST(an_entry_goes_with_its_descriptor_if_it_was_made_so),
		TEST(start_and_end_events_can_be_switched_off),
		TEST(events_show_the_descriptor_as_it_is_after_them),
		TEST(a_queue_knows_how_many_operations_will_still_log_there),
		TEST(what_was_said_of_a_descriptor_can_be_asked_again),
		TEST(a_descriptor_of_no_memory_or_one_too_many_is_refused),
		TEST(links_are_never_the_same_twice),
		TEST(an_update_replaces_everything_but_entry_and_unlink),
		TEST(an_update_activates_and_deactivates_without_unlinking),
		TEST(a_wrong_update_changes_nothing),
		TEST(operations_under_way_finish_with_what_an_update_replaced),
		TEST(an_updated_descriptor_goes_after_the_operations_it_had_before),
		TEST(an_update_saves_a_descriptor_that_was_about_to_go),
		TEST(operations_belong_to_the_descriptor_whatever_memory_they_use),
		TEST(operations_from_before_several_updates_end_one_by_one),
		TEST(updates_with_nothing_begun_between_them_leave_nothing_pending),
		TEST(an_update_that_finds_no_room_for_what_is_pending_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
