/* SPDX-License-Identifier: BSD-3-Clause */
/* 1 Types, constants, registers. */
#define PTL_IFACE_DEFAULT (0u) /* as a program that has included the header of a network layer first */
#include "tests/conformance/codes.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <stddef.h>
#include <string.h>

#define ALL_PUT      (PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct row rows[] = {
	{"1.1/1", "ptl_size_t is an unsigned integer of 64 bits"},
	{"1.1/2", "a handle of every kind converts to ptl_handle_any_t and back without loss"},
	{"1.1/3", "handles are integers: compared with ==, cast to other integers, initialised statically"},
	{"1.1/4", "every kind of object has its handle type, and a variable of one can hold a handle of another"},
	{"1.1/5", "a handle alone tells the interface its object belongs to"},
	{"1.1/6", "ptl_pt_index_t and ptl_ac_index_t are integers"},
	{"1.1/7", "ptl_match_bits_t holds any unsigned number of 64 bits; ~0 given as an int means all ones"},
	{"1.1/8", "ptl_hdr_data_t is a word of 64 bits whose eight bytes arrive as they were"},
	{"1.1/9", "ptl_interface_t is an integer and survives being kept in an int"},
	{"1.1/10", "ptl_nid_t, ptl_pid_t, ptl_uid_t and ptl_jid_t are integers; a nid and a pid have 32 bits"},
	{"1.1/11", "ptl_sr_index_t is an integer"},
	{"1.1/12", "ptl_sr_value_t is a signed integer of at least 32 bits"},
	{"1.1/13", "ptl_ni_fail_t is an integer, comparable with PTL_NI_OK and with 0"},
	{"1.1/14", "ptl_seq_t is an integer"},
	{"1.1/15", "ptl_time_t is an integer and counts milliseconds"},
	{"1.1/16", "PTL_TIME_FOREVER kept in an int and passed back is PTL_TIME_FOREVER again"},
	{"1.1/17", "ptl_eq_handler_t is a function that takes a ptl_event_t * and returns nothing; plain NULL will do"},
	{"1.2/1", "ptl_unlink_t has the values PTL_RETAIN and PTL_UNLINK"},
	{"1.2/2", "ptl_ins_pos_t has the values PTL_INS_BEFORE and PTL_INS_AFTER"},
	{"1.2/3", "ptl_ack_req_t has the values PTL_ACK_REQ and PTL_NO_ACK_REQ; PTL_NOACK_REQ is a name of the latter"},
	{"1.2/4", "ptl_event_kind_t has 12 kinds numbered from 0 without gaps: they index arrays"},
	{"1.2/5", "no event kind means failure: an END or ACK whose ni_fail_type is not PTL_NI_OK does"},
	{"1.3/1", "ptl_process_id_t is nid and pid, in this order"},
	{"1.3/2",
	 "ptl_ni_limits_t is eight ints: max_mes, max_mds, max_eqs, max_ac_index, max_pt_index, max_md_iovecs, "
	 "max_me_list, max_getput_md"},
	{"1.3/3", "max_mes, max_mds and max_eqs count objects that exist at the same time"},
	{"1.3/4", "max_ac_index and max_pt_index are the largest valid indexes themselves"},
	{"1.3/5", "max_md_iovecs bounds the elements of a descriptor, max_me_list the entries under one index, "
		  "max_getput_md the bytes of a getput"},
	{"1.3/6", "ptl_md_t is start, length, threshold, max_size, options, user_ptr and eq_handle, in this order"},
	{"1.3/7", "start may be NULL if the length is 0"},
	{"1.3/8", "length counts bytes, with PTL_MD_IOVEC the elements of the array that start points to"},
	{"1.3/9", "threshold counts the operations left: 0 is inactive, PTL_MD_THRESH_INF never runs out"},
	{"1.3/10", "max_size is looked at with PTL_MD_MAX_SIZE only"},
	{"1.3/11", "user_ptr is the program's and comes back in the md of every event"},
	{"1.3/12", "eq_handle is an event queue or PTL_EQ_NONE"},
	{"1.3/13", "ptl_md_iovec_t is iov_base and iov_len, a ptl_size_t"},
	{"1.3/14", "ptl_event_t has its 15 members in the order of the specification, sequence, a volatile, last"},
	{"1.3/15",
	 "an event tells the initiator, its user and job, the portal index, the match bits and the user word"},
	{"1.3/16",
	 "an event tells the bytes requested, the bytes moved and the displacement inside its own descriptor"},
	{"1.3/17", "md_handle names the descriptor and md is its state just after the event"},
	{"1.3/18", "link is equal in START, END and UNLINK of one operation"},
	{"1.3/19", "sequence is different in every event of a queue"},
	{"1.4/1", "PTL_INVALID_HANDLE is a constant expression and never a live handle"},
	{"1.4/2", "PTL_HANDLE_NONE means no handle: it is never a live one, nor PTL_INVALID_HANDLE"},
	{"1.4/3", "PTL_EQ_NONE as a descriptor's queue logs nothing, as the queue of PtlMDUpdate tests nothing"},
	{"1.4/4", "PTL_EQ_HANDLER_NONE means no handler and is NULL"},
	{"1.4/5", "the wildcards PTL_NID_ANY, PTL_PID_ANY, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY are all ones"},
	{"1.4/6", "PTL_JID_NONE is the job id of a process without a job"},
	{"1.4/7", "PTL_MD_THRESH_INF is the int -1"},
	{"1.4/8", "PTL_TIME_FOREVER is (ptl_time_t)-1"},
	{"1.4/9", "PTL_NI_OK is 0"},
	{"1.4/10", "PTL_NI_FAIL is 1"},
	{"1.4/11", "PTL_IFACE_DEFAULT names the default interface; a definition made before this header stays"},
	{"1.5/1", "the options are bits of their own with the values 0x1 to 0x100"},
	{"1.5/2", "PTL_MD_OP_PUT makes a descriptor accept puts; without it they are rejected"},
	{"1.5/3",
	 "PTL_MD_OP_GET makes a descriptor accept gets, without it they are rejected; a getput needs both bits"},
	{"1.5/4", "with PTL_MD_MANAGE_REMOTE the request's offset is used, otherwise the descriptor's own"},
	{"1.5/5", "with PTL_MD_TRUNCATE a request that is too long is shortened, otherwise rejected"},
	{"1.5/6", "with PTL_MD_ACK_DISABLE no put that lands in the descriptor is acknowledged"},
	{"1.5/7", "a PTL_MD_IOVEC descriptor behaves as one contiguous region of the summed length"},
	{"1.5/8", "with PTL_MD_MAX_SIZE a descriptor is inactive when fewer than max_size bytes are left"},
	{"1.5/9", "PTL_MD_EVENT_START_DISABLE suppresses START events and nothing else"},
	{"1.5/10", "PTL_MD_EVENT_END_DISABLE suppresses END events and nothing else"},
	{"1.5/11", "bits that mean nothing here are ignored, those that other implementations name among them"},
	{"1.6/1", "the return codes are distinct integer constant expressions that index ptl_err_str"},
	{"1.6/2", "PTL_OK is 0 and means success"},
	{"1.6/3", "PTL_AC_INDEX_INVALID: access control index out of range"},
	{"1.6/4", "PTL_EQ_DROPPED: an event is returned, and at least one before it was lost"},
	{"1.6/5", "PTL_EQ_EMPTY: there is no event"},
	{"1.6/6", "PTL_EQ_INVALID: not an event queue"},
	{"1.6/7", "PTL_FAIL: initialisation failed"},
	{"1.6/8", "PTL_HANDLE_INVALID: not a handle of any kind"},
	{"1.6/9", "PTL_IFACE_INVALID: unknown interface"},
	{"1.6/10", "PTL_MD_ILLEGAL: illegal descriptor, bytes outside its region, or a queue of another interface"},
	{"1.6/11", "PTL_MD_INVALID: not a descriptor"},
	{"1.6/12", "PTL_MD_IN_USE: operations are pending on the descriptor, it cannot be unlinked"},
	{"1.6/13", "PTL_MD_NO_UPDATE: the test queue was not empty"},
	{"1.6/14", "PTL_ME_INVALID: not a match entry"},
	{"1.6/15", "PTL_ME_IN_USE: the match entry has a descriptor already, or operations are pending on that"},
	{"1.6/16", "PTL_ME_LIST_TOO_LONG: the list has max_me_list entries"},
	{"1.6/17", "PTL_NI_INVALID: not an interface"},
	{"1.6/18", "PTL_NO_INIT: the library is not initialised"},
	{"1.6/19", "PTL_NO_SPACE: no memory or no object left"},
	{"1.6/20", "PTL_PID_INVALID: the process id is not to be had"},
	{"1.6/21", "PTL_PROCESS_INVALID: not the id of a process"},
	{"1.6/22", "PTL_PT_FULL: no portal table entry is free"},
	{"1.6/23", "PTL_PT_INDEX_INVALID: portal table index out of range"},
	{"1.6/24", "PTL_SEGV: NULL where there must be a pointer"},
	{"1.6/25", "PTL_SR_INDEX_INVALID: no such status register"},
	{"1.6/26", "PTL_UNKNOWN_ERROR is one more distinct constant"},
	{"1.6/27", "PTL_IFACE_DUP is left to the programs that define it"},
	{"1.7/1", "register 0 is PTL_SR_DROP_COUNT, the messages that came for this interface and were dropped"},
	{"1.7/2",
	 "PTL_SR_DROP_LENGTH, _RECV_COUNT, _RECV_LENGTH, _SEND_COUNT and _SEND_LENGTH are 1 to 5 and count that"},
	{"1.7/3", "PTL_SR_MLIST_LEN(pt) is the present, PTL_SR_MLIST_MAX(pt) the greatest length of a match list"},
	{"1.7/4", "there are no registers but those named PTL_SR_*"},
	{0},
};

