/* SPDX-License-Identifier: BSD-3-Clause */
/* First whole ranges of steps are left out, long ones before short ones; then what remains is made plainer. */
#include "tests/model/shrink.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

struct shrinking {
	struct program *program; /* the smallest so far */
	struct program trial;
	bool (*fails)(const struct program *);
	time_t deadline;
};

static bool is_late(const struct shrinking *shrinking)
{
	return time(NULL) >= shrinking->deadline;
}

static bool try(struct shrinking *shrinking)
{
	if (is_late(shrinking) || !shrinking->fails(&shrinking->trial))
		return false;
	*shrinking->program = shrinking->trial;
	return true;
}

static bool try_without(struct shrinking *shrinking, unsigned first, unsigned count)
{
	struct program *trial = &shrinking->trial;

	*trial = *shrinking->program;
	memmove(&trial->steps[first], &trial->steps[first + count],
		(trial->count - first - count) * sizeof(trial->steps[0]));
	trial->count -= count;
	return try(shrinking);
}

/* From the end, where most is in vain: what comes after the failure. */
static bool drop_ranges(struct shrinking *shrinking, unsigned length)
{
	bool any = false;

	for (unsigned last = shrinking->program->count; last >= length && last > 0;) {
		any |= try_without(shrinking, last - length, length);
		last -= length;
	}
	return any;
}

static bool drop_steps(struct shrinking *shrinking)
{
	bool any = false;

	for (unsigned length = shrinking->program->count; length > 0 && !is_late(shrinking); length /= 2)
		any |= drop_ranges(shrinking, length);
	return any;
}

/* What an argument may be replaced by: the plainest values first. */
static const struct plainer {
	size_t offset, size;
	uint64_t value;
} plainer[] = {
#define PLAIN(field, value)                                                                                            \
	{                                                                                                              \
		offsetof(struct step, field), sizeof(((struct step *)0)->field), value                                 \
	}
	PLAIN(count, 0),
	PLAIN(count, 1),
	PLAIN(ack, 0),
	PLAIN(ac, 0),
	PLAIN(bits, 0),
	PLAIN(ignore, 0),
	PLAIN(offset, 0),
	PLAIN(length, 0),
	PLAIN(length, 1),
	PLAIN(remote_offset, 0),
	PLAIN(hdr_data, 0),
	PLAIN(index, 0),
	PLAIN(status, 0),
	PLAIN(who, 0),
	PLAIN(who, WHO_ANY),
	PLAIN(unlink, PTL_RETAIN),
	PLAIN(position, PTL_INS_AFTER),
	PLAIN(queue, PROGRAM_NONE),
	PLAIN(md_unlink, PTL_RETAIN),
	PLAIN(memory.options, 0),
	PLAIN(memory.options, PTL_MD_OP_PUT),
	PLAIN(memory.options, PTL_MD_OP_PUT | PTL_MD_OP_GET),
	PLAIN(memory.options, PTL_MD_OP_PUT | PTL_MD_TRUNCATE),
	PLAIN(memory.offset, 0),
	PLAIN(memory.length, 0),
	PLAIN(memory.length, 1),
	PLAIN(memory.length, 8),
	PLAIN(memory.pieces, 2),
	PLAIN(memory.scatter, 0),
	PLAIN(memory.threshold, (uint32_t)PTL_MD_THRESH_INF),
	PLAIN(memory.threshold, 1),
	PLAIN(memory.max_size, 0),
	PLAIN(memory.user, 0),
	PLAIN(memory.queue, PROGRAM_NONE),
	PLAIN(memory.wrong, RIGHT),
};

static bool try_plainer(struct shrinking *shrinking, unsigned step, const struct plainer *plain)
{
	uint8_t *field;

	shrinking->trial = *shrinking->program;
	field = (uint8_t *)&shrinking->trial.steps[step] + plain->offset;
	if (memcmp(field, &plain->value, plain->size) == 0) /* little-endian */
		return false;
	memcpy(field, &plain->value, plain->size);
	return try(shrinking);
}

static bool simplify_steps(struct shrinking *shrinking)
{
	bool any = false;

	for (unsigned step = 0; step < shrinking->program->count; step++)
		for (size_t i = 0; i < sizeof(plainer) / sizeof(plainer[0]); i++)
			any |= try_plainer(shrinking, step, &plainer[i]);
	return any;
}

static bool simplify_circumstances(struct shrinking *shrinking)
{
	struct program *trial = &shrinking->trial;
	bool any = false;

	*trial = *shrinking->program;
	trial->local_registration = trial->pins = trial->anonymous = false;
	any |= try(shrinking);
	*trial = *shrinking->program;
	trial->depth = 1;
	trial->chunk = 1000;
	return any | try(shrinking);
}

void shrink(struct program *program, bool (*fails)(const struct program *), double seconds)
{
	static struct shrinking shrinking;

	shrinking = (struct shrinking){.program = program, .fails = fails, .deadline = time(NULL) + (time_t)seconds};
	simplify_circumstances(&shrinking);
	while (drop_steps(&shrinking))
		;
	while (simplify_steps(&shrinking) && !is_late(&shrinking))
		drop_steps(&shrinking);
}
