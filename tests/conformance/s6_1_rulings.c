/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 6.1 Where the reference implementation differs from the specification: for each difference the least program that tells
 * the two apart.  The chapters prove the same at length.
 */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static const struct row rows[] = {
	{"6.1/1", "rlength in ACK is the length of the put, not 0"},
	{"6.1/2", "match_bits and pt_index in REPLY are those of the request, not 0 and -1"},
	{"6.1/3", "offset in SEND is that in the local descriptor, not the remote one"},
	{"6.1/4", "hdr_data in the target's GETPUT events is the request's, not 0"},
	{"6.1/5", "ACK and UNLINK are delivered even if START and END are both disabled"},
	{"6.1/6", "UNLINK has the link of the operation that caused it"},
	{"6.1/7", "a reply that is longer than its descriptor is truncated without PTL_MD_TRUNCATE, not dropped"},
	{"6.1/8", "a dropped ACK is counted"},
	{"6.1/9", "a descriptor without a queue asks for no ACK, which would use a unit"},
	{"6.1/10", "PtlMEUnlink frees a descriptor with PTL_RETAIN too"},
	{"6.1/11", "PTL_MD_MAX_SIZE means nothing together with PTL_MD_MANAGE_REMOTE"},
	{"6.1/12", "a descriptor unlinks itself after its last operation, also if operations end out of order"},
	{"6.1/13", "a descriptor can be unlinked as soon as the END of its last operation has been read"},
	{"6.1/14", "PTL_EQ_NONE is legal in descriptors of a second interface"},
	{"6.1/15", "PtlInit writes max_interfaces each time"},
	{"6.1/16", "the limits that PtlNIInit reports hold: what is within them works, what is beyond is refused"},
	{"6.1/17", "a status register holds at least 32 bits with a sign"},
	{"6.1/18", "PTL_JID_NONE is defined, and no wildcard"},
	{"6.1/19", "of several threads that wait for one queue exactly one wakes for each event"},
	{"6.1/20", "PtlPut from an inactive descriptor returns PTL_MD_INVALID"},
	{"6.1/21", "an ACK or REPLY that comes late never reaches a descriptor made after its own was unlinked"},
	{"6.1/22", "PtlMDUpdate to threshold 0 makes a descriptor inactive, and no operation makes it unlimited"},
	{"6.1/23", "a request for an index equal to the size of the portal or access control table is dropped"},
	{"6.1/24", "PtlMDUpdate records the old descriptor even if it refuses with PTL_MD_NO_UPDATE"},
	{"6.1/25", "the uid is the user id itself, on every interface"},
	{"6.1/26", "PtlNIInit names the reason of a failure"},
	{"6.1/27", "PtlEQAlloc for 0 events returns PTL_OK and PTL_EQ_NONE"},
	{0},
};

static char near[LONG], far[2 * LONG];

static struct window open_far_window(size_t length, unsigned options, ptl_handle_eq_t eq)
{
	return open_window(BITS, md_over(far, length, ANY_KIND | options, eq));
}

static void open_target(size_t length, unsigned options, ptl_handle_eq_t eq)
{
	if (am_target())
		open_far_window(length, options, eq);
	open_door();
	barrier();
}

static ptl_handle_md_t near_md(size_t length, unsigned options, ptl_handle_eq_t eq)
{
	return bind_md(md_over(near, length, options, eq));
}

/* ---- Events ---- */

static void c6_1_an_ack_tells_the_length_of_the_put(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_target(WORD, PTL_MD_TRUNCATE, PTL_EQ_NONE);
	if (am_initiator()) {
		put(near_md(2 * WORD, QUIET, eq), PTL_ACK_REQ, BITS);
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).rlength, 2 * WORD);
	}
	barrier();
}

static void c6_1_a_reply_echoes_bits_and_index(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_target(WORD, 0, PTL_EQ_NONE);
	if (am_initiator()) {
		get(near_md(WORD, PTL_MD_EVENT_START_DISABLE, eq), BITS);
		ptl_event_t reply = take(eq, PTL_EVENT_REPLY_END);
		CHECK_EQUAL(reply.match_bits, BITS);
		CHECK_EQUAL(reply.pt_index, INDEX);
	}
	barrier();
}

