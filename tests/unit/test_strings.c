/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of codes and events, and what portals3.h promises to programs compiled against it: numbers and layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <portals3.h>
#include <string.h>
#include <sys/uio.h>

/* As old programs declare it. */
extern const char *ptl_event_str[];

struct row {
	unsigned number, value;
	const char *name;
};

#define ROW(number, name)                                                                                              \
	{                                                                                                              \
		number, name, #name                                                                                    \
	}
#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static const struct row errors[] = {
	ROW(0, PTL_OK),
	ROW(1, PTL_AC_INDEX_INVALID),
	ROW(2, PTL_EQ_DROPPED),
	ROW(3, PTL_EQ_EMPTY),
	ROW(4, PTL_EQ_INVALID),
	ROW(5, PTL_FAIL),
	ROW(6, PTL_HANDLE_INVALID),
	ROW(7, PTL_IFACE_INVALID),
	ROW(8, PTL_MD_ILLEGAL),
	ROW(9, PTL_MD_INVALID),
	ROW(10, PTL_MD_IN_USE),
	ROW(11, PTL_MD_NO_UPDATE),
	ROW(12, PTL_ME_INVALID),
	ROW(13, PTL_ME_IN_USE),
	ROW(14, PTL_ME_LIST_TOO_LONG),
	ROW(15, PTL_NI_INVALID),
	ROW(16, PTL_NO_INIT),
	ROW(17, PTL_NO_SPACE),
	ROW(18, PTL_PID_INVALID),
	ROW(19, PTL_PROCESS_INVALID),
	ROW(20, PTL_PT_FULL),
	ROW(21, PTL_PT_INDEX_INVALID),
	ROW(22, PTL_SEGV),
	ROW(23, PTL_SR_INDEX_INVALID),
	ROW(24, PTL_UNKNOWN_ERROR),
};

static const struct row kinds[] = {
	ROW(0, PTL_EVENT_GET_START),   ROW(1, PTL_EVENT_GET_END),      ROW(2, PTL_EVENT_PUT_START),
	ROW(3, PTL_EVENT_PUT_END),     ROW(4, PTL_EVENT_GETPUT_START), ROW(5, PTL_EVENT_GETPUT_END),
	ROW(6, PTL_EVENT_REPLY_START), ROW(7, PTL_EVENT_REPLY_END),    ROW(8, PTL_EVENT_SEND_START),
	ROW(9, PTL_EVENT_SEND_END),    ROW(10, PTL_EVENT_ACK),         ROW(11, PTL_EVENT_UNLINK),
};

static const struct row failures[] = {
	ROW(0, PTL_NI_OK),        ROW(1, PTL_NI_FAIL),     ROW(2, PTL_NI_UNREACHABLE),
	ROW(3, PTL_NI_PEER_DIED), ROW(4, PTL_NI_SHUTDOWN), ROW(5, PTL_NI_PROTOCOL),
};

static void return_codes_have_their_numbers_and_names(void **state)
{
	(void)state;
	for (const struct row *row = errors; row < errors + COUNT(errors); row++) {
		assert_int_equal(row->value, row->number);
		assert_string_equal(PtlErrorStr(row->number), row->name);
		assert_string_equal(ptl_err_str[row->number], row->name);
	}
	assert_string_equal(PtlErrorStr(25), "PTL_UNKNOWN_ERROR");
	assert_string_equal(PtlErrorStr(UINT_MAX), "PTL_UNKNOWN_ERROR");
}

static void event_kinds_have_their_numbers_and_names(void **state)
{
	(void)state;
	for (const struct row *row = kinds; row < kinds + COUNT(kinds); row++) {
		assert_int_equal(row->value, row->number);
		assert_string_equal(PtlEventKindStr((ptl_event_kind_t)row->number), row->name);
		assert_string_equal(ptl_event_str[row->number], row->name);
	}
}

/* Through memcpy: a value outside the enumeration, as an event read from uninitialised memory has it. */
static const char *name_of_kind(int number)
{
	ptl_event_kind_t kind;
	memcpy(&kind, &number, sizeof(kind));
	return PtlEventKindStr(kind);
}

