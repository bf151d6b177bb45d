/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs.  Pure chance hits nothing: so few match bits, indexes and lengths are used that requests meet
 * entries, fill descriptors exactly or by one byte too much, and descriptors die while operations are under way.
 */
#include <errno.h>
#include <string.h>

#include "tests/model/program.h"

#define FURNITURE 13 /* steps with which an interface begins */

static uint64_t random_bits(struct generator *generator)
{
	/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators) */
	uint64_t z = generator->state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static uint32_t below(struct generator *generator, uint32_t limit)
{
	return (uint32_t)(random_bits(generator) >> 32) % limit;
}

static bool chance(struct generator *generator, unsigned of_100)
{
	return below(generator, 100) < of_100;
}

/* One of the listed values. */
#define ONE_OF(generator, type, ...)                                                                                   \
	(((const type[]){__VA_ARGS__})[below(generator, sizeof((const type[]){__VA_ARGS__}) / sizeof(type))])

static uint32_t favourite(struct generator *generator)
{
	return generator->favourites[below(generator, 4)];
}

/* --- circumstances --- */

static const unsigned usual_weights[STEP_KINDS] = {
	[STEP_EQ_ALLOC] = 3,    [STEP_EQ_FREE] = 1,    [STEP_EQ_GET] = 70,      [STEP_EQ_POLL] = 12,
	[STEP_STATUS] = 12,     [STEP_AC_ENTRY] = 5,   [STEP_ME_ATTACH] = 24,   [STEP_ME_ATTACH_ANY] = 3,
	[STEP_ME_INSERT] = 14,  [STEP_ME_UNLINK] = 12, [STEP_MD_ATTACH] = 16,   [STEP_MD_BIND] = 20,
	[STEP_MD_UPDATE] = 24,  [STEP_MD_UNLINK] = 14, [STEP_POST] = 14,        [STEP_PUT] = 70,
	[STEP_PUT_REGION] = 36, [STEP_GET] = 30,       [STEP_GET_REGION] = 20,  [STEP_GETPUT] = 24,
	[STEP_CHURN] = 2,       [STEP_DRIVE] = 6,      [STEP_REFUSE_SENDS] = 3, [STEP_REFUSE_READS] = 2,
	[STEP_GONE] = 2,        [STEP_RESTART] = 1,    [STEP_TIME] = 2,
};

static void choose_weights(struct generator *generator)
{
	memcpy(generator->weight, usual_weights, sizeof(usual_weights));
	for (unsigned kind = 0; kind < STEP_DELIVER; kind++)
		if (chance(generator, 20)) /* something is done more often in this program, or never */
			generator->weight[kind] *= chance(generator, 50) ? 4 : 0;
	if (chance(generator, 10)) { /* churn: processes lose each other all the time */
		for (unsigned kind = STEP_REFUSE_SENDS; kind <= STEP_TIME; kind++)
			generator->weight[kind] *= 15;
	} else if (chance(generator, 70)) {
		generator->weight[STEP_GONE] = 0;
	}
	if (chance(generator, 80))
		generator->weight[STEP_RESTART] = 0;
	if (chance(generator, 50))
		generator->weight[STEP_REFUSE_SENDS] = generator->weight[STEP_REFUSE_READS] = 0;
	if (chance(generator, 80))
		generator->weight[STEP_EQ_FREE] = 0;
	if (chance(generator, 30))
		generator->weight[STEP_EQ_GET] /= 16, generator->weight[STEP_EQ_POLL] /= 16; /* queues overflow */
	generator->weight[STEP_PUT] += 10;
}

static void choose_lengths(struct generator *generator)
{
	uint32_t edge = generator->program->short_max;

	generator->favourites[0] = ONE_OF(generator, uint32_t, 0, 1, 8);
	generator->favourites[1] = edge - (edge > 0 && chance(generator, 40));
	generator->favourites[2] = edge + 1 + below(generator, 3);
	generator->favourites[3] = ONE_OF(generator, uint32_t, 2, 16, 50, 200, 256, 500);
}

