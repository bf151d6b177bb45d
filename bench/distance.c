/* SPDX-License-Identifier: BSD-3-Clause */
#include "distance.h"

#include <math.h>

#include "common.h"
#include "gauge.h"
#include "measure.h"
#include "output.h"

#define TRIES_MOST 5

static double measured;

static void distance_prepare(struct session *session, const struct run *run)
{
	(void)run;
	if (session->peers.role == INITIATOR)
		gauge_reset(&session->common->line);
}

static void distance_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)run;
	(void)iteration;
	measured = gauge_ask(&session->common->line);
}

static void distance_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)run;
	(void)iteration;
	gauge_answer(&session->common->line);
}

const struct exchange distance_exchange = {distance_prepare, distance_initiate, distance_serve, NULL};

double distance_measure(struct session *session)
{
	struct run run = {.exchange = EXCHANGE_DISTANCE, .batch = 1, .batches = 1};
	const int *cpu = session->peers.cpu;

	if (!session->common || session->options->unpinned || cpu[INITIATOR] == cpu[TARGET])
		return NAN;
	measure_run(session, &run, NULL);
	return measured;
}

bool distance_has_changed(struct distance *distance)
{
	double less = fmin(distance->before, distance->after), more = fmax(distance->before, distance->after);
	bool moved = !isnan(distance->before) && !isnan(distance->after) && more > CLASSES_APART * less;

	if (moved && distance->tries < TRIES_MOST)
		return true;
	distance->repeated += distance->tries > 1;
	distance->moved += moved;
	if (!isnan(less) && (distance->least == 0 || less < distance->least))
		distance->least = less;
	distance->most = fmax(distance->most, more);
	return false;
}

void distance_note(const struct distance *distance)
{
	if (distance->most > 0)
		output_note("distance of the cores",
			    "a cache line, one way, took %.3f to %.3f us before and after rows; %u rows were measured "
			    "again as it had changed, %u remained so",
			    distance->least / 1e3, distance->most / 1e3, distance->repeated, distance->moved);
}
