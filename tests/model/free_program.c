/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws a round: what every process attaches, and what it asks of the others. */
#include "tests/model/free_memory.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_BITS    24
#define UNUSED_INDEX   20 /* nothing is attached there */
#define SECRETIVE_LANE 7
#define BEYOND_ACCESS  8 /* greater than any max_ac_index */

struct program program;

uint64_t draw_bits(struct random *random)
{
	uint64_t bits = random->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
	bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
	bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
	return bits ^ (bits >> 31);
}

uint32_t draw(struct random *random, uint32_t below)
{
	return (uint32_t)(((draw_bits(random) >> 32) * below) >> 32);
}

uint32_t draw_between(struct random *random, uint32_t low, uint32_t high)
{
	return low + draw(random, high - low + 1);
}

bool chance(struct random *random, unsigned percent)
{
	return draw(random, 100) < percent;
}

const struct request *request_at(unsigned initiator, uint32_t number)
{
	return &program.requests[initiator][number];
}

const struct lane *lane_of(const struct request *request)
{
	return &program.lanes[request->target][request->lane];
}

ptl_match_bits_t bits_of(unsigned initiator, uint32_t number)
{
	const struct request *request = request_at(initiator, number);
	unsigned lane = request->fate == FATE_BITS ? LANES + 1 : request->lane;
	return LANE_BITS(lane) | TAG_BITS(request->tag) | (ptl_match_bits_t)initiator << NUMBER_BITS | number;
}

ptl_pt_index_t index_of(const struct request *request)
{
	return request->fate == FATE_INDEX ? (request->tag ? UNUSED_INDEX : 64) : lane_of(request)->index;
}

ptl_ac_index_t access_of(const struct request *request)
{
	return request->fate == FATE_ACCESS ? BEYOND_ACCESS : 0;
}

ptl_hdr_data_t word_of(unsigned initiator, uint32_t number)
{
	struct random random = {bits_of(initiator, number)};
	return draw_bits(&random);
}

bool accepts_by_rule(const struct lane *lane)
{
	const unsigned both = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	return lane->kind == LANE_FLOOD || lane->mute || (lane->options & both) == both;
}

bool never_refuses(const struct lane *lane)
{
	return lane->kind != LANE_CHAIN || lane->catch_all;
}

/* ---- Lanes ---- */

static unsigned maybe(struct random *random, unsigned percent, unsigned option)
{
	return chance(random, percent) ? option : 0;
}

/* Not both: then nothing would be heard. */
static unsigned maybe_quiet(struct random *random)
{
	unsigned which = draw(random, 5);
	return which == 0 ? PTL_MD_EVENT_START_DISABLE : which == 1 ? PTL_MD_EVENT_END_DISABLE : 0;
}

static void draw_window(struct lane *lane, struct random *random, bool silent)
{
	lane->options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | maybe(random, 25, PTL_MD_ACK_DISABLE);
	if (silent) {
		lane->mute = chance(random, 50);
		lane->options |= PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	} else {
		lane->options |= maybe_quiet(random);
	}
}

static void draw_source(struct lane *lane, struct random *random)
{
	lane->options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | maybe_quiet(random) | maybe(random, 50, PTL_MD_TRUNCATE);
	lane->size = LONGEST;
}

static void draw_swap(struct lane *lane, struct random *random)
{
	static const unsigned lengths[] = {8, 16, 64, 256};
	lane->options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | maybe_quiet(random);
	lane->words = draw_between(random, 1, MAX_WORDS);
	lane->word_length = lengths[draw(random, 4)];
	lane->size = lane->words * lane->word_length;
}

static void draw_flood(struct lane *lane, struct random *random)
{
	lane->options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | maybe_quiet(random);
	lane->queue_length = draw_between(random, 2, 9);
}

