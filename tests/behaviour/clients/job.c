/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime library as the glue of an MPI uses it: node ids by p3tcp_my_nid() before PtlInit, the job in the
 * environment, PtlSetRank(PTL_INVALID_HANDLE, -1, -1), PtlNIInit with PTL_PID_ANY.
 */
#include <p3nal_utcp.h>
#include <p3rt/p3rt.h>
#include <p3utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/behaviour/clients/clients.h"

#define EVERYBODY   ((unsigned)-1)
#define LONGEST_MAP 256

static void start(void)
{
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
}

static void open_any(void)
{
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
}

static void set_map(const char *variable, const uint32_t *numbers, const char *format)
{
	char text[LONGEST_MAP] = "";
	for (int i = 0; i < process_count; i++) {
		size_t used = strlen(text);
		if (i > 0)
			text[used++] = ':';
		/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the two callers' literals */
		snprintf(text + used, sizeof(text) - used, format, numbers[i]);
	}
	CHECK(setenv(variable, text, 1) == 0);
}

/* What the launcher's glue does: every rank's node and process id, before Portals has started. */
static void publish_job(void)
{
	unsigned nid = 0;
	CHECK_EQUAL(p3tcp_my_nid("lo", &nid), 0);
	const ptl_process_id_t mine = {nid, own_pid(7)};
	gather(&mine, sizeof(mine), id_of);
	uint32_t nids[MAX_PROCESSES] = {0}, pids[MAX_PROCESSES] = {0};
	char rank[16];
	for (int i = 0; i < process_count; i++) {
		nids[i] = id_of[i].nid;
		pids[i] = id_of[i].pid;
	}
	snprintf(rank, sizeof(rank), "%d", my_rank);
	CHECK(setenv("PTL_MY_RID", rank, 1) == 0);
	set_map("PTL_NIDMAP", nids, "0x%x");
	set_map("PTL_PIDMAP", pids, "%u");
	CHECK(setenv("PTL_IFACE", "lo", 1) == 0);
}

static ptl_process_id_t process_of(unsigned rank)
{
	ptl_process_id_t id;
	CHECK_OK(PtlGetRankId(ni, rank, &id));
	return id;
}

static void a_job_in_the_environment_names_its_processes(void)
{
	unsigned rank, size;
	ptl_process_id_t id;
	publish_job();
	start();
	CHECK_OK(PtlSetRank(PTL_INVALID_HANDLE, EVERYBODY, EVERYBODY));
	open_any();
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_ID(id, id_of[my_rank]);
	CHECK_OK(PtlGetRank(ni, &rank, &size));
	CHECK_EQUAL(rank, my_rank);
	CHECK_EQUAL(size, process_count);
	for (int i = 0; i < process_count; i++)
		CHECK_ID(process_of((unsigned)i), id_of[i]);
	drive_while_waiting();
	barrier();
	const unsigned next = (rank + 1) % size;
	/* No call waits until the token has left: it outlives this function. */
	static uint32_t token, received;
	token = 100 + rank;
	ptl_handle_eq_t eq = new_eq(8);
	open_window(BITS, md_over(&received, sizeof(received), PTL_MD_OP_PUT, eq));
	barrier();
	ptl_handle_md_t source = bind_md(md_over(&token, sizeof(token), 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, process_of(next), INDEX, 0, BITS, 0, 0));
	take(eq, PTL_EVENT_PUT_START);
	take(eq, PTL_EVENT_PUT_END);
	CHECK_EQUAL(received, 100 + (rank + size - 1) % size);
}

static void maps_are_copied_whole_or_not_at_all(void)
{
	ptl_nid_t nids[3];
	ptl_pid_t pids[3];
	publish_job();
	start();
	CHECK_OK(PtlSetRank(PTL_INVALID_HANDLE, EVERYBODY, EVERYBODY));
	CHECK_OK(PtlGetNIDMap(PTL_INVALID_HANDLE, nids, (unsigned)process_count));
	CHECK_OK(PtlGetPIDMap(PTL_INVALID_HANDLE, pids, (unsigned)process_count));
	for (int i = 0; i < process_count; i++) {
		CHECK_EQUAL(nids[i], id_of[i].nid);
		CHECK_EQUAL(pids[i], id_of[i].pid);
	}
	CHECK_RC(PtlGetNIDMap(PTL_INVALID_HANDLE, nids, (unsigned)process_count - 1), PTL_FAIL);
	CHECK_RC(PtlGetPIDMap(PTL_INVALID_HANDLE, NULL, (unsigned)process_count), PTL_SEGV);
}

