/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime library: an interface's place in a group of processes, and the ids of the others.
 *
 * A group belongs to an interface; one that was set with PTL_INVALID_HANDLE waits for the next interface to open.  The
 * process lock guards all of it, so that a fork never leaves it half changed.
 */
#include "portals/runtime/rank.h"

#include <errno.h>
#include <p3rt/p3rt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "portals/process.h"
#include "portals/refuse.h"
#include "portals/runtime/job.h"
#include "portals/runtime/launcher.h"

struct group {
	unsigned rank, size;   /* size 0: no group */
	uint32_t *nids, *pids; /* of all ranks, or NULL: not set */
	bool launched;         /* by a launcher, which has the ids */
};

static struct group groups[MAX_INTERFACES], next_group;

static void clear(struct group *group)
{
	free(group->nids);
	free(group->pids);
	*group = (struct group){0};
}

int rank_prepare(ptl_jid_t *jid)
{
	struct launcher_job job;

	if (next_group.size || getenv("PTL_MY_RID"))
		return 0;
	int rc = launcher_join(&job);
	if (rc <= 0)
		return rc;
	next_group = (struct group){.rank = job.rank, .size = job.size, .launched = true};
	*jid = job.jid;
	return 0;
}

ptl_pid_t rank_wanted_pid(void)
{
	return next_group.pids ? next_group.pids[next_group.rank] : PTL_PID_ANY;
}

struct address_book *rank_addresses(uint32_t interface)
{
	return next_group.launched ? job_addresses(interface, next_group.size) : NULL;
}

int rank_adopt(uint32_t interface, ptl_process_id_t id)
{
	int rc = next_group.launched ? job_publish_id(interface, id) : 0;

	if (rc)
		return rc;
	groups[interface] = next_group;
	next_group = (struct group){0};
	return 0;
}

void rank_forget(uint32_t interface)
{
	clear(&groups[interface]);
}

void rank_forget_all(void)
{
	for (uint32_t i = 0; i < MAX_INTERFACES; i++)
		clear(&groups[i]);
	clear(&next_group);
}

/* The group a handle stands for.  NULL: *code says why. */
static struct group *find(ptl_handle_ni_t ni_handle, int *code)
{
	if (!process_ready()) {
		*code = refuse_uninitialised();
		return NULL;
	}
	if (ni_handle == PTL_INVALID_HANDLE)
		return &next_group;
	if (process_ni(ni_handle))
		return &groups[handle_interface(ni_handle)];
	*code = refuse_handle(PTL_NI_INVALID, ni_handle);
	return NULL;
}

static struct group *find_set(ptl_handle_ni_t ni_handle, int *code)
{
	struct group *group = find(ni_handle, code);
	ptl_jid_t jid; /* asked for again when the interface opens */

	if (group == &next_group && rank_prepare(&jid)) {
		*code = PTL_FAIL;
		return NULL;
	}
	if (group && group->size == 0) {
		*code = report_error(
			PTL_NO_INIT,
			"the interface has no rank: PtlSetRank gives it one (-1, -1: PTL_MY_RID), or a launcher");
		return NULL;
	}
	return group;
}

/* --- the environment --- */

static size_t list_length(const char *list)
{
	size_t length = 1;

	for (; *list; list++)
		length += *list == ':';
	return length;
}

static int parse_number(const char *variable, const char *text, const char **end, uint32_t *value)
{
	char *stop;

	errno = 0;
	unsigned long number = strtoul(text, &stop, 0);
	if (stop == text || errno || number > UINT32_MAX || *text == '-' || (*stop && *stop != ':'))
		return report_error(-EINVAL, "%s: '%.32s' is no 32-bit number; numbers separated by colons are wanted",
				    variable, text);
	*value = (uint32_t)number;
	*end = stop;
	return 0;
}

