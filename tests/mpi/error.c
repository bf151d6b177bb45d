/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that make no sense, and handlers. */
#include <sys/wait.h>
#include <unistd.h>

#include "mpi_test.h"

static int data[4], got[4];

static void bad_arguments_of_messages(void)
{
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Status status;
	MPI_Datatype raw;
	MPI_Type_contiguous(2, MPI_INT, &raw);
	FAILS(MPI_Send(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
	FAILS(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
	FAILS(MPI_Send(data, 1, raw, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
	FAILS(MPI_Send(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
	FAILS(MPI_Send(data, 1, MPI_INT, -5, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
	FAILS(MPI_Send(data, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
	FAILS(MPI_Send(data, 1, MPI_INT, 0, -7, MPI_COMM_WORLD), MPI_ERR_TAG);
	FAILS(MPI_Send(data, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
	FAILS(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
	FAILS(MPI_Recv(got, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_COUNT);
	FAILS(MPI_Recv(got, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_TYPE);
	FAILS(MPI_Recv(got, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
	FAILS(MPI_Recv(got, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
	FAILS(MPI_Irecv(got, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &request), MPI_ERR_COMM);
	FAILS(MPI_Isend(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
	FAILS(MPI_Ssend(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
	FAILS(MPI_Send_init(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
	FAILS(MPI_Recv_init(data, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
	FAILS(MPI_Probe(size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
	FAILS(MPI_Sendrecv(data, 1, MPI_INT, size, 0, got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
	MPI_Type_free(&raw);
}

static void bad_requests(void)
{
	MPI_Request request = MPI_REQUEST_NULL;
	FAILS(MPI_Start(&request), MPI_ERR_REQUEST);
	FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
	FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
}

static void bad_arguments_of_collectives(void)
{
	FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
	FAILS(MPI_Bcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
	FAILS(MPI_Bcast(data, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
	FAILS(MPI_Bcast(data, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
	FAILS(MPI_Reduce(data, got, 1, MPI_INT, MPI_SUM, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
	FAILS(MPI_Allreduce(data, got, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
	FAILS(MPI_Allreduce(data, got, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
	FAILS(MPI_Allreduce(data, got, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
	FAILS(MPI_Gather(data, 1, MPI_INT, got, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
	FAILS(MPI_Scatter(data, 1, MPI_INT, got, 1, MPI_INT, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
#ifdef MINIMPI /* programs that are erroneous, and not every library notices */
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	FAILS(MPI_Gather(data, 1, MPI_INT, data, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
	FAILS(MPI_Scatter(data, 1, MPI_INT, data, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
	int parts[8] = {0}, *own = parts + size - 1; /* of the last rank, which is the root */
	if (rank == size - 1 && size <= 8) {
		FAILS(MPI_Gather(own, 1, MPI_INT, parts, 1, MPI_INT, rank, MPI_COMM_WORLD), MPI_ERR_BUFFER);
		FAILS(MPI_Scatter(parts, 1, MPI_INT, own, 1, MPI_INT, rank, MPI_COMM_WORLD), MPI_ERR_BUFFER);
	}
#endif
}

#ifdef MINIMPI
/* The root sends more than the others expect: those that hear from it say so, and none waits for ever. */
static void too_long_broadcasts_end(void)
{
	int numbers[4] = {1, 2, 3, 4};
	const int code = MPI_Bcast(numbers, rank == 0 ? 4 : 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank == 0)
		CHECK(code == MPI_SUCCESS);
	else if ((rank & (rank - 1)) == 0)
		CHECK(class_of(code) == MPI_ERR_TRUNCATE);
}
#endif

#ifdef MINIMPI
/* Lengths that differ: a rank that receives too much says so and sends on, and none waits for ever. */
static void reductions_of_different_lengths_end(void)
{
	const int count = rank % 2 ? 4 : 1;
	int numbers[4] = {1, 2, 3, 4}, results[4], code;
	for (int root = 0; root < size; root++) {
		code = MPI_Reduce(numbers, results, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
		CHECK(rank > 0 || size == 1 || class_of(code) == MPI_ERR_TRUNCATE);
	}
	code = MPI_Allreduce(numbers, results, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(rank > 0 || size == 1 || class_of(code) == MPI_ERR_TRUNCATE);
	code = MPI_Scan(numbers, results, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(rank == 0 || rank % 2 || class_of(code) == MPI_ERR_TRUNCATE);
	code = MPI_Exscan(numbers, results, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(rank == 0 || rank % 2 || class_of(code) == MPI_ERR_TRUNCATE);
}

/* In a process of its own, which ends by it, and says why. */
static void a_code_without_text_is_fatal(int code, const char *told)
{
	char text[200] = {0};
	int ends[2], status = 0;
	CHECK(pipe(ends) == 0);
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
		MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
		_exit(0);
	}
	close(ends[1]);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 0);
	CHECK(read(ends[0], text, sizeof(text) - 1) > 0 && strstr(text, told));
	close(ends[0]);
}

static void codes_without_texts_are_fatal(void)
{
	a_code_without_text_is_fatal(100, "code 100");
	a_code_without_text_is_fatal(100000, "code 100000");
	a_code_without_text_is_fatal(256, "code 256");
	a_code_without_text_is_fatal(-1, "code -1");
}
#endif

static void bad_arguments_of_objects(void)
{
	MPI_Group world, group;
	MPI_Comm comm;
	MPI_Datatype type;
	int n, key = MPI_KEYVAL_INVALID, twice[2] = {0, 0}, beyond = size, dims[2] = {5, 0};
	void *value;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	FAILS(MPI_Comm_rank(MPI_COMM_NULL, &n), MPI_ERR_COMM);
	FAILS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
	FAILS(MPI_Comm_dup(MPI_COMM_NULL, &comm), MPI_ERR_COMM);
	FAILS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
	FAILS(MPI_Group_incl(world, 2, twice, &group), MPI_ERR_RANK);
	FAILS(MPI_Group_incl(world, 1, &beyond, &group), MPI_ERR_RANK);
	FAILS(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &n), MPI_ERR_KEYVAL);
	FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
	FAILS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
	FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
	FAILS(MPI_Reduce_local(twice, twice, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
	FAILS(MPI_Reduce_local(MPI_IN_PLACE, twice, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
	FAILS(MPI_Reduce_local(twice, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
	FAILS(MPI_Dims_create(12, 2, dims), MPI_ERR_DIMS);
	FAILS(MPI_Cartdim_get(MPI_COMM_WORLD, &n), MPI_ERR_TOPOLOGY);
	MPI_Group_free(&world);
}

static void errors_of_waits_are_in_statuses(void)
{
	MPI_Request requests[2];
	MPI_Status statuses[2];
	data[0] = 6;
	MPI_Irecv(got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(got + 1, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Send(data, 2, MPI_INT, rank, 0, MPI_COMM_WORLD);
	MPI_Send(data, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
	FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
	CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
	CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS && got[1] == 6);
}

static int heard;

static void hear(MPI_Comm *comm, int *code, ...) /* NOLINT(readability-non-const-parameter): the type is MPI's */
{
	CHECK(*comm != MPI_COMM_NULL);
	heard = class_of(*code);
}

static void handlers(void)
{
	MPI_Errhandler handler, before;
	MPI_Comm comm;
	MPI_Comm_create_errhandler(hear, &handler);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_get_errhandler(comm, &before);
	CHECK(before == MPI_ERRORS_RETURN); /* inherited */
	MPI_Errhandler_free(&before);
	MPI_Comm_set_errhandler(comm, handler);
	MPI_Errhandler_free(&handler);
	CHECK(handler == MPI_ERRHANDLER_NULL);
	heard = 0;
	FAILS(MPI_Send(data, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
	CHECK(heard == MPI_ERR_RANK);
	MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
	CHECK(heard == MPI_ERR_OTHER);
	MPI_Comm_free(&comm);
}

/* Waits for several requests tell the handler of the communicator of the one that failed, which may be gone but for them. */
static void waits_tell_the_handler_of_the_request(void)
{
	for (int some = 0; some < 2; some++) {
		MPI_Errhandler handler;
		MPI_Comm comm;
		MPI_Request request;
		MPI_Status status;
		int done = 0, index = -1;
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Comm_create_errhandler(hear, &handler);
		MPI_Comm_set_errhandler(comm, handler);
		MPI_Errhandler_free(&handler);
		MPI_Irecv(got, 1, MPI_INT, rank, 0, comm, &request);
		MPI_Send(data, 2, MPI_INT, rank, 0, comm);
		MPI_Comm_free(&comm);
		heard = 0;
		if (some)
			FAILS(MPI_Waitsome(1, &request, &done, &index, &status), MPI_ERR_IN_STATUS);
		else
			FAILS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
		CHECK(heard == MPI_ERR_IN_STATUS && class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE);
	}
}

static void texts(void)
{
	char text[MPI_MAX_ERROR_STRING];
	int length = 0;
	for (int code = MPI_SUCCESS; code <= MPI_ERR_PENDING; code++) {
		MPI_Error_string(code, text, &length);
		CHECK(length > 0 && (int)strlen(text) == length);
	}
}

static void return_errors(void)
{
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static void errors_are_fatal_again(void)
{
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

const struct test error_tests[] = {
	TEST(return_errors),
	TEST(bad_arguments_of_messages),
	TEST(bad_requests),
	TEST(bad_arguments_of_collectives),
#ifdef MINIMPI
	TEST(too_long_broadcasts_end),
	TEST(reductions_of_different_lengths_end),
	TEST(codes_without_texts_are_fatal),
#endif
	TEST(bad_arguments_of_objects),
	TEST(errors_of_waits_are_in_statuses),
	TEST(handlers),
	TEST(waits_tell_the_handler_of_the_request),
	TEST(texts),
	TEST(errors_are_fatal_again),
	{0},
};
