/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that its own process has made unusable while a descriptor names it: unmapped, protected, or beyond the end of a
 * file that was cut off.  A long message that would be read from there fails at both ends, if the other end hears of it at
 * all; what else the two processes have under way is as if nothing had happened.  The same is true of one that would be
 * written there, where no network is between them: libfabric has no such mercy.
 */
#include "tests/behaviour/behaviour.h"
#include "tests/support/refuse.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE       ((size_t)LONG)
#define GOOD        3 /* messages around the bad one */
#define GETS        (BITS + 1)
#define HARMED      (BITS + 2)
#define MOST_PIECES 256
/* Where neither the kernel nor a sanitizer puts anything that does not ask for it. */
#define ASIDE      ((void *)(UINT64_C(1) << 30))
#define TIMEOUT    "PTL_PEER_TIMEOUT=2s"
#define TIMEOUT_NS UINT64_C(2000000000)

enum harm { UNMAPPED, PROTECTED, TRUNCATED, UNMAPPED_BEHIND, HARMS };

struct piece {
	char *bytes;
	enum harm harm;
	FILE *file;
};

static struct piece whole_piece(enum harm harm)
{
	struct piece piece = {.harm = harm};
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	if (harm == TRUNCATED) {
		CHECK((piece.file = tmpfile()) != NULL);
		fd = fileno(piece.file);
		CHECK_EQUAL(ftruncate(fd, PIECE), 0);
		flags = MAP_SHARED;
	}
	/* Once unmapped it would be taken again at once. */
	piece.bytes = mmap(ASIDE, PIECE, PROT_READ | PROT_WRITE, flags, fd, 0);
	CHECK(piece.bytes != MAP_FAILED);
	fill_pattern(piece.bytes, PIECE, 9);
	return piece;
}

static void harm_it(struct piece piece)
{
	size_t from = piece.harm == UNMAPPED_BEHIND ? PIECE / 2 : 0;
	if (piece.harm == TRUNCATED)
		CHECK_EQUAL(ftruncate(fileno(piece.file), 0), 0);
	else if (piece.harm == PROTECTED)
		CHECK_EQUAL(mprotect(piece.bytes, PIECE, PROT_NONE), 0);
	else
		CHECK_EQUAL(munmap(piece.bytes + from, PIECE - from), 0);
}

static ptl_md_t named(ptl_md_t md, void *user_ptr)
{
	md.user_ptr = user_ptr;
	return md;
}

/* Descriptors are of so many bytes a piece; 0: of one piece. */
static size_t cut;
static ptl_md_iovec_t pieces[MOST_PIECES];

static ptl_size_t count_pieces(void)
{
	return LONG / cut < MOST_PIECES ? LONG / cut : MOST_PIECES;
}

/* Of LONG bytes of memory those that a descriptor names. */
static size_t extent(void)
{
	return cut ? count_pieces() * cut : LONG;
}

static ptl_md_t over(char *bytes, unsigned options, ptl_handle_eq_t eq, void *user_ptr)
{
	if (cut == 0)
		return named(md_over(bytes, LONG, options, eq), user_ptr);
	for (ptl_size_t i = 0; i < count_pieces(); i++)
		pieces[i] = (ptl_md_iovec_t){.iov_base = bytes + i * cut, .iov_len = cut};
	return named(md_over(pieces, count_pieces(), options | PTL_MD_IOVEC, eq), user_ptr);
}

static ptl_handle_md_t source_over(char *bytes, ptl_handle_eq_t eq, void *user_ptr)
{
	return bind_md(over(bytes, PTL_MD_EVENT_START_DISABLE, eq, user_ptr));
}

