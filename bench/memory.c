/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an interface costs in memory: at rest, for peers that exist but were never contacted, for each contacted one.
 * Counted is what /proc/self/status calls RssAnon (heap, stacks, tables) and RssShmem (segments: our own, and touched
 * pages of the peers', which are theirs); not libraries (RssFile), and not what the kernel keeps.
 */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "machine.h"
#include "measure.h"
#include "output.h"

struct footprint {
	double anonymous, shared; /* bytes */
};

static struct footprint footprint(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	struct footprint now = {0};
	char line[256];
	unsigned long kilobytes;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "RssAnon: %lu", &kilobytes) == 1)
			now.anonymous = 1024.0 * (double)kilobytes;
		if (sscanf(line, "RssShmem: %lu", &kilobytes) == 1)
			now.shared = 1024.0 * (double)kilobytes;
	}
	if (!status || !now.anonymous)
		fail("/proc/self/status does not say how much memory is in use");
	fclose(status);
	return now;
}

/* Opens an interface when it is told to, receives one message, and stays until the parent goes. */
static void be_peer(struct peers *parent, const void *options)
{
	struct session session;

	control_meet(parent);
	session_open_alone(&session, options, PTL_PID_ANY);
	control_send(parent, &session.self, sizeof(session.self));
	control_receive(parent, &session.other, sizeof(session.other));
	session_attach(&session, BITS_DATA, session_md(&session, session.sink, 8, PTL_MD_OP_PUT), PTL_RETAIN);
	control_meet(parent);
	session_wait(&session, PTL_EVENT_PUT_END, 1);
	peers_part(parent);
	PtlFini();
}

/* Forked before this process has an interface. */
static void fork_peers(struct peers *peers, unsigned count, const struct options *options)
{
	for (unsigned i = 0; i < count; i++)
		peers_start(&peers[i], be_peer, options);
}

static void contact(struct session *session, ptl_handle_md_t source, unsigned serial)
{
	PTL(PtlPut(source, PTL_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0, 0));
	session_wait(session, PTL_EVENT_ACK, serial);
}

static const struct column columns[] = {
	{"What", "what", -26},
	{"each", "count", 0},
	{"anonymous (B)", "anonymous_bytes", 0},
	{"shared (B)", "shared_bytes", 0},
	{"sum (B)", "sum_bytes", 0},
};

static void print_growth(const char *what, unsigned count, struct footprint before, struct footprint after)
{
	double anonymous = (after.anonymous - before.anonymous) / count,
	       shared = (after.shared - before.shared) / count;

	output_row((union cell[]){{.text = what}, {count}, {anonymous}, {shared}, {anonymous + shared}});
}

/* The first peer is contacted in advance: what is allocated once is not its. */
static void measure_peers(struct session *session, struct peers *peers, unsigned count)
{
	ptl_process_id_t *ids = calloc(count, sizeof(*ids));
	struct footprint start = {0}, met, contacted;

	if (!ids)
		fail("no memory for %u addresses", count);
	ptl_handle_md_t source = session_bind(session, session_md(session, session->source, 8, 0), PTL_RETAIN);
	for (unsigned i = 0; i < count; i++) {
		start = i == 1 ? footprint() : start;
		control_meet(&peers[i]);
		control_receive(&peers[i], &ids[i], sizeof(ids[i]));
		control_send(&peers[i], &session->self, sizeof(session->self));
		control_meet(&peers[i]);
		session->other = ids[i];
		if (!i)
			contact(session, source, 1);
	}
	met = footprint();
	for (unsigned i = 1; i < count; i++) {
		session->other = ids[i];
		contact(session, source, i + 1);
	}
	contacted = footprint();
	print_growth("peer that is only there", count - 1, start, met);
	print_growth("contacted peer", count - 1, met, contacted);
	free(ids);
}

int memory(const struct options *options)
{
	unsigned count = options->load.quick ? 17 : 33;
	struct peers *peers = calloc(count, sizeof(*peers));
	struct session session;

	if (!peers)
		fail("no memory for %u peers", count);
	machine_facts();
	output_fact("counted", "RssAnon and RssShmem of /proc/self/status");
	output_fact("shared",
		    "segments: our own; for a contacted peer, the pages of its segment that were touched here");
	output_fact("interface", "with one event queue and two buffers of 8 KiB");
	fork_peers(peers, count, options);
	struct footprint before = footprint();
	session_open_alone(&session, options, PTL_PID_ANY);
	struct footprint open = footprint();
	session_facts(&session);
	output_table(columns, sizeof(columns) / sizeof(columns[0]));
	print_growth("interface at rest", 1, before, open);
	measure_peers(&session, peers, count);
	for (unsigned i = 0; i < count; i++)
		peers_part(&peers[i]);
	for (unsigned i = 0; i < count; i++)
		peers_finish(&peers[i]);
	PtlFini();
	free(peers);
	return 0;
}
