/* SPDX-License-Identifier: BSD-3-Clause */
/* Life of an engine. */
#ifndef PORTALS_OFFLOAD_OPEN_H
#define PORTALS_OFFLOAD_OPEN_H

#include <portals3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_book;
struct nic;
struct settings;

/* Opening the network in the background: written by the opener, read after `done`, which is a futex. */
struct opening {
	pthread_t opener;
	_Atomic bool running; /* written by threads that open and close, read by any */
	_Atomic uint32_t done;
	int error;
	char text[512];
};

struct nic_request {
	ptl_pid_t pid;
	uint32_t index;
	uint32_t generation;       /* with which those of its objects begin: behind those of its earlier lives */
	ptl_jid_t jid;             /* PTL_JID_ANY: the pid */
	const char *device;        /* as PTL_IFACE */
	struct address_book *book; /* of its job, or NULL */
	uint32_t trace;            /* PTL_DBG_* */
	const struct settings *settings;
};

/* 0, -ENODEV (interface), -EADDRINUSE (pid), -ENOMEM, -ENOTSUP (transport) ...; reports. */
int nic_open(const struct nic_request *, struct nic **);

/* Sends what was accepted, for at most PTL_LINGER. */
void nic_flush(struct nic *);

/* Fails what is left, and waits until all threads that wait for events have left; new ones do not stay. */
void nic_dismiss(struct nic *);

/* Stops the threads, and fails what has come meanwhile.  Later calls get -ESHUTDOWN. */
void nic_close(struct nic *);

/* At exit: stops the threads, closes nothing. */
void nic_stop_threads(struct nic *);

/* Unmaps; no thread may be inside any more. */
void nic_free(struct nic *);

/* In a forked child: forgets everything without touching what the parent shares. */
void nic_abandon(struct nic *);

/* Waits for transports that open in the background, unless these call.  With nic_ready(): 0 or their error, with a report. */
void nic_await_opening(struct nic *);
/* Is an interface that has just been opened to be waited for (PTL_OPEN)? */
bool nic_opens_first(const struct nic *);
int nic_ready(struct nic *);
int nic_describe(struct nic *, char *text, size_t size);

#endif
