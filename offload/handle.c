/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/handle.h"

#include "base/report.h"

_Static_assert(NIC_MAX_OBJECTS == 1 << 16, "an index is what a handle has room for");
_Static_assert(NIC_HANDLE_GENERATIONS < 0x7ff, "generations fit a handle and leave the special values free");

uint32_t handle_of(const struct nic *nic, enum handle_kind kind, const struct pool_item *item)
{
	return handle_make(kind, nic->index, item->index,
			   atomic_load_explicit(&item->generation, memory_order_relaxed));
}

static void *find_object(const struct nic *nic, const struct pool *pool, enum handle_kind kind, uint32_t handle)
{
	if (handle_kind(handle) != kind || handle_interface(handle) != nic->index)
		return NULL;
	return pool_find(pool, handle_index(handle), handle_generation(handle));
}

struct match_entry *handle_me(struct nic *nic, ptl_handle_me_t handle)
{
	return find_object(nic, &nic->objects.entries, HANDLE_ME, handle);
}

struct descriptor *handle_md(struct nic *nic, ptl_handle_md_t handle)
{
	struct descriptor *md = find_object(nic, &nic->objects.descriptors, HANDLE_MD, handle);

	return md && !md->successor ? md : NULL; /* what an update replaced has no handle of its own */
}

struct event_queue *handle_eq(struct nic *nic, ptl_handle_eq_t handle)
{
	return find_object(nic, &nic->objects.queues, HANDLE_EQ, handle);
}

struct event_queue *handle_eq_unowned(struct nic *nic, ptl_handle_eq_t handle)
{
	struct event_queue *queues = (struct event_queue *)(void *)nic->objects.queues.objects;

	if (handle_kind(handle) != HANDLE_EQ)
		return NULL;
	struct event_queue *eq = &queues[handle_index(handle)];

	/* The acquires pair with the releases in pool_give() and PtlEQAlloc. */
	return atomic_load_explicit(&eq->item.generation, memory_order_acquire) == handle_generation(handle) &&
			       atomic_load_explicit(&eq->ring, memory_order_acquire)
		       ? eq
		       : NULL;
}

static const struct {
	const char *article, *name;
	int invalid;
} kinds[] = {[HANDLE_NI] = {"a", "network interface", PTL_NI_INVALID},
	     [HANDLE_ME] = {"a", "match entry", PTL_ME_INVALID},
	     [HANDLE_MD] = {"a", "memory descriptor", PTL_MD_INVALID},
	     [HANDLE_EQ] = {"an", "event queue", PTL_EQ_INVALID}};

/* PTL_HANDLE_INVALID wants an object of any kind. */
static const char *wanted_by(int code)
{
	for (int kind = HANDLE_NI; kind <= HANDLE_EQ; kind++)
		if (kinds[kind].invalid == code)
			return kinds[kind].name;
	return "object";
}

int handle_refuse(int code, ptl_handle_any_t handle)
{
	enum handle_kind kind = handle_kind(handle);
	uint32_t generation = handle_generation(handle);
	const int rc = refusal(code);

	if (handle == PTL_EQ_NONE || handle == PTL_INVALID_HANDLE)
		return report_error(rc, "0x%x (%s) is a handle of nothing; %s wanted", handle,
				    handle == PTL_EQ_NONE ? "PTL_EQ_NONE" : "PTL_INVALID_HANDLE", wanted_by(code));
	if (handle == 0 && code == PTL_EQ_INVALID) /* what a descriptor has whose program left the field out */
		return report_error(rc,
				    "0x0 is a handle of nothing; event queue wanted, or PTL_EQ_NONE in a descriptor "
				    "that logs no events");
	if (generation == 0 || generation > NIC_HANDLE_GENERATIONS)
		return report_error(rc, "0x%x is a handle of nothing; %s wanted", handle, wanted_by(code));
	if (code != PTL_HANDLE_INVALID && code != kinds[kind].invalid)
		return report_error(rc, "handle 0x%x is one of %s %s; %s wanted", handle, kinds[kind].article,
				    kinds[kind].name, wanted_by(code));
	return report_error(rc, "handle 0x%x: this %s is gone, or never was", handle, kinds[kind].name);
}
