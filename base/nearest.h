/* SPDX-License-Identifier: BSD-3-Clause */
/* Which name was probably meant: of mistyped settings, tests and options. */
#ifndef PORTALS_BASE_NEAREST_H
#define PORTALS_BASE_NEAREST_H

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define NEAREST_LENGTH 62 /* what a name has beyond that is not compared */

/* Levenshtein distance, whatever the case of characters; both names are short. */
static inline unsigned name_distance(const char *a, const char *b)
{
	unsigned row[NEAREST_LENGTH + 2];
	size_t length = strnlen(b, NEAREST_LENGTH);

	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 1; *a; a++, i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= length; j++) {
			unsigned replaced = diagonal + (tolower((unsigned char)*a) != tolower((unsigned char)b[j - 1]));

			diagonal = row[j];
			row[j] = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;
			row[j] = replaced < row[j] ? replaced : row[j];
		}
	}
	return row[length];
}

/*
 * The nearest of names that lie `stride` bytes apart, as in a table whose rows begin with their name.  All of them, and
 * `name`, begin with the same `prefix` characters.  NULL: none resembles it, more than half of the others would have to
 * change.
 */
static inline const char *name_nearest(const char *name, size_t prefix, const char *const *names, size_t count,
				       size_t stride)
{
	unsigned least = (unsigned)strlen(name + prefix) / 2 + 1;
	const char *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *other = *(const char *const *)(const void *)((const char *)names + i * stride);
		unsigned distance = name_distance(name + prefix, other + prefix);

		if (distance < least) {
			least = distance;
			best = other;
		}
	}
	return best;
}

#endif
