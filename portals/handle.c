/* SPDX-License-Identifier: BSD-3-Clause */
#include "portals/handle.h"

_Static_assert(NIC_MAX_OBJECTS == 1 << 16, "an index is what a handle has room for");
_Static_assert(NIC_HANDLE_GENERATIONS < 0x7ff, "generations fit a handle and leave the special values free");

uint32_t handle_of(const struct nic *nic, enum handle_kind kind, const struct pool_item *item)
{
	return handle_make(kind, nic->index, item->index,
			   atomic_load_explicit(&item->generation, memory_order_relaxed));
}

static void *find(const struct nic *nic, const struct pool *pool, enum handle_kind kind, uint32_t handle)
{
	if (handle_kind(handle) != kind || handle_interface(handle) != nic->index)
		return NULL;
	return pool_find(pool, handle_index(handle), handle_generation(handle));
}

struct match_entry *handle_me(struct nic *nic, ptl_handle_me_t handle)
{
	return find(nic, &nic->entries, HANDLE_ME, handle);
}

struct descriptor *handle_md(struct nic *nic, ptl_handle_md_t handle)
{
	struct descriptor *md = find(nic, &nic->descriptors, HANDLE_MD, handle);

	return md && !md->heir ? md : NULL; /* what an update replaced has no handle of its own */
}

struct event_queue *handle_eq(struct nic *nic, ptl_handle_eq_t handle)
{
	return find(nic, &nic->queues, HANDLE_EQ, handle);
}

struct event_queue *handle_eq_unowned(struct nic *nic, ptl_handle_eq_t handle)
{
	struct event_queue *queues = (struct event_queue *)(void *)nic->queues.objects;

	if (handle_kind(handle) != HANDLE_EQ)
		return NULL;
	struct event_queue *eq = &queues[handle_index(handle)];

	/* The acquires pair with the releases in pool_give() and PtlEQAlloc. */
	return atomic_load_explicit(&eq->item.generation, memory_order_acquire) == handle_generation(handle) &&
			       atomic_load_explicit(&eq->ring, memory_order_acquire)
		       ? eq
		       : NULL;
}
