/* SPDX-License-Identifier: BSD-3-Clause */
/* What a target drops and counts, and whom its access control table admits. */
#include "tests/behaviour/behaviour.h"

#include <unistd.h>

#define QUIET (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)

static char area[64];

static ptl_handle_md_t source(size_t length)
{
	static char bytes[LONG];
	return bind_md(md_over(bytes, length, QUIET, PTL_EQ_NONE));
}

/* Every drop is silent: the target logs nothing and the door still opens afterwards. */
static void requests_nobody_takes_are_dropped_and_counted(void)
{
	ptl_handle_eq_t in = new_eq(16);
	if (am_target())
		open_window(BITS, md_over(area, 16, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, in));
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_process_id_t to = target_id();
		ptl_handle_md_t md = source(16);
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, 64, 0, BITS, 0, 0)); /* no such portal table entry */
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, 0xffff, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, 0x10000 + INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, 0xffffffffu, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 8, BITS, 0, 0)); /* no such access control entry */
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0x10000, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0xffffffffu, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0, BITS + 1, 0, 0)); /* nobody matches */
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX + 1, 0, BITS, 0, 0)); /* empty list */
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0, BITS, 1, 0));     /* does not fit */
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0, BITS, ~0ull, 0)); /* offset + length wraps round */
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0, BITS, ~0ull - 15, 0));
		CHECK_OK(PtlGet(md, to, INDEX, 0, BITS, 0)); /* refused operation */
		CHECK_OK(PtlGetPut(md, md, to, INDEX, 0, BITS, 0, 0));
		knock(to);
	}
	barrier();
	if (am_target())
		await_drops(14);
	CHECK_EMPTY(in);
	barrier();
}

static void dropped_lengths_are_added_up(void)
{
	open_door();
	barrier();
	if (am_initiator()) {
		put(source(100), PTL_NO_ACK_REQ, BITS);
		put(source(LONG), PTL_NO_ACK_REQ, BITS);
		knock(target_id());
	}
	barrier();
	if (am_target()) {
		ptl_sr_value_t bytes;
		await_drops(2);
		CHECK_OK(PtlNIStatus(ni, PTL_SR_DROP_LENGTH, &bytes));
		CHECK_EQUAL(bytes, 100 + LONG);
	}
	barrier();
}

/* A long source is exposed, so the NIC must hear of the drop; the user hears SEND_END and never an ACK. */
static void a_dropped_long_put_ends_and_is_not_acknowledged(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LONG);
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, LONG, 0, eq));
		put(md, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		knock(target_id());
		CHECK_EMPTY(eq);
		CHECK_OK(PtlMDUnlink(md));
	}
	barrier();
}

static void dropped_getputs_and_gets_leave_their_descriptors_free(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	static char word[8];
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t get_md = bind_md(md_over(word, 8, 0, eq)), put_md = bind_md(md_over(word, 8, 0, eq));
		CHECK_OK(PtlGet(get_md, target_id(), INDEX, 0, BITS, 0));
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		knock(target_id());
		CHECK_EMPTY(eq);
		CHECK_OK(PtlMDUnlink(get_md));
		CHECK_OK(PtlMDUnlink(put_md));
	}
	barrier();
}