static int parse_single(const char *variable, const char *text, uint32_t *value)
{
	const char *end = text;
	int rc = parse_number(variable, text, &end, value);

	if (!rc && *end)
		return report_error(-EINVAL, "%s: '%.32s' is more than one number", variable, text);
	return rc;
}

static int parse_list(const char *variable, const char *list, uint32_t *values)
{
	for (size_t i = 0;; i++) {
		int rc = parse_number(variable, list, &list, &values[i]);
		if (rc || *list == 0)
			return rc;
		list++;
	}
}

static int check_lengths(const char *nids, const char *pids, uint32_t rank)
{
	size_t nid_count = list_length(nids), pid_count = list_length(pids);

	if (nid_count != pid_count)
		return report_error(-EINVAL, "PTL_NIDMAP has %zu entries, PTL_PIDMAP %zu; one for each rank is wanted",
				    nid_count, pid_count);
	if (rank >= nid_count)
		return report_error(-EINVAL, "PTL_MY_RID is %u, but PTL_NIDMAP has only ranks 0 to %zu", rank,
				    nid_count - 1);
	return 0;
}

static int fill_from_lists(struct group *group, const char *nids, const char *pids, uint32_t rank)
{
	int rc = check_lengths(nids, pids, rank);
	if (rc)
		return rc;
	size_t count = list_length(nids);
	*group = (struct group){
		.rank = rank,
		.size = (unsigned)count,
		.nids = calloc(count, sizeof *group->nids),
		.pids = calloc(count, sizeof *group->pids),
	};
	if (!group->nids || !group->pids)
		rc = report_error(-ENOMEM, "no memory for the maps of %zu ranks", count);
	if (!rc && (rc = parse_list("PTL_NIDMAP", nids, group->nids)) == 0)
		rc = parse_list("PTL_PIDMAP", pids, group->pids);
	if (rc)
		clear(group);
	return rc;
}

/* PtlInit may have read the same; here it may also be new.  Interfaces that are open keep the job they have. */
static int job_from_environment(void)
{
	const char *text = getenv("PTL_MY_JID");
	uint32_t jid = PTL_JID_ANY;

	if (!text || strcmp(text, "auto") == 0)
		return 0;
	int rc = parse_single("PTL_MY_JID", text, &jid);
	if (!rc)
		process_set_job(jid);
	return rc;
}

/* Read when asked for, not by PtlInit: launchers' glue sets them between the two. */
static int fill_from_environment(struct group *group)
{
	const char *rank_text = getenv("PTL_MY_RID"), *nids = getenv("PTL_NIDMAP"), *pids = getenv("PTL_PIDMAP");
	uint32_t rank = 0;

	if (!rank_text || !nids || !pids) {
		report_error(-ENOENT, "%s is not set; PtlSetRank(-1, -1) needs PTL_MY_RID, PTL_NIDMAP and PTL_PIDMAP",
			     !rank_text ? "PTL_MY_RID"
			     : !nids    ? "PTL_NIDMAP"
					: "PTL_PIDMAP");
		return PTL_NO_INIT;
	}
	int rc = parse_single("PTL_MY_RID", rank_text, &rank);
	if (!rc && (rc = job_from_environment()) == 0)
		rc = fill_from_lists(group, nids, pids, rank);
	return process_code(rc, PTL_FAIL);
}

/* --- the calls --- */

/* Others would send to a process that is not there. */
static int check_own_pid(ptl_handle_ni_t ni_handle, const struct group *group, const uint32_t *pids)
{
	const struct nic *nic = process_ni(ni_handle);

	if (!nic || pids[group->rank] == nic->id.pid)
		return PTL_OK;
	report_error(-EINVAL, "the map has pid %u for this process, rank %u, which is %u", pids[group->rank],
		     group->rank, nic->id.pid);
	return PTL_PID_INVALID;
}

static int set_rank_from_environment(ptl_handle_ni_t ni_handle, struct group *group)
{
	int code = fill_from_environment(group);

	if (code == PTL_OK && (code = check_own_pid(ni_handle, group, group->pids)))
		clear(group);
	return code;
}

