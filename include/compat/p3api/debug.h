/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracing and dumps for people, on the stream p3_out (stderr unless the program assigns it). */
#ifndef P3API_DEBUG_H
#define P3API_DEBUG_H

#include <portals3.h>

/* What PtlNIDebug traces.  The low 16 bits say what ... */
#define PTL_DBG_NONE     0x00000000U
#define PTL_DBG_ALL      0x0000ffffU
#define PTL_DBG_API      0x00000001U /* what PtlNicErrorText() tells, printed at once: of the whole process, from now on */
#define PTL_DBG_PARSE    0x00000002U /* messages that arrive */
#define PTL_DBG_MOVE     0x00000004U /* puts, gets and getputs issued */
#define PTL_DBG_DROP     0x00000008U /* requests dropped */
#define PTL_DBG_REQUEST  0x00000010U /* requests that found a descriptor */
#define PTL_DBG_DELIVERY 0x00000020U /* ACKs and REPLYs that arrive */
#define PTL_DBG_MD       0x00000040U /* memory descriptors made and updated */
#define PTL_DBG_ME       0x00000080U /* match entries made */
#define PTL_DBG_UNLINK   0x00000100U /* entries and descriptors unlinked */
#define PTL_DBG_EQ       0x00000200U /* event queues made and freed */
#define PTL_DBG_EVENT    0x00000400U /* events posted */
#define PTL_DBG_MEMORY   0x00000800U /* memory exposed to RDMA */
#define PTL_DBG_SETUP    0x00001000U /* interfaces opened, peers met */
#define PTL_DBG_SHUTDOWN 0x00002000U /* interfaces closed, peers lost */

/* ... the high 16 bits of a mask for PTL_INVALID_HANDLE which interfaces, none: all. */
#define PTL_DBG_NI_ALL 0xffff0000U
#define PTL_DBG_NI_00  0x00010000U
#define PTL_DBG_NI_01  0x00020000U
#define PTL_DBG_NI_02  0x00040000U
#define PTL_DBG_NI_03  0x00080000U
#define PTL_DBG_NI_04  0x00100000U
#define PTL_DBG_NI_05  0x00200000U
#define PTL_DBG_NI_06  0x00400000U
#define PTL_DBG_NI_07  0x00800000U
#define PTL_DBG_NI_08  0x01000000U
#define PTL_DBG_NI_09  0x02000000U
#define PTL_DBG_NI_10  0x04000000U
#define PTL_DBG_NI_11  0x08000000U
#define PTL_DBG_NI_12  0x10000000U
#define PTL_DBG_NI_13  0x20000000U
#define PTL_DBG_NI_14  0x40000000U
#define PTL_DBG_NI_15  0x80000000U

/* The Cray XT's spelling. */
#define PTL_DEBUG_ALL    PTL_DBG_ALL
#define PTL_DEBUG_NI_ALL PTL_DBG_NI_ALL

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Traces what an interface does, a line each, from now on; PTL_INVALID_HANDLE: interfaces opened from now on.  Returns the
 * mask before; 0 also before PtlInit and for a handle that is no interface.  Any thread.  The lines are for people,
 * their format is not guaranteed; an interface that traces is as slow as the stream it prints to.
 */
unsigned PtlNIDebug(ptl_handle_ni_t ni_handle, unsigned mask);

/*
 * Print the match entries under an index, or one match entry: a moment's state, for people; the format is not
 * guaranteed. (PtlNIEqDump, for event queues, is in portals3.h, where the reference implementation has it.)
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID, PTL_ME_INVALID   the handle
 *   PTL_PT_INDEX_INVALID             pt_index
 *   PTL_NO_SPACE                     no memory
 */
int PtlTblDump(ptl_handle_ni_t ni_handle, int pt_index);
int PtlMEDump(ptl_handle_me_t me_handle);

#ifdef __cplusplus
}
#endif

#endif
