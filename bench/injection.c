/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways of getting a payload to the NIC (GRIM, figures 5.2 to 5.4: by the host's own stores, or fetched out of the host's memory):
 * with its header, by copies through lines, slabs or buffers of the transport (PTL_SHORT_MAX as great as the transport
 * allows); or exposed, and read by the target (PTL_SHORT_MAX=0); and what the library chooses by itself.
 */
#include "tests.h"

#include <math.h>

#include "injection_wire.h"
#include "machine.h"
#include "output.h"
#include "setups.h"
#include "sizes.h"

enum way { WITH_HEADER, EXPOSED, AUTOMATIC, WAYS };

static const struct setup setups[WAYS] = {
	[WITH_HEADER] = {.settings = {{"PTL_SHORT_MAX", "1G"}, {"PTL_SHORT_MAX", "1G"}}},
	[EXPOSED] = {.settings = {{"PTL_SHORT_MAX", "0"}, {"PTL_SHORT_MAX", "0"}}},
	[AUTOMATIC] = {.settings = {{"PTL_SHORT_MAX", "auto"}, {"PTL_SHORT_MAX", "auto"}}},
};

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"copied (us)", "with_header_us", 3},
	{"exposed (us)", "exposed_us", 3},
	{"chosen (us)", "automatic_us", 3},
	{"to the best", "ratio", 3},
	{"copied (MB/s)", "with_header_megabytes_per_second", 1},
	{"exposed", "exposed_megabytes_per_second", 1},
	{"chosen", "automatic_megabytes_per_second", 1},
};

static void measure_size(const struct session *session, const struct peers pairs[WAYS], uint64_t size)
{
	const double bytes = (double)size;
	double us[WAYS];

	setups_medians(pairs, WAYS, size, session->load.repeat, us, NULL);
	setups_row(session,
		   (union cell[]){{bytes},
				  {us[WITH_HEADER]},
				  {us[EXPOSED]},
				  {us[AUTOMATIC]},
				  {us[AUTOMATIC] / fmin(us[WITH_HEADER], us[EXPOSED])},
				  {bytes / us[WITH_HEADER]},
				  {bytes / us[EXPOSED]},
				  {bytes / us[AUTOMATIC]}},
		   &pairs[AUTOMATIC], size);
}

int injection(const struct options *options)
{
	const struct workload *load = &options->load;
	const struct options own = setups_share(options, WAYS);
	const struct session session = {.options = options, .load = *load};
	struct peers pairs[WAYS];
	uint64_t sizes[SIZES_MAX];
	size_t count = size_list(8, load->size_max, load->quick ? 4 : 2, sizes, SIZES_MAX);

	if (options->wire)
		return injection_wire(options);
	count = sizes_choose(load, sizes, count, 1);
	setups_open(pairs, setups, WAYS, &own);
	machine_facts();
	output_fact("latency",
		    "half a round trip of puts, one receive descriptor for all; medians of turns; MB/s: of that");
	output_fact("copied",
		    "with the header, through what the transport has for it; longer than that allows: exposed");
	output_fact("exposed", "announced by the header and read by the target, from the first byte on");
	output_fact("chosen", "by the library, without any setting");
	if (load->nic_timing)
		output_fact("NIC timing", "of the chosen way");
	stage_rows_open(&session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure_size(&session, pairs, sizes[i]);
	stage_rows_close(&session);
	setups_close(pairs, WAYS);
	return 0;
}
