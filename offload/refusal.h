/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What commands return (nic_call()), and the functions that they call: 0 or, if the function says so, a positive result; a
 * negative errno value; or a refusal, a negative number beyond all errno values, where a code of Portals says what no errno
 * value does.  A code itself is returned in portals/ only, whose process_code() makes codes of all of these.
 */
#ifndef PORTALS_OFFLOAD_REFUSAL_H
#define PORTALS_OFFLOAD_REFUSAL_H

#define REFUSAL_ERRNO_MAX 4095 /* the kernel's greatest, too */

/* `code`: PTL_*, not PTL_OK. */
static inline int refusal(int code)
{
	return -(REFUSAL_ERRNO_MAX + code);
}

/* The code of a refusal; 0, which is PTL_OK, of any other result. */
static inline int refusal_code(int result)
{
	return result < -REFUSAL_ERRNO_MAX ? -result - REFUSAL_ERRNO_MAX : 0;
}

#endif
