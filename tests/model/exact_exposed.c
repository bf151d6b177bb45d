/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that is exposed belongs to a live descriptor or to an operation under way, and is what that one needs.
 * This is the library's own business, so it is read off the library; that nothing is exposed beyond it is checked.
 */
#include "offload/operation.h"
#include "tests/model/exact.h"

static const struct scripted_memory_region *piece_of(const struct memory_regions *memory_regions, unsigned index)
{
	return (memory_regions->many ? &memory_regions->many[index] : &memory_regions->one)->memory_region.region;
}

/* Is that exactly the region, exposed for that use? */
static bool is_region(const struct registration *registration, const struct region *region)
{
	struct iovec iov[REGION_MAX_PIECES];
	const struct memory_regions *memory_regions = &registration->memory_regions;
	bool same = memory_regions->count == (unsigned)region_range(region, 0, region->length, iov);

	for (unsigned i = 0; same && i < memory_regions->count; i++) {
		const struct scripted_memory_region *piece = piece_of(memory_regions, i);

		same = piece->base == iov[i].iov_base && piece->length == iov[i].iov_len &&
		       piece->uses == (unsigned)registration->use;
	}
	return same;
}

static unsigned users_of(const struct nic *nic, const struct descriptor *md, const struct registration *registration)
{
	const struct operation *op;
	unsigned users = 0;

	for (uint32_t i = 0; (op = pool_next(&nic->objects.operations, &i));)
		users += op->registration == registration && op->pinned == md;
	return users;
}

static unsigned count_registered(unsigned ni, const struct nic *nic)
{
	const struct descriptor *md;
	unsigned count = 0;

	for (uint32_t i = 0; (md = pool_next(&nic->objects.descriptors, &i));) {
		for (const struct registration *each = md->registrations; each; each = each->next) {
			if (!exact.program->pins || !is_region(each, &md->region))
				disagree("what a descriptor of interface %u has registered is not its memory", ni);
			if (users_of(nic, md, each) != each->users)
				disagree("interface %u miscounts who uses a registration", ni);
			count += each->memory_regions.count;
		}
	}
	return count;
}

/* What operations have exposed for themselves alone, and how many of them rely on what is exposed in either way. */
static unsigned count_own(unsigned ni, const struct nic *nic, unsigned *under_way)
{
	const struct operation *op;
	unsigned count = 0;

	for (uint32_t i = 0; (op = pool_next(&nic->objects.operations, &i));) {
		if (exact.program->pins && op->memory_regions.count > 0 && !op->packed)
			disagree("an operation of interface %u registers what its descriptor could have", ni);
		count += op->memory_regions.count;
		*under_way += op->memory_regions.count > 0 || op->registration;
	}
	return count;
}

unsigned observe_memory_regions(void)
{
	unsigned under_way = 0;

	for (unsigned ni = 0; ni < exact.program->interfaces; ni++) {
		unsigned known = count_registered(ni, exact.nic[ni]) + count_own(ni, exact.nic[ni], &under_way);

		if (known != scripted_exposed_of(ni))
			disagree("interface %u has %u pieces exposed and knows of %u", ni, scripted_exposed_of(ni),
				 known);
	}
	return under_way;
}