/* The target is stopped while the gets are issued and their descriptors unlinked. */
static void a_reply_for_an_unlinked_descriptor_is_dropped_and_counted(void)
{
	static const size_t length[] = {8, LONG};
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LONG);
	if (am_target())
		open_window(BITS, md_over(bytes, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	open_door();
	barrier();
	if (am_initiator()) {
		knock(target_id());
		stop_process(1);
		for (int i = 0; i < 2; i++) {
			ptl_handle_md_t md = bind_md(md_over(bytes, length[i], 0, eq));
			get(md, BITS);
			CHECK_OK(PtlMDUnlink(md));
		}
		continue_process(1);
		await_drops(2);
		CHECK_EMPTY(eq);
		knock(target_id());
	}
	barrier();
}

static const struct {
	const char *what;
	int nid, pid, uid, jid, pt; /* added to what the request has */
	bool admitted;
} guards[] = {
	{"all fields exact", 0, 0, 0, 0, 0, true}, {"another node", 1, 0, 0, 0, 0, false},
	{"another process", 0, 1, 0, 0, 0, false}, {"another user", 0, 0, 1, 0, 0, false},
	{"another job", 0, 0, 0, 1, 0, false},     {"another portal table entry", 0, 0, 0, 0, 1, false},
};

static void set_guard(size_t i, bool wild)
{
	ptl_process_id_t him = initiator_id();
	ptl_process_id_t id = {him.nid + (unsigned)guards[i].nid, him.pid + (unsigned)guards[i].pid};
	ptl_uid_t uid = geteuid() + (unsigned)guards[i].uid;
	ptl_jid_t jid = him.pid + (unsigned)guards[i].jid;
	ptl_pt_index_t pt = INDEX + (unsigned)guards[i].pt;
	if (wild) { /* the offending field alone becomes a wildcard */
		id.nid = guards[i].nid ? PTL_NID_ANY : id.nid;
		id.pid = guards[i].pid ? PTL_PID_ANY : id.pid;
		uid = guards[i].uid ? PTL_UID_ANY : uid;
		jid = guards[i].jid ? PTL_JID_ANY : jid;
		pt = guards[i].pt ? PTL_PT_INDEX_ANY : pt;
	}
	CHECK_OK(PtlACEntry(ni, 1, id, uid, jid, pt));
}

static void access_control_admits_only_who_fits_every_field(void)
{
	enum { COUNT = sizeof guards / sizeof guards[0] };
	ptl_handle_eq_t in = new_eq(16);
	ptl_sr_value_t refused = 0;
	if (am_target())
		open_window(BITS, md_over(area, 64, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, in));
	for (size_t i = 0; i < 2 * COUNT; i++) {
		bool wild = i >= COUNT, admitted = wild || guards[i % COUNT].admitted;
		if (am_target())
			set_guard(i % COUNT, wild);
		barrier();
		if (am_initiator())
			CHECK_OK(PtlPut(source(1), PTL_NO_ACK_REQ, target_id(), INDEX, 1, BITS, 0, i));
		if (am_target() && admitted)
			CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, i);
		else if (am_target())
			await_drops(++refused);
		barrier();
	}
	if (am_target())
		CHECK_EQUAL(drops(), refused);
	CHECK_EMPTY(in);
}

static void every_access_control_entry_admits_our_own_user_at_first(void)
{
	ptl_handle_eq_t in = new_eq(32);
	if (am_target())
		open_window(BITS, md_over(area, 64, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	for (ptl_ac_index_t i = 0; i < 8; i++) {
		if (am_initiator())
			CHECK_OK(PtlPut(source(1), PTL_NO_ACK_REQ, target_id(), INDEX, i, BITS, 0, i));
		if (am_target())
			CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, i);
	}
	barrier();
}

static void acks_and_replies_pass_a_closed_access_control_table(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	static char bytes[8], buffer[8];
	if (am_target())
		open_window(BITS,
			    md_over(buffer, 8, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator())
		for (ptl_ac_index_t i = 0; i < 8; i++)
			CHECK_OK(PtlACEntry(ni, i, (ptl_process_id_t){0, 0}, 0, 0, 0));
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, 8, QUIET, eq));
		put(md, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_ACK);
		ptl_handle_md_t get_md = bind_md(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));
		get(get_md, BITS);
		take(eq, PTL_EVENT_REPLY_END);
	}
	barrier();
}

const struct test drop_tests[] = {
	PAIR(requests_nobody_takes_are_dropped_and_counted),
	PAIR(dropped_lengths_are_added_up),
	PAIR(a_dropped_long_put_ends_and_is_not_acknowledged),
	PAIR(dropped_getputs_and_gets_leave_their_descriptors_free),
	TWO(a_reply_for_an_unlinked_descriptor_is_dropped_and_counted),
	PAIR(access_control_admits_only_who_fits_every_field),
	PAIR(every_access_control_entry_admits_our_own_user_at_first),
	TWO(acks_and_replies_pass_a_closed_access_control_table),
	{0},
};
