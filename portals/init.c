/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PtlInit to PtlFini, and the interfaces between them.
 *
 * Closed interfaces stay mapped while a thread may still use them: hazard.c.
 */
#include <errno.h>
#include <p3/nal_types.h>
#include <p3utils.h>
#include <portals3_nic.h>

#include "base/cancel.h"
#include "base/report.h"
#include "base/settings.h"
#include "offload/wait.h"
#include "portals/debug.h"
#include "portals/dump_signal.h"
#include "portals/hazard.h"
#include "portals/process_table.h"
#include "portals/refuse.h"
#include "portals/runtime/rank.h"
#include "portals/stat.h"

#define NAMED_INTERFACES 4 /* PTL_NALTYPE_UTCP0 to 3 */

/* --- PtlInit and PtlFini --- */

int PtlInit(int *max_interfaces)
{
	int rc = 0;

	if (!max_interfaces)
		return refuse_null("max_interfaces");
	if (!process_lock())
		return PTL_FAIL;
	if (atomic_load_explicit(&process_table.forked, memory_order_relaxed)) {
		rc = report_error(-EPERM, "a forked child has to call PtlFini before it may start again");
	} else if (!process_ready() && (rc = settings_read(&process_table.settings)) == 0 &&
		   (rc = hooks_install()) == 0 && (rc = dump_signal_open(process_table.settings.dump_signal)) == 0) {
		stat_open(process_table.settings.stat);
		debug_preset(process_table.settings.debug);
		process_table.job = process_table.settings.job == SETTING_AUTO ? PTL_JID_ANY
									       : (ptl_jid_t)process_table.settings.job;
		if (!p3_out) /* programs print to it themselves, without looking */
			p3_out = stderr;
		atomic_store_explicit(&process_table.ready, true, memory_order_release);
	}
	process_unlock();
	if (rc)
		return rc == -EPERM ? PTL_NO_INIT : PTL_FAIL;
	*max_interfaces = MAX_INTERFACES;
	return PTL_OK;
}

static void retire(struct nic *nic)
{
	process_table.generations[nic->index] += nic->closed.generations;
	hazard_retire(nic);
}

static void await_end(unsigned interface)
{
	while (process_table.ending[interface])
		pthread_cond_wait(&process_table.ended, &process_table.lock);
}

/* Takes an interface out of the table.  NULL: there is none. */
static struct nic *take_out(unsigned interface)
{
	struct nic *nic = atomic_exchange_explicit(&process_table.interfaces[interface], NULL, memory_order_acq_rel);

	if (nic)
		atomic_fetch_add_explicit(&process_table.lives[interface], 1, memory_order_relaxed);
	return nic;
}

static void end_in_peace(struct nic *nic)
{
	UNCANCELLED;

	nic_flush(nic);
	nic_dismiss(nic);
}

/*
 * Lets go of the lock while the interface sends what it has accepted, for as long as PTL_LINGER: other threads want to
 * fork meanwhile, or to open another interface.  And until no thread waits for its events: signal handlers of those that do
 * may want to fork, too, and cannot leave before.
 */
static void close_interface(unsigned interface)
{
	struct nic *nic = take_out(interface);

	if (!nic) {
		await_end(interface);
		return;
	}
	rank_forget(interface);
	process_table.ending[interface] = nic;
	process_lend_lock();
	end_in_peace(nic);
	process_reclaim_lock();
	nic_close(nic);
	retire(nic);
	process_table.ending[interface] = NULL;
	pthread_cond_broadcast(&process_table.ended);
}

/* In a child no thread is left that would end anything. */
static void forget_interface(unsigned interface)
{
	take_out(interface);
	process_table.ending[interface] = NULL;
}

