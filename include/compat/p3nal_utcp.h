/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network layer that most programs written for the reference implementation name: TCP in user space.  Here the name
 * stands for whatever the interface is made of.  Interface k takes its device from PTL_IFACEk, else from PTL_IFACE.
 */
#ifndef P3NAL_UTCP_H
#define P3NAL_UTCP_H

#include <p3/nal_types.h>

#define PTL_IFACE_UTCP  PTL_NALTYPE_UTCP0
#define PTL_IFACE_UTCP0 PTL_NALTYPE_UTCP0
#define PTL_IFACE_UTCP1 PTL_NALTYPE_UTCP1
#define PTL_IFACE_UTCP2 PTL_NALTYPE_UTCP2
#define PTL_IFACE_UTCP3 PTL_NALTYPE_UTCP3

/* The first header that names a default wins; all of them mean interface 0. */
#ifndef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT PTL_IFACE_UTCP
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * IPv4 address of the device `ifname`, in host byte order: the nid of an interface on it.  Callable at any time, also
 * before PtlInit, which is what programs that work out their job's node ids need it for.  Some declare it themselves,
 * exactly so.
 *   0   *nid is the address
 *   -1  no such device, or it has no IPv4 address, or a pointer is NULL; *nid is unchanged
 */
int p3tcp_my_nid(const char *ifname, unsigned int *nid);

#ifdef __cplusplus
}
#endif

#endif
