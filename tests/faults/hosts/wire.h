/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An Ethernet in software.  Every host has a TAP device; a process of the test, the wire, carries each frame to the host
 * it is addressed to, later or not at all, as it is told.  Everywhere the same: `tc netem` is not in every kernel, loses
 * by dice of its own, and can neither be cut nor outlive a host.  A host that vanishes takes its namespace along, its
 * cable pulled before: nothing says goodbye, nothing answers any more.
 *
 * One process of a test at a time tells the wire what to do; a call returns when the wire has done it.
 */
#ifndef TESTS_HOSTS_WIRE_H
#define TESTS_HOSTS_WIRE_H

#define WIRE_HOSTS 3

/* In the runner, before the first test: makes the hosts.  NULL, or why not. */
const char *wire_start(void);

/* The calling process goes to that host, as it is now. */
void wire_enter(int host);

/* A wire without faults, and every host there. */
void wire_reset(void);
void wire_delay(unsigned microseconds);
void wire_lose(unsigned frames_in_million);
/* Frames that were lost by dice since the wire was reset. */
int wire_lost(void);
/* A host's cable.  What is on its way is lost. */
void wire_cut(int host);
void wire_join(int host);
/* The host is gone, and the next one of its address is another, without memory.  Its processes are the caller's affair. */
void wire_vanish(int host);
void wire_return(int host);

#endif
