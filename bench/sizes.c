/* SPDX-License-Identifier: BSD-3-Clause */
#include "sizes.h"

size_t sizes_choose(const struct workload *load, uint64_t sizes[SIZES_MAX], size_t count, uint64_t least)
{
	const uint64_t min = load->size_min < least ? least : load->size_min,
		       max = load->size_max < least ? least : load->size_max;

	if (count > 0 && !load->sizes_given)
		return count;
	return size_list(min, max, load->quick ? 4 : 2, sizes, SIZES_MAX);
}
