/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI as a candidate of ptlbench compare, which builds this with mpicc. */
#define _GNU_SOURCE
#include <mpi.h>

#include "protocol.h"

#define WINDOW 4096
enum { TAG_DATA = 1, TAG_OTHER, TAG_DONE };

static int rank;
static char *from, *to;
static MPI_Win window;
static MPI_Request requests[WINDOW], *in_front;

static void send_to_mate(uint64_t size, int tag)
{
	MPI_Send(from, (int)size, MPI_CHAR, !rank, tag, MPI_COMM_WORLD);
}

static void receive(uint64_t size, int tag)
{
	MPI_Recv(to, (int)size, MPI_CHAR, !rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ping(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	send_to_mate(order->size, TAG_DATA);
	receive(order->size, TAG_DATA);
}

static void pong(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	receive(order->size, TAG_DATA);
	send_to_mate(order->size, TAG_DATA);
}

static void rewrite_and_ping(const struct candidate_order *order, uint32_t i)
{
	memset(from, (int)i, order->size);
	ping(order, i);
}

static void rewrite_and_pong(const struct candidate_order *order, uint32_t i)
{
	memset(from, (int)i, order->size);
	pong(order, i);
}

/* One-sided: a single get is a window of one. */
static void get(const struct candidate_order *order, uint32_t i)
{
	for (uint32_t slot = 0; slot < (order->window ? order->window : 1); slot++)
		MPI_Get(to, (int)order->size, MPI_CHAR, 1, 0, (int)order->size, MPI_CHAR, window);
	MPI_Win_flush(1, window);
	if (i + 1 == candidate_iterations(order))
		send_to_mate(0, TAG_DONE);
}

static void be_got(const struct candidate_order *order, uint32_t i)
{
	if (i + 1 == candidate_iterations(order))
		receive(0, TAG_DONE);
}

static void send_window(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	for (uint32_t slot = 0; slot < order->window; slot++)
		MPI_Isend(from, (int)order->size, MPI_CHAR, 1, TAG_DATA, MPI_COMM_WORLD, &requests[slot]);
	MPI_Waitall((int)order->window, requests, MPI_STATUSES_IGNORE);
	receive(0, TAG_DONE);
}

static void receive_window(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	for (uint32_t slot = 0; slot < order->window; slot++)
		MPI_Irecv(to, (int)order->size, MPI_CHAR, 0, TAG_DATA, MPI_COMM_WORLD, &requests[slot]);
	MPI_Waitall((int)order->window, requests, MPI_STATUSES_IGNORE);
	send_to_mate(0, TAG_DONE);
}

static void post_in_front(const struct candidate_order *order)
{
	in_front = malloc((order->depth + 1) * sizeof(*in_front));
	for (uint32_t i = 0; i < order->depth; i++)
		MPI_Irecv(to, 8, MPI_CHAR, !rank, 1000 + (int)i, MPI_COMM_WORLD, &in_front[i]);
}

static void cancel_in_front(const struct candidate_order *order)
{
	for (uint32_t i = 0; i < order->depth; i++) {
		MPI_Cancel(&in_front[i]);
		MPI_Wait(&in_front[i], MPI_STATUS_IGNORE);
	}
	free(in_front);
}

static void ping_after_others(const struct candidate_order *order, uint32_t i)
{
	for (uint32_t other = 0; !i && other < order->depth; other++)
		send_to_mate(8, TAG_OTHER);
	ping(order, i);
}

static void take_others(const struct candidate_order *order)
{
	for (uint32_t other = 0; rank && other < order->depth; other++)
		receive(8, TAG_OTHER);
}

static void send_to_busy(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	MPI_Barrier(MPI_COMM_WORLD);
	candidate_compute(CANDIDATE_AHEAD_NS);
	uint64_t start = candidate_now();
	MPI_Ssend(from, (int)order->size, MPI_CHAR, 1, TAG_DATA, MPI_COMM_WORLD);
	candidate_own_ns = (double)(candidate_now() - start);
}

static void be_busy(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	MPI_Irecv(to, (int)order->size, MPI_CHAR, 0, TAG_DATA, MPI_COMM_WORLD, requests);
	MPI_Barrier(MPI_COMM_WORLD);
	candidate_compute(CANDIDATE_COMPUTE_NS);
	MPI_Wait(requests, MPI_STATUS_IGNORE);
}

static void meet(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static const struct candidate_exchange exchanges[CANDIDATE_KINDS] = CANDIDATE_EXCHANGES;

int main(int argc, char **argv)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	candidate_pin(rank);
	MPI_Get_library_version(version, &length);
	version[strcspn(version, ",\n")] = '\0';
	from = candidate_written(malloc(CANDIDATE_LARGEST));
	MPI_Win_allocate((MPI_Aint)CANDIDATE_LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &to, &window);
	candidate_written(to);
	MPI_Win_lock_all(0, window);
	candidate_live((uint32_t)rank, version, exchanges, meet);
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
	MPI_Finalize();
}
