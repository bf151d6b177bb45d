/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Integer sort by buckets: each rank counts its keys by range, all agree which rank gets which ranges, so that each has about
 * as many keys, and exchange them; then each sorts its own.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS     40000 /* of all ranks together */
#define BUCKETS  1024
#define GREATEST (1 << 19)

static int rank, size;

static int bucket_of(int key)
{
	return key / (GREATEST / BUCKETS);
}

/* The same keys however many ranks there are. */
static int key_at(int i)
{
	uint64_t x = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 31;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return (int)(x >> 32) & (GREATEST - 1);
}

static int by_value(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

/* Which rank gets a bucket: its first key's place among all keys decides. */
static void assign(const int *totals, int *owner)
{
	long before = 0;
	for (int i = 0; i < BUCKETS; i++) {
		owner[i] = (int)(before * size / KEYS);
		before += totals[i];
	}
}

static void *memory(size_t bytes)
{
	void *got = calloc(1, bytes + 1);
	if (!got)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return got;
}

/* Exchanges keys; returns how many this rank has, in *sorted. */
static int exchange(const int *keys, int count, const int *owner, int **sorted)
{
	int *sent_counts = memory(4 * (size_t)size * sizeof(*sent_counts)), *sent_places = sent_counts + size,
	    *counts = sent_places + size, *places = counts + size, *sent = memory((size_t)count * sizeof(*sent)),
	    total = 0;
	for (int i = 0; i < count; i++)
		sent_counts[owner[bucket_of(keys[i])]]++;
	for (int i = 1; i < size; i++)
		sent_places[i] = sent_places[i - 1] + sent_counts[i - 1];
	for (int i = 0; i < count; i++)
		sent[sent_places[owner[bucket_of(keys[i])]]++] = keys[i];
	for (int i = 0; i < size; i++)
		sent_places[i] -= sent_counts[i];
	MPI_Alltoall(sent_counts, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++) {
		places[i] = total;
		total += counts[i];
	}
	*sorted = memory((size_t)total * sizeof(**sorted));
	MPI_Alltoallv(sent, sent_counts, sent_places, MPI_INT, *sorted, counts, places, MPI_INT, MPI_COMM_WORLD);
	free(sent_counts);
	free(sent);
	return total;
}

/* Keys are in order here, and with those of the neighbours; a checksum of (key, place) is the same for any number of ranks. */
static int check(const int *sorted, int count, uint64_t *checksum)
{
	int before = 0, last = -1, wrong = 0, wrong_anywhere;
	uint64_t own = 0;
	MPI_Exscan(&count, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	int greatest = count > 0 ? sorted[count - 1] : -1, greatest_before = -1;
	MPI_Exscan(&greatest, &greatest_before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0)
		before = 0;
	else
		last = greatest_before;
	for (int i = 0; i < count; i++) {
		wrong += sorted[i] < last;
		last = sorted[i];
		own += (uint64_t)sorted[i] * (uint64_t)(before + i + 1);
	}
	MPI_Reduce(&own, checksum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Allreduce(&wrong, &wrong_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return wrong_anywhere;
}

int main(int argc, char **argv)
{
	int own[BUCKETS] = {0}, totals[BUCKETS], owner[BUCKETS], *sorted;
	uint64_t checksum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const int first = (int)((long)KEYS * rank / size), count = (int)((long)KEYS * (rank + 1) / size) - first;
	int *keys = memory((size_t)count * sizeof(*keys));
	for (int i = 0; i < count; i++) {
		keys[i] = key_at(first + i);
		own[bucket_of(keys[i])]++;
	}
	MPI_Allreduce(own, totals, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	assign(totals, owner);
	const int got = exchange(keys, count, owner, &sorted);
	qsort(sorted, (size_t)got, sizeof(*sorted), by_value);
	const int wrong = check(sorted, got, &checksum);
	if (rank == 0)
		printf("%d keys, %d out of order, checksum %016llx\n", KEYS, wrong, (unsigned long long)checksum);
	free(keys);
	free(sorted);
	MPI_Finalize();
	return wrong != 0;
}
