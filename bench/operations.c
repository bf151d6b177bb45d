/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each operation costs the host that calls it (microbenchmarks for cluster interconnects, 2.1): memory descriptors and
 * match entries, posting, polling an event queue that is empty and one that is not, and interfaces and first contacts,
 * which stand for connections.  Memory is registered with a network when a long message first needs it, not by PtlMDBind;
 * what that costs is what the provider takes for it (--raw), and nothing within a node.
 */
#include "tests.h"

#include "fail.h"
#include "histogram.h"
#include "measure.h"
#include "output.h"
#include "pingpong.h"
#include "raw.h"
#include "stage_rows.h"

#define BATCH        16
#define MESSAGE_SIZE 8
#define REGION_SIZE  4096
#define REGION_KEY   16 /* and those after it: none that raw_open() takes */

/* Of every operation one sample a batch, ns for each. */
enum operation {
	BIND,
	UNLINK,
	ATTACH,
	DETACH,
	REGISTER,
	DEREGISTER,
	QUEUE_NEW,
	QUEUE_FREE,
	PUT,
	GET,
	POLL_EMPTY,
	POLL_FULL,
	NI_START,
	CONTACT,
	NI_STOP,
	OPERATIONS
};

static const char *const names[OPERATIONS] = {
	[BIND] = "PtlMDBind",
	[UNLINK] = "PtlMDUnlink",
	[ATTACH] = "PtlMEAttach, PtlMDAttach",
	[DETACH] = "PtlMEUnlink",
	[REGISTER] = "register 4 KiB, raw",
	[DEREGISTER] = "deregister 4 KiB, raw",
	[QUEUE_NEW] = "PtlEQAlloc",
	[QUEUE_FREE] = "PtlEQFree",
	[PUT] = "PtlPut",
	[GET] = "PtlGet",
	[POLL_EMPTY] = "PtlEQGet, empty",
	[POLL_FULL] = "PtlEQGet, an event",
	[NI_START] = "PtlNIInit",
	[CONTACT] = "first contact, to its ACK",
	[NI_STOP] = "PtlNIFini",
};

/* With --nic-timing: what moves a message has stages, of a run of messages of its kind. */
static const struct run moves[OPERATIONS] = {
	[PUT] = {.exchange = EXCHANGE_PUT, .size = MESSAGE_SIZE, .batch = 10, .batches = 100},
	[GET] = {.exchange = EXCHANGE_GET, .size = MESSAGE_SIZE, .batch = 10, .batches = 100},
};

static struct samples samples[OPERATIONS];
static ptl_handle_me_t sink_entry;

static void sample(enum operation operation, uint64_t start, unsigned calls)
{
	samples_add(&samples[operation], (double)(monotonic_ns() - start) / calls);
}

static void operations_prepare(struct session *session, const struct run *run)
{
	payload_fill(session, session->source, run->size, 0);
	payload_fill(session, session->sink, run->size, 1);
	if (session->peers.role == INITIATOR)
		return;
	ptl_md_t sink = session_md(session, session->sink, run->size, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
	sink.eq_handle = PTL_EQ_NONE;
	get_target_prepare(session, run);
	/* From any interface: the one that makes first contact is not the one that the session knows. */
	ptl_handle_md_t md;
	PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY}, BITS_PORT, 0,
			PTL_RETAIN, PTL_INS_AFTER, &sink_entry));
	PTL(PtlMDAttach(sink_entry, sink, PTL_RETAIN, &md));
}

static void time_descriptors(struct session *session)
{
	const ptl_md_t md = session_md(session, session->source, MESSAGE_SIZE, 0);
	ptl_handle_md_t handles[BATCH], attached;
	ptl_handle_me_t entries[BATCH];

	uint64_t start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		PTL(PtlMDBind(session->ni, md, PTL_RETAIN, &handles[i]));
	sample(BIND, start, BATCH);
	start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		PTL(PtlMDUnlink(handles[i]));
	sample(UNLINK, start, BATCH);
	start = monotonic_ns();
	for (int i = 0; i < BATCH; i++) {
		PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, session->other, BITS_DATA, 0, PTL_RETAIN, PTL_INS_AFTER,
				&entries[i]));
		PTL(PtlMDAttach(entries[i], md, PTL_RETAIN, &attached));
	}
	sample(ATTACH, start, BATCH);
	start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		PTL(PtlMEUnlink(entries[i]));
	sample(DETACH, start, BATCH);
}

/* Regions of one page each, one after the other; nothing where the provider wants no regions. */
static void time_registration(struct session *session)
{
	struct fid_mr *regions[BATCH];

	uint64_t start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		regions[i] = raw_register(session->raw, session->source + (size_t)i * REGION_SIZE, REGION_SIZE,
					  REGION_KEY + (uint64_t)i);
	if (!regions[0])
		return;
	sample(REGISTER, start, BATCH);
	start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		raw_check(fi_close(&regions[i]->fid), "fi_close");
	sample(DEREGISTER, start, BATCH);
}

