/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that is exposed belongs to a live descriptor or to an operation under way, and is what that one needs.
 * This is the library's own business, so it is read off the library; that nothing is exposed beyond it is checked.
 */
#include "offload/operation.h"
#include "tests/model/exact.h"

static const struct scripted_exposure *piece_of(const struct exposures *exposures, unsigned index)
{
	return (exposures->many ? &exposures->many[index] : &exposures->one)->exposure.region;
}

/* Is that exactly the region, exposed for that use? */
static bool is_region(const struct registration *registration, const struct region *region)
{
	struct iovec iov[REGION_MAX_PIECES];
	const struct exposures *exposures = &registration->exposures;
	bool same = exposures->count == (unsigned)region_range(region, 0, region->length, iov);

	for (unsigned i = 0; same && i < exposures->count; i++) {
		const struct scripted_exposure *piece = piece_of(exposures, i);

		same = piece->base == iov[i].iov_base && piece->length == iov[i].iov_len &&
		       piece->uses == (unsigned)registration->use;
	}
	return same;
}

static unsigned users_of(const struct nic *nic, const struct descriptor *md, const struct registration *registration)
{
	const struct operation *op;
	unsigned users = 0;

	for (uint32_t i = 0; (op = pool_next(&nic->operations, &i));)
		users += op->registration == registration && op->pinned == md;
	return users;
}

static unsigned count_registered(unsigned ni, const struct nic *nic)
{
	const struct descriptor *md;
	unsigned count = 0;

	for (uint32_t i = 0; (md = pool_next(&nic->descriptors, &i));) {
		for (const struct registration *each = md->registrations; each; each = each->next) {
			if (!exact.program->pins || !is_region(each, &md->region))
				disagree("what a descriptor of interface %u has registered is not its memory", ni);
			if (users_of(nic, md, each) != each->users)
				disagree("interface %u miscounts who uses a registration", ni);
			count += each->exposures.count;
		}
	}
	return count;
}

/* What operations have exposed for themselves alone, and how many of them rely on what is exposed in either way. */
static unsigned count_own(unsigned ni, const struct nic *nic, unsigned *under_way)
{
	const struct operation *op;
	unsigned count = 0;

	for (uint32_t i = 0; (op = pool_next(&nic->operations, &i));) {
		if (exact.program->pins && op->exposures.count > 0 && !op->packed)
			disagree("an operation of interface %u registers what its descriptor could have", ni);
		count += op->exposures.count;
		*under_way += op->exposures.count > 0 || op->registration;
	}
	return count;
}

unsigned observe_exposures(void)
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
