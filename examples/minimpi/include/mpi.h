/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI 3.1, the subset of examples/minimpi (its README has the table).  What is not declared here is not there: a program that
 * needs it does not link.  What each call does is said in the MPI standard; nothing here is an extension.
 */
#ifndef MINIMPI_MPI_H
#define MINIMPI_MPI_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* everything else in the library is hidden: its names are the program's to use */

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION    3
#define MPI_SUBVERSION 1
#define MINIMPI        1 /* for programs that want to know */

/* Handles are pointers to structures of the library; a null handle is NULL. */
typedef struct minimpi_comm *MPI_Comm;
typedef struct minimpi_group *MPI_Group;
typedef struct minimpi_request *MPI_Request;
typedef struct minimpi_message *MPI_Message;
typedef struct minimpi_type *MPI_Datatype;
typedef struct minimpi_op *MPI_Op;
typedef struct minimpi_handler *MPI_Errhandler;
typedef struct minimpi_window *MPI_Win;
typedef struct minimpi_info *MPI_Info;
typedef ptrdiff_t MPI_Aint;
typedef long long MPI_Count;
typedef long long MPI_Offset;

typedef struct {
	int MPI_SOURCE, MPI_TAG, MPI_ERROR;
	int minimpi_cancelled;
	MPI_Count minimpi_bytes;
} MPI_Status;

#define MPI_COMM_NULL       ((MPI_Comm)0)
#define MPI_GROUP_NULL      ((MPI_Group)0)
#define MPI_REQUEST_NULL    ((MPI_Request)0)
#define MPI_MESSAGE_NULL    ((MPI_Message)0)
#define MPI_DATATYPE_NULL   ((MPI_Datatype)0)
#define MPI_OP_NULL         ((MPI_Op)0)
#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0)
#define MPI_WIN_NULL        ((MPI_Win)0)
#define MPI_INFO_NULL       ((MPI_Info)0)

extern struct minimpi_comm minimpi_world, minimpi_self;
extern struct minimpi_group minimpi_empty;
extern struct minimpi_message minimpi_no_process;
extern struct minimpi_handler minimpi_fatal, minimpi_return;
#define MPI_COMM_WORLD       (&minimpi_world)
#define MPI_COMM_SELF        (&minimpi_self)
#define MPI_GROUP_EMPTY      (&minimpi_empty)
#define MPI_MESSAGE_NO_PROC  (&minimpi_no_process)
#define MPI_ERRORS_ARE_FATAL (&minimpi_fatal)
#define MPI_ERRORS_RETURN    (&minimpi_return)

#define MPI_STATUS_IGNORE   ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_BOTTOM          ((void *)0)
#define MPI_IN_PLACE        ((void *)-1)

enum {
	MPI_ANY_SOURCE = -1,
	MPI_ANY_TAG = -1,
	MPI_PROC_NULL = -2,
	MPI_ROOT = -3,
	MPI_UNDEFINED = -32766,
	MPI_MAX_PROCESSOR_NAME = 256,
	MPI_MAX_ERROR_STRING = 256,
	MPI_MAX_OBJECT_NAME = 64,
	MPI_MAX_LIBRARY_VERSION_STRING = 256,
	MPI_BSEND_OVERHEAD = 128
};

enum { MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR, MPI_UNEQUAL }; /* results of comparisons */
enum { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE };

/* Error classes; error codes are the classes themselves. */
enum {
	MPI_SUCCESS,
	MPI_ERR_BUFFER,
	MPI_ERR_COUNT,
	MPI_ERR_TYPE,
	MPI_ERR_TAG,
	MPI_ERR_COMM,
	MPI_ERR_RANK,
	MPI_ERR_REQUEST,
	MPI_ERR_ROOT,
	MPI_ERR_GROUP,
	MPI_ERR_OP,
	MPI_ERR_TOPOLOGY,
	MPI_ERR_DIMS,
	MPI_ERR_ARG,
	MPI_ERR_UNKNOWN,
	MPI_ERR_TRUNCATE,
	MPI_ERR_OTHER,
	MPI_ERR_INTERN,
	MPI_ERR_IN_STATUS,
	MPI_ERR_PENDING,
	MPI_ERR_KEYVAL,
	MPI_ERR_NO_MEM,
	MPI_ERR_BASE,
	MPI_ERR_INFO_KEY,
	MPI_ERR_INFO_VALUE,
	MPI_ERR_INFO_NOKEY,
	MPI_ERR_WIN,
	MPI_ERR_SIZE,
	MPI_ERR_DISP,
	MPI_ERR_INFO,
	MPI_ERR_LOCKTYPE,
	MPI_ERR_ASSERT,
	MPI_ERR_RMA_CONFLICT,
	MPI_ERR_RMA_SYNC,
	MPI_ERR_RMA_RANGE,
	MPI_ERR_LASTCODE
};

/* Environment */
int MPI_Init(int *argc, char ***argv);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Query_thread(int *provided);
int MPI_Is_thread_main(int *flag);
int MPI_Initialized(int *flag);
int MPI_Finalize(void);
int MPI_Finalized(int *flag);
int MPI_Abort(MPI_Comm comm, int code) __attribute__((__noreturn__));
double MPI_Wtime(void);
double MPI_Wtick(void);
int MPI_Get_processor_name(char *name, int *length);
int MPI_Get_version(int *version, int *subversion);
int MPI_Get_library_version(char *text, int *length);
int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *pointer);
int MPI_Free_mem(void *memory);

/* Point to point: blocking */
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Ssend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Rsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Bsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Buffer_attach(void *buffer, int size);
int MPI_Buffer_detach(void *buffer_pointer, int *size);
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag, void *received,
		 int received_count, MPI_Datatype received_type, int from, int received_tag, MPI_Comm comm,
		 MPI_Status *status);
int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int sent_tag, int from, int received_tag,
			 MPI_Comm comm, MPI_Status *status);

/* Point to point: nonblocking and persistent */
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Issend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Irsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Ibsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		  MPI_Request *request);
int MPI_Ssend_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		   MPI_Request *request);
int MPI_Rsend_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		   MPI_Request *request);
int MPI_Bsend_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		   MPI_Request *request);
int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Start(MPI_Request *request_place);
int MPI_Startall(int count, MPI_Request *requests);
int MPI_Request_free(MPI_Request *request);
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status);
int MPI_Cancel(MPI_Request *request_place);
int MPI_Test_cancelled(const MPI_Status *status, int *flag);

/* Point to point: completion and probing */
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses);
int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status);
int MPI_Waitsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses);
int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status);
int MPI_Testsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses);
int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status);
int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status);
int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status);
int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Get_elements(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count);
int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype type, int count);
int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype type, MPI_Count count);
int MPI_Status_set_cancelled(MPI_Status *status, int flag);

#include <minimpi/collective.h>
#include <minimpi/communicator.h>
#include <minimpi/datatype.h>
#include <minimpi/info.h>
#include <minimpi/window.h>

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