void generator_begin(struct generator *generator, struct program *program, uint64_t seed)
{
	*generator = (struct generator){.state = seed, .program = program, .attach = -1};
	program->seed = seed;
	program->count = 0;
	program->interfaces = ONE_OF(generator, unsigned, 1, 2, 2, 2, 3, 3);
	program->short_max = ONE_OF(generator, uint32_t, 0, 16, 40, 64, 100);
	program->chunk = ONE_OF(generator, uint32_t, 7, 32, 100, 1000);
	program->depth = ONE_OF(generator, uint32_t, 1, 2, 8);
	program->local_registration = chance(generator, 20);
	program->anonymous = chance(generator, 20);
	generator->steps = chance(generator, 5) ? 1500 : 80 + below(generator, 400);
	generator->eager = ONE_OF(generator, unsigned, 10, 30, 50, 80);
	generator->disable = ONE_OF(generator, unsigned, 0, 10, 30);
	generator->iovec = ONE_OF(generator, unsigned, 0, 20, 60);
	generator->failing = ONE_OF(generator, unsigned, 0, 0, 0, 10);
	generator->queue_size = ONE_OF(generator, unsigned, 1, 5, 16, 200);
	generator->portals = ONE_OF(generator, unsigned, 1, 2, 3);
	generator->bits = ONE_OF(generator, unsigned, 1, 2, 4);
	/* Drawn apart from the rest, which depends on it in nothing. */
	program->pins = chance(&(struct generator){.state = ~seed}, 50);
	choose_weights(generator);
	choose_lengths(generator);
}

/* --- parts of steps --- */

static uint8_t any_slot(struct generator *generator, unsigned slots)
{
	return chance(generator, 1) ? PROGRAM_BAD : (uint8_t)below(generator, slots);
}

static uint8_t any_queue(struct generator *generator, unsigned none)
{
	return chance(generator, none) ? PROGRAM_NONE : any_slot(generator, PROGRAM_QUEUES);
}

static uint32_t any_portal(struct generator *generator)
{
	return chance(generator, 2) ? ONE_OF(generator, uint32_t, 63, 64, 65535, 65536)
				    : below(generator, generator->portals);
}

static uint8_t any_matcher(struct generator *generator)
{
	return chance(generator, 60) ? WHO_ANY : (uint8_t)below(generator, WHOS);
}

static uint8_t any_target(struct generator *generator)
{
	if (chance(generator, 97))
		return (uint8_t)below(generator, generator->program->interfaces);
	return chance(generator, 80) ? WHO_NOBODY : ONE_OF(generator, uint8_t, WHO_ANY, WHO_ANY_PID, WHO_ANY_NID);
}

static uint32_t any_options(struct generator *generator)
{
	static const struct {
		uint32_t bit;
		unsigned of_100;
	} chances[] = {
		{PTL_MD_OP_PUT, 88},   {PTL_MD_OP_GET, 65},      {PTL_MD_MANAGE_REMOTE, 30}, {PTL_MD_TRUNCATE, 40},
		{PTL_MD_MAX_SIZE, 35}, {PTL_MD_ACK_DISABLE, 10}, {PTL_MD_LOCAL_ALIGN8, 2},
	};
	uint32_t options = 0;

	for (size_t i = 0; i < sizeof(chances) / sizeof(chances[0]); i++)
		options |= chance(generator, chances[i].of_100) ? chances[i].bit : 0;
	options |= chance(generator, generator->disable) ? PTL_MD_EVENT_START_DISABLE : 0;
	options |= chance(generator, generator->disable) ? PTL_MD_EVENT_END_DISABLE : 0;
	options |= chance(generator, generator->iovec) ? PTL_MD_IOVEC : 0;
	return options;
}

static uint32_t any_length(struct generator *generator, unsigned most_parts)
{
	uint32_t length = 0;

	for (unsigned parts = 1 + below(generator, most_parts); parts > 0; parts--)
		length += favourite(generator);
	if (chance(generator, 20))
		length += ONE_OF(generator, uint32_t, 1, UINT32_MAX); /* one more or less */
	return length > PROGRAM_MEMORY / 2 ? PROGRAM_MEMORY / 2 : length;
}

