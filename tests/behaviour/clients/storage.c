/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A parallel file system's network layer: an access control entry for one index, marker entries that match nothing,
 * lists of pieces on both sides, descriptors born inactive and woken by PtlMDUpdate, entries unlinked with what hangs on
 * them.
 */
#include <string.h>
#include <sys/uio.h>

#include "tests/behaviour/clients/clients.h"

#define TABLE    37 /* its portal table index */
#define PIECES   5
#define TRANSFER FEWER(60)

static ptl_handle_me_t mark, unexpected_mark;

static void open_table(void)
{
	const ptl_process_id_t impossible = {0, 0};
	CHECK_OK(PtlACEntry(ni, 0, anyone, (ptl_uid_t)-1, (ptl_jid_t)-1, TABLE));
	CHECK_OK(PtlMEAttach(ni, TABLE, impossible, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &mark));
	CHECK_OK(PtlMEInsert(mark, impossible, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &unexpected_mark));
}

/* What was not expected is counted by a descriptor without memory. */
static ptl_handle_me_t post_counter(ptl_handle_eq_t eq)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t nothing = md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_MAX_SIZE, eq);
	nothing.max_size = 0;
	CHECK_OK(PtlMEInsert(unexpected_mark, anyone, 0, ~0ull, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, nothing, PTL_RETAIN, &handle));
	return me;
}

/* Pieces of odd lengths with gaps between them; the bytes of the gaps are never touched. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the pieces are written to */
static uint64_t cut(char *bytes, size_t length, struct iovec *pieces)
{
	uint64_t total = 0;
	size_t step = length / PIECES;
	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = (struct iovec){bytes + i * step, step - 1 - i};
		total += pieces[i].iov_len;
	}
	return total;
}

static void scatter(const struct iovec *pieces, const char *from)
{
	for (int i = 0; i < PIECES; from += pieces[i++].iov_len)
		memcpy(pieces[i].iov_base, from, pieces[i].iov_len);
}

static void check_pieces(const struct iovec *pieces, const char *expected)
{
	for (int i = 0; i < PIECES; expected += pieces[i++].iov_len)
		CHECK(memcmp(pieces[i].iov_base, expected, pieces[i].iov_len) == 0);
	for (int i = 0; i + 1 < PIECES; i++)
		CHECK_EQUAL(((char *)pieces[i].iov_base)[pieces[i].iov_len], 'g');
}

static ptl_md_t md_of(struct iovec *pieces, unsigned options, ptl_handle_eq_t eq)
{
	return md_over(pieces, PIECES, PTL_MD_IOVEC | options, eq);
}

/* A receive is posted inactive and switched on only if nothing unexpected came meanwhile. */
static ptl_handle_md_t expect(uint64_t bits, struct iovec *pieces, unsigned operation, ptl_handle_eq_t eq,
			      ptl_handle_eq_t unexpected)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md = with_threshold(md_of(pieces, operation, eq), 0);
	CHECK_OK(PtlMEInsert(mark, anyone, bits, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md, PTL_UNLINK, &handle));
	md.threshold = 1;
	CHECK_OK(PtlMDUpdate(handle, NULL, &md, unexpected));
	return handle;
}

static void serve(char *bytes, const char *pattern, size_t length, uint64_t i, ptl_handle_eq_t unexpected)
{
	const bool write = i % 2 == 0;
	struct iovec pieces[PIECES];
	ptl_handle_eq_t eq = new_eq(8);
	cut(bytes, length, pieces);
	memset(bytes, 'g', length);
	if (!write)
		scatter(pieces, pattern);
	expect(100 + i, pieces, write ? PTL_MD_OP_PUT : PTL_MD_OP_GET, eq, unexpected);
	barrier();
	take(eq, write ? PTL_EVENT_PUT_START : PTL_EVENT_GET_START);
	take(eq, write ? PTL_EVENT_PUT_END : PTL_EVENT_GET_END);
	take(eq, PTL_EVENT_UNLINK);
	if (write)
		check_pieces(pieces, pattern);
	CHECK_OK(PtlEQFree(eq));
	barrier();
}

static void move(char *bytes, const char *pattern, size_t length, uint64_t i)
{
	const bool write = i % 2 == 0;
	struct iovec pieces[PIECES];
	ptl_handle_eq_t eq = new_eq(8);
	const uint64_t total = cut(bytes, length, pieces);
	memset(bytes, 'g', length);
	if (write)
		scatter(pieces, pattern);
	barrier();
	ptl_handle_md_t md = bind_md(md_of(pieces, PTL_MD_EVENT_START_DISABLE, eq));
	if (write) {
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), TABLE, 0, 100 + i, 0, 0));
		take(eq, PTL_EVENT_SEND_END);
		ptl_event_t ack = take(eq, PTL_EVENT_ACK);
		CHECK_EQUAL(ack.mlength, total);
		CHECK_EQUAL(ack.rlength, ack.mlength); /* or it exits */
	} else {
		CHECK_OK(PtlGet(md, target_id(), TABLE, 0, 100 + i, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, total);
		check_pieces(pieces, pattern);
	}
	CHECK_OK(PtlMDUnlink(md));
	CHECK_OK(PtlEQFree(eq));
	barrier();
}

static void a_storage_client_moves_pieces(void)
{
	char *bytes = memory(LONG), *pattern = memory(LONG);
	ptl_handle_eq_t unexpected = new_eq(16);
	ptl_handle_me_t counter = PTL_INVALID_HANDLE;
	if (am_target()) {
		open_table();
		counter = post_counter(unexpected);
	}
	for (uint64_t i = 0; i < TRANSFER; i++) {
		const size_t length = i % 3 ? 500 : LONG;
		fill_pattern(pattern, length, (unsigned)i);
		if (am_target())
			serve(bytes, pattern, length, i, unexpected);
		else
			move(bytes, pattern, length, i);
	}
	/* No receive waits for this one: it is counted, without its bytes; MEUnlink then takes the retained descriptor along. */
	if (am_initiator()) {
		ptl_handle_eq_t eq = new_eq(4);
		ptl_handle_md_t md = bind_md(md_over(bytes, 64, QUIET, eq));
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), TABLE, 0, 5, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).mlength, 0);
	} else {
		take(unexpected, PTL_EVENT_PUT_START);
		ptl_event_t end = take(unexpected, PTL_EVENT_PUT_END);
		CHECK_EQUAL(end.rlength, 64);
		CHECK_EQUAL(end.mlength, 0);
		CHECK_OK(PtlMEUnlink(counter));
		CHECK_RC(PtlMDUnlink(end.md_handle), PTL_MD_INVALID);
		CHECK_OK(PtlMEUnlink(mark));
		CHECK_OK(PtlMEUnlink(unexpected_mark));
	}
}

const struct test storage_tests[] = {
	TWO(a_storage_client_moves_pieces),
	{0},
};
