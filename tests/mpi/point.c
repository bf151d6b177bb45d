/* SPDX-License-Identifier: BSD-3-Clause */
/* Point to point: each call, lengths on both sides of every protocol, both orders of send and receive. */
#include "mpi_test.h"

static const size_t lengths[] = {0, 1, 7, 64, 4095, 4096, 4097, 8191, 8192, 8193, 20000, 300000};
#define LENGTHS (sizeof(lengths) / sizeof(*lengths))
#define LONGEST 300000

static void fill(char *data, size_t length, int seed)
{
	for (size_t i = 0; i < length; i++)
		data[i] = (char)((size_t)seed + i * 7);
}

static int filled(const char *data, size_t length, int seed)
{
	for (size_t i = 0; i < length; i++)
		if (data[i] != (char)((size_t)seed + i * 7))
			return 0;
	return 1;
}

static void check_status(const MPI_Status *status, int source, int tag, int count)
{
	int received = -1;
	MPI_Get_count(status, MPI_CHAR, &received);
	CHECK(status->MPI_SOURCE == source);
	CHECK(status->MPI_TAG == tag);
	CHECK(received == count);
}

typedef int sender(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);

/* Rank 0 sends all lengths to rank 1, which receives before they are sent, or after. */
static void send_lengths(sender *send, int receiver_first)
{
	char *data = bytes(LONGEST);
	MPI_Status status;
	for (size_t i = 0; i < LENGTHS; i++) {
		const int length = (int)lengths[i], tag = (int)i;
		MPI_Request request = MPI_REQUEST_NULL;
		if (rank == 1 && receiver_first)
			MPI_Irecv(data, length, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &request);
		if (receiver_first)
			MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0) {
			fill(data, lengths[i], tag);
			CHECK(send(data, length, MPI_CHAR, 1, tag, MPI_COMM_WORLD) == MPI_SUCCESS);
		} else if (rank == 1) {
			if (receiver_first) {
				MPI_Wait(&request, &status);
			} else {
				MPI_Probe(0, tag, MPI_COMM_WORLD, &status); /* it is there, unexpected */
				check_status(&status, 0, tag, length);
				MPI_Recv(data, length, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &status);
			}
			check_status(&status, 0, tag, length);
			CHECK(filled(data, lengths[i], tag));
		}
	}
	free(data);
}

static void sends_arrive_whole(void)
{
	sender *const senders[] = {MPI_Send, MPI_Ssend};
	if (size < 2)
		return;
	for (int i = 0; i < 2; i++)
		for (int first = 0; first < 2; first++)
			send_lengths(senders[i], first);
	send_lengths(MPI_Rsend, 1);
}