/* ---- Promises that the compiler checks ---- */

#define PROMISE(condition)   _Static_assert(condition, #condition)
#define IS(type, other)      __builtin_types_compatible_p(type, other)
#define INTEGER(type)        ((type)1.5 == (type)1)
#define UNSIGNED(type)       ((type)-1 > (type)0)
#define AFTER(type, a, b)    PROMISE(offsetof(type, a) < offsetof(type, b))
#define MEMBER(type, member) __typeof__(((type *)0)->member)

PROMISE(INTEGER(ptl_size_t) && UNSIGNED(ptl_size_t) && sizeof(ptl_size_t) == 8);
PROMISE(INTEGER(ptl_handle_any_t) && INTEGER(ptl_handle_ni_t) && INTEGER(ptl_handle_me_t));
PROMISE(INTEGER(ptl_handle_md_t) && INTEGER(ptl_handle_eq_t));
PROMISE(sizeof(ptl_handle_any_t) >= sizeof(ptl_handle_ni_t) && sizeof(ptl_handle_any_t) >= sizeof(ptl_handle_me_t));
PROMISE(sizeof(ptl_handle_any_t) >= sizeof(ptl_handle_md_t) && sizeof(ptl_handle_any_t) >= sizeof(ptl_handle_eq_t));
PROMISE(INTEGER(ptl_pt_index_t) && INTEGER(ptl_ac_index_t));
PROMISE(INTEGER(ptl_match_bits_t) && UNSIGNED(ptl_match_bits_t) && sizeof(ptl_match_bits_t) == 8);
PROMISE(INTEGER(ptl_hdr_data_t) && sizeof(ptl_hdr_data_t) == 8);
PROMISE(INTEGER(ptl_interface_t));
PROMISE(INTEGER(ptl_nid_t) && IS(ptl_nid_t, unsigned) && INTEGER(ptl_pid_t) && IS(ptl_pid_t, unsigned));
PROMISE(sizeof(ptl_nid_t) == 4 && sizeof(ptl_pid_t) == 4);
PROMISE(INTEGER(ptl_uid_t) && INTEGER(ptl_jid_t));
PROMISE(INTEGER(ptl_sr_index_t));
PROMISE(INTEGER(ptl_sr_value_t) && !UNSIGNED(ptl_sr_value_t) && sizeof(ptl_sr_value_t) >= 4);
PROMISE(INTEGER(ptl_ni_fail_t) && INTEGER(ptl_seq_t) && INTEGER(ptl_time_t));
PROMISE(IS(ptl_eq_handler_t, void (*)(ptl_event_t *)));

PROMISE((int)PTL_RETAIN != (int)PTL_UNLINK && (int)PTL_INS_BEFORE != (int)PTL_INS_AFTER);
PROMISE((int)PTL_ACK_REQ != (int)PTL_NO_ACK_REQ && (int)PTL_NOACK_REQ == (int)PTL_NO_ACK_REQ);
/* Names that the specification does not have belong to the program. */
enum { PTL_EVENT_PUT_FAIL, PTL_EVENT_GET_FAIL, PTL_EVENT_REPLY_FAIL, PTL_EVENT_SEND_FAIL, PTL_IFACE_DUP };

