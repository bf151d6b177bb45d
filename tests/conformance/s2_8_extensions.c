/* SPDX-License-Identifier: BSD-3-Clause */
/* 2.8 Extensions that programs use: names of codes, and posting a receive in one call. */
#include "tests/conformance/codes.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

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
	{"2.8/20",
	 "PtlMEMDPost: PTL_NO_SPACE without a free descriptor, PTL_ME_LIST_TOO_LONG if the list is full; the list and "
	 "its greatest length are as before"},
	{"2.8/21",
	 "of several faults PtlMEMDPost tells the base's, else the test queue's, else PTL_MD_NO_UPDATE, else another"},
	{0},
};

/* As GASNet declares it; others say const char.  Both must compile after portals3.h, which therefore is silent. */
extern char *ptl_event_str[];
/* As CCI declares it once more: the type must be the header's. */
extern const char *ptl_err_str[]; /* NOLINT(readability-redundant-declaration): that is the point */

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
	memcpy(&kind, &number, sizeof(kind));
	return PtlEventKindStr(kind);
}

static void c2_8_event_kinds_have_names(void)
{
#define CHECK_NAMES(kind)                                                                                              \
	CHECK_STRING(PtlEventKindStr(kind), #kind);                                                                    \
	CHECK_STRING(ptl_event_str[kind], #kind);
	EVENT_KINDS(CHECK_NAMES)
#undef CHECK_NAMES
	CHECK_STRING(name_of_kind(PTL_EVENT_UNLINK + 1), "PTL_UNKNOWN_EVENT_KIND");
	CHECK_STRING(name_of_kind(-1), "PTL_UNKNOWN_EVENT_KIND");
}

static void c2_8_failures_have_names_whatever_the_interface(void)
{
	open_interface(PTL_PID_ANY);
	const ptl_handle_ni_t live = ni, handles[] = {live, 0, PTL_INVALID_HANDLE, PTL_HANDLE_NONE, live};
	for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
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

/* For one message, in front of `base`. */
static int post_receive(ptl_handle_me_t base, ptl_md_t md, struct window *posted, ptl_handle_eq_t test_eq)
{
	return PtlMEMDPost(ni, base, anyone, BITS, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, &posted->me,
			   &posted->md, test_eq);
}

/* What a receiver keeps behind all its receives: takes everything and logs that it came. */
static struct window open_catch_all(ptl_handle_eq_t eq)
{
	return open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, eq));
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
			CHECK_OK(post_receive(catch_all.me, receive_of(buffer, LONG, eq), &posted, unexpected));
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

/* Of two messages the first uses the post up; the second finds it no more, whatever is left of it. */
static void c2_8_entry_and_descriptor_of_a_post_stay_or_go_as_each_was_told(void)
{
	static char byte;
	ptl_handle_eq_t unexpected = new_eq(8), eq = new_eq(8);
	const struct window catch_all = open_catch_all(unexpected);
	for (int round = 0; round < 4; round++) {
		const ptl_unlink_t me = round & 1 ? PTL_UNLINK : PTL_RETAIN, md = round & 2 ? PTL_UNLINK : PTL_RETAIN;
		struct window posted;
		CHECK_OK(PtlMEMDPost(ni, catch_all.me, anyone, BITS, 0, me, PTL_INS_BEFORE, receive_of(&byte, 1, eq),
				     md, &posted.me, &posted.md, unexpected));
		send_bytes(&byte, 1);
		take(eq, PTL_EVENT_PUT_END);
		if (md == PTL_UNLINK)
			take(eq, PTL_EVENT_UNLINK);
		send_bytes(&byte, 1);
		take(unexpected, PTL_EVENT_PUT_START);
		take(unexpected, PTL_EVENT_PUT_END);
		CHECK_EMPTY(eq);
		CHECK_EQUAL(list_length(INDEX), 1 + (me == PTL_RETAIN || md == PTL_RETAIN));
		CHECK_RC(PtlMDUnlink(posted.md), md == PTL_UNLINK ? PTL_MD_INVALID : PTL_OK);
		CHECK_EQUAL(list_length(INDEX), 1 + (me == PTL_RETAIN));
		CHECK_RC(PtlMEUnlink(posted.me), me == PTL_UNLINK ? PTL_ME_INVALID : PTL_OK);
	}
}

/* Five messages go down the list: head, what was posted before the base, the base, what was posted after it, the tail. */
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
	CHECK_OK(PtlMEMDPost(ni, base.me, anyone, BITS, 0, PTL_RETAIN, PTL_INS_BEFORE, md, PTL_RETAIN, &posted.me,
			     &posted.md, PTL_EQ_NONE));
	md.user_ptr = places[3];
	CHECK_OK(PtlMEMDPost(ni, base.me, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, md, PTL_RETAIN, &posted.me,
			     &posted.md, PTL_EQ_NONE));
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
	ping(target_id());
	for (ptl_event_kind_t kind = PTL_EVENT_PUT_START; kind <= PTL_EVENT_PUT_END; kind++) {
		CHECK_RC(post_receive(catch_all.me, md, &posted, unexpected), PTL_MD_NO_UPDATE);
		CHECK(posted.me == 4711 && posted.md == 4712);
		CHECK_EQUAL(list_length(INDEX), 1);
		take(unexpected, kind);
	}
	CHECK_OK(post_receive(catch_all.me, md, &posted, unexpected));
	CHECK_EQUAL(list_length(INDEX), 2);
	send_bytes(&byte, 1);
	take(eq, PTL_EVENT_PUT_END);
	CHECK_EMPTY(unexpected);
}

/*
 * Each put is on its way when the receive for it is posted: it may have come already.  In host mode it has not, because
 * nothing polls the transport between the two calls; so there it would be seen if the post let it in half-way.
 */
static void c2_8_a_message_on_its_way_is_unexpected_or_in_what_was_posted(void)
{
	static char byte;
	ptl_handle_eq_t unexpected = new_eq(8), eq = new_eq(8);
	const struct window catch_all = open_catch_all(unexpected);
	const ptl_handle_md_t md = bind_md(md_over(&byte, 1, QUIET, PTL_EQ_NONE));
	for (int i = 0; i < 100; i++) {
		struct window posted;
		put(md, PTL_NO_ACK_REQ, BITS);
		const int code = post_receive(catch_all.me, receive_of(&byte, 1, eq), &posted, unexpected);
		if (code == PTL_OK) {
			take(eq, PTL_EVENT_PUT_END);
			CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).md_handle, posted.md);
		} else {
			CHECK_RC(code, in_mode("host") ? PTL_OK : PTL_MD_NO_UPDATE);
			take(unexpected, PTL_EVENT_PUT_START);
			take(unexpected, PTL_EVENT_PUT_END);
		}
		CHECK_EMPTY(unexpected);
		CHECK_EMPTY(eq);
		CHECK_EQUAL(list_length(INDEX), 1);
	}
}

