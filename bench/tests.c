/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests.h"

#include <string.h>

#include "base/nearest.h"
#include "fail.h"
#include "options.h"

#define B(name) OPTION_BIT(name)

/* Where and how an interface opens; what a measured row is; what goes on between two processes; all of a size table. */
#define PLACE   (OPTIONS_ALWAYS | B(TRANSPORT) | B(MODE) | B(IFACE))
#define ROW     (B(ITERATIONS) | B(ROW_TIME) | B(WARMUP) | B(REPEAT) | B(QUICK) | B(PLOT) | B(HIST))
#define EVENTS  (B(START_EVENTS) | B(WAIT) | B(CHECK))
#define BETWEEN (PLACE | EVENTS | B(UNPINNED) | B(CONNECT))
#define WINDOWS (B(WINDOW) | B(WINDOW_LIST))
#define SIZED   (BETWEEN | ROW | B(SIZES) | B(RAW) | B(RAW_SLEEPABLE) | B(NIC_TIMING))

/* clang-format off */
static const struct bench_test tests[] = {
	{"put-latency", put_latency, NULL, 0, SIZED | B(PERSISTENT), "half a round trip of a ping-pong of PtlPut"},
	{"get-latency", get_latency, NULL, 0, SIZED | B(PERSISTENT), "one PtlGet, from its call to REPLY_END"},
	{"put-bandwidth", put_bandwidth, NULL, 0, SIZED | WINDOWS,
	 "windows of PtlPut: no event at the sender, a PUT_END each at the target, one empty put back a window"},
	{"get-bandwidth", get_bandwidth, NULL, 0, SIZED | WINDOWS, "windows of PtlGet, a REPLY_END each"},
	{"message-rate", message_rate, NULL, 64, SIZED | WINDOWS,
	 "short puts a second, of windows of 1 to 64 messages (8 to 64 bytes); --raw: the transport's own rate beside it"},
	{"bidirectional-latency", bidirectional_latency, NULL, 0, BETWEEN | ROW | B(SIZES) | B(NIC_TIMING),
	 "both sides put at once and wait for the other's message"},
	{"bidirectional-bandwidth", bidirectional_bandwidth, NULL, 0, BETWEEN | ROW | B(SIZES) | B(WINDOW) | B(NIC_TIMING),
	 "windows of puts both ways at once"},
	{"initiator-timing", initiator_timing, NULL, 8,
	 BETWEEN | B(ITERATIONS) | B(REPEAT) | B(QUICK) | B(PLOT) | B(HIST) | B(SIZES) | B(RAW) | B(RAW_SLEEPABLE) | B(NIC_TIMING),
	 "what each call of a ping-pong takes at its initiator, and all of them"},
	{"nic-timing", nic_timing, NULL, 0, BETWEEN | B(ITERATIONS) | B(QUICK) | B(PLOT) | B(SIZES) | B(DEPTHS),
	 "the stages of a message at both ends, beside a tag matcher in plain C (QsNet, table 2; GRIM, tables 5.1-5.3)"},
	{"logp", logp, NULL, 4096, BETWEEN | ROW | B(SIZES) | B(WINDOW) | B(RAW) | B(RAW_SLEEPABLE) | B(NIC_TIMING),
	 "the LogP parameters of short puts: RTT/2 and beyond raw, L, o_s, o_r, g"},
	{"operations", operations, NULL, 65536, BETWEEN | B(ITERATIONS) | B(QUICK) | B(PLOT) | B(HIST) | B(RAW) | B(NIC_TIMING),
	 "what each call costs its host: bind, register, attach, put, get, poll, open, first contact"},
	{"host-overhead", host_overhead, NULL, 0, (BETWEEN & ~B(WAIT)) | ROW | B(SIZES) | B(NIC_TIMING),
	 "host time of a put and of taking its answer, without waiting"},
	{"availability", availability, NULL, 1 << 20, BETWEEN | ROW | B(SIZES) | B(WINDOW) | B(NIC_TIMING),
	 "bandwidth of both directions while the hosts compute for a share of the time"},
	{"completion", completion, NULL, 65536, (BETWEEN & ~B(WAIT)) | ROW | B(SIZES) | B(NIC_TIMING),
	 "how a message is noticed: PtlEQWait, PtlEQGet, the last byte, an ACK"},
	{"buffer-reuse", buffer_reuse, NULL, 65536, BETWEEN | ROW | B(SIZES) | B(WINDOW) | B(NIC_TIMING),
	 "latency and bandwidth against how many buffers are used, and how often one again"},
	{"segments", segments, NULL, 65536, BETWEEN | ROW | B(SIZES) | B(NIC_TIMING),
	 "put-latency with 1 to 64 segments gathered or scattered"},
	{"am", am, NULL, 65536, BETWEEN | ROW | B(SIZES) | B(WINDOW) | B(NIC_TIMING),
	 "active messages: LogP, what they add to a put, bandwidth; credits, three channels, no credits (VIA, tables 2 and 5, fig. 5)"},
	{"splitc", splitc, NULL, 65536, BETWEEN | ROW | B(SIZES) | B(WINDOW) | B(NIC_TIMING),
	 "Split-C's operations beside what Portals takes for the same (VIA, fig. 2 and 5)"},
	{"breakdown", breakdown, NULL, 4096, BETWEEN | (ROW & ~(B(HIST) | B(ITERATIONS))) | B(WINDOW) | B(NIC_TIMING),
	 "host time of active messages and Split-C, part by part (VIA, tables 3-5, fig. 3 and 4)"},
	{"grim", grim, NULL, 2 << 20, (BETWEEN & ~B(WAIT)) | ROW | B(SIZES) | B(NIC_TIMING),
	 "active messages and remote memory, virtual and physical, beside puts; fragments, injection (GRIM, tables 5.2-5.4, fig. 5.8-5.14)"},
	{"driver", driver, NULL, 1 << 20, (BETWEEN & ~B(WAIT)) | ROW | B(SIZES) | B(NIC_TIMING),
	 "send and receive, put, and a put copied or fetched by its target, beside puts of Portals (InfiniBand, tables 2-4, fig. 7)"},
	{"sequence", NULL, sequence, 0, PLACE | B(START_EVENTS) | B(WAIT) | B(UNPINNED) | B(QUICK) | B(PLOT),
	 "what each side does when in each protocol, drawn from a trace (QsNet, fig. 1-2; InfiniBand, fig. 2, 3, 6; GRIM, fig. 5.7, 5.9, 5.11)"},
	{"blocking", NULL, blocking, 65536, PLACE | (ROW & ~B(HIST)) | B(START_EVENTS) | B(CHECK) | B(SIZES) | B(NIC_TIMING),
	 "put-latency with waiters that poll and waiters that sleep"},
	{"crossover", NULL, crossover, 65536, PLACE | B(SAVE) | ROW | B(START_EVENTS) | B(CHECK) | B(WAIT) | B(UNPINNED) | B(SIZES) | B(NIC_TIMING),
	 "put-latency of short and of long messages of one size, and where they cross"},
	{"injection", NULL, injection, 65536, PLACE | ROW | B(WIRE) | B(CHECK) | B(START_EVENTS) | B(WAIT) | B(UNPINNED) | B(SIZES) | B(NIC_TIMING),
	 "put-latency of messages copied with their header, of exposed ones, and of what the library chooses"},
	{"hot-spot", NULL, hot_spot, 65536, PLACE | B(WAIT) | B(CHECK) | B(ROW_TIME) | B(REPEAT) | B(UNPINNED) | B(SIZES) | B(QUICK) | B(PLOT) | B(HIST) | B(NIC_TIMING),
	 "one process that puts to 2 to 8 others, and that they put to"},
	{"peers", NULL, contacted_peers, 65536, PLACE | B(WAIT) | B(CHECK) | B(ROW_TIME) | B(REPEAT) | B(UNPINNED) | B(SIZES) | B(WINDOW) | B(QUICK) | B(PLOT) | B(HIST) | B(NIC_TIMING),
	 "latency and bandwidth with one peer, of up to 256 that were contacted"},
	{"fragment", fragments, NULL, 1 << 20, BETWEEN | ROW | B(SIZES) | B(WINDOW) | B(NIC_TIMING),
	 "a message cut into fragments: one by one, pipelined, and what a pipeline should take"},
	{"match-depth", match_depth, NULL, 64, BETWEEN | ROW | B(DEPTHS) | B(PERSISTENT) | B(NIC_TIMING), "put-latency behind long match lists"},
	{"unexpected-depth", unexpected_depth, NULL, 64, BETWEEN | ROW | B(DEPTHS) | B(NIC_TIMING),
	 "put-latency to a target that has up to 10 000 messages which nothing was posted for"},
	{"attach", NULL, attach, 64, PLACE | B(DEPTHS) | B(QUICK) | B(PLOT),
	 "attaching and unlinking an entry at the head, in the middle and at the tail of long match lists"},
	{"bypass", bypass, NULL, 1 << 20, BETWEEN | B(SIZES) | B(ITERATIONS) | B(QUICK) | B(PLOT) | B(NIC_TIMING),
	 "puts and gets while the target computes and never calls Portals"},
	{"idle", idle, NULL, 64, PLACE | B(UNPINNED) | B(CONNECT) | B(QUICK) | B(PLOT),
	 "CPU time of processes that do nothing; status 1 if the goal is missed"},
	{"wake", wake, NULL, 64, PLACE | B(START_EVENTS) | B(CHECK) | B(WAIT) | B(UNPINNED) | B(ITERATIONS) | B(QUICK) | B(PLOT) | B(NIC_TIMING),
	 "first message after a second of silence"},
	{"pairs", NULL, pairs, 64, PLACE | EVENTS | B(REPEAT) | B(QUICK) | B(PLOT) | B(NIC_TIMING), "put-latency with more processes than cores, beside bare ways to wait and MPI"},
	{"self-latency", NULL, self_latency, 0, PLACE | EVENTS | ROW | B(UNPINNED) | B(SIZES) | B(NIC_TIMING),
	 "a put to oneself, until both its events are taken"},
	{"open", NULL, open_close, 64, PLACE | B(ITERATIONS) | B(QUICK) | B(PLOT), "PtlNIInit and PtlNIFini"},
	{"memory", NULL, memory, 64, PLACE | B(QUICK) | B(PLOT), "memory of an interface and of the peers it knows"},
	{"recovery", NULL, recovery, 0, PLACE | B(ITERATIONS) | B(QUICK) | B(PLOT) | B(NIC_TIMING),
	 "from a peer's death to the event that tells, and to a successor's first ACK"},
	{"limits", NULL, machine_limits, 0, OPTIONS_ALWAYS, "limits of this machine, without Portals"},
	{"info", NULL, info, 0, PLACE,
	 "versions, machine, limits, devices, settings, what an interface is made of, libfabric's providers"},
	{"compare", NULL, compare, 0, OPTIONS_ALWAYS | B(ROWS) | B(AGAINST) | B(REPEAT) | B(ROW_TIME) | B(QUICK),
	 "node and ofi beside MPI, UCX, raw libfabric and the bare limits, in turns; minutes, 10 s with --quick"},
	{"rival", NULL, candidate, 0, PLACE | B(RAW), "one candidate of compare, which starts it"},
	{"all", NULL, all, 0,
	 OPTIONS_ALWAYS | B(TRANSPORT) | B(TESTS) | B(OUT) | B(QUICK),
	 "every test where it makes sense, a file of results for each; ptlbench report makes a page of them; minutes"},
	{"goals", NULL, goals, 0, OPTIONS_ALWAYS | B(TRANSPORT) | B(AGAINST) | B(STRICT) | B(QUICK),
	 "the goals, measured by the commands shown, and how many of them are met; minutes, 80 s with --quick"},
};
/* clang-format on */

#define TESTS (sizeof(tests) / sizeof(tests[0]))

void tests_print(FILE *out)
{
	for (const struct bench_test *test = tests; test < tests + TESTS; test++)
		fprintf(out, "  %-20s %s\n", test->name, test->text);
}

static const struct bench_test *look_up(const char *name)
{
	if (!strcmp(name, "floor")) /* the old name, for one version */
		name = "limits";
	for (const struct bench_test *test = tests; test < tests + TESTS; test++)
		if (!strcmp(test->name, name))
			return test;
	return NULL;
}

const struct bench_test *tests_find(const char *name)
{
	const struct bench_test *test = look_up(name);

	if (test)
		return test;
	const char *meant = name_nearest(name, 0, &tests[0].name, TESTS, sizeof(tests[0]));
	if (meant)
		fail_usage("unknown test %s; did you mean %s? (ptlbench --help lists them)", name, meant);
	fail_usage("unknown test %s (ptlbench --help lists them)", name);
}

bool tests_take(const char *name, uint64_t option)
{
	return (look_up(name)->takes & option) != 0;
}
