/* SPDX-License-Identifier: BSD-3-Clause */
/* Address translation: which entry of a match list takes a request. */
#include "tests/behaviour/behaviour.h"

#define QUIET_PUT (PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE)

static char area[256];

/* An entry for these bits from this source, whose descriptor marks its events with `tag`. */
static ptl_handle_me_t add_entry(ptl_process_id_t from, ptl_match_bits_t bits, ptl_match_bits_t ignore,
				 ptl_ins_pos_t position, uintptr_t tag, ptl_handle_eq_t eq)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_md_t descriptor = md_over(area, sizeof area, QUIET_PUT, eq);
	descriptor.user_ptr = (void *)tag;
	CHECK_OK(PtlMEAttach(ni, INDEX, from, bits, ignore, PTL_RETAIN, position, &me));
	CHECK_OK(PtlMDAttach(me, descriptor, PTL_RETAIN, &md));
	return me;
}

/* The initiator's quiet descriptor of 8 bytes. */
static ptl_handle_md_t source(void)
{
	static char bytes[8];
	return bind_md(md_over(bytes, sizeof bytes, 0, PTL_EQ_NONE));
}

static void expect_tag(ptl_handle_eq_t eq, uintptr_t tag)
{
	ptl_event_t event = take(eq, PTL_EVENT_PUT_END);
	CHECK_EQUAL((uintptr_t)event.md.user_ptr, tag);
}

static void match_bits_are_compared_except_where_ignored(void)
{
	static const struct {
		ptl_match_bits_t entry, ignore, request;
	} match[] =
		{
			{0, 0, 0},
			{~0ull, 0, ~0ull},
			{0, ~0ull, 0x123456789abcdef0u},
			{0xff00, 0x00ff, 0xff5a},
			{0xff00, ~0xff00ull, 0xabcdef0123ffff01u},
			{1ull << 63, 0, 1ull << 63},
			{~0ull, 1, ~1ull},
		},
	  differ[] = {
		  {0, 0, 1},
		  {0, 0, 1ull << 63},
		  {~0ull, 0, ~0ull >> 1},
		  {0xff00, 0x00ff, 0xfe5a},
		  {1ull << 32, ~(1ull << 32), 0},
		  {0, ~1ull, ~0ull},
	  };
	ptl_handle_eq_t eq = new_eq(16);
	for (unsigned i = 0; i < sizeof match / sizeof match[0]; i++) {
		if (am_target())
			add_entry(anyone, match[i].entry, match[i].ignore, PTL_INS_BEFORE, i, eq);
		barrier();
		if (am_initiator())
			put(source(), PTL_NO_ACK_REQ, match[i].request);
		if (am_target())
			expect_tag(eq, i);
		barrier();
	}
	for (unsigned i = 0; i < sizeof differ / sizeof differ[0]; i++) {
		ptl_handle_me_t refusing = PTL_INVALID_HANDLE, taking = PTL_INVALID_HANDLE;
		if (am_target()) {
			taking = add_entry(anyone, 0, ~0ull, PTL_INS_BEFORE, 100 + i, eq);
			refusing = add_entry(anyone, differ[i].entry, differ[i].ignore, PTL_INS_BEFORE, i, eq);
		}
		barrier();
		if (am_initiator())
			put(source(), PTL_NO_ACK_REQ, differ[i].request);
		if (am_target()) {
			expect_tag(eq, 100 + i);
			CHECK_OK(PtlMEUnlink(refusing));
			CHECK_OK(PtlMEUnlink(taking));
		}
		barrier();
	}
}

static void an_entry_is_for_its_source_and_wildcards_are_for_all(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	ptl_process_id_t him = initiator_id();
	const ptl_process_id_t fits[] = {him, {him.nid, PTL_PID_ANY}, {PTL_NID_ANY, him.pid}, anyone};
	const ptl_process_id_t others[] = {
		{him.nid + 1, him.pid}, {him.nid, him.pid + 1}, {0, 0}, {PTL_NID_ANY, him.pid + 1}};
	if (am_target()) {
		for (unsigned i = 0; i < 4; i++) {
			add_entry(others[i], BITS + i, 0, PTL_INS_AFTER, 200 + i, eq);
			add_entry(fits[i], BITS + i, 0, PTL_INS_AFTER, i, eq);
		}
	}
	barrier();
	for (unsigned i = 0; i < 4; i++) {
		if (am_initiator())
			put(source(), PTL_NO_ACK_REQ, BITS + i);
		if (am_target())
			expect_tag(eq, i);
	}
	barrier();
}

