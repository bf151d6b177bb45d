/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/exposure.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/descriptor.h"
#include "offload/nic.h"
#include "offload/wire.h"

/* Pinning touches every page, so a sparse mapping of this size would cost its memory. */
#define REGISTERED_WHOLE_MAX (UINT64_C(1) << 30)

/* --- exposing --- */

static struct exposed_piece *pieces_of(struct exposures *exposures)
{
	return exposures->many ? exposures->many : &exposures->one;
}

static int expose_piece(struct nic *nic, struct exposures *exposures, const struct iovec *iov, enum exposure_use use)
{
	struct transport *transport = exposures->transport;
	struct exposed_piece *piece = &pieces_of(exposures)[exposures->count];
	uint64_t start = timing_start(&nic->timing);
	int rc = transport->ops->expose(transport, iov->iov_base, iov->iov_len, use, &piece->exposure);

	timing_stop(&nic->timing, PTL_STAGE_REGISTER, start);
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
		transport->ops->withdraw(transport, &pieces_of(exposures)[i].exposure);
	free(exposures->many);
	exposures->transport = NULL;
	exposures->count = 0;
	exposures->many = NULL;
}

/* --- finding --- */

/* The piece in which *offset lies, which becomes the offset there; NULL: beyond the last. */
static const struct exposed_piece *find_piece(const struct exposures *exposures, uint64_t *offset)
{
	const struct exposed_piece *piece = exposures->many ? exposures->many : &exposures->one;

	for (unsigned i = 0; i < exposures->count; i++, piece++) {
		if (*offset < piece->length)
			return piece;
		*offset -= piece->length;
	}
	return NULL;
}

const struct exposure *exposures_at(const struct exposures *exposures, uint64_t offset)
{
	const struct exposed_piece *piece = find_piece(exposures, &offset);

	return piece ? &piece->exposure : NULL;
}

unsigned exposures_name(const struct exposures *exposures, uint64_t offset, uint64_t length,
			struct wire_segment *segments)
{
	const struct exposed_piece *piece = find_piece(exposures, &offset);
	unsigned count = 0;

	for (; piece && length > 0; piece++, offset = 0) {
		uint64_t take = piece->length - offset < length ? piece->length - offset : length;

		segments[count++] = (struct wire_segment){piece->exposure.address + offset, piece->exposure.key, take};
		length -= take;
	}
	return count;
}

/* --- registrations --- */

static void register_region(struct nic *nic, struct registration *registration, const struct region *region)
{
	struct iovec iov[REGION_MAX_PIECES];

	if (region->length > REGISTERED_WHOLE_MAX)
		return;
	exposures_make(nic, registration->transport, iov, (unsigned)region_range(region, 0, region->length, iov),
		       registration->use, &registration->exposures);
}

static struct registration *find_registration(struct nic *nic, struct descriptor *md, struct transport *transport,
					      enum exposure_use use)
{
	struct registration *registration = md->registrations;

	while (registration && (registration->transport != transport || registration->use != use))
		registration = registration->next;
	if (registration)
		return registration;
	registration = calloc(1, sizeof(*registration));
	if (!registration)
		return NULL;
	registration->transport = transport;
	registration->use = use;
	register_region(nic, registration, &md->region);
	registration->next = md->registrations;
	md->registrations = registration;
	return registration;
}

struct registration *registration_take(struct nic *nic, struct descriptor *md, struct transport *transport,
				       enum exposure_use use)
{
	struct registration *registration = find_registration(nic, md, transport, use);

	if (!registration || registration->exposures.count == 0)
		return NULL;
	registration->users++;
	return registration;
}

void registration_leave(struct registration *registration)
{
	registration->users--;
}

void registrations_withdraw(struct descriptor *md)
{
	struct registration *registration = md->registrations, *next;

	for (md->registrations = NULL; registration; registration = next) {
		next = registration->next;
		exposures_end(&registration->exposures);
		free(registration);
	}
}

/* Those that could not be made are remembered: what is registered piece by piece goes on like that. */
static bool withdraw_idle(struct descriptor *md)
{
	struct registration **link = &md->registrations, *registration;
	bool any = false;

	while ((registration = *link)) {
		if (registration->users > 0 || registration->exposures.count == 0) {
			link = &registration->next;
			continue;
		}
		*link = registration->next;
		exposures_end(&registration->exposures);
		free(registration);
		any = true;
	}
	return any;
}

bool registrations_make_room(struct nic *nic)
{
	struct descriptor *md;
	bool any = false;

	for (uint32_t i = 0; (md = pool_next(&nic->descriptors, &i));)
		any |= withdraw_idle(md);
	return any;
}
