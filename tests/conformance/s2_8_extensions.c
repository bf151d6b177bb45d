/* SPDX-License-Identifier: BSD-3-Clause */
/* 2.8 Extensions that programs use: names of codes, and posting a receive in one call. */
#include "tests/conformance/codes.h"
#include "tests/conformance/conformance.h"

#include <limits.h>
#include <string.h>

static const struct row rows[] = {
	{"2.8/1", "PtlErrorStr names every return code as it is spelt, \"PTL_OK\" for instance"},
	{"2.8/2", "PtlErrorStr calls every other number \"PTL_UNKNOWN_ERROR\""},
	{"2.8/3", "PtlNIFailStr names every failure code as it is spelt: \"PTL_NI_OK\", \"PTL_NI_FAIL\", ..."},
	{"2.8/4", "PtlNIFailStr calls every other number \"PTL_NI_UNKNOWN_ERROR\"; it never returns NULL"},
	{"2.8/5",
	 "PtlNIFailStr is safe with a handle that is no interface, and before PtlInit, as the other names are"},
	{"2.8/6", "PtlEventKindStr names every event kind as it is spelt"},
	{"2.8/7", "PtlEventKindStr calls every other number \"PTL_UNKNOWN_EVENT_KIND\""},
	{"2.8/8",
	 "ptl_err_str[], declared by portals3.h as `extern const char *ptl_err_str[]`, is indexed by return code"},
	{"2.8/9", "ptl_event_str[], indexed by event kind, is exported but declared by no header: programs declare it"},
	{"2.8/10", "PtlMEMDPost inserts an entry beside `base` and attaches a descriptor: one call, two live handles"},
	{"2.8/11", "PtlMEMDPost puts the entry just before or just after `base`, in its list"},
	{"2.8/12",
	 "PtlMEMDPost takes unlink flags for entry and descriptor, which work as for PtlMEInsert, PtlMDAttach"},
	{"2.8/13", "PtlMEMDPost is refused with PTL_MD_NO_UPDATE while the test queue has unread events"},
	{"2.8/14",
	 "PtlMEMDPost is refused while an operation has matched that will still log its event on the test queue"},
	{"2.8/15", "a refused PtlMEMDPost has created nothing: no entry, no descriptor, no handles written"},
	{"2.8/16", "PtlMEMDPost with PTL_EQ_NONE for the test queue makes no test"},
	{"2.8/17",
	 "test and posting are one step: a message is found on the test queue or in what was posted, never in neither"},
	{"2.8/18", "PtlMEMDPost: PTL_NO_INIT, PTL_NI_INVALID, PTL_ME_INVALID (base), PTL_SEGV (either result is NULL)"},
	{"2.8/19",
	 "PtlMEMDPost: PTL_MD_ILLEGAL, PTL_EQ_INVALID (descriptor's or test queue) as PtlMDAttach and PtlMDUpdate"},
	{"2.8/20", "PtlMEMDPost: PTL_NO_SPACE when descriptors have run out; the list is as before"},
	{0},
};

/* As GASNet declares it; others say const char.  Both must compile after portals3.h, which therefore is silent. */
extern char *ptl_event_str[];
/* As CCI declares it once more: the type must be the header's. */
extern const char *ptl_err_str[]; /* NOLINT(readability-redundant-declaration): that is the point */

#define KINDS(X)                                                                                                       \
	X(PTL_EVENT_GET_START)                                                                                         \
	X(PTL_EVENT_GET_END)                                                                                           \
	X(PTL_EVENT_PUT_START)                                                                                         \
	X(PTL_EVENT_PUT_END)                                                                                           \
	X(PTL_EVENT_GETPUT_START)                                                                                      \
	X(PTL_EVENT_GETPUT_END)                                                                                        \
	X(PTL_EVENT_REPLY_START)                                                                                       \
	X(PTL_EVENT_REPLY_END)                                                                                         \
	X(PTL_EVENT_SEND_START)                                                                                        \
	X(PTL_EVENT_SEND_END)                                                                                          \
	X(PTL_EVENT_ACK)                                                                                               \
	X(PTL_EVENT_UNLINK)
#define FAILURES(X)                                                                                                    \
	X(PTL_NI_OK)                                                                                                   \
	X(PTL_NI_FAIL)                                                                                                 \
	X(PTL_NI_UNREACHABLE)                                                                                          \
	X(PTL_NI_PEER_DIED)                                                                                            \
	X(PTL_NI_SHUTDOWN)                                                                                             \
	X(PTL_NI_PROTOCOL)

