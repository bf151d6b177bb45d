/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PORTALS_DEBUG_H
#define PORTALS_DEBUG_H

#include <stdint.h>

/* What an interface that opens now traces (PTL_DBG_*): PtlNIDebug for PTL_INVALID_HANDLE. */
uint32_t debug_default(uint32_t interface);

/* PtlNIDebug for PTL_INVALID_HANDLE, if the mask is not 0: PTL_DEBUG. */
void debug_preset(uint32_t mask);

#endif
