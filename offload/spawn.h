/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of ours. */
#ifndef PORTALS_OFFLOAD_SPAWN_H
#define PORTALS_OFFLOAD_SPAWN_H

#include <pthread.h>

/* A thread on which no signal handler of the application ever runs.  0 or a negative errno value, reported. */
int nic_spawn(pthread_t *, void *(*run)(void *), void *argument, const char *what);

#endif
