/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that ends without a word: what the others have under way with it ends with an error, and so does what they begin
 * later; among themselves they go on.  What it had sent before is received.
 */
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi_test.h"

enum { ROWS = 1000 };

int rank, size;

/* Synchronous messages of which the receiver has no more than the headers, if that. */
static void send_unmatched(int to, MPI_Request *requests, int many)
{
	static char data;
	for (int i = 0; i < many; i++)
		MPI_Issend(&data, 1, MPI_CHAR, to, 7, MPI_COMM_WORLD, &requests[i]);
}

static void gone(int last)
{
	enum { UNMATCHED = 3000 };
	static MPI_Request unmatched[UNMATCHED];
	enum { LONG = 200000 };
	char *data = bytes(LONG);
	int number = -1;
	MPI_Request requests[4];
	MPI_Message message;
	MPI_Status status;
	memset(data, 1, LONG);
	MPI_Irecv(&number, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(data, LONG, MPI_CHAR, last, 1, MPI_COMM_WORLD, &requests[2]);
	MPI_Issend(data, 1, MPI_CHAR, last, 1, MPI_COMM_WORLD, &requests[3]);
	send_unmatched(last, unmatched, UNMATCHED);
	/* Now it may.  What is begun between a death and its event would wait for PTL_CONNECT_TIMEOUT. */
	MPI_Send(NULL, 0, MPI_INT, last, 0, MPI_COMM_WORLD);
	for (int i = 0; i < UNMATCHED; i++)
		FAILS(MPI_Wait(&unmatched[i], &status), MPI_ERR_OTHER);
	for (int i = 0; i < 4; i++)
		FAILS(MPI_Wait(&requests[i], &status), MPI_ERR_OTHER);
	FAILS(MPI_Recv(&number, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &status), MPI_ERR_OTHER);
	FAILS(MPI_Send(data, LONG, MPI_CHAR, last, 1, MPI_COMM_WORLD), MPI_ERR_OTHER);
	FAILS(MPI_Probe(last, 1, MPI_COMM_WORLD, &status), MPI_ERR_OTHER);
	FAILS(MPI_Mprobe(last, 1, MPI_COMM_WORLD, &message, &status), MPI_ERR_OTHER);
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

/* More receives than there are match entries.  Those that wait for one get what has come, and end, as do those that have one. */
enum { POSTED = 30000, MORE = 20 };
static int numbers[POSTED + MORE];

static MPI_Request *start_receives(void)
{
	MPI_Request *requests = bytes((POSTED + MORE) * sizeof(MPI_Request));
	for (int i = 0; i < POSTED + MORE; i++) {
		numbers[i] = -1;
		MPI_Irecv(&numbers[i], 1, MPI_INT, 0, i < POSTED ? 3 : 2, MPI_COMM_WORLD, &requests[i]);
	}
	return requests;
}

static void end_receives(MPI_Request *requests)
{
	int error = MPI_SUCCESS;
	for (int i = POSTED; i < POSTED + MORE; i++) {
		const int before = error;
		error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		CHECK(error ? numbers[i] == -1 : !before && numbers[i] == i - POSTED);
	}
	CHECK(error);
	for (int i = 0; i < POSTED; i++)
		FAILS(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPI_ERR_OTHER);
	free(requests);
}

/* Rank 0 sends and ends; rank 1 receives when it has ended.  What has not left with it fails, and of what has come nothing is left. */
static void gone_after_its_messages(MPI_Comm others)
{
	enum { MESSAGES = 16, LENGTH = 8000 };
	static char data[LENGTH];
	MPI_Request *started = NULL;
	struct pollfd process = {.events = POLLIN};
	int id = (int)getpid(), flag, error = MPI_SUCCESS;
	MPI_Bcast(&id, 1, MPI_INT, 0, others);
	if (rank == 1)
		CHECK((process.fd = (int)syscall(SYS_pidfd_open, id, 0)) >= 0);
	if (rank == 1)
		started = start_receives();
	MPI_Barrier(others);
	for (int i = 0; rank == 0 && i < MESSAGES; i++) {
		memset(data, i, LENGTH);
		CHECK(MPI_Send(&i, 1, MPI_INT, 1, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
		CHECK(MPI_Send(data, LENGTH, MPI_CHAR, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
	}
	if (rank == 0)
		_exit(0);
	if (rank != 1)
		return;
	CHECK(poll(&process, 1, -1) == 1);
	end_receives(started);
	for (int i = 0; i < MESSAGES && !error; i++) {
		error = MPI_Recv(data, LENGTH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(error || (data[0] == i && data[LENGTH - 1] == i));
	}
	MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	CHECK(!flag);
}

static void end_quietly(int number)
{
	(void)number;
	_exit(0);
}

/* Rank 2 computes, and ends, while rank 1 waits for its synchronous messages, of some of which it has no more than the headers. */
static void gone_before_its_messages_were_fetched(void)
{
	enum { UNMATCHED = 3000 };
	static char data[UNMATCHED];
	static MPI_Request requests[UNMATCHED];
	int id = (int)getpid(), error = MPI_SUCCESS;
	if (rank == 2) {
		CHECK(signal(SIGTERM, end_quietly) != SIG_ERR);
		send_unmatched(1, requests, UNMATCHED);
		MPI_Send(&id, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
		for (;;)
			pause();
	}
	MPI_Recv(&id, 1, MPI_INT, 2, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < UNMATCHED; i++)
		MPI_Irecv(&data[i], 1, MPI_CHAR, 2, 7, MPI_COMM_WORLD, &requests[i]);
	kill(id, SIGTERM);
	for (int i = 0; i < UNMATCHED; i++)
		error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
	CHECK(class_of(error) == MPI_ERR_OTHER);
}

/* The dead rank is a member: its absence is told to each of the others, which wait for the first. */
static void gone_from_a_group(void)
{
	MPI_Group all;
	MPI_Comm comm;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, all, 1, &comm) != MPI_SUCCESS && comm == MPI_COMM_NULL);
	MPI_Group_free(&all);
}

/* The others are in MPI_Finalize, or about to be: the barrier there does not wait for a rank that has ended. */
static int gone_before_the_last_barrier(void)
{
	const int last = size - 1;
	for (int i = 0; rank == last && i < last; i++)
		MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == last)
		_exit(0);
	MPI_Send(NULL, 0, MPI_INT, last, 0, MPI_COMM_WORLD);
	FAILS(MPI_Finalize(), MPI_ERR_OTHER);
	return 0;
}

/* With an argument: only the end in MPI_Finalize. */
int main(int argc, char **argv)
{
	MPI_Comm others;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (argc > 1)
		return gone_before_the_last_barrier();
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
		for (int i = 0; i < last; i++)
			MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		_exit(0);
	}
	gone(last);
	gone_under_a_put(last, win);
	gone_from_a_group();
	int sum = 0;
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, others);
	CHECK(sum == last * (last - 1) / 2);
	if (rank == 0)
		printf("the others went on\n");
	fflush(stdout);
	if (size > 2)
		gone_after_its_messages(others);
	if (size > 3)
		gone_before_its_messages_were_fetched();
	_exit(0); /* MPI_Finalize would wait for all */
}
