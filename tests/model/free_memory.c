/* SPDX-License-Identifier: BSD-3-Clause */
/* What is sent, and where it lands. */
#include "tests/model/free_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STARTS (64u << 10)
#define TABLE  (STARTS + LONGEST)

unsigned char *window_memory;

static unsigned char *table;

/* Read-only from then on: a descriptor that is only sent from must not be written. */
void pattern_make(void)
{
	struct random random = {1};
	if (table)
		return;
	table = mmap(NULL, TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		abort();
	for (size_t i = 0; i < TABLE; i++)
		table[i] = (unsigned char)(1 + draw(&random, 255));
	mprotect(table, TABLE, PROT_READ);
}

const unsigned char *pattern_all(void)
{
	return table;
}

uint64_t pattern_size(void)
{
	return TABLE;
}

static const unsigned char *pattern_at(uint64_t key)
{
	struct random random = {key};
	return table + draw(&random, STARTS);
}

const unsigned char *pattern_of(unsigned initiator, uint32_t number)
{
	return pattern_at(((uint64_t)initiator << 32) + number);
}

const unsigned char *filler_of(unsigned target, unsigned lane)
{
	return pattern_at(~(((uint64_t)target << 32) + lane));
}

#define GREATEST_GAP 16

size_t area_extent(uint64_t length, unsigned pieces)
{
	return length + (size_t)(pieces + 1) * GREATEST_GAP;
}

/* Cuts at random places, so some pieces are empty. */
void area_cut(struct area *area, unsigned char *memory, uint64_t length, unsigned pieces, struct random *random)
{
	uint64_t at = 0;
	*area = (struct area){.bytes = memory, .extent = length, .length = length, .pieces = pieces};
	for (unsigned i = 0; i < pieces; i++) {
		uint64_t left = length - at, most = 2 * length / pieces < left ? 2 * length / pieces : left;
		area->piece[i].iov_base = memory + at;
		area->piece[i].iov_len = i + 1 == pieces ? left : draw(random, (uint32_t)most + 1);
		at += area->piece[i].iov_len;
	}
}

/* In memory the pieces may lie the other way round. */
void area_lay_out(struct area *area, unsigned char *memory, uint64_t length, unsigned pieces, struct random *random)
{
	bool backwards = chance(random, 50);
	area_cut(area, memory, length, pieces, random);
	area->extent = area_extent(length, pieces);
	for (unsigned i = 0; i < pieces; i++) {
		ptl_md_iovec_t *piece = &area->piece[backwards ? pieces - 1 - i : i];
		memory += draw_between(random, 1, GREATEST_GAP);
		piece->iov_base = memory;
		memory += piece->iov_len;
	}
}

void area_allocate(struct area *area, uint64_t length, unsigned pieces, struct random *random)
{
	unsigned char *memory_of_area = calloc(1, area_extent(length, pieces));
	CHECK(memory_of_area != NULL);
	area_lay_out(area, memory_of_area, length, pieces, random);
}

/* Calls back for each part of a range that is in one piece; stops when told so. */
static void for_each_part(const struct area *area, uint64_t offset, uint64_t length,
			  bool (*visit)(unsigned char *part, uint64_t at, uint64_t size, void *context), void *context)
{
	uint64_t done = 0;
	for (unsigned i = 0; i < area->pieces && done < length; i++) {
		uint64_t size = area->piece[i].iov_len;
		if (offset >= size) {
			offset -= size;
			continue;
		}
		size = size - offset < length - done ? size - offset : length - done;
		if (!visit((unsigned char *)area->piece[i].iov_base + offset, done, size, context))
			return;
		done += size;
		offset = 0;
	}
	if (done < length)
		FAIL("range of %llu bytes reaches beyond its area", (unsigned long long)length);
}

struct copying {
	const unsigned char *from;
	unsigned char *to;
};

static bool copy_in(unsigned char *part, uint64_t at, uint64_t size, void *context)
{
	const struct copying *copying = context;
	memcpy(part, copying->from + at, size);
	return true;
}

static bool copy_out(unsigned char *part, uint64_t at, uint64_t size, void *context)
{
	const struct copying *copying = context;
	memcpy(copying->to + at, part, size);
	return true;
}

void area_write(struct area *area, uint64_t offset, const void *from, uint64_t length)
{
	struct copying copying = {.from = from};
	for_each_part(area, offset, length, copy_in, &copying);
}

void area_read(const struct area *area, uint64_t offset, void *to, uint64_t length)
{
	struct copying copying = {.to = to};
	for_each_part(area, offset, length, copy_out, &copying);
}

struct comparison {
	const unsigned char *expected; /* NULL: zeros */
	uint64_t differs;
};

static bool compare(unsigned char *part, uint64_t at, uint64_t size, void *context)
{
	struct comparison *comparison = context;
	if (comparison->expected && memcmp(part, comparison->expected + at, size) == 0)
		return true;
	for (uint64_t i = 0; i < size; i++) {
		if (part[i] != (comparison->expected ? comparison->expected[at + i] : 0)) {
			comparison->differs = at + i;
			return false;
		}
	}
	return true;
}

uint64_t area_differs(const struct area *area, uint64_t offset, const unsigned char *expected, uint64_t length)
{
	struct comparison comparison = {expected, length};
	for_each_part(area, offset, length, compare, &comparison);
	return comparison.differs;
}

bool area_is_blank(const struct area *area, uint64_t offset, uint64_t length)
{
	return area_differs(area, offset, NULL, length) == length;
}

/* Marks what belongs to pieces; the rest is gaps. */
bool area_gaps_are_blank(const struct area *area)
{
	for (size_t at = 0; at < area->extent;) {
		const ptl_md_iovec_t *piece = NULL;
		for (unsigned i = 0; i < area->pieces && !piece; i++)
			if (area->piece[i].iov_len && area->bytes + at == (unsigned char *)area->piece[i].iov_base)
				piece = &area->piece[i];
		if (!piece && area->bytes[at] != 0)
			return false;
		at += piece ? piece->iov_len : 1;
	}
	return true;
}

ptl_md_t area_md(struct area *area, int threshold, unsigned options, ptl_handle_eq_t eq, void *user_ptr)
{
	bool whole = area->pieces == 1;
	return (ptl_md_t){
		.start = whole ? area->piece[0].iov_base : area->piece,
		.length = whole ? area->length : area->pieces,
		.threshold = threshold,
		.options = options | (whole ? 0 : PTL_MD_IOVEC),
		.user_ptr = user_ptr,
		.eq_handle = eq,
	};
}

/* ---- Shared memory ---- */

void *share(size_t size)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED)
		abort();
	return bytes;
}

void unshare(void *bytes, size_t size)
{
	munmap(bytes, size);
}

void window_memory_make(void)
{
	window_memory = share(program.window_memory_size);
}

void window_memory_free(void)
{
	unshare(window_memory, program.window_memory_size);
}
