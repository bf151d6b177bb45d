/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/registration.h"

#include <stdlib.h>

#include "offload/descriptor.h"
#include "offload/nic.h"

/*
 * Pinning touches every page: memory that was never touched is committed, and the thread that drives the engine does nothing
 * else meanwhile (240 us for 1 MiB over soft-RoCE in an emulated machine).  Peers cause it, by messages as short as
 * they please.  So a whole region is registered if that is little, or not much more than the operation moves anyway.
 */
#define WHOLE_ALWAYS      (UINT64_C(16) << 20)
#define WHOLE_MAX         (UINT64_C(1) << 30)
#define WHOLE_TO_MOVE_MAX 16

static bool worth_whole(const struct region *region, uint64_t moved)
{
	return region->length <= WHOLE_ALWAYS ||
	       (region->length <= WHOLE_MAX && region->length / WHOLE_TO_MOVE_MAX <= moved);
}

static struct registration *find_registration(const struct descriptor *md, const struct transport *transport,
					      enum memory_region_use use)
{
	struct registration *registration = md->registrations;

	while (registration &&
	       (registration->transport != transport || registration->use != use || registration->given_up))
		registration = registration->next;
	return registration;
}

static struct registration *make_registration(struct nic *nic, struct descriptor *md, struct transport *transport,
					      enum memory_region_use use)
{
	struct registration *registration = calloc(1, sizeof(*registration));
	struct iovec iov[REGION_MAX_PIECES];

	if (!registration)
		return NULL;
	registration->transport = transport;
	registration->use = use;
	memory_regions_make(nic, transport, iov, (unsigned)region_range(&md->region, 0, md->region.length, iov), use,
			    &registration->memory_regions);
	registration->next = md->registrations;
	md->registrations = registration;
	return registration;
}

struct registration *registration_take(struct nic *nic, struct descriptor *md, struct transport *transport,
				       enum memory_region_use use, uint64_t moved)
{
	struct registration *registration = find_registration(md, transport, use);

	if (!registration && worth_whole(&md->region, moved))
		registration = make_registration(nic, md, transport, use);
	if (!registration || registration->memory_regions.count == 0)
		return NULL;
	registration->users++;
	return registration;
}

static void end_registration(struct registration **link)
{
	struct registration *registration = *link;

	*link = registration->next;
	memory_regions_end(&registration->memory_regions);
	free(registration);
}

void registration_leave(struct descriptor *md, struct registration *registration, bool given_up)
{
	struct registration **link = &md->registrations;

	registration->users--;
	registration->given_up |= given_up && registration->use == REGION_READ; /* a reader knows no other key */
	if (likely(!registration->given_up) || registration->users > 0)
		return;
	while (*link != registration)
		link = &(*link)->next;
	end_registration(link);
}

void registrations_deregister(struct descriptor *md)
{
	while (md->registrations)
		end_registration(&md->registrations);
}

/* Those that could not be made are remembered: what is registered piece by piece goes on like that. */
static bool deregister_idle(struct descriptor *md)
{
	struct registration **link = &md->registrations;
	bool any = false;

	while (*link) {
		if ((*link)->users > 0 || (*link)->memory_regions.count == 0) {
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

	for (uint32_t i = 0; (md = pool_next(&nic->objects.descriptors, &i));)
		any |= deregister_idle(md);
	return any;
}