static void forget_job(void)
{
	unsetenv("PTL_MY_RID");
	unsetenv("PTL_NIDMAP");
	unsetenv("PTL_PIDMAP");
}

static void set_job(const char *rank, const char *nids, const char *pids)
{
	CHECK(setenv("PTL_MY_RID", rank, 1) == 0);
	CHECK(setenv("PTL_NIDMAP", nids, 1) == 0);
	CHECK(setenv("PTL_PIDMAP", pids, 1) == 0);
}

static void a_job_that_makes_no_sense_is_refused(void)
{
	static const struct {
		const char *rank, *nids, *pids;
	} nonsense[] = {
		{"2", "1:2", "3:4"},          /* rank beyond the job */
		{"0", "1:2", "3"},            /* lists of different length */
		{"0", "1:zwei", "3:4"},       /* no number */
		{"0", "1:", "3:4"},           /* an empty entry */
		{"0", "1:4294967296", "3:4"}, /* more than 32 bits */
		{"-1", "1:2", "3:4"},
		{"first", "1:2", "3:4"},
		{"0", "1:2", "3:-4"},
		{"", "1:2", "3:4"},
		{"1:0", "1:2", "3:4"},
	};
	unsigned rank, size;
	start();
	forget_job();
	CHECK_RC(PtlSetRank(PTL_INVALID_HANDLE, EVERYBODY, EVERYBODY), PTL_NO_INIT);
	CHECK(strstr(PtlNicErrorText(), "PTL_MY_RID") != NULL);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		set_job(nonsense[i].rank, nonsense[i].nids, nonsense[i].pids);
		CHECK_RC(PtlSetRank(PTL_INVALID_HANDLE, EVERYBODY, EVERYBODY), PTL_FAIL);
		CHECK_RC(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_NO_INIT);
	}
	set_job("1", "0x7f000001:2130706433", "010:0x9");
	CHECK_OK(PtlSetRank(PTL_INVALID_HANDLE, EVERYBODY, EVERYBODY));
	ptl_process_id_t id;
	CHECK_OK(PtlGetRankId(PTL_INVALID_HANDLE, 0, &id));
	CHECK_ID(id, ((ptl_process_id_t){0x7f000001, 8}));
	CHECK_RC(PtlSetRank(PTL_INVALID_HANDLE, EVERYBODY, EVERYBODY), PTL_FAIL);
}

static void a_program_may_set_rank_and_maps_itself(void)
{
	unsigned rank, size;
	ptl_process_id_t id;
	ptl_nid_t nids[3] = {10, 11, 12}, short_nids[2] = {10, 11};
	ptl_pid_t pids[3] = {20, own_pid(3), 22};
	start();
	CHECK_RC(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_NO_INIT);
	CHECK_RC(PtlSetNIDMap(PTL_INVALID_HANDLE, nids, 3), PTL_NO_INIT);
	CHECK_RC(PtlSetRank(PTL_INVALID_HANDLE, 3, 3), PTL_FAIL);
	CHECK_OK(PtlSetRank(PTL_INVALID_HANDLE, 1, 3));
	CHECK_RC(PtlSetRank(PTL_INVALID_HANDLE, 1, 3), PTL_FAIL);
	CHECK_RC(PtlSetNIDMap(PTL_INVALID_HANDLE, short_nids, 2), PTL_FAIL);
	CHECK_RC(PtlSetPIDMap(PTL_INVALID_HANDLE, pids, 2), PTL_PID_INVALID);
	CHECK_RC(PtlGetRankId(PTL_INVALID_HANDLE, 0, &id), PTL_NO_INIT);
	CHECK_OK(PtlSetNIDMap(PTL_INVALID_HANDLE, nids, 3));
	CHECK_OK(PtlSetPIDMap(PTL_INVALID_HANDLE, pids, 3));
	CHECK_RC(PtlSetNIDMap(PTL_INVALID_HANDLE, nids, 3), PTL_FAIL);
	CHECK_RC(PtlSetPIDMap(PTL_INVALID_HANDLE, pids, 3), PTL_PID_INVALID);
	open_any();
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_EQUAL(id.pid, pids[1]);
	CHECK_RC(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_NO_INIT); /* the interface has taken it */
	CHECK_OK(PtlGetRankId(ni, 2, &id));
	CHECK_ID(id, ((ptl_process_id_t){12, 22}));
	CHECK_RC(PtlGetRankId(ni, 3, &id), PTL_FAIL);
	CHECK_RC(PtlGetRankId(ni, 0, NULL), PTL_SEGV);
	CHECK_RC(PtlGetRank(ni, &rank, NULL), PTL_SEGV);
	CHECK_RC(PtlGetRank(PTL_EQ_NONE, &rank, &size), PTL_NI_INVALID);
}

