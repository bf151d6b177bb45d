/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes of a Portals test share; see peers.h. */
#include "tests/support/peers.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <getopt.h>
#include <ifaddrs.h>
#include <rdma/fabric.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/host.h"

#define DOOR     0xd00full
#define OWN_BITS 0x53e1full  /* of put_to_myself() */
#define LOOPBACK 0x7f000001u /* the node of every process, unless --iface says otherwise */

ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
ptl_process_id_t id_of[MAX_PROCESSES];
const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
const size_t short_and_long[2] = {64, LONG};

static const char *transport = "self";
static const char *mode = "shared";
static const char *iface = "lo";
static uint32_t home = LOOPBACK; /* nid of `iface` */
static bool nightly;
static bool chosen; /* by --only */
static int hosts;   /* over which the processes are spread; 0: they all are where the runner is */
static void (*enter_host)(int host);
static const struct test *const *core_tables;
static ptl_handle_eq_t idle_eq = PTL_INVALID_HANDLE;

bool am_initiator(void)
{
	return my_rank == 0;
}

bool am_target(void)
{
	return my_rank == process_count - 1;
}

ptl_process_id_t initiator_id(void)
{
	return id_of[0];
}

ptl_process_id_t target_id(void)
{
	return id_of[process_count - 1];
}

bool over_transport(const char *name)
{
	return strcmp(transport, name) == 0;
}

bool over_self(void)
{
	return over_transport("self");
}

bool in_mode(const char *name)
{
	return strcmp(mode, name) == 0;
}

bool at_night(void)
{
	return nightly;
}

/* ---- Interfaces ---- */

void open_interface(ptl_pid_t pid)
{
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, pid, NULL, NULL, &ni));
}

static ptl_nid_t nid_of(int rank)
{
	return hosts ? host_nid(rank % hosts) : home;
}

/* Process ids of the system are unique and below 2^22. */
ptl_pid_t own_pid(unsigned series)
{
	return 0x80000000u + (series << 22) + (ptl_pid_t)getpid();
}

ptl_process_id_t nobody(void)
{
	return (ptl_process_id_t){nid_of(my_rank + 1), own_pid(256)};
}

void announce_ids(unsigned series)
{
	const ptl_process_id_t mine = {nid_of(my_rank), own_pid(series)};
	gather(&mine, sizeof(mine), id_of);
}

void exchange_ids(void)
{
	ptl_process_id_t mine = {0, 0};
	if (ni != PTL_INVALID_HANDLE)
		CHECK_OK(PtlGetId(ni, &mine));
	gather(&mine, sizeof(mine), id_of);
}

/* PtlEQGet on an empty queue drives the engine one step. */
static void drive(void)
{
	ptl_event_t event;
	/* A call moves a few messages at the most, and this is called once a millisecond. */
	for (int i = 0; i < 64; i++)
		PtlEQGet(idle_eq, &event);
}

ptl_handle_eq_t idle_queue(void)
{
	return idle_eq;
}

ptl_ni_limits_t limits_in_force(void)
{
	ptl_ni_limits_t limits;
	ptl_handle_ni_t same;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &same));
	return limits;
}

void drive_while_waiting(void)
{
	if (!in_mode("host"))
		return;
	idle_eq = new_eq(2);
	harness_while_waiting(drive);
}

/* What a test allows for first contact, a number and its unit, is not meant for a slow machine. */
static void allow_for_slowness(void)
{
	const char *allowed = getenv("PTL_CONNECT_TIMEOUT");
	char text[32], *unit;

	if (!allowed || machine_slowness == 1)
		return;
	long number = strtol(allowed, &unit, 10);
	snprintf(text, sizeof(text), "%ld%s", number * machine_slowness, unit);
	setenv("PTL_CONNECT_TIMEOUT", text, 1);
}

void enter_other_host(void)
{
	if (hosts)
		enter_host((my_rank + 1) % hosts);
}

static void begin(const struct test *test)
{
	allow_for_slowness();
	if (hosts)
		enter_host(my_rank % hosts);
	if (test->traits & TRAIT_BARE)
		return;
	open_interface(PTL_PID_ANY);
	exchange_ids();
	drive_while_waiting();
}

