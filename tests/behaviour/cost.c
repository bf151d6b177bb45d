/* SPDX-License-Identifier: BSD-3-Clause */
/* What a message costs beyond time: memory, system calls; and whether the stage clocks tell the truth. */
#include "tests/behaviour/allocations.h"
#include "tests/behaviour/behaviour.h"
#include "tests/support/resources.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define WARM_UP  2000
#define MEASURED 2000

static struct traffic {
	ptl_handle_eq_t out, in;
	ptl_handle_md_t md;
} traffic;

static char near[64], far[64];

static void open_traffic(void)
{
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	/* Room for all: the NIC may acknowledge many before this process comes to read its events. */
	traffic.out = new_eq(2 * (WARM_UP + MEASURED));
	traffic.in = new_eq(2 * (WARM_UP + MEASURED));
	traffic.md = bind_md(md_over(near, sizeof(near), PTL_MD_EVENT_START_DISABLE, traffic.out));
	if (am_target())
		open_window(BITS, md_over(far, sizeof(far), options, traffic.in));
	barrier();
}

/* The next event, by polling alone; checks nothing that could cost something. */
static bool poll_event(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t event;
	int rc;
	while ((rc = PtlEQGet(eq, &event)) == PTL_EQ_EMPTY)
		;
	return rc == PTL_OK && event.type == kind && event.ni_fail_type == PTL_NI_OK;
}

/* Acknowledged short puts, both sides polling with PtlEQGet. */
static bool exchange(int count)
{
	for (int i = 0; i < count; i++) {
		if (am_initiator() && PtlPut(traffic.md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0) != PTL_OK)
			return false;
		if (am_target() && !poll_event(traffic.in, PTL_EVENT_PUT_END))
			return false;
		if (am_initiator() &&
		    !(poll_event(traffic.out, PTL_EVENT_SEND_END) && poll_event(traffic.out, PTL_EVENT_ACK)))
			return false;
	}
	return true;
}

static void short_messages_allocate_nothing(void)
{
	open_traffic();
	allocations_watch();
	ptl_handle_eq_t big = new_eq(1 << 18);
	CHECK_LESS(0, allocations_seen().ours); /* the counter sees the library */
	CHECK_OK(PtlEQFree(big));
	CHECK(exchange(WARM_UP));
	barrier();
	allocations_watch();
	bool good = exchange(MEASURED);
	struct allocations seen = allocations_seen();
	CHECK(good);
	CHECK_EQUAL(seen.ours, 0);
	/* libfabric's pools may still grow now and then; per message it must not be. */
	CHECK_LESS(seen.others, MEASURED / 20);
	barrier();
}

static void *call_again_and_again(void *seen)
{
	ptl_uid_t uid;
	ptl_handle_md_t md;
	/* A thread's first call may prepare the later ones. */
	CHECK_OK(PtlGetUid(ni, &uid));
	allocations_watch();
	for (int i = 0; i < MEASURED; i++) {
		CHECK_OK(PtlMDBind(ni, md_over(near, sizeof(near), 0, PTL_EQ_NONE), PTL_RETAIN, &md));
		CHECK_OK(PtlMDUnlink(md));
	}
	*(struct allocations *)seen = allocations_seen();
	return NULL;
}

/* A call that finds the engine owned hands itself over; in dedicated mode nearly all do. */
static void only_the_first_call_of_a_thread_allocates(void)
{
	struct allocations seen;
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, call_again_and_again, &seen) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK_EQUAL(seen.ours, 0);
}

/* ---- System calls ---- */

static volatile sig_atomic_t system_calls, last_system_call;

static void on_system_call(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	(void)number;
	system_calls++;
	last_system_call = info->si_syscall;
#if defined(__x86_64__)
	interrupted->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#elif defined(__aarch64__)
	interrupted->uc_mcontext.regs[0] = (unsigned long long)-ENOSYS;
#else
	(void)interrupted;
#endif
}

/* From here on every system call of this thread but the end of the process is refused and counted. */
static bool trap_system_calls(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(instructions) / sizeof(instructions[0]), instructions};
	struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO};
	return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/*
 * Over transport self in host mode every instruction between PtlPut and the last event is the library's and runs in
 * this thread, so a filter on this thread sees all there is, and what it sees is the library's.  (Over libfabric the
 * provider's own system calls would be in the count: there only allocations are counted.)  A filter cannot be taken
 * away again, hence the process ends inside the test.
 */