static void time_queues(struct session *session)
{
	ptl_handle_eq_t queues[BATCH];

	uint64_t start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		PTL(PtlEQAlloc(session->ni, 64, PTL_EQ_HANDLER_NONE, &queues[i]));
	sample(QUEUE_NEW, start, BATCH);
	start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		PTL(PtlEQFree(queues[i]));
	sample(QUEUE_FREE, start, BATCH);
}

/* As many events as there are: those of a batch of puts that are all over. */
static void time_events(struct session *session)
{
	unsigned taken = 0;
	uint64_t start = monotonic_ns();

	while (PtlEQGet(session->eq, &session->event) == PTL_OK)
		taken++;
	if (taken)
		sample(POLL_FULL, start, taken + 1); /* the last call found nothing */
	start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		if (PtlEQGet(session->eq, &session->event) != PTL_EQ_EMPTY)
			return; /* a late one */
	sample(POLL_EMPTY, start, BATCH);
}

/* Until everything of it is over: nothing of one batch is in the clock of the next. */
static void time_posting(struct session *session)
{
	ptl_handle_md_t put = session_bind(session, session_md(session, session->source, MESSAGE_SIZE, 0), PTL_RETAIN);
	ptl_handle_md_t get = session_bind(session, session_md(session, session->sink, MESSAGE_SIZE, 0), PTL_RETAIN);

	uint64_t start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		PTL(PtlPut(put, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_PORT, 0, 0));
	sample(PUT, start, BATCH);
	uint64_t replies = session->seen[PTL_EVENT_REPLY_END];
	start = monotonic_ns();
	for (int i = 0; i < BATCH; i++)
		PTL(PtlGet(get, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0));
	sample(GET, start, BATCH);
	session_wait(session, PTL_EVENT_REPLY_END, replies + BATCH);
	payload_check(session, session->sink, MESSAGE_SIZE, 0);
	payload_fill(session, session->sink, MESSAGE_SIZE, 1);
	for (int i = 0; i < BATCH; i++)
		session_put(session, put, BITS_PORT);
	time_events(session);
	session_release(session, put);
	session_release(session, get);
}

/* Another interface of this process, which the other side has never met. */
static void time_interface(struct session *session)
{
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	ptl_event_t event;

	uint64_t start = monotonic_ns();
	PTL(PtlNIInit(1, PTL_PID_ANY, NULL, NULL, &ni));
	sample(NI_START, start, 1);
	PTL(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &eq));
	ptl_md_t source = session_md(session, session->source, MESSAGE_SIZE, 0);
	source.eq_handle = eq;
	PTL(PtlMDBind(ni, source, PTL_RETAIN, &md));
	start = monotonic_ns();
	PTL(PtlPut(md, PTL_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_PORT, 0, 0));
	do {
		PTL(PtlEQWait(eq, &event));
		if (event.ni_fail_type != PTL_NI_OK)
			fail("first contact of a second interface: %s", PtlNIFailStr(ni, event.ni_fail_type));
	} while (event.type != PTL_EVENT_ACK);
	sample(CONTACT, start, 1);
	start = monotonic_ns();
	PTL(PtlNIFini(ni));
	sample(NI_STOP, start, 1);
}

static void operations_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	time_descriptors(session);
	if (session->raw)
		time_registration(session);
	time_queues(session);
	time_posting(session);
	if (iteration % 32 == 0)
		time_interface(session);
	(void)run;
}

static void operations_finish(struct session *session, const struct run *run)
{
	if (session->peers.role == INITIATOR) {
		session_forget(session);
		get_say_done(session);
	} else {
		get_target_finish(session);
		session_detach(session, sink_entry);
		payload_check(session, session->sink, run->size, 0);
	}
}

const struct exchange operations_exchange = {operations_prepare, operations_initiate, get_target_serve,
					     operations_finish};

static const struct column columns[] = {
	{"Operation", "operation", -26},
	{"median (us)", "median_us", 3},
	{"p10", "p10", 3},
	{"p90", "p90", 3},
	{"p99", "p99", 3},
};

int operations(struct session *session)
{
	uint32_t trials = session->load.iterations ? session->load.iterations : session->load.quick ? 64 : 640;
	struct run run = {.exchange = EXCHANGE_OPERATIONS, .size = MESSAGE_SIZE, .batch = 1, .batches = trials};

	output_fact("Operation",
		    "the time of one call, of batches of %d; of an interface and a first contact each alone", BATCH);
	output_fact("register", "%s",
		    session->raw ? "fi_mr_reg and fi_close; the library does it for the first long message"
				 : "only with --raw: PtlMDBind registers nothing");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	measure_connect(session);
	measure_run(session, &run, NULL);
	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		if (!samples[operation].count)
			continue;
		struct summary summary = samples_summary(&samples[operation]);
		histogram_add_samples(&run, &samples[operation]);
		stage_row(session,
			  (union cell[]){{.text = names[operation]},
					 {summary.median / 1e3},
					 {summary.p10 / 1e3},
					 {summary.p90 / 1e3},
					 {summary.p99 / 1e3}},
			  moves[operation].batches ? &moves[operation] : NULL);
		samples_free(&samples[operation]);
	}
	stage_rows_close(session);
	return 0;
}