static void c6_1_the_offset_of_a_send_is_local(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_target(LONG, PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE);
	if (am_initiator()) {
		ptl_handle_md_t md = near_md(2 * WORD, PTL_MD_EVENT_START_DISABLE, eq);
		CHECK_OK(PtlPutRegion(md, 3, WORD, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 5, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).offset, 3);
	}
	barrier();
}

static void c6_1_the_target_of_a_getput_sees_hdr_data(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_target(WORD, PTL_MD_EVENT_START_DISABLE, eq);
	if (am_initiator()) {
		ptl_handle_md_t md = near_md(WORD, 0, PTL_EQ_NONE);
		CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 4711));
	}
	if (am_target())
		CHECK_EQUAL(take(eq, PTL_EVENT_GETPUT_END).hdr_data, 4711);
	barrier();
}

static void c6_1_ack_and_unlink_come_with_both_disable_bits(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_target(WORD, 0, PTL_EQ_NONE);
	if (am_initiator()) {
		put(bind_mortal_md(with_threshold(md_over(near, WORD, QUIET, eq), 2)), PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_ACK);
		take(eq, PTL_EVENT_UNLINK);
	}
	barrier();
}

/* Other events come first, so that the queue's numbers are not by chance those of the operations. */
static void c6_1_unlink_has_the_link_of_its_cause(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	open_target(LONG, 0, PTL_EQ_NONE);
	if (am_initiator()) {
		ptl_handle_md_t md = bind_mortal_md(with_threshold(md_over(near, WORD, 0, eq), 3));
		for (int i = 0; i < 2; i++) {
			put(md, PTL_NO_ACK_REQ, BITS);
			take(eq, PTL_EVENT_SEND_START);
			take(eq, PTL_EVENT_SEND_END);
		}
		put(md, PTL_NO_ACK_REQ, BITS);
		ptl_seq_t link = take(eq, PTL_EVENT_SEND_START).link;
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).link, link);
		CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).link, link);
	}
	barrier();
}

/* ---- Answers ---- */

