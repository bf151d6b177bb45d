/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a program learns that a message has come (microbenchmarks for cluster interconnects, 2.2.5): from the PUT_END event
 * in PtlEQWait, from the same in a loop of PtlEQGet, from the last byte of its buffer, without an event queue; and its
 * initiator from the ACK.  A program that looks at its memory alone never drives: its NIC thread does all.
 */
#include "tests.h"

#include <math.h>
#include <string.h>

#include "base/arch.h"
#include "measure.h"
#include "output.h"
#include "sizes.h"
#include "stage_rows.h"

/* run.variant; logp.c knows that the first two are PtlEQWait and PtlEQGet */
enum notice { NOTICE_WAIT, NOTICE_GET, NOTICE_ACK = COMPLETION_BY_ACK, NOTICE_BYTE, NOTICE_COUNT };

static ptl_handle_md_t source_md;
static ptl_handle_me_t entry;
static uint32_t wait_before; /* what --wait asks for */

static void completion_prepare(struct session *session, const struct run *run)
{
	ptl_md_t source = session_md(session, session->source, run->size, 0);
	ptl_md_t sink = session_md(session, session->sink, run->size, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);

	if (run->variant != NOTICE_ACK)
		source.eq_handle = PTL_EQ_NONE;
	if (run->variant == NOTICE_BYTE)
		sink.eq_handle = PTL_EQ_NONE;
	wait_before = session->load.wait;
	session->load.wait = run->variant == NOTICE_GET ? WAIT_EQGET : WAIT_EQWAIT;
	session->sink[run->size - 1] = 0;
	source_md = session_bind(session, source, PTL_RETAIN);
	entry = session_attach(session, BITS_DATA, sink, PTL_RETAIN);
}

/* The buffer is free again: the other side has answered our last message. */
static void send_numbered(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size - 1, iteration);
	session->source[run->size - 1] = (char)(iteration + 1);
	session_put(session, source_md, BITS_DATA);
}

/*
 * --check.  The last byte says nothing of those before it, which another thread may write in any order.  Nor is a message here to be
 * looked at that the next one follows at once, as behind an ACK; but the last of them is.
 */
static void check_numbered(const struct session *session, const struct run *run, uint32_t iteration)
{
	const bool stays = run->variant != NOTICE_ACK || iteration + 1 == run_iterations(run);

	if (run->variant != NOTICE_BYTE && stays)
		payload_check(session, session->sink, run->size - 1, iteration);
}

static void await_numbered(struct session *session, const struct run *run, uint32_t iteration)
{
	const volatile char *last = session->sink + run->size - 1;

	if (run->variant != NOTICE_BYTE)
		session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	else
		while (*last != (char)(iteration + 1))
			cpu_pause();
	check_numbered(session, run, iteration);
}

static void completion_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	if (run->variant == NOTICE_ACK) {
		payload_fill(session, session->source, run->size - 1, iteration);
		PTL(PtlPut(source_md, PTL_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0, 0));
		session_wait(session, PTL_EVENT_ACK, iteration + 1);
	} else {
		send_numbered(session, run, iteration);
		await_numbered(session, run, iteration);
	}
}

static void completion_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	await_numbered(session, run, iteration);
	if (run->variant != NOTICE_ACK)
		send_numbered(session, run, iteration);
}

static void completion_finish(struct session *session, const struct run *run)
{
	if (run->variant == NOTICE_ACK && session->peers.role == INITIATOR)
		session_wait(session, PTL_EVENT_SEND_END, run_iterations(run));
	session_detach(session, entry);
	session_release(session, source_md);
	session->load.wait = wait_before;
}

const struct exchange completion_exchange = {completion_prepare, completion_initiate, completion_serve,
					     completion_finish};

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"PtlEQWait (us)", "eqwait_us", 3},
	{"PtlEQGet (us)", "eqget_us", 3},
	{"last byte (us)", "last_byte_us", 3},
	{"ACK (us)", "ack_us", 3},
};

/* Without a NIC thread no thread drives for a program that looks at its memory alone. */
static uint32_t notices(const struct session *session)
{
	char mode[32] = "";

	info_line(session->info, "mode", mode, sizeof(mode));
	return strncmp(mode, "host", 4) ? NOTICE_COUNT : NOTICE_BYTE;
}

static void measure_notices(struct session *session, uint64_t size)
{
	const uint32_t count = notices(session);
	struct series all_series[NOTICE_COUNT] = {0};
	double us[NOTICE_COUNT] = {[NOTICE_BYTE] = NAN};

	for (uint32_t notice = 0; notice < count; notice++)
		all_series[notice].run = (struct run){.exchange = EXCHANGE_COMPLETION, .size = size, .variant = notice};
	measure_row(session, all_series, count);
	for (uint32_t notice = 0; notice < count; notice++) {
		us[notice] = samples_summary(&all_series[notice].samples).median / 1000;
		samples_free(&all_series[notice].samples);
	}
	stage_row(session,
		  (union cell[]){{(double)size},
				 {us[NOTICE_WAIT] / 2},
				 {us[NOTICE_GET] / 2},
				 {us[NOTICE_BYTE] / 2},
				 {us[NOTICE_ACK]}},
		  &(struct run){.exchange = EXCHANGE_COMPLETION, .size = size});
}

int completion(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {8, 1024, 65536};
	size_t count = sizes_choose(&session->load, sizes, 3, 1);

	output_fact("PtlEQWait, PtlEQGet, last byte",
		    "half a round trip of puts, each side learning of the other's so");
	output_fact("ACK", "from PtlPut to the ACK event: there and back");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure_notices(session, sizes[i]);
	stage_rows_close(session);
	return 0;
}
