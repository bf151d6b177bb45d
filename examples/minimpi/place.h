/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of the long sends that are under way: what a header says its message can be fetched by.  A number is given to
 * another send when nothing of the first is left with its receiver.
 */
#ifndef MINIMPI_PLACE_H
#define MINIMPI_PLACE_H

#include "request.h"

uint64_t place_take(MPI_Request request); /* never SLOTS_BITS */
void place_leave(uint64_t place);
MPI_Request place_find(uint64_t place); /* NULL: there is none */
void place_close(void);

#endif
