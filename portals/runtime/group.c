/* SPDX-License-Identifier: BSD-3-Clause */
/* The group that PTL_MY_RID, PTL_NIDMAP and PTL_PIDMAP describe. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "portals/process.h"
#include "portals/runtime/group.h"

void group_clear(struct group *group)
{
	for (enum map map = NIDS; map < MAPS; map++)
		free(group->maps[map]);
	*group = (struct group){0};
}

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
		.source = ENVIRONMENT,
		.maps = {calloc(count, sizeof(uint32_t)), calloc(count, sizeof(uint32_t))},
	};
	if (!group->maps[NIDS] || !group->maps[PIDS])
		rc = report_error(-ENOMEM, "no memory for the maps of %zu ranks", count);
	else if ((rc = parse_list("PTL_NIDMAP", nids, group->maps[NIDS])) == 0)
		rc = parse_list("PTL_PIDMAP", pids, group->maps[PIDS]);
	if (rc)
		group_clear(group);
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

int group_from_environment(struct group *group)
{
	const char *rank_text = getenv("PTL_MY_RID"), *nids = getenv("PTL_NIDMAP"), *pids = getenv("PTL_PIDMAP");
	uint32_t rank = 0;

	if (!rank_text || !nids || !pids)
		return report_error(-ENOENT,
				    "%s is not set; a job by environment needs PTL_MY_RID, PTL_NIDMAP and PTL_PIDMAP "
				    "(PTL_LAUNCH=none: PtlNIInit asks for none)",
				    !rank_text ? "PTL_MY_RID"
				    : !nids    ? "PTL_NIDMAP"
					       : "PTL_PIDMAP");
	int rc = parse_single("PTL_MY_RID", rank_text, &rank);
	if (!rc && (rc = job_from_environment()) == 0)
		rc = fill_from_lists(group, nids, pids, rank);
	return rc;
}