/* Nothing of this needs the library to be initialised. */
static void c2_8_return_codes_have_names(void)
{
#define CHECK_NAMES(code)                                                                                              \
	CHECK_STRING(PtlErrorStr(code), #code);                                                                        \
	CHECK_STRING(ptl_err_str[code], #code);
	RETURN_CODES(CHECK_NAMES)
#undef CHECK_NAMES
	CHECK_STRING(PtlErrorStr(PTL_UNKNOWN_ERROR + 1), "PTL_UNKNOWN_ERROR");
	CHECK_STRING(PtlErrorStr(UINT_MAX), "PTL_UNKNOWN_ERROR");
}

/* Through memcpy: a value that the enumeration does not have, as an event read from uninitialised memory has it. */
static const char *name_of_kind(int number)
{
	ptl_event_kind_t kind;
	memcpy(&kind, &number, sizeof kind);
	return PtlEventKindStr(kind);
}

static void c2_8_event_kinds_have_names(void)
{
#define CHECK_NAMES(kind)                                                                                              \
	CHECK_STRING(PtlEventKindStr(kind), #kind);                                                                    \
	CHECK_STRING(ptl_event_str[kind], #kind);
	KINDS(CHECK_NAMES)
#undef CHECK_NAMES
	CHECK_STRING(name_of_kind(PTL_EVENT_UNLINK + 1), "PTL_UNKNOWN_EVENT_KIND");
	CHECK_STRING(name_of_kind(-1), "PTL_UNKNOWN_EVENT_KIND");
}

static void c2_8_failures_have_names_whatever_the_interface(void)
{
	open_interface(PTL_PID_ANY);
	const ptl_handle_ni_t live = ni, handles[] = {live, 0, PTL_INVALID_HANDLE, PTL_HANDLE_NONE, live};
	for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
		if (i == 4)
			PtlFini(); /* the live handle is dead now */
#define CHECK_NAME(code) CHECK_STRING(PtlNIFailStr(handles[i], code), #code);
		FAILURES(CHECK_NAME)
#undef CHECK_NAME
		CHECK_STRING(PtlNIFailStr(handles[i], PTL_NI_PROTOCOL + 1), "PTL_NI_UNKNOWN_ERROR");
		CHECK_STRING(PtlNIFailStr(handles[i], UINT_MAX), "PTL_NI_UNKNOWN_ERROR");
	}
}

/* ---- Posting ---- */

/* A receive for one message of at most `length` bytes, which logs its END and, if it is mortal, its UNLINK. */
static ptl_md_t receive_of(void *bytes, size_t length, ptl_handle_eq_t eq)
{
	return with_threshold(md_over(bytes, length, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq), 1);
}

static int post_at(ptl_handle_me_t base, ptl_ins_pos_t position, ptl_md_t md, ptl_unlink_t unlink,
		   struct window *posted, ptl_handle_eq_t test_eq)
{
	return PtlMEMDPost(ni, base, anyone, BITS, 0, unlink, position, md, unlink, &posted->me, &posted->md, test_eq);
}

/* What a receiver keeps behind all its receives: takes everything and logs that it came. */
static struct window open_catch_all(ptl_handle_eq_t eq)
{
	return open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, eq));
}

static ptl_sr_value_t list_length(void)
{
	ptl_sr_value_t length;
	CHECK_OK(PtlNIStatus(ni, PTL_SR_MLIST_LEN(INDEX), &length));
	return length;
}

static void send_bytes(const char *bytes, size_t length)
{
	put(bind_md(md_over((void *)bytes, length, QUIET, PTL_EQ_NONE)), PTL_NO_ACK_REQ, BITS);
}

static void c2_8_a_post_is_an_entry_with_a_descriptor(void)
{
	char *bytes = memory(LONG), *buffer = memory(LONG);
	ptl_handle_eq_t unexpected = new_eq(8), eq = new_eq(8);
	struct window catch_all = {0}, posted = {0};
	fill_pattern(bytes, LONG, 1);
	if (am_target())
		catch_all = open_catch_all(unexpected);
	for (int i = 0; i < 2; i++) {
		memset(buffer, 0, LONG);
		if (am_target())
			CHECK_OK(post_at(catch_all.me, PTL_INS_BEFORE, receive_of(buffer, LONG, eq), PTL_UNLINK,
					 &posted, unexpected));
		barrier();
		if (am_initiator())
			send_bytes(bytes, short_and_long[i]);
		if (am_target()) {
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, posted.md);
			CHECK_PATTERN(buffer, short_and_long[i], 1);
			CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).md_handle, posted.md);
			CHECK_RC(PtlMDUnlink(posted.md), PTL_MD_INVALID);
			CHECK_RC(PtlMEUnlink(posted.me), PTL_ME_INVALID);
			CHECK_EMPTY(unexpected);
		}
		barrier();
	}
}