/* Takes so many ENDs of that kind; those of `bad` must tell a failure, the others none.  Returns how many of `bad` came. */
static int take_ends(ptl_handle_eq_t eq, ptl_event_kind_t kind, int count, const void *bad)
{
	int failed = 0;
	for (int i = 0; i < count;) {
		ptl_event_t event = take_any(eq);
		CHECK_EQUAL(event.ni_fail_type != PTL_NI_OK, event.md.user_ptr == bad);
		failed += event.type == kind && event.ni_fail_type != PTL_NI_OK;
		i += event.type == kind;
	}
	return failed;
}

static void put_good_bad_and_good(enum harm harm)
{
	ptl_handle_eq_t eq = new_eq(32);
	char *good = memory(LONG);
	struct piece bad = whole_piece(harm);
	fill_pattern(good, LONG, 1);
	harm_it(bad);
	ptl_handle_md_t good_md = source_over(good, eq, good), bad_md = source_over(bad.bytes, eq, bad.bytes);
	for (int i = 0; i < GOOD; i++) {
		put(good_md, PTL_ACK_REQ, BITS);
		if (i == 0)
			put(bad_md, PTL_NO_ACK_REQ, HARMED);
		CHECK_OK(PtlPutRegion(good_md, 0, 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
	}
	int acks = 0, sends = 0;
	while (acks < 2 * GOOD || sends < 2 * GOOD + 1) {
		ptl_event_t event = take_any(eq);
		CHECK_EQUAL(event.ni_fail_type != PTL_NI_OK, event.md.user_ptr == bad.bytes);
		acks += event.type == PTL_EVENT_ACK;
		sends += event.type == PTL_EVENT_SEND_END;
	}
	CHECK_OK(PtlMDUnlink(bad_md));
	CHECK_OK(PtlMDUnlink(good_md));
}

static void a_long_put_whose_source_cannot_be_read_fails_alone(void)
{
	ptl_handle_eq_t eq = new_eq(64);
	char *near = memory(LONG), *far = memory(LONG);
	struct window good = {0}, harmed = {0};
	if (am_target()) {
		unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
		good = open_window(BITS, over(near, options, eq, near));
		harmed = open_window(HARMED, over(far, options, eq, far));
	}
	barrier();
	for (enum harm harm = 0; harm < HARMS; harm++) {
		if (am_initiator())
			put_good_bad_and_good(harm);
		for (int ended = 0; am_target() && ended < 2 * GOOD;) {
			ptl_event_t event = take_any(eq);
			CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
			CHECK_EQUAL(event.ni_fail_type != PTL_NI_OK, event.md.user_ptr == far);
			ended += event.md.user_ptr == near;
		}
		if (am_target())
			CHECK_PATTERN(near, extent(), 1);
	}
	barrier();
	if (am_target()) {
		CHECK_OK(PtlMDUnlink(harmed.md));
		CHECK_OK(PtlMDUnlink(good.md));
	}
}

static void get_good_bad_and_good(void)
{
	ptl_handle_eq_t eq = new_eq(32);
	char *good = memory(LONG), *bad = memory(LONG);
	ptl_handle_md_t good_md = source_over(good, eq, good), bad_md = source_over(bad, eq, bad);
	for (int i = 0; i < GOOD; i++) {
		get(good_md, BITS);
		if (i == 0)
			get(bad_md, HARMED);
	}
	CHECK_EQUAL(take_ends(eq, PTL_EVENT_REPLY_END, GOOD + 1, bad), 1);
	CHECK_PATTERN(good, extent(), 1);
	CHECK_OK(PtlMDUnlink(bad_md));
	CHECK_OK(PtlMDUnlink(good_md));
}

/* What the initiator asks of memory that the target has harmed fails at both ends, what it asks around it does not. */
static void ask_of_harmed_memory(unsigned operation, ptl_event_kind_t end, void (*ask)(void))
{
	ptl_handle_eq_t eq = new_eq(64);
	char *near = memory(LONG);
	struct window good = {0};
	unsigned options = operation | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	if (operation == PTL_MD_OP_GET)
		fill_pattern(near, LONG, 1);
	if (am_target())
		good = open_window(BITS, over(near, options, eq, near));
	for (enum harm harm = 0; harm < HARMS; harm++) {
		struct piece bad = whole_piece(harm);
		struct window harmed = {0};
		if (am_target()) {
			harmed = open_window(HARMED, over(bad.bytes, options, eq, bad.bytes));
			harm_it(bad);
		}
		barrier();
		if (am_initiator())
			ask();
		if (am_target()) {
			CHECK_EQUAL(take_ends(eq, end, GOOD + 1, bad.bytes), 1);
			CHECK_PATTERN(near, extent(), 1);
			close_window(harmed);
		}
		barrier();
	}
	if (am_target())
		close_window(good);
}

static void a_long_get_whose_source_cannot_be_read_fails_alone(void)
{
	ask_of_harmed_memory(PTL_MD_OP_GET, PTL_EVENT_GET_END, get_good_bad_and_good);
}

/* Pieces that are copied together at their source, that are read some at a time, and that are read each by itself. */
static void in_pieces_of_all_sizes(void (*test)(void))
{
	static const size_t sizes[] = {4000, 16384, 262144};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cut = sizes[i];
		test();
	}
}

static void a_long_put_of_pieces_that_cannot_be_read_fails_alone(void)
{
	in_pieces_of_all_sizes(a_long_put_whose_source_cannot_be_read_fails_alone);
}

/* Long messages go through slabs: neither may read the other's memory. */
static void refuse_and_open(void)
{
	if (!refuse_cross_memory())
		skip_test("this kernel has no seccomp filters");
	open_interface(PTL_PID_ANY);
	exchange_ids();
	drive_while_waiting();
}

static void a_long_put_whose_source_cannot_be_copied_fails_alone(void)
{
	refuse_and_open();
	a_long_put_whose_source_cannot_be_read_fails_alone();
}

static void a_long_get_whose_source_cannot_be_copied_fails_alone(void)
{
	refuse_and_open();
	a_long_get_whose_source_cannot_be_read_fails_alone();
}

static void put_into_harmed(void)
{
	ptl_handle_eq_t eq = new_eq(32);
	char *bytes = memory(LONG);
	fill_pattern(bytes, LONG, 1);
	ptl_handle_md_t good = source_over(bytes, eq, bytes), bad = source_over(bytes, eq, &bad);
	for (int i = 0; i < GOOD; i++) {
		put(good, PTL_NO_ACK_REQ, BITS);
		if (i == 0)
			put(bad, PTL_NO_ACK_REQ, HARMED);
	}
	CHECK_EQUAL(take_ends(eq, PTL_EVENT_SEND_END, GOOD + 1, &bad), 1);
	CHECK_OK(PtlMDUnlink(bad));
	CHECK_OK(PtlMDUnlink(good));
}

static void puts_into_memory_that_cannot_be_written(void)
{
	ask_of_harmed_memory(PTL_MD_OP_PUT, PTL_EVENT_PUT_END, put_into_harmed);
}

static void a_long_put_into_memory_that_cannot_be_written_fails_alone(void)
{
	puts_into_memory_that_cannot_be_written();
}

static void a_long_put_by_copies_into_memory_that_cannot_be_written_fails_alone(void)
{
	refuse_and_open();
	puts_into_memory_that_cannot_be_written();
}

static void get_pieces_and_put_pieces(void)
{
	a_long_get_whose_source_cannot_be_read_fails_alone();
	puts_into_memory_that_cannot_be_written();
}

static void pieces_of_which_some_are_not_there_fail_alone(void)
{
	in_pieces_of_all_sizes(get_pieces_and_put_pieces);
}

static void pieces_of_which_some_cannot_be_copied_fail_alone(void)
{
	refuse_and_open();
	in_pieces_of_all_sizes(get_pieces_and_put_pieces);
}

/*
 * Reads that hang are given up after PTL_PEER_TIMEOUT and three looks at the peer (PEER_TICK_NS), and then both ends are told.
 * What is beyond that in three times PTL_PEER_TIMEOUT is for processes that wait for a processor.
 */
static void check_time(uint64_t since)
{
	if (now_ns() - since > 3 * TIMEOUT_NS * SLOWNESS * (unsigned)machine_slowness)
		lose_race("the end came long after PTL_PEER_TIMEOUT");
}

/*
 * The source is there when it is offered and gone when it is read, because the target stood still in between.  The provider
 * may have told the target nothing, or nonsense: then the two part, and meet anew.  A third process talks with both meanwhile.
 */
static void lose_source_while_target_stands_still(enum harm harm, ptl_handle_eq_t eq, _Atomic uint64_t *goes_on)
{
	struct piece piece = whole_piece(harm);
	ptl_handle_md_t md = source_over(piece.bytes, eq, NULL);
	stop_process(2);
	put(md, PTL_NO_ACK_REQ, BITS);
	for (int i = 0; i < 10; i++)
		lend_time(); /* it has left */
	harm_it(piece);
	atomic_store(goes_on, now_ns());
	continue_process(2);
	take_failed(eq, PTL_EVENT_SEND_END);
	check_time(atomic_load(goes_on));
	CHECK_OK(PtlMDUnlink(md));
}

static void sources_lost_under_way_end_at_both_ends(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LONG);
	_Atomic uint64_t *goes_on = shared_memory();
	open_door();
	barrier();
	if (my_rank != 2)
		ping(id_of[2]);
	barrier();
	for (enum harm harm = 0; harm < HARMS; harm++) {
		struct window window = {0};
		if (am_target())
			window = open_window(
				BITS, md_over(bytes, LONG,
					      PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq));
		barrier();
		if (am_initiator())
			lose_source_while_target_stands_still(harm, eq, goes_on);
		if (my_rank == 1)
			for (int i = 0; i < 20; i++)
				ping(id_of[i % 2 * 2]);
		if (am_target()) {
			CHECK_EQUAL(take_failed(eq, PTL_EVENT_PUT_END).mlength, LONG);
			check_time(atomic_load(goes_on));
			close_window(window);
		}
		barrier();
		if (am_initiator())
			ping_until_answered(target_id());
		barrier();
	}
}

