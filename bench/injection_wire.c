/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * injection --wire: each way of getting a payload to the NIC forced, by PTL_SHORT_MAX or by a tuning file, and the library's choice;
 * and of each what the NIC counted: bytes in lines of the queue (or injected by the provider), copied in a buffer of the transport,
 * exposed.  Within a node, what is exposed is then read, split, or staged: a way of its own each.
 */
#include "injection_wire.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "machine.h"
#include "opening.h"
#include "output.h"
#include "setups.h"
#include "sizes.h"
#include "temporary.h"

enum { FORCED_COMMON = 2, NODE_WAYS = 3, WAYS_MAX = FORCED_COMMON + NODE_WAYS + 1 };

static const char *const node_ways[NODE_WAYS] = {"cross-memory", "split", "staged"};

struct ways {
	size_t count; /* the last is the library's choice */
	const char *names[WAYS_MAX];
	struct setup setups[WAYS_MAX];
	struct peers pairs[WAYS_MAX];
	temporary_folder folder;
	char files[NODE_WAYS][sizeof(temporary_folder) + 16];
};

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"way", "way", -21},
	{"us", "us", 3},
	{"MB/s", "megabytes_per_second", 1},
	{"to the best", "ratio", 3},
	{"B in lines", "bytes_in_lines", 0},
	{"B copied", "bytes_copied", 0},
	{"B exposed", "bytes_exposed", 0},
};

static void add_way(struct ways *ways, const char *name, const char *variable, const char *value)
{
	const struct setting setting = {variable, value};

	ways->names[ways->count] = name;
	ways->setups[ways->count++] = (struct setup){.settings = {setting, setting}};
}

/* --- tuning files --- */

/* The file that the library writes says that all is exposed; in front of that, which way. */
static void write_way(const char *base, const char *path, const char *way)
{
	char text[4096];
	FILE *in = fopen(base, "r"), *out = fopen(path, "w");

	if (!in || !out)
		fail("%s: %s", in ? path : base, strerror(errno));
	text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
	fprintf(out, "{\"node\": [");
	for (uint64_t from = 4096; from <= 4194304; from *= 2)
		fprintf(out, "%s{\"from\": %llu, \"way\": \"%s\"}", from > 4096 ? ", " : "", (unsigned long long)from,
			way);
	fprintf(out, "],%s", text + 1);
	fclose(in);
	if (fclose(out))
		fail("%s: %s", path, strerror(errno));
}

static void add_node_ways(struct ways *ways, const struct options *options)
{
	static const char *const names[NODE_WAYS] = {"exposed, read", "exposed, split", "exposed, staged"};
	char base[sizeof(ways->folder) + 16];

	temporary_folder_make(ways->folder);
	snprintf(base, sizeof(base), "%s/base", ways->folder);
	opening_save_limit(options, 0, base);
	for (int i = 0; i < NODE_WAYS; i++) {
		snprintf(ways->files[i], sizeof(ways->files[i]), "%s/%s", ways->folder, node_ways[i]);
		write_way(base, ways->files[i], node_ways[i]);
		add_way(ways, names[i], "PTL_TUNING_FILE", ways->files[i]);
	}
	unlink(base);
}

static void remove_files(const struct ways *ways)
{
	if (!*ways->folder)
		return;
	for (int i = 0; i < NODE_WAYS; i++)
		unlink(ways->files[i]);
	rmdir(ways->folder);
}

/* --- the table --- */

/* Of a message, the bytes that went each way: what was sent meanwhile, divided in the same shares. */
static void measure_size(const struct session *session, const struct ways *ways, uint64_t size)
{
	struct setup_bytes bytes[WAYS_MAX];
	double us[WAYS_MAX], best = INFINITY;

	for (size_t i = 0; i < ways->count; i++)
		setups_bytes(&ways->pairs[i]);
	setups_medians(ways->pairs, ways->count, size, session->load.repeat, us, NULL);
	for (size_t i = 0; i < ways->count; i++) {
		bytes[i] = setups_bytes(&ways->pairs[i]);
		best = i + 1 < ways->count ? fmin(best, us[i]) : best;
	}
	for (size_t i = 0; i < ways->count; i++) {
		double scale = (double)size / (bytes[i].in_lines + bytes[i].copied + bytes[i].exposed);

		setups_row(session,
			   (union cell[]){{(double)size},
					  {.text = ways->names[i]},
					  {us[i]},
					  {(double)size / us[i]},
					  {us[i] / best},
					  {bytes[i].in_lines * scale},
					  {bytes[i].copied * scale},
					  {bytes[i].exposed * scale}},
			   &ways->pairs[i], size);
	}
}

static void facts(void)
{
	machine_facts();
	output_fact("latency",
		    "half a round trip of puts, one receive descriptor for all; medians of turns; MB/s: of that");
	output_fact("with its header", "as long a payload as the transport allows; longer: exposed");
	output_fact("exposed",
		    "announced by the header, from the first byte on; within a node then read, split or staged, as "
		    "measured or forced (from 4 KiB on)");
	output_fact("chosen", "by the library, without any setting");
	output_fact("to the best", "of the forced ways");
	output_fact("bytes",
		    "of a message, as the initiator's NIC counts them: in lines of the target's queue or injected, "
		    "copied in a buffer of the transport, exposed");
}

static void open_ways(struct ways *ways, const struct options *options)
{
	const struct options own = setups_share(options, WAYS_MAX);

	add_way(ways, "with its header", "PTL_SHORT_MAX", "1G");
	add_way(ways, "exposed", "PTL_SHORT_MAX", "0");
	if (strcmp(opening_transport(options), "node") == 0)
		add_node_ways(ways, options);
	add_way(ways, "chosen", "PTL_SHORT_MAX", "auto");
	setups_open(ways->pairs, ways->setups, ways->count, &own);
	for (size_t i = 0; i < ways->count; i++)
		setups_bytes(&ways->pairs[i]); /* once it answers, its interfaces have read the file */
	remove_files(ways);
}

int injection_wire(const struct options *options)
{
	const struct session session = {.options = options, .load = options->load};
	static struct ways ways;
	const struct workload *load = &options->load;
	uint64_t sizes[SIZES_MAX];
	size_t count = size_list(8, load->size_max, load->quick ? 4 : 2, sizes, SIZES_MAX);

	unsetenv("PTL_TUNING_FILE"); /* its ways would be the forced ones, too */
	count = sizes_choose(load, sizes, count, 1);
	open_ways(&ways, options);
	facts();
	stage_rows_open(&session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure_size(&session, &ways, sizes[i]);
	stage_rows_close(&session);
	setups_close(ways.pairs, ways.count);
	return 0;
}
