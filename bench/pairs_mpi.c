/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs_mpi.h"

#include <math.h>

#include "candidate_start.h"

#define MESSAGE_SIZE 8
#define FIRST        100 /* iterations that say how long one takes */
#define BATCH_NS     5e6
#define BATCHES      20

/* A process that waits gives its core away: what an administrator sets where there are more processes than cores. */
static const struct candidate_kind_of kind = {
	"MPI",
	"mpi.c",
	"mpicc",
	CANDIDATE_MPIRUN("OMPI_MCA_mpi_yield_when_idle=1 " CANDIDATE_UNPINNED "=1 "),
	CANDIDATE_MPI_WANTS,
	2,
	false,
};

static struct candidate_process candidates[PAIRS_MPI_MAX];

void pairs_mpi_start(void)
{
	candidate_folder_make();
	for (unsigned pair = 0; pair < PAIRS_MPI_MAX; pair++)
		candidate_start(&candidates[pair], &kind, NULL);
	candidate_folder_remove();
}

const char *pairs_mpi_missing(void)
{
	for (unsigned pair = 0; pair < PAIRS_MPI_MAX; pair++)
		if (*candidates[pair].missing)
			return candidates[pair].missing;
	return NULL;
}

const char *pairs_mpi_text(void)
{
	return candidates[0].text;
}

/* Of each pair the time of an iteration in each batch, ns.  All play at the same time. */
static void play(unsigned pairs, const struct candidate_order *order, struct samples *samples)
{
	for (unsigned pair = 0; pair < pairs; pair++)
		candidate_tell(&candidates[pair], order);
	for (unsigned pair = 0; pair < pairs; pair++)
		candidate_hear(&candidates[pair], &samples[pair]);
}

static double total(const struct samples *samples)
{
	double sum = 0;

	for (size_t i = 0; i < samples->count; i++)
		sum += samples->value[i];
	return sum;
}

/* Batches that were done before `end`, counted in the time of an iteration. */
static double batches_until(const struct samples *samples, double end)
{
	double at = 0;

	for (size_t i = 0; i < samples->count; i++) {
		if (at + samples->value[i] > end)
			return (double)i + (end - at) / samples->value[i];
		at += samples->value[i];
	}
	return (double)samples->count;
}

/* While all play: until the first one is done. */
static double time_of_iteration(unsigned pairs, const struct samples *samples)
{
	double end = INFINITY, batches = 0;

	for (unsigned pair = 0; pair < pairs; pair++)
		end = fmin(end, total(&samples[pair]));
	for (unsigned pair = 0; pair < pairs; pair++)
		batches += batches_until(&samples[pair], end);
	return end / batches;
}

static double measure(unsigned pairs, uint32_t batch, uint32_t batches)
{
	const struct candidate_order order = {
		.kind = CANDIDATE_PUT, .size = MESSAGE_SIZE, .lead = 1, .batch = batch, .batches = batches};
	struct samples samples[PAIRS_MPI_MAX] = {{0}};

	play(pairs, &order, samples);
	double time = pairs_mpi_missing() ? NAN : time_of_iteration(pairs, samples);
	for (unsigned pair = 0; pair < pairs; pair++)
		samples_free(&samples[pair]);
	return time;
}

double pairs_mpi_time(unsigned pairs)
{
	if (pairs_mpi_missing())
		return NAN;
	double first = measure(pairs, FIRST, 1) * pairs;
	if (isnan(first))
		return NAN;
	return measure(pairs, (uint32_t)(BATCH_NS / first) + 1, BATCHES) / 2e3;
}

void pairs_mpi_end(void)
{
	for (unsigned pair = 0; pair < PAIRS_MPI_MAX; pair++)
		candidate_end(&candidates[pair]);
}