AFTER(ptl_process_id_t, nid, pid);
PROMISE(IS(MEMBER(ptl_process_id_t, nid), ptl_nid_t) && IS(MEMBER(ptl_process_id_t, pid), ptl_pid_t));
PROMISE(sizeof(ptl_ni_limits_t) == 8 * sizeof(int));
PROMISE(IS(MEMBER(ptl_md_t, start), void *) && IS(MEMBER(ptl_md_t, length), ptl_size_t));
PROMISE(IS(MEMBER(ptl_md_t, threshold), int) && IS(MEMBER(ptl_md_t, max_size), ptl_size_t));
PROMISE(IS(MEMBER(ptl_md_t, options), unsigned int) && IS(MEMBER(ptl_md_t, user_ptr), void *));
PROMISE(IS(MEMBER(ptl_md_t, eq_handle), ptl_handle_eq_t));
PROMISE(IS(MEMBER(ptl_md_iovec_t, iov_base), void *) && IS(MEMBER(ptl_md_iovec_t, iov_len), ptl_size_t));
PROMISE(IS(MEMBER(ptl_event_t, type), ptl_event_kind_t) && IS(MEMBER(ptl_event_t, initiator), ptl_process_id_t));
PROMISE(IS(MEMBER(ptl_event_t, uid), ptl_uid_t) && IS(MEMBER(ptl_event_t, jid), ptl_jid_t));
PROMISE(IS(MEMBER(ptl_event_t, pt_index), ptl_pt_index_t) && IS(MEMBER(ptl_event_t, match_bits), ptl_match_bits_t));
PROMISE(IS(MEMBER(ptl_event_t, rlength), ptl_size_t) && IS(MEMBER(ptl_event_t, mlength), ptl_size_t));
PROMISE(IS(MEMBER(ptl_event_t, offset), ptl_size_t) && IS(MEMBER(ptl_event_t, md_handle), ptl_handle_md_t));
PROMISE(IS(MEMBER(ptl_event_t, md), ptl_md_t) && IS(MEMBER(ptl_event_t, hdr_data), ptl_hdr_data_t));
PROMISE(IS(MEMBER(ptl_event_t, link), ptl_seq_t) && IS(MEMBER(ptl_event_t, ni_fail_type), ptl_ni_fail_t));
PROMISE(IS(__typeof__(&((ptl_event_t *)0)->sequence), volatile ptl_seq_t *));

PROMISE(IS(__typeof__(PTL_MD_THRESH_INF), int) && PTL_MD_THRESH_INF == -1);
PROMISE(PTL_TIME_FOREVER == (ptl_time_t)-1);
PROMISE(PTL_NI_OK == 0 && PTL_NI_FAIL == 1);
PROMISE(PTL_NID_ANY == (ptl_nid_t)-1 && PTL_PID_ANY == (ptl_pid_t)-1 && PTL_UID_ANY == (ptl_uid_t)-1);
PROMISE(PTL_JID_ANY == (ptl_jid_t)-1 && PTL_PT_INDEX_ANY == (ptl_pt_index_t)-1 && PTL_JID_NONE != PTL_JID_ANY);
PROMISE(PTL_MD_OP_PUT == 0x001 && PTL_MD_OP_GET == 0x002 && PTL_MD_MANAGE_REMOTE == 0x004);
PROMISE(PTL_MD_TRUNCATE == 0x008 && PTL_MD_ACK_DISABLE == 0x010 && PTL_MD_IOVEC == 0x020);
PROMISE(PTL_MD_MAX_SIZE == 0x040 && PTL_MD_EVENT_START_DISABLE == 0x080 && PTL_MD_EVENT_END_DISABLE == 0x100);
PROMISE(PTL_OK == 0);
PROMISE(PTL_SR_DROP_COUNT == 0 && PTL_SR_DROP_LENGTH == 1 && PTL_SR_RECV_COUNT == 2);
PROMISE(PTL_SR_RECV_LENGTH == 3 && PTL_SR_SEND_COUNT == 4 && PTL_SR_SEND_LENGTH == 5);

/* ---- 1.1 Scalar types ---- */

static ptl_handle_ni_t static_ni = PTL_INVALID_HANDLE;
static ptl_handle_any_t static_any = PTL_HANDLE_NONE;
static ptl_handle_eq_t static_eq = PTL_EQ_NONE;

static void c1_1_handles_are_integers_of_one_size(void)
{
	ptl_handle_eq_t eq = new_eq(2);
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, 0, eq)), holds_eq = eq;
	ptl_handle_me_t me;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	const ptl_handle_any_t any[] = {ni, me, md, eq};
	CHECK((ptl_handle_ni_t)any[0] == ni && (ptl_handle_me_t)any[1] == me);
	CHECK((ptl_handle_md_t)any[2] == md && (ptl_handle_eq_t)any[3] == eq);
	CHECK((ptl_handle_eq_t)(int)eq == eq && (ptl_handle_md_t)(unsigned long)md == md);
	CHECK(static_ni == PTL_INVALID_HANDLE && static_any == PTL_HANDLE_NONE && static_eq == PTL_EQ_NONE);
	CHECK_EMPTY(holds_eq);
	for (size_t i = 0; i < COUNT(any); i++) {
		ptl_handle_ni_t owner = PTL_INVALID_HANDLE;
		CHECK_OK(PtlNIHandle(any[i], &owner));
		CHECK_EQUAL(owner, ni);
	}
}

static void c1_1_scalars_hold_what_programs_keep_in_them(void)
{
	int interface = PTL_IFACE_DEFAULT;
	ptl_ni_fail_t fine = PTL_NI_OK;
	ptl_handle_ni_t same;
	CHECK_OK(PtlNIInit((ptl_interface_t)interface, PTL_PID_ANY, NULL, NULL, &same));
	CHECK_EQUAL(same, ni);
	CHECK(fine == 0 && (ptl_size_t)-1 == UINT64_MAX && (ptl_sr_value_t)-1 < 0);
	CHECK((ptl_pt_index_t)63 == 63 && (ptl_ac_index_t)7 == 7 && (ptl_seq_t)1 == 1 && (ptl_sr_index_t)5 == 5);
	CHECK((ptl_uid_t)1000000 == 1000000 && (ptl_jid_t)1000000 == 1000000);
	ptl_process_id_t id;
	unsigned int *nid = &id.nid, *pid = &id.pid;
	CHECK_OK(PtlGetId(ni, &id));
	CHECK(*nid == id.nid && *pid == id.pid);
}

