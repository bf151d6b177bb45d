/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx, loaded when a launcher's environment asks for it, like libfabric: a process that was not launched never sees it.
 * Values are put together and taken apart by hand: the types are PMIx's ABI, the macros for them change.
 */
#include "portals/runtime/launcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arch.h"
#include "base/loader.h"
#include "base/report.h"
#include "portals/process.h"

/*
 * What launchers say of a job without PMIx: sizes, and, of those that may leave the size out, ranks.  A process of a job of
 * one needs no help.
 */
static const struct {
	const char *variable;
	unsigned long least; /* number that only a process among several has */
} signs[] = {
	{"OMPI_COMM_WORLD_SIZE", 2}, {"SLURM_STEP_NUM_TASKS", 2}, {"PMI_SIZE", 2}, {"MV2_COMM_WORLD_SIZE", 2},
	{"FLUX_JOB_SIZE", 2},        {"JSM_NAMESPACE_SIZE", 2},   {"PMI_RANK", 1}, {"PMIX_RANK", 1},
	{"PALS_RANKID", 1},          {"ALPS_APP_PE", 1},
};

static bool one_of_several(const char **variable)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		const char *number = getenv(*variable = signs[i].variable);
		if (number && strtoul(number, NULL, 10) >= signs[i].least)
			return true;
	}
	return false;
}

#if PORTALS_PMIX

#include <dlfcn.h>
#include <pmix.h>

#define RETRY_NS 10000000

static struct {
	pmix_status_t (*init)(pmix_proc_t *, pmix_info_t *, size_t);
	pmix_status_t (*finalize)(const pmix_info_t *, size_t);
	pmix_status_t (*get)(const pmix_proc_t *, const char *, const pmix_info_t *, size_t, pmix_value_t **);
	pmix_status_t (*get_nb)(const pmix_proc_t *, const char *, const pmix_info_t *, size_t, pmix_value_cbfunc_t,
				void *);
	pmix_status_t (*put)(pmix_scope_t, const char *, pmix_value_t *);
	pmix_status_t (*commit)(void);
	pmix_status_t (*fence_nb)(const pmix_proc_t *, size_t, const pmix_info_t *, size_t, pmix_op_cbfunc_t, void *);
	const char *(*text)(pmix_status_t);
	pmix_proc_t self;
	struct launcher_job job;
	_Atomic bool joined;
	bool forked;
} pmix;

static int load(void)
{
	const struct {
		const char *name;
		void *where;
	} symbols[] = {
		{"PMIx_Init", &pmix.init},     {"PMIx_Finalize", &pmix.finalize}, {"PMIx_Get", &pmix.get},
		{"PMIx_Put", &pmix.put},       {"PMIx_Commit", &pmix.commit},     {"PMIx_Error_string", &pmix.text},
		{"PMIx_Get_nb", &pmix.get_nb}, {"PMIx_Fence_nb", &pmix.fence_nb},
	};
	const char *why;
	/* Global: its components look for its symbols. */
	void *handle = loader_open("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL, &why);

	if (!handle)
		return report_error(-ELIBACC,
				    "a launcher started this process, but PMIx cannot be loaded: %s; %s, or set "
				    "PTL_LAUNCH=none",
				    why, loader_remedy("install libpmix2"));
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(handle, symbols[i].name);
		if (!symbol)
			return report_error(-ELIBBAD, "libpmix.so.2 has no %s", symbols[i].name);
		memcpy(symbols[i].where, &symbol, sizeof(symbol));
	}
	return 0;
}

static pmix_proc_t process_of(pmix_rank_t rank)
{
	pmix_proc_t proc = pmix.self;

	proc.rank = rank;
	return proc;
}

/* What the launcher knows of a process, or, with the wildcard, of the job: an unsigned number, whatever its width. */
static int get_number(pmix_rank_t rank, const char *key, uint64_t *number)
{
	pmix_proc_t proc = process_of(rank);
	pmix_value_t *value = NULL;

	pmix_status_t status = pmix.get(&proc, key, NULL, 0, &value);
	if (status != PMIX_SUCCESS || !value)
		return -ENODATA;
	switch (value->type) {
	case PMIX_UINT16:
		*number = value->data.uint16;
		break;
	case PMIX_UINT32:
		*number = value->data.uint32;
		break;
	case PMIX_UINT64:
		*number = value->data.uint64;
		break;
	default:
		status = PMIX_ERR_NOT_FOUND;
	}
	free(value);
	return status == PMIX_SUCCESS ? 0 : -EPROTO;
}

