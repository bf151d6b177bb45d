/* SPDX-License-Identifier: BSD-3-Clause */
#include "slaves.h"

#include <stdlib.h>

#include "base/arch.h"
#include "fail.h"
#include "histogram.h"
#include "stats.h"

#define BATCH 10

/*
 * What hdr_data of a put asks for: this, or 0 for nothing, or 1 more than the bytes of the answer; and the serial number of the
 * payload of both above that.  All puts from one descriptor are alike, so that none has to be looked at before the next one comes.
 */
#define SERIAL_SHIFT 32
static uint32_t serial_of_puts; /* the master's */
#define THE_END    UINT64_MAX
#define CLOCKS_ON  (UINT64_MAX - 1)
#define CLOCKS_OFF (UINT64_MAX - 2)

/* False: it was nothing about clocks.  The master waits, so that nothing else is under way. */
static bool obey_clocks(struct session *session, const struct peers *master, uint64_t wanted)
{
	static struct stage_times times;

	if (wanted == CLOCKS_ON) {
		PTL(PtlNicTimingSet(session->ni, 1));
		control_meet(master);
	} else if (wanted == CLOCKS_OFF) {
		stage_times_take(session->ni, &times);
		control_send(master, &times, sizeof(times));
	}
	return wanted == CLOCKS_ON || wanted == CLOCKS_OFF;
}

static void serve(struct session *session, const struct peers *master)
{
	ptl_handle_md_t md =
		session_bind(session, session_md(session, session->source, session->source_size, 0), PTL_RETAIN);

	for (uint64_t count = 1, serial = 0;; count++) {
		session_wait(session, PTL_EVENT_PUT_END, count);
		uint64_t wanted = session->event.hdr_data;
		if (wanted == THE_END)
			return;
		if (obey_clocks(session, master, wanted))
			continue;
		if (serial != wanted >> SERIAL_SHIFT) {
			serial = wanted >> SERIAL_SHIFT;
			payload_fill(session, session->source, session->load.size_max, serial);
		}
		payload_check(session, session->sink, session->event.mlength, serial);
		wanted &= (UINT64_C(1) << SERIAL_SHIFT) - 1;
		if (wanted)
			PTL(PtlPutRegion(md, 0, wanted - 1, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0,
					 BITS_DATA, 0, 0));
	}
}

static void be_slave(struct peers *master, const void *options)
{
	struct options own = *(const struct options *)options;
	struct session session;

	own.load.start_events = false;
	own.unpinned = true;
	control_meet(master);
	session_open_alone(&session, &own, PTL_PID_ANY);
	control_send(master, &session.self, sizeof(session.self));
	control_receive(master, &session.other, sizeof(session.other));
	session_attach_sink(&session, session.sink_size);
	control_meet(master);
	serve(&session, master);
	peers_part(master);
	PtlFini();
}

void slaves_fork(struct slaves *slaves, unsigned count, const struct options *options)
{
	*slaves = (struct slaves){.count = count,
				  .peers = calloc(count, sizeof(*slaves->peers)),
				  .ids = calloc(count, sizeof(*slaves->ids))};
	if (!slaves->peers || !slaves->ids)
		fail("no memory for %u processes", count);
	for (unsigned i = 0; i < count; i++)
		peers_start(&slaves->peers[i], be_slave, options);
}

