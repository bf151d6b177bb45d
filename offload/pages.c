/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void pages_give_back(char **begin, char **end)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	char *first = *begin + (-(uintptr_t)*begin & (page - 1)), *last = *end - ((uintptr_t)*end & (page - 1));
	const bool given = first < last && madvise(first, (size_t)(last - first), MADV_DONTNEED) == 0;

	*begin = given ? first : *end;
	*end = given ? last : *end;
}