static void short_messages_make_no_system_call(void)
{
	open_traffic();
	CHECK(exchange(WARM_UP));
	if (!trap_system_calls())
		skip_test("the kernel refuses a seccomp filter");
	syscall(SYS_getppid);
	if (system_calls != 1)
		FAIL("the filter saw %d system calls, not the one made", (int)system_calls);
	system_calls = 0;
	bool good = exchange(MEASURED);
	if (system_calls != 0)
		FAIL("%d system calls in %d messages, the last one number %d", (int)system_calls, MEASURED,
		     (int)last_system_call);
	CHECK(good);
	_exit(0);
}

/* ---- Memory of event queues ---- */

#define EVENTS     (1u << 22) /* 512 MiB */
#define NEGLIGIBLE (6u << 20) /* bytes; a page may have 2 MiB */
#define FILL       (12u << 20)

/* Puts to ourselves, of which each leaves at least four events of 128 bytes. */
static void fill_queue(ptl_handle_eq_t eq)
{
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	struct window window = open_window(BITS, md_over(far, sizeof(far), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq));
	ptl_handle_md_t md = bind_md(md_over(near, sizeof(near), 0, eq));
	ptl_handle_eq_t none = new_eq(1);
	for (unsigned i = 0; i < FILL / (4 * 128); i++) {
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
		CHECK_EMPTY(none); /* drives: what waits for its turn has memory, too */
	}
	put_to_myself();
	CHECK_OK(PtlEQFree(none));
	CHECK_OK(PtlMDUnlink(md));
	close_window(window);
}

static ptl_handle_eq_t large_queue(ptl_size_t count)
{
	ptl_handle_eq_t eq = PTL_EQ_NONE;
	const int code = PtlEQAlloc(ni, count, PTL_EQ_HANDLER_NONE, &eq);
	if (code == PTL_NO_SPACE)
		skip_test("this system gives no address space that it may not have memory for");
	CHECK_OK(code);
	return eq;
}

static void a_freed_event_queue_gives_its_memory_back(void)
{
	CHECK_OK(PtlNicReady(ni));
	for (int i = 0; i < 3; i++) {
		const uint64_t before = resident_bytes();
		ptl_handle_eq_t eq = large_queue(EVENTS);
		CHECK_LESS(resident_bytes(), before + NEGLIGIBLE);
		fill_queue(eq);
		const uint64_t full = resident_bytes();
		CHECK_LESS(before + FILL - NEGLIGIBLE, full);
		CHECK_OK(PtlEQFree(eq));
		CHECK_LESS(resident_bytes(), full - FILL + NEGLIGIBLE);
	}
}

static void a_large_event_queue_costs_what_is_used_of_it(void)
{
	static const ptl_size_t counts[] = {EVENTS, 1u << 28};
	CHECK_OK(PtlNicReady(ni));
	const uint64_t before = resident_bytes(), faults = page_faults();
	for (int i = 0; i < 40; i++)
		CHECK_OK(PtlEQFree(large_queue(counts[i % 2])));
	CHECK_LESS(page_faults() - faults, 1000);
	CHECK_LESS(resident_bytes(), before + NEGLIGIBLE);
}

/* ---- Handles ---- */

/* One after the other, far more than once took to come back to the first; few of them ever have memory. */
static void a_dead_handle_stays_dead_while_others_come_and_go(void)
{
	ptl_md_t md = md_over(near, sizeof(near), 0, PTL_EQ_NONE);
	ptl_handle_md_t dead = bind_md(md);
	CHECK_OK(PtlMDUnlink(dead));
	const uint64_t before = resident_bytes();
	for (int i = 0; i < 550000; i++) {
		ptl_handle_md_t other;
		CHECK_OK(PtlMDBind(ni, md, PTL_RETAIN, &other));
		if (other == dead)
			FAIL("it names the descriptor bound %d others later", i);
		CHECK_OK(PtlMDUnlink(other));
	}
	CHECK_RC(PtlMDUnlink(dead), PTL_MD_INVALID);
	CHECK_LESS(resident_bytes(), before + NEGLIGIBLE);
}

/* ---- The instrument ---- */

static void check_stages(const ptl_nic_timing_t *timing)
{
	double stages = 0;
	for (int i = 0; i < PTL_STAGE_COUNT; i++) {
		const ptl_stage_times_t *stage = &timing->stage[i];
		CHECK(stage->name != NULL);
		if (stage->count == 0)
			continue;
		if (!timing->messages_in_batches || stage->group == PTL_STAGE_HOST) {
			CHECK(stage->min <= stage->mean && stage->mean <= stage->max);
			CHECK(stage->p50 <= stage->p99);
		}
		CHECK(fabs(stage->mean * (double)stage->count - stage->total) <= 0.001 * fabs(stage->total) + 1);
		if (stage->group == PTL_STAGE_NIC)
			stages += stage->total;
	}
	double total = timing->stage[PTL_STAGE_MESSAGE].total;
	if (fabs(stages - total) > 0.05 * total)
		FAIL("the stages add up to %.0f ns, the messages took %.0f ns", stages, total);
}