/* Not all launchers tell. */
static void get_place_on_node(struct launcher_job *job)
{
	uint64_t rank, size;

	if (get_number(pmix.self.rank, PMIX_LOCAL_RANK, &rank) ||
	    get_number(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, &size))
		return;
	job->local_rank = (unsigned)rank;
	job->local_size = (unsigned)size;
}

/* Names of jobs are texts; all processes of one make the same number of it. */
static ptl_jid_t jid_of(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash == PTL_JID_ANY || hash == PTL_JID_NONE ? 1 : hash;
}

static int join(void)
{
	uint64_t size;
	int rc = load();

	if (rc)
		return rc;
	pmix_status_t status = pmix.init(&pmix.self, NULL, 0);
	if (status != PMIX_SUCCESS)
		return report_error(
			-ECONNREFUSED,
			"the launcher's PMIx server cannot be reached: %s; set PTL_LAUNCH=none to run alone",
			pmix.text(status));
	pmix.joined = true;
	if (get_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &size))
		return report_error(-EPROTO, "the launcher does not say how many processes job %s has",
				    pmix.self.nspace);
	pmix.job = (struct launcher_job){
		.rank = pmix.self.rank,
		.size = (unsigned)size,
		.jid = jid_of(pmix.self.nspace),
	};
	get_place_on_node(&pmix.job);
	return 0;
}

int launcher_join(struct launcher_job *job)
{
	const char *variable;

	if (pmix.forked || process_settings()->launch == LAUNCH_NONE)
		return 0;
	if (!getenv("PMIX_RANK") || !getenv("PMIX_NAMESPACE")) {
		if (one_of_several(&variable))
			return report_error(-ENOTCONN,
					    "%s says that this process is one of several, but its launcher offers no "
					    "PMIx (srun: --mpi=pmix); PTL_LAUNCH=none to run alone",
					    variable);
		return 0;
	}
	if (pmix.job.size == 0) {
		int rc = join();
		if (rc)
			return rc;
	}
	*job = pmix.job;
	return 1;
}

int launcher_publish(const char *key, const void *bytes, size_t length)
{
	/* PMIx copies what it is shown. */
	pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {.bytes = (char *)(uintptr_t)bytes, .size = length}};

	pmix_status_t status = pmix.put(PMIX_GLOBAL, key, &value);
	if (status == PMIX_SUCCESS)
		status = pmix.commit();
	return status == PMIX_SUCCESS
		       ? 0
		       : report_error(-EIO, "%s cannot be published to this process's job: %s", key, pmix.text(status));
}

static int get_bytes(unsigned rank, const char *key, unsigned timeout_s, void *bytes, size_t room)
{
	pmix_info_t wait = {.key = PMIX_TIMEOUT, .value = {.type = PMIX_INT, .data.integer = (int)timeout_s}};
	pmix_proc_t proc = process_of(rank);
	pmix_value_t *value = NULL;
	int length = -EPROTO;

	pmix_status_t status = pmix.get(&proc, key, &wait, 1, &value);
	if (status != PMIX_SUCCESS || !value)
		return status == PMIX_ERR_TIMEOUT ? -ETIMEDOUT : -ENODATA;
	if (value->type == PMIX_BYTE_OBJECT) {
		length = value->data.bo.size <= room ? (int)value->data.bo.size : -EMSGSIZE;
		if (length > 0)
			memcpy(bytes, value->data.bo.bytes, (size_t)length);
		free(value->data.bo.bytes);
	}
	free(value);
	return length;
}

