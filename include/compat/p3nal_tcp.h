/* SPDX-License-Identifier: BSD-3-Clause */
/* The older name of p3nal_utcp.h. */
#ifndef P3NAL_TCP_H
#define P3NAL_TCP_H

#include <p3nal_utcp.h>

#define PTL_IFACE_TCP  PTL_IFACE_UTCP
#define PTL_IFACE_TCP0 PTL_IFACE_UTCP0
#define PTL_IFACE_TCP1 PTL_IFACE_UTCP1
#define PTL_IFACE_TCP2 PTL_IFACE_UTCP2
#define PTL_IFACE_TCP3 PTL_IFACE_UTCP3

#endif
