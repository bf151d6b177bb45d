/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the library: no signal handler of the application runs on them. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/report.h"
#include "offload/nic.h"
#include "offload/spawn.h"

int nic_spawn(pthread_t *thread, void *(*run)(void *), void *argument, const char *what)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(thread, NULL, run, argument);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return 0;
	/* EAGAIN: no memory, or more than RLIMIT_NPROC or the container grants; it is not that one should try again. */
	return report_error(rc == EAGAIN ? -ENOSPC : -rc, "cannot start a thread to %s: %s", what, strerror(rc));
}