/* An entry without a descriptor, and descriptors that refuse for every reason there is, in front of one that accepts. */
static void the_search_passes_over_entries_that_do_not_accept(void)
{
	static char small[4];
	ptl_handle_eq_t eq = new_eq(16);
	if (am_target()) {
		const ptl_md_t refusing[] = {
			{.start = area, .length = 8, .threshold = 0, .options = QUIET_PUT, .eq_handle = eq},
			{.start = area, .length = 8, .threshold = -1, .options = PTL_MD_OP_GET, .eq_handle = eq},
			{.start = area, .length = 8, .threshold = -1, .options = 0, .eq_handle = eq},
			{.start = small, .length = 4, .threshold = -1, .options = QUIET_PUT, .eq_handle = eq},
			{.start = area, .length = 8, .threshold = -5, .options = QUIET_PUT, .eq_handle = eq},
		};
		ptl_handle_me_t me;
		ptl_handle_md_t md;
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
		for (unsigned i = 0; i < sizeof refusing / sizeof refusing[0]; i++) {
			CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
			CHECK_OK(PtlMDAttach(me, refusing[i], PTL_RETAIN, &md));
		}
		add_entry(anyone, BITS, 0, PTL_INS_AFTER, 42, eq);
	}
	barrier();
	if (am_initiator())
		put(source(), PTL_NO_ACK_REQ, BITS);
	if (am_target()) {
		expect_tag(eq, 42);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

static void a_getput_needs_a_descriptor_that_allows_both(void)
{
	ptl_handle_eq_t eq = new_eq(8), in = new_eq(8);
	char word[8] = "";
	if (am_target()) {
		unsigned allow[] = {PTL_MD_OP_PUT, PTL_MD_OP_GET, PTL_MD_OP_PUT | PTL_MD_OP_GET};
		for (unsigned i = 0; i < 3; i++) {
			ptl_md_t md = md_over(area, 8, allow[i] | PTL_MD_MANAGE_REMOTE, in);
			md.user_ptr = &area[i];
			open_window(BITS, md);
		}
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(word, 8, PTL_MD_EVENT_START_DISABLE, eq));
		CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_REPLY_END);
	}
	if (am_target()) {
		ptl_event_t event = take(in, PTL_EVENT_GETPUT_START);
		CHECK(event.md.user_ptr == &area[2]);
		take(in, PTL_EVENT_GETPUT_END);
	}
	barrier();
}

/* Tags in list order must come out 0 1 2 3 4 5: each descriptor takes one put. */
static void attach_and_insert_put_entries_where_they_say(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	if (am_target()) {
		ptl_handle_me_t me[6];
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me[2]));
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me[4]));
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_BEFORE, &me[1]));
		CHECK_OK(PtlMEInsert(me[2], anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me[3]));
		CHECK_OK(PtlMEInsert(me[1], anyone, BITS, 0, PTL_UNLINK, PTL_INS_BEFORE, &me[0]));
		CHECK_OK(PtlMEInsert(me[4], anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me[5]));
		for (uintptr_t i = 0; i < 6; i++) {
			ptl_handle_md_t handle;
			ptl_md_t md = md_over(area, sizeof area, QUIET_PUT, eq);
			md.threshold = 1;
			md.user_ptr = (void *)i;
			CHECK_OK(PtlMDAttach(me[i], md, PTL_UNLINK, &handle));
		}
	}
	barrier();
	if (am_initiator())
		for (int i = 0; i < 6; i++)
			put(source(), PTL_NO_ACK_REQ, BITS);
	if (am_target()) {
		for (uintptr_t i = 0; i < 6; i++) {
			expect_tag(eq, i);
			take(eq, PTL_EVENT_UNLINK);
		}
	}
	barrier();
}

static void portal_table_entries_are_separate_and_all_usable(void)
{
	ptl_handle_eq_t eq = new_eq(256);
	ptl_ni_limits_t limits;
	ptl_handle_ni_t same;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &same));
	ptl_pt_index_t last = (ptl_pt_index_t)limits.max_pt_index;
	CHECK_LESS(62, last);
	for (ptl_pt_index_t i = 0; i <= last && am_target(); i++)
		open_window_on(i, BITS, md_over(area, sizeof area, QUIET_PUT, eq));
	barrier();
	for (ptl_pt_index_t i = 0; i <= last && am_initiator(); i++)
		CHECK_OK(PtlPut(source(), PTL_NO_ACK_REQ, target_id(), i, 0, BITS, 0, i));
	for (ptl_pt_index_t i = 0; i <= last && am_target(); i++) {
		ptl_event_t event = take(eq, PTL_EVENT_PUT_END);
		CHECK_EQUAL(event.pt_index, i);
		CHECK_EQUAL(event.hdr_data, i);
	}
	barrier();
}

static void attach_any_takes_free_indexes_until_there_are_none(void)
{
	ptl_ni_limits_t limits;
	ptl_handle_ni_t same;
	ptl_handle_me_t me[512];
	bool taken[512] = {false};
	ptl_pt_index_t index;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &same));
	int count = limits.max_pt_index + 1;
	CHECK_LESS(count, 512);
	CHECK_OK(PtlMEAttach(ni, 7, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me[0]));
	taken[7] = true;
	for (int i = 1; i < count; i++) {
		CHECK_OK(PtlMEAttachAny(ni, &index, anyone, BITS, 0, PTL_RETAIN, &me[i]));
		CHECK_LESS(index, count);
		CHECK(!taken[index]);
		taken[index] = true;
	}
	CHECK_RC(PtlMEAttachAny(ni, &index, anyone, BITS, 0, PTL_RETAIN, &me[0]), PTL_PT_FULL);
	CHECK_OK(PtlMEUnlink(me[0]));
	CHECK_OK(PtlMEAttachAny(ni, &index, anyone, BITS, 0, PTL_RETAIN, &me[0]));
	CHECK_EQUAL(index, 7);
}

