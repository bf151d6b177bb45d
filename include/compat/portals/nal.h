/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs for the Cray XT take from its header of this name.  Its network layers were reached over bridges (from a user
 * process through the kernel, or the light-weight kernel); here all of their names mean interface 0.  Kept out of portals3.h,
 * because other programs define some of these names themselves.
 */
#ifndef PORTALS_NAL_H
#define PORTALS_NAL_H

#include <p3/nal_types.h>
#include <portals3.h>

#define PTL_BRIDGE_UK 0
#define PTL_BRIDGE_QK 1
#define PTL_BRIDGE_KK 2

#define PTL_IFACE_SS PTL_NALTYPE_UTCP0

#define IFACE_FROM_BRIDGE_AND_NALID(bridge, nalid) ((ptl_interface_t)((nalid) + 0u * (bridge)))

#define CRAY_UK_SSNAL IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_UK, PTL_IFACE_SS)
#define CRAY_QK_SSNAL IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_QK, PTL_IFACE_SS)
#define CRAY_KK_SSNAL IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_KK, PTL_IFACE_SS)
#define CRAY_QK_NAL   CRAY_QK_SSNAL
#define CRAY_USER_NAL CRAY_UK_SSNAL
#define CRAY_KERN_NAL CRAY_KK_SSNAL

/* Their PtlNIInit returned this for an interface that was up already.  Ours returns PTL_OK then; never this. */
#ifndef PTL_IFACE_DUP
#define PTL_IFACE_DUP 64
#endif

#endif
