/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user-level driver of Lustre: <portals/p30.h>, `unlinked` in its events, codes that only it knows.  It
 * posts buffers that unlink themselves, and frees what is unlinked.
 */
#include <string.h>

#include "tests/behaviour/clients/clients.h"
#include "tests/behaviour/clients/lustre.h"

#define PTL_EVENT_UNLINKED
#include <portals/p30.h>

enum { MESSAGES = 12, BUFFER = 256 };

static const char *word_for(int code)
{
	switch (code) {
	case PTL_OK:
		return "ok";
	case PTL_IFACE_DUP:
	case PTL_EQ_IN_USE:
	case PTL_VAL_FAILED:
	case PTL_PID_IN_USE:
	case PTL_NAL_FAILED:
	case PTL_NOT_IMPLEMENTED:
	case PTL_NO_ACK:
	case PTL_AGAIN:
	case PTL_INV_EQ_SIZE:
		return "Lustre's";
	default:
		return "Portals'";
	}
}

static void its_codes_are_not_ours(void)
{
	CHECK_STRING(word_for(PTL_AGAIN), "Lustre's");
	for (int code = PTL_OK + 1; code <= PTL_UNKNOWN_ERROR; code++)
		CHECK_STRING(word_for(code), "Portals'");
	CHECK_STRING(PtlErrorStr(PTL_AGAIN), "PTL_UNKNOWN_ERROR");
	CHECK_EQUAL(PTL_MD_MAX_IOV, limits_in_force().max_md_iovecs);
}

static ptl_event_t poisoned(void)
{
	ptl_event_t event;
	memset(&event, 0xa5, sizeof(event));
	return event;
}

/* A put into a buffer that takes one: three events, of which the last says that the buffer is free. */
static void fill_buffer(ptl_handle_eq_t eq, ptl_handle_md_t source)
{
	static char buffer[BUFFER];
	open_mortal_window(BITS, with_threshold(md_over(buffer, BUFFER, PTL_MD_OP_PUT, eq), 1));
	CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 0));
}

static ptl_event_t next(ptl_handle_eq_t eq, int how)
{
	ptl_event_t event = poisoned(), peeked = poisoned();
	int which, code = PTL_EQ_EMPTY;
	while (PtlEQPeek(eq, &peeked) == PTL_EQ_EMPTY)
		CHECK_OK(PtlProgress(eq, 0));
	switch (how) {
	case 0:
		code = PtlEQGet(eq, &event);
		break;
	case 1:
		code = PtlEQWait(eq, &event);
		break;
	default:
		code = PtlEQPoll(&eq, 1, PATIENCE, &event, &which);
	}
	CHECK_OK(code);
	CHECK_EQUAL(peeked.type, event.type);
	CHECK_EQUAL(peeked.unlinked, event.unlinked);
	return event;
}

static void the_event_that_unlinks_says_so(void)
{
	static char bytes[BUFFER];
	ptl_handle_eq_t eq = new_eq(64);
	ptl_handle_md_t source = bind_md(md_over(bytes, BUFFER, QUIET, PTL_EQ_NONE));
	for (int i = 0; i < MESSAGES; i++) {
		fill_buffer(eq, source);
		ptl_event_t start = next(eq, i % 3), end = next(eq, i % 3), unlink = next(eq, i % 3);
		CHECK_EQUAL(start.type, PTL_EVENT_PUT_START);
		CHECK_EQUAL(end.type, PTL_EVENT_PUT_END);
		CHECK_EQUAL(unlink.type, PTL_EVENT_UNLINK);
		CHECK_EQUAL(start.unlinked, 0);
		CHECK_EQUAL(end.unlinked, 0);
		CHECK_EQUAL(unlink.unlinked, 1);
		CHECK_EQUAL(end.mlength, BUFFER);
		CHECK_EQUAL(unlink.link, end.link);
	}
}

static void an_empty_queue_says_nothing_of_unlinking(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_event_t event = poisoned();
	const int before = event.unlinked;
	int which;
	CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	CHECK_RC(PtlEQPeek(eq, &event), PTL_EQ_EMPTY);
	CHECK_RC(PtlEQPoll(&eq, 1, 1, &event, &which), PTL_EQ_EMPTY);
	CHECK_EQUAL(event.unlinked, before);
	CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
}

/* One event is taken here, the next by a file that was compiled without. */
static void files_with_and_without_the_field_share_a_queue(void)
{
	static char bytes[BUFFER];
	ptl_handle_eq_t eq = new_eq(64);
	ptl_handle_md_t source = bind_md(md_over(bytes, BUFFER, QUIET, PTL_EQ_NONE));
	CHECK(sizeof(ptl_event_t) >= plain_event_size());
	CHECK(offsetof(ptl_event_t, unlinked) + sizeof(int) <= sizeof(ptl_event_t));
	for (int i = 0; i < MESSAGES; i++) {
		fill_buffer(eq, source);
		if (i % 2)
			CHECK_EQUAL(next(eq, 0).type, PTL_EVENT_PUT_START);
		else
			CHECK_EQUAL(plain_take(eq), PTL_EVENT_PUT_START);
		if (i % 2)
			CHECK_EQUAL(plain_take(eq), PTL_EVENT_PUT_END);
		else
			CHECK_EQUAL(next(eq, 1).type, PTL_EVENT_PUT_END);
		CHECK_EQUAL(next(eq, 2).unlinked, 1);
	}
}

const struct test lustre_tests[] = {
	ALONE(its_codes_are_not_ours),
	ALONE(the_event_that_unlinks_says_so),
	ALONE(an_empty_queue_says_nothing_of_unlinking),
	ALONE(files_with_and_without_the_field_share_a_queue),
	{0},
};
