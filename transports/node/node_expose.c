/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exposed memory is a row in a table, without a system call: whoever may trace this process can read it anyway.  Keys
 * are for what our own code does on behalf of a peer, to which only exposed memory is shown, and they are how a peer's
 * request for memory that is no longer exposed is told from one for its successor.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/report.h"
#include "transports/node/node_copy.h"

#define FIRST_ROOM 256

static int make_room(struct node_copies *copies)
{
	uint32_t room = copies->exposure_room ? copies->exposure_room * 2 : FIRST_ROOM;
	struct node_exposure *grown = realloc(copies->exposures, room * sizeof(*grown));

	if (!grown)
		return report_error(-ENOMEM, "no memory to expose more than %u pieces at a time",
				    copies->exposure_room);
	for (uint32_t i = copies->exposure_room; i < room; i++)
		grown[i] = (struct node_exposure){.generation = 1, .next_free = i + 1}; /* no key is 0 */
	copies->exposures = grown;
	copies->exposure_room = room;
	return 0;
}

int node_expose(struct transport *transport, void *base, size_t length, unsigned uses, struct exposure *exposure)
{
	struct node_copies *copies = node_of(transport)->copies;

	(void)uses;
	if (copies->first_free == copies->exposure_room) {
		int rc = make_room(copies);
		if (rc)
			return rc;
	}
	uint32_t index = copies->first_free;
	struct node_exposure *row = &copies->exposures[index];

	copies->first_free = row->next_free;
	row->base = base;
	row->length = length;
	row->live = true;
	*exposure = (struct exposure){.address = (uintptr_t)base, .key = (uint64_t)row->generation << 32 | index};
	return 0;
}

void node_withdraw(struct transport *transport, struct exposure *exposure)
{
	struct node_copies *copies = node_of(transport)->copies;
	uint32_t index = (uint32_t)exposure->key;
	struct node_exposure *row = &copies->exposures[index];

	row->live = false;
	row->generation++;
	row->next_free = copies->first_free;
	copies->first_free = index;
	*exposure = (struct exposure){0};
}

const uint8_t *node_exposed(const struct node_copies *copies, uint64_t key, uint64_t address, uint64_t length)
{
	uint32_t index = (uint32_t)key;

	if (index >= copies->exposure_room)
		return NULL;
	const struct node_exposure *row = &copies->exposures[index];
	uint64_t offset = address - (uintptr_t)row->base;

	if (!row->live || row->generation != key >> 32 || offset > row->length || length > row->length - offset)
		return NULL;
	return row->base + offset;
}
