/* SPDX-License-Identifier: BSD-3-Clause */
/* A network that is slow, loses frames, or is away for a while: nothing is lost, doubled, spoilt or out of order. */
#include "tests/faults/hosts/hosts.h"

#include "tests/faults/hosts/traffic.h"

#define MS 1000000ull

/* The faults are there: a round trip takes twice the delay, and frames are lost. */
static void run_over(unsigned delay, unsigned loss, int rounds)
{
	if (my_rank == 0) {
		wire_delay(delay);
		wire_lose(loss);
	}
	open_door();
	traffic_open(rounds);
	traffic_finish();
	uint64_t began = now_ns();
	ping(id_of[my_rank ^ 1]);
	CHECK_LESS(2000ull * delay, now_ns() - began + 1);
	barrier();
	if (my_rank == 0)
		CHECK_EQUAL(wire_lost() > 0, loss > 0);
}

static void delayed_messages_arrive(void)
{
	run_over(10000, 0, 24);
}

static void messages_arrive_although_frames_are_lost(void)
{
	run_over(1000, 10000, 24);
}

static void messages_arrive_although_many_frames_are_lost(void)
{
	run_over(0, 50000, 9);
}

static int progress_between_hosts(void)
{
	int sum = 0;
	for (int rank = 0; rank < process_count; rank++)
		if (rank % HOSTS != my_rank % HOSTS)
			sum += traffic_between(rank);
	return sum;
}

static bool step_for(uint64_t ns)
{
	bool more = true;
	for (uint64_t end = now_ns() + ns; now_ns() < end;)
		more = traffic_step();
	return more;
}

/*
 * The cable of host 0 is pulled as soon as every process has seen some traffic.  What had arrived by then is still
 * looked at for a moment; after it nothing must come until the cable is back.  The delay makes sure that there is more
 * to come.
 */
static void cut_and_join(unsigned seconds)
{
	if (my_rank == 0)
		wire_delay(20000);
	traffic_open(64);
	while (progress_between_hosts() < 20)
		traffic_step();
	barrier();
	if (my_rank == 0)
		wire_cut(0);
	barrier();
	int before;
	do { /* a thread that is kept from running looks at it later */
		before = progress_between_hosts();
		CHECK(step_for(1000 * MS));
	} while (progress_between_hosts() != before);
	CHECK(step_for(seconds * 1000 * MS));
	CHECK_EQUAL(progress_between_hosts(), before);
	barrier();
	if (my_rank == 0)
		wire_join(0);
	traffic_finish();
}

static void traffic_goes_on_after_a_link_was_down(void)
{
	cut_and_join(at_night() ? 20 : 3);
}

#define IMPAIRED(test)                                                                                                 \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 4, .traits = TRAIT_SEVERAL                                    \
	}

const struct test impaired_tests[] = {
	IMPAIRED(delayed_messages_arrive),
	IMPAIRED(messages_arrive_although_frames_are_lost),
	IMPAIRED(messages_arrive_although_many_frames_are_lost),
	IMPAIRED(traffic_goes_on_after_a_link_was_down),
	{0},
};
