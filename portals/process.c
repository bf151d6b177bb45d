/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process knows of its interfaces: the lock around them, handles, return codes. */
#include <errno.h>

#include "base/cancel.h"
#include "base/report.h"
#include "portals/hazard.h"
#include "portals/process_table.h"

struct process_table process_table = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER, .job = PTL_JID_ANY};

/* What a signal handler of this thread may have interrupted. */
static _Thread_local volatile bool holds_lock, skips_lock;
static _Thread_local bool could_be_cancelled; /* before it took the lock */

bool process_ready(void)
{
	return atomic_load_explicit(&process_table.ready, memory_order_acquire) &&
	       !atomic_load_explicit(&process_table.forked, memory_order_relaxed);
}

void process_lock_outside(void)
{
	holds_lock = true;
	could_be_cancelled = cancel_forbid() == PTHREAD_CANCEL_ENABLE;
	pthread_mutex_lock(&process_table.lock);
}

bool process_lock(void)
{
	if (holds_lock || skips_lock || nic_inside()) {
		nic_refuse_reentry();
		return false;
	}
	process_lock_outside();
	return true;
}

void process_unlock(void)
{
	const int before = could_be_cancelled ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE;

	pthread_mutex_unlock(&process_table.lock);
	cancel_restore(&before);
	holds_lock = false;
}

bool process_holds_lock(void)
{
	return holds_lock;
}

void process_lend_lock(void)
{
	skips_lock = true;
	process_unlock();
}

void process_reclaim_lock(void)
{
	process_lock_outside();
	skips_lock = false;
}

int process_set_job(ptl_jid_t jid)
{
	for (int i = 0; i < MAX_INTERFACES; i++)
		if (atomic_load_explicit(&process_table.interfaces[i], memory_order_relaxed))
			return report_error(PTL_FAIL, "interface %d is open, its job id cannot change", i);
	if (process_table.settings.job == SETTING_AUTO)
		process_table.job = jid;
	return PTL_OK;
}

const struct settings *process_settings(void)
{
	return &process_table.settings;
}

struct nic *process_nic(ptl_handle_any_t handle)
{
	return hazard_find(process_table.interfaces, handle_interface(handle));
}

static uint32_t ni_generation(uint32_t interface)
{
	return atomic_load_explicit(&process_table.lives[interface], memory_order_relaxed) % NIC_HANDLE_GENERATIONS + 1;
}

ptl_handle_ni_t process_ni_handle(const struct nic *nic)
{
	return handle_make(HANDLE_NI, nic->index, 0, ni_generation(nic->index));
}

struct nic *process_ni(ptl_handle_ni_t handle)
{
	/* Before its generation: a caller that finds a later interface must see that an earlier one is meant. */
	struct nic *nic = process_nic(handle);

	if (handle_kind(handle) != HANDLE_NI || handle_index(handle) != 0 ||
	    handle_generation(handle) != ni_generation(handle_interface(handle)))
		return NULL;
	return nic;
}

int process_code(int result, int invalid)
{
	if (result >= 0)
		return PTL_OK;
	if (refusal_code(result))
		return refusal_code(result);
	switch (result) {
	case -EINVAL:
		return invalid;
	case -ENOMEM:
	case -ENOSPC:
	case -EMFILE:
	case -ENFILE:
		return PTL_NO_SPACE;
	case -ESHUTDOWN:
		return PTL_NI_INVALID;
	case -EADDRINUSE:
		return PTL_PID_INVALID;
	case -ENODEV:
	case -ENOTSUP:
		return PTL_IFACE_INVALID;
	default:
		return PTL_FAIL;
	}
}
