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
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
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
	bool hooked, finishing;
	struct settings settings;
	_Atomic(struct nic *) interfaces[MAX_INTERFACES];
	_Atomic uint32_t lives[MAX_INTERFACES]; /* how often each was opened: the generation of its NI handle */
	struct nic *ending[MAX_INTERFACES];     /* handles find it no longer, but it still sends: close_interface() */
	pthread_cond_t ended;                   /* one of these is NULL now, or `finishing` false */
	struct nic *closed[64];
	unsigned closed_count;
	ptl_jid_t job;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER, .job = PTL_JID_ANY};

/* What a signal handler of this thread may have interrupted. */
static _Thread_local volatile bool holds_lock, closes;
static _Thread_local bool locked_for_fork;
static _Thread_local int cancel_state;

bool process_ready(void)
{
	return atomic_load_explicit(&process.ready, memory_order_acquire) &&
	       !atomic_load_explicit(&process.forked, memory_order_relaxed);
}

static void lock(void)
{
	holds_lock = true;
	cancel_state = cancel_forbid();
	pthread_mutex_lock(&process.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&process.lock);
	cancel_restore(&cancel_state);
	holds_lock = false;
}

bool process_lock(void)
{
	if (holds_lock || closes || nic_inside()) {
		report_error(-EDEADLK, "a Portals call interrupted another one of the same thread");
		return false;
	}
	lock();
	return true;
}

void process_unlock(void)
{
	unlock();
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
	/* Before its generation: who finds a later interface must see that an earlier one is meant. */
	struct nic *nic = process_nic(handle);

	if (handle_kind(handle) != HANDLE_NI || handle_index(handle) != 0 ||
	    handle_generation(handle) != ni_generation(handle_interface(handle)))
		return NULL;
	return nic;
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

/* The open interfaces and those that end.  Under the lock. */
static void each_interface(void (*act)(struct nic *))
{
	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = atomic_load_explicit(&process.interfaces[i], memory_order_relaxed);

		if (nic)
			act(nic);
		if (process.ending[i])
			act(process.ending[i]);
	}
}

/*
 * A thread that opens libfabric holds locks there, which a child would find locked for ever when it starts anew: it is
 * waited for.  So is one that closes libfabric, which holds our own lock.  Not by a signal handler that interrupted a call
 * of ours: the call would have to go on first.  (The child of such a handler should do nothing but exec.)
 */
static void before_fork(void)
{
	if (holds_lock || nic_inside())
		return;
	lock();
	locked_for_fork = true;
	each_interface(nic_await_opening);
	event_rings_lock(true);
}

static void after_fork_in_parent(void)
{
	if (!locked_for_fork)
		return;
	event_rings_lock(false);
	locked_for_fork = false;
	unlock();
}

static void after_fork_in_child(void)
{
	after_fork_in_parent();
	process.ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* whoever waited for it is not here */
	process.finishing = false;                                /* nor is who finished */
	launcher_forked(atomic_load_explicit(&process.ready, memory_order_relaxed));
	/* What a child that has not started anew has given up already may have the numbers of its own descriptors now. */
	if (!process_ready())
		return;
	atomic_store_explicit(&process.forked, true, memory_order_relaxed);
	each_interface(nic_abandon);
}

/* For a second at most: a launcher, say, may let another thread wait in PtlNIInit, and the user has lost patience. */
static bool lock_in_time(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	return pthread_mutex_timedlock(&process.lock, &until) == 0;
}

/* Under the lock, because a thread that closes an interface stops the same ones; without it, those of open interfaces. */
static void stop_threads(void)
{
	bool locked = !holds_lock && lock_in_time();

	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = atomic_load_explicit(&process.interfaces[i], memory_order_relaxed);

		if (nic)
			nic_stop_threads(nic);
		if (locked && process.ending[i])
			nic_stop_threads(process.ending[i]);
	}
	if (locked)
		pthread_mutex_unlock(&process.lock);
}

