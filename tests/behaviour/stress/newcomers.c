/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server meets more processes than it could remember, and holds in the end what it held after the first thousand.
 *
 * usage: newcomers [--transport T] [--peers N] [--processes N] [--report N] [--ids N] [--busy N] [--stall MS]
 *
 * N peers in all put one acknowledged word to it and go: interfaces that a few processes open and close under ever new
 * ids (or under --ids of them in turn: then the same addresses are met again and again), and among them N processes that live for nothing else, half of which end without a word.  Every --report peers
 * a line says what the server holds and how long first contacts took, from PtlPut to its ACK.  Fails if the server has grown by
 * more than 1 MiB or a few descriptors since the first thousand, if one has failed, or if in the end first contact with
 * it takes much longer than with a server that has met no peer yet, in turns: whatever else the machine does hits both.
 *
 * --busy: beside N processes that compute, so that no thread runs when it would.  --stall: and one thread at a time, of the server or of
 * its peers, is the last to run for so long, which beside enough others is hardly at all; its owner's other threads go on.
 */
#include <dirent.h>
#include <errno.h>
#include <portals3.h>
#include <portals3_nic.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/census.h"
#include "tests/support/harness.h"

#define OPENERS  3
#define SAMPLES  4096 /* of the latest contacts, for their median */
#define WARM     1000 /* peers after which the server holds what it may hold */
#define MORE_KIB 1024
#define OFI_KIB  1024 /* of receive buffers that what newcomers say touches for the first time */
#define TCP_KIB                                                                                                        \
	17408 /* of one more chunk of rxm's receive buffers: it has enough for the most connections that ever were at once */
/* Of each connection that has come, which libfabric 1.17's net never frees, and passes with each that comes. */
#define NET_KIB      1
#define MORE_FDS     64   /* peers that have just gone */
#define SLOW_US      1000 /* a median above this, and above three times that of a fresh server, is too slow */
#define TURNS        100  /* to compare them */
#define SETTLE_NS    UINT64_C(10000000000)
#define SERVER_PID   77u
#define FIRST_PID    (1u << 24)
#define PIDS_OF_RUNS 0x7fu << 24

static struct options {
	const char *transport;
	long peers, processes, report;
	long ids; /* 0: as many as peers */
	long busy, stall;
} options = {.transport = "node", .peers = FEWER(20000), .processes = FEWER(200)};

static struct {
	_Atomic long openers, begun, met, failed;
	_Atomic uint32_t us[SAMPLES];
	_Atomic bool ready, load_over;
	ptl_process_id_t server, fresh_server;
	uint32_t turn_us[2][TURNS]; /* contacts with the one and the other */
	uint32_t pids;              /* of this run: bits above those of the peers */
} * shared;

struct holding {
	long kib, descriptors;
	uint32_t median_us;
};

static void take_options(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		long *number = strcmp(argv[i], "--peers") == 0       ? &options.peers
			       : strcmp(argv[i], "--processes") == 0 ? &options.processes
			       : strcmp(argv[i], "--report") == 0    ? &options.report
			       : strcmp(argv[i], "--ids") == 0       ? &options.ids
			       : strcmp(argv[i], "--busy") == 0      ? &options.busy
			       : strcmp(argv[i], "--stall") == 0     ? &options.stall
								     : NULL;

		if (number)
			*number = strtol(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--transport") == 0)
			options.transport = argv[i + 1];
		else
			die("newcomers: unknown option %s", argv[i]);
	}
}

/* --- the server --- */

static ptl_handle_ni_t open_ni(ptl_pid_t pid)
{
	ptl_handle_ni_t ni;

	if (PtlNIInit(PTL_IFACE_DEFAULT, pid, NULL, NULL, &ni) || PtlNicReady(ni))
		die("PtlNIInit(%u)", pid);
	return ni;
}

