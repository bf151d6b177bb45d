/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process: PtlInit to PtlFini, the table of interfaces, fork and exit.
 *
 * Closed interfaces stay mapped until PtlFini, so that a thread which still reads an event queue never faults.  A
 * forked child has no NIC threads and must not touch what it shares with its parent: every call returns PTL_NO_INIT
 * until PtlFini, which only forgets; then it may start anew.  At exit without PtlFini the NIC threads are stopped,
 * before the destructors of libfabric take away what they run on.
 */
#include <errno.h>
#include <p3/nal_types.h>
#include <p3utils.h>
#include <portals3_nic.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/report.h"
#include "portals/debug.h"
#include "portals/process.h"
#include "portals/refuse.h"
#include "portals/runtime/launcher.h"
#include "portals/runtime/rank.h"
#include "portals/runtime/settings.h"

#define NAMED_INTERFACES 4 /* PTL_NALTYPE_UTCP0 to 3 */

static struct {
	pthread_mutex_t lock; /* of everything below; the atomics are read without it */
	_Atomic bool ready;
	_Atomic bool forked;
	bool hooked;
	struct settings settings;
	_Atomic(struct nic *) interfaces[MAX_INTERFACES];
	_Atomic uint32_t lives[MAX_INTERFACES]; /* how often each was opened: the generation of its NI handle */
	struct nic *closed[64];
	unsigned closed_count;
	ptl_jid_t job;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .job = PTL_JID_ANY};

bool process_ready(void)
{
	return atomic_load_explicit(&process.ready, memory_order_acquire) &&
	       !atomic_load_explicit(&process.forked, memory_order_relaxed);
}

void process_lock(void)
{
	pthread_mutex_lock(&process.lock);
}

void process_unlock(void)
{
	pthread_mutex_unlock(&process.lock);
}

int process_set_job(ptl_jid_t jid)
{
	for (int i = 0; i < MAX_INTERFACES; i++)
		if (atomic_load_explicit(&process.interfaces[i], memory_order_relaxed))
			return report_error(PTL_FAIL, "interface %d is open, its job id cannot change", i);
	if (process.settings.job == SETTING_AUTO)
		process.job = jid;
	return PTL_OK;
}

const struct settings *process_settings(void)
{
	return &process.settings;
}

struct nic *process_nic(ptl_handle_any_t handle)
{
	/* Acquire pairs with the release in PtlNIInit: the interface is complete. */
	return atomic_load_explicit(&process.interfaces[handle_interface(handle)], memory_order_acquire);
}

static uint32_t ni_generation(uint32_t interface)
{
	return atomic_load_explicit(&process.lives[interface], memory_order_relaxed) % NIC_HANDLE_GENERATIONS + 1;
}

ptl_handle_ni_t process_ni_handle(const struct nic *nic)
{
	return handle_make(HANDLE_NI, nic->index, 0, ni_generation(nic->index));
}

struct nic *process_ni(ptl_handle_ni_t handle)
{
	if (handle_kind(handle) != HANDLE_NI || handle_index(handle) != 0 ||
	    handle_generation(handle) != ni_generation(handle_interface(handle)))
		return NULL;
	return process_nic(handle);
}

int process_code(int result, int invalid)
{
	if (result >= 0)
		return result;
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

/* --- fork and exit --- */

/*
 * A thread that opens libfabric holds locks there, which a child would find locked for ever when it starts anew: it is
 * waited for.  So is one that closes an interface, which holds our own lock.
 */
static void before_fork(void)
{
	pthread_mutex_lock(&process.lock);
	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = atomic_load_explicit(&process.interfaces[i], memory_order_relaxed);

		if (nic)
			nic_await_opening(nic);
	}
	event_rings_lock(true);
}

static void after_fork_in_parent(void)
{
	event_rings_lock(false);
	pthread_mutex_unlock(&process.lock);
}

static void after_fork_in_child(void)
{
	event_rings_lock(false);
	pthread_mutex_unlock(&process.lock);
	if (!atomic_load_explicit(&process.ready, memory_order_relaxed))
		return;
	atomic_store_explicit(&process.forked, true, memory_order_relaxed);
	launcher_forked();
	for (int i = 0; i < MAX_INTERFACES; i++)
		if (atomic_load_explicit(&process.interfaces[i], memory_order_relaxed))
			nic_abandon(atomic_load_explicit(&process.interfaces[i], memory_order_relaxed));
}