/* No process leaves while others still talk to it. */
static void end(const struct test *test)
{
	(void)test;
	barrier();
	harness_while_waiting(NULL);
	PtlFini();
}

/* ---- Checks ---- */

void check_code_at(const char *file, int line, const char *text, int actual, int expected)
{
	if (actual != expected)
		fail_at(file, line, "%s returned %s, not %s (%s)", text, PtlErrorStr((unsigned)actual),
			PtlErrorStr((unsigned)expected), PtlNicErrorText());
}

void check_id_at(const char *file, int line, const char *text, ptl_process_id_t actual, ptl_process_id_t expected)
{
	harness_here(file, line);
	if (actual.nid != expected.nid || actual.pid != expected.pid)
		fail_at(file, line, "%s is %08x:%u, not %08x:%u", text, actual.nid, actual.pid, expected.nid,
			expected.pid);
}

static unsigned char pattern_byte(size_t i, unsigned seed)
{
	return (unsigned char)((i * 167 + (i >> 8) * 31 + (i >> 16) * 7 + seed * 101u + 13) & 0xff);
}

void fill_pattern(void *bytes, size_t length, unsigned seed)
{
	unsigned char *byte = bytes;
	for (size_t i = 0; i < length; i++)
		byte[i] = pattern_byte(i, seed);
}

void check_pattern_at(const char *file, int line, const void *bytes, size_t length, unsigned seed)
{
	const unsigned char *byte = bytes;
	harness_here(file, line);
	for (size_t i = 0; i < length; i++)
		if (byte[i] != pattern_byte(i, seed))
			fail_at(file, line, "byte %zu of %zu is 0x%02x, not 0x%02x (pattern %u)", i, length, byte[i],
				pattern_byte(i, seed), seed);
}

/* ---- Objects ---- */

/* Kept reachable so that a leak checker sees it is not lost. */
static struct allocation {
	struct allocation *next;
	_Alignas(64) char bytes[];
} * allocations;

void *memory(size_t length)
{
	size_t size = (sizeof(struct allocation) + length + 1 + 63) & ~(size_t)63;
	struct allocation *mine = aligned_alloc(64, size);
	CHECK(mine != NULL);
	memset(mine, 0, size);
	mine->next = allocations;
	allocations = mine;
	return mine->bytes;
}

ptl_md_t md_over(void *start, size_t length, unsigned options, ptl_handle_eq_t eq)
{
	return (ptl_md_t){
		.start = start, .length = length, .threshold = PTL_MD_THRESH_INF, .options = options, .eq_handle = eq};
}

ptl_md_t with_threshold(ptl_md_t md, int threshold)
{
	md.threshold = threshold;
	return md;
}