static void c2_8_a_post_without_a_test_queue_does_not_look(void)
{
	static char byte;
	ptl_handle_eq_t eq = new_eq(8);
	struct window catch_all = open_catch_all(eq), posted;
	ptl_md_t md = receive_of(&byte, 1, eq);
	open_door();
	send_bytes(&byte, 1);
	ping(target_id());
	CHECK_OK(post_receive(catch_all.me, md, &posted, PTL_EQ_NONE));
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
	CHECK_EQUAL(list_length(INDEX), 1);
	CHECK_OK(POST(ni, base.me, good, &made.me, &made.md, eq));
	PtlFini();
	CHECK_RC(POST(ni, base.me, good, &made.me, &made.md, eq), PTL_NO_INIT);
#undef POST
}

/* The test queue `busy` has an unread event; each call has more than one fault, until that is read. */
static void c2_8_a_post_tells_of_several_faults_the_first(void)
{
	static char byte;
	ptl_handle_eq_t busy = new_eq(8);
	struct window base = open_catch_all(busy), posted;
	const ptl_md_t good = receive_of(&byte, 1, busy), nowhere = receive_of(NULL, 1, busy),
		       deaf = receive_of(NULL, 1, PTL_INVALID_HANDLE);
	send_bytes(&byte, 1);
	take(busy, PTL_EVENT_PUT_START);
	open_door();
	ping(target_id()); /* the END is there */
	CHECK_RC(post_receive(PTL_INVALID_HANDLE, deaf, &posted, PTL_INVALID_HANDLE), PTL_ME_INVALID);
	CHECK_RC(post_receive(PTL_INVALID_HANDLE, deaf, &posted, busy), PTL_ME_INVALID);
	CHECK_RC(post_receive(base.me, deaf, &posted, PTL_INVALID_HANDLE), PTL_EQ_INVALID);
	CHECK_RC(post_receive(base.me, deaf, &posted, busy), PTL_MD_NO_UPDATE);
	CHECK_RC(post_receive(base.me, nowhere, &posted, busy), PTL_MD_NO_UPDATE);
	take(busy, PTL_EVENT_PUT_END);
	CHECK_RC(post_receive(base.me, nowhere, &posted, busy), PTL_MD_ILLEGAL);
	CHECK_OK(post_receive(base.me, good, &posted, busy));
}

