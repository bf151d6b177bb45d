/* SPDX-License-Identifier: BSD-3-Clause */
/* What targets that read their input as a script have in common. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			__builtin_trap();                                                                              \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* What is left of the input. */
static const uint8_t *input;
static size_t input_length;

static inline void input_bytes(void *to, size_t size)
{
	size = size < input_length ? size : input_length;
	memcpy(to, input, size);
	input += size;
	input_length -= size;
}

/* Zero where the input has ended. */
static inline uint64_t input_number(size_t size)
{
	uint64_t value = 0;

	input_bytes(&value, size);
	return value;
}

#endif
