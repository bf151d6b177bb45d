/* SPDX-License-Identifier: BSD-3-Clause */
#include "errors.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "job.h"
#include "type.h"

struct minimpi_handler {
	MPI_Comm_errhandler_function *function;
	int users;
};

static void abort_job(MPI_Comm *comm, int *code, ...) /* NOLINT(readability-non-const-parameter): MPI's type */
{
	(void)comm;
	job_abort(*code);
}

struct minimpi_handler minimpi_fatal = {abort_job, 1};
struct minimpi_handler minimpi_return = {NULL, 1};

static const char *const texts[MPI_ERR_LASTCODE] = {
	[MPI_SUCCESS] = "MPI_SUCCESS: no error",
	[MPI_ERR_BUFFER] = "MPI_ERR_BUFFER: invalid buffer",
	[MPI_ERR_COUNT] = "MPI_ERR_COUNT: invalid count",
	[MPI_ERR_TYPE] = "MPI_ERR_TYPE: invalid data type, or not committed",
	[MPI_ERR_TAG] = "MPI_ERR_TAG: invalid tag",
	[MPI_ERR_COMM] = "MPI_ERR_COMM: invalid communicator",
	[MPI_ERR_RANK] = "MPI_ERR_RANK: invalid rank",
	[MPI_ERR_REQUEST] = "MPI_ERR_REQUEST: invalid request",
	[MPI_ERR_ROOT] = "MPI_ERR_ROOT: invalid root",
	[MPI_ERR_GROUP] = "MPI_ERR_GROUP: invalid group",
	[MPI_ERR_OP] = "MPI_ERR_OP: invalid operation, or not defined for the data type",
	[MPI_ERR_TOPOLOGY] = "MPI_ERR_TOPOLOGY: invalid topology",
	[MPI_ERR_DIMS] = "MPI_ERR_DIMS: invalid dimensions",
	[MPI_ERR_ARG] = "MPI_ERR_ARG: invalid argument",
	[MPI_ERR_UNKNOWN] = "MPI_ERR_UNKNOWN: unknown error",
	[MPI_ERR_TRUNCATE] = "MPI_ERR_TRUNCATE: the message is longer than the buffer",
	[MPI_ERR_OTHER] = "MPI_ERR_OTHER: the other process has ended, or cannot be reached",
	[MPI_ERR_INTERN] = "MPI_ERR_INTERN: internal error",
	[MPI_ERR_IN_STATUS] = "MPI_ERR_IN_STATUS: the errors are in the statuses",
	[MPI_ERR_PENDING] = "MPI_ERR_PENDING: the request is still under way",
	[MPI_ERR_KEYVAL] = "MPI_ERR_KEYVAL: invalid attribute key",
	[MPI_ERR_NO_MEM] = "MPI_ERR_NO_MEM: no memory",
	[MPI_ERR_BASE] = "MPI_ERR_BASE: invalid memory of a window",
	[MPI_ERR_INFO_KEY] = "MPI_ERR_INFO_KEY: invalid info key",
	[MPI_ERR_INFO_VALUE] = "MPI_ERR_INFO_VALUE: invalid info value",
	[MPI_ERR_INFO_NOKEY] = "MPI_ERR_INFO_NOKEY: no such info key",
	[MPI_ERR_WIN] = "MPI_ERR_WIN: invalid window",
	[MPI_ERR_SIZE] = "MPI_ERR_SIZE: invalid size of a window",
	[MPI_ERR_DISP] = "MPI_ERR_DISP: invalid displacement",
	[MPI_ERR_INFO] = "MPI_ERR_INFO: invalid info",
	[MPI_ERR_LOCKTYPE] = "MPI_ERR_LOCKTYPE: invalid kind of lock",
	[MPI_ERR_ASSERT] = "MPI_ERR_ASSERT: invalid assertion",
	[MPI_ERR_RMA_CONFLICT] = "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
	[MPI_ERR_RMA_SYNC] = "MPI_ERR_RMA_SYNC: access to a window outside of an epoch",
	[MPI_ERR_RMA_RANGE] = "MPI_ERR_RMA_RANGE: beyond the memory of a window",
};