static void fill_memory(struct generator *generator, struct step *step, unsigned most_parts)
{
	struct step_md *md = &step->memory;

	md->options = any_options(generator);
	md->length = any_length(generator, most_parts);
	md->offset = below(generator, PROGRAM_MEMORY - md->length);
	if (md->options & PTL_MD_IOVEC) {
		md->pieces = ONE_OF(generator, uint32_t, 0, 1, 2, 3, 4, 9, 60, 256, 257);
		md->length = md->pieces ? md->length : 0;
		md->scatter = below(generator, 4) ? 1 + below(generator, 1000) : 0;
	}
	md->threshold =
		ONE_OF(generator, int32_t, PTL_MD_THRESH_INF, PTL_MD_THRESH_INF, 1, 1, 1, 2, 2, 2, 3, 4, 5, 0, -2);
	uint64_t usual = favourite(generator);

	md->max_size = ONE_OF(generator, uint64_t, 0, 1, usual, usual, usual, usual + 1, UINT64_MAX);
	md->user = below(generator, 1000);
	md->queue = any_queue(generator, 10);
	md->queue_ni = chance(generator, 99) ? step->ni : (uint8_t)below(generator, generator->program->interfaces);
	if (chance(generator, 1))
		md->wrong = ONE_OF(generator, uint8_t, NULL_START, TOO_MANY_PIECES, WRAPS_AROUND);
	step->md_unlink = chance(generator, 60) ? PTL_UNLINK : PTL_RETAIN;
	if (step->md < PROGRAM_MDS)
		generator->md_length[step->ni][step->md] = md->length;
}

/* --- steps, by kind --- */

static void fill_queue(struct generator *generator, struct step *step)
{
	unsigned at = generator->program->count;

	if (step->kind != STEP_EQ_ALLOC)
		step->queue = any_slot(generator, PROGRAM_QUEUES);
	else if (at < FURNITURE * generator->program->interfaces)
		step->queue = (uint8_t)(at % FURNITURE); /* the first ones are different ones */
	else
		step->queue = (uint8_t)below(generator, PROGRAM_QUEUES);
	step->count = below(generator, 30) ? 1 + below(generator, generator->queue_size) : 0;
	if (step->kind == STEP_EQ_POLL) {
		step->queue = (uint8_t)below(generator, PROGRAM_QUEUES);
		step->count = 1 + below(generator, PROGRAM_QUEUES - step->queue);
	}
}

static void fill_status(struct generator *generator, struct step *step)
{
	uint32_t pt = any_portal(generator);

	step->index = ONE_OF(generator, uint32_t, PTL_SR_DROP_COUNT, PTL_SR_DROP_COUNT, PTL_SR_DROP_LENGTH,
			     PTL_SR_RECV_COUNT, PTL_SR_RECV_LENGTH, PTL_SR_SEND_COUNT, PTL_SR_SEND_LENGTH,
			     PTL_SR_SEND_LENGTH + 1, PTL_SR_MLIST_LEN(pt), PTL_SR_MLIST_MAX(pt));
}

static void fill_access(struct generator *generator, struct step *step)
{
	step->ac = chance(generator, 90) ? 1 + below(generator, 2) : ONE_OF(generator, uint32_t, 0, 7, 8);
	step->who = any_matcher(generator);
	step->uid = ONE_OF(generator, uint8_t, 0, 0, 1, 1, 2);
	step->jid = ONE_OF(generator, uint8_t, 0, 0, 1, 1, 2);
	step->pt = chance(generator, 70) ? PTL_PT_INDEX_ANY : any_portal(generator);
}

