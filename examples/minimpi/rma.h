/* SPDX-License-Identifier: BSD-3-Clause */
/* An access to the memory of another rank: its arguments, their checks, and how its bytes move. */
#ifndef MINIMPI_RMA_H
#define MINIMPI_RMA_H

#include "type.h"
#include "window.h"

struct access {
	MPI_Win win;
	void *origin;
	int count;
	MPI_Datatype type;
	int rank;
	MPI_Aint place;
	int target_count;
	MPI_Datatype target_type;
};

int rma_check(const struct access *access);
/* What is beyond the target's memory would be dropped there, and its initiator would wait for an answer for ever. */
int rma_check_place(const struct access *access);
static inline size_t rma_bytes(const struct access *access)
{
	return (size_t)access->target_count * access->target_type->size;
}
/* Between a run of bytes here and the pieces of the type there; ends when all have. */
void rma_move(const struct access *access, enum window_move kind, void *bytes);

#endif
