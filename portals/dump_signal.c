/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A signal that has every interface printed, in a process that seems to hang.
 *
 * The handler only posts a semaphore, which is all that a handler may do; a thread of its own waits for it and makes ordinary
 * Portals calls.  It is no NIC thread's work: one prints while others wait for its engine, mode `host` has none, and
 * one that never comes to rest would never look.  Without the variable there is neither handler nor thread.
 *
 * The handler stays when the library has finished, and does nothing then: a person cannot know that a program has done with
 * Portals, and the default action would kill it.  (To have it ignored instead would be passed on to what it executes.)
 *
 * PtlFini waits for the thread under the process's lock, which the thread never wants: it takes engines only, and a thread that
 * holds one of these and wants the lock is refused, or held it before (fork).
 *
 * The owner of an engine is printed before it is asked for its state: if it is never given back, the thread waits there, and that
 * line has told.
 */
#include "portals/dump_signal.h"

#include <errno.h>
#include <inttypes.h>
#include <p3api/debug.h>
#include <p3utils.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

#include "base/cancel.h"
#include "base/report.h"
#include "offload/spawn.h"
#include "portals/process_table.h"

static struct {
	_Atomic int number; /* 0: none */
	pthread_t thread;
	sem_t wanted;
	_Atomic bool over;
} watch;

static void on_signal(int number)
{
	int error = errno;

	if (number == atomic_load_explicit(&watch.number, memory_order_relaxed))
		sem_post(&watch.wanted);
	errno = error;
}

static void print_owner(const struct nic *nic)
{
	static const char *const owners[] = {[NIC_FREE] = "no thread",
					     [NIC_HOST] = "a thread inside a Portals call",
					     [NIC_THREAD] = "its NIC thread",
					     [NIC_SLEEPING] = "its NIC thread, asleep",
					     [NIC_DEAD] = "no thread: it is closed"};
	uintptr_t owner = atomic_load_explicit(&nic->own, memory_order_relaxed) & NIC_OWNER_MASK;

	fprintf(p3_out ? p3_out : stderr,
		"portals3: interface %" PRIu32 ", %" PRIu32 ":%" PRIu32 ": owned by %s, %" PRIu32
		" threads inside PtlEQWait or PtlEQPoll\n",
		nic->index, nic->self.id.nid, nic->self.id.pid, owner <= NIC_DEAD ? owners[owner] : "?",
		atomic_load_explicit(&nic->hosts.waiting, memory_order_relaxed));
}

struct lists {
	uint64_t used; /* a bit for each index with entries */
	uint64_t drops;
};

_Static_assert(NIC_PORTALS <= 64, "a bit for each portal table entry");

static int look(struct nic *nic, void *argument)
{
	struct lists *lists = argument;

	for (int i = 0; i < NIC_PORTALS; i++)
		lists->used |= (uint64_t)(nic->objects.portals[i].head != NULL) << i;
	lists->drops = nic->counters.drops;
	return 0;
}

static void dump(struct nic *nic)
{
	ptl_handle_ni_t handle = process_ni_handle(nic);
	struct lists lists = {0};

	print_owner(nic);
	if (nic_call(nic, look, &lists))
		return;
	fprintf(p3_out ? p3_out : stderr, "%" PRIu64 " messages dropped\n", lists.drops);
	PtlNIEqDump(handle);
	for (int i = 0; i < NIC_PORTALS; i++)
		if (lists.used >> i & 1)
			PtlTblDump(handle, i);
}

void dump_everything(void)
{
	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = process_nic(handle_make(HANDLE_NI, (uint32_t)i, 0, 0));

		if (nic)
			dump(nic);
	}
	fflush(p3_out ? p3_out : stderr);
}

static void *run(void *unused)
{
	(void)unused;
	for (;;) {
		while (sem_wait(&watch.wanted) != 0)
			;
		if (atomic_load_explicit(&watch.over, memory_order_acquire))
			return NULL;
		dump_everything();
	}
}

int dump_signal_open(int number)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;

	if (number == 0)
		return 0;
	if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_DFL && before.sa_handler != on_signal) {
		report(LOG_WARN, "PTL_DUMP_SIGNAL: the program itself handles signal %d (%s), it is left alone", number,
		       strsignal(number));
		return 0;
	}
	sem_init(&watch.wanted, 0, 0);
	atomic_store_explicit(&watch.over, false, memory_order_relaxed);
	int rc = nic_spawn(&watch.thread, run, NULL, "serve PTL_DUMP_SIGNAL");

	if (rc)
		return rc;
	atomic_store_explicit(&watch.number, number, memory_order_relaxed);
	sigaction(number, &action, NULL);
	return 0;
}

void dump_signal_close(bool forked)
{
	UNCANCELLED;

	if (atomic_exchange_explicit(&watch.number, 0, memory_order_relaxed) == 0 || forked)
		return;
	/* Release pairs with the acquire in run(). */
	atomic_store_explicit(&watch.over, true, memory_order_release);
	sem_post(&watch.wanted);
	pthread_join(watch.thread, NULL);
}
