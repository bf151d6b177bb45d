/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that a transport can reach: the source of a peer's reads, the destination of our own.
 *
 * How long it stays exposed depends on what exposing costs: next to nothing over tcp and net, more than a message over
 * verbs.
 *
 *   Where it is a row in a table, a memory region belongs to one operation and covers its bytes.  A key is worth nothing
 *   once its operation has ended.
 *
 *   Where it pins pages (limits.pins), a memory region belongs to the descriptor: a registration.  It is made by the first
 *   operation that needs it, not when the descriptor is bound, because most descriptors only ever move short messages,
 *   which are copied.  It covers the whole region, serves all later operations, and is deregistered before any thread can
 *   know that the descriptor is gone: before PtlMDUnlink returns, before the UNLINK event is posted, when PtlMDUpdate
 *   states other memory (or the same anew: it may have been unmapped in between), and when the interface closes.
 *   Nothing outlives the descriptor, so there is no cache that has to guess whether an address still means the same
 *   pages.  What the user owes for that: memory stays mapped as long as its descriptor lives.
 *
 * A registration is for one transport and one use.  Sources are registered for reading only, as they may be constant.
 *
 * Not every region can be registered whole: it may reach over memory that is not mapped, or be greater than
 * RLIMIT_MEMLOCK.  Then, for the rest of the descriptor's life, each operation exposes its own bytes.  So does an
 * operation that moves so little of a great region that pinning all of it for its sake would be out of proportion.  If
 * even these bytes cannot be registered, registrations that no operation uses at the time give way, so that many
 * descriptors do not take all that may be pinned away from one; they are made again when they are needed.
 *
 * A reader that was given up may come back and read on, when the user already knows that the operation failed.  So the
 * key it was told dies with the last operation that uses the registration, and later ones get another.
 */
#ifndef PORTALS_OFFLOAD_MEMORY_REGION_H
#define PORTALS_OFFLOAD_MEMORY_REGION_H

#include "transports/transport.h"

struct descriptor;
struct nic;
struct wire_segment;

struct exposed_piece {
	struct memory_region memory_region;
	uint64_t length;
};

/* Contiguous bytes of a region, exposed piece by piece; mostly one. */
struct memory_regions {
	struct transport *transport; /* to which; NULL: nothing is exposed */
	unsigned count;
	struct exposed_piece one, *many; /* many: NULL if count is 1 */
};

/* All or nothing; 0 or the transport's error, which is not reported. */
int memory_regions_make(struct nic *, struct transport *, const struct iovec *pieces, unsigned count,
			enum memory_region_use, struct memory_regions *);
void memory_regions_end(struct memory_regions *);

/* The memory region of the byte at `offset`, or NULL. */
const struct memory_region *memory_regions_at(const struct memory_regions *, uint64_t offset);

/* How the peer names a range: fills segments[] and returns their number. */
unsigned memory_regions_name(const struct memory_regions *, uint64_t offset, uint64_t length,
			     struct wire_segment *segments);

#endif