static void c6_1_a_reply_that_is_too_long_is_cut(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	memset(near, 7, 2 * WORD);
	open_target(WORD, 0, PTL_EQ_NONE);
	if (am_initiator()) {
		ptl_handle_md_t put_md = bind_md(md_over(near + WORD, WORD, 0, PTL_EQ_NONE));
		ptl_handle_md_t get_md = near_md(WORD - 1, PTL_MD_EVENT_START_DISABLE, eq);
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, WORD - 1);
		CHECK_EQUAL(near[WORD - 2], 0);
		CHECK_EQUAL(near[WORD - 1], 7);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

static void c6_1_a_dropped_ack_is_counted(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_target(WORD, 0, PTL_EQ_NONE);
	if (am_initiator()) {
		put(bind_md(with_threshold(md_over(near, WORD, 0, eq), 1)), PTL_ACK_REQ, BITS);
		await_drops(1);
	}
	barrier();
}

static void c6_1_a_descriptor_without_queue_asks_for_no_ack(void)
{
	open_target(LONG, 0, PTL_EQ_NONE);
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(with_threshold(md_over(near, WORD, 0, PTL_EQ_NONE), 2));
		put(md, PTL_ACK_REQ, BITS);
		ping(target_id());
		CHECK_EQUAL(state_of(md).threshold, 1);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

static void c6_1_late_answers_do_not_reach_a_later_descriptor(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_target(WORD, PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE);
	if (am_initiator()) {
		ping(target_id());
		stop_process(1);
		ptl_handle_md_t put_md = near_md(WORD, PTL_MD_EVENT_START_DISABLE, eq), get_md = near_md(WORD, 0, eq);
		put(put_md, PTL_ACK_REQ, BITS);
		get(get_md, BITS);
		take(eq, PTL_EVENT_SEND_END);
		CHECK_OK(PtlMDUnlink(put_md));
		CHECK_OK(PtlMDUnlink(get_md));
		take_freed_places(md_over(near, WORD, 0, eq));
		memset(near, 7, WORD);
		continue_process(1);
		await_drops(2);
		CHECK_EQUAL(near[0], 7);
		CHECK_EMPTY(eq);
	}
	barrier();
}

/* ---- Descriptors ---- */

static void c6_1_unlinking_an_entry_frees_a_retained_descriptor(void)
{
	struct window window = open_far_window(WORD, 0, PTL_EQ_NONE);
	CHECK_OK(PtlMEUnlink(window.me));
	CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
}

/* A hidden local offset would leave 0 bytes after the second put. */
static void c6_1_max_size_means_nothing_where_offsets_are_remote(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target()) {
		unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE;
		ptl_md_t md = md_over(far, 2 * WORD, options, eq);
		md.max_size = 2 * WORD;
		open_mortal_window(BITS, md);
	}
	barrier();
	for (int i = 0; i < 3 && am_initiator(); i++)
		put(near_md(WORD, 0, PTL_EQ_NONE), PTL_NO_ACK_REQ, BITS);
	for (int i = 0; i < 3 && am_target(); i++)
		take(eq, PTL_EVENT_PUT_END);
	barrier();
	CHECK_EMPTY(eq);
}

/* The short put uses the descriptor up and ends first, if it can. */
static void c6_1_auto_unlink_follows_the_last_of_operations_that_end_out_of_order(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_target(2 * LONG, 0, PTL_EQ_NONE);
	if (am_initiator()) {
		ptl_md_t md = with_threshold(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, eq), 2);
		ptl_handle_md_t handle = bind_mortal_md(md);
		put(handle, PTL_NO_ACK_REQ, BITS);
		CHECK_OK(PtlPutRegion(handle, 0, WORD, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_UNLINK);
		CHECK_RC(PtlMDUnlink(handle), PTL_MD_INVALID);
	}
	barrier();
}

static void c6_1_the_end_can_be_followed_by_unlink_at_once(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	for (int i = 0; i < 20; i++) {
		struct window window = {0};
		if (am_target())
			window = open_far_window(WORD, PTL_MD_EVENT_START_DISABLE, in);
		barrier();
		if (am_initiator()) {
			ptl_handle_md_t md = near_md(WORD, PTL_MD_EVENT_START_DISABLE, out);
			put(md, PTL_NO_ACK_REQ, BITS);
			take(out, PTL_EVENT_SEND_END);
			CHECK_OK(PtlMDUnlink(md));
		}
		if (am_target()) {
			take(in, PTL_EVENT_PUT_END);
			CHECK_OK(PtlMEUnlink(window.me));
		}
	}
	barrier();
}

static void c6_1_an_inactive_source_is_invalid(void)
{
	ptl_handle_md_t md = bind_md(with_threshold(md_over(near, WORD, 0, PTL_EQ_NONE), 0));
	CHECK_RC(PtlPut(md, PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
}

static void c6_1_threshold_0_by_update_is_inactive(void)
{
	ptl_handle_md_t source = near_md(WORD, 0, PTL_EQ_NONE);
	struct window window = open_far_window(LONG, 0, PTL_EQ_NONE);
	ptl_md_t stopped = with_threshold(state_of(window.md), 0);
	CHECK_OK(PtlMDUpdate(window.md, NULL, &stopped, PTL_EQ_NONE));
	for (int i = 1; i <= 2; i++) {
		CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 0));
		await_drops(i);
	}
	CHECK_EQUAL(state_of(window.md).threshold, 0);
}

static void c6_1_a_refused_update_records_the_old_descriptor(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t md = near_md(WORD, 0, eq);
	ptl_md_t old = {0}, wanted = md_over(far, WORD, 0, eq);
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 0)); /* its events stay in the queue */
	CHECK_RC(PtlMDUpdate(md, &old, &wanted, eq), PTL_MD_NO_UPDATE);
	CHECK(old.start == near);
	CHECK_EQUAL(old.length, WORD);
	CHECK_EQUAL(old.threshold, PTL_MD_THRESH_INF);
	CHECK_EQUAL(old.eq_handle, eq);
}

/* ---- Tables and limits ---- */

