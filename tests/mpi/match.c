/* SPDX-License-Identifier: BSD-3-Clause */
/* Which receive gets which message: order, wildcards, truncation, probes, cancelled receives. */
#include "mpi_test.h"

/* Long and short messages of one tag are received in the order in which they were sent, with wildcards too. */
static void messages_do_not_overtake(void)
{
	enum { COUNT = 60 };
	static const int lengths[] = {1, 5000, 2, 1000, 40000, 3};
	MPI_Request requests[COUNT];
	if (size < 2)
		return;
	int *data = bytes(40000 * sizeof(*data));
	int *sent[COUNT] = {NULL};
	for (int i = 0; rank == 0 && i < COUNT; i++) {
		sent[i] = bytes(40000 * sizeof(*data));
		sent[i][0] = i;
		MPI_Isend(sent[i], lengths[i % 6], MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[i]);
	}
	for (int i = 0; rank == 1 && i < COUNT; i++) {
		MPI_Status status;
		int count;
		MPI_Recv(data, 40000, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, i % 3 ? 0 : MPI_ANY_TAG, MPI_COMM_WORLD,
			 &status);
		MPI_Get_count(&status, MPI_INT, &count);
		CHECK(data[0] == i && count == lengths[i % 6]);
	}
	if (rank == 0)
		MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < COUNT; i++)
		free(sent[i]);
	free(data);
}

/*
 * The buffer of a send is the program's again when the send is complete, whether or not its message has a receive.  Bursts of
 * some lengths, some of them before their receives, and an answer to each, which may tell how much has arrived.  The short ones
 * end before their receives; between them are some that need not.
 */