/* ~0 is an int: widened to 64 bits it must be all ones, in the bits of an entry as in those it ignores. */
static void c1_1_match_bits_and_user_word_have_64_bits(void)
{
	static const unsigned char word[8] = {0x01, 0x80, 0xff, 0x00, 0x7f, 0xa5, 0x5a, 0xfe};
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_hdr_data_t sent;
	memcpy(&sent, word, sizeof(sent));
	for (int i = 0; i < 2 && am_target(); i++) {
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, ~0, i ? ~0 : 0, PTL_RETAIN, PTL_INS_AFTER, &me));
		CHECK_OK(PtlMDAttach(me, md_over(NULL, 0, ALL_PUT, eq), PTL_RETAIN, &md));
	}
	barrier();
	if (am_initiator()) {
		md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, UINT64_MAX, 0, sent));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, UINT32_MAX, 0, sent));
	}
	if (am_target()) {
		ptl_event_t first = take(eq, PTL_EVENT_PUT_END), second = take(eq, PTL_EVENT_PUT_END);
		CHECK(first.match_bits == UINT64_MAX && second.match_bits == UINT32_MAX);
		CHECK(first.md_handle != second.md_handle);
		CHECK(memcmp(&first.hdr_data, word, sizeof(word)) == 0);
	}
	barrier();
}

/* Between the least and a thousandfold of it: a unit other than the millisecond is out of this range. */
static void c1_1_time_is_counted_in_milliseconds(void)
{
	ptl_handle_eq_t eq = new_eq(2);
	ptl_event_t event;
	int which, forever = (int)PTL_TIME_FOREVER;
	uint64_t start = now_ns();
	CHECK_RC(PtlEQPoll(&eq, 1, 30, &event, &which), PTL_EQ_EMPTY);
	CHECK_LESS(29999999, now_ns() - start);
	CHECK_LESS(now_ns() - start, 30000000000ll);
	CHECK((ptl_time_t)forever == PTL_TIME_FOREVER);
}

/* A put to ourselves, whose event goes to `eq`. */
static void put_into(ptl_handle_eq_t eq)
{
	struct window window = open_window(BITS, md_over(NULL, 0, ALL_PUT, eq));
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 0));
	take(eq, PTL_EVENT_PUT_END);
	close_window(window);
}

static int handled;

static void count_handled(ptl_event_t *event)
{
	handled += event->type == PTL_EVENT_PUT_END;
}

static void c1_1_a_handler_is_a_function_or_null(void)
{
	ptl_eq_handler_t handler = count_handled;
	ptl_handle_eq_t eq, plain, none;
	CHECK_OK(PtlEQAlloc(ni, 4, handler, &eq));
	CHECK_OK(PtlEQAlloc(ni, 4, NULL, &plain));
	CHECK_OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &none));
	CHECK(PTL_EQ_HANDLER_NONE == NULL);
	put_into(eq);
	CHECK_EQUAL(handled, 1);
	put_into(plain);
	put_into(none);
	CHECK_EQUAL(handled, 1);
}

/* ---- 1.2 Enumerations ---- */

/* Two kinds of one value, or one outside the array, would not compile. */
static void c1_2_event_kinds_index_an_array_of_twelve(void)
{
#define NAMED(kind) [kind] = #kind,
	static const char *const names[] = {EVENT_KINDS(NAMED)};
#undef NAMED
	_Static_assert(COUNT(names) == 12, "twelve kinds, from 0 without gaps");
	for (int kind = 0; kind < 12; kind++) {
		CHECK(names[kind] != NULL);
		CHECK_STRING(PtlEventKindStr((ptl_event_kind_t)kind), names[kind]);
		switch ((ptl_event_kind_t)kind) {
#define CASE_OF(name)                                                                                                  \
	case name:                                                                                                     \
		CHECK_STRING(#name, names[kind]);                                                                      \
		break;
			EVENT_KINDS(CASE_OF)
#undef CASE_OF
		}
	}
	CHECK_STRING(PtlEventKindStr((ptl_event_kind_t)12), "PTL_UNKNOWN_EVENT_KIND");
}

static void c1_2_unlinking_position_and_acknowledgement_have_two_values_each(void)
{
	static const ptl_unlink_t unlink[] = {PTL_RETAIN, PTL_UNLINK};
	static const ptl_ins_pos_t position[] = {PTL_INS_BEFORE, PTL_INS_AFTER};
	static const ptl_ack_req_t ack[] = {PTL_ACK_REQ, PTL_NO_ACK_REQ, PTL_NOACK_REQ};
	CHECK(unlink[0] != unlink[1]);
	CHECK(position[0] != position[1]);
	CHECK(ack[0] != ack[1] && ack[1] == ack[2]);
}

/* No process answers to this id, so the send ends in failure when the attempt to reach it has taken too long. */
static void c1_2_failure_is_told_by_ni_fail_type_not_by_the_kind(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, 0, eq));
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, nobody(), INDEX, 0, BITS, 0, 0));
	take(eq, PTL_EVENT_SEND_START);
	CHECK(take_failed(eq, PTL_EVENT_SEND_END).ni_fail_type != PTL_NI_OK);
	CHECK_EMPTY(eq);
}

/* ---- 1.3 Structures ---- */

static void c1_3_structures_may_be_initialised_by_position(void)
{
	ptl_process_id_t id = {PTL_NID_ANY - 1, PTL_PID_ANY};
	ptl_ni_limits_t limits = {1, 2, 3, 4, 5, 6, 7, 8};
	ptl_md_t md = {&id, 1, 2, 3, 4u, &md, PTL_EQ_NONE};
	ptl_md_iovec_t piece = {&id, 5};
	ptl_event_t event = {
		PTL_EVENT_ACK, {1, 2}, 3, 4, 5, 6, 7, 8, 9, 10, {NULL, 0, 11, 0, 0, NULL, 0}, 12, 13, 14, 15};
	CHECK(id.nid == PTL_NID_ANY - 1 && id.pid == PTL_PID_ANY);
	CHECK(limits.max_mes == 1 && limits.max_mds == 2 && limits.max_eqs == 3 && limits.max_ac_index == 4);
	CHECK(limits.max_pt_index == 5 && limits.max_md_iovecs == 6 && limits.max_me_list == 7);
	CHECK(limits.max_getput_md == 8);
	CHECK(md.start == &id && md.length == 1 && md.threshold == 2 && md.max_size == 3 && md.options == 4);
	CHECK(md.user_ptr == &md && md.eq_handle == PTL_EQ_NONE);
	CHECK(piece.iov_base == &id && piece.iov_len == 5);
	CHECK(event.type == PTL_EVENT_ACK && event.initiator.nid == 1 && event.initiator.pid == 2 && event.uid == 3);
	CHECK(event.jid == 4 && event.pt_index == 5 && event.match_bits == 6 && event.rlength == 7);
	CHECK(event.mlength == 8 && event.offset == 9 && event.md_handle == 10 && event.md.threshold == 11);
	CHECK(event.hdr_data == 12 && event.link == 13 && event.ni_fail_type == 14 && event.sequence == 15);
	_Static_assert(offsetof(ptl_event_t, sequence) > offsetof(ptl_event_t, ni_fail_type), "sequence is last");
}

