/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a mapping is there. */
#ifndef TESTS_UNIT_RESIDENT_H
#define TESTS_UNIT_RESIDENT_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of so many bytes from the beginning of a page on. */
static inline size_t resident_in(void *start, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
	unsigned char *present = malloc(pages);
	size_t count = 0;

	assert_non_null(present);
	assert_int_equal(mincore(start, pages * page, present), 0);
	for (size_t i = 0; i < pages; i++)
		count += present[i] & 1;
	free(present);
	return count * page;
}

#endif
