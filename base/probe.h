/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Static probes for bpftrace, perf and SystemTap, where <sys/sdt.h> was there when the library was compiled: an instruction that does
 * nothing, and a note that says where it is and what its arguments are.  `readelf -n` lists them.
 */
#ifndef PORTALS_BASE_PROBE_H
#define PORTALS_BASE_PROBE_H

#ifndef PORTALS_USDT /* the build option `usdt` */
#define PORTALS_USDT 0
#endif

#if PORTALS_USDT
#include <sys/sdt.h>
#define PROBE1(name, argument)          DTRACE_PROBE1(portals3, name, argument)
#define PROBE2(name, argument, another) DTRACE_PROBE2(portals3, name, argument, another)
#else
#define PROBE1(name, argument)          ((void)(argument))
#define PROBE2(name, argument, another) ((void)(argument), (void)(another))
#endif

#endif