ptl_handle_eq_t new_eq_at(const char *file, int line, ptl_size_t count)
{
	ptl_handle_eq_t eq;
	harness_here(file, line);
	check_code_at(file, line, "PtlEQAlloc", PtlEQAlloc(ni, count, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	return eq;
}

ptl_handle_md_t bind_md_at(const char *file, int line, ptl_md_t md, ptl_unlink_t unlink)
{
	ptl_handle_md_t handle;
	harness_here(file, line);
	check_code_at(file, line, "PtlMDBind", PtlMDBind(ni, md, unlink, &handle), PTL_OK);
	return handle;
}

struct window open_window_at(const char *file, int line, ptl_pt_index_t index, ptl_match_bits_t bits, ptl_md_t md,
			     ptl_unlink_t unlink)
{
	struct window window;
	harness_here(file, line);
	int rc = PtlMEAttach(ni, index, anyone, bits, 0, unlink, PTL_INS_AFTER, &window.me);
	check_code_at(file, line, "PtlMEAttach", rc, PTL_OK);
	check_code_at(file, line, "PtlMDAttach", PtlMDAttach(window.me, md, unlink, &window.md), PTL_OK);
	return window;
}

void close_window_at(const char *file, int line, struct window window)
{
	harness_here(file, line);
	check_code_at(file, line, "PtlMEUnlink", PtlMEUnlink(window.me), PTL_OK);
}

ptl_md_t state_of(ptl_handle_md_t md)
{
	ptl_md_t state;
	CHECK_OK(PtlMDUpdate(md, &state, NULL, PTL_EQ_NONE));
	return state;
}

/* A library may keep freed places back until there are more: hence two rounds, and more than any library would keep. */
void take_freed_places(ptl_md_t md)
{
	enum { MANY = 1000 };
	ptl_handle_md_t handles[MANY];
	for (int i = 0; i < MANY; i++)
		handles[i] = bind_md(md);
	for (int i = 0; i < MANY; i++)
		CHECK_OK(PtlMDUnlink(handles[i]));
	for (int i = 0; i < MANY; i++)
		bind_md(md);
}

/* ---- Events ---- */

/*
 * An event found only because the time was up had been there before: a wake-up was lost, which a shorter message or a
 * luckier moment would have hidden.
 */
static ptl_event_t wait_for_event(const char *file, int line, ptl_handle_eq_t eq, const char *what)
{
	ptl_event_t event = {0};
	int which = -1;
	harness_here(file, line);
	uint64_t start = now_ns();
	int rc = PtlEQPoll(&eq, 1, PATIENCE, &event, &which);
	if (rc == PTL_EQ_EMPTY)
		fail_at(file, line, "no %s within %d ms", what, PATIENCE);
	check_code_at(file, line, "PtlEQPoll", rc, PTL_OK);
	check_equal_at(file, line, "which_eq == 0", which, 0);
	if (now_ns() - start >= (uint64_t)PATIENCE * 1000000)
		fail_at(file, line, "%s was taken only when the wait of %d ms was over", PtlEventKindStr(event.type),
			PATIENCE);
	return event;
}

ptl_event_t take_any_at(const char *file, int line, ptl_handle_eq_t eq)
{
	return wait_for_event(file, line, eq, "event");
}

ptl_event_t take_at(const char *file, int line, ptl_handle_eq_t eq, ptl_event_kind_t kind, bool failed)
{
	ptl_event_t event = wait_for_event(file, line, eq, PtlEventKindStr(kind));
	if (event.type != kind)
		fail_at(file, line, "%s (%s) came, not %s", PtlEventKindStr(event.type),
			PtlNIFailStr(ni, event.ni_fail_type), PtlEventKindStr(kind));
	if ((event.ni_fail_type != PTL_NI_OK) != failed)
		fail_at(file, line, "%s came with %s", PtlEventKindStr(kind), PtlNIFailStr(ni, event.ni_fail_type));
	return event;
}

void check_empty_at(const char *file, int line, ptl_handle_eq_t eq)
{
	ptl_event_t event;
	harness_here(file, line);
	int rc = PtlEQGet(eq, &event);
	if (rc == PTL_OK)
		fail_at(file, line, "an unexpected %s (%s) came, bits 0x%llx", PtlEventKindStr(event.type),
			PtlNIFailStr(ni, event.ni_fail_type), (unsigned long long)event.match_bits);
	check_code_at(file, line, "PtlEQGet", rc, PTL_EQ_EMPTY);
}

ptl_sr_value_t drops(void)
{
	ptl_sr_value_t count = -1;
	CHECK_OK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &count));
	return count;
}

void lend_time(void)
{
	static _Thread_local ptl_handle_eq_t empty_eq = PTL_INVALID_HANDLE;
	ptl_event_t event;
	int which;
	if (PtlEQPoll(&empty_eq, 1, 1, &event, &which) != PTL_EQ_EMPTY)
		empty_eq = new_eq(2); /* the first time, and when the interface is another one */
}

void unlink_soon_at(const char *file, int line, ptl_handle_md_t md)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	int rc;
	harness_here(file, line);
	while ((rc = PtlMDUnlink(md)) == PTL_MD_IN_USE && now_ns() < deadline)
		lend_time();
	check_code_at(file, line, "PtlMDUnlink", rc, PTL_OK);
}

void await_drops_at(const char *file, int line, long long count)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	while (drops() < count && now_ns() < deadline)
		lend_time();
	check_equal_at(file, line, "drops == expected", drops(), count);
}

void open_door(void)
{
	ptl_md_t md = md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE);
	open_window_on(INDEX_SIDE, DOOR, md);
}