static void forget_everything(void)
{
	bool forked = atomic_load_explicit(&process_table.forked, memory_order_relaxed);

	process_table.finishing = true;
	dump_signal_close(forked);
	stat_close(forked);
	for (unsigned i = 0; i < MAX_INTERFACES; i++) {
		if (!forked)
			close_interface(i);
		else
			forget_interface(i);
	}
	hazard_free_all();
	event_rings_free();
	rank_forget_all();
	process_table.job = PTL_JID_ANY;
	process_table.finishing = false;
	pthread_cond_broadcast(&process_table.ended);
	atomic_store_explicit(&process_table.forked, false, memory_order_relaxed);
	atomic_store_explicit(&process_table.ready, false, memory_order_release);
}

/* As process_lock(); nor may this thread wait for events: the end waits until all that do have left. */
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
	while (process_table.finishing)
		pthread_cond_wait(&process_table.ended, &process_table.lock);
}

void PtlFini(void)
{
	if (!lock_to_close())
		return;
	if (process_table.finishing)
		await_finish();
	else if (atomic_load_explicit(&process_table.ready, memory_order_relaxed))
		forget_everything();
	process_unlock();
}

/* --- interfaces --- */

static bool pid_is_ours(ptl_pid_t pid)
{
	for (int i = 0; i < MAX_INTERFACES; i++) {
		const struct nic *nic = atomic_load_explicit(&process_table.interfaces[i], memory_order_relaxed);

		if (nic && nic->self.id.pid == pid)
			return true;
	}
	return false;
}

static const char *device_of(uint32_t interface)
{
	const struct settings *settings = &process_table.settings;
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
	report_setting(-EINVAL, "pid %u is wanted, but the job's map has %u for this process", *pid, mapped);
	return false;
}

/* A job that does not come up is its user's to mend: the text is printed too, for few programs ask for it. */
static int refuse_job(uint32_t interface, int error)
{
	report_setting(error, "interface %u: %s", interface, report_last_error());
	return PTL_FAIL;
}

/* Its text has been printed by the thread that tried to open it. */
static int refuse_network(uint32_t interface, struct nic *nic, int error)
{
	int code = process_code(error, PTL_IFACE_INVALID);

	rank_forget(interface);
	nic_close(nic);
	retire(nic);
	return code == PTL_FAIL ? PTL_IFACE_INVALID : code;
}

static int open_interface(uint32_t interface, ptl_pid_t pid, struct nic **out)
{
	ptl_jid_t jid = PTL_JID_ANY;
	int rc = rank_prepare(&jid);

	if (rc)
		return refuse_job(interface, rc);
	if (process_table.job == PTL_JID_ANY)
		process_table.job = jid;
	if (!choose_pid(&pid))
		return PTL_PID_INVALID;
	const struct nic_request request = {
		.pid = pid,
		.index = interface,
		.generation = process_table.generations[interface],
		.jid = process_table.job,
		.device = device_of(interface),
		.book = rank_addresses(interface),
		.trace = debug_default(interface),
		.settings = &process_table.settings,
	};
	if (request.pid != PTL_PID_ANY && pid_is_ours(request.pid)) {
		report_error(-EADDRINUSE, "pid %u belongs to another interface of this process", request.pid);
		return PTL_PID_INVALID;
	}
	rc = nic_open(&request, out);
	if (rc)
		return process_code(rc, PTL_IFACE_INVALID);
	rc = rank_adopt(interface, (*out)->self.id);
	if (rc) {
		refuse_job(interface, rc);
		nic_close(*out);
		retire(*out);
		return PTL_FAIL;
	}
	if (nic_opens_first(*out) && (rc = nic_ready(*out)))
		return refuse_network(interface, *out, rc);
	if (process_table.job == PTL_JID_ANY)
		process_table.job = (*out)->self.jid; /* the first interface names the job */
	/* Publishes the interface; pairs with the acquire in process_nic(). */
	atomic_store_explicit(&process_table.interfaces[interface], *out, memory_order_release);
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
	if (process_ready() && !process_table.finishing) {
		nic = atomic_load_explicit(&process_table.interfaces[interface], memory_order_relaxed);
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
	       atomic_load_explicit(&process_table.interfaces[interface], memory_order_acquire) != NULL;
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