static void at_exit(void)
{
	/* exit() from a signal handler inside a Portals call: this thread owns an engine that others wait for. */
	if (!nic_inside())
		launcher_leave();
	if (!process_ready() || nic_inside())
		return;
	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = atomic_load_explicit(&process.interfaces[i], memory_order_relaxed);

		if (nic)
			nic_stop_threads(nic);
	}
}

static int hook(void)
{
	if (process.hooked)
		return 0;
	int rc = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

	if (rc || atexit(at_exit))
		return report_error(-ENOMEM, "no memory for the handlers of fork and exit");
	process.hooked = true;
	return 0;
}

/* --- PtlInit and PtlFini --- */

int PtlInit(int *max_interfaces)
{
	int rc = 0;

	if (!max_interfaces)
		return refuse_null("max_interfaces");
	pthread_mutex_lock(&process.lock);
	if (atomic_load_explicit(&process.forked, memory_order_relaxed)) {
		rc = report_error(-EPERM, "a forked child has to call PtlFini before it may start again");
	} else if (!process_ready() && (rc = settings_read(&process.settings)) == 0 && (rc = hook()) == 0) {
		process.job = process.settings.job == SETTING_AUTO ? PTL_JID_ANY : (ptl_jid_t)process.settings.job;
		if (!p3_out) /* programs print to it themselves, without looking */
			p3_out = stderr;
		atomic_store_explicit(&process.ready, true, memory_order_release);
	}
	pthread_mutex_unlock(&process.lock);
	if (rc)
		return rc == -EPERM ? PTL_NO_INIT : PTL_FAIL;
	*max_interfaces = MAX_INTERFACES;
	return PTL_OK;
}

/* Keeps a closed interface until PtlFini; with very many of them the oldest has had its time. */
static void retire(struct nic *nic)
{
	unsigned slot = process.closed_count++ % 64;

	if (process.closed[slot])
		nic_free(process.closed[slot]);
	process.closed[slot] = nic;
}

static void close_interface(unsigned interface)
{
	struct nic *nic = atomic_exchange_explicit(&process.interfaces[interface], NULL, memory_order_acq_rel);

	if (!nic)
		return;
	atomic_fetch_add_explicit(&process.lives[interface], 1, memory_order_relaxed);
	rank_forget(interface);
	nic_close(nic);
	retire(nic);
}

static void forget_everything(void)
{
	bool forked = atomic_load_explicit(&process.forked, memory_order_relaxed);

	for (unsigned i = 0; i < MAX_INTERFACES; i++) {
		if (!forked)
			close_interface(i);
		else if (atomic_exchange_explicit(&process.interfaces[i], NULL, memory_order_relaxed))
			atomic_fetch_add_explicit(&process.lives[i], 1, memory_order_relaxed);
	}
	for (unsigned i = 0; i < 64; i++) {
		if (process.closed[i])
			nic_free(process.closed[i]);
		process.closed[i] = NULL;
	}
	process.closed_count = 0;
	event_rings_free();
	rank_forget_all();
	process.job = PTL_JID_ANY;
	atomic_store_explicit(&process.forked, false, memory_order_relaxed);
	atomic_store_explicit(&process.ready, false, memory_order_release);
}

void PtlFini(void)
{
	pthread_mutex_lock(&process.lock);
	if (atomic_load_explicit(&process.ready, memory_order_relaxed))
		forget_everything();
	pthread_mutex_unlock(&process.lock);
}

/* --- interfaces --- */

static bool pid_is_ours(ptl_pid_t pid)
{
	for (int i = 0; i < MAX_INTERFACES; i++) {
		const struct nic *nic = atomic_load_explicit(&process.interfaces[i], memory_order_relaxed);

		if (nic && nic->id.pid == pid)
			return true;
	}
	return false;
}

static const char *device_of(uint32_t interface)
{
	const struct settings *settings = &process.settings;
	const char *const own[NAMED_INTERFACES] = {settings->iface0, settings->iface1, settings->iface2,
						   settings->iface3};

	return interface < NAMED_INTERFACES && *own[interface] ? own[interface] : settings->iface;
}

