/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI matches by, in the 64 match bits of Portals:
 *
 *     63     62      48 47        28 27         0
 *     long | context  | source     | tag
 *
 * A receive with wildcards is a match entry that ignores those bits.  Every receive ignores `long`: the bit says which of
 * the entries behind the posted receives takes a message that is not asked for yet (unexpected.c).
 */
#ifndef MINIMPI_ENVELOPE_H
#define MINIMPI_ENVELOPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define ENVELOPE_LONG     (UINT64_C(1) << 63)
#define ENVELOPE_CONTEXTS (1 << 15)
#define ENVELOPE_SOURCES  (1 << 20)
#define ENVELOPE_TAG_UB   ((1 << 28) - 1)

static inline uint64_t envelope_bits(int context, int source, int tag)
{
	return (uint64_t)(unsigned)context << 48 | (uint64_t)(unsigned)(source == MPI_ANY_SOURCE ? 0 : source) << 28 |
	       (uint64_t)(unsigned)(tag == MPI_ANY_TAG ? 0 : tag);
}

static inline uint64_t envelope_ignore(int source, int tag)
{
	return ENVELOPE_LONG | (source == MPI_ANY_SOURCE ? (uint64_t)(ENVELOPE_SOURCES - 1) << 28 : 0) |
	       (tag == MPI_ANY_TAG ? (uint64_t)ENVELOPE_TAG_UB : 0);
}

static inline bool envelope_matches(uint64_t bits, uint64_t wanted, uint64_t ignore)
{
	return ((bits ^ wanted) & ~ignore) == 0;
}

static inline int envelope_source(uint64_t bits)
{
	return (int)(bits >> 28 & (ENVELOPE_SOURCES - 1));
}

static inline int envelope_tag(uint64_t bits)
{
	return (int)(bits & ENVELOPE_TAG_UB);
}

#endif