static void c2_8_a_retained_post_stays_and_takes_nothing_more(void)
{
	static char byte;
	ptl_handle_eq_t unexpected = new_eq(8), eq = new_eq(8);
	struct window catch_all = open_catch_all(unexpected), posted;
	CHECK_OK(post_at(catch_all.me, PTL_INS_BEFORE, receive_of(&byte, 1, eq), PTL_RETAIN, &posted, unexpected));
	send_bytes(&byte, 1);
	take(eq, PTL_EVENT_PUT_END);
	send_bytes(&byte, 1);
	take(unexpected, PTL_EVENT_PUT_START);
	take(unexpected, PTL_EVENT_PUT_END);
	CHECK_EMPTY(eq);
	CHECK_EQUAL(list_length(), 2);
	CHECK_OK(PtlMDUnlink(posted.md));
	CHECK_EQUAL(list_length(), 2);
	CHECK_OK(PtlMEUnlink(posted.me));
}

/* Four messages go down the list: what was posted before the base, the base, what was posted after it, the tail. */
static void c2_8_a_post_stands_just_before_or_just_after_its_base(void)
{
	static char byte, *places[] = {"head", "before", "base", "after", "tail"};
	ptl_handle_eq_t eq = new_eq(8);
	ptl_md_t md = receive_of(&byte, 1, eq);
	struct window base, posted;
	md.user_ptr = places[0];
	open_window(BITS, md);
	md.user_ptr = places[2];
	base = open_window(BITS, md);
	md.user_ptr = places[4];
	open_window(BITS, md);
	md.user_ptr = places[1];
	CHECK_OK(post_at(base.me, PTL_INS_BEFORE, md, PTL_RETAIN, &posted, PTL_EQ_NONE));
	md.user_ptr = places[3];
	CHECK_OK(post_at(base.me, PTL_INS_AFTER, md, PTL_RETAIN, &posted, PTL_EQ_NONE));
	for (int i = 0; i < 5; i++) {
		send_bytes(&byte, 1);
		CHECK_STRING(take(eq, PTL_EVENT_PUT_END).md.user_ptr, places[i]);
	}
}

/* START and END of one message: while either is unread nothing is created. */
static void c2_8_a_post_is_refused_until_the_test_queue_is_empty(void)
{
	static char byte;
	ptl_handle_eq_t unexpected = new_eq(8), eq = new_eq(8);
	struct window catch_all = open_catch_all(unexpected), posted = {4711, 4712};
	ptl_md_t md = receive_of(&byte, 1, eq);
	open_door();
	send_bytes(&byte, 1);
	knock(target_id());
	for (ptl_event_kind_t kind = PTL_EVENT_PUT_START; kind <= PTL_EVENT_PUT_END; kind++) {
		CHECK_RC(post_at(catch_all.me, PTL_INS_BEFORE, md, PTL_UNLINK, &posted, unexpected), PTL_MD_NO_UPDATE);
		CHECK(posted.me == 4711 && posted.md == 4712);
		CHECK_EQUAL(list_length(), 1);
		take(unexpected, kind);
	}
	CHECK_OK(post_at(catch_all.me, PTL_INS_BEFORE, md, PTL_UNLINK, &posted, unexpected));
	CHECK_EQUAL(list_length(), 2);
	send_bytes(&byte, 1);
	take(eq, PTL_EVENT_PUT_END);
	CHECK_EMPTY(unexpected);
}

static void c2_8_a_post_without_a_test_queue_does_not_look(void)
{
	static char byte;
	ptl_handle_eq_t eq = new_eq(8);
	struct window catch_all = open_catch_all(eq), posted;
	ptl_md_t md = receive_of(&byte, 1, eq);
	open_door();
	send_bytes(&byte, 1);
	knock(target_id());
	CHECK_OK(post_at(catch_all.me, PTL_INS_BEFORE, md, PTL_UNLINK, &posted, PTL_EQ_NONE));
	take(eq, PTL_EVENT_PUT_START);
	take(eq, PTL_EVENT_PUT_END);
	send_bytes(&byte, 1);
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, posted.md);
}