static void the_stages_of_a_message_add_up_to_its_total(void)
{
	ptl_nic_timing_t timing;
	open_traffic();
	CHECK_OK(PtlNicTimingSet(ni, 1));
	barrier();
	CHECK(exchange(FEWER(2000)));
	barrier();
	CHECK_OK(PtlNicTimingGet(ni, &timing));
	CHECK_OK(PtlNicTimingSet(ni, 0));
	CHECK_LESS(FEWER(2000) - 1, timing.messages);
	CHECK_EQUAL(timing.stage[PTL_STAGE_MESSAGE].count, timing.messages);
	CHECK_LESS(0, timing.stage[PTL_STAGE_INSPECT].count);
	CHECK(timing.clock != NULL && timing.clock_cost > 0);
	if (am_target()) {
		CHECK_LESS(FEWER(2000) - 1, timing.stage[PTL_STAGE_MATCH].count);
		CHECK_LESS(FEWER(2000) - 1, timing.entries_walked);
	}
	check_stages(&timing);
	barrier();
	/* Off: nothing is added any more. */
	CHECK_OK(PtlNicTimingGet(ni, &timing));
	CHECK(exchange(10));
	ptl_nic_timing_t later;
	CHECK_OK(PtlNicTimingGet(ni, &later));
	CHECK_EQUAL(later.messages, timing.messages);
	barrier();
}

static void stages_in_batches_add_up_to_the_total_of_their_messages(void)
{
	ptl_nic_timing_t timing;
	open_traffic();
	CHECK_OK(PtlNicTimingSet(ni, PTL_NIC_TIMING_BATCHES));
	barrier();
	CHECK(exchange(FEWER(2000)));
	barrier();
	CHECK_OK(PtlNicTimingGet(ni, &timing));
	CHECK_OK(PtlNicTimingSet(ni, PTL_NIC_TIMING_OFF));
	CHECK_LESS(0, timing.messages_in_batches);
	CHECK_LESS(timing.messages_in_batches, timing.messages + 1);
	CHECK_EQUAL(timing.stage[PTL_STAGE_MESSAGE].count, timing.messages_in_batches);
	check_stages(&timing);
	barrier();
}

/* What was asked for in vain before that began before there was a clock. */
static void no_wait_is_longer_than_timing_has_been_on(void)
{
	static char area[8];
	ptl_nic_timing_t timing;
	ptl_process_id_t self;
	ptl_event_t event;
	open_interface(PTL_PID_ANY);
	ptl_handle_eq_t eq = new_eq(8);
	CHECK_OK(PtlGetId(ni, &self));
	open_window(BITS, md_over(area, sizeof(area), PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq));
	CHECK_OK(PtlNicTimingSet(ni, 1));
	CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	CHECK_OK(PtlNicTimingSet(ni, 0));
	for (const uint64_t end = now_ns() + 50000000; now_ns() < end;)
		lend_time();
	const uint64_t begin = now_ns();
	CHECK_OK(PtlNicTimingSet(ni, 1));
	CHECK_OK(PtlPut(bind_md(md_over(area, sizeof(area), QUIET, PTL_EQ_NONE)), PTL_NO_ACK_REQ, self, INDEX, 0, BITS,
			0, 0));
	while (PtlEQGet(eq, &event) != PTL_OK)
		lend_time();
	CHECK_OK(PtlNicTimingGet(ni, &timing));
	CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
	CHECK_EQUAL(timing.stage[PTL_STAGE_WAIT_ARRIVAL].count, 1);
	CHECK(timing.stage[PTL_STAGE_WAIT_ARRIVAL].max <= 1.02 * (double)(now_ns() - begin) + 1000);
}

static void the_counters_say_who_drove(void)
{
	ptl_nic_counters_t before, after;
	open_traffic();
	CHECK_OK(PtlNicCounters(ni, &before));
	barrier(); /* no thread has begun */
	CHECK(exchange(FEWER(500)));
	barrier();
	CHECK_OK(PtlNicCounters(ni, &after));
	if (am_target())
		CHECK_LESS(FEWER(500) - 1, after.requests_received - before.requests_received);
	if (am_initiator()) {
		CHECK_LESS(FEWER(500) - 1, after.requests_sent - before.requests_sent);
		CHECK_LESS(FEWER(500) - 1, after.responses_received - before.responses_received);
	}
	CHECK_EQUAL(after.malformed, 0);
	CHECK_EQUAL(after.drops, drops());
	if (in_mode("host"))
		CHECK_EQUAL(after.driven_by_nic, 0);
	if (in_mode("dedicated"))
		CHECK_EQUAL(after.driven_by_host, 0);
	CHECK_LESS(0, after.driven_by_host + after.driven_by_nic);
}

