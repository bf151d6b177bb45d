/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for requests, and testing them. */
#include "wait.h"

#include "errors.h"
#include "receive.h"
#include "send.h"

static const MPI_Status empty = {MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, 0, 0};

void wait_step(void)
{
	progress_wait();
	receive_serve_waiting();
}

void wait_poll(void)
{
	progress_poll();
	receive_serve_waiting();
}

void wait_start(MPI_Request request)
{
	request->active = true;
	request->complete = false;
	request->status = empty;
	if (request->rank == MPI_PROC_NULL) {
		if (request->kind == REQUEST_RECEIVE)
			request->status.MPI_SOURCE = MPI_PROC_NULL;
		request_complete(request, MPI_SUCCESS);
	} else if (request->kind == REQUEST_RECEIVE) {
		receive_start(request);
	} else {
		send_start(request);
	}
}

static void set_status(MPI_Status *status, const MPI_Status *from)
{
	if (status == MPI_STATUS_IGNORE)
		return;
	const int error = status->MPI_ERROR; /* calls that complete one request leave it alone */
	*status = *from;
	status->MPI_ERROR = error;
}

int wait_for(MPI_Request request, MPI_Status *status)
{
	while (!request->complete)
		wait_step();
	const int error = request->status.MPI_ERROR;
	set_status(status, &request->status);
	request_free(request);
	return error;
}

/* Tells the program of a request that is complete.  One that has failed is raised by the caller, as `call`, unless that is NULL. */
static int finish(MPI_Request *place, MPI_Status *status, const char *call)
{
	MPI_Request request = *place;
	const int error = request->status.MPI_ERROR;
	set_status(status, &request->status);
	request->active = false;
	if (error && call)
		errors_raise(request->comm, error, call);
	if (!request->persistent) {
		request_free(request);
		*place = MPI_REQUEST_NULL;
	} else {
		request->status = empty;
	}
	return error;
}

static bool is_active(MPI_Request request)
{
	return request && request->active;
}

static int check_list(int count, const MPI_Request *requests)
{
	if (count < 0)
		return MPI_ERR_COUNT;
	return count > 0 && !requests ? MPI_ERR_REQUEST : MPI_SUCCESS;
}

/* ---- one ---- */

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	if (!request)
		return errors_check(NULL, MPI_ERR_REQUEST, __func__);
	if (!is_active(*request)) {
		set_status(status, &empty);
		return MPI_SUCCESS;
	}
	while (!(*request)->complete)
		wait_step();
	return finish(request, status, __func__);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	if (!request)
		return errors_check(NULL, MPI_ERR_REQUEST, __func__);
	if (!flag)
		return errors_check(NULL, MPI_ERR_ARG, __func__);
	*flag = 1;
	if (!is_active(*request)) {
		set_status(status, &empty);
		return MPI_SUCCESS;
	}
	if (!(*request)->complete)
		wait_poll();
	*flag = (*request)->complete;
	return *flag ? finish(request, status, __func__) : MPI_SUCCESS;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	if (!flag)
		return errors_check(NULL, MPI_ERR_ARG, __func__);
	if (is_active(request) && !request->complete)
		wait_poll();
	*flag = !is_active(request) || request->complete;
	if (*flag)
		set_status(status, is_active(request) ? &request->status : &empty);
	return MPI_SUCCESS;
}

/* ---- all ---- */

/* The communicator of the first request that has failed, held, for it may go with its last request; NULL if none has. */
static MPI_Comm hold_failed(int count, const MPI_Request *requests)
{
	for (int i = 0; i < count; i++) {
		if (!is_active(requests[i]) || !requests[i]->complete || !requests[i]->status.MPI_ERROR)
			continue;
		requests[i]->comm->users++;
		return requests[i]->comm;
	}
	return NULL;
}

static int raise_in_status(MPI_Comm failed, const char *call)
{
	if (!failed)
		return MPI_SUCCESS;
	errors_raise(failed, MPI_ERR_IN_STATUS, call);
	comm_release(failed);
	return MPI_ERR_IN_STATUS;
}

