/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many processes of one machine, each of which puts to all: every put arrives once, in order and unspoilt; and what a
 * process holds follows those that it has contacted and that live, not those that are only there or were.
 *
 * usage: scale [--transport T] [--mode M] [--processes N] [--puts N]
 *
 * A waiter sleeps, so that only processes with something to do cost time.  In the end every other process goes,
 * half of them without a word.  Prints what time, memory (PSS: pages that several map are shared among them) and
 * descriptors each process has taken.
 */
#include <portals3.h>
#include <portals3_nic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/census.h"
#include "tests/support/harness.h"

#define MOST          1024 /* processes */
#define INDEX         4
#define SLACK_KIB     256 /* what a process that sleeps may touch for the first time: stacks, tables of the C library */
#define STRAY_FDS     8   /* of a process whose end is not known to all yet */
#define EVENTS_A_PUT  3   /* PUT_END at one end, SEND_END and ACK at the other */
#define BITS_OF_MIXER UINT64_C(0x9E3779B97F4A7C15)

/* What a process holds at one stage, and how long that took. */
struct holding {
	long pss_kib, own_kib, descriptors;
	double seconds, cpu_seconds;
};

enum stage { ALONE, AMONG_OTHERS, FIRST_ROUND, SECOND_ROUND, OTHERS_GONE, STAGES };

struct numbered {
	uint32_t from, to, serial, check;
};

static struct options {
	const char *transport, *mode;
	long processes, puts;
} options = {"node", "shared", 32, 4};

static struct {
	pthread_barrier_t all, rest;
	ptl_process_id_t ids[MOST];
	struct holding holdings[STAGES][MOST];
} * shared;

static uint32_t rank; /* of this process */
static ptl_handle_ni_t ni;
static ptl_handle_md_t source;
static ptl_handle_eq_t eq;
static struct numbered *outgoing, *received;

static bool knows_of_ends(void)
{
	return strcmp(options.transport, "node") == 0;
}

static bool leaves(uint32_t who)
{
	return who % 2;
}

static void meet(pthread_barrier_t *barrier)
{
	int rc = pthread_barrier_wait(barrier);

	if (rc && rc != PTHREAD_BARRIER_SERIAL_THREAD)
		die("pthread_barrier_wait: %s", strerror(rc));
}

static double cpu_seconds(void)
{
	return (double)cpu_ns() / 1e9;
}

static void note(enum stage stage, uint64_t began, double cpu_began)
{
	shared->holdings[stage][rank] = (struct holding){
		.pss_kib = number_of(getpid(), "smaps_rollup", "Pss"),
		.own_kib = number_of(getpid(), "status", "RssAnon") + number_of(getpid(), "status", "RssShmem"),
		.descriptors = descriptors_of(getpid()),
		.seconds = (double)(now_ns() - began) / 1e9,
		.cpu_seconds = cpu_seconds() - cpu_began,
	};
}

/* --- one of many --- */

static void open_window(void)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	const size_t bytes = (size_t)(options.processes * options.puts) * sizeof(struct numbered);
	ptl_md_t md = {.length = bytes,
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE};
	ptl_handle_me_t me;
	ptl_handle_md_t window;

	outgoing = calloc(1, bytes);
	received = calloc(1, bytes);
	if (!outgoing || !received)
		die("no memory for %zu bytes of messages", bytes);
	if (PtlEQAlloc(ni, (ptl_size_t)(EVENTS_A_PUT * options.processes * options.puts), PTL_EQ_HANDLER_NONE, &eq))
		die("PtlEQAlloc");
	md.eq_handle = eq;
	md.start = received;
	if (PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me) ||
	    PtlMDAttach(me, md, PTL_RETAIN, &window))
		die("a window");
	md.start = outgoing;
	md.options = PTL_MD_EVENT_START_DISABLE;
	if (PtlMDBind(ni, md, PTL_RETAIN, &source))
		die("PtlMDBind");
}

static uint32_t check_of(uint32_t from, uint32_t to, uint32_t serial)
{
	return (uint32_t)((((uint64_t)from << 32 | to << 12 | serial) * BITS_OF_MIXER) >> 32);
}

/* Its place in the sender's memory by receiver, and in the receiver's by sender. */
static size_t place_of(uint32_t other, uint32_t put)
{
	return (size_t)other * (size_t)options.puts + put;
}

/* Each begins with another one, so that none is the target of all at once. */
static void put_to_all(uint32_t round)
{
	for (uint32_t put = 0; put < options.puts; put++) {
		for (uint32_t i = 0; i < options.processes; i++) {
			uint32_t to = (rank + i) % (uint32_t)options.processes,
				 serial = round * (uint32_t)options.puts + put;
			size_t at = place_of(to, put);

			outgoing[at] = (struct numbered){rank, to, serial, check_of(rank, to, serial)};
			if (PtlPutRegion(source, at * sizeof(struct numbered), sizeof(struct numbered), PTL_ACK_REQ,
					 shared->ids[to], INDEX, 0, 0, place_of(rank, put) * sizeof(struct numbered),
					 serial))
				die("process %u: a put to process %u", rank, to);
		}
	}
}

