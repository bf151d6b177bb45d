/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of what MPI 3.1 says, for examples/minimpi.  Nothing here knows the library but <mpi.h>, so the same files can be
 * compiled for another MPI: docs/layers.md.  All ranks run every test, in the same order.
 */
#ifndef TESTS_MPI_TEST_H
#define TESTS_MPI_TEST_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
	const char *name;
	void (*run)(void);
};
#define TEST(name)                                                                                                     \
	{                                                                                                              \
#name, name                                                                                            \
	}

extern const struct test point_tests[], match_tests[], completion_tests[], collective_tests[], reduce_tests[],
	comm_tests[], type_tests[], window_tests[], epoch_tests[], object_tests[], error_tests[];
extern int rank, size;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, rank, #condition);         \
			fflush(stderr);                                                                                \
			MPI_Abort(MPI_COMM_WORLD, 1);                                                                  \
		}                                                                                                      \
	} while (0)

/* The class of the error that a call returns, while errors are returned. */
static inline int class_of(int code)
{
	int class = -1;
	MPI_Error_class(code, &class);
	return class;
}
#define FAILS(call, class) CHECK(class_of(call) == (class))

static inline void *bytes(size_t count)
{
	void *memory = malloc(count ? count : 1);
	CHECK(memory);
	return memory;
}

/* Numbers of elements that collective operations are tried with: none, short and long messages. */
static const int counts_tried[] = {0, 1, 3, 1000, 30000};
#define COUNTS (int)(sizeof(counts_tried) / sizeof(*counts_tried))

static inline int *ints(size_t count, int value)
{
	int *list = bytes(count * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = value;
	return list;
}

#endif
