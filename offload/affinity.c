/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the NIC thread runs and how soon.  With the default scheduling slice a woken NIC thread waits for milliseconds
 * behind a computing host on its core; with a short one it runs almost at once (Linux 6.6 and later take it from
 * sched_setattr without privilege; older kernels ignore or refuse it, which the info text shows).
 *
 * A short slice makes sched_yield() worthless: the yielder's deadline moves by one slice only, so it is picked again until
 * it has used up what the host's long slice is worth.  A dedicated NIC thread, which yields all the time where it has no core
 * of its own, therefore has the short slice only while it sleeps.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/report.h"
#include "base/topology.h"
#include "offload/affinity.h"
#include "offload/nic.h"
#include "offload/spawn.h"

#define SLICE_NS 100000

/* The affinity the process was started with: a program that pins its hosts does not mean its NIC. */
static cpu_set_t process_cpus;

__attribute__((constructor)) static void remember_affinity(void)
{
	if (sched_getaffinity(0, sizeof(process_cpus), &process_cpus))
		CPU_ZERO(&process_cpus);
}

const char *nic_thread_slice(bool short_slice)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = {.size = sizeof(attributes),
			.policy = SCHED_OTHER,
			.nice = getpriority(PRIO_PROCESS, 0),
			.runtime = short_slice ? SLICE_NS : 0}; /* 0: the system's */

	return syscall(SYS_sched_setattr, 0, &attributes, 0) ? strerror(errno) : NULL;
}

void nic_thread_prepare(struct nic *nic)
{
	cpu_set_t cpus = process_cpus;

	pthread_setname_np(pthread_self(), "portals-nic");
	if (nic->affinity.cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET((size_t)nic->affinity.cpu, &cpus);
	}
	int rc = CPU_COUNT(&cpus) > 0 ? pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) : 0;

	if (rc)
		report(LOG_WARN, "cannot run the NIC thread on CPU %d: %s", nic->affinity.cpu, strerror(rc));
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	/* For humans only; pairs with nothing. */
	atomic_store_explicit(&nic->affinity.slice_error, nic_thread_slice(true), memory_order_relaxed);
}

static void *read_permitted(void *cpus)
{
	cpu_set_t all;

	memset(&all, UINT8_MAX, sizeof(all));
	if (sched_setaffinity(0, sizeof(all), &all) == 0)
		sched_getaffinity(0, sizeof(all), cpus);
	return NULL;
}

/*
 * Only trying tells what no cpuset forbids: it need not be among the CPUs that this process was given.  A thread of its own
 * tries, for what a thread may use is not quite the same after it has been set back.
 */
static void read_topology(struct topology *topology, bool placing)
{
	pthread_t thread;

	topology_read(topology, "/sys");
	if (CPU_COUNT(&process_cpus) > 0)
		topology->permitted = topology->given = process_cpus;
	if (placing && nic_spawn(&thread, read_permitted, &topology->permitted, "see which CPUs are permitted") == 0)
		pthread_join(thread, NULL);
}

/*
 * One name per CPU and user among the abstract Unix sockets: binding it is atomic, and it vanishes with the last
 * descriptor, which is the interface's: closed with it, in forked children too.
 */
static bool lock_cpu(struct nic *nic, int cpu)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "portals3-nic-cpu%d-%u", cpu,
			      (unsigned)geteuid());
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	if (bind(fd, (const struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length))) {
		close(fd);
		return false;
	}
	nic->affinity.cpu_lock = fd;
	return true;
}

/* Of those it can run on the first that no other NIC thread has, or just the first. */
static void claim_one(struct nic *nic, const struct topology *topology, const char *list)
{
	int cpus[CPU_SETSIZE];
	unsigned count = topology_nic_cpus(topology, list, cpus, CPU_SETSIZE), i = 0;

	if (count == 0) {
		report(LOG_WARN,
		       "PTL_NIC_CPUS=%s: this process may run on no CPU of the list (nproc --all says how many "
		       "there "
		       "are, taskset -pc $$ which it was given); the NIC thread runs on any",
		       list);
		return;
	}
	while (i < count && !lock_cpu(nic, cpus[i]))
		i++;
	nic->affinity.cpu = cpus[i < count ? i : 0];
	if (i == count)
		report(LOG_WARN, "PTL_NIC_CPUS=%s: every CPU of the list has a NIC thread already, sharing CPU %d",
		       list, nic->affinity.cpu);
	else if (topology_oversubscribed(topology, nic->affinity.cpu))
		report(LOG_WARN, "PTL_NIC_CPUS=%s: this process was given no CPU but the NIC thread's core, CPU %d",
		       list, nic->affinity.cpu);
}

void nic_place(struct nic *nic)
{
	const char *list = nic->settings->nic_cpus;
	struct topology topology;

	nic->mode = topology_mode(nic->settings->nic_mode, list);
	bool placing = *list && nic->mode != NIC_MODE_HOST;

	if (!placing &&
	    !topology_has_nodes("/sys")) /* then there is nothing to decide, and opening is not to wait for it */
		return;
	read_topology(&topology, placing);
	if (placing)
		claim_one(nic, &topology, list);
	nic->affinity.home = (unsigned)(topology_home(&topology, nic->affinity.cpu) + 1);
}

void nic_cpu_release(struct nic *nic)
{
	if (nic->affinity.cpu_lock >= 0)
		close(nic->affinity.cpu_lock);
	nic->affinity.cpu_lock = -1;
}