/* The next of its sender, to its place, from the sender that it says. */
static void check_arrival(const ptl_event_t *event, uint32_t *next)
{
	size_t at = event->offset / sizeof(struct numbered);
	const struct numbered numbered = received[at];
	uint32_t from = (uint32_t)(at / (size_t)options.puts);

	if (event->mlength != sizeof(numbered) || numbered.from != from || numbered.to != rank ||
	    numbered.check != check_of(from, rank, numbered.serial) || event->hdr_data != numbered.serial ||
	    event->initiator.nid != shared->ids[from].nid || event->initiator.pid != shared->ids[from].pid)
		die("process %u: what came from process %u is not what it sent", rank, from);
	if (numbered.serial != next[from]++)
		die("process %u: message %u of process %u came out of order", rank, numbered.serial, from);
}

static void await_all(uint32_t *next)
{
	long each = options.processes * options.puts, arrived = 0, sent = 0, acknowledged = 0;

	while (arrived < each || sent < each || acknowledged < each) {
		ptl_event_t event;

		if (PtlEQWait(eq, &event) || event.ni_fail_type != PTL_NI_OK)
			die("process %u: %s, %s", rank, PtlEventKindStr(event.type),
			    PtlNIFailStr(ni, event.ni_fail_type));
		if (event.type == PTL_EVENT_PUT_END)
			check_arrival(&event, next);
		arrived += event.type == PTL_EVENT_PUT_END;
		sent += event.type == PTL_EVENT_SEND_END;
		acknowledged += event.type == PTL_EVENT_ACK;
	}
}

static void exchange(enum stage stage, uint32_t round, uint32_t *next)
{
	uint64_t began = now_ns();
	double cpu_began = cpu_seconds();
	ptl_event_t event;

	put_to_all(round);
	await_all(next);
	note(stage, began, cpu_began);
	meet(&shared->all);
	if (PtlEQGet(eq, &event) != PTL_EQ_EMPTY)
		die("process %u: something arrived twice", rank);
	meet(&shared->all); /* what the others send next is of another round */
}

/* Until it holds no more of the others than of those that stay, where their end is told.  However long that takes. */
static void await_ends(void)
{
	const struct holding *before = &shared->holdings[AMONG_OTHERS][rank],
			     *met = &shared->holdings[SECOND_ROUND][rank];
	long left = before->descriptors + (met->descriptors - before->descriptors) / 2 + STRAY_FDS;
	uint64_t began = now_ns();
	double cpu_began = cpu_seconds();

	while (knows_of_ends() && descriptors_of(getpid()) > left)
		rest();
	note(OTHERS_GONE, began, cpu_began);
}

static void open_interface(void)
{
	uint64_t began = now_ns();
	double cpu_began = cpu_seconds();
	int interfaces;

	if (PtlInit(&interfaces) || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) || PtlNicReady(ni) ||
	    PtlGetId(ni, &shared->ids[rank]))
		die("process %u: PtlNIInit", rank);
	open_window();
	note(ALONE, began, cpu_began);
}

static void live(void)
{
	static uint32_t next[MOST];

	if (rank > 0)
		meet(&shared->all); /* the first has none beside it yet */
	open_interface();
	if (rank == 0)
		meet(&shared->all);
	meet(&shared->all);
	note(AMONG_OTHERS, now_ns(), cpu_seconds());
	meet(&shared->all);
	exchange(FIRST_ROUND, 0, next);
	exchange(SECOND_ROUND, 1, next);
	if (leaves(rank) && rank % 4 == 1)
		_exit(0);
	if (!leaves(rank))
		await_ends();
	if (!leaves(rank))
		meet(&shared->rest); /* none ends while others count */
	PtlFini();
}

/* --- all of them --- */

