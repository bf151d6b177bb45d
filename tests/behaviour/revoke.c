/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After PtlMDUnlink memory is the user's again.  A get is issued and its descriptor unlinked at once, so that the reply
 * finds nothing; the memory is unmapped, or mapped anew for something else, which must never change.
 */
#include "tests/behaviour/behaviour.h"

#include <sys/mman.h>

#define GETS   FEWER(10000)
#define GUARDS 32 /* mappings kept and watched after their descriptors are gone */
#define SHORT  64u
#define MIDDLE 131072u /* long on every transport, and still quick 5 000 times */

static void *map(size_t length)
{
	void *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(bytes != MAP_FAILED);
	return bytes;
}

static void get_unlink_and_unmap(int i, size_t length, unsigned char **guard)
{
	unsigned char *bytes = map(length);
	ptl_handle_md_t md = bind_md(md_over(bytes, length, 0, PTL_EQ_NONE));
	CHECK_OK(PtlGet(md, target_id(), INDEX, 0, BITS, 0));
	unlink_soon(md);
	if (i % 2) { /* a late write would find nothing there */
		CHECK(munmap(bytes, length) == 0);
		return;
	}
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED; /* at once, or another thread may take the place */
	bytes = mmap(bytes, length, PROT_READ | PROT_WRITE, flags, -1, 0);
	CHECK(bytes != MAP_FAILED);
	fill_pattern(bytes, length, 77);
	if (*guard) {
		CHECK_PATTERN(*guard, length, 77);
		CHECK(munmap(*guard, length) == 0);
	}
	*guard = bytes;
}

static void get_and_unlink_many_times(size_t length)
{
	unsigned char *guard[GUARDS] = {NULL}, *buffer = memory(LONG);
	for (int i = 0; i < GETS / 2; i++)
		get_unlink_and_unmap(i, length, &guard[i / 2 % GUARDS]);
	/* Replies to everything above have come before that to a get issued now, or are dropped. */
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t md = bind_md(md_over(buffer, LONG, PTL_MD_EVENT_START_DISABLE, eq));
	get(md, BITS);
	CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, LONG);
	CHECK_PATTERN(buffer, LONG, 5);
	for (int i = 0; i < GUARDS; i++)
		if (guard[i])
			CHECK_PATTERN(guard[i], length, 77);
}

static void get_then_unlink_and_unmap_at_once(size_t length)
{
	char *source = memory(LONG);
	fill_pattern(source, LONG, 5);
	if (am_target())
		open_window(BITS, md_over(source, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator())
		get_and_unlink_many_times(length);
	barrier();
}

static void short_gets_unlinked_and_unmapped_at_once_touch_nothing(void)
{
	get_then_unlink_and_unmap_at_once(SHORT);
}

static void long_gets_unlinked_and_unmapped_at_once_touch_nothing(void)
{
	get_then_unlink_and_unmap_at_once(MIDDLE);
}

/* The same with the source of a put, as soon as its END says so. */
static void sources_unmapped_at_send_end_are_not_read_any_more(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *buffer = memory(MIDDLE);
	int count = FEWER(200);
	if (am_target())
		open_window(BITS, md_over(buffer, MIDDLE,
					  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	for (int i = 0; i < count; i++) {
		if (am_initiator()) {
			unsigned char *bytes = map(MIDDLE);
			size_t length = i % 2 ? MIDDLE : SHORT;
			fill_pattern(bytes, length, (unsigned)i);
			ptl_handle_md_t md = bind_md(md_over(bytes, length, PTL_MD_EVENT_START_DISABLE, out));
			put(md, PTL_NO_ACK_REQ, BITS);
			take(out, PTL_EVENT_SEND_END);
			CHECK_OK(PtlMDUnlink(md));
			CHECK(munmap(bytes, MIDDLE) == 0);
		}
		if (am_target()) {
			take(in, PTL_EVENT_PUT_END);
			CHECK_PATTERN(buffer, i % 2 ? MIDDLE : SHORT, (unsigned)i);
		}
		barrier();
	}
}

const struct test revoke_tests[] = {
	PAIR(short_gets_unlinked_and_unmapped_at_once_touch_nothing),
	{.name = "long_gets_unlinked_and_unmapped_at_once_touch_nothing",
	 .run = long_gets_unlinked_and_unmapped_at_once_touch_nothing,
	 .processes = 2,
	 .traits = TRAIT_PAIR}, /* seconds of copying, on processors that others use as well */
	PAIR(sources_unmapped_at_send_end_are_not_read_any_more),
	{0},
};