static void fill_entry(struct generator *generator, struct step *step)
{
	step->me = (uint8_t)below(generator, PROGRAM_ENTRIES);
	step->base = any_slot(generator, PROGRAM_ENTRIES);
	step->pt = any_portal(generator);
	step->who = any_matcher(generator);
	step->bits = below(generator, generator->bits);
	step->ignore = ONE_OF(generator, uint64_t, 0, 0, 0, 1, 2, UINT64_MAX);
	if (chance(generator, 3))
		step->bits |= UINT64_C(1) << 63;
	step->unlink = chance(generator, 60) ? PTL_UNLINK : PTL_RETAIN;
	step->position = chance(generator, 50) ? PTL_INS_BEFORE : PTL_INS_AFTER;
	uint32_t pt = step->kind == STEP_ME_ATTACH || step->base >= PROGRAM_ENTRIES
			      ? step->pt
			      : generator->entry[step->ni][step->base].pt;

	generator->entry[step->ni][step->me].pt = pt;
	generator->entry[step->ni][step->me].bits = step->bits;
	if (step->kind != STEP_POST && chance(generator, 80))
		generator->attach = step->me;
}

static void fill_md(struct generator *generator, struct step *step)
{
	step->md = (uint8_t)below(generator, PROGRAM_MDS);
	if (step->kind == STEP_MD_UNLINK || step->kind == STEP_MD_UPDATE)
		step->md = any_slot(generator, PROGRAM_MDS);
	step->me = any_slot(generator, PROGRAM_ENTRIES);
	if (step->kind == STEP_MD_ATTACH && generator->attach >= 0) {
		step->me = (uint8_t)generator->attach;
		generator->attach = -1;
	}
	fill_memory(generator, step, step->kind == STEP_MD_BIND ? 1 : 4);
	step->queue = any_queue(generator, 50);
	step->count = chance(generator, 85); /* update: with something new */
}

static void fill_post(struct generator *generator, struct step *step)
{
	fill_entry(generator, step);
	fill_md(generator, step);
	step->me = (uint8_t)below(generator, PROGRAM_ENTRIES);
}

static uint64_t any_offset(struct generator *generator, uint64_t length)
{
	if (chance(generator, 3))
		return ONE_OF(generator, uint64_t, UINT64_MAX, UINT64_MAX - length, UINT64_C(1) << 63);
	uint64_t usual = favourite(generator);

	return ONE_OF(generator, uint64_t, 0, 0, 0, 1, usual, usual + 1, length);
}

static void fill_move(struct generator *generator, struct step *step)
{
	uint8_t entry = (uint8_t)below(generator, PROGRAM_ENTRIES);

	step->md = any_slot(generator, PROGRAM_MDS);
	step->put_md = chance(generator, 30) ? step->md : any_slot(generator, PROGRAM_MDS);
	uint32_t room = step->md < PROGRAM_MDS ? generator->md_length[step->ni][step->md] : 0;

	step->who = any_target(generator);
	step->ack = chance(generator, 60);
	step->ac = chance(generator, 80) ? 0 : ONE_OF(generator, uint32_t, 1, 1, 2, 2, 7, 8, 65535, 65536);
	step->pt = any_portal(generator);
	step->bits = below(generator, generator->bits);
	if (step->who < PROGRAM_INTERFACES && chance(generator, 90)) {
		step->pt = generator->entry[step->who][entry].pt;
		step->bits = generator->entry[step->who][entry].bits;
	}
	step->length = chance(generator, 50) && room ? below(generator, room + 1) : favourite(generator);
	step->offset = room > step->length ? below(generator, (uint32_t)(room - step->length) + 1)
					   : any_offset(generator, room);
	step->remote_offset = any_offset(generator, room);
	step->hdr_data = random_bits(generator);
	step->count = chance(generator, 1) && chance(generator, 20) ? 300 : 1;
}

static void fill_happening(struct generator *generator, struct step *step)
{
	step->count = 1 + below(generator, 4);
	step->index = below(generator, 8);
	if (step->kind == STEP_CHURN)
		step->count = PROGRAM_CHURN;
	else if (step->kind == STEP_GONE)
		step->index %= 2;
	else if (step->kind == STEP_TIME)
		step->count = ONE_OF(generator, uint32_t, 1, 60, 300, 1100, 3000);
	else if (step->kind == STEP_COMPLETE && chance(generator, generator->failing))
		step->status = ONE_OF(generator, int32_t, -EIO, -ECONNRESET);
}

