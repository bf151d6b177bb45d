/* SPDX-License-Identifier: BSD-3-Clause */
/* Closed interfaces, and the threads that may still be about to use them. */
#ifndef PORTALS_HAZARD_H
#define PORTALS_HAZARD_H

#include "base/hot.h"
#include "offload/handle.h"

/* A thread's names of the interfaces it found last, by number: what is named here is not freed (hazard.c). */
struct hazard {
	_Alignas(CACHE_LINE) _Atomic(struct nic *) names[MAX_INTERFACES];
	_Atomic uint64_t owner; /* its thread, see hazard.c */
};

/* The calling thread's, or one without names.  Never NULL. */
extern HOT_THREAD_LOCAL _Atomic(struct hazard *) hazard_own;

/* Names what stands in the table at `interface`, and returns it: an interface that stays until this thread finds another there, or NULL. */
struct nic *hazard_name(_Atomic(struct nic *) *table, uint32_t interface);

/* As hazard_name(); mostly this thread has found the same there before. */
static inline struct nic *hazard_find(_Atomic(struct nic *) *table, uint32_t interface)
{
	/* Acquire pairs with the release in open_interface() (init.c): the interface is complete. */
	struct nic *nic = atomic_load_explicit(&table[interface], memory_order_acquire);
	struct hazard *own = atomic_load_explicit(&hazard_own, memory_order_relaxed);

	return likely(nic == atomic_load_explicit(&own->names[interface], memory_order_relaxed))
		       ? nic
		       : hazard_name(table, interface);
}

/* An interface that was closed, and is in no table: frees it, or another of them, in time.  Under the process's lock. */
void hazard_retire(struct nic *);

/* Frees all that were retired; no thread may call any more. */
void hazard_free_all(void);

/* In a forked child: the calling thread has a new id. */
void hazard_forked(void);

#endif
