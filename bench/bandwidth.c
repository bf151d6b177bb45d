/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bandwidth: windows of operations on persistent descriptors.  A window of puts is over when the target has taken a
 * PUT_END for each of them and says so with an empty put; that says more than SEND_END would, so those are not
 * requested.  A window of gets is over when all replies are there.
 */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "output.h"
#include "pingpong.h"
#include "raw.h"
#include "size_table.h"

static ptl_handle_md_t data_md, done_md;
static ptl_handle_me_t entry;

/* Where message number `slot` of a window goes: all to one place, unless they are to be looked at. */
static uint64_t slot_offset(const struct session *session, const struct run *run, uint32_t slot)
{
	return session->load.check ? slot * run->size : 0;
}

static size_t sink_length(const struct session *session, const struct run *run)
{
	return slot_offset(session, run, run->window - 1) + run->size;
}

static void put_window_prepare(struct session *session, const struct run *run)
{
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;

	if (session->peers.role == INITIATOR) {
		data_md = session_bind_silent(session, session->source, run->size);
		entry = session_attach(session, BITS_DONE, session_md(session, NULL, 0, options), PTL_RETAIN);
	} else {
		ptl_md_t md = session_md(session, session->sink, sink_length(session, run), options);
		done_md = session_bind_silent(session, NULL, 0);
		entry = session_attach(session, BITS_DATA, md, PTL_RETAIN);
	}
}

static void put_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, iteration);
	for (uint32_t slot = 0; slot < run->window; slot++)
		PTL(PtlPut(data_md, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA,
			   slot_offset(session, run, slot), 0));
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
}

static void put_window_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	session_wait(session, PTL_EVENT_PUT_END, (uint64_t)(iteration + 1) * run->window);
	for (uint32_t slot = 0; session->load.check && slot < run->window; slot++)
		payload_check(session, session->sink + slot_offset(session, run, slot), run->size, iteration);
	session_put(session, done_md, BITS_DONE);
}

static void put_window_finish(struct session *session, const struct run *run)
{
	(void)run;
	session_detach(session, entry);
	session_release(session, session->peers.role == INITIATOR ? data_md : done_md);
}

const struct exchange put_window_exchange = {put_window_prepare, put_window_initiate, put_window_serve,
					     put_window_finish};

static void get_window_prepare(struct session *session, const struct run *run)
{
	if (session->peers.role == TARGET)
		get_target_prepare(session, run);
	else
		data_md = session_bind(session, session_md(session, session->sink, sink_length(session, run), 0),
				       PTL_RETAIN);
}

static void get_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	for (uint32_t slot = 0; slot < run->window; slot++)
		PTL(PtlGetRegion(data_md, slot_offset(session, run, slot), run->size, session->other, BENCH_PT_INDEX, 0,
				 BITS_DATA, 0));
	session_wait(session, PTL_EVENT_REPLY_END, (uint64_t)(iteration + 1) * run->window);
	for (uint32_t slot = 0; session->load.check && slot < run->window; slot++)
		payload_check(session, session->sink + slot_offset(session, run, slot), run->size, 0);
	payload_fill(session, session->sink, sink_length(session, run), iteration + 1);
}

static void get_window_finish(struct session *session, const struct run *run)
{
	(void)run;
	if (session->peers.role == TARGET) {
		get_target_finish(session);
		return;
	}
	get_say_done(session);
	session_release(session, data_md);
}

const struct exchange get_window_exchange = {get_window_prepare, get_window_initiate, get_target_serve,
					     get_window_finish};

/* 10^6 bytes a second. */
static double megabytes(double nanoseconds, const struct run *run)
{
	return (double)run->window * (double)run->size * 1e3 / nanoseconds;
}

static double millions(double nanoseconds, const struct run *run)
{
	return (double)run->window * 1e3 / nanoseconds;
}

static void windows_fact(const struct session *session, const char *what)
{
	const struct workload *load = &session->load;
	char window[WINDOWS_MAX * 8] = "64 (16 from 64 KiB)";
	size_t length = 0;

	for (uint32_t i = 0; i < load->window_count; i++)
		length += (size_t)snprintf(window + length, sizeof(window) - length, "%s%u", i ? ", " : "",
					   load->windows[i]);
	output_fact("windows", "%s %s", window, what);
	raw_fact(session);
}

static int bandwidth(struct session *session, enum exchange_id exchange, const char *what)
{
	static const struct quantity megabytes_per_second = {"MB/s", "megabytes_per_second", megabytes, true, 0, false};

	output_fact("bandwidth", "of windows; MB = 10^6 bytes");
	windows_fact(session, what);
	size_table(session, exchange, &megabytes_per_second);
	return 0;
}

int put_bandwidth(struct session *session)
{
	return bandwidth(session, EXCHANGE_PUT_WINDOW, "puts, confirmed by the target");
}

int get_bandwidth(struct session *session)
{
	return bandwidth(session, EXCHANGE_GET_WINDOW, "gets");
}

int message_rate(struct session *session)
{
	static const struct quantity rate = {"M/s", "millions_per_second", millions, true, 0, true};
	static const uint32_t usual[] = {1, 4, 16,
					 64}; /* none greater than what the buffers and event queues are for */
	struct workload *load = &session->load;

	if (!load->sizes_given)
		load->size_min = 8;
	if (!load->window_count) {
		memcpy(load->windows, usual, sizeof(usual));
		load->window_count = sizeof(usual) / sizeof(usual[0]);
	}
	output_fact("rate", "10^6 messages a second, of windows");
	windows_fact(session, "puts, confirmed by the target");
	size_table(session, EXCHANGE_PUT_WINDOW, &rate);
	return 0;
}
