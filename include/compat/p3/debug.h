/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How programs written for the reference implementation print its types: for printf, without the percent sign's company
 * of width or flags.  The names are the reference's.
 */
#ifndef P3_DEBUG_H
#define P3_DEBUG_H

#include <inttypes.h>
#include <p3api/debug.h>
#include <portals3.h>
#include <stddef.h>
#include <sys/types.h>

/* size_t, ssize_t */
#define FMT_SZ_T  "%zu"
#define FMT_SSZ_T "%zd"

/* ptl_size_t, ptl_seq_t, ptl_nid_t, ptl_pid_t, ptl_uid_t, ptl_jid_t, ptl_pt_index_t, handles */
#define FMT_PSZ_T "%" PRIu64
#define FMT_SEQ_T "%" PRIu32
#define FMT_NID_T "%" PRIu32
#define FMT_PID_T "%" PRIu32
#define FMT_UID_T "%" PRIu32
#define FMT_JID_T "%" PRIu32
#define FMT_PTL_T "%" PRIu32
#define FMT_HDL_T "%" PRIx32

/* Composites: nid, pid (, portal table index); match bits, ignore bits; requested, moved, plain lengths */
#define FMT_NIDPID    "nid " FMT_NID_T " pid " FMT_PID_T
#define FMT_NIDPIDPTL FMT_NIDPID " ptl " FMT_PTL_T
#define FMT_MBITS     "match bits 0x%016" PRIx64
#define FMT_IBITS     "ignore bits 0x%016" PRIx64
#define FMT_RLEN      "rlength " FMT_PSZ_T
#define FMT_MLEN      "mlength " FMT_PSZ_T
#define FMT_LEN       "length " FMT_PSZ_T

#endif
