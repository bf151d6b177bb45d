/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job a process belongs to: its rank, the number of ranks, and the process id of each.  Portals itself knows no jobs;
 * this is the runtime library that programs written for the reference implementation use.
 *
 * A job comes, in this order, from the program (PtlSetRank and the maps), from the environment (PTL_MY_RID, PTL_NIDMAP,
 * PTL_PIDMAP; for the first interface), or from a launcher that speaks PMIx.  The latter two are looked for by PtlNIInit
 * if the program has set nothing, unless PTL_LAUNCH is none; PtlNIInit fails if what it finds there is not whole.  Every
 * function may be called from any thread after PtlInit; for all of them PTL_NO_INIT also means that PtlInit was not
 * called.
 */
#ifndef P3RT_H
#define P3RT_H

#include <p3/inline.h>
#include <p3/nal_types.h>
#include <portals3.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Gives an interface a rank in a group.
 *   ni_handle   an open interface; PTL_INVALID_HANDLE: the next one that PtlNIInit opens
 *   rank, group_size   both (unsigned)-1: read PTL_MY_RID, PTL_NIDMAP and PTL_PIDMAP (numbers separated by colons, one
 *                      for each rank; decimal, 0x or 0), and PTL_MY_JID if it is set
 *   PTL_OK
 *   PTL_NO_INIT      ... or one of the three variables is not set
 *   PTL_NI_INVALID   ni_handle
 *   PTL_FAIL         rank is not below group_size, the program has set a group already, or the variables make no sense
 *                    (lists of different length, no numbers)
 *   PTL_PID_INVALID  the interface is open, and PTL_PIDMAP has another pid for this rank
 *   PTL_NO_SPACE     no memory
 */
int PtlSetRank(ptl_handle_ni_t ni_handle, unsigned rank, unsigned group_size);

/*
 * Rank and size of the group.  Either pointer must be valid.
 *   PTL_OK
 *   PTL_NO_INIT      ... or the interface has no group
 *   PTL_NI_INVALID   ni_handle
 *   PTL_SEGV         a pointer is NULL
 */
int PtlGetRank(ptl_handle_ni_t ni_handle, unsigned *rank, unsigned *group_size);

/*
 * The process that has a rank.  Under PMIx it blocks until that process has opened its interface, at most
 * PTL_CONNECT_TIMEOUT.  Open does not mean ready: what is put to it before it has attached its match entries is dropped,
 * unless it runs with PTL_HOLD=1, or both have been to a fence since (portals3_nic.h: PtlNicReadyToReceive, PtlNicFence).
 *   PTL_OK
 *   PTL_NO_INIT      ... or no group, or the id of that rank is not known
 *   PTL_NI_INVALID   ni_handle
 *   PTL_FAIL         rank is not below the size of the group
 *   PTL_SEGV         id is NULL
 */
int PtlGetRankId(ptl_handle_ni_t ni_handle, unsigned rank, ptl_process_id_t *id);

/*
 * Node and process ids of all ranks, in their order, after PtlSetRank; copied.  With PTL_INVALID_HANDLE, and before
 * PtlNIInit with PTL_PID_ANY, the entry of this process's rank is the pid it gets; with another pid PtlNIInit fails.
 *   PTL_OK
 *   PTL_NO_INIT       ... or no group
 *   PTL_NI_INVALID    ni_handle
 *   PTL_FAIL          map_size is not the size of the group, or the map is set already
 *   PTL_PID_INVALID   the same, of PtlSetPIDMap; or the entry of this process is not its pid
 *   PTL_NO_SPACE      no memory
 *   PTL_SEGV          map is NULL
 */
int PtlSetNIDMap(ptl_handle_ni_t ni_handle, ptl_nid_t *map, unsigned map_size);
int PtlSetPIDMap(ptl_handle_ni_t ni_handle, ptl_pid_t *map, unsigned map_size);

/*
 * Copies of the maps.  Codes as PtlGetRankId; PTL_FAIL: map_size is not the size of the group.
 */
int PtlGetNIDMap(ptl_handle_ni_t ni_handle, ptl_nid_t *map, unsigned map_size);
int PtlGetPIDMap(ptl_handle_ni_t ni_handle, ptl_pid_t *map, unsigned map_size);

/*
 * The job id of interfaces opened from now on, unless PTL_MY_JID says otherwise.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_FAIL      an interface is open: its job id does not change
 */
int PtlSetJID(ptl_jid_t jid);

#ifdef __cplusplus
}
#endif

/*
 * The runtime of 3.3.0 knew one job, of the process: PtlGetRank(&rank, &size), PtlGetRankId(rank, &id).  Programs that call them
 * so define PTL_RANK_WITHOUT_INTERFACE; interface 0 is meant, or, while it is not open, the next to be opened.
 */
#ifdef PTL_RANK_WITHOUT_INTERFACE
P3_INLINE ptl_handle_ni_t ptl_rank_interface(void)
{
	ptl_handle_ni_t ni_handle = PTL_INVALID_HANDLE;

	if (PtlNIInitialized(PTL_NALTYPE_UTCP0))
		PtlNIInit(PTL_NALTYPE_UTCP0, PTL_PID_ANY, NULL, NULL, &ni_handle); /* says its handle */
	return ni_handle;
}

#define PtlGetRank(rank, group_size) (PtlGetRank)(ptl_rank_interface(), rank, group_size)
#define PtlGetRankId(rank, id)       (PtlGetRankId)(ptl_rank_interface(), rank, id)
#endif

#endif
