/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests.h"

#include "machine.h"
#include "output.h"
#include "raw.h"
#include "size_table.h"

static double half_round_trip(double nanoseconds, const struct run *run)
{
	(void)run;
	return nanoseconds / 2000;
}

static double whole(double nanoseconds, const struct run *run)
{
	(void)run;
	return nanoseconds / 1000;
}

int put_latency(struct session *session)
{
	static const struct quantity latency = {"Latency (us)", "latency_us", half_round_trip, false, 2, false};

	output_fact("latency", "half a round trip of puts; %s",
		    session->load.persistent ? "one receive descriptor for all"
					     : "each receive is attached inside the iteration");
	raw_fact(session);
	size_table(session, EXCHANGE_PUT, &latency);
	return 0;
}

int get_latency(struct session *session)
{
	static const struct quantity latency = {"Latency (us)", "latency_us", whole, false, 1, false};

	output_fact("latency", "one get from %s to REPLY_END: request and reply, both ways",
		    session->load.persistent ? "PtlGet" : "PtlMDBind of its destination");
	raw_fact(session);
	size_table(session, EXCHANGE_GET, &latency);
	return 0;
}

/* In dedicated mode this is what host and NIC thread need to hand over a command and two events. */
int self_latency(const struct options *options)
{
	static const struct quantity latency = {"Latency (us)", "latency_us", whole, false, 1, false};
	struct session session;

	session_place_nic_thread(options);
	session_open_alone(&session, options, PTL_PID_ANY);
	session.load.persistent = true;
	machine_facts();
	session_facts(&session);
	output_fact("latency", "a put to oneself, from PtlPut until SEND_END and PUT_END are taken");
	size_table(&session, EXCHANGE_PUT, &latency);
	PtlFini();
	return 0;
}
