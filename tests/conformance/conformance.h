/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The specification as tests.  A chapter is a section of it: rows, each a sentence a program may rely on, and tests, each
 * of which names the rows it proves.  A test's name begins with the section, so that a failure reads as a citation.
 */
#ifndef TESTS_CONFORMANCE_H
#define TESTS_CONFORMANCE_H

#include "tests/support/peers.h"

struct row {
	const char *number; /* "3.6/2": section and place in it */
	const char *sentence;
};

struct chapter {
	const char *title;
	const struct row *rows;   /* ends with a row without a number */
	const struct test *tests; /* ends with a test without a name */
	bool core;                /* what a transport does shows here: part of `--core` */
};

/* Rows of a table of tests.  `numbers`: the rows it proves, separated by spaces.  See ALONE, PAIR, TWO of peers.h. */
#define CASE(test, numbers, count, trait)                                                                              \
	{                                                                                                              \
		.name = #test, .run = test, .proves = numbers, .processes = count, .traits = trait                     \
	}
#define CASE_ALONE(test, numbers) CASE(test, numbers, 1, 0)
#define CASE_PAIR(test, numbers)  CASE(test, numbers, 2, TRAIT_PAIR)
#define CASE_TWO(test, numbers)   CASE(test, numbers, 2, TRAIT_SEVERAL)
/* 65536 calls and more, which in dedicated mode are all handed to the NIC thread: seconds on a loaded machine. */
#define CASE_MANY_CALLS(test, numbers, trait)                                                                          \
	{                                                                                                              \
		.name = #test, .run = test, .proves = numbers, .processes = 1, .traits = trait, .seconds = 120         \
	}

/* A promise the compiler checks: what a function takes, in this order, and gives. */
#define SIGNATURE(function, ...)                                                                                       \
	_Static_assert(__builtin_types_compatible_p(__typeof__(function), __VA_ARGS__), #function)

#define CHAPTERS(X)                                                                                                    \
	X(declarations)                                                                                                \
	X(interfaces)                                                                                                  \
	X(match_entries)                                                                                               \
	X(descriptors)                                                                                                 \
	X(event_queues)                                                                                                \
	X(access_calls)                                                                                                \
	X(movement_calls)                                                                                              \
	X(extensions)                                                                                                  \
	X(operations)                                                                                                  \
	X(arrival)                                                                                                     \
	X(acceptance)                                                                                                  \
	X(offsets)                                                                                                     \
	X(thresholds)                                                                                                  \
	X(events)                                                                                                      \
	X(event_fields)                                                                                                \
	X(acknowledgements)                                                                                            \
	X(unlinking)                                                                                                   \
	X(queueing)                                                                                                    \
	X(updating)                                                                                                    \
	X(receive_idiom)                                                                                               \
	X(access_control)                                                                                              \
	X(failures)                                                                                                    \
	X(sizes)                                                                                                       \
	X(getput_atomicity)                                                                                            \
	X(progress)                                                                                                    \
	X(drops_counted)                                                                                               \
	X(threads)                                                                                                     \
	X(order)                                                                                                       \
	X(rulings)                                                                                                     \
	X(limits)

#define DECLARE_CHAPTER(name) extern const struct chapter name##_chapter;
CHAPTERS(DECLARE_CHAPTER)
#undef DECLARE_CHAPTER

/* Prints the table of coverage; exit status 1 if a row has no test or a test names no row. */
int coverage_list(const struct chapter *const *chapters);

#endif
