/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that ends without a word: what the others have under way with it ends with an error, and so does what they begin
 * later; among themselves they go on.  What it had sent before is received.
 */
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi_test.h"

enum { ROWS = 1000 };

int rank, size;

static void gone(int last)
{
	enum { LONG = 200000 };
	char *data = bytes(LONG);
	int number = -1;
	MPI_Request requests[4];
	MPI_Status status;
	memset(data, 1, LONG);
	MPI_Irecv(&number, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(data, LONG, MPI_CHAR, last, 1, MPI_COMM_WORLD, &requests[2]);
	MPI_Issend(data, 1, MPI_CHAR, last, 1, MPI_COMM_WORLD, &requests[3]);
	if (rank == 0)
		MPI_Send(NULL, 0, MPI_INT, last, 0, MPI_COMM_WORLD); /* now it may */
	for (int i = 0; i < 4; i++)
		FAILS(MPI_Wait(&requests[i], &status), MPI_ERR_OTHER);
	FAILS(MPI_Recv(&number, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &status), MPI_ERR_OTHER);
	FAILS(MPI_Send(data, LONG, MPI_CHAR, last, 1, MPI_COMM_WORLD), MPI_ERR_OTHER);
	free(data);
}

/* Rows of a matrix in the memory of a process that is gone: none arrives, and the unlock says so. */
static void gone_under_a_put(int last, MPI_Win win)
{
	static int rows[ROWS];
	MPI_Datatype apart;
	MPI_Type_vector(ROWS, 1, 2, MPI_INT, &apart);
	MPI_Type_commit(&apart);
	MPI_Put(rows, ROWS, MPI_INT, last, 0, 1, apart, win);
	MPI_Get(rows, ROWS, MPI_INT, last, 0, 1, apart, win);
	FAILS(MPI_Win_unlock(last, win), MPI_ERR_OTHER);
	MPI_Type_free(&apart);
}

/* Rank 0 sends and ends; rank 1 receives when it has ended.  What has not left with it fails, and of what has come nothing is left. */
static void gone_after_its_messages(MPI_Comm others)
{
	enum { MESSAGES = 16, LENGTH = 8000 };
	static char data[LENGTH];
	struct pollfd process = {.events = POLLIN};
	int id = (int)getpid(), flag, error = MPI_SUCCESS;
	MPI_Bcast(&id, 1, MPI_INT, 0, others);
	if (rank == 1)
		CHECK((process.fd = (int)syscall(SYS_pidfd_open, id, 0)) >= 0);
	MPI_Barrier(others);
	for (int i = 0; rank == 0 && i < MESSAGES; i++) {
		memset(data, i, LENGTH);
		CHECK(MPI_Send(data, LENGTH, MPI_CHAR, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
	}
	if (rank != 1)
		_exit(0);
	CHECK(poll(&process, 1, -1) == 1);
	for (int i = 0; i < MESSAGES && !error; i++) {
		error = MPI_Recv(data, LENGTH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(error || (data[0] == i && data[LENGTH - 1] == i));
	}
	MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	CHECK(!flag);
}

int main(int argc, char **argv)
{
	MPI_Comm others;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	const int last = size - 1;
	MPI_Comm_split(MPI_COMM_WORLD, rank == last, 0, &others);
	static int memory[2 * ROWS];
	MPI_Win win;
	MPI_Win_create(memory, sizeof(memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	if (rank != last)
		MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == last) {
		MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		_exit(0);
	}
	gone(last);
	gone_under_a_put(last, win);
	int sum = 0;
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, others);
	CHECK(sum == last * (last - 1) / 2);
	if (rank == 0)
		printf("the others went on\n");
	fflush(stdout);
	if (size > 2)
		gone_after_its_messages(others);
	_exit(0); /* MPI_Finalize would wait for all */
}