static void an_idle_process_uses_no_cpu(void)
{
	struct timespec second = {1, 0};
	open_traffic();
	CHECK(exchange(100));
	barrier();
	harness_while_waiting(NULL);
	const uint64_t before = cpu_ns();
	nanosleep(&second, NULL);
	/* A spinning thread would use all of it; a virtual machine charges us with what its host takes away while we run. */
	if (cpu_ns() - before >= 50000000ull * SLOWNESS)
		lose_race("a second of idleness took more than 50 ms of the processor");
	barrier();
}

static void the_instrument_returns_the_right_code(void)
{
	ptl_nic_timing_t timing;
	ptl_nic_counters_t counters;
	char text[4096], small[8];
	CHECK_RC(PtlNicTimingSet(PTL_INVALID_HANDLE, 1), PTL_NI_INVALID);
	CHECK_RC(PtlNicTimingGet(PTL_INVALID_HANDLE, &timing), PTL_NI_INVALID);
	CHECK_RC(PtlNicTimingGet(ni, NULL), PTL_SEGV);
	CHECK_RC(PtlNicTimingPrint(ni, NULL), PTL_SEGV);
	CHECK_RC(PtlNicCounters(PTL_INVALID_HANDLE, &counters), PTL_NI_INVALID);
	CHECK_RC(PtlNicCounters(ni, NULL), PTL_SEGV);
	CHECK_RC(PtlNicInfo(PTL_INVALID_HANDLE, text, sizeof(text)), PTL_NI_INVALID);
	CHECK_RC(PtlNicInfo(ni, NULL, 100), PTL_SEGV);
	CHECK_RC(PtlNicInfo(ni, small, sizeof(small)), PTL_NO_SPACE);
	CHECK_EQUAL(strnlen(small, sizeof(small)), sizeof(small) - 1);
	CHECK_RC(PtlNicReady(PTL_INVALID_HANDLE), PTL_NI_INVALID);
	CHECK_OK(PtlNicReady(ni));
	CHECK_OK(PtlNicInfo(ni, text, sizeof(text)));
	const char *mode = getenv("PTL_NIC_MODE");
	CHECK(mode != NULL && strstr(text, mode) != NULL);
	CHECK(PtlNicErrorText() != NULL);
}

const struct test cost_tests[] = {
	{.name = "short_messages_allocate_nothing",
	 .run = short_messages_allocate_nothing,
	 .processes = 2,
	 .traits = TRAIT_PAIR | TRAIT_NO_SANITIZER},
	{.name = "only_the_first_call_of_a_thread_allocates",
	 .run = only_the_first_call_of_a_thread_allocates,
	 .processes = 1,
	 .traits = TRAIT_NO_SANITIZER},
	{.name = "short_messages_make_no_system_call",
	 .run = short_messages_make_no_system_call,
	 .processes = 1,
	 .traits = TRAIT_SELF | TRAIT_HOST_MODE | TRAIT_NO_SANITIZER},
	{.name = "a_freed_event_queue_gives_its_memory_back",
	 .run = a_freed_event_queue_gives_its_memory_back,
	 .processes = 1,
	 .traits = TRAIT_NO_SANITIZER},
	{.name = "a_large_event_queue_costs_what_is_used_of_it",
	 .run = a_large_event_queue_costs_what_is_used_of_it,
	 .processes = 1,
	 .traits = TRAIT_NO_SANITIZER},
	{.name = "a_dead_handle_stays_dead_while_others_come_and_go",
	 .run = a_dead_handle_stays_dead_while_others_come_and_go,
	 .processes = 1,
	 .traits = TRAIT_NO_SANITIZER},
	PAIR(the_stages_of_a_message_add_up_to_its_total),
	PAIR(stages_in_batches_add_up_to_the_total_of_their_messages),
	PAIR(the_counters_say_who_drove),
	{.name = "an_idle_process_uses_no_cpu",
	 .run = an_idle_process_uses_no_cpu,
	 .processes = 2,
	 .traits = TRAIT_PAIR | TRAIT_SLEEPS},
	ALONE(no_wait_is_longer_than_timing_has_been_on),
	ALONE(the_instrument_returns_the_right_code),
	{0},
};
