/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages cost between two ranks, as a program of any MPI sees it.
 *
 *     measure [--quick] [--one-cpu] [--longest BYTES]
 *
 * Rank 0 prints one line for each row: name, message size, median in microseconds.  Many receives in front are 10 000, with
 * --quick 300.  beside.py runs this with minimpi and with another MPI in turn and puts their figures beside each other.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4 << 20, BATCHES = 21, UNMATCHED = 10000, OVERLAPPED = 1 << 20 };
enum { TAG_DATA, TAG_UNMATCHED };

static const double compute_s = 2e-3; /* what the receiver has to do while its message comes */

static int rank, mate, longest = LONGEST;
static int quick, batches = BATCHES, unmatched = UNMATCHED;
static char *sent, *received;

/* To the first CPU that this process may use, or the second. */
static void pin(int place)
{
	cpu_set_t allowed, one;
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || place-- > 0)
			continue;
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), ascending);
	return values[count / 2];
}

static void print(const char *name, int bytes, double seconds)
{
	if (rank == 0)
		printf("%s %d %.4f\n", name, bytes, seconds * 1e6);
	fflush(stdout);
}

/* ---- there and back ---- */

/* The receive is posted before the message that asks for it leaves. */
static void ping_posted(int bytes)
{
	MPI_Request request;
	MPI_Irecv(received, bytes, MPI_CHAR, mate, TAG_DATA, MPI_COMM_WORLD, &request);
	if (rank == 0)
		MPI_Send(sent, bytes, MPI_CHAR, mate, TAG_DATA, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (rank == 1)
		MPI_Send(sent, bytes, MPI_CHAR, mate, TAG_DATA, MPI_COMM_WORLD);
}

static void ping(int bytes)
{
	if (rank == 0)
		MPI_Send(sent, bytes, MPI_CHAR, mate, TAG_DATA, MPI_COMM_WORLD);
	MPI_Recv(received, bytes, MPI_CHAR, mate, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 1)
		MPI_Send(sent, bytes, MPI_CHAR, mate, TAG_DATA, MPI_COMM_WORLD);
}

static double time_of(void (*turn)(int), int bytes, int count)
{
	const double start = MPI_Wtime();
	for (int i = 0; i < count; i++)
		turn(bytes);
	return (MPI_Wtime() - start) / count;
}

/* As many round trips a batch as fit the time; rank 0 says how many. */
static double half_round_trip(void (*turn)(int), int bytes)
{
	const double batch_s = quick ? 2e-4 : 2e-3;
	double values[BATCHES] = {0};
	time_of(turn, bytes, quick ? 2 : 20);
	int count = (int)(batch_s / time_of(turn, bytes, 5)) + 1;
	MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; i < batches; i++)
		values[i] = time_of(turn, bytes, count) / 2;
	return median(values, batches);
}

static void latencies(void)
{
	for (int bytes = 8; bytes <= longest; bytes *= bytes == 4096 || bytes == 8192 ? 2 : bytes == 8 ? 8 : 4) {
		print("posted", bytes, half_round_trip(ping_posted, bytes));
		print("plain", bytes, half_round_trip(ping, bytes));
	}
}

/* ---- behind receives that match nothing ---- */

static void behind_unmatched(void)
{
	static MPI_Request requests[UNMATCHED];
	static int never[UNMATCHED];
	print("none-in-front", 8, half_round_trip(ping_posted, 8));
	for (int i = 0; i < unmatched; i++)
		MPI_Irecv(&never[i], 1, MPI_INT, mate, TAG_UNMATCHED + i, MPI_COMM_WORLD, &requests[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	print("many-in-front", 8, half_round_trip(ping_posted, 8));
	for (int i = 0; i < unmatched; i++)
		MPI_Cancel(&requests[i]);
	MPI_Waitall(unmatched, requests, MPI_STATUSES_IGNORE);
}

/* ---- a message that comes while its receiver computes ---- */

/* Arithmetic that touches no memory. */
static double compute(long rounds)
{
	const double start = MPI_Wtime();
	unsigned long value = 1;
	for (long i = 0; i < rounds; i++) {
		value = value * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(value));
	}
	return MPI_Wtime() - start;
}

struct overlap {
	double computed, waited;
};

static struct overlap receive_once(long rounds)
{
	struct overlap time = {0, 0};
	MPI_Request request;
	if (rank == 1)
		MPI_Irecv(received, OVERLAPPED, MPI_CHAR, 0, TAG_DATA, MPI_COMM_WORLD, &request);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_Send(sent, OVERLAPPED, MPI_CHAR, 1, TAG_DATA, MPI_COMM_WORLD);
	} else {
		if (rounds > 0)
			time.computed = compute(rounds);
		const double start = MPI_Wtime();
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		time.waited = MPI_Wtime() - start;
	}
	return time;
}

static void tell(const char *name, double *values, int count)
{
	double value = rank == 1 ? median(values, count) : 0;
	MPI_Bcast(&value, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
	print(name, OVERLAPPED, value);
}

/* Rank 1 computes alone, then while a message comes, and receives one while it does nothing else. */
static void overlaps(void)
{
	enum { TURNS = 31 };
	const int turns = quick ? 3 : TURNS;
	double alone[TURNS], computed[TURNS], waited[TURNS], bare[TURNS];
	long rounds = 1000000;
	MPI_Barrier(MPI_COMM_WORLD);
	rounds = (long)((double)rounds * compute_s / compute(rounds));
	for (int i = 0; i < turns; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		alone[i] = compute(rank == 1 ? rounds : 0);
		bare[i] = receive_once(0).waited;
		const struct overlap both = receive_once(rounds);
		computed[i] = both.computed;
		waited[i] = both.waited;
	}
	tell("bare-transfer", bare, turns);
	tell("left-in-wait", waited, turns);
	for (int i = 0; i < turns; i++)
		computed[i] -= alone[i];
	tell("computing-lost", computed, turns);
}

int main(int argc, char **argv)
{
	int one_cpu = 0;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			quick = 1;
		else if (strcmp(argv[i], "--one-cpu") == 0)
			one_cpu = 1;
		else if (strcmp(argv[i], "--longest") == 0 && i + 1 < argc)
			longest = atoi(argv[++i]);
	}
	if (quick) {
		batches = 5;
		unmatched = 300;
	}
	if (one_cpu)
		pin(0); /* before the library starts threads, so that they share the CPU */
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!one_cpu)
		pin(rank);
	mate = 1 - rank;
	if (longest > LONGEST)
		longest = LONGEST;
	/* Every page is written: what was never written to is the system's page of zeros. */
	sent = memset(malloc(LONGEST), 1, LONGEST);
	received = memset(malloc(LONGEST), 1, LONGEST);
	latencies();
	behind_unmatched();
	if (!one_cpu)
		overlaps();
	free(sent);
	free(received);
	MPI_Finalize();
	return 0;
}