static void c6_1_requests_for_the_size_of_a_table_are_dropped(void)
{
	ptl_ni_limits_t limits = limits_in_force();
	ptl_handle_md_t md = near_md(WORD, 0, PTL_EQ_NONE);
	ptl_pt_index_t portals = (ptl_pt_index_t)limits.max_pt_index + 1;
	ptl_ac_index_t entries = (ptl_ac_index_t)limits.max_ac_index + 1;
	open_target(LONG, 0, PTL_EQ_NONE);
	if (am_target())
		open_window_on(portals - 1, BITS, md_over(far, LONG, ANY_KIND, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), portals - 1, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, entries - 1, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), portals, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, entries, BITS, 0, 0));
		ping(target_id());
	}
	barrier();
	if (am_target())
		CHECK_EQUAL(drops(), 2);
	barrier();
}

static void c6_1_reported_limits_hold(void)
{
	ptl_ni_limits_t limits = limits_in_force();
	size_t pieces = (size_t)limits.max_md_iovecs, swap = (size_t)limits.max_getput_md;
	ptl_pt_index_t last = (ptl_pt_index_t)limits.max_pt_index;
	ptl_md_iovec_t *iovec = memory((pieces + 1) * sizeof(*iovec));
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	CHECK_OK(PtlMEAttach(ni, last, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	CHECK_RC(PtlMEAttach(ni, last + 1, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_PT_INDEX_INVALID);
	bind_md(md_over(iovec, pieces, PTL_MD_IOVEC, PTL_EQ_NONE));
	CHECK_RC(PtlMDBind(ni, md_over(iovec, pieces + 1, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_RETAIN, &md), PTL_MD_ILLEGAL);
	open_far_window(LONG, 0, PTL_EQ_NONE);
	ptl_handle_md_t most = near_md(swap, 0, PTL_EQ_NONE), more = near_md(swap + 1, 0, PTL_EQ_NONE);
	CHECK_OK(PtlGetPut(most, most, id_of[my_rank], INDEX, 0, BITS, 0, 0));
	CHECK_RC(PtlGetPut(more, more, id_of[my_rank], INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	for (int queues = idle_queue() != PTL_INVALID_HANDLE; queues < limits.max_eqs; queues++)
		new_eq(1);
	ptl_handle_eq_t eq;
	CHECK_RC(PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &eq), PTL_NO_SPACE);
}

static void c6_1_a_status_register_has_a_sign(void)
{
	ptl_sr_value_t drop_count = -1;
	CHECK(drop_count < 0 && sizeof(drop_count) >= 4);
	CHECK_OK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &drop_count));
	CHECK_EQUAL(drop_count, 0);
}

static void c6_1_there_is_a_job_id_for_no_job(void)
{
	ptl_jid_t none = PTL_JID_NONE, jid = PTL_JID_ANY;
	CHECK(none != PTL_JID_ANY);
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK(jid != PTL_JID_ANY);
}

/* ---- Interfaces and queues ---- */

static void c6_1_init_writes_the_number_of_interfaces_each_time(void)
{
	int first = -1, again = -1;
	CHECK_OK(PtlInit(&first));
	CHECK_OK(PtlInit(&again));
	CHECK_LESS(0, first);
	CHECK_EQUAL(again, first);
}

static void c6_1_a_second_interface_takes_descriptors_without_queue(void)
{
	ptl_handle_ni_t second;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlMEAttach(second, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md_over(far, WORD, ANY_KIND, PTL_EQ_NONE), PTL_RETAIN, &md));
	CHECK_OK(PtlMDBind(second, md_over(near, WORD, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
	CHECK_OK(PtlNIFini(second));
}

static void c6_1_the_uid_is_the_user_id_on_every_interface(void)
{
	ptl_handle_ni_t second;
	ptl_uid_t uid;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlGetUid(ni, &uid));
	CHECK_EQUAL(uid, geteuid());
	CHECK_OK(PtlGetUid(second, &uid));
	CHECK_EQUAL(uid, geteuid());
	CHECK_OK(PtlNIFini(second));
}

static void c6_1_an_interface_that_does_not_start_says_why(void)
{
	ptl_handle_ni_t other;
	CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT + 1, id_of[my_rank].pid, NULL, NULL, &other), PTL_PID_INVALID);
	CHECK_RC(PtlNIInit(0x7eadbeef, PTL_PID_ANY, NULL, NULL, &other), PTL_IFACE_INVALID);
}

static void c6_1_a_queue_for_no_events_is_no_queue(void)
{
	ptl_handle_eq_t eq = PTL_INVALID_HANDLE;
	CHECK_OK(PtlEQAlloc(ni, 0, PTL_EQ_HANDLER_NONE, &eq));
	CHECK_EQUAL(eq, PTL_EQ_NONE);
}

static ptl_handle_eq_t awaited_eq;

/* hdr_data of the event that the thread was woken for. */
static void *await_event(void *hdr_data)
{
	ptl_event_t event = {0};
	CHECK_OK(PtlEQWait(awaited_eq, &event));
	*(ptl_hdr_data_t *)hdr_data = event.hdr_data;
	return NULL;
}

static void c6_1_each_event_wakes_one_of_the_threads_that_wait(void)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	ptl_hdr_data_t seen[THREADS], all = 0;
	ptl_handle_md_t md = near_md(WORD, 0, PTL_EQ_NONE);
	awaited_eq = new_eq(8);
	open_far_window(LONG, PTL_MD_EVENT_START_DISABLE, awaited_eq);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, await_event, &seen[i]), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 1u << i));
	for (int i = 0; i < THREADS; i++) {
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
		CHECK_EQUAL(all & seen[i], 0);
		all |= seen[i];
	}
	CHECK_EQUAL(all, (1u << THREADS) - 1);
	CHECK_EMPTY(awaited_eq);
}