static _Noreturn void serve_as(ptl_pid_t pid, ptl_process_id_t *id)
{
	static char word[8];
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	const ptl_md_t md = {.start = word,
			     .length = sizeof(word),
			     .threshold = PTL_MD_THRESH_INF,
			     .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE,
			     .eq_handle = PTL_EQ_NONE};
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	int interfaces;

	if (PtlInit(&interfaces))
		die("PtlInit");
	ptl_handle_ni_t ni = open_ni(shared->pids | pid);

	if (PtlMEAttach(ni, 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me) ||
	    PtlMDAttach(me, md, PTL_RETAIN, &handle) || PtlGetId(ni, id))
		die("the server");
	atomic_store(&shared->ready, true);
	for (;;)
		pause();
}

static _Noreturn void serve(void)
{
	serve_as(SERVER_PID, &shared->server);
}

static _Noreturn void serve_afresh(void)
{
	serve_as(SERVER_PID + 1, &shared->fresh_server);
}

/* --- peers --- */

static void note(bool met, uint64_t ns)
{
	long at = atomic_fetch_add(&shared->met, 1);

	atomic_store(&shared->us[at % SAMPLES], (uint32_t)(ns / 1000));
	if (!met)
		atomic_fetch_add(&shared->failed, 1);
}

/* Everything between the first word and its ACK: so long it took; UINT64_MAX: it failed. */
static uint64_t meet(ptl_handle_ni_t ni, ptl_process_id_t server)
{
	static char word[8];
	ptl_md_t md = {.start = word, .length = sizeof(word), .threshold = 2, .options = PTL_MD_EVENT_START_DISABLE};
	ptl_handle_md_t handle;
	ptl_event_t event;
	uint64_t began = now_ns();

	if (PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &md.eq_handle) || PtlMDBind(ni, md, PTL_RETAIN, &handle) ||
	    PtlPut(handle, PTL_ACK_REQ, server, 0, 0, 0, 0, 0))
		die("a peer");
	do {
		if (PtlEQWait(md.eq_handle, &event) != PTL_OK)
			die("PtlEQWait");
	} while (event.ni_fail_type == PTL_NI_OK && event.type != PTL_EVENT_ACK);
	return event.ni_fail_type == PTL_NI_OK ? now_ns() - began : UINT64_MAX;
}

static void meet_server(ptl_handle_ni_t ni)
{
	uint64_t ns = meet(ni, shared->server);

	note(ns != UINT64_MAX, ns);
}

static long next_peer(void)
{
	return atomic_fetch_add(&shared->begun, 1);
}

/* Of an opener's ids no other has any. */
static ptl_pid_t id_of_peer(long peer, long opener, long turn)
{
	long share = options.ids / OPENERS;

	return shared->pids | (FIRST_PID - 1 - (uint32_t)(share > 0 ? opener * share + turn % share : peer));
}

static _Noreturn void open_again_and_again(void)
{
	long opener = atomic_fetch_add(&shared->openers, 1), turn = 0;
	int interfaces;

	if (PtlInit(&interfaces))
		die("PtlInit");
	for (long peer; (peer = next_peer()) < options.peers; turn++) {
		ptl_handle_ni_t ni = open_ni(id_of_peer(peer, opener, turn));

		meet_server(ni);
		PtlNIFini(ni);
	}
	PtlFini();
	_exit(0);
}

static _Noreturn void live_shortly(bool orderly)
{
	int interfaces;

	if (PtlInit(&interfaces))
		die("PtlInit");
	meet_server(open_ni(PTL_PID_ANY));
	if (orderly)
		PtlFini();
	_exit(0);
}

/* Evenly among the others. */
static _Noreturn void raise_processes(void)
{
	for (long i = 0; i < options.processes; i++) {
		while (atomic_load(&shared->begun) < i * (options.peers / options.processes))
			rest();
		if (next_peer() >= options.peers)
			break;
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (child == 0)
			live_shortly(i % 2);
		waitpid(child, NULL, 0);
	}
	_exit(0);
}

/* --- load --- */