static void numbers_that_are_no_event_kind_have_a_name_too(void **state)
{
	(void)state;
	assert_string_equal(name_of_kind(12), "PTL_UNKNOWN_EVENT_KIND");
	assert_string_equal(name_of_kind(-1), "PTL_UNKNOWN_EVENT_KIND");
	assert_string_equal(name_of_kind(INT_MIN), "PTL_UNKNOWN_EVENT_KIND");
}

static void failure_codes_have_names_whatever_the_interface(void **state)
{
	static const ptl_handle_ni_t handles[] = {0, PTL_INVALID_HANDLE, PTL_HANDLE_NONE, PTL_EQ_NONE};

	(void)state;
	for (size_t i = 0; i < COUNT(handles); i++) {
		for (const struct row *row = failures; row < failures + COUNT(failures); row++) {
			assert_int_equal(row->value, row->number);
			assert_string_equal(PtlNIFailStr(handles[i], row->number), row->name);
		}
		assert_string_equal(PtlNIFailStr(handles[i], 6), "PTL_NI_UNKNOWN_ERROR");
		assert_string_equal(PtlNIFailStr(handles[i], UINT32_MAX), "PTL_NI_UNKNOWN_ERROR");
	}
}

/* Initialisers without names, as programs write them, meet the fields they mean. */
static void structures_keep_the_order_of_their_fields(void **state)
{
	char byte;
	ptl_process_id_t id = {1, 2};
	ptl_ni_limits_t limits = {1, 2, 3, 4, 5, 6, 7, 8};
	ptl_md_t md = {&byte, 2, 3, 4, 5, &byte + 1, 7};
	ptl_md_iovec_t piece = {&byte, 2};
	ptl_event_t event = {PTL_EVENT_ACK, {1, 2}, 3, 4, 5, 6, 7, 8, 9, 10, {0}, 12, 13, 14, 15};

	(void)state;
	assert_true(id.nid == 1 && id.pid == 2);
	assert_true(limits.max_mes == 1 && limits.max_mds == 2 && limits.max_eqs == 3 && limits.max_ac_index == 4);
	assert_true(limits.max_pt_index == 5 && limits.max_md_iovecs == 6 && limits.max_me_list == 7);
	assert_true(limits.max_getput_md == 8);
	assert_true(md.start == &byte && md.length == 2 && md.threshold == 3 && md.max_size == 4 && md.options == 5);
	assert_true(md.user_ptr == &byte + 1 && md.eq_handle == 7);
	assert_true(piece.iov_base == &byte && piece.iov_len == 2);
	assert_true(event.type == PTL_EVENT_ACK && event.initiator.nid == 1 && event.initiator.pid == 2);
	assert_true(event.uid == 3 && event.jid == 4 && event.pt_index == 5 && event.match_bits == 6);
	assert_true(event.rlength == 7 && event.mlength == 8 && event.offset == 9 && event.md_handle == 10);
	assert_true(event.hdr_data == 12 && event.link == 13 && event.ni_fail_type == 14 && event.sequence == 15);
}

static void special_values_are_what_programs_have_compiled_in(void **state)
{
	/* Constant expressions: usable in static initialisers and in #if. */
	static ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
	/* Programs keep these in an int. */
	int forever = (int)PTL_TIME_FOREVER, every_bit = ~0;

	(void)state;
	assert_int_equal(ni, 0xffffffff);
	assert_int_equal(PTL_HANDLE_NONE, 0x7fffffff);
	assert_int_equal(PTL_EQ_NONE, 0xbfffffff);
	assert_int_equal((ptl_time_t)forever, PTL_TIME_FOREVER);
	assert_true((ptl_match_bits_t)every_bit == UINT64_MAX);
	assert_true(PTL_NID_ANY == (ptl_nid_t)-1 && PTL_PID_ANY == (ptl_pid_t)-1);
	assert_true(PTL_UID_ANY == (ptl_uid_t)-1 && PTL_JID_ANY == (ptl_jid_t)-1 && PTL_JID_NONE != PTL_JID_ANY);
	assert_true(PTL_PT_INDEX_ANY == (ptl_pt_index_t)-1 && PTL_MD_THRESH_INF == -1);
	assert_int_equal(PTL_NOACK_REQ, PTL_NO_ACK_REQ);
	assert_int_not_equal(PTL_ACK_REQ, PTL_NO_ACK_REQ);
	assert_null(PTL_EQ_HANDLER_NONE);
}

