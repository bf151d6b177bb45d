/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What unexpected messages cost those that come after them: the ping-pong of put-latency between processes of which the target
 * has taken so many messages that no receive was posted for.  They go to the entry that takes all, behind the target's
 * last.  Portals alone keeps nothing of them there.  A layer like MPI keeps them, and before it posts a receive it looks whether the
 * message has come (examples/minimpi/unexpected.c does the same).
 */
#include "tests.h"

#include <stdlib.h>

#include "fail.h"
#include "measure.h"
#include "output.h"
#include "pingpong.h"
#include "stage_rows.h"

#define MESSAGE_SIZE 8

/* run.variant */
enum { NOTHING_KEPT, KEPT };

/* Of a message that the target keeps. */
struct unexpected {
	struct unexpected *next;
	ptl_process_id_t sender;
	ptl_match_bits_t bits;
	ptl_size_t length, offset;
};

static ptl_handle_me_t take_all;
static ptl_handle_md_t pong_md;
static ptl_handle_eq_t arrivals;
static struct unexpected *first, **last;
static char *kept_bytes;
static bool was_persistent;

static void attach_take_all(const struct session *session, ptl_md_t md)
{
	ptl_process_id_t any = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_md_t handle;

	PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, any, BITS_DONE, ~(ptl_match_bits_t)0, PTL_RETAIN, PTL_INS_AFTER,
			&take_all));
	PTL(PtlMDAttach(take_all, md, PTL_RETAIN, &handle));
}

/* One behind the other, with a START: it is in the queue in the moment in which the message is matched. */
static void keep_all(const struct session *session, uint32_t depth)
{
	const size_t bytes = ((size_t)depth + 1) * MESSAGE_SIZE;

	kept_bytes = malloc(bytes);
	if (!kept_bytes)
		fail("no memory for %u unexpected messages", depth);
	first = NULL;
	last = &first;
	PTL(PtlEQAlloc(session->ni, 2 * (ptl_size_t)depth + 2, PTL_EQ_HANDLER_NONE, &arrivals));
	attach_take_all(session, (ptl_md_t){.start = kept_bytes,
					    .length = bytes,
					    .threshold = PTL_MD_THRESH_INF,
					    .max_size = MESSAGE_SIZE,
					    .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE,
					    .eq_handle = arrivals});
}

static void take_arrivals(void)
{
	ptl_event_t event;

	for (int code; (code = PtlEQGet(arrivals, &event)) != PTL_EQ_EMPTY;) {
		PTL(code);
		if (event.type != PTL_EVENT_PUT_END)
			continue;
		struct unexpected *message = malloc(sizeof(*message));
		if (!message)
			fail("no memory for an unexpected message");
		*message = (struct unexpected){NULL, event.initiator, event.match_bits, event.mlength, event.offset};
		*last = message;
		last = &message->next;
	}
}

static const struct unexpected *find(ptl_process_id_t sender, ptl_match_bits_t bits)
{
	for (const struct unexpected *message = first; message; message = message->next)
		if (message->bits == bits && message->sender.nid == sender.nid && message->sender.pid == sender.pid)
			return message;
	return NULL;
}

static void receive_unless_here(const struct session *session)
{
	ptl_md_t md = session_md(session, session->sink, MESSAGE_SIZE, PTL_MD_OP_PUT);
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	int code;

	md.threshold = 1;
	do {
		take_arrivals();
		if (find(session->other, BITS_DATA))
			fail("a message came before its receive was posted");
		code = PtlMEMDPost(session->ni, take_all, session->other, BITS_DATA, 0, PTL_UNLINK, PTL_INS_BEFORE, md,
				   PTL_UNLINK, &me, &handle, arrivals);
	} while (code == PTL_MD_NO_UPDATE);
	PTL(code);
}

static void unexpected_prepare(struct session *session, const struct run *run)
{
	was_persistent = session->load.persistent;
	session->load.persistent = true; /* attached in an iteration, it would be behind the entry that takes all */
	if (session->peers.role == TARGET && run->variant == KEPT) {
		pong_md = session_bind(session, session_md(session, session->source, MESSAGE_SIZE, 0), PTL_RETAIN);
		keep_all(session, run->depth);
		receive_unless_here(session);
		return;
	}
	put_prepare(session, run);
	if (session->peers.role != TARGET)
		return;
	ptl_md_t md = session_md(session, session->sink, MESSAGE_SIZE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
	md.eq_handle = PTL_EQ_NONE;
	attach_take_all(session, md);
}

static void unexpected_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	ptl_md_t md = session_md(session, session->source, MESSAGE_SIZE, 0);

	if (iteration == 0) {
		md.eq_handle = PTL_EQ_NONE;
		ptl_handle_md_t source = session_bind(session, md, PTL_RETAIN);
		for (uint32_t message = 0; message < run->depth; message++)
			session_put(session, source, BITS_DONE);
		session_release(session, source);
	}
	put_initiate(session, run, iteration);
}

static void unexpected_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	if (run->variant == NOTHING_KEPT) {
		put_serve(session, run, iteration);
		return;
	}
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	payload_check(session, session->sink, MESSAGE_SIZE, iteration);
	if (iteration + 1 < run_iterations(run))
		receive_unless_here(session);
	payload_fill(session, session->source, MESSAGE_SIZE, iteration);
	session_put(session, pong_md, BITS_DATA);
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
}