static void draw_chain(struct lane *lane, struct random *random)
{
	bool full_is_over = chance(random, 60);
	lane->options = PTL_MD_OP_PUT | maybe(random, 50, PTL_MD_OP_GET) | maybe(random, 50, PTL_MD_TRUNCATE) |
			maybe(random, 15, PTL_MD_ACK_DISABLE) | maybe_quiet(random);
	lane->block = 1u << draw_between(random, 8, 15);
	lane->depth = draw_between(random, 1, 6);
	lane->catch_all = chance(random, 50);
	lane->revive = !(lane->options & PTL_MD_EVENT_END_DISABLE) && chance(random, 25);
	lane->keeps_entry = !lane->revive && chance(random, 25);
	lane->threshold = full_is_over && chance(random, 50) ? PTL_MD_THRESH_INF : (int)draw_between(random, 1, 40);
	if (full_is_over) {
		lane->options |= PTL_MD_MAX_SIZE;
		lane->max_size = draw_between(random, 1, lane->block);
	}
}

/*
 * No START, and updated once the longer messages are enough to fill it: only the update's test can notice that a shorter
 * one, long enough to take its time, came before and is still under way.
 */
static void draw_secretive_chain(struct lane *lane, struct random *random)
{
	draw_chain(lane, random);
	lane->options &= ~(unsigned)PTL_MD_EVENT_END_DISABLE;
	lane->options |= PTL_MD_EVENT_START_DISABLE | PTL_MD_MAX_SIZE | PTL_MD_OP_GET;
	lane->block = 1u << draw_between(random, 15, 16);
	lane->max_size = lane->block - draw_between(random, 3000, 7000);
	lane->revive = true;
	lane->keeps_entry = false;
}

/* Like the blocks of an MPI library; order is read from START. */
static void draw_receives(struct lane *lane, struct random *random)
{
	lane->options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | maybe(random, 30, PTL_MD_TRUNCATE);
	lane->block = 1u << draw_between(random, 12, 16);
	lane->max_size = draw_between(random, 1, lane->block / 2);
	lane->threshold = PTL_MD_THRESH_INF;
	lane->depth = 3;
	lane->catch_all = true;
}

static void draw_lane(struct lane *lane, unsigned number, struct random *random)
{
	static const enum lane_kind kinds[LANES] = {LANE_WINDOW, LANE_WINDOW, LANE_SOURCE, LANE_SWAP,    LANE_FLOOD,
						    LANE_CHAIN,  LANE_CHAIN,  LANE_CHAIN,  LANE_RECEIVES};
	*lane = (struct lane){.kind = kinds[number], .index = 4 + number % 4};
	lane->pieces = chance(random, 30) ? draw_between(random, 2, MAX_PIECES) : 1;
	switch (lane->kind) {
	case LANE_WINDOW:
		draw_window(lane, random, number == 1);
		break;
	case LANE_SOURCE:
		draw_source(lane, random);
		break;
	case LANE_SWAP:
		draw_swap(lane, random);
		break;
	case LANE_FLOOD:
		draw_flood(lane, random);
		break;
	case LANE_CHAIN:
		if (number == SECRETIVE_LANE)
			draw_secretive_chain(lane, random);
		else
			draw_chain(lane, random);
		break;
	default:
		draw_receives(lane, random);
		break;
	}
}

/* ---- Requests ---- */

static uint32_t draw_length(struct random *random)
{
	static const struct {
		unsigned percent;
		uint32_t low, high;
	} sizes[] = {
		{6, 0, 0},        {44, 1, 64},       {25, 65, 1024},      {16, 1025, 4096},
		{5, 4097, 16500}, {3, 16000, 66000}, {1, 66000, LONGEST},
	};
	unsigned roll = draw(random, 100), row = 0;
	while (roll >= sizes[row].percent)
		roll -= sizes[row++].percent;
	return draw_between(random, sizes[row].low, sizes[row].high);
}

static enum operation_kind draw_operation(const struct lane *lane, struct random *random)
{
	switch (lane->kind) {
	case LANE_SOURCE:
		return OPERATION_GET;
	case LANE_SWAP:
		return OPERATION_SWAP;
	case LANE_CHAIN:
		return lane->options & PTL_MD_OP_GET && chance(random, 40) ? OPERATION_GET : OPERATION_PUT;
	default:
		return OPERATION_PUT;
	}
}

