/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, byte by byte. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/model/reference_state.h"

void *zeroed(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory) {
		perror("model");
		abort();
	}
	return memory;
}

static uint8_t *byte_at(const struct reference *reference, const struct terms *terms, uint64_t offset)
{
	const struct reference_piece *piece = terms->piece;

	while (offset >= piece->length)
		offset -= piece++->length;
	return &reference->interface[terms->md->object.ni].memory[piece->offset + offset];
}

void region_get(const struct reference *reference, const struct terms *terms, uint64_t offset, uint64_t length,
		uint8_t *to)
{
	for (uint64_t i = 0; i < length; i++)
		to[i] = *byte_at(reference, terms, offset + i);
}

void region_put(struct reference *reference, const struct terms *terms, uint64_t offset, uint64_t length,
		const uint8_t *from)
{
	for (uint64_t i = 0; i < length; i++)
		*byte_at(reference, terms, offset + i) = from[i];
}

uint8_t *region_copy(const struct reference *reference, const struct terms *terms, uint64_t offset, uint64_t length)
{
	uint8_t *copy = zeroed(length);

	region_get(reference, terms, offset, length, copy);
	return copy;
}
