/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a descriptor: one contiguous piece, or pieces gathered by PTL_MD_IOVEC which behave exactly like one
 * contiguous region of the summed length.  Offsets and lengths are in bytes and must lie inside the region.
 */
#ifndef PORTALS_OFFLOAD_REGION_H
#define PORTALS_OFFLOAD_REGION_H

#include <stdint.h>
#include <sys/uio.h>

#define REGION_MAX_PIECES 256

struct region {
	uint64_t length;
	uint32_t count; /* pieces; 1 uses `whole` */
	struct iovec whole;
	struct iovec *pieces; /* owned copy of the caller's array if count != 1 */
};

/* -EINVAL: too many pieces, a piece without memory, or a length that overflows; -ENOMEM. */
int region_set(struct region *, void *start, uint64_t length);
int region_set_pieces(struct region *, const struct iovec *pieces, uint64_t count);
void region_clear(struct region *);

/* The contiguous memory at `offset`: returns its address and how many bytes follow in the same piece. */
void *region_at(const struct region *, uint64_t offset, uint64_t *contiguous);

/* Fills iov[] (room for REGION_MAX_PIECES) with the non-empty pieces of a range; returns their number. */
int region_range(const struct region *, uint64_t offset, uint64_t length, struct iovec *iov);

void region_write(const struct region *, uint64_t offset, const void *from, uint64_t length);
void region_read(const struct region *, uint64_t offset, void *to, uint64_t length);

#endif
