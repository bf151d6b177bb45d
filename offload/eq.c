/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queues: what is done to them under ownership. */
#include "offload/eq.h"

#include "offload/event_fd.h"
#include "offload/handle.h"
#include "offload/trace.h"
#include "offload/waiters.h"

int eq_allocate(struct nic *nic, void *argument)
{
	struct eq_arguments *arguments = argument;
	struct event_queue *eq;

	if (nic->objects.queues.live >= (uint32_t)nic->limits.max_eqs || !(eq = pool_take(&nic->objects.queues)))
		return pool_refuse(&nic->objects.queues, nic->limits.max_eqs, "event queues", "max_eqs");
	event_number(eq);
	eq->handle = arguments->handle = handle_of(nic, HANDLE_EQ, &eq->item);
	atomic_store_explicit(&eq->handler, arguments->handler, memory_order_relaxed);
	/* Publishes the queue; pairs with the acquire in handle_eq_unowned(). */
	atomic_store_explicit(&eq->ring, arguments->ring, memory_order_release);
	trace(nic, PTL_DBG_EQ, "eq 0x%x, %llu events", eq->handle, (unsigned long long)arguments->ring->size);
	return 0;
}

int eq_free(struct nic *nic, void *argument)
{
	struct eq_arguments *arguments = argument;
	struct event_queue *eq = handle_eq(nic, arguments->handle);
	struct descriptor *md;

	if (!eq)
		return handle_refuse(PTL_EQ_INVALID, arguments->handle);
	trace(nic, PTL_DBG_EQ, "eq 0x%x freed", eq->handle);
	for (uint32_t i = 0; (md = pool_next(&nic->objects.descriptors, &i));)
		if (md->eq == eq)
			md->eq = NULL;
	for (uint32_t i = eq->waiters; i > 0; i--)
		waiters_notify(nic, eq);
	event_fd_close(eq);
	if (nic->failures.eq == eq)
		nic->failures.eq = NULL;
	arguments->ring = atomic_exchange_explicit(&eq->ring, NULL, memory_order_relaxed);
	pool_give(&nic->objects.queues, eq);
	return 0;
}
