/* SPDX-License-Identifier: BSD-3-Clause */
#include "slaves.h"

#include <stdlib.h>

#include "base/arch.h"
#include "fail.h"
#include "histogram.h"
#include "stats.h"

#define BATCH CHECKED_LEAST /* none is looked at later than that */

/*
 * What hdr_data of a put asks for: this, or 0 for nothing, or 1 more than the bytes of the answer; and the serial number of the
 * payload of both above that.
 *
 * With --check each message differs from all that it could be taken for, though one descriptor is the source of all: message number n
 * is that part of the payload which begins at byte n, modulo SHIFTS, and lands where no other is that may not have been looked at.
 * Both sides count, a slave what has come to each place and the master what it has sent; the payload of answers is that of their slave.
 */
#define SERIAL_SHIFT 32
#define SHIFTS       251        /* of as many, the first bytes differ */
static uint32_t serial_of_puts; /* the master's */
#define THE_END    UINT64_MAX
#define CLOCKS_ON  (UINT64_MAX - 1)
#define CLOCKS_OFF (UINT64_MAX - 2)

/* What the master knows of a slave: its address; puts with bytes since the payload was new, and answers with bytes that they asked for. */
struct slave {
	ptl_process_id_t id;
	uint64_t puts, answers;
};

/* The place of message `number` in its payload and at its target; both 0 without --check. */
struct place {
	uint64_t shift, offset;
};

/* The next message in a slot is another part of the payload. */
static struct place put_place(const struct workload *load, uint64_t number, uint64_t size)
{
	const uint64_t slots = session_checked_at_once(load, size);

	if (!load->check || size == 0)
		return (struct place){0, 0};
	return (struct place){(number / slots + number % slots) % SHIFTS, number % slots * size};
}

/* Each slave has one, whose answer is looked at before it is asked for the next. */
static struct place answer_place(const struct workload *load, unsigned index, uint64_t number, uint64_t size)
{
	if (!load->check || size == 0)
		return (struct place){0, 0};
	return (struct place){number % SHIFTS, index * size};
}

static uint64_t answer_serial(uint64_t serial, unsigned index)
{
	return serial + index + 1;
}

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

/* What a slave has seen since the payload was new.  Long messages may end in another order than that in which they came. */
struct seen {
	unsigned index; /* its own */
	uint64_t serial, puts, answers;
	uint64_t in_slot[WINDOW_LIMIT];
	uint64_t wanted, wanted_after; /* an answer, after so many puts; 0: none */
};

static void note_serial(const struct session *session, uint64_t serial, struct seen *seen)
{
	if (seen->serial == serial)
		return;
	*seen = (struct seen){.index = seen->index, .serial = serial};
	payload_fill(session, session->source, session->load.size_max + SHIFTS, answer_serial(serial, seen->index));
}

/* The number of the put that the last event is of, whose payload is that of this number. */
static uint64_t check_put(const struct session *session, struct seen *seen)
{
	const uint64_t size = session->event.mlength, slots = session_checked_at_once(&session->load, size),
		       slot = session->event.offset / size;

	if (slot >= slots)
		fail("a message is at byte %llu, in none of %llu places", (unsigned long long)session->event.offset,
		     (unsigned long long)slots);
	const uint64_t number = seen->in_slot[slot]++ * slots + slot;
	const struct place place = put_place(&session->load, number, size);

	payload_check_part(session, session->sink + place.offset, place.shift, size, seen->serial);
	return number;
}

/* Not before all puts up to the one that asks have been looked at: the next ones take their places. */
static void answer(const struct session *session, ptl_handle_md_t md, struct seen *seen)
{
	if (!seen->wanted || seen->puts < seen->wanted_after)
		return;
	const uint64_t size = seen->wanted - 1;
	const struct place place = answer_place(&session->load, seen->index, seen->answers, size);

	seen->wanted = 0;
	seen->answers += size > 0;
	PTL(PtlPutRegion(md, place.shift, size, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA,
			 place.offset, 0));
}

static void take_put(const struct session *session, ptl_handle_md_t md, struct seen *seen)
{
	const uint64_t wanted = session->event.hdr_data & ((UINT64_C(1) << SERIAL_SHIFT) - 1);
	uint64_t after = 0;

	note_serial(session, session->event.hdr_data >> SERIAL_SHIFT, seen);
	if (session->event.mlength && session->load.check) {
		after = check_put(session, seen) + 1;
		seen->puts++;
	}
	if (wanted) {
		seen->wanted = wanted;
		seen->wanted_after = after;
	}
	answer(session, md, seen);
}