/* The program's choice, else the job's, else anything.  False: they contradict each other. */
static bool choose_pid(ptl_pid_t *pid)
{
	ptl_pid_t mapped = rank_wanted_pid();

	if (*pid == PTL_PID_ANY)
		*pid = mapped;
	if (mapped == PTL_PID_ANY || mapped == *pid)
		return true;
	report_error(-EINVAL, "pid %u is wanted, but the job's map has %u for this process", *pid, mapped);
	return false;
}

static int open_interface(uint32_t interface, ptl_pid_t pid, struct nic **out)
{
	ptl_jid_t jid = PTL_JID_ANY;

	if (rank_prepare(&jid))
		return PTL_FAIL;
	if (process.job == PTL_JID_ANY)
		process.job = jid;
	if (!choose_pid(&pid))
		return PTL_PID_INVALID;
	const struct nic_request request = {
		.pid = pid,
		.index = interface,
		.life = atomic_load_explicit(&process.lives[interface], memory_order_relaxed),
		.jid = process.job,
		.device = device_of(interface),
		.trace = debug_default(interface),
		.settings = &process.settings,
	};
	if (request.pid != PTL_PID_ANY && pid_is_ours(request.pid)) {
		report_error(-EADDRINUSE, "pid %u belongs to another interface of this process", request.pid);
		return PTL_PID_INVALID;
	}
	int rc = nic_open(&request, out);

	if (rc)
		return process_code(rc, PTL_IFACE_INVALID);
	if (rank_adopt(interface, (*out)->id)) {
		nic_close(*out);
		retire(*out);
		return PTL_FAIL;
	}
	if (process.job == PTL_JID_ANY)
		process.job = (*out)->jid; /* the first interface names the job */
	/* Publishes the interface; pairs with the acquire in process_nic(). */
	atomic_store_explicit(&process.interfaces[interface], *out, memory_order_release);
	return PTL_OK;
}

/* The reference implementation's names of its interfaces (p3/nal_types.h) mean our first four. */
static uint32_t interface_number(ptl_interface_t interface)
{
	if (interface == PTL_NALTYPE_IBNG0)
		return 0;
	return interface - PTL_NALTYPE_UTCP0 < NAMED_INTERFACES ? interface - PTL_NALTYPE_UTCP0 : interface;
}

int PtlNIInit(ptl_interface_t interface, ptl_pid_t pid, ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
	      ptl_handle_ni_t *ni_handle)
{
	int code = PTL_OK;

	(void)desired; /* a hint: see set_limits() in offload/open.c */
	if (!ni_handle)
		return refuse_null("ni_handle");
	if (!process_ready())
		return refuse_uninitialised();
	interface = interface_number(interface);
	if (interface >= MAX_INTERFACES) {
		report_error(-ENODEV, "interface %u is unknown, there are %d (0 to %d)", interface, MAX_INTERFACES,
			     MAX_INTERFACES - 1);
		return PTL_IFACE_INVALID;
	}
	pthread_mutex_lock(&process.lock);
	struct nic *nic = atomic_load_explicit(&process.interfaces[interface], memory_order_relaxed);

	if (!nic)
		code = open_interface(interface, pid, &nic);
	if (code == PTL_OK) {
		if (actual)
			*actual = nic->limits;
		*ni_handle = process_ni_handle(nic);
	}
	pthread_mutex_unlock(&process.lock);
	return code;
}

int PtlNIInitialized(ptl_interface_t interface)
{
	interface = interface_number(interface);
	/* Acquire pairs with the release in open_interface(). */
	return process_ready() && interface < MAX_INTERFACES &&
	       atomic_load_explicit(&process.interfaces[interface], memory_order_acquire) != NULL;
}

int PtlNIFini(ptl_handle_ni_t ni_handle)
{
	int code;

	if (!process_ready())
		return refuse_uninitialised();
	pthread_mutex_lock(&process.lock);
	if (process_ni(ni_handle)) {
		close_interface(handle_interface(ni_handle));
		code = PTL_OK;
	} else {
		code = refuse_handle(PTL_NI_INVALID, ni_handle);
	}
	pthread_mutex_unlock(&process.lock);
	return code;
}
