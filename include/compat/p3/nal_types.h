/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of interfaces: those of UTCP as the reference implementation numbers them.  PtlNIInit takes them for interface 0
 * to 3, whatever moves the bytes.
 */
#ifndef P3_NAL_TYPES_H
#define P3_NAL_TYPES_H

#define PTL_NALTYPE_NONE  0U
#define PTL_NALTYPE_UTCP0 0xf0f0f000U
#define PTL_NALTYPE_UTCP1 0xf0f0f001U
#define PTL_NALTYPE_UTCP2 0xf0f0f002U
#define PTL_NALTYPE_UTCP3 0xf0f0f003U
#define PTL_NALTYPE_IBNG0 0xf0f0f100U

#endif
