/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference implementation's network layer for InfiniBand: here another name of interface 0. */
#ifndef P3NAL_IBNG_H
#define P3NAL_IBNG_H

#include <p3/nal_types.h>

#define PTL_IFACE_IBNG PTL_NALTYPE_IBNG0

/* The first header that names a default wins; all of them mean interface 0. */
#ifndef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT PTL_IFACE_IBNG
#endif

#endif
