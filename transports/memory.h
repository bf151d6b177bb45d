/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Can this process still read, or write, memory that its application has named?  A caller asks before a copy that
 * would otherwise be a SIGSEGV, a SIGBUS, or a message that breaks off in the middle of a stream.  The answer is about now:
 * the application may unmap it in the next instant, which is its own fault (portals3.h).
 */
#ifndef PORTALS_TRANSPORTS_MEMORY_H
#define PORTALS_TRANSPORTS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/*
 * Every page is there and may be read; what a read would fault in is faulted in, files from disk too.  Of more than 16 MiB the first
 * and the last 8 are looked at, so that no caller waits for long: 6 us a MiB in pages of 4 KiB on a Xeon at 2.3 GHz.
 */
bool memory_readable(const void *base, size_t length);
/*
 * The same for writing, without writing.  Linux before 5.14 cannot tell: true.  Memory that is no ordinary memory (a device's,
 * mapped into the process) is not writable in this sense.
 */
bool memory_writable(void *base, size_t length);

/* The same of several pieces; those on the same or on neighbouring pages are looked at together, in the order of the array. */
bool memory_pieces_readable(const struct iovec *, unsigned count);
bool memory_pieces_writable(const struct iovec *, unsigned count);

#endif
