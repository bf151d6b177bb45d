/* SPDX-License-Identifier: BSD-3-Clause */
/* What an open interface costs a process that does nothing: asleep in the system, then asleep in Portals. */
#include "tests.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/arch.h"
#include "machine.h"
#include "measure.h"
#include "output.h"

#define GOAL_PERCENT 0.1

/* What run.variant means here. */
enum idle_call { IDLE_NANOSLEEP, IDLE_EQPOLL, IDLE_COUNT };

static unsigned seconds(const struct session *session)
{
	return session->load.quick ? 2 : 10;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void sleep_in(struct session *session, enum idle_call call, unsigned time)
{
	struct timespec left = {.tv_sec = time};
	int which;

	if (call == IDLE_EQPOLL)
		PtlEQPoll(&session->eq, 1, time * 1000, &session->event, &which);
	else
		while (nanosleep(&left, &left))
			;
}

/* CPU time of all threads, percent of the time that passed. */
static double percent_while_asleep(struct session *session, const struct run *run)
{
	uint64_t start = monotonic_ns();
	double before = cpu_seconds();

	sleep_in(session, (enum idle_call)run->variant, seconds(session));
	return 100 * (cpu_seconds() - before) / (1e-9 * (double)(monotonic_ns() - start));
}

static double percent[2]; /* by role */

static void idle_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	percent[INITIATOR] = percent_while_asleep(session, run);
	control_receive(&session->peers, &percent[TARGET], sizeof(percent[TARGET]));
}

static void idle_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	double mine = percent_while_asleep(session, run);
	control_send(&session->peers, &mine, sizeof(mine));
}

const struct exchange idle_exchange = {NULL, idle_initiate, idle_serve, NULL};

static const struct column columns[] = {
	{"Asleep in", "asleep_in", -10},
	{"seconds", "seconds", 0},
	{"initiator CPU %", "initiator_cpu_percent", 3},
	{"target CPU %", "target_cpu_percent", 3},
	{NULL, "greater_cpu_percent", 3},
};

int idle(struct session *session)
{
	static const char *const calls[] = {[IDLE_NANOSLEEP] = "nanosleep", [IDLE_EQPOLL] = "PtlEQPoll"};
	bool reached = true;

	machine_warn_if_busy();
	output_fact("goal", "each process, connected to the other, less than %.1f %% of one CPU", GOAL_PERCENT);
	output_table(columns, sizeof(columns) / sizeof(columns[0]));
	measure_connect(session);
	for (uint32_t call = 0; call < IDLE_COUNT; call++) {
		struct run run = {.exchange = EXCHANGE_IDLE, .variant = call, .batch = 1, .batches = 1};
		measure_run(session, &run, NULL);
		output_row((union cell[]){{.text = calls[call]},
					  {seconds(session)},
					  {percent[INITIATOR]},
					  {percent[TARGET]},
					  {fmax(percent[INITIATOR], percent[TARGET])}});
		reached = reached && percent[INITIATOR] < GOAL_PERCENT && percent[TARGET] < GOAL_PERCENT;
	}
	machine_warn_of_outcome();
	output_note("goal", reached ? "reached" : "missed");
	return !reached;
}
