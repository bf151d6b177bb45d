/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock built on PtlGetPut, as its authors' test had it: one int, one descriptor for both of its halves.  The process that
 * gets the 0 back has it; what it guards is a counter that is read, changed and written by separate operations.  And
 * PtlNIFini with everything still attached.
 */
#include "tests/behaviour/clients/clients.h"

#define ROUNDS FEWER(50)
#define WINDOW 6

static int32_t swap(ptl_handle_md_t md, int32_t *word, int32_t value, ptl_handle_eq_t eq)
{
	*word = value;
	CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 0));
	take(eq, PTL_EVENT_SEND_END);
	take(eq, PTL_EVENT_REPLY_END);
	return *word;
}

static void add_one(ptl_handle_md_t md, int32_t *word, ptl_handle_eq_t eq)
{
	CHECK_OK(PtlGet(md, target_id(), INDEX_SIDE, 0, BITS, 0));
	take(eq, PTL_EVENT_REPLY_END);
	++*word;
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX_SIDE, 0, BITS, 0, 0));
	take(eq, PTL_EVENT_SEND_END);
	take(eq, PTL_EVENT_ACK);
}

static void a_lock_excludes(void)
{
	static int32_t lock, counter, word;
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	if (am_target()) {
		open_window(BITS, md_over(&lock, sizeof(lock), options, PTL_EQ_NONE));
		open_window_on(INDEX_SIDE, BITS, md_over(&counter, sizeof(counter), options, PTL_EQ_NONE));
	}
	barrier();
	if (!am_target()) {
		ptl_handle_eq_t eq = new_eq(8);
		ptl_handle_md_t md = bind_md(md_over(&word, sizeof(word), PTL_MD_EVENT_START_DISABLE, eq));
		for (int i = 0; i < ROUNDS; i++) {
			while (swap(md, &word, 1 + my_rank, eq) != 0)
				;
			add_one(md, &word, eq);
			CHECK(swap(md, &word, 0, eq) != 0);
		}
	}
	barrier();
	if (am_target()) {
		CHECK_OK(PtlNIFini(ni)); /* no event tells of what has changed: nothing does any more */
		CHECK_EQUAL(lock, 0);
		CHECK_EQUAL(counter, (process_count - 1) * ROUNDS);
	}
}

/* Nothing is unlinked, freed or waited for. */
static void an_interface_ends_with_everything_attached(void)
{
	static char bytes[WINDOW][64];
	ptl_handle_eq_t eq = new_eq(64);
	for (unsigned i = 0; i < WINDOW; i++)
		open_window(BITS + i, md_over(bytes[i], sizeof(bytes[i]), PTL_MD_OP_PUT | PTL_MD_OP_GET, eq));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(memory(LONG), LONG, 0, eq));
	for (unsigned i = 0; i < WINDOW; i++) {
		CHECK_OK(PtlPutRegion(md, 0, 32, PTL_ACK_REQ, target_id(), INDEX, 0, BITS + i, 0, 0));
		CHECK_OK(PtlGetRegion(md, 64, 32, target_id(), INDEX, 0, BITS + i, 0));
	}
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS + WINDOW, 0, 0)); /* long, and not waited for */
	CHECK_OK(PtlNIFini(ni));
	CHECK_RC(PtlMDUnlink(md), PTL_MD_INVALID);
}

const struct test lock_tests[] = {
	{.name = "a_lock_excludes", .run = a_lock_excludes, .processes = 4, .traits = TRAIT_SEVERAL},
	PAIR(an_interface_ends_with_everything_attached),
	{0},
};