static enum origin_kind draw_origin(enum operation_kind kind, struct random *random)
{
	static const enum origin_kind for_put[] = {ORIGIN_POOL, ORIGIN_POOL, ORIGIN_PIECES, ORIGIN_COUNTED,
						   ORIGIN_OWN,  ORIGIN_KEPT, ORIGIN_HASTY,  ORIGIN_MUTE};
	static const enum origin_kind for_get[] = {ORIGIN_POOL, ORIGIN_POOL, ORIGIN_COUNTED,
						   ORIGIN_OWN,  ORIGIN_KEPT, ORIGIN_HASTY};
	switch (kind) {
	case OPERATION_PUT:
		return for_put[draw(random, sizeof(for_put) / sizeof(for_put[0]))];
	case OPERATION_GET:
		return for_get[draw(random, sizeof(for_get) / sizeof(for_get[0]))];
	default:
		return ORIGIN_OWN;
	}
}

/* A put or get that no descriptor may take: with the wrong address, for the wrong lane, or beyond its end. */
static void draw_fate(struct request *request, const struct lane *lane, struct random *random)
{
	if (!chance(random, 3))
		return;
	request->fate = (enum fate)draw(random, FATES);
	bool one_way = lane->kind == LANE_WINDOW || lane->kind == LANE_FLOOD || lane->kind == LANE_SOURCE;
	if (request->fate == FATE_OPERATION && !one_way)
		request->fate = FATE_BITS;
	if (request->fate == FATE_ROOM && !(one_way || lane->kind == LANE_SWAP))
		request->fate = FATE_INDEX;
	if (request->fate == FATE_OPERATION) {
		request->kind = request->kind == OPERATION_PUT ? OPERATION_GET : OPERATION_PUT;
		request->origin = ORIGIN_POOL;
	}
}

static void draw_place(struct request *request, const struct lane *lane, struct random *random)
{
	if (lane->kind == LANE_SWAP) {
		request->length = lane->word_length;
		request->place = draw(random, lane->words) * lane->word_length;
	} else if (lane->kind == LANE_SOURCE) {
		bool inside = !(lane->options & PTL_MD_TRUNCATE);
		request->place = draw(random, LONGEST - (inside ? request->length : 0) + 1);
	} else {
		request->place = draw_bits(random); /* it is not looked at */
	}
}

static struct request draw_request(unsigned initiator, struct random *random)
{
	struct request request = {.target = draw(random, program.round.processes), .lane = draw(random, LANES)};
	if (request.target == initiator)
		request.target = draw(random, program.round.processes); /* oneself is one of many */
	const struct lane *lane = lane_of(&request);
	request.kind = draw_operation(lane, random);
	request.origin = draw_origin(request.kind, random);
	request.length = draw_length(random);
	if (request.lane == SECRETIVE_LANE && chance(random, 50))
		request.length = draw_between(random, 2000, 9000);
	if (lane->kind == LANE_CHAIN && request.length > 2 * lane->block)
		request.length %= 2 * lane->block;
	request.tag = draw(random, 4);
	request.ack = request.kind == OPERATION_PUT && chance(random, 50);
	request.tight = chance(random, 20);
	request.second = chance(random, 30);
	request.quiet = maybe(random, 25, PTL_MD_EVENT_START_DISABLE);
	if (request.kind == OPERATION_PUT || (request.kind == OPERATION_GET && !request.quiet))
		request.quiet |= maybe(random, 20, PTL_MD_EVENT_END_DISABLE);
	request.pieces = chance(random, 25) ? draw_between(random, 2, MAX_PIECES) : 1;
	request.pause = draw(random, 4);
	request.patience = draw_between(random, 1, program.hurried ? 5000 : 64);
	draw_fate(&request, lane, random);
	draw_place(&request, lane, random);
	return request;
}