static void at_exit(void)
{
	/* exit() from a signal handler inside a Portals call: this thread owns an engine that others wait for. */
	if (nic_inside())
		return;
	if (process_ready())
		stop_threads();
	launcher_leave(); /* NIC threads may have asked it for addresses */
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
	if (!process_lock())
		return PTL_FAIL;
	if (atomic_load_explicit(&process.forked, memory_order_relaxed)) {
		rc = report_error(-EPERM, "a forked child has to call PtlFini before it may start again");
	} else if (!process_ready() && (rc = settings_read(&process.settings)) == 0 && (rc = hook()) == 0) {
		process.job = process.settings.job == SETTING_AUTO ? PTL_JID_ANY : (ptl_jid_t)process.settings.job;
		if (!p3_out) /* programs print to it themselves, without looking */
			p3_out = stderr;
		atomic_store_explicit(&process.ready, true, memory_order_release);
	}
	process_unlock();
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

static void await_end(unsigned interface)
{
	while (process.ending[interface])
		pthread_cond_wait(&process.ended, &process.lock);
}

/* Takes an interface out of the table.  NULL: there is none. */
static struct nic *take_out(unsigned interface)
{
	struct nic *nic = atomic_exchange_explicit(&process.interfaces[interface], NULL, memory_order_acq_rel);

	if (nic)
		atomic_fetch_add_explicit(&process.lives[interface], 1, memory_order_relaxed);
	return nic;
}

static void flush(struct nic *nic)
{
	UNCANCELLED;

	nic_flush(nic);
}

/*
 * Lets go of the lock while the interface sends what it has accepted, for as long as PTL_LINGER: other threads want to
 * fork meanwhile, or to open another interface.
 */
static void close_interface(unsigned interface)
{
	struct nic *nic = take_out(interface);

	if (!nic) {
		await_end(interface);
		return;
	}
	rank_forget(interface);
	process.ending[interface] = nic;
	closes = true;
	unlock();
	flush(nic);
	lock();
	closes = false;
	nic_close(nic);
	retire(nic);
	process.ending[interface] = NULL;
	pthread_cond_broadcast(&process.ended);
}

/* In a child nobody is left who would end anything. */
static void forget_interface(unsigned interface)
{
	take_out(interface);
	process.ending[interface] = NULL;
}

static void forget_everything(void)
{
	bool forked = atomic_load_explicit(&process.forked, memory_order_relaxed);

	process.finishing = true;
	for (unsigned i = 0; i < MAX_INTERFACES; i++) {
		if (!forked)
			close_interface(i);
		else
			forget_interface(i);
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
	process.finishing = false;
	pthread_cond_broadcast(&process.ended);
	atomic_store_explicit(&process.forked, false, memory_order_relaxed);
	atomic_store_explicit(&process.ready, false, memory_order_release);
}

/* As process_lock(); nor may this thread wait for events: the end waits until all have left who do. */
static bool lock_to_close(void)
{
	if (nic_waits()) {
		report_error(-EDEADLK,
			     "a signal handler cannot close what its thread waits for in PtlEQWait or PtlEQPoll");
		return false;
	}
	return process_lock();
}

/* What another thread starts when it has finished is not ours to end. */
static void await_finish(void)
{
	while (process.finishing)
		pthread_cond_wait(&process.ended, &process.lock);
}

void PtlFini(void)
{
	if (!lock_to_close())
		return;
	if (process.finishing)
		await_finish();
	else if (atomic_load_explicit(&process.ready, memory_order_relaxed))
		forget_everything();
	process_unlock();
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

/* A job that does not come up is its user's to mend: the text is printed too, for few programs ask for it. */
static int refuse_job(uint32_t interface, int error)
{
	report_setting(error, "interface %u: %s", interface, report_last_error());
	return PTL_FAIL;
}

static int open_interface(uint32_t interface, ptl_pid_t pid, struct nic **out)
{
	ptl_jid_t jid = PTL_JID_ANY;
	int rc = rank_prepare(&jid);

	if (rc)
		return refuse_job(interface, rc);
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
		.book = rank_addresses(interface),
		.trace = debug_default(interface),
		.settings = &process.settings,
	};
	if (request.pid != PTL_PID_ANY && pid_is_ours(request.pid)) {
		report_error(-EADDRINUSE, "pid %u belongs to another interface of this process", request.pid);
		return PTL_PID_INVALID;
	}
	rc = nic_open(&request, out);
	if (rc)
		return process_code(rc, PTL_IFACE_INVALID);
	rc = rank_adopt(interface, (*out)->id);
	if (rc) {
		refuse_job(interface, rc);
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
	struct nic *nic = NULL;
	int code;

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
	if (!process_lock())
		return PTL_FAIL;
	await_end(interface);
	if (process_ready() && !process.finishing) {
		nic = atomic_load_explicit(&process.interfaces[interface], memory_order_relaxed);
		code = nic ? PTL_OK : open_interface(interface, pid, &nic);
	} else {
		code = refuse_uninitialised();
	}
	if (code == PTL_OK && nic) {
		if (actual)
			*actual = nic->limits;
		*ni_handle = process_ni_handle(nic);
	}
	process_unlock();
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
	if (!lock_to_close())
		return PTL_FAIL;
	if (process_ni(ni_handle)) {
		close_interface(handle_interface(ni_handle));
		code = PTL_OK;
	} else {
		code = refuse_handle(PTL_NI_INVALID, ni_handle);
	}
	process_unlock();
	return code;
}