static void options_are_distinct_bits(void **state)
{
	static const struct row options[] = {
		ROW(0x001, PTL_MD_OP_PUT),
		ROW(0x002, PTL_MD_OP_GET),
		ROW(0x004, PTL_MD_MANAGE_REMOTE),
		ROW(0x008, PTL_MD_TRUNCATE),
		ROW(0x010, PTL_MD_ACK_DISABLE),
		ROW(0x020, PTL_MD_IOVEC),
		ROW(0x040, PTL_MD_MAX_SIZE),
		ROW(0x080, PTL_MD_EVENT_START_DISABLE),
		ROW(0x100, PTL_MD_EVENT_END_DISABLE),
	};
	unsigned others = PTL_MD_EVENT_AUTO_UNLINK_ENABLE | PTL_MD_EVENT_MANUAL_UNLINK_ENABLE |
			  PTL_MD_FLAG_AUTO_UNLINK | PTL_MD_LUSTRE_COMPLETION_SEMANTICS | PTL_MD_LOCAL_ALIGN8;

	(void)state;
	for (const struct row *row = options; row < options + COUNT(options); row++) {
		assert_int_equal(row->value, row->number);
		assert_int_equal(row->value & others, 0);
	}
}

static void match_list_registers_of_all_indexes_are_distinct(void **state)
{
	(void)state;
	for (int pt = 0; pt < 64; pt++) {
		assert_true(PTL_SR_MLIST_LEN(pt) > PTL_SR_SEND_LENGTH);
		assert_int_equal(PTL_SR_MLIST_LEN(pt) - PTL_SR_MLIST_LEN(0), pt);
		assert_int_equal(PTL_SR_MLIST_MAX(pt) - PTL_SR_MLIST_MAX(0), pt);
	}
	assert_true(PTL_SR_MLIST_LEN(63) < PTL_SR_MLIST_MAX(0));
}

static void versions_can_be_compared(void **state)
{
	(void)state;
	assert_int_equal(PtlLibraryVersion(), PTL_LIBRARY_VERSION);
	assert_true(PTL_LIBRARY_VERSION_NUMBER(0, 1, 999) < PTL_LIBRARY_VERSION_NUMBER(0, 2, 0));
	assert_true(PTL_LIBRARY_VERSION_NUMBER(0, 999, 0) < PTL_LIBRARY_VERSION_NUMBER(1, 0, 0));
}

/* Widths that programs rely on, and the layout the library itself relies on for PTL_MD_IOVEC. */
_Static_assert(sizeof(ptl_handle_any_t) == 4 && sizeof(ptl_nid_t) == 4 && sizeof(ptl_pid_t) == 4, "32 bits");
_Static_assert(sizeof(ptl_size_t) == 8 && sizeof(ptl_match_bits_t) == 8 && sizeof(ptl_hdr_data_t) == 8, "64 bits");
_Static_assert((ptl_sr_value_t)-1 < 0, "status registers are signed");
_Static_assert(sizeof(ptl_md_iovec_t) == sizeof(struct iovec) &&
		       offsetof(ptl_md_iovec_t, iov_base) == offsetof(struct iovec, iov_base) &&
		       offsetof(ptl_md_iovec_t, iov_len) == offsetof(struct iovec, iov_len),
	       "ptl_md_iovec_t is laid out as struct iovec");

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(return_codes_have_their_numbers_and_names),
		cmocka_unit_test(event_kinds_have_their_numbers_and_names),
		cmocka_unit_test(numbers_that_are_no_event_kind_have_a_name_too),
		cmocka_unit_test(failure_codes_have_names_whatever_the_interface),
		cmocka_unit_test(structures_keep_the_order_of_their_fields),
		cmocka_unit_test(special_values_are_what_programs_have_compiled_in),
		cmocka_unit_test(options_are_distinct_bits),
		cmocka_unit_test(match_list_registers_of_all_indexes_are_distinct),
		cmocka_unit_test(versions_can_be_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
