/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * C = A B, of blocks of edge x edge, as many in a row and a column as there are processes.  Process p has column p of the
 * blocks of each matrix, and C(., p) is the sum over k of A(., k) B(k, p): it gets the columns of A one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "programs.h"

struct run {
	size_t edge, rows;
	double *left, *right, *result, *steps[2]; /* columns of blocks; the two into which others' are got, in turn */
	uint64_t *sums;
};

static size_t column_bytes(const struct run *run)
{
	return run->rows * run->edge * sizeof(double);
}

/* A column of blocks times one block. */
static void multiply_add(const struct run *run, double *result, const double *column, const double *block)
{
	for (size_t i = 0; i < run->rows; i++)
		for (size_t k = 0; k < run->edge; k++)
			for (size_t j = 0; j < run->edge; j++)
				result[i * run->edge + j] += column[i * run->edge + k] * block[k * run->edge + j];
}

static const double *block_of(const struct run *run, unsigned k)
{
	return run->right + k * run->edge * run->edge;
}

/* While one column is multiplied, the next one is on its way. */
static bool multiply(const struct run *run)
{
	unsigned k = sc_rank();
	if (sc_bulk_read(run->steps[0], sc_at(k, run->left), column_bytes(run)))
		return false;
	for (unsigned step = 0; step < sc_size(); step++) {
		unsigned next = (k + 1) % sc_size();
		if (step + 1 < sc_size() &&
		    sc_bulk_get(run->steps[(step + 1) % 2], sc_at(next, run->left), column_bytes(run)))
			return false;
		multiply_add(run, run->result, run->steps[step % 2], block_of(run, k));
		if (sc_sync())
			return false;
		k = next;
	}
	return true;
}

/* Small whole numbers: sums are exact in any order. */
static void fill(const struct run *run, double *column, uint64_t state)
{
	for (size_t i = 0; i < run->rows * run->edge; i++)
		column[i] = (double)(random_of(&state) % 8);
}

static uint64_t left_seed(unsigned seed, unsigned process)
{
	return (uint64_t)seed << 32 | process;
}

/* The same from columns that are made here instead of got. */
static bool right_result(const struct run *run, unsigned seed)
{
	double *expected = calloc(1, column_bytes(run)), *column = calloc(1, column_bytes(run));
	bool good = expected && column;
	for (unsigned k = 0; good && k < sc_size(); k++) {
		fill(run, column, left_seed(seed, k));
		multiply_add(run, expected, column, block_of(run, k));
	}
	good = good && memcmp(expected, run->result, column_bytes(run)) == 0;
	free(expected);
	free(column);
	return good;
}

static bool on_all(const struct run *run, bool good)
{
	uint64_t sums[2] = {good, 1};
	return sum_of_all(sums, run->sums) && sums[0] == sc_size();
}

bool matrix_multiply(size_t edge, unsigned seed)
{
	struct run run = {.edge = edge, .rows = edge * sc_size()};
	size_t bytes = column_bytes(&run);
	run.left = sc_alloc(bytes);
	run.right = calloc(1, bytes);
	run.result = calloc(1, bytes);
	run.steps[0] = calloc(1, bytes);
	run.steps[1] = calloc(1, bytes);
	run.sums = sc_alloc(2 * sc_size() * sizeof(uint64_t));
	bool good = run.left && run.right && run.result && run.steps[0] && run.steps[1] && run.sums;
	if (good) {
		fill(&run, run.left, left_seed(seed, sc_rank()));
		fill(&run, run.right, left_seed(seed, sc_rank() + SC_PROCESSES));
		good = sc_barrier() == 0 && multiply(&run) && on_all(&run, right_result(&run, seed));
	}
	free(run.right);
	free(run.result);
	free(run.steps[0]);
	free(run.steps[1]);
	return good;
}
