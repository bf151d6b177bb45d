/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process that many talk to (microbenchmarks for cluster interconnects, 2.2.8).  Send: the master puts to all slaves, and
 * the last of them answers.  Send and receive: it puts a note to all, and all answer with a message.
 */
#include "tests.h"

#include "machine.h"
#include "output.h"
#include "sizes.h"
#include "slaves.h"
#include "stats.h"

#define SLAVES_MOST CHECKED_LEAST /* an answer of each may be there */

static ptl_handle_md_t message_md, note_md;

static void send_all(struct session *master, const struct slaves *slaves, struct round round)
{
	for (unsigned i = 0; i < round.active; i++)
		slaves_put(slaves, i, message_md, round.size, i + 1 < round.active ? -1 : 0);
	session_wait(master, PTL_EVENT_PUT_END, 1);
}

static void send_and_receive(struct session *master, const struct slaves *slaves, struct round round)
{
	for (unsigned i = 0; i < round.active; i++)
		slaves_put(slaves, i, note_md, 0, (int64_t)round.size);
	session_wait(master, PTL_EVENT_PUT_END, round.active);
	slaves_check(master, slaves, round.active, round.size);
}

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"slaves", "slaves", 0},
	{"send (us)", "send_us", 3},
	{"send, receive (us)", "send_receive_us", 3},
};

static void measure_size(struct session *master, struct slaves *slaves, uint64_t size)
{
	message_md = slaves_bind(slaves, master, size);
	for (unsigned active = 2; active <= SLAVES_MOST; active += master->load.quick ? 3 : 1) {
		const struct round round = {.active = active, .size = size};
		double us[2];
		slaves_time(master, slaves, (slaves_once *const[]){send_all, send_and_receive}, round, us);
		slaves_row(master, slaves, (union cell[]){{(double)size}, {active}, {us[0]}, {us[1]}}, send_and_receive,
			   round);
	}
	session_release(master, message_md);
}

int hot_spot(const struct options *options)
{
	uint64_t sizes[SIZES_MAX] = {8, 4096, 65536};
	size_t count = sizes_choose(&options->load, sizes, 3, 0);
	struct slaves slaves;
	struct session master;
	slaves_fork(&slaves, SLAVES_MOST, 0, options);
	session_open_alone(&master, options, PTL_PID_ANY);
	machine_facts();
	session_facts(&master);
	output_fact("send", "the master puts to all slaves; until the last one's empty answer");
	output_fact("send, receive", "the master puts an empty note to all slaves; until the message of each has come");
	slaves_meet(&slaves, &master);
	note_md = slaves_bind(&slaves, &master, 0);
	if (master.load.nic_timing)
		output_fact("NIC timing", "of send, receive: of the master, and of one slave as the target");
	stage_rows_open(&master, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure_size(&master, &slaves, sizes[i]);
	stage_rows_close(&master);
	slaves_end(&slaves);
	PtlFini();
	return 0;
}