static int by_size(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

static void print_range(const char *format, double *values, long count)
{
	qsort(values, (size_t)count, sizeof(*values), by_size);
	printf(format, values[0], values[count / 2], values[count - 1]);
}

static void print_stage(enum stage stage, const char *name)
{
	static double pss[MOST], descriptors[MOST], seconds[MOST];
	double cpu = 0;
	long count = 0;

	for (long who = 0; who < options.processes; who++) {
		const struct holding *holding = &shared->holdings[stage][who];

		if (stage == OTHERS_GONE && leaves((uint32_t)who))
			continue;
		pss[count] = (double)holding->pss_kib;
		descriptors[count] = (double)holding->descriptors;
		seconds[count++] = holding->seconds;
		cpu += holding->cpu_seconds;
	}
	printf("%-14s", name);
	print_range(" %8.0f%7.0f%7.0f", pss, count);
	print_range(" %8.0f%6.0f%6.0f", descriptors, count);
	print_range(" %9.3f%9.3f%9.3f", seconds, count);
	printf(" %9.4f\n", cpu / (double)count);
}

static void print_table(void)
{
	static const char *const names[STAGES] = {[ALONE] = "opened",
						  [AMONG_OTHERS] = "others there",
						  [FIRST_ROUND] = "first round",
						  [SECOND_ROUND] = "second round",
						  [OTHERS_GONE] = "half has gone"};

	printf("%ld processes over %s, mode %s, %ld puts from each to each in a round; least, median and most of a "
	       "process\n%-14s %22s %20s %27s %9s\n",
	       options.processes, options.transport, options.mode, options.puts, "", "PSS (KiB)", "descriptors",
	       "time (s)", "CPU (s)");
	for (enum stage stage = 0; stage < STAGES; stage++)
		print_stage(stage, names[stage]);
}

static bool say(bool passed, const char *what, const char *why)
{
	printf("%s %s (%s, %ld processes)%s%s\n", passed ? "ok  " : "FAIL", what, options.transport, options.processes,
	       passed ? "" : ": ", passed ? "" : why);
	return passed;
}

/* Of the first, which was there before the others and slept while they came. */
static bool ignores_those_never_contacted(void)
{
	const struct holding *alone = &shared->holdings[ALONE][0], *then = &shared->holdings[AMONG_OTHERS][0];

	return then->descriptors == alone->descriptors && then->own_kib <= alone->own_kib + SLACK_KIB;
}

static bool holds_no_more_than_before(void)
{
	for (long who = 0; who < options.processes; who++) {
		const struct holding *met = &shared->holdings[SECOND_ROUND][who],
				     *then = &shared->holdings[OTHERS_GONE][who];

		if (!leaves((uint32_t)who) && !UNDER_SANITIZER && then->own_kib > met->own_kib + SLACK_KIB)
			return false;
	}
	return true;
}

static int judge(bool lived)
{
	int failed = !say(lived, "every_put_of_all_to_all_arrives_once_and_in_order", "see above");

	if (lived) {
		print_table();
		failed += !say(ignores_those_never_contacted(), "nothing_grows_with_peers_never_contacted",
			       "the first process holds more");
		failed += !say(holds_no_more_than_before(), "what_peers_cost_comes_back_when_they_go",
			       "memory has grown when half of them had gone");
	}
	printf("%d passed, %d failed, 0 skipped\n", lived ? 3 - failed : 0, failed);
	return failed > 0;
}

static void take_options(int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--transport") == 0)
			options.transport = value;
		else if (strcmp(argv[i], "--mode") == 0)
			options.mode = value;
		else if (strcmp(argv[i], "--processes") == 0)
			options.processes = strtol(value, NULL, 10);
		else if (strcmp(argv[i], "--puts") == 0)
			options.puts = strtol(value, NULL, 10);
		else
			die("scale: unknown option %s", argv[i]);
	}
	if (options.processes < 4 || options.processes > MOST || options.puts < 1 || options.puts > 1000)
		die("scale: 4 to %d processes, 1 to 1000 puts", MOST);
}

static void prepare(void)
{
	pthread_barrierattr_t attributes;
	struct rlimit files;
	unsigned stay = 0;

	setenv("PTL_TRANSPORT", options.transport, 1);
	setenv("PTL_NIC_MODE", options.mode, 1);
	setenv("PTL_IFACE", "lo", 0);
	/* No process is to be given up that only waits for a core. */
	setenv("PTL_CONNECT_TIMEOUT", "3600s", 0);
	setenv("PTL_PEER_TIMEOUT", "0", 0);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	for (uint32_t who = 0; who < options.processes; who++)
		stay += !leaves(who);
	pthread_barrierattr_init(&attributes);
	pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->all, &attributes, (unsigned)options.processes);
	pthread_barrier_init(&shared->rest, &attributes, stay);
}

/* One that fails has said why; the others would wait for it for ever. */
static bool await_processes(pid_t *processes)
{
	for (long left = options.processes; left > 0; left--) {
		int status = 0;
		pid_t ended = waitpid(-1, &status, 0);

		for (long who = 0; who < options.processes; who++)
			if (processes[who] == ended)
				processes[who] = 0;
		if (status == 0)
			continue;
		for (long who = 0; who < options.processes; who++)
			if (processes[who] > 0)
				kill(processes[who], SIGKILL);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static pid_t processes[MOST];

	take_options(argc, argv);
	prepare();
	for (rank = 0; rank < options.processes; rank++)
		processes[rank] = begin_process(live);
	return judge(await_processes(processes));
}