static void check_told(const ptl_event_t *event, ptl_event_kind_t kind, const struct window *window, const ptl_md_t *md)
{
	CHECK_EQUAL(event->type, kind);
	CHECK_ID(event->initiator, initiator_id());
	CHECK_EQUAL(event->pt_index, INDEX);
	CHECK(event->match_bits == BITS && event->hdr_data == 0x0123456789abcdefu);
	CHECK(event->rlength == 12 && event->mlength == 8 && event->offset == 2);
	CHECK_EQUAL(event->md_handle, window->md);
	CHECK(event->md.start == md->start && event->md.length == 10 && event->md.max_size == 77);
	CHECK(event->md.options == md->options && event->md.user_ptr == md->user_ptr);
	CHECK_EQUAL(event->md.threshold, 0);
	CHECK_EQUAL(event->md.eq_handle, md->eq_handle);
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
}

/* A put of 12 bytes to offset 2 of 10, which uses the descriptor up. */
static void c1_3_events_tell_the_operation_and_the_state_of_the_descriptor(void)
{
	static char source[12], buffer[10];
	ptl_handle_eq_t eq = new_eq(8);
	ptl_md_t md = md_over(buffer, 10, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, eq);
	md.threshold = 1;
	md.max_size = 77; /* means nothing without PTL_MD_MAX_SIZE */
	md.user_ptr = source;
	struct window window = am_target() ? open_mortal_window(BITS, md) : (struct window){0};
	barrier();
	struct {
		ptl_uid_t uid;
		ptl_jid_t jid;
	} who[MAX_PROCESSES], mine;
	CHECK_OK(PtlGetUid(ni, &mine.uid));
	CHECK_OK(PtlGetJid(ni, &mine.jid));
	gather(&mine, sizeof(mine), who);
	if (am_initiator())
		put_word(bind_md(md_over(source, 12, QUIET, PTL_EQ_NONE)), PTL_NO_ACK_REQ, BITS, 2,
			 0x0123456789abcdefu);
	for (int i = 0; i < 3 && am_target(); i++) {
		static const ptl_event_kind_t kinds[] = {PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK};
		static ptl_event_t event[3];
		event[i] = take_any(eq);
		check_told(&event[i], kinds[i], &window, &md);
		CHECK_EQUAL(event[i].uid, who[0].uid);
		CHECK_EQUAL(event[i].jid, who[0].jid);
		CHECK_EQUAL(event[i].link, event[0].link);
		for (int earlier = 0; earlier < i; earlier++)
			CHECK(event[i].sequence != event[earlier].sequence);
	}
	barrier();
}

static void c1_3_an_empty_descriptor_needs_no_memory_and_pieces_are_counted(void)
{
	static char bytes[8];
	ptl_md_iovec_t pieces[] = {{bytes, 3}, {bytes + 3, 5}};
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t empty = bind_md(md_over(NULL, 0, PTL_MD_EVENT_START_DISABLE, eq));
	ptl_handle_md_t two = bind_md(md_over(pieces, 2, PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE, eq));
	ptl_handle_md_t plain = bind_md(md_over(bytes, 2, PTL_MD_EVENT_START_DISABLE, eq));
	const ptl_handle_md_t mds[] = {empty, two, plain};
	const ptl_size_t length[] = {0, 8, 2};
	for (size_t i = 0; i < COUNT(mds); i++) {
		CHECK_OK(PtlPut(mds[i], PTL_NO_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).rlength, length[i]);
	}
	await_drops(3);
}

static void c1_3_a_threshold_counts_operations_and_infinity_never_runs_out(void)
{
	ptl_handle_eq_t eq = new_eq(64);
	static const int thresholds[] = {0, 1, 3, PTL_MD_THRESH_INF};
	for (size_t i = 0; i < COUNT(thresholds); i++) {
		ptl_md_t md = with_threshold(md_over(NULL, 0, PTL_MD_EVENT_START_DISABLE, eq), thresholds[i]);
		ptl_handle_md_t handle = bind_md(md);
		int left = thresholds[i] == PTL_MD_THRESH_INF ? 20 : thresholds[i];
		for (int put = 0; put < left; put++) {
			CHECK_OK(PtlPut(handle, PTL_NO_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
			CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).md.threshold,
				    thresholds[i] == PTL_MD_THRESH_INF ? thresholds[i] : thresholds[i] - put - 1);
		}
		if (thresholds[i] != PTL_MD_THRESH_INF)
			CHECK_RC(PtlPut(handle, PTL_NO_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
		CHECK_OK(PtlMDUnlink(handle));
	}
	CHECK_EMPTY(eq);
	await_drops(24);
}

/* ---- 1.4 Special values ---- */

static void c1_4_special_handles_are_never_objects(void)
{
	static const ptl_handle_any_t special[] = {PTL_INVALID_HANDLE, PTL_HANDLE_NONE, PTL_EQ_NONE};
	ptl_event_t event;
	CHECK(special[0] != special[1] && special[1] != special[2] && special[0] != special[2]);
	for (size_t i = 0; i < COUNT(special); i++) {
		ptl_handle_ni_t owner;
		CHECK_RC(PtlNIHandle(special[i], &owner), PTL_HANDLE_INVALID);
		CHECK_RC(PtlMDUnlink(special[i]), PTL_MD_INVALID);
		CHECK_RC(PtlMEUnlink(special[i]), PTL_ME_INVALID);
		CHECK_RC(PtlEQGet(special[i], &event), PTL_EQ_INVALID);
		CHECK_RC(PtlNIFini(special[i]), PTL_NI_INVALID);
	}
}

static void c1_4_eq_none_logs_nothing_and_tests_nothing(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_md_t md = md_over(NULL, 0, PTL_MD_OP_PUT, PTL_EQ_NONE);
	open_door();
	open_window(BITS, md);
	struct window loud = open_window(BITS + 1, md_over(NULL, 0, ALL_PUT, eq));
	ptl_handle_md_t source = bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(source, PTL_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlPut(source, PTL_ACK_REQ, id_of[0], INDEX, 0, BITS + 1, 0, 0));
	ping(id_of[0]);
	/* The queue is not empty, but nothing is tested. */
	CHECK_OK(PtlMDUpdate(loud.md, NULL, &md, PTL_EQ_NONE));
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, loud.md);
	CHECK_EMPTY(eq);
	CHECK_EQUAL(drops(), 0);
}

/* All five at once, and as programs write them that do not use the names. */
static void c1_4_wildcards_fit_everything_and_are_all_ones(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_process_id_t everyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	CHECK_OK(PtlACEntry(ni, 1, everyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	CHECK_OK(PtlACEntry(ni, 2, everyone, (ptl_uid_t)-1, (ptl_jid_t)-1, (ptl_pt_index_t)-1));
	CHECK_OK(PtlMEAttach(ni, INDEX, everyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md_over(NULL, 0, ALL_PUT, eq), PTL_RETAIN, &md));
	barrier();
	for (ptl_ac_index_t entry = 1; entry <= 2 && am_initiator(); entry++) {
		ptl_handle_md_t source = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
		CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, target_id(), INDEX, entry, BITS, 0, entry));
	}
	for (ptl_ac_index_t entry = 1; entry <= 2 && am_target(); entry++)
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).hdr_data, entry);
	barrier();
	CHECK_EMPTY(eq);
}

