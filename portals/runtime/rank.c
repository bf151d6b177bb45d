/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime library: an interface's place in a group of processes, and the ids of the others.
 *
 * A group belongs to an interface; one that was set with PTL_INVALID_HANDLE waits for the next interface to open.  If the
 * program has set none by then, the environment's or the launcher's is taken; the program may still set another in its
 * place.  PTL_MY_RID and its companions have one id for each process, so that the first interface gets their group; what a
 * launcher knows is published for each interface.
 *
 * The process lock guards all of it, so that a fork never leaves it half changed.
 */
#include "portals/runtime/rank.h"

#include <errno.h>
#include <limits.h>
#include <p3rt/p3rt.h>
#include <portals3_nic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/report.h"
#include "portals/process.h"
#include "portals/refuse.h"
#include "portals/runtime/fence.h"
#include "portals/runtime/group.h"
#include "portals/runtime/job.h"
#include "portals/runtime/launcher.h"

static struct group groups[MAX_INTERFACES], next_group;

static bool have_group(void)
{
	for (uint32_t i = 0; i < MAX_INTERFACES; i++)
		if (groups[i].size)
			return true;
	return false;
}

static int fill_from_launcher(struct group *group)
{
	struct launcher_job job;
	int rc = launcher_join(&job);

	if (rc <= 0)
		return rc;
	*group = (struct group){.rank = job.rank,
				.size = job.size,
				.local_rank = job.local_rank,
				.local_size = job.local_size,
				.source = LAUNCHER,
				.jid = job.jid};
	return 0;
}

/* If the program has set none: the next interface's group, if there is one. */
static int find_next_group(void)
{
	if (next_group.size || process_settings()->launch == LAUNCH_NONE)
		return 0;
	if (!getenv("PTL_MY_RID"))
		return fill_from_launcher(&next_group);
	return have_group() ? 0 : group_from_environment(&next_group);
}

int rank_prepare(ptl_jid_t *jid)
{
	int rc = find_next_group();

	if (next_group.source == LAUNCHER)
		*jid = next_group.jid;
	return rc;
}

ptl_pid_t rank_wanted_pid(void)
{
	return next_group.maps[PIDS] ? next_group.maps[PIDS][next_group.rank] : PTL_PID_ANY;
}

struct address_book *rank_addresses(uint32_t interface)
{
	return next_group.source == LAUNCHER ? job_addresses(interface, next_group.size) : NULL;
}

/* The others look for us where the environment says. */
static int check_own_entry(const struct group *group, ptl_process_id_t id)
{
	ptl_nid_t nid = group->maps[NIDS][group->rank];
	ptl_pid_t pid = group->maps[PIDS][group->rank];

	if (nid == id.nid && pid == id.pid)
		return 0;
	return report_error(
		-EINVAL,
		"rank %u is %u:%u by PTL_NIDMAP and PTL_PIDMAP, but this interface is %u:%u; choose another "
		"by PTL_IFACE, or PTL_LAUNCH=none to run alone",
		group->rank, nid, pid, id.nid, id.pid);
}

int rank_adopt(uint32_t interface, ptl_process_id_t id)
{
	int rc = 0;

	if (next_group.source == LAUNCHER)
		rc = job_publish_id(interface, id);
	else if (next_group.source == ENVIRONMENT)
		rc = check_own_entry(&next_group, id);
	if (rc) {
		group_clear(&next_group);
		return rc;
	}
	groups[interface] = next_group;
	next_group = (struct group){0};
	return 0;
}

int rank_describe(uint32_t interface, char *text, size_t size)
{
	static const char *const sources[] = {"set by the program", "by PTL_MY_RID", "by its launcher"};
	const struct group *group = &groups[interface];
	char local[64] = "";

	if (group->size == 0)
		return snprintf(text, size, "job: none\n");
	if (group->local_size)
		snprintf(local, sizeof(local), ", local rank %u of %u", group->local_rank, group->local_size);
	return snprintf(text, size, "job: rank %u of %u%s, %s\n", group->rank, group->size, local,
			sources[group->source]);
}

void rank_forget(uint32_t interface)
{
	group_clear(&groups[interface]);
}

