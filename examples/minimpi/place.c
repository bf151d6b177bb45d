/* SPDX-License-Identifier: BSD-3-Clause */
#include "place.h"

#include <stdlib.h>

static struct place {
	MPI_Request request; /* NULL: free */
	size_t next_free;
} * places;
static size_t count, first_free; /* place 0 is never given: it ends the list of free ones, and is SLOTS_BITS */

static void grow(void)
{
	const size_t more = count ? 2 * count : 256;
	places = realloc(places, more * sizeof(*places));
	if (!places)
		job_fail("realloc", "no memory");
	places[0] = (struct place){0};
	for (size_t i = more; i-- > (count ? count : 1);) {
		places[i] = (struct place){NULL, first_free};
		first_free = i;
	}
	count = more;
}

uint64_t place_take(MPI_Request request)
{
	if (!first_free)
		grow();
	const size_t place = first_free;
	first_free = places[place].next_free;
	places[place].request = request;
	return place;
}

void place_leave(uint64_t place)
{
	places[place] = (struct place){NULL, first_free};
	first_free = place;
}

MPI_Request place_find(uint64_t place)
{
	return place < count ? places[place].request : NULL;
}

void place_close(void)
{
	free(places);
	places = NULL;
	count = first_free = 0;
}