static void list_length_registers_follow_the_list(void)
{
	ptl_handle_me_t me[5];
	ptl_sr_value_t length, most;
	for (int i = 0; i < 5; i++)
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me[i]));
	for (int i = 0; i < 3; i++)
		CHECK_OK(PtlMEUnlink(me[i]));
	CHECK_OK(PtlNIStatus(ni, PTL_SR_MLIST_LEN(INDEX), &length));
	CHECK_OK(PtlNIStatus(ni, PTL_SR_MLIST_MAX(INDEX), &most));
	CHECK_EQUAL(length, 2);
	CHECK_EQUAL(most, 5);
}

/*
 * A receive block as MPI libraries use it: the rule by which clients recognise its last message must agree with the
 * moment it goes away, and the message after that must be found by the next block.
 */
static void a_max_size_block_takes_its_last_message_and_hands_on_to_the_next(void)
{
	enum { BLOCK = 1000, MOST = 100, COUNT = 60 };
	ptl_handle_eq_t eq = new_eq(4 * COUNT);
	static char blocks[3][BLOCK], bytes[MOST];
	for (uintptr_t i = 0; i < 3 && am_target(); i++) {
		ptl_md_t md =
			md_over(blocks[i], BLOCK, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE, eq);
		md.max_size = MOST;
		md.user_ptr = blocks[i];
		open_mortal_window(BITS, md);
	}
	barrier();
	for (size_t i = 0; i < COUNT && am_initiator(); i++) {
		ptl_handle_md_t md = bind_md(md_over(bytes, MOST, 0, PTL_EQ_NONE));
		CHECK_OK(PtlPutRegion(md, 0, (i * 37) % MOST, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, i));
	}
	size_t next = 0, used = 0, block = 0;
	while (am_target() && next < COUNT && block < 3) {
		ptl_event_t event = take(eq, PTL_EVENT_PUT_END);
		CHECK_EQUAL(event.hdr_data, next);
		CHECK_EQUAL(event.mlength, (next * 37) % MOST);
		CHECK_EQUAL(event.offset, used);
		CHECK(event.md.user_ptr == blocks[block]);
		used += event.mlength;
		next++;
		if (BLOCK - used >= MOST)
			continue;
		CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).link, event.link);
		used = 0;
		block++;
	}
	if (am_target())
		CHECK_EQUAL(block, 3); /* COUNT messages are more than three blocks hold */
	barrier();
}

static void exactly_max_size_bytes_left_keep_a_block_active(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	static char bytes[100];
	if (am_target()) {
		ptl_md_t md = md_over(area, 100, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE, eq);
		md.max_size = 40;
		open_mortal_window(BITS, md);
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, 100, 0, PTL_EQ_NONE));
		CHECK_OK(PtlPutRegion(md, 0, 60, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlPutRegion(md, 0, 1, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
	}
	if (am_target()) {
		take(eq, PTL_EVENT_PUT_END);
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).offset, 60);
		take(eq, PTL_EVENT_UNLINK);
	}
	barrier();
}

static void max_size_means_nothing_where_the_requester_manages_offsets_or_is_zero(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	static char bytes[8];
	if (am_target()) {
		ptl_md_t md = md_over(area, 8, QUIET_PUT | PTL_MD_MAX_SIZE, eq);
		md.max_size = 9; /* never that much room, yet it stays active */
		open_mortal_window(BITS, md);
		md = md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE,
			     eq);
		open_mortal_window(BITS + 1, md); /* a catch-all with max_size 0 accepts for ever */
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, 8, 0, PTL_EQ_NONE));
		for (int i = 0; i < 6; i++)
			put(md, PTL_NO_ACK_REQ, BITS + (i & 1));
	}
	for (int i = 0; i < 6 && am_target(); i++)
		take(eq, PTL_EVENT_PUT_END);
	barrier();
	CHECK_EMPTY(eq);
}

const struct test match_tests[] = {
	PAIR(match_bits_are_compared_except_where_ignored),
	PAIR(an_entry_is_for_its_source_and_wildcards_are_for_all),
	PAIR(the_search_passes_over_entries_that_do_not_accept),
	PAIR(a_getput_needs_a_descriptor_that_allows_both),
	PAIR(attach_and_insert_put_entries_where_they_say),
	PAIR(portal_table_entries_are_separate_and_all_usable),
	ALONE(attach_any_takes_free_indexes_until_there_are_none),
	ALONE(list_length_registers_follow_the_list),
	PAIR(a_max_size_block_takes_its_last_message_and_hands_on_to_the_next),
	PAIR(exactly_max_size_bytes_left_keep_a_block_active),
	PAIR(max_size_means_nothing_where_the_requester_manages_offsets_or_is_zero),
	{0},
};