static void c1_4_jid_none_is_no_job_and_no_wildcard(void)
{
	ptl_jid_t jid;
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK_EQUAL(jid, PTL_JID_NONE);
	CHECK(PTL_JID_NONE != PTL_JID_ANY);
}

#define TEXT_OF(x)  #x
#define TEXT(macro) TEXT_OF(macro)

static void c1_4_the_default_interface_can_be_named_by_a_network_layer(void)
{
	CHECK_STRING(TEXT(PTL_IFACE_DEFAULT), "(0u)"); /* the definition at the top of this file */
	ptl_handle_ni_t same;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &same));
	CHECK_EQUAL(same, ni);
}

/* ---- 1.5 Options ---- */

#define REFUSED UINT64_MAX

/* Two requests for 6 bytes at `remote`, into a region of 10: what each moves, and where. */
struct acceptance {
	unsigned options;
	enum request request;
	ptl_size_t remote, moved[2], offset[2];
};

static const struct acceptance acceptance[] = {
	{0, PUT, 0, {REFUSED, REFUSED}, {0, 0}},
	{PTL_MD_OP_GET, PUT, 0, {REFUSED, REFUSED}, {0, 0}},
	{PTL_MD_OP_PUT, PUT, 3, {6, REFUSED}, {0, 0}},
	{PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PUT, 3, {6, 4}, {0, 6}},
	{PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PUT, 4, {6, 6}, {4, 4}},
	{PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PUT, 5, {REFUSED, REFUSED}, {0, 0}},
	{PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, PUT, 5, {5, 5}, {5, 5}},
	{0, GET, 0, {REFUSED, REFUSED}, {0, 0}},
	{PTL_MD_OP_PUT, GET, 0, {REFUSED, REFUSED}, {0, 0}},
	{PTL_MD_OP_GET, GET, 3, {6, REFUSED}, {0, 0}},
	{PTL_MD_OP_GET | PTL_MD_TRUNCATE, GET, 3, {6, 4}, {0, 6}},
	{PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, GET, 4, {6, 6}, {4, 4}},
	{PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, GET, 5, {REFUSED, REFUSED}, {0, 0}},
	{PTL_MD_OP_PUT, GETPUT, 0, {REFUSED, REFUSED}, {0, 0}},
	{PTL_MD_OP_GET, GETPUT, 0, {REFUSED, REFUSED}, {0, 0}},
	{ANY_KIND, GETPUT, 3, {6, REFUSED}, {0, 0}},
	{ANY_KIND | PTL_MD_TRUNCATE, GETPUT, 3, {6, 4}, {0, 6}},
	{ANYWHERE, GETPUT, 4, {6, 6}, {4, 4}},
};

static void c1_5_options_decide_what_a_descriptor_accepts_and_where(void)
{
	static char region[10], bytes[6];
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t md = bind_md(md_over(bytes, 6, QUIET, PTL_EQ_NONE));
	int refused = 0;
	for (unsigned bits = 0; bits < COUNT(acceptance); bits++) {
		const struct acceptance *row = &acceptance[bits];
		if (am_target())
			open_window(bits, md_over(region, 10, row->options | PTL_MD_EVENT_START_DISABLE, eq));
		barrier();
		for (int i = 0; i < 2 && am_initiator(); i++)
			ask(row->request, md, bits, row->remote);
		for (int i = 0; i < 2 && am_target(); i++) {
			if (row->moved[i] == REFUSED) {
				refused++;
				continue;
			}
			ptl_event_t end = take(eq, request_kinds[row->request].end);
			CHECK(end.match_bits == bits && end.rlength == 6);
			CHECK_EQUAL(end.mlength, row->moved[i]);
			CHECK_EQUAL(end.offset, row->offset[i]);
		}
		if (am_target())
			await_drops(refused);
		barrier();
		CHECK_EMPTY(eq);
	}
}

static void c1_5_ack_disable_means_no_acknowledgement(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_door();
	if (am_target()) {
		open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE, PTL_EQ_NONE));
		open_window(BITS + 1, md_over(NULL, 0, PTL_MD_OP_PUT, PTL_EQ_NONE));
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, eq));
		put(md, PTL_ACK_REQ, BITS);
		put(md, PTL_ACK_REQ, BITS + 1);
		CHECK(take(eq, PTL_EVENT_ACK).match_bits == BITS + 1);
		ping(target_id());
		CHECK_EMPTY(eq);
	}
	barrier();
}

static void c1_5_pieces_behave_as_one_region(void)
{
	static char source[9] = "abcdefgh", area[12];
	ptl_md_iovec_t pieces[] = {{area + 6, 3}, {NULL, 0}, {area + 1, 4}, {area + 10, 1}};
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(pieces, 4, ALL_PUT | PTL_MD_IOVEC, eq));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(source, 8, QUIET, PTL_EQ_NONE));
		CHECK_OK(PtlPutRegion(md, 0, 5, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlPutRegion(md, 0, 4, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0)); /* too long */
		CHECK_OK(PtlPutRegion(md, 5, 3, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
	}
	if (am_target()) {
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).offset, 0);
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).offset, 5);
		CHECK(memcmp(area, "\0defg\0abc\0h", 12) == 0);
		CHECK_EQUAL(drops(), 1);
	}
	barrier();
}