void rank_forget_all(void)
{
	for (uint32_t i = 0; i < MAX_INTERFACES; i++)
		group_clear(&groups[i]);
	group_clear(&next_group);
}

/* The group a handle stands for.  NULL: *code says why. */
static struct group *find_group(ptl_handle_ni_t ni_handle, int *code)
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
	struct group *group = find_group(ni_handle, code);

	if (group == &next_group && find_next_group()) {
		*code = PTL_NO_INIT;
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

/* --- the calls --- */

/* Others would send to a process that is not there. */
static int check_own_pid(ptl_handle_ni_t ni_handle, const struct group *group, const uint32_t *pids)
{
	const struct nic *nic = process_ni(ni_handle);

	if (!nic || pids[group->rank] == nic->self.id.pid)
		return PTL_OK;
	report_error(-EINVAL, "the map has pid %u for this process, rank %u, which is %u", pids[group->rank],
		     group->rank, nic->self.id.pid);
	return PTL_PID_INVALID;
}

static int make_group(unsigned rank, unsigned group_size, struct group *made)
{
	if (rank == (unsigned)-1 && group_size == (unsigned)-1) {
		int rc = group_from_environment(made);

		made->source = PROGRAM; /* from now on it is as if the program had said all this */
		return rc == -ENOENT ? PTL_NO_INIT : process_code(rc, PTL_FAIL);
	}
	if (rank >= group_size) {
		report_error(-EINVAL, "rank %u of %u: ranks count from 0", rank, group_size);
		return PTL_FAIL;
	}
	*made = (struct group){.rank = rank, .size = group_size};
	return PTL_OK;
}

static int set_rank(ptl_handle_ni_t ni_handle, unsigned rank, unsigned group_size)
{
	int code = PTL_OK;
	struct group *group = find_group(ni_handle, &code), made = {0};

	if (!group)
		return code;
	if (group->size && group->source == PROGRAM) {
		report_error(-EEXIST, "the interface is rank %u of %u already", group->rank, group->size);
		return PTL_FAIL;
	}
	code = make_group(rank, group_size, &made);
	if (code == PTL_OK && made.maps[PIDS])
		code = check_own_pid(ni_handle, &made, made.maps[PIDS]);
	if (code != PTL_OK) {
		group_clear(&made);
		return code;
	}
	group_clear(group);
	*group = made;
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

/* `refused`: what a map of the wrong size, or a second one, is called. */
static int set_map(ptl_handle_ni_t ni_handle, enum map which, const uint32_t *map, unsigned map_size, int refused)
{
	int code = PTL_OK;
	struct group *group = find_set(ni_handle, &code);

	if (!group)
		return code;
	uint32_t **own = &group->maps[which];
	if (*own || map_size != group->size) {
		report_error(-EINVAL, *own ? "the map of %u ranks is set already" : "the group has %u ranks, not %u",
			     group->size, map_size);
		return refused;
	}
	if (which == PIDS && (code = check_own_pid(ni_handle, group, map)))
		return code;
	uint32_t *copy = malloc(map_size * sizeof(*copy));
	if (!copy) {
		report_error(-ENOMEM, "no memory for the map of %u ranks", map_size);
		return PTL_NO_SPACE;
	}
	memcpy(copy, map, map_size * sizeof(*copy));
	*own = copy;
	return PTL_OK;
}

static int set_map_locked(ptl_handle_ni_t ni_handle, enum map which, const uint32_t *map, unsigned map_size,
			  int refused)
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
	return set_map_locked(ni_handle, NIDS, map, map_size, PTL_FAIL);
}

int PtlSetPIDMap(ptl_handle_ni_t ni_handle, ptl_pid_t *map, unsigned map_size)
{
	return set_map_locked(ni_handle, PIDS, map, map_size, PTL_PID_INVALID);
}

/* Asks the launcher: outside the lock, for it may wait for a process that has not opened its interface. */
static int ask_launcher(ptl_handle_ni_t ni_handle, unsigned rank, ptl_process_id_t *id)
{
	UNCANCELLED;
	uint32_t interface = ni_handle == PTL_INVALID_HANDLE ? 0 : handle_interface(ni_handle);
	uint64_t seconds = (process_settings()->connect_timeout + 999999999u) / 1000000000u;

	/* A launcher takes 0 for as long as it likes, and not more than an int. */
	unsigned timeout_s = seconds == 0 ? 1 : seconds < INT_MAX ? (unsigned)seconds : INT_MAX;

	return job_look_up_id(interface, rank, timeout_s, id) ? PTL_NO_INIT : PTL_OK;
}

/* What the group itself knows.  *launched: nothing, but its launcher does. */
static int get_known_map(ptl_handle_ni_t ni_handle, enum map which, uint32_t *map, unsigned map_size, bool *launched)
{
	int code = PTL_OK;
	struct group *group = find_set(ni_handle, &code);

	if (!group)
		return code;
	if (map_size != group->size) {
		report_error(-EINVAL, "the group has %u ranks, not %u", group->size, map_size);
		return PTL_FAIL;
	}
	const uint32_t *own = group->maps[which];
	if (own)
		memcpy(map, own, map_size * sizeof(*map));
	else if (group->source != LAUNCHER)
		return report_error(PTL_NO_INIT, "the map has not been set");
	*launched = !own;
	return PTL_OK;
}

static int get_map(ptl_handle_ni_t ni_handle, enum map which, uint32_t *map, unsigned map_size)
{
	ptl_process_id_t id;
	bool launched = false;

	if (!map)
		return refuse_null("map");
	if (!process_lock())
		return PTL_FAIL;
	int code = get_known_map(ni_handle, which, map, map_size, &launched);
	process_unlock();
	for (unsigned rank = 0; launched && code == PTL_OK && rank < map_size; rank++)
		if ((code = ask_launcher(ni_handle, rank, &id)) == PTL_OK)
			map[rank] = which == NIDS ? id.nid : id.pid;
	return code;
}

int PtlGetNIDMap(ptl_handle_ni_t ni_handle, ptl_nid_t *map, unsigned map_size)
{
	return get_map(ni_handle, NIDS, map, map_size);
}

int PtlGetPIDMap(ptl_handle_ni_t ni_handle, ptl_pid_t *map, unsigned map_size)
{
	return get_map(ni_handle, PIDS, map, map_size);
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
	const uint32_t *nids = group->maps[NIDS], *pids = group->maps[PIDS];
	*launched = group->source == LAUNCHER;
	if (*launched)
		return PTL_OK;
	if (!nids || !pids)
		return report_error(PTL_NO_INIT, "rank %u: not both maps have been set", rank);
	*id = (ptl_process_id_t){nids[rank], pids[rank]};
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

static void drive(void *ni_handle)
{
	PtlProgress(*(const ptl_handle_ni_t *)ni_handle, 0);
}

/* PTL_OK; *launched: and the launcher counts the job's processes. */
static int can_fence(ptl_handle_ni_t ni_handle, bool *launched)
{
	if (!process_ready())
		return refuse_uninitialised();
	if (!process_ni(ni_handle))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	const struct group *group = &groups[handle_interface(ni_handle)];

	*launched = group->size > 1 && group->source == LAUNCHER;
	return group->size <= 1 || *launched
		       ? PTL_OK
		       : report_error(PTL_FAIL, "the job of %u processes has no launcher that could count them",
				      group->size);
}

int PtlNicFence(ptl_handle_ni_t ni_handle, ptl_time_t timeout)
{
	bool launched = false;

	if (!process_lock())
		return PTL_FAIL;
	int code = can_fence(ni_handle, &launched);
	const struct nic *nic = process_ni(ni_handle);
	bool host_mode = nic && nic->mode == NIC_MODE_HOST;
	process_unlock();
	if (code || !launched)
		return code;
	int rc = fence_wait(timeout == PTL_TIME_FOREVER ? UINT64_MAX : (uint64_t)timeout * 1000000u,
			    host_mode ? drive : NULL, &ni_handle);

	if (rc == 0)
		return PTL_OK;
	return rc == -ETIMEDOUT ? PTL_EQ_EMPTY : PTL_FAIL;
}

int PtlSetJID(ptl_jid_t jid)
{
	if (!process_lock())
		return PTL_FAIL;
	int code = process_ready() ? process_set_job(jid) : refuse_uninitialised();
	process_unlock();
	return code;
}
