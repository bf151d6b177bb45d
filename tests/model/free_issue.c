/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests in the order of the program, as fast as their targets take turns. */
#include <string.h>

#include "tests/model/free_initiator.h"

static struct origin *counted[2]; /* for puts, for gets */
static uint32_t next_number;
static uint32_t budget[FREE_PROCESSES], turn_seen[FREE_PROCESSES];

bool issued_all(void)
{
	return next_number == program.count[my_rank];
}

/* What a getput brings: its sender, so that the process that gets it back knows, and a pattern. */
static void write_swap_value(unsigned char *value, uint32_t number, uint32_t length)
{
	uint64_t name = ((uint64_t)my_rank + 1) << 32 | number;
	memcpy(value, pattern_of((unsigned)my_rank, number), length);
	memcpy(value, &name, sizeof(name));
}

static enum queue queue_for(const struct request *request)
{
	return request->second ? QUEUE_SECOND : QUEUE_FIRST;
}

static struct origin *private_origin(const struct request *request, uint32_t number, int units, ptl_unlink_t unlink)
{
	struct origin *origin = origin_new();
	area_allocate(&origin->area, request->length, request->pieces, &own_chance);
	origin->getting = request->kind != OPERATION_PUT;
	origin->sink = request->sink;
	if (request->kind == OPERATION_PUT)
		area_write(&origin->area, 0, pattern_of((unsigned)my_rank, number), request->length);
	ptl_handle_eq_t eq = request->origin == ORIGIN_MUTE ? PTL_EQ_NONE : queue[queue_for(request)];
	origin_bind(origin, area_md(&origin->area, units, request->quiet, eq, NULL), unlink);
	return origin;
}

static int put_from(const struct origin *origin, const struct request *request, uint32_t number)
{
	ptl_ack_req_t ack = request->ack ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
	ptl_process_id_t target = id_of[request->target];
	ptl_match_bits_t bits = bits_of((unsigned)my_rank, number);
	ptl_hdr_data_t word = word_of((unsigned)my_rank, number);
	if (origin->area.bytes)
		return PtlPut(origin->handle, ack, target, index_of(request), access_of(request), bits, request->place,
			      word);
	uint64_t at = (uint64_t)(pattern_of((unsigned)my_rank, number) - pattern_all());
	return PtlPutRegion(origin->handle, at, request->length, ack, target, index_of(request), access_of(request),
			    bits, request->place, word);
}

static int get_from(const struct origin *origin, const struct request *request, uint32_t number)
{
	ptl_process_id_t target = id_of[request->target];
	ptl_match_bits_t bits = bits_of((unsigned)my_rank, number);
	if (origin->area.bytes)
		return PtlGet(origin->handle, target, index_of(request), access_of(request), bits, request->place);
	return PtlGetRegion(origin->handle, request->sink, request->length, target, index_of(request),
			    access_of(request), bits, request->place);
}

static int request_from(const struct origin *origin, const struct request *request, uint32_t number)
{
	if (request->kind == OPERATION_GET)
		return get_from(origin, request, number);
	int rc = put_from(origin, request, number);
	if (rc == PTL_OK)
		initiator_awaits(origin, number);
	return rc;
}

static struct origin *new_counted(const struct request *request)
{
	bool put = request->kind == OPERATION_PUT;
	struct origin *origin = origin_new();
	ptl_md_t md = put ? md_over((void *)pattern_all(), pattern_size(), request->quiet, queue[queue_for(request)])
			  : md_over(sink_pool->said.start, program.sink_size[my_rank], request->quiet,
				    queue[queue_for(request)]);
	md.threshold = (int)draw_between(&own_chance, 1, 12);
	origin_bind(origin, md, PTL_UNLINK);
	return origin;
}

/* The last one may be used up without our having read so; then the next one serves. */
static void issue_counted(const struct request *request, uint32_t number)
{
	struct origin **current = &counted[request->kind];
	int rc = *current ? request_from(*current, request, number) : PTL_MD_INVALID;
	if (rc == PTL_MD_INVALID) {
		*current = new_counted(request);
		rc = request_from(*current, request, number);
	}
	CHECK_RC(rc, PTL_OK);
}

static void issue_private(const struct request *request, uint32_t number)
{
	bool acked = request->ack && !request->tight;
	int units = request->kind == OPERATION_PUT && acked ? 2 : 1;
	ptl_unlink_t unlink = request->origin == ORIGIN_OWN ? PTL_UNLINK : PTL_RETAIN;
	struct origin *origin = private_origin(request, number, units, unlink);
	CHECK_OK(request_from(origin, request, number));
	if (request->origin == ORIGIN_HASTY || request->origin == ORIGIN_MUTE)
		origin_retire(origin, request->pause, false);
}

/* From two descriptors, or from one that does both. */
static void issue_swap(const struct request *request, uint32_t number)
{
	unsigned char value[256];
	struct origin *from = private_origin(request, number, request->tight ? 2 : 1, PTL_UNLINK), *to = from;
	write_swap_value(value, number, request->length);
	area_write(&from->area, 0, value, request->length);
	from->getting = false; /* REPLY_END fetches what comes back; without it, what was sent is still there */
	if (!request->tight)
		to = private_origin(request, number, 1, PTL_UNLINK);
	CHECK_OK(PtlGetPut(to->handle, from->handle, id_of[request->target], index_of(request), access_of(request),
			   bits_of((unsigned)my_rank, number), request->place, word_of((unsigned)my_rank, number)));
	initiator_awaits(from, number);
}

static void issue(const struct request *request, uint32_t number)
{
	record_of((unsigned)my_rank, number)->issued = 1;
	if (request->kind == OPERATION_SWAP)
		issue_swap(request, number);
	else if (request->origin == ORIGIN_POOL)
		CHECK_OK(request_from(request->kind == OPERATION_PUT ? pool : sink_pool, request, number));
	else if (request->origin == ORIGIN_PIECES)
		CHECK_OK(request_from(pool_pieces, request, number));
	else if (request->origin == ORIGIN_COUNTED)
		issue_counted(request, number);
	else
		issue_private(request, number);
}

static bool may_send_to(unsigned target, unsigned patience)
{
	uint32_t turn = atomic_load_explicit(&ledger->turns[target], memory_order_relaxed);
	if (turn != turn_seen[target]) {
		turn_seen[target] = turn;
		budget[target] = patience;
	}
	return budget[target] > 0 && budget[target]--;
}

bool issue_some(void)
{
	uint32_t before = next_number;
	while (!issued_all()) {
		const struct request *request = request_at((unsigned)my_rank, next_number);
		if (!may_send_to(request->target, request->patience))
			break;
		issue(request, next_number++);
	}
	return next_number > before;
}