static void serve(struct session *session, const struct peers *master, unsigned index)
{
	ptl_handle_md_t md =
		session_bind(session, session_md(session, session->source, session->source_size, 0), PTL_RETAIN);
	static struct seen seen;

	seen.index = index;
	for (uint64_t count = 1;; count++) {
		session_wait(session, PTL_EVENT_PUT_END, count);
		if (session->event.hdr_data == THE_END)
			return;
		if (!obey_clocks(session, master, session->event.hdr_data))
			take_put(session, md, &seen);
	}
}

struct birth {
	const struct options *options;
	unsigned index;
	bool pinned;
};

static void be_slave(struct peers *master, const void *argument)
{
	const struct birth *birth = argument;
	struct options own = *birth->options;
	struct session session;

	own.load.start_events = false;
	own.unpinned = true;
	control_meet(master);
	session_open_alone(&session, &own, PTL_PID_ANY);
	if (birth->pinned)
		peers_pin(master);
	control_send(master, &session.self, sizeof(session.self));
	control_receive(master, &session.other, sizeof(session.other));
	session_attach_sink(&session, session.sink_size);
	control_meet(master);
	serve(&session, master, birth->index);
	peers_part(master);
	PtlFini();
}

void slaves_fork(struct slaves *slaves, unsigned count, unsigned pinned, const struct options *options)
{
	*slaves = (struct slaves){.count = count,
				  .load = &options->load,
				  .peers = calloc(count, sizeof(*slaves->peers)),
				  .slave = calloc(count, sizeof(*slaves->slave))};
	if (!slaves->peers || !slaves->slave)
		fail("no memory for %u processes", count);
	for (unsigned i = 0; i < count; i++)
		peers_start(&slaves->peers[i], be_slave, &(struct birth){options, i, i < pinned && !options->unpinned});
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
	slaves->note = slaves_bind(slaves, master, 0);
	for (unsigned i = 0; i < slaves->count; i++) {
		control_meet(&slaves->peers[i]);
		control_receive(&slaves->peers[i], &slaves->slave[i].id, sizeof(slaves->slave[i].id));
		control_send(&slaves->peers[i], &master->self, sizeof(master->self));
		control_meet(&slaves->peers[i]);
	}
}

ptl_handle_md_t slaves_bind(struct slaves *slaves, struct session *master, uint64_t size)
{
	const uint64_t bound = size > 0 && master->load.check ? size + SHIFTS : size;

	if (size > 0) {
		payload_fill(master, master->source, bound, ++serial_of_puts);
		for (unsigned i = 0; i < slaves->count; i++)
			slaves->slave[i].puts = slaves->slave[i].answers = 0;
	}
	return session_bind_silent(master, master->source, bound);
}

void slaves_put(const struct slaves *slaves, unsigned index, ptl_handle_md_t md, uint64_t size, int64_t answer)
{
	struct slave *slave = &slaves->slave[index];
	const struct place place = put_place(slaves->load, slave->puts, size);

	slave->puts += size > 0;
	slave->answers += answer > 0;
	PTL(PtlPutRegion(md, place.shift, size, PTL_NO_ACK_REQ, slave->id, BENCH_PT_INDEX, 0, BITS_DATA, place.offset,
			 (uint64_t)serial_of_puts << SERIAL_SHIFT | (uint64_t)(answer + 1)));
}

void slaves_check(const struct session *master, const struct slaves *slaves, unsigned count, uint64_t size)
{
	for (unsigned i = 0; i < count && size > 0; i++) {
		const struct place place = answer_place(&master->load, i, slaves->slave[i].answers - 1, size);
		payload_check_part(master, master->sink + place.offset, place.shift, size,
				   answer_serial(serial_of_puts, i));
	}
}

/* What a slave does that is no answer. */
static void slaves_order(const struct slaves *slaves, unsigned index, uint64_t what)
{
	PTL(PtlPut(slaves->note, PTL_NO_ACK_REQ, slaves->slave[index].id, BENCH_PT_INDEX, 0, BITS_DATA, 0, what));
}

/* One that need not answer in a round may be behind by so many, and no more than a queue has room for. */
static void catch_up(struct session *master, const struct slaves *slaves, unsigned active)
{
	session_forget(master);
	for (unsigned i = 0; i < active; i++)
		slaves_put(slaves, i, slaves->note, 0, 0);
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
	free(slaves->slave);
}