int launcher_look_up(unsigned rank, const char *key, unsigned timeout_s, void *bytes, size_t room)
{
	/* Most servers wait for what is not there yet; some answer at once. */
	const uint64_t deadline = monotonic_ns() + timeout_s * UINT64_C(1000000000);
	int length = get_bytes(rank, key, timeout_s, bytes, room);

	while (length == -ENODATA && monotonic_ns() < deadline) {
		nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
		length = get_bytes(rank, key, timeout_s, bytes, room);
	}
	return length;
}

/* PMIx keeps pointers to process and key until it has answered. */
struct request {
	pmix_proc_t proc;
	char key[PMIX_MAX_KEYLEN + 1];
	launcher_answered *answered;
	void *context;
};

/* The value stays PMIx's. */
static void deliver(pmix_status_t status, pmix_value_t *value, void *context)
{
	struct request *request = context;
	bool bytes = status == PMIX_SUCCESS && value && value->type == PMIX_BYTE_OBJECT;

	request->answered(request->context, bytes ? value->data.bo.bytes : NULL, bytes ? value->data.bo.size : 0);
	free(request);
}

int launcher_ask(unsigned rank, const char *key, launcher_answered *answered, void *context)
{
	struct request *request = pmix.joined ? malloc(sizeof(*request)) : NULL;

	if (!request)
		return pmix.joined ? -ENOMEM : -ESHUTDOWN;
	*request = (struct request){.proc = process_of(rank), .answered = answered, .context = context};
	snprintf(request->key, sizeof(request->key), "%s", key);
	if (pmix.get_nb(&request->proc, request->key, NULL, 0, deliver, request) == PMIX_SUCCESS)
		return 0;
	free(request);
	return -EIO;
}

static launcher_fence_ended *fence_ended; /* of the one fence there may be */

static void end_fence(pmix_status_t status, void *unused)
{
	(void)unused;
	if (status != PMIX_SUCCESS)
		report(LOG_WARN, "the launcher's fence failed: %s", pmix.text(status));
	fence_ended(status == PMIX_SUCCESS ? 0 : -EIO);
}

int launcher_fence(launcher_fence_ended *ended)
{
	static pmix_proc_t all; /* PMIx may look at it until all have come */

	if (!pmix.joined)
		return -ESHUTDOWN;
	all = process_of(PMIX_RANK_WILDCARD);
	fence_ended = ended;
	pmix_status_t status = pmix.fence_nb(&all, 1, NULL, 0, end_fence, NULL);

	if (status == PMIX_OPERATION_SUCCEEDED)
		ended(0);
	else if (status != PMIX_SUCCESS)
		return report_error(-EIO, "the launcher's PMIx server takes no fence: %s", pmix.text(status));
	return 0;
}

void launcher_forked(bool in_use)
{
	pmix.forked = pmix.forked || pmix.joined || in_use;
}

void launcher_leave(void)
{
	bool leave = pmix.joined && !pmix.forked;

	pmix.joined = false; /* for threads that ask while the process ends */
	if (leave)
		pmix.finalize(NULL, 0);
}

#else /* built without PMIx */

int launcher_join(struct launcher_job *job)
{
	const char *variable;

	(void)job;
	if (process_settings()->launch == LAUNCH_NONE || !one_of_several(&variable))
		return 0;
	return report_error(-ENOTSUP,
			    "%s says that this process is one of several, but this library was built without PMIx; "
			    "PTL_LAUNCH=none to run alone",
			    variable);
}

int launcher_publish(const char *key, const void *bytes, size_t length)
{
	(void)key;
	(void)bytes;
	(void)length;
	return -ENOTSUP;
}

int launcher_look_up(unsigned rank, const char *key, unsigned timeout_s, void *bytes, size_t room)
{
	(void)rank;
	(void)key;
	(void)timeout_s;
	(void)bytes;
	(void)room;
	return -ENOTSUP;
}

int launcher_ask(unsigned rank, const char *key, launcher_answered *answered, void *context)
{
	(void)rank;
	(void)key;
	(void)answered;
	(void)context;
	return -ENOTSUP;
}

int launcher_fence(launcher_fence_ended *ended)
{
	(void)ended;
	return -ENOTSUP;
}

void launcher_forked(bool in_use)
{
	(void)in_use;
}

void launcher_leave(void)
{
}

#endif