static void a_group_ends_with_its_interface(void)
{
	unsigned rank, size;
	start();
	open_any();
	CHECK_OK(PtlSetRank(ni, 0, 1));
	CHECK_OK(PtlGetRank(ni, &rank, &size));
	CHECK_OK(PtlNIFini(ni));
	CHECK_RC(PtlGetRank(ni, &rank, &size), PTL_NI_INVALID);
	open_any();
	CHECK_RC(PtlGetRank(ni, &rank, &size), PTL_NO_INIT);
	CHECK_OK(PtlSetRank(PTL_INVALID_HANDLE, 0, 1));
	PtlFini();
	CHECK_RC(PtlSetRank(PTL_INVALID_HANDLE, 0, 1), PTL_NO_INIT);
	start();
	CHECK_RC(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_NO_INIT);
}

static void a_program_may_name_its_job(void)
{
	ptl_jid_t jid;
	CHECK_RC(PtlSetJID(5), PTL_NO_INIT);
	start();
	CHECK_OK(PtlSetJID(77));
	open_any();
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK_EQUAL(jid, 77);
	CHECK_RC(PtlSetJID(78), PTL_FAIL);
}

/* As the rest of a job, its id may come into the environment after PtlInit. */
static void a_job_in_the_environment_has_an_id(void)
{
	ptl_jid_t jid;
	char pids[32];
	snprintf(pids, sizeof(pids), "%u:4", own_pid(1));
	start();
	set_job("0", "1:2", pids);
	CHECK(setenv("PTL_MY_JID", "4294967296", 1) == 0);
	CHECK_RC(PtlSetRank(PTL_INVALID_HANDLE, EVERYBODY, EVERYBODY), PTL_FAIL);
	CHECK(strstr(PtlNicErrorText(), "PTL_MY_JID") != NULL);
	CHECK(setenv("PTL_MY_JID", "0x4d", 1) == 0);
	CHECK_OK(PtlSetRank(PTL_INVALID_HANDLE, EVERYBODY, EVERYBODY));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, own_pid(1), NULL, NULL, &ni));
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK_EQUAL(jid, 77);
}

/* Others would send to a process that is not there. */
static void a_map_must_have_the_own_pid(void)
{
	const ptl_pid_t own = own_pid(1), other = own_pid(2);
	ptl_pid_t right[2] = {5, own}, wrong[2] = {5, other};
	char text[32];
	start();
	CHECK_OK(PtlSetRank(PTL_INVALID_HANDLE, 1, 2));
	CHECK_OK(PtlSetPIDMap(PTL_INVALID_HANDLE, wrong, 2));
	CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, own, NULL, NULL, &ni), PTL_PID_INVALID);
	CHECK(strstr(PtlNicErrorText(), "map") != NULL);
	PtlFini();
	start();
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, own, NULL, NULL, &ni));
	snprintf(text, sizeof(text), "5:%u", other);
	set_job("1", "1:2", text);
	CHECK_RC(PtlSetRank(ni, EVERYBODY, EVERYBODY), PTL_PID_INVALID);
	CHECK_OK(PtlSetRank(ni, 1, 2));
	CHECK_RC(PtlSetPIDMap(ni, wrong, 2), PTL_PID_INVALID);
	CHECK_RC(PtlGetPIDMap(ni, wrong, 2), PTL_NO_INIT);
	CHECK_OK(PtlSetPIDMap(ni, right, 2));
}

/* The operating system's pids, and the numbers at the ends. */
static void meet_as(ptl_pid_t pid)
{
	const ptl_process_id_t mine = {0x7f000001, pid};
	gather(&mine, sizeof(mine), id_of);
	open_interface(pid);
	open_door();
	drive_while_waiting();
	barrier();
	if (am_initiator())
		ping(target_id());
	barrier();
	if (am_target())
		ping(initiator_id());
	barrier();
	harness_while_waiting(NULL);
	PtlFini();
	barrier();
}

