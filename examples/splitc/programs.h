/* SPDX-License-Identifier: BSD-3-Clause */
/* Three programs as they were written in Split-C.  Collective; true if the result is right, which each checks with the others. */
#ifndef EXAMPLES_SPLITC_PROGRAMS_H
#define EXAMPLES_SPLITC_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of segment that they need, of a process of `size`. */
#define SORT_SEGMENT(keys, size)   (((size_t)(keys) + 1024) * 8 * ((size_t)(size) + 3))
#define MATRIX_SEGMENT(edge, size) ((size_t)(edge) * (edge) * (size)*8 + 65536)

/* `keys` random keys a process: samples choose splitters, then each key is stored where it belongs, in bulk. */
bool sample_sort(size_t keys, unsigned seed);
/* 32-bit keys, 8 bits a pass: histograms are read, each key is stored alone. */
bool radix_sort(size_t keys, unsigned seed);
/* Of blocks of edge x edge, one column of blocks a process; columns of the left matrix are got one step ahead. */
bool matrix_multiply(size_t edge, unsigned seed);

#endif