static void attach_answers(struct session *master)
{
	ptl_md_t md = session_md(master, master->sink, master->sink_size, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	PTL(PtlMEAttach(master->ni, BENCH_PT_INDEX, (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY}, BITS_DATA, 0,
			PTL_RETAIN, PTL_INS_AFTER, &me));
	PTL(PtlMDAttach(me, md, PTL_RETAIN, &handle));
}

void slaves_meet(struct slaves *slaves, struct session *master)
{
	attach_answers(master);
	slaves->note = slaves_bind(master, 0);
	for (unsigned i = 0; i < slaves->count; i++) {
		control_meet(&slaves->peers[i]);
		control_receive(&slaves->peers[i], &slaves->ids[i], sizeof(slaves->ids[i]));
		control_send(&slaves->peers[i], &master->self, sizeof(master->self));
		control_meet(&slaves->peers[i]);
	}
}

ptl_handle_md_t slaves_bind(struct session *master, uint64_t size)
{
	if (size > 0)
		payload_fill(master, master->source, size, ++serial_of_puts);
	return session_bind_silent(master, master->source, size);
}

void slaves_put(const struct slaves *slaves, unsigned index, ptl_handle_md_t md, int64_t answer)
{
	PTL(PtlPut(md, PTL_NO_ACK_REQ, slaves->ids[index], BENCH_PT_INDEX, 0, BITS_DATA, 0,
		   (uint64_t)serial_of_puts << SERIAL_SHIFT | (uint64_t)(answer + 1)));
}

void slaves_check(const struct session *master, uint64_t size)
{
	payload_check(master, master->sink, size, serial_of_puts);
}

/* What a slave does that is no answer. */
static void slaves_order(const struct slaves *slaves, unsigned index, uint64_t what)
{
	PTL(PtlPut(slaves->note, PTL_NO_ACK_REQ, slaves->ids[index], BENCH_PT_INDEX, 0, BITS_DATA, 0, what));
}

/* One that need not answer in a round may be behind by so many, and no more than a queue has room for. */
static void catch_up(struct session *master, const struct slaves *slaves, unsigned active)
{
	session_forget(master);
	for (unsigned i = 0; i < active; i++)
		slaves_put(slaves, i, slaves->note, 0);
	session_wait(master, PTL_EVENT_PUT_END, active);
}

static double time_batch(struct session *master, const struct slaves *slaves, slaves_once *once, struct round round)
{
	catch_up(master, slaves, round.active);
	uint64_t start = monotonic_ns();

	for (int i = 0; i < BATCH; i++) {
		session_forget(master);
		once(master, slaves, round);
	}
	return (double)(monotonic_ns() - start) / BATCH;
}

static void take_turn(struct session *master, const struct slaves *slaves, slaves_once *once, struct round round,
		      uint64_t budget_ns, struct samples *samples)
{
	const uint64_t end = monotonic_ns() + budget_ns;

	time_batch(master, slaves, once, round);
	do
		samples_add(samples, time_batch(master, slaves, once, round));
	while (monotonic_ns() < end);
}

void slaves_time(struct session *master, const struct slaves *slaves, slaves_once *const once[2], struct round round,
		 double median_us[2])
{
	const struct workload *load = &master->load;
	const uint64_t row_ms = load->row_ms ? load->row_ms : load->quick ? 300 : 1100;
	const struct run run = {.size = round.size, .window = round.window, .depth = round.active};
	struct series series[2] = {{.run = run}, {.run = run}};

	for (uint32_t turn = 0; turn < load->repeat; turn++)
		for (int i = 0; i < 2; i++)
			take_turn(master, slaves, once[i], round, row_ms * 500000 / load->repeat, &series[i].samples);
	histogram_add(series, 2);
	for (int i = 0; i < 2; i++) {
		median_us[i] = samples_summary(&series[i].samples).median / 1e3;
		samples_free(&series[i].samples);
	}
}

static void time_stages(struct session *master, const struct slaves *slaves, slaves_once *once, struct round round,
			struct stage_times times[2])
{
	catch_up(master, slaves, round.active);
	slaves_order(slaves, 0, CLOCKS_ON);
	control_meet(&slaves->peers[0]);
	PTL(PtlNicTimingSet(master->ni, 1));
	time_batch(master, slaves, once, round);
	stage_times_take(master->ni, &times[INITIATOR]);
	slaves_order(slaves, 0, CLOCKS_OFF);
	control_receive(&slaves->peers[0], &times[TARGET], sizeof(times[TARGET]));
}

void slaves_row(struct session *master, const struct slaves *slaves, const union cell *cells, slaves_once *once,
		struct round round)
{
	const struct run run = {.size = round.size, .window = round.window, .batch = BATCH, .batches = 1};
	static struct stage_times times[2];

	if (master->load.nic_timing)
		time_stages(master, slaves, once, round, times);
	stage_row_with(master, cells, &run, times);
}

void slaves_end(struct slaves *slaves)
{
	for (unsigned i = 0; i < slaves->count; i++)
		slaves_order(slaves, i, THE_END);
	for (unsigned i = 0; i < slaves->count; i++)
		peers_part(&slaves->peers[i]);
	for (unsigned i = 0; i < slaves->count; i++)
		peers_finish(&slaves->peers[i]);
	free(slaves->peers);
	free(slaves->ids);
}