#define ROW(test, more)                                                                                                \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_PAIR | (more), .environment = TIMEOUT      \
	}

const struct test broken_tests[] = {
	ROW(a_long_put_whose_source_cannot_be_read_fails_alone, 0),
	ROW(a_long_get_whose_source_cannot_be_read_fails_alone, 0),
	ROW(a_long_put_whose_source_cannot_be_copied_fails_alone, TRAIT_BARE | TRAIT_NODE),
	ROW(a_long_get_whose_source_cannot_be_copied_fails_alone, TRAIT_BARE | TRAIT_NODE),
	ROW(a_long_put_into_memory_that_cannot_be_written_fails_alone, TRAIT_NODE),
	ROW(a_long_put_into_memory_that_cannot_be_written_fails_alone, TRAIT_SELF),
	ROW(a_long_put_by_copies_into_memory_that_cannot_be_written_fails_alone, TRAIT_BARE | TRAIT_NODE),
	ROW(a_long_put_of_pieces_that_cannot_be_read_fails_alone, 0),
	ROW(pieces_of_which_some_are_not_there_fail_alone, TRAIT_NODE),
	ROW(pieces_of_which_some_cannot_be_copied_fail_alone, TRAIT_BARE | TRAIT_NODE),
	{.name = "sources_lost_under_way_end_at_both_ends",
	 .run = sources_lost_under_way_end_at_both_ends,
	 .processes = 3,
	 .traits = TRAIT_SEVERAL | TRAIT_NIC_THREAD,
	 .environment = TIMEOUT},
	{0},
};
