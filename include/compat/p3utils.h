/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers that the reference implementation's programs share: its debug stream, time limits, MIN and MAX. */
#ifndef P3UTILS_H
#define P3UTILS_H

#include <p3/inline.h>
#include <stdio.h>
#include <sys/time.h>

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Where the library prints what PTL_LOG, PtlNIDebug and the dump functions ask for; NULL means stderr.  PtlInit sets it to
   stderr unless the program has assigned it. */
extern FILE *p3_out;

#ifdef __cplusplus
}
#endif

/*
 * A moment to be compared with: set_timeout() makes one `milliseconds` from now, test_timeout() is 1 once it is past.
 * clear_timeout() makes one that never passes; timeout_set() is 1 for a moment made by set_timeout(), 0 for a cleared one.
 */
typedef struct timeval timeout_val_t;

P3_INLINE void set_timeout(timeout_val_t *timeout, unsigned int milliseconds)
{
	gettimeofday(timeout, NULL);
	timeout->tv_sec += (time_t)(milliseconds / 1000);
	timeout->tv_usec += (suseconds_t)(milliseconds % 1000) * 1000;
	if (timeout->tv_usec >= 1000000) {
		timeout->tv_sec++;
		timeout->tv_usec -= 1000000;
	}
}

P3_INLINE void clear_timeout(timeout_val_t *timeout)
{
	timeout->tv_sec = 0;
	timeout->tv_usec = 0;
}

P3_INLINE int timeout_set(const timeout_val_t *timeout)
{
	return timeout->tv_sec != 0 || timeout->tv_usec != 0;
}

P3_INLINE int test_timeout(const timeout_val_t *timeout)
{
	struct timeval now;

	if (!timeout_set(timeout))
		return 0;
	gettimeofday(&now, NULL);
	return now.tv_sec > timeout->tv_sec || (now.tv_sec == timeout->tv_sec && now.tv_usec >= timeout->tv_usec);
}

#endif
