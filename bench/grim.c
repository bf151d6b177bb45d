/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What GRIM measured of its interfaces (tables 5.2 to 5.4, figures 5.8, 5.10, 5.12 to 5.14), on examples/remote_memory: half a round trip of an
 * active message (AM), of a write to a virtual address that is looked up each time (RM-V), and of one to a place that is known (RM-P); for
 * all lengths, then for one length with the ways to cut and to inject it.
 */
#include "tests.h"

#include <math.h>

#include "examples/remote_memory/rm.h"
#include "rm_exchange.h"
#include "sizes.h"
#include "stage_rows.h"

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"part", "part", -12},
	{"fragment", "fragment_bytes", 0},
	{"AM (us)", "am_us", 3},
	{"RM-V (us)", "rmv_us", 3},
	{"RM-P (us)", "rmp_us", 3},
	{"look up (us)", "lookup_us", 3},
	{"put (us)", "put_us", 3},
	{"AM MB/s", "am_megabytes_per_second", 1},
	{"RM-V MB/s", "rmv_megabytes_per_second", 1},
	{"RM-P MB/s", "rmp_megabytes_per_second", 1},
	{"put MB/s", "put_megabytes_per_second", 1},
};

#define MTU 65536 /* the greatest fragment */

enum { AM, RM_V, RM_P, LOOK_UP, PUT, SERIES };

static void measure(struct session *session, const char *part, uint64_t size, unsigned injection, uint64_t fragment)
{
	struct series all_series[SERIES] = {
		[AM] = {.run = rm_run(size, RM_MANNER_MESSAGE, injection, fragment)},
		[RM_V] = {.run = rm_run(size, RM_MANNER_LOOK_UP, injection, fragment)},
		[RM_P] = {.run = rm_run(size, RM_MANNER_KNOWN, injection, fragment)},
		[LOOK_UP] = {.run = rm_run(size, RM_MANNER_ASK, injection, fragment)},
		[PUT] = {.run = {.exchange = EXCHANGE_PUT, .size = size}},
	};
	const struct run timed = all_series[RM_P].run;
	double us[SERIES];

	measure_row(session, all_series, SERIES);
	for (int i = 0; i < SERIES; i++)
		us[i] = rm_median_us(&all_series[i], i == LOOK_UP ? 1 : 2);
	if (injection == RM_DIRECT)
		us[AM] = NAN; /* messages are always copied */
	const double bytes = (double)size;
	stage_row(session,
		  (union cell[]){{bytes},
				 {.text = part},
				 {(double)(fragment ? fragment : rm_defaults.fragment)},
				 {us[AM]},
				 {us[RM_V]},
				 {us[RM_P]},
				 {us[LOOK_UP]},
				 {us[PUT]},
				 {bytes / us[AM]},
				 {bytes / us[RM_V]},
				 {bytes / us[RM_P]},
				 {bytes / us[PUT]}},
		  &timed);
}

/* One length, copied in fragments of all lengths up to its own, which then is store and forward; and from where it is. */
static void measure_fragments(struct session *session, uint64_t size)
{
	const unsigned factor = session->load.quick ? 8 : 2;

	for (uint64_t fragment = size < MTU ? size : MTU; fragment >= 256; fragment /= factor)
		measure(session, "fragments", size, RM_COPY, fragment);
	measure(session, "direct", size, RM_DIRECT, 0);
}

int grim(struct session *session)
{
	const struct workload *load = &session->load;
	uint64_t sizes[SIZES_MAX];
	size_t count = size_list(4, 2 << 20, load->quick ? 16 : 2, sizes, SIZES_MAX);

	count = sizes_choose(load, sizes, count, 1);
	output_fact("AM",
		    "half a round trip of active messages, of fragments of %zu bytes, put together by the receiver",
		    rm_defaults.fragment);
	output_fact("RM-P",
		    "of writes to a place that is known, up to %zu bytes copied for injection; put: of PtlPut, each "
		    "receive attached",
		    rm_defaults.copy_limit);
	output_fact("RM-V", "of writes whose place is asked for each time, by its address; look up: the question "
			    "alone, there and back");
	output_fact(
		"part",
		"all: as above; fragments: of this length, one copied while another is under way; direct: in one piece "
		"from where it is, which the transport cuts");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure(session, "all", sizes[i], RM_BY_LENGTH, 0);
	measure_fragments(session, load->sizes_given ? load->size_max : 65536);
	stage_rows_close(session);
	return 0;
}
