/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls and options of other implementations.  Not in Portals 3.3; old programs use them.  portals3.h includes this file.
 */
#ifndef PORTALS3_EXT_H
#define PORTALS3_EXT_H

#include "portals3.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Options of other implementations that programs or in: distinct bits without effect, as every unknown bit is; but the
 * first asks for the UNLINK event where that comes on request only (PTL_DIALECT=cray). (Enumerators, so that programs
 * that define the names themselves still compile.)
 */
enum {
	PTL_MD_EVENT_AUTO_UNLINK_ENABLE = 0x0200,
	PTL_MD_EVENT_MANUAL_UNLINK_ENABLE = 0x0400,
	PTL_MD_FLAG_AUTO_UNLINK = 0x0800,
	PTL_MD_LUSTRE_COMPLETION_SEMANTICS = 0x1000,
	PTL_MD_LOCAL_ALIGN8 = 0x2000,
	PTL_MD_PHYS = 0x4000,
	PTL_MD_KIOV = 0x8000
};

/*
 * PtlMEInsert, or PtlMEAttach, with PtlMDAttach in one step: no message meets the entry without its descriptor.
 * Anything but PTL_OK means that nothing was created.  Codes as for PtlMEMDPost, without a queue to test; PtlMEMDAttach
 * has PTL_PT_INDEX_INVALID instead of a base that may be invalid.
 */
int PtlMEMDInsert(ptl_handle_ni_t ni_handle, ptl_handle_me_t base, ptl_process_id_t match_id,
		  ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t me_unlink_op,
		  ptl_ins_pos_t position, ptl_md_t md, ptl_unlink_t md_unlink_op, ptl_handle_me_t *me_handle,
		  ptl_handle_md_t *md_handle);
int PtlMEMDAttach(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		  ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t me_unlink_op,
		  ptl_ins_pos_t position, ptl_md_t md, ptl_unlink_t md_unlink_op, ptl_handle_me_t *me_handle,
		  ptl_handle_md_t *md_handle);

/*
 * PtlGetPut with a part of each descriptor: `length` bytes from put_offset go out, as many at most come back to
 * get_offset.  Codes as for PtlGetPut; PTL_MD_ILLEGAL also if a part is not inside its descriptor.
 */
int PtlGetPutRegion(ptl_handle_md_t get_md_handle, ptl_size_t get_offset, ptl_handle_md_t put_md_handle,
		    ptl_size_t put_offset, ptl_size_t length, ptl_process_id_t target_id, ptl_pt_index_t pt_index,
		    ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
		    ptl_hdr_data_t hdr_data);

/*
 * PtlPut of the whole descriptor to this process itself, without acknowledgement and with hdr_data 0.  (Our reading: the
 * call is known from one program only.)  Codes as for PtlPut; PTL_PROCESS_INVALID if target_id is another process.
 */
int PtlMDMDCopy(ptl_handle_md_t md_handle, ptl_process_id_t target_id, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/* PtlEQGet that leaves the event where it is, calls no handler and moves nothing along.  Codes as for PtlEQGet. */
int PtlEQPeek(ptl_handle_eq_t eq_handle, ptl_event_t *event);

/*
 * Moves an interface's traffic along for up to `timeout` milliseconds, at least once, or until there is nothing to do.
 * Needed only where no thread does (PTL_NIC_MODE=host).  `handle` is the interface or any object of it.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_HANDLE_INVALID
 */
int PtlProgress(ptl_handle_any_t handle, ptl_time_t timeout);

/*
 * Prints the event queues of an interface on p3_out (p3utils.h): a moment's state, for people; the format is not
 * guaranteed.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID
 *   PTL_NO_SPACE    no memory
 */
int PtlNIEqDump(ptl_handle_ni_t ni_handle);

/* 1 if the interface is open in this process, else 0. */
int PtlNIInitialized(ptl_interface_t interface);

#define PtlHandleIsEqual(a, b) ((a) == (b))

#ifdef __cplusplus
}
#endif

#endif
