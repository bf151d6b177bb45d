/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exposed memory is a row in a table, without a system call: a process that may trace this one can read it
 * anyway.  Keys are for what our own code does on behalf of a peer, to which only exposed memory is shown, and they are
 * how a peer's request for memory that is no longer exposed is told from one for its successor.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/report.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_expose.h"

#define FIRST_ROOM 256

static int make_room(struct node_copies *copies)
{
	uint32_t room = copies->memory_region_room ? copies->memory_region_room * 2 : FIRST_ROOM;
	struct node_memory_region *grown = realloc(copies->memory_regions, room * sizeof(*grown));

	if (!grown)
		return report_error(-ENOMEM, "no memory to expose more than %u pieces at a time",
				    copies->memory_region_room);
	for (uint32_t i = copies->memory_region_room; i < room; i++)
		grown[i] = (struct node_memory_region){.generation = 1, .next_free = i + 1}; /* no key is 0 */
	copies->memory_regions = grown;
	copies->memory_region_room = room;
	return 0;
}

int node_register(struct transport *transport, void *base, size_t length, unsigned uses,
		  struct memory_region *memory_region)
{
	struct node_copies *copies = node_of(transport)->copies;

	(void)uses;
	if (copies->first_free == copies->memory_region_room) {
		int rc = make_room(copies);
		if (rc)
			return rc;
	}
	uint32_t index = copies->first_free;
	struct node_memory_region *row = &copies->memory_regions[index];

	copies->first_free = row->next_free;
	row->base = base;
	row->length = length;
	row->live = true;
	*memory_region =
		(struct memory_region){.address = (uintptr_t)base, .key = (uint64_t)row->generation << 32 | index};
	return 0;
}

void node_deregister(struct transport *transport, struct memory_region *memory_region)
{
	struct node_copies *copies = node_of(transport)->copies;
	uint32_t index = (uint32_t)memory_region->key;
	struct node_memory_region *row = &copies->memory_regions[index];

	row->live = false;
	row->generation++;
	row->next_free = copies->first_free;
	copies->first_free = index;
	*memory_region = (struct memory_region){0};
}

const uint8_t *node_exposed(const struct node_copies *copies, uint64_t key, uint64_t address, uint64_t length)
{
	uint32_t index = (uint32_t)key;

	if (index >= copies->memory_region_room)
		return NULL;
	const struct node_memory_region *row = &copies->memory_regions[index];
	uint64_t offset = address - (uintptr_t)row->base;

	if (!row->live || row->generation != key >> 32 || offset > row->length || length > row->length - offset)
		return NULL;
	return row->base + offset;
}
