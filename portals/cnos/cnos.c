/* SPDX-License-Identifier: BSD-3-Clause */
/* An archive of its own, written in Portals' calls alone. */
#include <catamount/cnos_mpi_os.h>
#define PTL_RANK_WITHOUT_INTERFACE
#include <p3rt/p3rt.h>
#include <portals3_nic.h>
#include <stdlib.h>

static ptl_handle_ni_t interface = PTL_INVALID_HANDLE;

static ptl_handle_ni_t own_interface(void)
{
	return interface == PTL_INVALID_HANDLE ? ptl_rank_interface() : interface;
}

/* PTL_OK, also without a job. */
static int find_own_rank(unsigned *rank, unsigned *size)
{
	int interfaces, code = PtlInit(&interfaces);

	if (code != PTL_OK)
		return code;
	code = (PtlGetRank)(own_interface(), rank, size);
	if (code == PTL_NO_INIT) {
		*rank = 0;
		*size = 1;
		code = PTL_OK;
	}
	return code;
}

int cnos_get_rank(void)
{
	unsigned rank, size;

	return find_own_rank(&rank, &size) == PTL_OK ? (int)rank : -1;
}

int cnos_get_size(void)
{
	unsigned rank, size;

	return find_own_rank(&rank, &size) == PTL_OK ? (int)size : -1;
}

static int find_id(unsigned rank, unsigned size, ptl_process_id_t *id)
{
	int code = (PtlGetRankId)(own_interface(), rank, id);

	return code == PTL_NO_INIT && size == 1 ? PtlGetId(own_interface(), id) : code;
}

int cnos_get_nidpid_map(cnos_nidpid_map_t **map)
{
	static cnos_nidpid_map_t *known;
	unsigned rank, size;

	if (!map || find_own_rank(&rank, &size) != PTL_OK || (!known && !(known = calloc(size, sizeof(*known)))))
		return -1;
	for (unsigned i = 0; i < size; i++) {
		ptl_process_id_t id;

		if (find_id(i, size, &id) != PTL_OK)
			return -1;
		known[i].nid = id.nid;
		known[i].pid = id.pid;
	}
	*map = known;
	return (int)size;
}

int cnos_barrier_init(ptl_handle_ni_t ni_handle)
{
	interface = ni_handle;
	return 0;
}

int cnos_register_ptlid(ptl_process_id_t id)
{
	(void)id;
	return 0;
}

int cnos_barrier(void)
{
	return PtlNicFence(own_interface(), PTL_TIME_FOREVER) == PTL_OK ? 0 : -1;
}
