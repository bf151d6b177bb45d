/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/memory_region.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/descriptor.h"
#include "offload/nic.h"
#include "offload/trace.h"
#include "offload/wire.h"

/* --- exposing --- */

/* As constant as the caller takes it. */
static struct exposed_piece *piece_at(const struct memory_regions *memory_regions, unsigned i)
{
	return memory_regions->many ? &memory_regions->many[i] : (struct exposed_piece *)&memory_regions->one;
}

static int expose_piece(struct nic *nic, struct memory_regions *memory_regions, const struct iovec *iov,
			enum memory_region_use use)
{
	struct transport *transport = memory_regions->transport;
	struct exposed_piece *piece = piece_at(memory_regions, memory_regions->count);
	uint64_t start = timing_start(&nic->timing);
	int rc = transport->ops->register_memory(transport, iov->iov_base, iov->iov_len, use, &piece->memory_region);

	timing_stop(&nic->timing, PTL_STAGE_REGISTER, start);
	trace(nic, PTL_DBG_MEMORY, "%zu bytes at %p exposed to %s: %d", iov->iov_len, iov->iov_base,
	      transport->ops->name, rc);
	piece->length = iov->iov_len;
	memory_regions->count += rc == 0;
	return rc;
}

int memory_regions_make(struct nic *nic, struct transport *transport, const struct iovec *pieces, unsigned count,
			enum memory_region_use use, struct memory_regions *memory_regions)
{
	int rc = 0;

	memory_regions->transport = transport;
	if (count > 1 && !(memory_regions->many = calloc(count, sizeof(*memory_regions->many))))
		rc = -ENOMEM;
	for (unsigned i = 0; i < count && rc == 0; i++)
		rc = expose_piece(nic, memory_regions, &pieces[i], use);
	if (rc)
		memory_regions_end(memory_regions);
	return rc;
}

void memory_regions_end(struct memory_regions *memory_regions)
{
	struct transport *transport = memory_regions->transport;

	for (unsigned i = 0; i < memory_regions->count; i++)
		transport->ops->deregister(transport, &piece_at(memory_regions, i)->memory_region);
	free(memory_regions->many);
	memory_regions->transport = NULL;
	memory_regions->count = 0;
	memory_regions->many = NULL;
}

/* --- finding --- */

/* The number of the piece in which *offset lies, which becomes the offset there; count: beyond the last. */
static unsigned find_piece(const struct memory_regions *memory_regions, uint64_t *offset)
{
	unsigned i = 0;

	for (; i < memory_regions->count && *offset >= piece_at(memory_regions, i)->length; i++)
		*offset -= piece_at(memory_regions, i)->length;
	return i;
}

const struct memory_region *memory_regions_at(const struct memory_regions *memory_regions, uint64_t offset)
{
	unsigned i = find_piece(memory_regions, &offset);

	return i < memory_regions->count ? &piece_at(memory_regions, i)->memory_region : NULL;
}

unsigned memory_regions_name(const struct memory_regions *memory_regions, uint64_t offset, uint64_t length,
			     struct wire_segment *segments)
{
	unsigned count = 0;

	for (unsigned i = find_piece(memory_regions, &offset); i < memory_regions->count && length > 0;
	     i++, offset = 0) {
		const struct exposed_piece *piece = piece_at(memory_regions, i);
		uint64_t take = piece->length - offset < length ? piece->length - offset : length;

		segments[count++] =
			(struct wire_segment){piece->memory_region.address + offset, piece->memory_region.key, take};
		length -= take;
	}
	return count;
}