static void buffered_sends_need_no_receiver(void)
{
	if (size < 2)
		return;
	const int room = 2 * (LONGEST + MPI_BSEND_OVERHEAD);
	char *buffer = bytes((size_t)room), *data = bytes(LONGEST);
	void *detached;
	int detached_size;
	if (rank == 0) {
		MPI_Buffer_attach(buffer, room);
		for (int i = 0; i < 2; i++) {
			fill(data, LONGEST, i);
			MPI_Bsend(data, LONGEST, MPI_CHAR, 1, i, MPI_COMM_WORLD);
			fill(data, LONGEST, 99); /* it was copied */
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 1; rank == 1 && i >= 0; i--) {
		MPI_Recv(data, LONGEST, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(filled(data, LONGEST, i));
	}
	if (rank == 0) {
		MPI_Buffer_detach(&detached, &detached_size);
		CHECK(detached == buffer && detached_size == room);
	}
	free(buffer);
	free(data);
}

static void a_synchronous_send_waits_for_its_receive(void)
{
	int flag = 1, token = 5;
	MPI_Request request;
	if (size < 2)
		return;
	if (rank == 0) {
		MPI_Issend(&token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
		for (int i = 0; i < 20; i++) {
			MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
			CHECK(!flag);
		}
		MPI_Send(NULL, 0, MPI_INT, 1, 4, MPI_COMM_WORLD); /* only now may it be received */
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(request == MPI_REQUEST_NULL);
	} else if (rank == 1) {
		MPI_Recv(NULL, 0, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static void messages_to_oneself_arrive(void)
{
	for (size_t i = 0; i < LENGTHS; i++) {
		const int length = (int)lengths[i];
		char *from = bytes(lengths[i]), *to = bytes(lengths[i]);
		MPI_Request requests[2];
		MPI_Status statuses[2];
		fill(from, lengths[i], length);
		MPI_Irecv(to, length, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &requests[0]);
		MPI_Isend(from, length, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, statuses);
		check_status(&statuses[0], rank, 1, length);
		CHECK(filled(to, lengths[i], length));
		MPI_Isend(from, length, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[0]);
		MPI_Recv(to, length, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &statuses[0]);
		check_status(&statuses[0], 0, 1, length);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		free(from);
		free(to);
	}
}

static void sendrecv_shifts_around(void)
{
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (size_t i = 0; i < LENGTHS; i++) {
		char *from = bytes(lengths[i]), *to = bytes(lengths[i]);
		const int length = (int)lengths[i];
		MPI_Status status;
		fill(from, lengths[i], rank);
		MPI_Sendrecv(from, length, MPI_CHAR, next, 9, to, length, MPI_CHAR, before, 9, MPI_COMM_WORLD, &status);
		check_status(&status, before, 9, length);
		CHECK(filled(to, lengths[i], before));
		MPI_Sendrecv_replace(from, length, MPI_CHAR, next, 8, before, 8, MPI_COMM_WORLD, &status);
		check_status(&status, before, 8, length);
		CHECK(filled(from, lengths[i], before));
		free(from);
		free(to);
	}
}

static void no_process_takes_and_gives_nothing(void)
{
	int data = 77, flag = 0;
	MPI_Status status;
	MPI_Request requests[3];
	MPI_Message message;
	CHECK(MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
	CHECK(MPI_Recv(&data, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
	check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
	CHECK(data == 77);
	MPI_Sendrecv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, &data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
	check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
	MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
	check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
	MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status);
	CHECK(flag);
	MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
	CHECK(message == MPI_MESSAGE_NO_PROC);
	MPI_Mrecv(&data, 1, MPI_INT, &message, &status);
	check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
	MPI_Isend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
	MPI_Recv_init(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[2]);
	MPI_Start(&requests[2]);
	MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	MPI_Request_free(&requests[2]);
}

/* More than the blocks of a receiver hold, while it receives nothing; then all of it, in order. */
static void a_flood_of_unexpected_messages_is_kept(void)
{
	enum { MANY = 12000 };
	int number;
	if (size < 2)
		return;
	if (rank == 0) {
		MPI_Request *requests = bytes(MANY * sizeof(MPI_Request));
		int *numbers = bytes(MANY * sizeof(*numbers));
		for (int i = 0; i < MANY; i++) {
			numbers[i] = i;
			MPI_Isend(&numbers[i], i % 3 ? 1 : 0, MPI_INT, 1, i % 5, MPI_COMM_WORLD, &requests[i]);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
		free(requests);
		free(numbers);
		return;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (int tag = 4; rank == 1 && tag >= 0; tag--) {
		for (int i = tag; i < MANY; i += 5) {
			MPI_Status status;
			number = i;
			MPI_Recv(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &status);
			CHECK(number == i);
		}
	}
}

static void persistent_requests_repeat(void)
{
	int sent = 0, received = -1;
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	MPI_Request requests[2];
	MPI_Status statuses[2];
	MPI_Send_init(&sent, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(&received, 1, MPI_INT, before, 2, MPI_COMM_WORLD, &requests[1]);
	for (int i = 0; i < 20; i++) {
		sent = 100 * rank + i;
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, statuses);
		CHECK(received == 100 * before + i);
		CHECK(statuses[1].MPI_SOURCE == before);
		CHECK(requests[0] != MPI_REQUEST_NULL);
		MPI_Wait(&requests[1], &statuses[1]); /* inactive: at once, and empty */
		CHECK(statuses[1].MPI_SOURCE == MPI_ANY_SOURCE && statuses[1].MPI_TAG == MPI_ANY_TAG);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	CHECK(requests[0] == MPI_REQUEST_NULL);
}

static void persistent_sends_of_every_kind(void)
{
	int token = rank, room = 1000;
	void *buffer = bytes(1000);
	typedef int init(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
	init *const inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init};
	MPI_Buffer_attach(buffer, room);
	for (int kind = 0; kind < 4; kind++) {
		MPI_Request send, receive;
		int got = -1;
		inits[kind](&token, 1, MPI_INT, rank, kind, MPI_COMM_WORLD, &send);
		for (int i = 0; i < 3; i++) {
			MPI_Irecv(&got, 1, MPI_INT, rank, kind, MPI_COMM_WORLD, &receive);
			MPI_Start(&send);
			MPI_Wait(&receive, MPI_STATUS_IGNORE);
			MPI_Wait(&send, MPI_STATUS_IGNORE);
			CHECK(got == rank);
		}
		MPI_Request_free(&send);
	}
	MPI_Buffer_detach(&buffer, &room);
	free(buffer);
}

const struct test point_tests[] = {
	TEST(sends_arrive_whole),
	TEST(buffered_sends_need_no_receiver),
	TEST(a_synchronous_send_waits_for_its_receive),
	TEST(messages_to_oneself_arrive),
	TEST(sendrecv_shifts_around),
	TEST(no_process_takes_and_gives_nothing),
	TEST(a_flood_of_unexpected_messages_is_kept),
	TEST(persistent_requests_repeat),
	TEST(persistent_sends_of_every_kind),
	{0},
};
