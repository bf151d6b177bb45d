/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the library and the model say the same. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/exact.h"

/* Numbers of operations are free, but the same on both sides of an equation; the library counts them per interface. */
#define LINKS 65536

static struct {
	ptl_handle_any_t *handle; /* by the model's number */
	unsigned handles;
	struct {
		ptl_seq_t theirs, ours;
		uint64_t round;
	} by_model[LINKS], by_library[PROGRAM_INTERFACES][LINKS];
	uint64_t round; /* which program: older entries mean nothing */
} known;

void compare_begin(void)
{
	known.round++;
}

void compare_restarted(unsigned ni)
{
	memset(known.by_library[ni], 0, sizeof(known.by_library[ni]));
}

void handle_note(unsigned number, ptl_handle_any_t handle)
{
	if (number >= known.handles) {
		known.handles = 2 * number + 64;
		known.handle = realloc(known.handle, known.handles * sizeof(*known.handle));
	}
	known.handle[number] = handle;
}

ptl_handle_any_t handle_of_number(unsigned number)
{
	return known.handle[number];
}

void compare_codes(const char *call, int actual, int expected)
{
	if (actual != expected)
		disagree("%s returns %s, must be %s", call, PtlErrorStr((unsigned)actual),
			 PtlErrorStr((unsigned)expected));
}

void compare_memory(void)
{
	for (unsigned ni = 0; ni < exact.program->interfaces; ni++) {
		const uint8_t *actual = exact.memory[ni], *expected = reference_memory(exact.reference, ni);
		unsigned i = 0;

		if (memcmp(actual, expected, PROGRAM_MEMORY) == 0)
			continue;
		while (actual[i] == expected[i])
			i++;
		disagree("memory[%u][%u] is %#x, must be %#x", ni, i, actual[i], expected[i]);
	}
}

#define COMPARE(what, field)                                                                                           \
	do {                                                                                                           \
		if (actual->field != expected->field)                                                                  \
			disagree("%s: " #field " is %#" PRIx64 ", must be %#" PRIx64, what, (uint64_t)actual->field,   \
				 (uint64_t)expected->field);                                                           \
	} while (0)

void compare_md(const char *what, const ptl_md_t *actual, const ptl_md_t *expected)
{
	if (actual->start != expected->start || actual->user_ptr != expected->user_ptr)
		disagree("%s: start or user_ptr is not as it was given", what);
	COMPARE(what, length);
	COMPARE(what, threshold);
	COMPARE(what, max_size);
	COMPARE(what, options);
	COMPARE(what, eq_handle);
}

/* Equal on one side if and only if equal on the other. */
static void compare_links(unsigned ni, const char *what, ptl_seq_t theirs, ptl_seq_t ours)
{
	unsigned by_ours = ours % LINKS, by_theirs = theirs % LINKS;

	if (known.by_model[by_ours].round == known.round && known.by_model[by_ours].ours == ours &&
	    known.by_model[by_ours].theirs != theirs)
		disagree("%s: link is %" PRIu32 ", other events of the operation have %" PRIu32, what, theirs,
			 known.by_model[by_ours].theirs);
	if (known.by_library[ni][by_theirs].round == known.round && known.by_library[ni][by_theirs].theirs == theirs &&
	    known.by_library[ni][by_theirs].ours != ours)
		disagree("%s: link %" PRIu32 " is that of another operation", what, theirs);
	known.by_model[by_ours].theirs = known.by_library[ni][by_theirs].theirs = theirs;
	known.by_model[by_ours].ours = known.by_library[ni][by_theirs].ours = ours;
	known.by_model[by_ours].round = known.by_library[ni][by_theirs].round = known.round;
}

void compare_events(unsigned ni, const ptl_event_t *actual, const ptl_event_t *expected)
{
	const char *what = PtlEventKindStr(expected->type);

	if (actual->type != expected->type)
		disagree("event is %s, must be %s", PtlEventKindStr(actual->type), what);
	COMPARE(what, initiator.nid);
	COMPARE(what, initiator.pid);
	COMPARE(what, pt_index);
	COMPARE(what, match_bits);
	COMPARE(what, rlength);
	COMPARE(what, mlength);
	COMPARE(what, offset);
	COMPARE(what, hdr_data);
	COMPARE(what, ni_fail_type);
	COMPARE(what, sequence);
	if (actual->type != PTL_EVENT_ACK && expected->uid != PTL_UID_ANY) /* else unspecified */
		COMPARE(what, uid);
	if (actual->type != PTL_EVENT_ACK && expected->jid != PTL_JID_ANY)
		COMPARE(what, jid);
	if (actual->md_handle != handle_of_number(expected->md_handle))
		disagree("%s: md_handle is %#" PRIx32 ", must be %#" PRIx32, what, actual->md_handle,
			 handle_of_number(expected->md_handle));
	compare_md(what, &actual->md, &expected->md);
	compare_links(ni, what, actual->link, expected->link);
}