void ping_at(const char *file, int line, ptl_process_id_t peer)
{
	ptl_handle_eq_t eq = new_eq_at(file, line, 8);
	unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	ptl_handle_md_t md = bind_md_at(file, line, md_over(NULL, 0, quiet, eq), PTL_RETAIN);
	check_code_at(file, line, "PtlPut", PtlPut(md, PTL_ACK_REQ, peer, INDEX_SIDE, 0, DOOR, 0, 0), PTL_OK);
	take_at(file, line, eq, PTL_EVENT_ACK, false);
	check_code_at(file, line, "PtlMDUnlink", PtlMDUnlink(md), PTL_OK);
	check_code_at(file, line, "PtlEQFree", PtlEQFree(eq), PTL_OK);
}

/* What answers late finds its descriptor: it is no drop. */
void ping_until_answered_at(const char *file, int line, ptl_process_id_t peer)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 2000000;
	ptl_handle_eq_t eq = new_eq_at(file, line, 64);
	ptl_handle_md_t md = bind_md_at(file, line, md_over(NULL, 0, QUIET, eq), PTL_RETAIN);
	bool heard = false;
	while (!heard && now_ns() < deadline) {
		ptl_event_t event;
		int which;
		check_code_at(file, line, "PtlPut", PtlPut(md, PTL_ACK_REQ, peer, INDEX_SIDE, 0, DOOR, 0, 0), PTL_OK);
		heard = PtlEQPoll(&eq, 1, 500, &event, &which) == PTL_OK && event.ni_fail_type == PTL_NI_OK;
	}
	if (!heard)
		fail_at(file, line, "%08x:%u was not reached", peer.nid, peer.pid);
}

void put_to_myself(void)
{
	static char source[8] = "myself", buffer[8];
	ptl_process_id_t self;
	ptl_handle_eq_t eq = new_eq(8);
	CHECK_OK(PtlGetId(ni, &self));
	memset(buffer, 0, sizeof(buffer));
	struct window window =
		open_window(OWN_BITS, md_over(buffer, 8, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq));
	ptl_handle_md_t md = bind_md(md_over(source, 8, QUIET, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, OWN_BITS, 0, 0));
	take(eq, PTL_EVENT_PUT_END);
	CHECK_STRING(buffer, "myself");
	close_window(window);
	CHECK_OK(PtlMDUnlink(md));
	CHECK_OK(PtlEQFree(eq));
}

/* ---- The program ---- */

const char *const transports[] = {"self", "node", "ofi:tcp", "ofi:net", NULL};
const char *const nic_modes[] = {"shared", "dedicated", "host", NULL};

const char *unfit_for(const struct test *test, const char *over, const char *in)
{
	const bool self = strcmp(over, "self") == 0, host = strcmp(in, "host") == 0;
	const struct {
		bool unfit;
		const char *reason;
	} rules[] = {
		{(test->traits & TRAIT_SEVERAL) && self, "needs several processes, transport self has one"},
		{(test->traits & TRAIT_NETWORK) && self, "transport self reaches nobody else"},
		{hosts && (self || strcmp(over, "node") == 0), "joins processes of one host only"},
		{(test->traits & TRAIT_SELF) && !self, "is about transport self"},
		{(test->traits & TRAIT_NIC_THREAD) && host, "needs a NIC thread, host mode has none"},
		{(test->traits & TRAIT_SLEEPS) && strcmp(in, "dedicated") == 0, "a dedicated NIC thread never sleeps"},
		{(test->traits & TRAIT_HOST_MODE) && !host, "is about host mode"},
		{(test->traits & TRAIT_NIGHTLY) && !nightly && (UNDER_SANITIZER || strcmp(in, "shared") != 0),
		 "takes long: every day in shared mode without sanitizers, elsewhere with --nightly"},
		{(test->traits & TRAIT_STANDING) && !nightly && !chosen, "only waits: runs with others that do"},
		{(test->traits & TRAIT_NO_TSAN) && UNDER_TSAN,
		 "starts threads after fork or awaits signals, as the sanitizer does not allow"},
		{(test->traits & TRAIT_NO_SANITIZER) && UNDER_SANITIZER, "is disturbed by the sanitizer"},
		{(test->traits & TRAIT_NODE) && strcmp(over, "node") != 0, "is about node"},
		{(test->traits & TRAIT_OFI) && strncmp(over, "ofi", 3) != 0, "is about ofi"},
		{(test->traits & TRAIT_HUGE) && strncmp(over, "ofi:verbs", 9) == 0,
		 "exposes more memory than can be pinned here"},
		{(test->traits & TRAIT_USERS) && (strcmp(over, "node") == 0 || strcmp(over, "ofi:shm") == 0),
		 "node and ofi:shm are for processes of one user"},
		{(test->traits & TRAIT_NUMA) && access("/sys/devices/system/node/node1/cpulist", R_OK) != 0,
		 "needs two NUMA nodes, this machine has one: systems/rxe/numa.sh"},
		{(test->traits & TRAIT_ROOT) && geteuid() != 0, "takes another user's id, which only root can"},
	};
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].unfit)
			return rules[i].reason;
	return NULL;
}

