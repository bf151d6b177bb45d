/* SPDX-License-Identifier: BSD-3-Clause */
/* What is sent, and where it lands. */
#ifndef PORTALS_TESTS_MODEL_FREE_MEMORY_H
#define PORTALS_TESTS_MODEL_FREE_MEMORY_H

#include "tests/model/free_program.h"

/* Bytes all agree on, none of them 0; a request's are LONGEST from one of many starts. */
void pattern_make(void);
const unsigned char *pattern_all(void);
uint64_t pattern_size(void);
const unsigned char *pattern_of(unsigned initiator, uint32_t number);
/* What a lane's memory holds before any process writes. */
const unsigned char *filler_of(unsigned target, unsigned lane);

/* Memory of a descriptor, in one piece or in several with gaps between them. */
struct area {
	unsigned char *bytes;
	size_t extent, length; /* with gaps; without */
	unsigned pieces;
	ptl_md_iovec_t piece[MAX_PIECES];
};

/* Pieces without gaps. */
void area_cut(struct area *, unsigned char *memory, uint64_t length, unsigned pieces, struct random *);
/* Pieces with gaps of zeros; `memory` has area_extent() bytes. */
size_t area_extent(uint64_t length, unsigned pieces);
void area_lay_out(struct area *, unsigned char *memory, uint64_t length, unsigned pieces, struct random *);
void area_allocate(struct area *, uint64_t length, unsigned pieces, struct random *);
void area_write(struct area *, uint64_t offset, const void *from, uint64_t length);
void area_read(const struct area *, uint64_t offset, void *to, uint64_t length);
/* The first byte of the range that differs, or `length`. */
uint64_t area_differs(const struct area *, uint64_t offset, const unsigned char *expected, uint64_t length);
bool area_is_blank(const struct area *, uint64_t offset, uint64_t length);
bool area_gaps_are_blank(const struct area *);
ptl_md_t area_md(struct area *, int threshold, unsigned options, ptl_handle_eq_t eq, void *user_ptr);

/* Memory that processes forked from now on share, zero at first. */
void *share(size_t size);
void unshare(void *, size_t size);
/* All windows: there an initiator can see what its ACK promises. */
extern unsigned char *window_memory;
void window_memory_make(void);
void window_memory_free(void);

#endif