static bool is_wanted(const struct request *request, uint32_t drawn)
{
	return drawn >= program.round.first && drawn < program.round.beyond &&
	       program.round.kinds & 1u << lane_of(request)->kind;
}

/* Every put into a window and every reply gets a place of its own, so that all can be looked at in the end. */
static void assign_places(unsigned initiator, struct request *request)
{
	struct lane *lane = &program.lanes[request->target][request->lane];
	if (lane->kind == LANE_WINDOW || lane->kind == LANE_FLOOD) {
		request->place = lane->size;
		if (request->fate == FATE_NONE)
			lane->size += request->length + 1;
	}
	if (request->kind != OPERATION_PUT) {
		request->sink = program.sink_size[initiator];
		program.sink_size[initiator] += request->length + 1;
	}
}

static void draw_requests(unsigned initiator, struct random *random)
{
	program.requests[initiator] = calloc(program.round.operations + 1, sizeof(struct request));
	if (!program.requests[initiator])
		abort();
	for (uint32_t drawn = 0; drawn < program.round.operations; drawn++) {
		struct request request = draw_request(initiator, random);
		if (!is_wanted(&request, drawn))
			continue;
		assign_places(initiator, &request);
		program.requests[initiator][program.count[initiator]++] = request;
	}
	program.base[initiator] = program.total;
	program.total += program.count[initiator];
}

/* Only now it is known where windows end. */
static void place_beyond_the_end(unsigned initiator)
{
	for (uint32_t number = 0; number < program.count[initiator]; number++) {
		struct request *request = &program.requests[initiator][number];
		if (request->fate == FATE_ROOM)
			request->place = lane_of(request)->size + 1 + request->tag;
	}
}

static uint64_t lay_out_window_memory(void)
{
	uint64_t size = 0;
	for (unsigned process = 0; process < program.round.processes; process++) {
		for (unsigned i = 0; i < LANES; i++) {
			struct lane *lane = &program.lanes[process][i];
			lane->window_memory = size;
			if (lane->kind == LANE_WINDOW || lane->kind == LANE_FLOOD || lane->kind == LANE_SWAP)
				size += (area_extent(lane->size, MAX_PIECES) + 63) & ~63ull;
		}
	}
	return size;
}

static unsigned count_of(const char *const *names)
{
	unsigned count = 1;
	while (names[count])
		count++;
	return count;
}

/* Neighbouring seeds take turns on all combinations. */
static void draw_combination(struct random *random)
{
	static const char *const shorts[] = {"auto", "auto", "2K", "8K"};
	program.transport = transports[program.round.seed % count_of(transports)];
	program.mode = nic_modes[program.round.seed / count_of(transports) % count_of(nic_modes)];
	program.short_max = shorts[draw(random, 4)];
	program.hurried = chance(random, 20);
	uint32_t processes = strcmp(program.transport, "self") == 0 ? 1 : draw_between(random, 2, FREE_PROCESSES);
	/* NIC threads that never sleep wait for each other: two of them, and for less. */
	if (strcmp(program.mode, "dedicated") == 0) {
		processes = processes < 2 ? processes : 2;
		program.round.operations /= 3;
	}
	if (program.round.processes == 0 || program.round.processes > processes)
		program.round.processes = processes;
}

void program_draw(const struct round *round)
{
	struct random random = {round->seed};
	program = (struct program){.round = *round};
	draw_combination(&random);
	for (unsigned process = 0; process < program.round.processes; process++)
		for (unsigned i = 0; i < LANES; i++)
			draw_lane(&program.lanes[process][i], i, &random);
	for (unsigned process = 0; process < program.round.processes; process++)
		draw_requests(process, &(struct random){round->seed * 31 + process});
	for (unsigned process = 0; process < program.round.processes; process++)
		place_beyond_the_end(process);
	program.window_memory_size = lay_out_window_memory() + 64;
}

void program_free(void)
{
	for (unsigned process = 0; process < program.round.processes; process++)
		free(program.requests[process]);
}
