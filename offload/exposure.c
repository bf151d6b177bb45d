/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/exposure.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/descriptor.h"
#include "offload/nic.h"
#include "offload/trace.h"
#include "offload/wire.h"

/*
 * Pinning touches every page: memory that nobody has touched is committed, and whoever drives the engine does nothing
 * else meanwhile (240 us for 1 MiB over soft-RoCE in an emulated machine).  Peers cause it, by messages as short as
 * they please.  So a whole region is registered if that is little, or not much more than the operation moves anyway.
 */
#define WHOLE_ALWAYS      (UINT64_C(16) << 20)
#define WHOLE_MAX         (UINT64_C(1) << 30)
#define WHOLE_TO_MOVE_MAX 16

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

/* --- registrations --- */

static bool worth_whole(const struct region *region, uint64_t moved)
{
	return region->length <= WHOLE_ALWAYS ||
	       (region->length <= WHOLE_MAX && region->length / WHOLE_TO_MOVE_MAX <= moved);
}

static struct registration *find_registration(const struct descriptor *md, const struct transport *transport,
					      enum exposure_use use)
{
	struct registration *registration = md->registrations;

	while (registration &&
	       (registration->transport != transport || registration->use != use || registration->given_up))
		registration = registration->next;
	return registration;
}

static struct registration *make_registration(struct nic *nic, struct descriptor *md, struct transport *transport,
					      enum exposure_use use)
{
	struct registration *registration = calloc(1, sizeof(*registration));
	struct iovec iov[REGION_MAX_PIECES];

	if (!registration)
		return NULL;
	registration->transport = transport;
	registration->use = use;
	exposures_make(nic, transport, iov, (unsigned)region_range(&md->region, 0, md->region.length, iov), use,
		       &registration->exposures);
	registration->next = md->registrations;
	md->registrations = registration;
	return registration;
}

struct registration *registration_take(struct nic *nic, struct descriptor *md, struct transport *transport,
				       enum exposure_use use, uint64_t moved)
{
	struct registration *registration = find_registration(md, transport, use);

	if (!registration && worth_whole(&md->region, moved))
		registration = make_registration(nic, md, transport, use);
	if (!registration || registration->exposures.count == 0)
		return NULL;
	registration->users++;
	return registration;
}

static void end_registration(struct registration **link)
{
	struct registration *registration = *link;

	*link = registration->next;
	exposures_end(&registration->exposures);
	free(registration);
}

void registration_leave(struct descriptor *md, struct registration *registration, bool given_up)
{
	struct registration **link = &md->registrations;

	registration->users--;
	registration->given_up |= given_up && registration->use == EXPOSE_READ; /* a reader knows no other key */
	if (likely(!registration->given_up) || registration->users > 0)
		return;
	while (*link != registration)
		link = &(*link)->next;
	end_registration(link);
}

void registrations_withdraw(struct descriptor *md)
{
	while (md->registrations)
		end_registration(&md->registrations);
}

/* Those that could not be made are remembered: what is registered piece by piece goes on like that. */
static bool withdraw_idle(struct descriptor *md)
{
	struct registration **link = &md->registrations;
	bool any = false;

	while (*link) {
		if ((*link)->users > 0 || (*link)->exposures.count == 0) {
			link = &(*link)->next;
			continue;
		}
		end_registration(link);
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
