/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference implementation's return codes are in its own header; here they are in portals3.h. */
#ifndef P3_ERRNO_H
#define P3_ERRNO_H

#include <portals3.h>

#endif