static struct {
	pid_t loops[64], staller;
	pid_t stalled[OPENERS + 1]; /* whose threads are */
} load;

static _Noreturn void compute(void)
{
	for (volatile uint64_t i = 0;; i++)
		;
}

/* 0: the process has none any more. */
static pid_t any_thread(pid_t process)
{
	char path[64];
	unsigned count = 0;
	pid_t chosen = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	DIR *directory = opendir(path);

	for (struct dirent *entry; directory && (entry = readdir(directory));)
		if (entry->d_name[0] != '.' && rand() % ++count == 0)
			chosen = (pid_t)strtol(entry->d_name, NULL, 10);
	if (directory)
		closedir(directory);
	return chosen;
}

/* Threads that it makes are as others.  It may have ended.  (The C libraries' function is for whole processes only.) */
static void schedule(pid_t thread, int policy)
{
	if (syscall(SYS_sched_setscheduler, thread, policy | SCHED_RESET_ON_FORK, &(struct sched_param){0}) != 0 &&
	    errno != ESRCH)
		die("--stall wants to change priorities: root");
}

static _Noreturn void stall_threads(void)
{
	const struct timespec pause = {options.stall / 1000, options.stall % 1000 * 1000000};

	while (!atomic_load(&shared->load_over)) {
		pid_t thread = any_thread(load.stalled[rand() % (OPENERS + 1)]);

		if (thread)
			schedule(thread, SCHED_IDLE);
		nanosleep(&pause, NULL);
		if (thread)
			schedule(thread, SCHED_OTHER);
	}
	_exit(0);
}

static void begin_load(pid_t server, const pid_t *openers)
{
	if (options.busy > (long)(sizeof(load.loops) / sizeof(*load.loops)))
		die("newcomers: too many that compute");
	for (long i = 0; i < options.busy; i++)
		load.loops[i] = begin_process(compute);
	load.stalled[OPENERS] = server;
	memcpy(load.stalled, openers, OPENERS * sizeof(*openers));
	load.staller = options.stall > 0 ? begin_process(stall_threads) : 0;
}

static void end_load(void)
{
	for (long i = 0; i < options.busy; i++)
		kill(load.loops[i], SIGKILL);
	atomic_store(&shared->load_over, true); /* the last that it stalls goes on as the others do */
	if (load.staller)
		waitpid(load.staller, NULL, 0);
}

/* --- what the server holds --- */

static int by_size(const void *one, const void *other)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

	return (a > b) - (a < b);
}

static uint32_t median_of(uint32_t *us, long count)
{
	qsort(us, (size_t)count, sizeof(*us), by_size);
	return count ? us[count / 2] : 0;
}

static uint32_t median_us(void)
{
	static uint32_t latest[SAMPLES];
	long count = atomic_load(&shared->met);

	count = count < SAMPLES ? count : SAMPLES;
	for (long i = 0; i < count; i++)
		latest[i] = atomic_load(&shared->us[i]);
	return median_of(latest, count);
}

static struct holding look(pid_t server)
{
	return (struct holding){number_of(server, "status", "VmRSS"), descriptors_of(server), median_us()};
}

static void print(long met, struct holding holding)
{
	printf("%9ld peers: %7ld KiB, %4ld descriptors, first contact %u us (median), %ld failed\n", met, holding.kib,
	       holding.descriptors, holding.median_us, atomic_load(&shared->failed));
	fflush(stdout);
}

static long kib_allowed(void)
{
	return MORE_KIB + (strncmp(options.transport, "ofi", 3) == 0 ? OFI_KIB : 0) +
	       (strcmp(options.transport, "ofi:tcp") == 0 ? TCP_KIB : 0) +
	       (strcmp(options.transport, "ofi:net") == 0 ? NET_KIB * options.peers : 0);
}

static bool is_modest(struct holding now, struct holding then)
{
	long more = kib_allowed();

	/* A sanitizer keeps what is freed for a while. */
	return (UNDER_SANITIZER || now.kib <= then.kib + more) && now.descriptors <= then.descriptors + MORE_FDS;
}

