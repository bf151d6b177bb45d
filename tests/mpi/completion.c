/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting and testing; many requests at once; progress while a process computes. */
#include <time.h>

#include "mpi_test.h"

static void null_requests_are_complete(void)
{
	MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	MPI_Status status, statuses[3];
	int flag = 0, index = 0, done = 0, indices[3], count = 9;
	MPI_Wait(&requests[0], &status);
	CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
	MPI_Get_count(&status, MPI_INT, &count);
	MPI_Test_cancelled(&status, &flag);
	CHECK(count == 0 && !flag);
	MPI_Test(&requests[0], &flag, &status);
	CHECK(flag);
	MPI_Waitall(3, requests, statuses);
	MPI_Testall(3, requests, &flag, statuses);
	CHECK(flag);
	MPI_Waitany(3, requests, &index, &status);
	CHECK(index == MPI_UNDEFINED);
	MPI_Testany(3, requests, &index, &flag, &status);
	CHECK(flag && index == MPI_UNDEFINED);
	MPI_Waitsome(3, requests, &done, indices, statuses);
	CHECK(done == MPI_UNDEFINED);
	MPI_Testsome(3, requests, &done, indices, statuses);
	CHECK(done == MPI_UNDEFINED);
	MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
}

/* Four receives from itself, served in another order. */
static void any_and_some_tell_which(void)
{
	int got[4], index, flag, done, indices[4];
	MPI_Request requests[4];
	MPI_Status status, statuses[4];
	for (int i = 0; i < 4; i++)
		MPI_Irecv(&got[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
	MPI_Testany(4, requests, &index, &flag, &status);
	CHECK(!flag && index == MPI_UNDEFINED);
	MPI_Testsome(4, requests, &done, indices, statuses);
	CHECK(done == 0);
	MPI_Testall(4, requests, &flag, statuses);
	CHECK(!flag);
	index = 20;
	MPI_Send(&index, 1, MPI_INT, rank, 2, MPI_COMM_WORLD);
	MPI_Waitany(4, requests, &index, &status);
	CHECK(index == 2 && got[2] == 20 && status.MPI_TAG == 2 && requests[2] == MPI_REQUEST_NULL);
	for (int i = 0; i < 4; i += 3)
		MPI_Send(&i, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
	for (int left = 2; left > 0; left -= done) {
		MPI_Waitsome(4, requests, &done, indices, statuses);
		CHECK(done > 0 && done <= left);
		for (int i = 0; i < done; i++)
			CHECK(indices[i] == statuses[i].MPI_TAG && got[indices[i]] == indices[i]);
	}
	MPI_Send(&index, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
	do
		MPI_Testsome(4, requests, &done, indices, statuses);
	while (done == 0);
	CHECK(done == 1 && indices[0] == 1);
	MPI_Testany(4, requests, &index, &flag, &status);
	CHECK(flag && index == MPI_UNDEFINED);
}

static void a_status_can_be_asked_for_twice(void)
{
	int got = -1, flag = 1, token = 3;
	MPI_Request request;
	MPI_Status status;
	MPI_Irecv(&got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Request_get_status(request, &flag, &status);
	CHECK(!flag);
	MPI_Send(&token, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
	do
		MPI_Request_get_status(request, &flag, &status);
	while (!flag);
	CHECK(request != MPI_REQUEST_NULL && status.MPI_SOURCE == rank);
	MPI_Wait(&request, &status);
	CHECK(got == 3 && status.MPI_SOURCE == rank);
}

static void freed_requests_complete(void)
{
	int token = rank, got = -1;
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	MPI_Request request;
	MPI_Isend(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
	CHECK(request == MPI_REQUEST_NULL);
	MPI_Recv(&got, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(got == before);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* More receives at once than an interface has match entries, posted first, or after their messages. */
static void more_requests_than_match_entries(void)
{
	const char *more = getenv("MPI_TEST_REQUESTS");
	const int many = more ? atoi(more) : 70000;
	const size_t count = (size_t)many;
	int *got = bytes(count * sizeof(*got)), *sent = bytes(count * sizeof(*sent));
	MPI_Request *requests = bytes(count * sizeof(MPI_Request)), *sends = bytes(count * sizeof(MPI_Request));
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < many && turn == 0; i++)
			MPI_Irecv(&got[i], 1, MPI_INT, i % 2 ? before : MPI_ANY_SOURCE, i % 3, MPI_COMM_WORLD,
				  &requests[i]);
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < many; i++) {
			sent[i] = i + turn;
			MPI_Isend(&sent[i], 1, MPI_INT, next, i % 3, MPI_COMM_WORLD, &sends[i]);
		}
		for (int i = 0; i < many && turn == 1; i++)
			MPI_Irecv(&got[i], 1, MPI_INT, i % 2 ? before : MPI_ANY_SOURCE, i % 3, MPI_COMM_WORLD,
				  &requests[i]);
		MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
		MPI_Waitall(many, sends, MPI_STATUSES_IGNORE);
		for (int i = 0; i < many; i++)
			CHECK(got[i] == i + turn);
	}
	free(got);
	free(sent);
	free(requests);
	free(sends);
}

#ifdef MINIMPI
/* Not by a call of MPI: to the thread sanitizer that is a race with what writes the message. */
__attribute__((no_sanitize_thread)) static void watch(const volatile char *first, const volatile char *second)
{
	while (!*first || !*second)
		;
}

/*
 * A long message arrives in a posted receive while its process makes no call: it watches its memory.  This is what the NIC
 * is for; MPI does not guarantee it.  (A mode without NIC thread cannot: PTL_NIC_MODE=host.)
 */
static void a_long_message_arrives_while_its_receiver_computes(void)
{
	enum { LONG = 1 << 20 };
	const char *mode = getenv("PTL_NIC_MODE");
	if (size < 2 || (mode && strcmp(mode, "host") == 0))
		return;
	char *data = bytes(LONG);
	MPI_Request request;
	memset(data, rank == 0, LONG);
	if (rank == 1)
		MPI_Irecv(data, LONG, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_Isend(data, LONG, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE); /* ends although the receiver is in no call */
		MPI_Send(NULL, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
	} else if (rank == 1) {
		watch(&data[LONG - 1], &data[LONG / 2]);
		MPI_Recv(NULL, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (int i = 0; i < LONG; i++)
			CHECK(data[i] == 1);
	}
	free(data);
}
#endif

static void time_goes_on(void)
{
	const double before = MPI_Wtime();
	char name[MPI_MAX_PROCESSOR_NAME];
	int length = 0;
	CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1);
	CHECK(MPI_Wtime() >= before);
	MPI_Get_processor_name(name, &length);
	CHECK(length > 0 && (int)strlen(name) == length);
}

const struct test completion_tests[] = {
	TEST(null_requests_are_complete),
	TEST(any_and_some_tell_which),
	TEST(a_status_can_be_asked_for_twice),
	TEST(freed_requests_complete),
	TEST(more_requests_than_match_entries),
#ifdef MINIMPI
	TEST(a_long_message_arrives_while_its_receiver_computes),
#endif
	TEST(time_goes_on),
	{0},
};