static enum test_outcome suits(const struct test *test, int *processes, const char **reason)
{
	const char *unfit = unfit_for(test, transport, mode);
	if (unfit) {
		*reason = unfit;
		return NOT_APPLICABLE;
	}
	if ((test->traits & TRAIT_PAIR) && over_self())
		*processes = 1;
	return PASSED;
}

/*
 * The first fi_getinfo() of a process takes 0.3 s of a CPU here, mostly for libfabric's search of /proc/kallsyms.  Done
 * once by the runner, its result is inherited by every process it forks; --cold leaves it out.  Constructors of what is
 * loaded replace signal handlers (libinfinipath does), which must not hide a crash: they are put back.
 */
void initialise_libfabric_once(void)
{
	struct sigaction saved[NSIG];
	struct fi_info *info = NULL;
	int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *, struct fi_info **);
	for (int number = 1; number < NSIG; number++)
		sigaction(number, NULL, &saved[number]);
	void *library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library) {
		*(void **)&getinfo = dlsym(library, "fi_getinfo");
		getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info); /* the list itself is not needed */
	}
	for (int number = 1; number < NSIG; number++)
		sigaction(number, &saved[number], NULL);
}

void peers_choose(const char *wanted_transport, const char *wanted_mode)
{
	transport = wanted_transport;
	mode = wanted_mode;
	setenv("PTL_IFACE", hosts ? HOST_DEVICE : iface, 1);
	setenv("PTL_TRANSPORT", transport, 1);
	setenv("PTL_NIC_MODE", mode, 1);
}

struct harness peers_harness(const struct test *const *tables)
{
	return (struct harness){.tables = tables, .suits = suits, .begin = begin, .end = end};
}

static int usage(const char *program)
{
	fprintf(stderr,
		"usage: %s [--transport self|node|ofi:tcp|ofi:net|ofi:PROVIDER] [--mode shared|dedicated|host]\n"
		"       [--iface DEVICE] [--only PART-OF-A-NAME]%s [--repeat TIMES] [--first-failure] [--nightly] "
		"[--cold]\n"
		"       [--part K/N] [--slowness FACTOR] [--list]\n"
		"       [--hosts]  spread the processes over two network namespaces (root)\n"
		"without --transport or --mode: over self, node, ofi:tcp and ofi:net, in all modes\n",
		program, core_tables ? " [--core]" : "");
	return 2;
}

/* Nothing named is everything. */
static bool is_one_of(const char *name, const char *const *names)
{
	const char *const *at = names;
	while (name && *at && strcmp(name, *at) != 0)
		at++;
	return *at != NULL;
}

/* What the command line asks for. */
struct request {
	const char *transport, *mode; /* NULL: all */
	bool list, cold, core, hosts;
};

/* A provider that not every machine has must be named, as must the choice by peer: they are not part of "all". */
static bool is_transport(const char *name)
{
	return is_one_of(name, transports) ||
	       (name && (strncmp(name, "ofi:", strlen("ofi:")) == 0 || strcmp(name, "auto") == 0));
}

static void perform_everywhere(const struct harness *harness, const struct request *request, struct tally *tally)
{
	const char *const named[] = {request->transport, NULL};

	for (const char *const *t = request->transport ? named : transports; *t; t++) {
		for (const char *const *m = nic_modes; *m; m++) {
			if (request->mode && strcmp(request->mode, *m) != 0)
				continue;
			peers_choose(*t, *m);
			printf("transport %s, mode %s\n", transport, mode);
			harness_perform(harness, tally);
		}
	}
}

