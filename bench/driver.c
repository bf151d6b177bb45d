/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The test drivers of the prototype InfiniBand cards (tables 2 to 4, figure 7), on examples/remote_memory: the first one's send and receive,
 * whose sender waits for its completion; the second one's put, with a notice for what arrives; and that put by each of its protocols
 * as they would be without Portals' own: short, a message that the target's host copies, and long, a message that asks and a get of the target.
 */
#include "tests.h"

#include "examples/remote_memory/rm.h"
#include "rm_exchange.h"
#include "sizes.h"
#include "stage_rows.h"

#define MESSAGE_LIMIT 16384 /* the greatest protocol message; what is longer goes in several */

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"first (us)", "first_us", 3},
	{"second (us)", "second_us", 3},
	{"short (us)", "short_us", 3},
	{"long (us)", "long_us", 3},
	{"put (us)", "put_us", 3},
	{"first MB/s", "first_megabytes_per_second", 1},
	{"second MB/s", "second_megabytes_per_second", 1},
	{"put MB/s", "put_megabytes_per_second", 1},
};

enum { FIRST, SECOND, SHORT, LONG, PUT, SERIES };

/* Returns whether the long protocol was not the slower one. */
static bool measure(struct session *session, uint64_t size)
{
	const uint64_t message = size < MESSAGE_LIMIT ? size : MESSAGE_LIMIT;
	struct series all_series[SERIES] = {
		[FIRST] = {.run = rm_run(size, RM_MANNER_RECEIVE, 0, 0)},
		[SECOND] = {.run = rm_run(size, RM_MANNER_PUT, 0, 0)},
		[SHORT] = {.run = rm_run(size, RM_MANNER_SHORT, 0, message)},
		[LONG] = {.run = rm_run(size, RM_MANNER_LONG, 0, 64)},
		[PUT] = {.run = {.exchange = EXCHANGE_PUT, .size = size}},
	};
	const struct run timed = all_series[SECOND].run;
	double us[SERIES];

	measure_row(session, all_series, SERIES);
	for (int i = 0; i < SERIES; i++)
		us[i] = rm_median_us(&all_series[i], 2);
	const double bytes = (double)size;
	stage_row(session,
		  (union cell[]){{bytes},
				 {us[FIRST]},
				 {us[SECOND]},
				 {us[SHORT]},
				 {us[LONG]},
				 {us[PUT]},
				 {bytes / us[FIRST]},
				 {bytes / us[SECOND]},
				 {bytes / us[PUT]}},
		  &timed);
	return us[LONG] <= us[SHORT];
}

int driver(struct session *session)
{
	const struct workload *load = &session->load;
	uint64_t sizes[SIZES_MAX], before = 0, crossed = 0; /* the greatest at which short was quicker, and the next */
	size_t count = size_list(4, 1 << 20, load->quick ? 8 : 2, sizes, SIZES_MAX);

	count = sizes_choose(load, sizes, count, 1);
	output_fact("latency", "half a round trip; MB/s: a message's bytes by it");
	output_fact("first", "a receive posted ahead, a send that is waited for, and waiting for what has come");
	output_fact("second",
		    "a put between registered buffers without acknowledgement, and a notice of what has come");
	output_fact("short, long",
		    "the same by a message that the target's host copies; by one that asks, and a get by the target");
	output_fact("put", "PtlPut as in put-latency");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		if (!measure(session, sizes[i])) {
			before = sizes[i];
			crossed = 0;
		} else if (!crossed) {
			crossed = sizes[i];
		}
	}
	if (crossed && before)
		output_note("crossover",
			    "between %llu bytes, where short is quicker, and %llu, from where on it is not",
			    (unsigned long long)before, (unsigned long long)crossed);
	else
		output_note("crossover", crossed ? "long is not slower at any of these lengths"
						 : "short is quicker at the greatest of these lengths");
	stage_rows_close(session);
	return 0;
}