static void fill(struct generator *generator, struct step *step)
{
	if (step->kind <= STEP_EQ_POLL)
		fill_queue(generator, step);
	else if (step->kind == STEP_STATUS)
		fill_status(generator, step);
	else if (step->kind == STEP_AC_ENTRY)
		fill_access(generator, step);
	else if (step->kind <= STEP_ME_INSERT)
		fill_entry(generator, step);
	else if (step->kind == STEP_ME_UNLINK)
		step->me = any_slot(generator, PROGRAM_ENTRIES);
	else if (step->kind <= STEP_MD_UNLINK)
		fill_md(generator, step);
	else if (step->kind == STEP_POST)
		fill_post(generator, step);
	else if (step->kind <= STEP_GETPUT)
		fill_move(generator, step);
	else
		fill_happening(generator, step);
}

/* --- which step comes next --- */

/* Every interface starts with queues, a few entries with descriptors, and descriptors to send from. */
static bool furnish(struct generator *generator, struct step *step)
{
	static const uint8_t kinds[FURNITURE] = {STEP_EQ_ALLOC,  STEP_EQ_ALLOC,  STEP_EQ_ALLOC,  STEP_ME_ATTACH,
						 STEP_MD_ATTACH, STEP_ME_ATTACH, STEP_MD_ATTACH, STEP_ME_ATTACH,
						 STEP_MD_ATTACH, STEP_MD_BIND,   STEP_MD_BIND,   STEP_MD_BIND,
						 STEP_MD_BIND};
	unsigned at = generator->program->count;

	if (at >= FURNITURE * generator->program->interfaces)
		return false;
	step->ni = (uint8_t)(at / FURNITURE);
	step->kind = kinds[at % FURNITURE];
	return true;
}

static unsigned pick_weighted(struct generator *generator)
{
	unsigned total = 0, kind = 0;

	for (unsigned i = 0; i < STEP_KINDS; i++)
		total += generator->weight[i];
	unsigned at = below(generator, total);

	while (at >= generator->weight[kind])
		at -= generator->weight[kind++];
	return kind;
}

/* Something that waits to happen, if anything does. */
static bool pick_happening(struct generator *generator, const struct outlook *outlook, struct step *step)
{
	unsigned count = 0;

	for (unsigned ni = 0; ni < PROGRAM_INTERFACES; ni++) {
		for (unsigned peer = 0; peer < PROGRAM_INTERFACES; peer++) {
			if (outlook->waiting[peer][ni] && below(generator, ++count) == 0) {
				step->kind = STEP_DELIVER;
				step->ni = (uint8_t)ni;
				step->peer = (uint8_t)peer;
			}
		}
		if (outlook->reads[ni] && below(generator, ++count) == 0) {
			step->kind = STEP_COMPLETE;
			step->ni = (uint8_t)ni;
		}
	}
	return count > 0;
}

bool generator_next(struct generator *generator, const struct outlook *outlook)
{
	struct program *program = generator->program;
	struct step *step = &program->steps[program->count];

	if (program->count == generator->steps)
		return false;
	memset(step, 0, sizeof(*step));
	if (!furnish(generator, step)) {
		step->ni = (uint8_t)below(generator, program->interfaces);
		step->peer = (uint8_t)below(generator, program->interfaces);
		if (generator->attach >= 0) {
			step->ni = program->steps[program->count - 1].ni;
			step->kind = STEP_MD_ATTACH;
		} else if (!chance(generator, generator->eager) || !pick_happening(generator, outlook, step)) {
			step->kind = (uint8_t)pick_weighted(generator);
		}
	}
	step->second_ni = chance(generator, 98) ? step->ni : (uint8_t)below(generator, program->interfaces);
	fill(generator, step);
	program->count++;
	return true;
}