/* Returns what the server held after the first WARM, as far as it is not over before. */
static struct holding watch(pid_t server)
{
	struct holding warm = {0};
	long next = WARM < options.peers ? WARM : options.peers, met;
	long step = options.report > 0 ? options.report : options.peers / 20 + 1;

	while ((met = atomic_load(&shared->met)) < options.peers) {
		if (kill(server, 0) || waitpid(server, NULL, WNOHANG) == server)
			die("the server has died");
		if (met >= next) {
			struct holding now = look(server);

			if (!warm.kib)
				warm = now;
			print(met, now);
			next = met - met % step + step;
		}
		rest();
	}
	if (!warm.kib)
		warm = look(server);
	return warm;
}

/* --- */

static _Noreturn void meet_both_in_turns(void)
{
	int interfaces;

	if (PtlInit(&interfaces))
		die("PtlInit");
	for (uint32_t i = 0; i < 2 * TURNS; i++) {
		ptl_handle_ni_t ni = open_ni(shared->pids | (SERVER_PID + 2 + i));
		uint64_t ns = meet(ni, i % 2 ? shared->fresh_server : shared->server);

		shared->turn_us[i % 2][i / 2] = ns == UINT64_MAX ? UINT32_MAX : (uint32_t)(ns / 1000);
		PtlNIFini(ni);
	}
	PtlFini();
	_exit(0);
}

static void await_server(pid_t server)
{
	while (!atomic_load(&shared->ready)) {
		if (waitpid(server, NULL, WNOHANG) == server)
			die("a server has ended");
		rest();
	}
}

static bool has_become_slow(void)
{
	atomic_store(&shared->ready, false);
	pid_t fresh = begin_process(serve_afresh);

	await_server(fresh);
	int status = -1;

	if (waitpid(begin_process(meet_both_in_turns), &status, 0) < 0 || status != 0)
		die("first contacts in turns were not made");
	kill(fresh, SIGKILL);
	uint32_t us = median_of(shared->turn_us[0], TURNS), fresh_us = median_of(shared->turn_us[1], TURNS);

	printf("first contact with it %u us, with a fresh server %u us (medians of %d)\n", us, fresh_us, TURNS);
	return us > SLOW_US && us / 3 > fresh_us;
}

static int judge(struct holding warm, struct holding end)
{
	bool slow = has_become_slow() && strcmp(options.transport, "ofi:net") != 0;
	bool passed = !slow && is_modest(end, warm) && atomic_load(&shared->failed) == 0;

	printf("%s a_server_holds_after_all_peers_what_it_held_after_the_first (%s)%s%s\n", passed ? "ok  " : "FAIL",
	       options.transport, is_modest(end, warm) ? "" : ": it has grown", slow ? ": first contact is slow" : "");
	printf("%d passed, %d failed, 0 skipped\n", passed, !passed);
	return !passed;
}

int main(int argc, char **argv)
{
	pid_t helpers[OPENERS + 1];

	take_options(argc, argv);
	setenv("PTL_TRANSPORT", options.transport, 1);
	setenv("PTL_IFACE", "lo", 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	shared->pids = (uint32_t)getpid() << 24 & PIDS_OF_RUNS;
	pid_t server = begin_process(serve);

	await_server(server);
	for (int i = 0; i < OPENERS; i++)
		helpers[i] = begin_process(open_again_and_again);
	helpers[OPENERS] = begin_process(raise_processes);
	begin_load(server, helpers);
	struct holding warm = watch(server);
	uint64_t deadline = now_ns() + SETTLE_NS;

	for (int i = 0; i <= OPENERS; i++)
		waitpid(helpers[i], NULL, 0);
	end_load();
	while (!is_modest(look(server), warm) && now_ns() < deadline)
		rest();
	struct holding end = look(server);

	print(atomic_load(&shared->met), end);
	int failed = judge(warm, end);

	kill(server, SIGKILL);
	return failed;
}