static void forget_kept(struct session *session, const struct run *run)
{
	session_wait(session, PTL_EVENT_UNLINK, run_iterations(run));
	session_detach(session, take_all);
	session_release(session, pong_md);
	PTL(PtlEQFree(arrivals));
	while (first) {
		struct unexpected *message = first;
		first = message->next;
		free(message);
	}
	free(kept_bytes);
}

static void unexpected_finish(struct session *session, const struct run *run)
{
	if (session->peers.role == TARGET && run->variant == KEPT) {
		forget_kept(session, run);
	} else {
		put_finish(session, run);
		if (session->peers.role == TARGET)
			session_detach(session, take_all);
	}
	session->load.persistent = was_persistent;
}

const struct exchange put_unexpected_exchange = {unexpected_prepare, unexpected_initiate, unexpected_serve,
						 unexpected_finish};

enum {
	COLUMN_COUNT_WAITING,
	COLUMN_MEDIAN,
	COLUMN_P10,
	COLUMN_P90,
	COLUMN_P99,
	COLUMN_RATIO,
	COLUMN_KEPT,
	COLUMN_KEPT_P90,
	COLUMN_KEPT_RATIO,
	COLUMN_BATCHES,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_COUNT_WAITING] = {"Unexpected", "unexpected_messages", 0},
	[COLUMN_MEDIAN] = {"Latency (us)", "latency_us", 3},
	[COLUMN_P10] = {"p10", "p10", 3},
	[COLUMN_P90] = {"p90", "p90", 3},
	[COLUMN_P99] = {"p99", "p99", 3},
	[COLUMN_RATIO] = {"to the first", "ratio", 3},
	[COLUMN_KEPT] = {"kept (us)", "kept_us", 3},
	[COLUMN_KEPT_P90] = {"p90", "kept_p90", 3},
	[COLUMN_KEPT_RATIO] = {"to the first", "kept_ratio", 3},
	[COLUMN_BATCHES] = {NULL, "batches", 0},
};

/* Half round trips, us; `first_us`: those of the first depth, 0 before. */
static void measure_depth(struct session *session, uint32_t depth, double first_us[2])
{
	struct series all_series[2];
	struct summary summaries[2];
	double us[2];

	for (uint32_t variant = NOTHING_KEPT; variant <= KEPT; variant++)
		all_series[variant] = (struct series){.run = {.exchange = EXCHANGE_PUT_UNEXPECTED,
							      .size = MESSAGE_SIZE,
							      .depth = depth,
							      .variant = variant}};
	measure_row(session, all_series, 2);
	for (uint32_t variant = NOTHING_KEPT; variant <= KEPT; variant++) {
		summaries[variant] = samples_summary(&all_series[variant].samples);
		us[variant] = summaries[variant].median / 2000;
		if (first_us[variant] == 0)
			first_us[variant] = us[variant];
		samples_free(&all_series[variant].samples);
	}
	const union cell cells[COLUMN_COUNT] = {
		[COLUMN_COUNT_WAITING] = {depth},
		[COLUMN_MEDIAN] = {us[NOTHING_KEPT]},
		[COLUMN_P10] = {summaries[NOTHING_KEPT].p10 / 2000},
		[COLUMN_P90] = {summaries[NOTHING_KEPT].p90 / 2000},
		[COLUMN_P99] = {summaries[NOTHING_KEPT].p99 / 2000},
		[COLUMN_RATIO] = {us[NOTHING_KEPT] / first_us[NOTHING_KEPT]},
		[COLUMN_KEPT] = {us[KEPT]},
		[COLUMN_KEPT_P90] = {summaries[KEPT].p90 / 2000},
		[COLUMN_KEPT_RATIO] = {us[KEPT] / first_us[KEPT]},
		[COLUMN_BATCHES] = {(double)summaries[NOTHING_KEPT].count},
	};
	stage_row(session, cells,
		  &(struct run){.exchange = EXCHANGE_PUT_UNEXPECTED, .size = MESSAGE_SIZE, .depth = depth});
}

int unexpected_depth(struct session *session)
{
	const struct workload *load = &session->load;
	struct usage before[2];
	double first_us[2] = {0};

	output_fact("latency",
		    "half a round trip of %d-byte puts after so many to the same target that its posted receive does "
		    "not match",
		    MESSAGE_SIZE);
	output_fact("unexpected", "Portals keeps nothing of them: all go to the same bytes of a descriptor without an "
				  "event queue, and no receive looks for them");
	if (load->nic_timing)
		output_fact("NIC timing", "where nothing is kept, of the unexpected messages too");
	output_fact("kept",
		    "the target keeps them in a list, and before it posts a receive it looks at each, as MPI has "
		    "to; half a round trip has half of one such search");
	stage_rows_open(session, columns, COLUMN_COUNT);
	measure_usage(session, before);
	for (uint32_t i = 0; i < load->depth_count; i++)
		measure_depth(session, load->depths[i], first_us);
	measure_note_drivers(session, before);
	stage_rows_close(session);
	return 0;
}