/* 10 bytes, of which 6 and 1 are used: 4 left are max_size and enough, 3 are not. */
static void c1_5_max_size_ends_a_descriptor_only_with_its_bit(void)
{
	static char bytes[10];
	static const ptl_size_t used[] = {6, 1, 1};
	for (unsigned bit = 0; bit <= PTL_MD_MAX_SIZE; bit += PTL_MD_MAX_SIZE) {
		ptl_handle_eq_t eq = new_eq(8);
		ptl_md_t md = md_over(bytes, 10, ALL_PUT | bit, eq);
		md.max_size = 4;
		struct window window = open_window(BITS, md);
		ptl_handle_md_t source = bind_md(md_over(bytes, 10, QUIET, PTL_EQ_NONE));
		for (int i = 0; i < 3; i++)
			CHECK_OK(PtlPutRegion(source, 0, used[i], PTL_NO_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
		for (int i = 0; i < (bit ? 2 : 3); i++)
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).mlength, used[i]);
		await_drops(bit ? 1 : 0);
		CHECK_EMPTY(eq);
		close_window(window);
	}
}

static void c1_5_start_and_end_events_are_disabled_by_their_bits(void)
{
	ptl_handle_eq_t in = new_eq(8), out = new_eq(8);
	static const unsigned bits[] = {0, PTL_MD_EVENT_START_DISABLE, PTL_MD_EVENT_END_DISABLE, QUIET};
	open_door();
	for (size_t i = 0; i < COUNT(bits); i++) {
		struct window window = {0};
		if (am_target())
			window = open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | bits[i], in));
		barrier();
		if (am_initiator()) {
			ptl_handle_md_t md = bind_md(md_over(NULL, 0, bits[i], out));
			put(md, PTL_ACK_REQ, BITS);
			if (!(bits[i] & PTL_MD_EVENT_START_DISABLE))
				take(out, PTL_EVENT_SEND_START);
			if (!(bits[i] & PTL_MD_EVENT_END_DISABLE))
				take(out, PTL_EVENT_SEND_END);
			take(out, PTL_EVENT_ACK);
			ping(target_id());
		}
		barrier();
		if (am_target()) {
			if (!(bits[i] & PTL_MD_EVENT_START_DISABLE))
				take(in, PTL_EVENT_PUT_START);
			if (!(bits[i] & PTL_MD_EVENT_END_DISABLE))
				take(in, PTL_EVENT_PUT_END);
			close_window(window);
		}
		CHECK_EMPTY(in);
		CHECK_EMPTY(out);
	}
}

static void c1_5_other_bits_are_ignored(void)
{
	const unsigned named = PTL_MD_EVENT_AUTO_UNLINK_ENABLE | PTL_MD_EVENT_MANUAL_UNLINK_ENABLE |
			       PTL_MD_FLAG_AUTO_UNLINK | PTL_MD_LUSTRE_COMPLETION_SEMANTICS | PTL_MD_LOCAL_ALIGN8 |
			       PTL_MD_PHYS | PTL_MD_KIOV;
	const unsigned other[] = {named, ~(unsigned)0x1ff};
	static char source[6] = "bytes", buffer[6];
	ptl_handle_eq_t eq = new_eq(8);
	CHECK_EQUAL(named & 0x1ff, 0);
	for (size_t i = 0; i < COUNT(other); i++) {
		memset(buffer, 0, sizeof(buffer));
		struct window window = open_window(BITS, md_over(buffer, 6, PTL_MD_OP_PUT | other[i], eq));
		ptl_handle_md_t md = bind_md(md_over(source, 6, QUIET | other[i], PTL_EQ_NONE));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_PUT_START);
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md.options, PTL_MD_OP_PUT | other[i]);
		CHECK_STRING(buffer, "bytes");
		CHECK_EMPTY(eq);
		close_window(window);
	}
}

/* ---- 1.6 Return codes ---- */

/* Two codes of one value would not compile. */
static const char *code_in_words(int code)
{
	switch (code) {
#define CASE_OF(name)                                                                                                  \
	case name:                                                                                                     \
		return #name;
		RETURN_CODES(CASE_OF)
#undef CASE_OF
	}
	return "none";
}

static void c1_6_codes_are_distinct_constants_that_index_their_names(void)
{
#define IN_BRACES(name) name,
	static const int codes[] = {RETURN_CODES(IN_BRACES)};
#undef IN_BRACES
	for (size_t i = 0; i < COUNT(codes); i++)
		CHECK_STRING(ptl_err_str[codes[i]], code_in_words(codes[i]));
	CHECK_EQUAL(PTL_OK, 0);
}

#ifdef PTL_IFACE_DUP
#error PTL_IFACE_DUP is defined
#endif

static void c1_6_programs_define_iface_dup_themselves(void)
{
	CHECK_EQUAL(PTL_IFACE_DUP, 4); /* the enumerator above, which no header contradicts */
}

static void c1_6_codes_of_queues_and_indexes_say_what_they_mean(void)
{
	ptl_handle_eq_t eq = new_eq(2);
	ptl_event_t event;
	CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	CHECK_RC(PtlEQGet(ni, &event), PTL_EQ_INVALID);
	struct window window = open_window(BITS, md_over(NULL, 0, ALL_PUT, eq));
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
	open_door();
	for (int i = 0; i < 1000; i++)
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
	ping(id_of[0]);
	ptl_md_t fresh = md_over(NULL, 0, 0, PTL_EQ_NONE);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &fresh, eq), PTL_MD_NO_UPDATE);
	CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_DROPPED);
	CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
	CHECK_RC(PtlACEntry(ni, 100000, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY), PTL_AC_INDEX_INVALID);
}

static void c1_6_a_failed_initialisation_says_fail(void)
{
	int interfaces = -7;
	CHECK_RC(PtlInit(&interfaces), PTL_FAIL);
	CHECK_EQUAL(interfaces, -7);
}

/* ---- 1.7 Status registers ---- */

static void c1_7_registers_count_messages_and_bytes(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	char *bytes = memory(100);
	open_door();
	if (am_target())
		open_window(BITS, md_over(bytes, 100, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, 100, PTL_MD_EVENT_START_DISABLE, eq));
		const ptl_sr_value_t sent = status_register(PTL_SR_SEND_COUNT),
				     sent_bytes = status_register(PTL_SR_SEND_LENGTH);
		for (int i = 0; i < 3; i++) {
			put(md, PTL_ACK_REQ, BITS);
			take(eq, PTL_EVENT_SEND_END);
			take(eq, PTL_EVENT_ACK);
		}
		CHECK_EQUAL(status_register(PTL_SR_SEND_LENGTH) - sent_bytes, 300);
		CHECK_EQUAL(status_register(PTL_SR_SEND_COUNT) - sent, 3);
		CHECK_OK(PtlPutRegion(md, 0, 70, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS + 1, 0, 0));
		CHECK_OK(PtlGetRegion(md, 0, 7, target_id(), INDEX, 0, BITS + 1, 0));
		ping(target_id());
	}
	barrier();
	if (am_target()) {
		CHECK_EQUAL(status_register(PTL_SR_RECV_LENGTH), 300);
		CHECK_EQUAL(status_register(PTL_SR_DROP_COUNT), 2);
		CHECK_EQUAL(status_register(PTL_SR_DROP_LENGTH), 77);
		CHECK_LESS(3, status_register(PTL_SR_RECV_COUNT));
	}
}