static void c2_8_a_post_with_bad_arguments_creates_nothing(void)
{
	static char bytes[8];
	ptl_handle_eq_t eq = new_eq(8);
	struct window base = open_catch_all(eq), gone = open_catch_all(eq), made;
	const ptl_md_t good = receive_of(bytes, 8, eq), nowhere = receive_of(NULL, 8, eq),
		       deaf = receive_of(bytes, 8, PTL_INVALID_HANDLE), odd = receive_of(bytes, 8, base.me);
	close_window(gone);
#define POST(ni, base, md, me_handle, md_handle, eq)                                                                   \
	PtlMEMDPost(ni, base, anyone, BITS, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, me_handle, md_handle, eq)
	CHECK_RC(POST(ni, base.me, good, NULL, &made.md, eq), PTL_SEGV);
	CHECK_RC(POST(ni, base.me, good, &made.me, NULL, eq), PTL_SEGV);
	CHECK_RC(POST(PTL_INVALID_HANDLE, base.me, good, &made.me, &made.md, eq), PTL_NI_INVALID);
	CHECK_RC(POST(base.me, base.me, good, &made.me, &made.md, eq), PTL_NI_INVALID);
	CHECK_RC(POST(ni, PTL_INVALID_HANDLE, good, &made.me, &made.md, eq), PTL_ME_INVALID);
	CHECK_RC(POST(ni, base.md, good, &made.me, &made.md, eq), PTL_ME_INVALID);
	CHECK_RC(POST(ni, gone.me, good, &made.me, &made.md, eq), PTL_ME_INVALID);
	CHECK_RC(POST(ni, base.me, nowhere, &made.me, &made.md, eq), PTL_MD_ILLEGAL);
	CHECK_RC(POST(ni, base.me, deaf, &made.me, &made.md, eq), PTL_EQ_INVALID);
	CHECK_RC(POST(ni, base.me, odd, &made.me, &made.md, eq), PTL_EQ_INVALID);
	CHECK_RC(POST(ni, base.me, good, &made.me, &made.md, PTL_INVALID_HANDLE), PTL_EQ_INVALID);
	CHECK_RC(POST(ni, base.me, good, &made.me, &made.md, base.me), PTL_EQ_INVALID);
	CHECK_EQUAL(list_length(), 1);
	CHECK_OK(POST(ni, base.me, good, &made.me, &made.md, eq));
	PtlFini();
	CHECK_RC(POST(ni, base.me, good, &made.me, &made.md, eq), PTL_NO_INIT);
#undef POST
}

static void c2_8_a_post_that_finds_no_descriptor_creates_no_entry(void)
{
	static char byte;
	ptl_handle_md_t last = PTL_INVALID_HANDLE;
	struct window catch_all = open_catch_all(PTL_EQ_NONE), posted;
	const ptl_md_t md = receive_of(&byte, 1, PTL_EQ_NONE);
	for (int i = 1; i < limits_in_force().max_mds; i++)
		last = bind_md(md);
	CHECK_RC(post_at(catch_all.me, PTL_INS_BEFORE, md, PTL_UNLINK, &posted, PTL_EQ_NONE), PTL_NO_SPACE);
	CHECK_EQUAL(list_length(), 1);
	CHECK_OK(PtlMDUnlink(last));
	CHECK_OK(post_at(catch_all.me, PTL_INS_BEFORE, md, PTL_UNLINK, &posted, PTL_EQ_NONE));
	CHECK_EQUAL(list_length(), 2);
}

static const struct test tests[] = {
	CASE(c2_8_return_codes_have_names, "2.8/1 2.8/2 2.8/5 2.8/8", 1, TRAIT_BARE),
	CASE(c2_8_failures_have_names_whatever_the_interface, "2.8/3 2.8/4 2.8/5", 1, TRAIT_BARE),
	CASE(c2_8_event_kinds_have_names, "2.8/5 2.8/6 2.8/7 2.8/9", 1, TRAIT_BARE),
	CASE_PAIR(c2_8_a_post_is_an_entry_with_a_descriptor, "2.8/10 2.8/12"),
	CASE_ALONE(c2_8_a_retained_post_stays_and_takes_nothing_more, "2.8/12"),
	CASE_ALONE(c2_8_a_post_stands_just_before_or_just_after_its_base, "2.8/11"),
	CASE_ALONE(c2_8_a_post_is_refused_until_the_test_queue_is_empty, "2.8/13 2.8/15"),
	CASE_ALONE(c2_8_a_post_without_a_test_queue_does_not_look, "2.8/16"),
	CASE_ALONE(c2_8_a_post_with_bad_arguments_creates_nothing, "2.8/15 2.8/18 2.8/19"),
	{.name = "c2_8_a_post_that_finds_no_descriptor_creates_no_entry",
	 .run = c2_8_a_post_that_finds_no_descriptor_creates_no_entry,
	 .proves = "2.8/15 2.8/20",
	 .processes = 1,
	 .seconds = 120}, /* 65536 calls, each handed to the NIC thread in dedicated mode */
	{0},
};

const struct chapter extensions_chapter = {"2.8 Extensions that programs use", rows, tests};
