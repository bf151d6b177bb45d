/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel says of the mapping that an address lies in: a question whose price does not grow with the mapping, as that of a
 * look at each of its pages does (memory.h).
 */
#ifndef PORTALS_TRANSPORTS_MAPPING_H
#define PORTALS_TRANSPORTS_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The descriptor to ask by, of this process and not of its forked children; -1: none is to be had, or
 * this kernel cannot be asked.  The caller closes it.
 */
int mapping_open(void);

/*
 * True: one mapping, of no file, holds the whole range, and it may be read, so that each page of it is there as soon as it is touched.
 * False: it is not known, by what this kernel (Linux before 6.11) or one such mapping can tell.  A page that the program has
 * taken away without changing its mapping (MADV_GUARD_INSTALL, a protection key) is not seen.
 */
bool mapping_readable(int mappings, const void *base, size_t length);

#endif