static const struct test tests[] = {
	CASE_PAIR(c6_1_an_ack_tells_the_length_of_the_put, "6.1/1"),
	CASE_PAIR(c6_1_a_reply_echoes_bits_and_index, "6.1/2"),
	CASE_PAIR(c6_1_the_offset_of_a_send_is_local, "6.1/3"),
	CASE_PAIR(c6_1_the_target_of_a_getput_sees_hdr_data, "6.1/4"),
	CASE_PAIR(c6_1_ack_and_unlink_come_with_both_disable_bits, "6.1/5"),
	CASE_PAIR(c6_1_unlink_has_the_link_of_its_cause, "6.1/6"),
	CASE_PAIR(c6_1_a_reply_that_is_too_long_is_cut, "6.1/7"),
	CASE_PAIR(c6_1_a_dropped_ack_is_counted, "6.1/8"),
	CASE_PAIR(c6_1_a_descriptor_without_queue_asks_for_no_ack, "6.1/9"),
	CASE_ALONE(c6_1_unlinking_an_entry_frees_a_retained_descriptor, "6.1/10"),
	CASE_PAIR(c6_1_max_size_means_nothing_where_offsets_are_remote, "6.1/11"),
	CASE_PAIR(c6_1_auto_unlink_follows_the_last_of_operations_that_end_out_of_order, "6.1/12"),
	CASE_PAIR(c6_1_the_end_can_be_followed_by_unlink_at_once, "6.1/13"),
	CASE_ALONE(c6_1_a_second_interface_takes_descriptors_without_queue, "6.1/14"),
	CASE_ALONE(c6_1_init_writes_the_number_of_interfaces_each_time, "6.1/15"),
	CASE_ALONE(c6_1_reported_limits_hold, "6.1/16"),
	CASE_ALONE(c6_1_a_status_register_has_a_sign, "6.1/17"),
	CASE_ALONE(c6_1_there_is_a_job_id_for_no_job, "6.1/18"),
	CASE_ALONE(c6_1_each_event_wakes_one_of_the_threads_that_wait, "6.1/19"),
	CASE_ALONE(c6_1_an_inactive_source_is_invalid, "6.1/20"),
	CASE_TWO(c6_1_late_answers_do_not_reach_a_later_descriptor, "6.1/21"),
	CASE_ALONE(c6_1_threshold_0_by_update_is_inactive, "6.1/22"),
	CASE_PAIR(c6_1_requests_for_the_size_of_a_table_are_dropped, "6.1/23"),
	CASE_ALONE(c6_1_a_refused_update_records_the_old_descriptor, "6.1/24"),
	CASE_ALONE(c6_1_the_uid_is_the_user_id_on_every_interface, "6.1/25"),
	CASE_ALONE(c6_1_an_interface_that_does_not_start_says_why, "6.1/26"),
	CASE_ALONE(c6_1_a_queue_for_no_events_is_no_queue, "6.1/27"),
	{0},
};

const struct chapter rulings_chapter = {.title = "6.1 Where the reference differs", .rows = rows, .tests = tests};
