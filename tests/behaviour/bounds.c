/* SPDX-License-Identifier: BSD-3-Clause */
/* How much may wait for one peer, and what all others can do meanwhile. */
#include "tests/behaviour/behaviour.h"

#define PATIENT_CONTACT "PTL_CONNECT_TIMEOUT=600s PTL_LINGER=0"

/* Puts to a process that never comes, until no more are taken.  Returns how many were. */
static unsigned wait_for_nobody(void)
{
	static char byte;
	ptl_handle_md_t md = bind_md(md_over(&byte, 1, QUIET, PTL_EQ_NONE));
	unsigned count = 0;
	int code;
	while ((code = PtlPut(md, PTL_NO_ACK_REQ, nobody(), INDEX, 0, BITS, 0, 0)) == PTL_OK && count < 1u << 20)
		count++;
	CHECK_EQUAL(code, PTL_NO_SPACE);
	return count;
}

static void exchange(size_t length)
{
	ptl_handle_eq_t eq = new_eq(16);
	char *bytes = memory(length);
	fill_pattern(bytes, length, 1);
	ptl_handle_md_t md = bind_md(md_over(bytes, length, PTL_MD_EVENT_START_DISABLE, eq));
	put(md, PTL_ACK_REQ, BITS);
	take(eq, PTL_EVENT_SEND_END);
	take(eq, PTL_EVENT_ACK);
	get(md, BITS);
	CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, length);
	CHECK_PATTERN(bytes, length, 1);
	CHECK_OK(PtlGetPutRegion(md, 0, md, 0, 8, target_id(), INDEX, 0, BITS, 0, 0));
	take(eq, PTL_EVENT_SEND_END);
	CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, 8);
}

static void who_waits_for_nobody_serves_and_asks_everybody_else(void)
{
	char *bytes = memory(LONG);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE | QUIET;
	open_window(BITS, md_over(bytes, LONG, options, PTL_EQ_NONE));
	open_door();
	barrier();
	if (am_initiator())
		ping_until_answered(target_id());
	barrier();
	CHECK_EQUAL(wait_for_nobody(), 1u << 18);
	barrier();
	if (am_initiator())
		for (int i = 0; i < 2; i++)
			exchange(short_and_long[i]);
	barrier();
}

const struct test bound_tests[] = {
	{.name = "who_waits_for_nobody_serves_and_asks_everybody_else",
	 .run = who_waits_for_nobody_serves_and_asks_everybody_else,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL,
	 .environment = PATIENT_CONTACT},
	{0},
};
