/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What peers cost that one has contacted before (microbenchmarks for cluster interconnects, 2.2.9: connections): latency and
 * bandwidth with one of them, while the others sleep.
 */
#include "tests.h"

#include "machine.h"
#include "output.h"
#include "sizes.h"
#include "slaves.h"
#include "stats.h"

#define PEERS_MOST    256
#define PEERS_QUICK   16
#define CONTACT_BYTES 8

static ptl_handle_md_t source_md;

static void ping_pong(struct session *master, const struct slaves *slaves, struct round round)
{
	slaves_put(slaves, 0, source_md, round.size, (int64_t)round.size);
	session_wait(master, PTL_EVENT_PUT_END, 1);
	slaves_check(master, slaves, 1, round.size);
}

/* A window of puts, the last of which is answered. */
static void stream(struct session *master, const struct slaves *slaves, struct round round)
{
	for (unsigned i = 0; i < round.window; i++)
		slaves_put(slaves, 0, source_md, round.size, i + 1 < round.window ? -1 : 0);
	session_wait(master, PTL_EVENT_PUT_END, 1);
}

static void contact(struct session *master, const struct slaves *slaves, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		session_forget(master);
		slaves_put(slaves, i, source_md, CONTACT_BYTES, 0);
		session_wait(master, PTL_EVENT_PUT_END, 1);
	}
}

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"peers", "peers", 0},
	{"Latency (us)", "latency_us", 3},
	{"MB/s", "megabytes_per_second", 1},
};

static void measure_size(struct session *master, struct slaves *slaves, uint64_t size, unsigned peers)
{
	const struct round round = {.size = size, .window = session_window(&master->load, size)};
	double us[2];

	source_md = slaves_bind(slaves, master, size);
	slaves_time(master, slaves, (slaves_once *const[]){ping_pong, stream}, round, us);
	slaves_row(master, slaves,
		   (union cell[]){{(double)size}, {peers}, {us[0] / 2}, {round.window * (double)size / us[1]}},
		   ping_pong, round);
	session_release(master, source_md);
}

int contacted_peers(const struct options *options)
{
	const unsigned most = options->load.quick ? PEERS_QUICK : PEERS_MOST;
	uint64_t sizes[SIZES_MAX] = {8, 65536};
	size_t count = sizes_choose(&options->load, sizes, 2, 0);
	unsigned known = 0;
	struct slaves slaves;
	struct session master;
	slaves_fork(&slaves, most, 1, options);
	session_open_alone(&master, options, PTL_PID_ANY);
	machine_facts();
	session_facts(&master);
	output_fact("peers", "so many have been contacted; all but the first sleep");
	if (!options->unpinned)
		output_fact("first peer", "on CPU %d", master.peers.cpu[TARGET]);
	output_fact("latency",
		    "half a round trip of puts; MB/s: windows of puts, the last one answered; MB = 10^6 bytes");
	slaves_meet(&slaves, &master);
	if (master.load.nic_timing)
		output_fact("NIC timing", "of the latency: of the master, and of the peer as the target");
	stage_rows_open(&master, columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned peers = 1; peers <= most; peers *= 4) {
		source_md = slaves_bind(&slaves, &master, CONTACT_BYTES);
		contact(&master, &slaves, known, peers);
		session_release(&master, source_md);
		known = peers;
		for (size_t i = 0; i < count; i++)
			measure_size(&master, &slaves, sizes[i], peers);
	}
	stage_rows_close(&master);
	slaves_end(&slaves);
	PtlFini();
	return 0;
}