static int set_rank(ptl_handle_ni_t ni_handle, unsigned rank, unsigned group_size)
{
	int code = PTL_OK;
	struct group *group = find(ni_handle, &code);

	if (!group)
		return code;
	if (group->size) {
		report_error(-EEXIST, "the interface is rank %u of %u already", group->rank, group->size);
		return PTL_FAIL;
	}
	if (rank == (unsigned)-1 && group_size == (unsigned)-1)
		return set_rank_from_environment(ni_handle, group);
	if (rank >= group_size) {
		report_error(-EINVAL, "rank %u of %u: ranks count from 0", rank, group_size);
		return PTL_FAIL;
	}
	*group = (struct group){.rank = rank, .size = group_size};
	return PTL_OK;
}

int PtlSetRank(ptl_handle_ni_t ni_handle, unsigned rank, unsigned group_size)
{
	if (!process_lock())
		return PTL_FAIL;
	int code = set_rank(ni_handle, rank, group_size);
	process_unlock();
	return code;
}

static int get_rank(ptl_handle_ni_t ni_handle, unsigned *rank, unsigned *group_size)
{
	int code = PTL_OK;
	const struct group *group = find_set(ni_handle, &code);

	if (!group)
		return code;
	*rank = group->rank;
	*group_size = group->size;
	return PTL_OK;
}

int PtlGetRank(ptl_handle_ni_t ni_handle, unsigned *rank, unsigned *group_size)
{
	if (!rank || !group_size)
		return refuse_null("rank or group_size");
	if (!process_lock())
		return PTL_FAIL;
	int code = get_rank(ni_handle, rank, group_size);
	process_unlock();
	return code;
}

/* One of the two maps of a group. */
typedef uint32_t **map_of(struct group *);

static uint32_t **nids_of(struct group *group)
{
	return &group->nids;
}

static uint32_t **pids_of(struct group *group)
{
	return &group->pids;
}

/* `refused`: what a map of the wrong size, or a second one, is called. */
static int set_map(ptl_handle_ni_t ni_handle, map_of *which, const uint32_t *map, unsigned map_size, int refused)
{
	int code = PTL_OK;
	struct group *group = find_set(ni_handle, &code);

	if (!group)
		return code;
	uint32_t **own = which(group);
	if (*own || map_size != group->size) {
		report_error(-EINVAL, *own ? "the map of %u ranks is set already" : "the group has %u ranks, not %u",
			     group->size, map_size);
		return refused;
	}
	if (which == pids_of && (code = check_own_pid(ni_handle, group, map)))
		return code;
	uint32_t *copy = malloc(map_size * sizeof *copy);
	if (!copy) {
		report_error(-ENOMEM, "no memory for the map of %u ranks", map_size);
		return PTL_NO_SPACE;
	}
	memcpy(copy, map, map_size * sizeof *copy);
	*own = copy;
	return PTL_OK;
}

static int set_map_locked(ptl_handle_ni_t ni_handle, map_of *which, const uint32_t *map, unsigned map_size, int refused)
{
	if (!map)
		return refuse_null("map");
	if (!process_lock())
		return PTL_FAIL;
	int code = set_map(ni_handle, which, map, map_size, refused);
	process_unlock();
	return code;
}

int PtlSetNIDMap(ptl_handle_ni_t ni_handle, ptl_nid_t *map, unsigned map_size)
{
	return set_map_locked(ni_handle, nids_of, map, map_size, PTL_FAIL);
}

int PtlSetPIDMap(ptl_handle_ni_t ni_handle, ptl_pid_t *map, unsigned map_size)
{
	return set_map_locked(ni_handle, pids_of, map, map_size, PTL_PID_INVALID);
}

