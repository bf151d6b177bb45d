/* SPDX-License-Identifier: BSD-3-Clause */
/* PtlNicErrorText() tells what was wrong with the call that failed, not with an earlier one. */
#include "tests/behaviour/behaviour.h"

#include <p3rt/p3rt.h>
#include <string.h>

#define SAYS(call, code, expected)                                                                                     \
	do {                                                                                                           \
		CHECK_RC(call, code);                                                                                  \
		if (!strstr(PtlNicErrorText(), expected))                                                              \
			FAIL(#call ": \"%s\" does not say: %s", PtlNicErrorText(), expected);                          \
	} while (0)

static void a_wrong_handle_is_told_by_its_kind(void)
{
	char byte = 0;
	ptl_event_t event;
	ptl_handle_md_t md = bind_md(md_over(&byte, 1, 0, PTL_EQ_NONE)), other;
	ptl_handle_eq_t eq = new_eq(8);
	SAYS(PtlMDUnlink(eq), PTL_MD_INVALID, "is one of an event queue; memory descriptor wanted");
	SAYS(PtlEQGet(md, &event), PTL_EQ_INVALID, "is one of a memory descriptor; event queue wanted");
	SAYS(PtlMDBind(ni, (ptl_md_t){.start = &byte, .length = 1}, PTL_RETAIN, &other), PTL_EQ_INVALID,
	     "0x0 is a handle of nothing; event queue wanted");
	SAYS(PtlPut(PTL_INVALID_HANDLE, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID,
	     "0xffffffff is a handle of nothing; memory descriptor wanted");
	CHECK_OK(PtlMDUnlink(md));
	SAYS(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID,
	     "this memory descriptor is gone");
}

static void what_does_not_fit_is_told_with_its_limit(void)
{
	char bytes[300] = {0};
	ptl_handle_me_t me;
	ptl_handle_md_t md = bind_md(md_over(bytes, 6, 0, PTL_EQ_NONE));
	ptl_handle_md_t longer = bind_md(md_over(bytes, 257, 0, PTL_EQ_NONE));
	ptl_handle_md_t used_up = bind_md(with_threshold(md_over(bytes, 6, 0, PTL_EQ_NONE), 0));
	SAYS(PtlPutRegion(md, 3, 4, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL,
	     "4 bytes from offset 3");
	SAYS(PtlGetPut(longer, longer, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL, "at most 256");
	SAYS(PtlPut(used_up, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID, "is inactive");
	SAYS(PtlPut(md, PTL_NO_ACK_REQ, anyone, INDEX, 0, BITS, 0, 0), PTL_PROCESS_INVALID, "wildcard");
	SAYS(PtlMEAttach(ni, 64, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_PT_INDEX_INVALID, "at most 63");
	SAYS(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, NULL), PTL_SEGV,
	     "me_handle must not be NULL");
}

static void an_answer_that_explains_itself_keeps_no_old_text(void)
{
	char byte = 0;
	ptl_handle_eq_t eq = new_eq(8);
	ptl_md_t description = md_over(&byte, 1, PTL_MD_OP_PUT, eq);
	struct window window = open_window(BITS, description);
	SAYS(PtlEQGet(eq, NULL), PTL_SEGV, "event must not be NULL");
	ptl_handle_md_t md = bind_md(md_over(&byte, 1, 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
	int code;
	while ((code = PtlMDUpdate(window.md, NULL, &description, eq)) == PTL_OK)
		CHECK_RC(PtlProgress(ni, 1), PTL_OK);
	CHECK_RC(code, PTL_MD_NO_UPDATE);
	CHECK(strcmp(PtlNicErrorText(), "") == 0);
}

static void who_has_no_rank_is_told_how_to_get_one(void)
{
	unsigned rank, size;
	SAYS(PtlGetRank(ni, &rank, &size), PTL_NO_INIT, "PtlSetRank");
}

const struct test error_tests[] = {
	ALONE(a_wrong_handle_is_told_by_its_kind),
	ALONE(what_does_not_fit_is_told_with_its_limit),
	ALONE(an_answer_that_explains_itself_keeps_no_old_text),
	ALONE(who_has_no_rank_is_told_how_to_get_one),
	{0},
};