/* Nothing is left of it: not in the list nor in its statistics, and the handles were not written. */
static void check_refused_for_room(ptl_handle_me_t base, ptl_md_t md, int code)
{
	const ptl_sr_value_t length = list_length(INDEX), greatest = status_register(PTL_SR_MLIST_MAX(INDEX));
	struct window posted = {4711, 4712};
	CHECK_RC(post_receive(base, md, &posted, PTL_EQ_NONE), code);
	CHECK(posted.me == 4711 && posted.md == 4712);
	CHECK_EQUAL(list_length(INDEX), length);
	CHECK_EQUAL(status_register(PTL_SR_MLIST_MAX(INDEX)), greatest);
}

static void c2_8_a_post_that_finds_no_descriptor_creates_no_entry(void)
{
	static char byte;
	ptl_handle_md_t last = PTL_INVALID_HANDLE;
	struct window catch_all = open_catch_all(PTL_EQ_NONE), posted;
	const ptl_md_t md = receive_of(&byte, 1, PTL_EQ_NONE);
	for (int i = 1; i < limits_in_force().max_mds; i++)
		last = bind_md(md);
	check_refused_for_room(catch_all.me, md, PTL_NO_SPACE);
	CHECK_OK(PtlMDUnlink(last));
	CHECK_OK(post_receive(catch_all.me, md, &posted, PTL_EQ_NONE));
	CHECK_EQUAL(list_length(INDEX), 2);
}

static void c2_8_a_post_into_a_full_list_is_refused_until_an_entry_goes(void)
{
	static char byte;
	ptl_handle_eq_t eq = new_eq(8);
	struct window catch_all = open_catch_all(PTL_EQ_NONE), posted;
	ptl_handle_me_t last = PTL_INVALID_HANDLE;
	const ptl_md_t md = receive_of(&byte, 1, eq);
	for (int i = 1; i < limits_in_force().max_me_list; i++)
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &last));
	check_refused_for_room(catch_all.me, md, PTL_ME_LIST_TOO_LONG);
	CHECK_OK(PtlMEUnlink(last));
	CHECK_OK(post_receive(catch_all.me, md, &posted, PTL_EQ_NONE));
	send_bytes(&byte, 1);
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, posted.md);
}

static const struct test tests[] = {
	CASE(c2_8_return_codes_have_names, "2.8/1 2.8/2 2.8/5 2.8/8", 1, TRAIT_BARE),
	CASE(c2_8_failures_have_names_whatever_the_interface, "2.8/3 2.8/4 2.8/5", 1, TRAIT_BARE),
	CASE(c2_8_event_kinds_have_names, "2.8/5 2.8/6 2.8/7 2.8/9", 1, TRAIT_BARE),
	CASE_PAIR(c2_8_a_post_is_an_entry_with_a_descriptor, "2.8/10 2.8/12"),
	CASE_ALONE(c2_8_entry_and_descriptor_of_a_post_stay_or_go_as_each_was_told, "2.8/12"),
	CASE_ALONE(c2_8_a_post_stands_just_before_or_just_after_its_base, "2.8/11"),
	CASE_ALONE(c2_8_a_post_is_refused_until_the_test_queue_is_empty, "2.8/13 2.8/15"),
	CASE_ALONE(c2_8_a_message_on_its_way_is_unexpected_or_in_what_was_posted, "2.8/17"),
	CASE_ALONE(c2_8_a_post_without_a_test_queue_does_not_look, "2.8/16"),
	CASE_ALONE(c2_8_a_post_with_bad_arguments_creates_nothing, "2.8/15 2.8/18 2.8/19"),
	CASE_ALONE(c2_8_a_post_tells_of_several_faults_the_first, "2.8/21"),
	CASE_MANY_CALLS(c2_8_a_post_that_finds_no_descriptor_creates_no_entry, "2.8/15 2.8/20", 0),
	CASE_MANY_CALLS(c2_8_a_post_into_a_full_list_is_refused_until_an_entry_goes, "2.8/15 2.8/20", 0),
	{0},
};

const struct chapter extensions_chapter = {.title = "2.8 Extensions that programs use", .rows = rows, .tests = tests};
