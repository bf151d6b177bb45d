/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of a thread that every call reads: where the C library allows it, at a constant distance from the thread's pointer instead of
 * behind a call of __tls_get_addr().  One such word brings all that the library keeps in threads into the block which each
 * thread has from its beginning, and there a library that dlopen() loads finds little room, all of them together some
 * hundred bytes in glibc.  So all our thread-local variables take HOT_BYTES at most (tests/systems/portability/unload.c); what is larger is
 * behind a pointer (base/report.c).  musl has no room at all.
 */
#ifndef PORTALS_BASE_HOT_H
#define PORTALS_BASE_HOT_H

#include <features.h>

#define HOT_BYTES 64

#if defined(__GLIBC__)
#define HOT_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define HOT_THREAD_LOCAL _Thread_local
#endif

#endif