/* Asks the launcher: outside the lock, for it may wait for a process that has not opened its interface. */
static int ask_launcher(ptl_handle_ni_t ni_handle, unsigned rank, ptl_process_id_t *id)
{
	uint32_t interface = ni_handle == PTL_INVALID_HANDLE ? 0 : handle_interface(ni_handle);
	uint64_t seconds = (process_settings()->connect_timeout + 999999999u) / 1000000000u;

	return job_look_up_id(interface, rank, (unsigned)seconds, id) ? PTL_NO_INIT : PTL_OK;
}

/* What the group itself knows.  *launched: nothing, but its launcher does. */
static int get_map(ptl_handle_ni_t ni_handle, map_of *which, uint32_t *map, unsigned map_size, bool *launched)
{
	int code = PTL_OK;
	struct group *group = find_set(ni_handle, &code);

	if (!group)
		return code;
	if (map_size != group->size) {
		report_error(-EINVAL, "the group has %u ranks, not %u", group->size, map_size);
		return PTL_FAIL;
	}
	if (*which(group))
		memcpy(map, *which(group), map_size * sizeof *map);
	else if (!group->launched)
		return report_error(PTL_NO_INIT, "nobody has set the map");
	*launched = !*which(group);
	return PTL_OK;
}

static int get_map_locked(ptl_handle_ni_t ni_handle, map_of *which, uint32_t *map, unsigned map_size, bool *launched)
{
	*launched = false;
	if (!map)
		return refuse_null("map");
	if (!process_lock())
		return PTL_FAIL;
	int code = get_map(ni_handle, which, map, map_size, launched);
	process_unlock();
	return code;
}

int PtlGetNIDMap(ptl_handle_ni_t ni_handle, ptl_nid_t *map, unsigned map_size)
{
	ptl_process_id_t id;
	bool launched;
	int code = get_map_locked(ni_handle, nids_of, map, map_size, &launched);

	for (unsigned rank = 0; launched && code == PTL_OK && rank < map_size; rank++)
		if ((code = ask_launcher(ni_handle, rank, &id)) == PTL_OK)
			map[rank] = id.nid;
	return code;
}

int PtlGetPIDMap(ptl_handle_ni_t ni_handle, ptl_pid_t *map, unsigned map_size)
{
	ptl_process_id_t id;
	bool launched;
	int code = get_map_locked(ni_handle, pids_of, map, map_size, &launched);

	for (unsigned rank = 0; launched && code == PTL_OK && rank < map_size; rank++)
		if ((code = ask_launcher(ni_handle, rank, &id)) == PTL_OK)
			map[rank] = id.pid;
	return code;
}

static int get_id(ptl_handle_ni_t ni_handle, unsigned rank, ptl_process_id_t *id, bool *launched)
{
	int code = PTL_OK;
	const struct group *group = find_set(ni_handle, &code);

	if (!group)
		return code;
	if (rank >= group->size) {
		report_error(-EINVAL, "rank %u does not exist, the group has %u", rank, group->size);
		return PTL_FAIL;
	}
	*launched = group->launched;
	if (group->launched)
		return PTL_OK;
	if (!group->nids || !group->pids)
		return report_error(PTL_NO_INIT, "rank %u: nobody has set both maps", rank);
	*id = (ptl_process_id_t){group->nids[rank], group->pids[rank]};
	return PTL_OK;
}

int PtlGetRankId(ptl_handle_ni_t ni_handle, unsigned rank, ptl_process_id_t *id)
{
	if (!id)
		return refuse_null("id");
	bool launched = false;
	if (!process_lock())
		return PTL_FAIL;
	int code = get_id(ni_handle, rank, id, &launched);
	process_unlock();
	return launched && code == PTL_OK ? ask_launcher(ni_handle, rank, id) : code;
}

int PtlSetJID(ptl_jid_t jid)
{
	if (!process_lock())
		return PTL_FAIL;
	int code = process_ready() ? process_set_job(jid) : refuse_uninitialised();
	process_unlock();
	return code;
}