/* A function of the program may have returned any number. */
static bool has_text(int code)
{
	return code >= 0 && code < MPI_ERR_LASTCODE;
}

static void tell(int code, const char *call)
{
	if (has_text(code))
		fprintf(stderr, "minimpi: rank %d: %s: %s\n", job.rank, call, texts[code]);
	else
		fprintf(stderr, "minimpi: rank %d: %s: code %d\n", job.rank, call, code);
}

int errors_raise(MPI_Comm comm, int error, const char *call)
{
	if (job.state != JOB_OPEN) {
		fprintf(stderr, "minimpi: %s: called before MPI_Init or after MPI_Finalize\n", call);
		job_abort(1);
	}
	if (!comm)
		comm = MPI_COMM_WORLD;
	if (comm->handler == MPI_ERRORS_ARE_FATAL)
		tell(error, call);
	if (comm->handler->function)
		comm->handler->function(&comm, &error);
	return error;
}

int errors_check_data(const void *buffer, int count, MPI_Datatype type)
{
	if (count < 0)
		return MPI_ERR_COUNT;
	if (!type || !type->committed)
		return MPI_ERR_TYPE;
	if (!buffer && count > 0 && type->size > 0 && type->dense)
		return MPI_ERR_BUFFER; /* other types may hold addresses, to be used with MPI_BOTTOM */
	return MPI_SUCCESS;
}

int errors_check_rank(MPI_Comm comm, int rank, int error)
{
	return rank >= 0 && rank < comm->group->size ? MPI_SUCCESS : error;
}

/* ---- handlers ---- */

void errors_hold(MPI_Errhandler handler)
{
	handler->users++;
}

void errors_release(MPI_Errhandler handler)
{
	if (handler->function && handler != MPI_ERRORS_ARE_FATAL && --handler->users == 0)
		free(handler);
}

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler)
{
	if (!function || !handler)
		return errors_check(MPI_COMM_WORLD, MPI_ERR_ARG, __func__);
	*handler = job_memory(sizeof(**handler));
	**handler = (struct minimpi_handler){function, 1};
	return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
	const int error = errors_check_comm(comm);
	if (error || !handler)
		return errors_check(comm, error ? error : MPI_ERR_ARG, __func__);
	handler->users++;
	errors_release(comm->handler);
	comm->handler = handler;
	return MPI_SUCCESS;
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler)
{
	const int error = errors_check_comm(comm);
	if (error || !handler)
		return errors_check(comm, error ? error : MPI_ERR_ARG, __func__);
	comm->handler->users++;
	*handler = comm->handler;
	return MPI_SUCCESS;
}

int MPI_Errhandler_free(MPI_Errhandler *handler)
{
	if (!handler || !*handler)
		return errors_check(MPI_COMM_WORLD, MPI_ERR_ARG, __func__);
	errors_release(*handler);
	*handler = MPI_ERRHANDLER_NULL;
	return MPI_SUCCESS;
}

int MPI_Comm_call_errhandler(MPI_Comm comm, int code)
{
	if (errors_check_comm(comm) != MPI_SUCCESS)
		return errors_check(comm, MPI_ERR_COMM, __func__);
	errors_check(comm, code, __func__);
	return MPI_SUCCESS;
}

int MPI_Error_class(int code, int *result)
{
	if (!has_text(code) || !result)
		return errors_check(MPI_COMM_WORLD, MPI_ERR_ARG, __func__);
	*result = code;
	return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *text, int *length)
{
	if (!has_text(code) || !text || !length)
		return errors_check(MPI_COMM_WORLD, MPI_ERR_ARG, __func__);
	*length = (int)strlen(texts[code]);
	memcpy(text, texts[code], (size_t)*length + 1);
	return MPI_SUCCESS;
}

/* By their names in MPI-1 */

int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *handler)
{
	return MPI_Comm_create_errhandler(function, handler);
}

int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler)
{
	return MPI_Comm_set_errhandler(comm, handler);
}

int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler)
{
	return MPI_Comm_get_errhandler(comm, handler);
}
