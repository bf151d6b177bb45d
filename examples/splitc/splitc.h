/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global memory in the manner of Split-C over Portals 3.3: one program on several processes, each with a segment that all others
 * read and write without its help.
 *
 * A global address is a process and a place in its segment.  Segments are laid out alike: what sc_alloc() returns is at the same
 * place everywhere, if all processes make the same calls.
 *
 * One thread at a time may call these functions.  They return 0 or a negative errno value: -EINVAL (a process or place that is
 * not there), -EHOSTDOWN (a process has died; nothing can be completed any more), -EIO (Portals refused, see PtlNicErrorText()).
 */
#ifndef EXAMPLES_SPLITC_H
#define EXAMPLES_SPLITC_H

#include <portals3.h>

#define SC_PROCESSES 256

typedef struct {
	uint32_t process;
	uint64_t offset;
} sc_global;

/*
 * All processes of the program call this; none may go on before it has returned in all of them (PtlNicFence).  `ids` are copied.
 * -EINVAL, -ENOMEM, -EIO.
 */
int sc_init(ptl_handle_ni_t ni, unsigned rank, unsigned size, const ptl_process_id_t *ids, size_t segment);
/* After a last sc_barrier(). */
void sc_end(void);
unsigned sc_rank(void);
unsigned sc_size(void);

/* Part of the segment, zero, aligned to 64 bytes; NULL if it is used up. */
void *sc_alloc(size_t bytes);
/* The place in `process` at which `mine` is here, which must be in the segment. */
sc_global sc_at(unsigned process, const void *mine);
sc_global sc_plus(sc_global at, uint64_t bytes);

/* Synchronous: when they return it has happened. */
int sc_read(uint64_t *value, sc_global from);
int sc_write(sc_global to, uint64_t value);
int sc_bulk_read(void *to, sc_global from, size_t bytes);
int sc_bulk_write(sc_global to, const void *from, size_t bytes);

/* Split-phase: they have happened when sc_sync() returns.  Until then local memory must be left alone (values are copied). */
int sc_get(uint64_t *value, sc_global from);
int sc_put(sc_global to, uint64_t value);
int sc_bulk_get(void *to, sc_global from, size_t bytes);
int sc_bulk_put(sc_global to, const void *from, size_t bytes);
int sc_sync(void);

/*
 * Stores: the process that they go to learns of them, the one that they come from does not.  Local memory may change when
 * sc_sync() or sc_all_store_sync() has returned.
 */
int sc_store(sc_global to, uint64_t value);
int sc_bulk_store(sc_global to, const void *from, size_t bytes);
/* Waits until so many bytes have been stored here since the last of these two calls. */
int sc_store_sync(uint64_t bytes);
/* Collective: all stores of all processes have been done. */
int sc_all_store_sync(void);

int sc_barrier(void);

#endif
