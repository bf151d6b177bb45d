/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages longer than 32 bits can say.  The source is one small file mapped over and over, so that only the destination
 * needs its 5 GiB; the file has a prime number of pages, so that bytes which are 4 GiB apart, or any other power of two,
 * differ, and a length or offset that lost its upper half shows.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/peers.h"

#define GIB          ((size_t)1 << 30)
#define LARGE_LENGTH (5 * GIB + 4097)
#define PAGE         ((size_t)4096)
#define PERIOD       (4099 * PAGE) /* bytes until the source repeats itself */
#define NEEDED_KIB   (long)((LARGE_LENGTH + GIB) >> 10)
#define LARGE_MS     300000

static long available_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *file = fopen("/proc/meminfo", "r");

	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "MemAvailable: %ld", &kib);
	fclose(file);
	return kib;
}

static void need_memory(void)
{
	static char reason[128];
	long available = am_initiator() ? available_kib() : 0, all[MAX_PROCESSES] = {0};

	gather(&available, sizeof(available), all);
	snprintf(reason, sizeof(reason), "needs %ld MiB of memory, %ld are free", NEEDED_KIB >> 10, all[0] >> 10);
	if (all[0] < NEEDED_KIB)
		skip_test(reason);
}

/* Every 8 bytes of the file tell where in it they are. */
static int make_period(void)
{
	int fd = memfd_create("large", MFD_CLOEXEC);

	CHECK(fd >= 0 && ftruncate(fd, (off_t)PERIOD) == 0);
	uint64_t *words = mmap(NULL, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(words != MAP_FAILED);
	for (size_t i = 0; i < PERIOD / sizeof(*words); i++)
		words[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	munmap(words, PERIOD);
	return fd;
}

static uint8_t *map_source(void)
{
	int fd = make_period();
	size_t room = (LARGE_LENGTH + PERIOD - 1) / PERIOD * PERIOD;
	uint8_t *start = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(start != MAP_FAILED);
	for (size_t at = 0; at < room; at += PERIOD)
		/* cppcheck-suppress leakReturnValNotUsed ; part of the room above */
		CHECK(mmap(start + at, PERIOD, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == start + at);
	close(fd);
	return start;
}

static uint8_t *map_destination(void)
{
	uint8_t *start =
		mmap(NULL, LARGE_LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(start != MAP_FAILED);
	madvise(start, LARGE_LENGTH, MADV_HUGEPAGE);
	return start;
}

static void check_destination(const uint8_t *start, size_t length)
{
	const uint8_t *source = map_source();

	for (size_t at = 0; at < length; at += PERIOD) {
		size_t part = length - at < PERIOD ? length - at : PERIOD;

		if (memcmp(start + at, source, part) != 0)
			FAIL("other bytes than were sent between offsets %zu and %zu", at, at + part);
	}
}

static ptl_event_t take_large(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t event;
	int which;

	CHECK_OK(PtlEQPoll(&eq, 1, LARGE_MS * SLOWNESS, &event, &which));
	CHECK_STRING(PtlEventKindStr(event.type), PtlEventKindStr(kind));
	CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
	CHECK_EQUAL(event.mlength, LARGE_LENGTH);
	return event;
}

static void a_put_of_5_gib_arrives_whole(void)
{
	ptl_handle_eq_t eq = new_eq(8);

	need_memory();
	uint8_t *to = am_target() ? map_destination() : NULL;

	if (am_target())
		open_window(BITS, md_over(to, LARGE_LENGTH, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq));
	barrier();
	if (am_initiator()) {
		ptl_handle_eq_t sent = new_eq(8);

		put(bind_md(md_over(map_source(), LARGE_LENGTH, PTL_MD_EVENT_START_DISABLE, sent)), PTL_ACK_REQ, BITS);
		take_large(sent, PTL_EVENT_SEND_END);
		take_large(sent, PTL_EVENT_ACK);
	}
	if (am_target()) {
		CHECK_EQUAL(take_large(eq, PTL_EVENT_PUT_END).rlength, LARGE_LENGTH);
		check_destination(to, LARGE_LENGTH);
	}
	barrier();
}

/* The side with the source stays out of Portals meanwhile: within a node it would copy half, from the end. */
static void a_get_of_5_gib_arrives_whole(void)
{
	ptl_handle_eq_t eq = new_eq(8);

	need_memory();
	if (am_target())
		open_window(BITS, md_over(map_source(), LARGE_LENGTH, PTL_MD_OP_GET | PTL_MD_EVENT_START_DISABLE, eq));
	barrier();
	if (am_initiator()) {
		ptl_handle_eq_t got = new_eq(8);
		uint8_t *to = map_destination();

		get(bind_md(md_over(to, LARGE_LENGTH, PTL_MD_EVENT_START_DISABLE, got)), BITS);
		take_large(got, PTL_EVENT_REPLY_END);
		check_destination(to, LARGE_LENGTH);
	}
	barrier();
	if (am_target())
		take_large(eq, PTL_EVENT_GET_END);
	barrier();
}

/* Few bytes, but far in: from and to offsets on both sides of 4 GiB, and across it. */
static void offsets_beyond_4_gib_are_where_they_should_be(void)
{
	static const size_t offsets[] = {4 * GIB - 4, 4 * GIB, 4 * GIB + 4099, 5 * GIB};
	enum { OFFSETS = sizeof(offsets) / sizeof(offsets[0]), BYTES = 8, FAR = 12345 };
	uint8_t *to = map_destination();
	ptl_handle_eq_t eq = new_eq(8);

	if (am_target())
		open_window(BITS, md_over(to, LARGE_LENGTH,
					  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(map_source(), LARGE_LENGTH, QUIET, PTL_EQ_NONE));

		for (unsigned i = 0; i < OFFSETS; i++)
			CHECK_OK(PtlPutRegion(md, offsets[i], BYTES, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS,
					      offsets[i] - FAR * i, 0));
	}
	if (am_target()) {
		const uint8_t *source = map_source();

		for (unsigned i = 0; i < OFFSETS; i++) {
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).offset, offsets[i] - FAR * i);
			CHECK(memcmp(to + offsets[i] - FAR * i, source + offsets[i], BYTES) == 0);
		}
	}
	barrier();
}

#define LARGE(test)                                                                                                    \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_PAIR, .seconds = 600                       \
	}

static const struct test large_tests[] = {
	LARGE(a_put_of_5_gib_arrives_whole),
	LARGE(a_get_of_5_gib_arrives_whole),
	LARGE(offsets_beyond_4_gib_are_where_they_should_be),
	{0},
};

int main(int argc, char **argv)
{
	const struct test *const tables[] = {large_tests, NULL};

	return peers_main(argc, argv, tables, list_names);
}
