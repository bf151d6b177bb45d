/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes that a table has rows for. */
#ifndef PTLBENCH_SIZES_H
#define PTLBENCH_SIZES_H

#include "options.h"
#include "stats.h"

/*
 * Of a test that has `count` sizes of its own in `sizes`, unless --sizes says otherwise; of one that has none (0), always what --sizes
 * says or its default.  `least`: 1 where a message needs a byte.  Returns how many there are.
 */
size_t sizes_choose(const struct workload *load, uint64_t sizes[SIZES_MAX], size_t count, uint64_t least);

#endif