/* All are complete.  If one has failed, each status says how its own went. */
static int finish_all(int count, MPI_Request *requests, MPI_Status *statuses, const char *call)
{
	const MPI_Comm failed = hold_failed(count, requests);
	for (int i = 0; i < count; i++) {
		MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
		int error = MPI_SUCCESS;
		if (is_active(requests[i]))
			error = finish(&requests[i], status, NULL);
		else
			set_status(status, &empty);
		if (failed && status)
			status->MPI_ERROR = error;
	}
	return raise_in_status(failed, call);
}

static bool all_complete(int count, const MPI_Request *requests)
{
	for (int i = 0; i < count; i++)
		if (is_active(requests[i]) && !requests[i]->complete)
			return false;
	return true;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
	const int error = check_list(count, requests);
	if (error)
		return errors_check(NULL, error, __func__);
	for (int i = 0; i < count; i++)
		while (is_active(requests[i]) && !requests[i]->complete)
			wait_step();
	return finish_all(count, requests, statuses, __func__);
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	const int error = check_list(count, requests);
	if (error || !flag)
		return errors_check(NULL, error ? error : MPI_ERR_ARG, __func__);
	if (!all_complete(count, requests))
		wait_poll();
	*flag = all_complete(count, requests);
	return *flag ? finish_all(count, requests, statuses, __func__) : MPI_SUCCESS;
}

/* ---- any ---- */

/* Index of the first that is complete, MPI_UNDEFINED if none is active, -1 if none is complete yet. */
static int find_complete(int count, const MPI_Request *requests)
{
	int found = MPI_UNDEFINED;
	for (int i = 0; i < count; i++) {
		if (!is_active(requests[i]))
			continue;
		if (requests[i]->complete)
			return i;
		found = -1;
	}
	return found;
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
	const int error = check_list(count, requests);
	if (error || !index)
		return errors_check(NULL, error ? error : MPI_ERR_ARG, __func__);
	while ((*index = find_complete(count, requests)) == -1)
		wait_step();
	if (*index != MPI_UNDEFINED)
		return finish(&requests[*index], status, __func__);
	set_status(status, &empty);
	return MPI_SUCCESS;
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
	const int error = check_list(count, requests);
	if (error || !index || !flag)
		return errors_check(NULL, error ? error : MPI_ERR_ARG, __func__);
	int found = find_complete(count, requests);
	if (found == -1) {
		wait_poll();
		found = find_complete(count, requests);
	}
	*flag = found != -1;
	*index = found == -1 ? MPI_UNDEFINED : found;
	if (found >= 0)
		return finish(&requests[found], status, __func__);
	if (*flag)
		set_status(status, &empty);
	return MPI_SUCCESS;
}

/* ---- some ---- */

static int finish_some(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses,
		       const char *call)
{
	const MPI_Comm failed = hold_failed(count, requests);
	*done = 0;
	for (int i = 0; i < count; i++) {
		if (!is_active(requests[i]) || !requests[i]->complete)
			continue;
		MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*done];
		const int error = finish(&requests[i], status, NULL);
		if (status)
			status->MPI_ERROR = error;
		indices[(*done)++] = i;
	}
	return raise_in_status(failed, call);
}

int MPI_Waitsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
	const int error = check_list(count, requests);
	int found;
	if (error || !done || (count > 0 && !indices))
		return errors_check(NULL, error ? error : MPI_ERR_ARG, __func__);
	while ((found = find_complete(count, requests)) == -1)
		wait_step();
	if (found != MPI_UNDEFINED)
		return finish_some(count, requests, done, indices, statuses, __func__);
	*done = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

int MPI_Testsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
	const int error = check_list(count, requests);
	if (error || !done || (count > 0 && !indices))
		return errors_check(NULL, error ? error : MPI_ERR_ARG, __func__);
	if (find_complete(count, requests) == -1)
		wait_poll();
	if (find_complete(count, requests) != MPI_UNDEFINED)
		return finish_some(count, requests, done, indices, statuses, __func__);
	*done = MPI_UNDEFINED;
	return MPI_SUCCESS;
}