/* The device's first IPv4 address is the nid that the library will take from it. */
static bool choose_iface(const char *device)
{
	struct ifaddrs *list = NULL;
	bool found = false;

	getifaddrs(&list);
	for (const struct ifaddrs *at = list; at && !found; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || strcmp(at->ifa_name, device) != 0)
			continue;
		home = ntohl(((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr.s_addr);
		iface = device;
		found = true;
	}
	freeifaddrs(list);
	return found;
}

/* False: misused. */
static bool parse(int argc, char **argv, struct harness *harness, struct request *request)
{
	static const struct option options[] = {
		{"transport", required_argument, NULL, 't'},
		{"iface", required_argument, NULL, 'i'},
		{"mode", required_argument, NULL, 'm'},
		{"only", required_argument, NULL, 'o'},
		{"repeat", required_argument, NULL, 'r'},
		{"part", required_argument, NULL, 'p'},
		{"slowness", required_argument, NULL, 's'},
		{"nightly", no_argument, NULL, 'n'},
		{"cold", no_argument, NULL, 'c'},
		{"core", no_argument, NULL, 'C'},
		{"hosts", no_argument, NULL, 'H'},
		{"first-failure", no_argument, NULL, 'f'},
		{"list", no_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (option) {
		case 't':
			request->transport = optarg;
			break;
		case 'i':
			if (!choose_iface(optarg))
				return false;
			break;
		case 'm':
			request->mode = optarg;
			break;
		case 'o':
			harness->only = optarg;
			chosen = true;
			break;
		case 'r':
			harness->repeat = atoi(optarg);
			break;
		case 'p':
			if (sscanf(optarg, "%d/%d", &harness->part, &harness->parts) != 2 || harness->part < 1 ||
			    harness->part > harness->parts)
				return false;
			break;
		case 's':
			machine_slowness = atoi(optarg) > 0 ? atoi(optarg) : 1;
			break;
		case 'f':
			harness->first_failure = true;
			break;
		case 'c':
			request->cold = true;
			break;
		case 'C':
			request->core = true;
			break;
		case 'H':
			request->hosts = true;
			break;
		case 'n':
			nightly = true;
			break;
		case 'l':
			request->list = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc && is_transport(request->transport) && is_one_of(request->mode, nic_modes) &&
	       (core_tables || !request->core);
}

int list_names(const struct test *const *tables)
{
	for (; *tables; tables++)
		for (const struct test *test = *tables; test->name; test++)
			printf("%s\n", test->name);
	return 0;
}

void peers_on_hosts(int count, void (*enter)(int host))
{
	hosts = count;
	enter_host = enter;
}

static void enter_one_of_pair(int host)
{
	CHECK_EQUAL(host_enter(host_of_pair(host)), 0);
}

int peers_skip(const char *name, const char *reason)
{
	printf("skip %s: %s\n0 passed, 0 failed, 1 skipped\n", name, reason);
	return 0;
}

void peers_core(const struct test *const *tables)
{
	core_tables = tables;
}

int peers_main(int argc, char **argv, const struct test *const *tables, int (*list)(const struct test *const *))
{
	const char *nightly_wanted = getenv("PORTALS_TEST_NIGHTLY");
	struct harness harness = peers_harness(tables);
	struct request request = {0};
	struct tally tally = {0};
	nightly = nightly_wanted && strcmp(nightly_wanted, "yes") == 0;
	if (!parse(argc, argv, &harness, &request))
		return usage(argv[0]);
	if (request.list)
		return list(tables);
	if (request.hosts) {
		const char *unable = hosts_make_pair();
		if (unable)
			return peers_skip("hosts", unable);
		peers_on_hosts(HOSTS_IN_PAIR, enter_one_of_pair);
	}
	if (request.core)
		harness.tables = core_tables;
	if (!(request.transport && strcmp(request.transport, "self") == 0) && !request.cold)
		initialise_libfabric_once();
	perform_everywhere(&harness, &request, &tally);
	return harness_conclude(&harness, &tally);
}
