/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether two runs of a test say the same: in how many rows their medians differ by less than p10 to p90. */
#ifndef PTLBENCH_AGREEMENT_H
#define PTLBENCH_AGREEMENT_H

#include "table.h"

struct agreement {
	size_t compared, agreed; /* medians: ours, and the raw transport's where there is one */
};

/*
 * Of the rows of both tables with the same values in front of the median.  The distance is held against the mean of both runs'
 * spreads.  Nothing where the table has no median with p10 and p90, or the other run no such row.
 */
struct agreement agreement_of_tables(const struct table *one, const struct table *other);

#endif