static void c1_7_list_registers_tell_present_and_greatest_length(void)
{
	ptl_handle_me_t me[5];
	for (int i = 0; i < 5; i++)
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me[i]));
	for (int i = 0; i < 3; i++)
		CHECK_OK(PtlMEUnlink(me[i]));
	CHECK_EQUAL(status_register(PTL_SR_MLIST_LEN(INDEX)), 2);
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me[0]));
	CHECK_EQUAL(status_register(PTL_SR_MLIST_LEN(INDEX)), 3);
	CHECK_EQUAL(status_register(PTL_SR_MLIST_MAX(INDEX)), 5);
	CHECK_EQUAL(status_register(PTL_SR_MLIST_LEN(INDEX_SIDE)), 0);
	CHECK_EQUAL(status_register(PTL_SR_MLIST_MAX(INDEX_SIDE)), 0);
}

static void c1_7_other_registers_do_not_exist(void)
{
	ptl_sr_value_t value = -3;
	for (ptl_sr_index_t i = PTL_SR_SEND_LENGTH + 1; i < 100; i++)
		CHECK_RC(PtlNIStatus(ni, i, &value), PTL_SR_INDEX_INVALID);
	for (int bit = 7; bit < 32; bit++)
		if (1u << bit != PTL_SR_MLIST_LEN(0) && 1u << bit != PTL_SR_MLIST_MAX(0))
			CHECK_RC(PtlNIStatus(ni, 1u << bit, &value), PTL_SR_INDEX_INVALID);
	CHECK_EQUAL(value, -3);
}

static const struct test tests[] = {
	CASE_ALONE(c1_1_handles_are_integers_of_one_size, "1.1/2 1.1/3 1.1/4 1.1/5"),
	CASE_ALONE(c1_1_scalars_hold_what_programs_keep_in_them,
		   "1.1/1 1.1/6 1.1/9 1.1/10 1.1/11 1.1/12 1.1/13 1.1/14"),
	CASE_PAIR(c1_1_match_bits_and_user_word_have_64_bits, "1.1/7 1.1/8"),
	CASE_ALONE(c1_1_time_is_counted_in_milliseconds, "1.1/15 1.1/16 1.4/8"),
	CASE_ALONE(c1_1_a_handler_is_a_function_or_null, "1.1/17 1.4/4"),
	CASE_ALONE(c1_2_event_kinds_index_an_array_of_twelve, "1.2/4"),
	CASE_ALONE(c1_2_unlinking_position_and_acknowledgement_have_two_values_each, "1.2/1 1.2/2 1.2/3"),
	{.name = "c1_2_failure_is_told_by_ni_fail_type_not_by_the_kind",
	 .run = c1_2_failure_is_told_by_ni_fail_type_not_by_the_kind,
	 .proves = "1.2/5 1.1/13 1.4/9",
	 .processes = 1,
	 .environment = "PTL_CONNECT_TIMEOUT=100ms"},
	CASE_ALONE(c1_3_structures_may_be_initialised_by_position, "1.3/1 1.3/2 1.3/6 1.3/13 1.3/14"),
	CASE_PAIR(c1_3_events_tell_the_operation_and_the_state_of_the_descriptor,
		  "1.3/10 1.3/11 1.3/12 1.3/15 1.3/16 1.3/17 1.3/18 1.3/19"),
	CASE_ALONE(c1_3_an_empty_descriptor_needs_no_memory_and_pieces_are_counted, "1.3/7 1.3/8"),
	CASE_ALONE(c1_3_a_threshold_counts_operations_and_infinity_never_runs_out, "1.3/9 1.4/7"),
	CASE_ALONE(c1_4_special_handles_are_never_objects, "1.4/1 1.4/2"),
	CASE_ALONE(c1_4_eq_none_logs_nothing_and_tests_nothing, "1.4/3 1.3/12"),
	CASE_PAIR(c1_4_wildcards_fit_everything_and_are_all_ones, "1.4/5"),
	{.name = "c1_4_jid_none_is_no_job_and_no_wildcard",
	 .run = c1_4_jid_none_is_no_job_and_no_wildcard,
	 .proves = "1.4/6",
	 .processes = 1,
	 .environment = "PTL_MY_JID=0"},
	CASE_ALONE(c1_4_the_default_interface_can_be_named_by_a_network_layer, "1.4/11"),
	CASE_PAIR(c1_5_options_decide_what_a_descriptor_accepts_and_where, "1.5/1 1.5/2 1.5/3 1.5/4 1.5/5"),
	CASE_PAIR(c1_5_ack_disable_means_no_acknowledgement, "1.5/6"),
	CASE_PAIR(c1_5_pieces_behave_as_one_region, "1.5/7 1.3/8"),
	CASE_ALONE(c1_5_max_size_ends_a_descriptor_only_with_its_bit, "1.5/8 1.3/10"),
	CASE_PAIR(c1_5_start_and_end_events_are_disabled_by_their_bits, "1.5/9 1.5/10"),
	CASE_ALONE(c1_5_other_bits_are_ignored, "1.5/11"),
	CASE_ALONE(c1_6_codes_are_distinct_constants_that_index_their_names, "1.6/1 1.6/2 1.6/26 1.4/10"),
	CASE_ALONE(c1_6_programs_define_iface_dup_themselves, "1.6/27"),
	CASE_ALONE(c1_6_codes_of_queues_and_indexes_say_what_they_mean, "1.6/3 1.6/4 1.6/5 1.6/6 1.6/13"),
	{.name = "c1_6_a_failed_initialisation_says_fail",
	 .run = c1_6_a_failed_initialisation_says_fail,
	 .proves = "1.6/7",
	 .processes = 1,
	 .traits = TRAIT_BARE,
	 .environment = "PTL_PEER_TIMEOUT=soon"},
	CASE_PAIR(c1_7_registers_count_messages_and_bytes, "1.7/1 1.7/2"),
	CASE_ALONE(c1_7_list_registers_tell_present_and_greatest_length, "1.7/3"),
	CASE_ALONE(c1_7_other_registers_do_not_exist, "1.7/4"),
	{0},
};

const struct chapter declarations_chapter = {.title = "1 Types, constants, registers", .rows = rows, .tests = tests};
