/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Split-C's operations (examples/splitc) as the document on VIA measured its own (figures 2 and 5): one after the other where they
 * wait, in windows where they do not, each beside what Portals takes for the same.
 */
#include "tests.h"

#include <math.h>

#include "measure.h"
#include "output.h"
#include "sizes.h"
#include "splitc_exchange.h"
#include "stage_rows.h"

/* And what Portals does for the same. */
static const struct {
	const char *name;
	enum splitc_operation operation;
	bool windowed;
	uint32_t exchange, variant;
} operations_of[] = {
	{"read", SPLITC_READ, false, EXCHANGE_GET, 0},
	{"write", SPLITC_WRITE, false, EXCHANGE_COMPLETION, COMPLETION_BY_ACK},
	{"get", SPLITC_GET, true, EXCHANGE_GET_WINDOW, 0},
	{"put", SPLITC_PUT, true, EXCHANGE_SPLITC_PUTS, SPLITC_PUTS_ACKNOWLEDGED},
	{"store", SPLITC_STORE, true, EXCHANGE_SPLITC_PUTS, SPLITC_PUTS_SENT},
	{"bulk read", SPLITC_BULK_READ, false, EXCHANGE_GET, 0},
	{"bulk write", SPLITC_BULK_WRITE, false, EXCHANGE_COMPLETION, COMPLETION_BY_ACK},
	{"bulk get", SPLITC_BULK_GET, true, EXCHANGE_GET_WINDOW, 0},
	{"bulk put", SPLITC_BULK_PUT, true, EXCHANGE_SPLITC_PUTS, SPLITC_PUTS_ACKNOWLEDGED},
	{"bulk store", SPLITC_BULK_STORE, true, EXCHANGE_SPLITC_PUTS, SPLITC_PUTS_SENT},
	{"all_store_sync", SPLITC_ALL_STORE_SYNC, false, EXCHANGE_COUNT, 0},
	{"barrier", SPLITC_BARRIER, false, EXCHANGE_BOTH_PUT, 0},
};

#define OPERATIONS (sizeof(operations_of) / sizeof(operations_of[0]))

static const struct column columns[] = {
	{"Operation", "operation", -14},
	{"bytes", "bytes", 0},
	{"us", "median_us", 3},
	{"p10", "p10", 3},
	{"p90", "p90", 3},
	{"Portals (us)", "portals_us", 3},
	{"beyond", "delta_us", 3},
	{"MB/s", "megabytes_per_second", 1},
	{"Portals MB/s", "portals_megabytes_per_second", 1},
};

static bool is_bulk(enum splitc_operation operation)
{
	return operation >= SPLITC_BULK_READ && operation <= SPLITC_BULK_STORE;
}

static double portals_us(struct series *series, double divisor)
{
	double median = samples_summary(&series->samples).median / divisor / 1e3;

	samples_free(&series->samples);
	return median;
}

static void measure_operation(struct session *session, size_t which, uint64_t size)
{
	const bool collective = operations_of[which].operation >= SPLITC_ALL_STORE_SYNC;
	const uint64_t bytes = collective ? 0 : size;
	const uint32_t window = operations_of[which].windowed ? session_window(&session->load, bytes) : 1;
	const uint32_t exchange = operations_of[which].exchange;
	struct series all_series[] = {
		{.run = {.exchange = EXCHANGE_SPLITC,
			 .size = bytes,
			 .window = window,
			 .variant = operations_of[which].operation}},
		{.run = {.exchange = exchange,
			 .size = bytes,
			 .window = operations_of[which].windowed ? window : 0,
			 .variant = operations_of[which].variant}},
	};

	const struct run timed = all_series[0].run;

	measure_row(session, all_series, exchange == EXCHANGE_COUNT ? 1 : 2);
	struct summary ours = samples_summary(&all_series[0].samples);
	double scale = 1e3 * window, us = ours.median / scale;
	double portals = exchange == EXCHANGE_COUNT ? NAN : portals_us(&all_series[1], window);
	stage_row(session,
		  (union cell[]){{.text = operations_of[which].name},
				 {(double)bytes},
				 {us},
				 {ours.p10 / scale},
				 {ours.p90 / scale},
				 {portals},
				 {us - portals},
				 {collective ? NAN : (double)bytes / us},
				 {collective ? NAN : (double)bytes / portals}},
		  &timed);
	samples_free(&all_series[0].samples);
}

static void measure_bulk(struct session *session, uint64_t size)
{
	for (size_t i = 0; i < OPERATIONS; i++)
		if (is_bulk(operations_of[i].operation))
			measure_operation(session, i, size);
}

int splitc(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {4096, 65536};
	size_t count = sizes_choose(&session->load, sizes, 2, 1);

	output_fact("read, write",
		    "one after the other, there and back; Portals: get-latency, and a put until its ACK");
	output_fact("get, put, store",
		    "windows of them and sc_sync(), time for each; Portals: get-bandwidth, puts until their ACKs, and "
		    "puts until they have left");
	output_fact("all_store_sync, barrier", "of both processes; Portals: both put at once (bidirectional-latency)");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < OPERATIONS && !session->load.sizes_given; i++)
		if (!is_bulk(operations_of[i].operation))
			measure_operation(session, i, sizeof(uint64_t));
	for (size_t i = 0; i < count; i++)
		measure_bulk(session, sizes[i]);
	stage_rows_close(session);
	return 0;
}
