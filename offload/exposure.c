/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/exposure.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/descriptor.h"
#include "offload/nic.h"
#include "offload/trace.h"
#include "offload/wire.h"

/* --- exposing --- */

/* As constant as the caller takes it. */
static struct exposed_piece *piece_at(const struct exposures *exposures, unsigned i)
{
	return exposures->many ? &exposures->many[i] : (struct exposed_piece *)&exposures->one;
}

static int expose_piece(struct nic *nic, struct exposures *exposures, const struct iovec *iov, enum exposure_use use)
{
	struct transport *transport = exposures->transport;
	struct exposed_piece *piece = piece_at(exposures, exposures->count);
	uint64_t start = timing_start(&nic->timing);
	int rc = transport->ops->expose(transport, iov->iov_base, iov->iov_len, use, &piece->exposure);

	timing_stop(&nic->timing, PTL_STAGE_REGISTER, start);
	trace(nic, PTL_DBG_MEMORY, "%zu bytes at %p exposed to %s: %d", iov->iov_len, iov->iov_base,
	      transport->ops->name, rc);
	piece->length = iov->iov_len;
	exposures->count += rc == 0;
	return rc;
}

int exposures_make(struct nic *nic, struct transport *transport, const struct iovec *pieces, unsigned count,
		   enum exposure_use use, struct exposures *exposures)
{
	int rc = 0;

	exposures->transport = transport;
	if (count > 1 && !(exposures->many = calloc(count, sizeof(*exposures->many))))
		rc = -ENOMEM;
	for (unsigned i = 0; i < count && rc == 0; i++)
		rc = expose_piece(nic, exposures, &pieces[i], use);
	if (rc)
		exposures_end(exposures);
	return rc;
}

void exposures_end(struct exposures *exposures)
{
	struct transport *transport = exposures->transport;

	for (unsigned i = 0; i < exposures->count; i++)
		transport->ops->withdraw(transport, &piece_at(exposures, i)->exposure);
	free(exposures->many);
	exposures->transport = NULL;
	exposures->count = 0;
	exposures->many = NULL;
}

/* --- finding --- */

/* The number of the piece in which *offset lies, which becomes the offset there; count: beyond the last. */
static unsigned find_piece(const struct exposures *exposures, uint64_t *offset)
{
	unsigned i = 0;

	for (; i < exposures->count && *offset >= piece_at(exposures, i)->length; i++)
		*offset -= piece_at(exposures, i)->length;
	return i;
}

const struct exposure *exposures_at(const struct exposures *exposures, uint64_t offset)
{
	unsigned i = find_piece(exposures, &offset);

	return i < exposures->count ? &piece_at(exposures, i)->exposure : NULL;
}

unsigned exposures_name(const struct exposures *exposures, uint64_t offset, uint64_t length,
			struct wire_segment *segments)
{
	unsigned count = 0;

	for (unsigned i = find_piece(exposures, &offset); i < exposures->count && length > 0; i++, offset = 0) {
		const struct exposed_piece *piece = piece_at(exposures, i);
		uint64_t take = piece->length - offset < length ? piece->length - offset : length;

		segments[count++] = (struct wire_segment){piece->exposure.address + offset, piece->exposure.key, take};
		length -= take;
	}
	return count;
}
