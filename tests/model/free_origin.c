/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's descriptors: some for all requests, some for several, most for one. */
#include <stdlib.h>

#include "tests/model/free_initiator.h"

struct origin *pool, *pool_pieces, *sink_pool;

static struct origin *origins, *retired;
static unsigned char *sinks;

unsigned char *sink_of(const struct request *request)
{
	return sinks + request->sink;
}

bool origin_hears(const struct origin *origin, unsigned disable)
{
	return origin->said.eq_handle != PTL_EQ_NONE && !(origin->said.options & disable);
}

struct origin *origin_new(void)
{
	struct origin *origin = calloc(1, sizeof(*origin));
	CHECK(origin != NULL);
	origin->next = origins;
	origins = origin;
	return origin;
}

void origin_bind(struct origin *origin, ptl_md_t md, ptl_unlink_t unlink)
{
	md.user_ptr = origin;
	origin->said = md;
	origin->mortal = unlink == PTL_UNLINK;
	CHECK_OK(PtlMDBind(ni, md, unlink, &origin->handle));
}

void origin_release(struct origin *origin)
{
	origin->dead = true;
	if (!origin->area.bytes)
		return;
	CHECK(area_gaps_are_blank(&origin->area));
	if (origin->getting)
		area_read(&origin->area, 0, sinks + origin->sink, origin->area.length);
	free(origin->area.bytes);
	origin->area.bytes = NULL;
}

void origin_retire(struct origin *origin, unsigned turns, bool must_be_free)
{
	origin->must_be_free = must_be_free;
	origin->due = turns_taken() + turns;
	if (origin->retired)
		return;
	origin->retired = true;
	origin->next_retired = retired;
	retired = origin;
}

static bool retire(struct origin *origin)
{
	if (turns_taken() < origin->due)
		return false;
	int rc = PtlMDUnlink(origin->handle);
	if (rc == PTL_MD_IN_USE && !origin->must_be_free)
		return false;
	CHECK_RC(rc, PTL_OK);
	CHECK_RC(PtlMDUnlink(origin->handle), PTL_MD_INVALID);
	origin_release(origin);
	return true;
}

void origins_retire(void)
{
	for (struct origin **at = &retired; *at;) {
		if (retire(*at))
			*at = (*at)->next_retired;
		else
			at = &(*at)->next_retired;
	}
}

static struct origin *bind_pool(const void *start, uint64_t length)
{
	struct origin *origin = origin_new();
	ptl_md_t md = md_over((void *)start, length, 0, queue[QUEUE_FIRST]);
	origin_bind(origin, md, PTL_RETAIN);
	return origin;
}

/* The pattern as one descriptor of many pieces, every seventh of them empty. */
static struct origin *bind_pool_of_pieces(void)
{
	ptl_md_iovec_t piece[200];
	uint64_t at = 0;
	for (unsigned i = 0; i < 200; i++) {
		uint64_t left = pattern_size() - at;
		piece[i].iov_base = (void *)(pattern_all() + at);
		piece[i].iov_len = i == 199 ? left : i % 7 == 0 ? 0 : draw(&own_chance, 4096);
		piece[i].iov_len = piece[i].iov_len < left ? piece[i].iov_len : left;
		at += piece[i].iov_len;
	}
	struct origin *origin = origin_new();
	ptl_md_t md = md_over(piece, 200, PTL_MD_IOVEC, queue[QUEUE_SECOND]);
	origin_bind(origin, md, PTL_RETAIN);
	return origin;
}

void origins_open(void)
{
	sinks = calloc(1, program.sink_size[my_rank] + 1);
	CHECK(sinks != NULL);
	pool = bind_pool(pattern_all(), pattern_size());
	pool_pieces = bind_pool_of_pieces();
	sink_pool = bind_pool(sinks, program.sink_size[my_rank]);
}

/* ---- The end ---- */

static bool is_due(const struct origin *origin)
{
	return origin->mortal && !origin->dead && origin->used == origin->said.threshold;
}

bool origins_are_quiet(void)
{
	bool quiet = retired == NULL;
	for (const struct origin *origin = origins; origin && quiet; origin = origin->next)
		quiet = !is_due(origin) && origin->open == 0;
	return quiet;
}

/* Whatever is left is not used up, and nothing is pending on it that we have heard the end of. */
void origins_close(void)
{
	while (origins) {
		struct origin *origin = origins;
		origins = origin->next;
		if (!origin->dead) {
			origin_retire(origin, 0, origin_hears(origin, PTL_MD_EVENT_END_DISABLE));
			while (!retire(origin))
				lend_time();
		}
		free(origin);
	}
	retired = NULL;
}