static void messages_keep_their_data(void)
{
	enum { ROUNDS = 60, LONGEST = 3000, SHORT = 1000, BURST = 50 };
	static int data[LONGEST], own[BURST][LONGEST];
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (int round = 0; round < ROUNDS; round++) {
		const int burst = 1 + round * 7 % BURST, answers = round % 3;
		MPI_Request requests[BURST];
		for (int i = 0; i < burst; i++) {
			const int length = 1 + (i * 331 + round) % LONGEST;
			int *sent = length <= SHORT ? data : own[i];
			for (int k = 0; k < length; k++)
				sent[k] = round + i + k;
			MPI_Isend(sent, length, MPI_INT, next, i % 2, MPI_COMM_WORLD, &requests[i]);
			if (length <= SHORT)
				MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		}
		for (int tag = 1; tag >= 0; tag--) {
			for (int i = tag; i < burst; i += 2) {
				MPI_Status status;
				int length;
				MPI_Recv(data, LONGEST, MPI_INT, before, tag, MPI_COMM_WORLD, &status);
				MPI_Get_count(&status, MPI_INT, &length);
				CHECK(length == 1 + (i * 331 + round) % LONGEST);
				for (int k = 0; k < length; k++)
					CHECK(data[k] == round + i + k);
			}
		}
		MPI_Waitall(burst, requests, MPI_STATUSES_IGNORE);
		for (int i = 0; i < answers; i++)
			MPI_Sendrecv(&round, 1, MPI_INT, before, 5, data, 1, MPI_INT, next, 5, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
	}
}

/* The messages of a rank below: mostly synchronous ones, some longer than what any MPI sends without asking. */
static int unmatched_length(int i)
{
	return i % 64 == 0 ? 3000 : 1 + i % 3;
}

static void send_unmatched(int many, const int *values)
{
	MPI_Request *requests = bytes((size_t)many * sizeof(MPI_Request));
	for (int i = 0; i < many; i++) {
		if (i % 5 == 0)
			MPI_Isend(&values[i], unmatched_length(i), MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[i]);
		else
			MPI_Issend(&values[i], unmatched_length(i), MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[i]);
	}
	MPI_Send(&many, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
	MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
	free(requests);
}

/* However many sends to a rank wait for their receives, a message of another tag gets past them.  Then they come, in their order. */
static void unmatched_sends_hold_nothing_back(void)
{
	const char *more = getenv("MPI_TEST_UNMATCHED");
	const int many = (more ? atoi(more) : 20000) / (size > 1 ? size - 1 : 1);
	int *values = bytes(((size_t)many + 3000) * sizeof(*values)), *got = ints(3000, -1),
	    *came = ints((size_t)size, 0);
	for (int i = 0; i < many + 3000; i++)
		values[i] = i;
	if (rank > 0)
		send_unmatched(many, values);
	for (int from = size - 1; rank == 0 && from > 0; from--)
		MPI_Recv(got, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; rank == 0 && i < many * (size - 1); i++) {
		MPI_Status status;
		int length;
		MPI_Recv(got, 3000, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_INT, &length);
		const int next = came[status.MPI_SOURCE]++;
		CHECK(length == unmatched_length(next) && got[0] == next && got[length - 1] == next + length - 1);
	}
	free(values);
	free(got);
	free(came);
}

/* Of several posted receives that fit the oldest gets the message. */
static void posted_receives_match_in_their_order(void)
{
	int got[6] = {-1, -1, -1, -1, -1, -1};
	MPI_Request requests[6];
	MPI_Status statuses[6];
	if (size < 2)
		return;
	if (rank == 1) {
		MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
		MPI_Irecv(&got[1], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
		MPI_Irecv(&got[2], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[2]);
		MPI_Irecv(&got[3], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[3]);
		MPI_Irecv(&got[4], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[4]);
		MPI_Irecv(&got[5], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[5]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		const int tags[] = {2, 1, 1, 2, 7, 2};
		for (int i = 0; i < 6; i++)
			MPI_Send(&i, 1, MPI_INT, 1, tags[i], MPI_COMM_WORLD);
	} else if (rank == 1) {
		MPI_Waitall(6, requests, statuses);
		const int expected[] = {1, 0, 2, 3, 4, 5};
		for (int i = 0; i < 6; i++)
			CHECK(got[i] == expected[i]);
	}
}

static void communicators_keep_messages_apart(void)
{
	MPI_Comm other;
	int a = -1, b = -1;
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	int one = 1, two = 2;
	MPI_Request requests[2];
	MPI_Isend(&one, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(&two, 1, MPI_INT, next, 0, other, &requests[1]);
	MPI_Recv(&b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, MPI_STATUS_IGNORE);
	MPI_Recv(&a, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(a == 1 && b == 2);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI_Comm_free(&other);
}

static void any_source_hears_everybody(void)
{
	if (rank > 0) {
		MPI_Send(&rank, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
		return;
	}
	int *seen = bytes((size_t)size * sizeof(*seen));
	memset(seen, 0, (size_t)size * sizeof(*seen));
	for (int i = 1; i < size; i++) {
		int got;
		MPI_Status status;
		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		CHECK(got == status.MPI_SOURCE && got == status.MPI_TAG && !seen[got]);
		seen[got] = 1;
	}
	free(seen);
}

/* Too long for the receive: an error, the rest of the buffer untouched, and the next message whole. */
static void long_messages_are_truncated(void)
{
	static const int lengths[] = {2, 1000, 100000};
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	int *data = bytes(100000 * sizeof(*data));
	for (int i = 0; i < 3; i++) {
		for (int first = 0; first < 2; first++) {
			int got[2] = {-1, -1};
			MPI_Request receive, send;
			MPI_Status status;
			data[0] = 42;
			if (first)
				MPI_Irecv(got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &receive);
			MPI_Isend(data, lengths[i], MPI_INT, rank, 0, MPI_COMM_WORLD, &send);
			if (!first)
				MPI_Irecv(got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &receive);
			FAILS(MPI_Wait(&receive, &status), MPI_ERR_TRUNCATE);
			CHECK(got[0] == 42 && got[1] == -1);
			CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
			CHECK(status.MPI_SOURCE == rank && status.MPI_TAG == 0);
		}
	}
	free(data);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void probes_see_what_is_next(void)
{
	int flag = 1, data[3] = {1, 2, 3}, got[3], count;
	MPI_Status status;
	MPI_Message message;
	MPI_Request request;
	MPI_Iprobe(rank, 6, MPI_COMM_WORLD, &flag, &status);
	CHECK(!flag);
	for (int i = 1; i <= 3; i++)
		MPI_Send(data, i, MPI_INT, rank, 6, MPI_COMM_WORLD);
	do
		MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, &status);
	while (!flag);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 1 && status.MPI_SOURCE == rank);
	MPI_Mprobe(rank, 6, MPI_COMM_WORLD, &message, &status); /* takes the first: the next probe sees the second */
	MPI_Probe(rank, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 2 && status.MPI_TAG == 6);
	MPI_Recv(got, 3, MPI_INT, rank, 6, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 2);
	MPI_Mrecv(got, 3, MPI_INT, &message, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 1 && message == MPI_MESSAGE_NULL);
	do
		MPI_Improbe(rank, 6, MPI_COMM_WORLD, &flag, &message, &status);
	while (!flag);
	MPI_Imrecv(got, 3, MPI_INT, &message, &request);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 3 && got[2] == 3);
}

static void a_matched_message_outlives_its_communicator(void)
{
	int got = -1;
	MPI_Comm own;
	MPI_Message message;
	MPI_Comm_dup(MPI_COMM_SELF, &own);
	MPI_Send(&rank, 1, MPI_INT, 0, 0, own);
	MPI_Mprobe(0, 0, own, &message, MPI_STATUS_IGNORE);
	MPI_Comm_free(&own);
	MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	CHECK(got == rank);
}

static void cancelled_receives_take_nothing(void)
{
	int a = -1, b = -1, flag, token = 8;
	MPI_Request requests[2];
	MPI_Status status;
	MPI_Irecv(&a, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&b, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
	MPI_Cancel(&requests[0]);
	MPI_Wait(&requests[0], &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag && requests[0] == MPI_REQUEST_NULL);
	MPI_Send(&token, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
	MPI_Wait(&requests[1], &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(!flag && a == -1 && b == 8);
}

const struct test match_tests[] = {
	TEST(messages_do_not_overtake),
	TEST(messages_keep_their_data),
	TEST(unmatched_sends_hold_nothing_back),
	TEST(posted_receives_match_in_their_order),
	TEST(communicators_keep_messages_apart),
	TEST(any_source_hears_everybody),
	TEST(long_messages_are_truncated),
	TEST(probes_see_what_is_next),
	TEST(cancelled_receives_take_nothing),
	TEST(a_matched_message_outlives_its_communicator),
	{0},
};