static void any_number_is_a_pid(void)
{
	const ptl_pid_t own = (ptl_pid_t)getpid();
	meet_as(own);
	meet_as(own << 9);
	meet_as(0x7fffffffu - own);
	meet_as(PTL_PID_ANY - own);
}

static void a_job_in_the_environment_needs_no_call(void)
{
	unsigned rank, size;
	ptl_process_id_t id;
	char text[4096];
	publish_job();
	start();
	open_any();
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_ID(id, id_of[my_rank]);
	CHECK_OK(PtlGetRank(ni, &rank, &size));
	CHECK_EQUAL(rank, my_rank);
	CHECK_EQUAL(size, process_count);
	CHECK_ID(process_of(0), id_of[0]);
	CHECK_OK(PtlNicInfo(ni, text, sizeof(text)));
	CHECK(strstr(text, "of 3, by PTL_MY_RID") != NULL);
	/* What the program says itself counts more, once. */
	CHECK_OK(PtlSetRank(ni, EVERYBODY, EVERYBODY));
	CHECK_RC(PtlSetRank(ni, EVERYBODY, EVERYBODY), PTL_FAIL);
	CHECK_ID(process_of(0), id_of[0]);
	/* It has one id for each process: another interface has nothing to do with it. */
	ptl_handle_ni_t other;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &other));
	CHECK_RC(PtlGetRank(other, &rank, &size), PTL_NO_INIT);
}

static void half_a_job_in_the_environment_is_an_error(void)
{
	char pids[32];
	snprintf(pids, sizeof(pids), "8:%u", own_pid(1));
	const struct {
		const char *rank, *nids, *pids, *said;
	} halves[] = {
		{"1", NULL, NULL, "PTL_NIDMAP"},
		{"1", "0x7f000001:0x7f000001", NULL, "PTL_PIDMAP"},
		{"2", "0x7f000001:0x7f000001", "8:9", "PTL_MY_RID"},
		{"1", "0x7f000001:0x7f000002", pids, "PTL_IFACE"}, /* our interface is 127.0.0.1 */
	};
	CHECK(setenv("PTL_IFACE", "lo", 1) == 0);
	for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
		forget_job();
		CHECK(setenv("PTL_MY_RID", halves[i].rank, 1) == 0);
		CHECK(!halves[i].nids || setenv("PTL_NIDMAP", halves[i].nids, 1) == 0);
		CHECK(!halves[i].pids || setenv("PTL_PIDMAP", halves[i].pids, 1) == 0);
		char *text = NULL;
		size_t size = 0;
		p3_out = open_memstream(&text, &size);
		start();
		CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_FAIL);
		CHECK(strstr(PtlNicErrorText(), halves[i].said) != NULL);
		CHECK(fclose(p3_out) == 0);
		p3_out = stderr;
		if (!strstr(text, halves[i].said)) /* old programs do not ask for the text */
			FAIL("'%s' is printed, '%s' is wanted", text, halves[i].said);
		free(text);
		CHECK_EQUAL(PtlNIInitialized(PTL_IFACE_DEFAULT), 0);
		PtlFini();
	}
	CHECK(setenv("PTL_LAUNCH", "none", 1) == 0);
	start();
	open_any();
	unsigned rank, size;
	CHECK_RC(PtlGetRank(ni, &rank, &size), PTL_NO_INIT);
}

#define BARE(test, count, trait)                                                                                       \
	{                                                                                                              \
		.name = #test, .run = test, .processes = count, .traits = TRAIT_BARE | (trait)                         \
	}

const struct test job_tests[] = {
	BARE(a_job_in_the_environment_names_its_processes, 3, TRAIT_SEVERAL),
	BARE(maps_are_copied_whole_or_not_at_all, 3, TRAIT_SEVERAL),
	BARE(a_job_that_makes_no_sense_is_refused, 1, 0),
	BARE(a_program_may_set_rank_and_maps_itself, 1, 0),
	BARE(a_group_ends_with_its_interface, 1, 0),
	BARE(a_program_may_name_its_job, 1, 0),
	BARE(a_job_in_the_environment_has_an_id, 1, 0),
	BARE(a_map_must_have_the_own_pid, 1, 0),
	BARE(any_number_is_a_pid, 2, TRAIT_SEVERAL),
	BARE(a_job_in_the_environment_needs_no_call, 3, TRAIT_SEVERAL),
	BARE(half_a_job_in_the_environment_is_an_error, 1, 0),
	{0},
};
