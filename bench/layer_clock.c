/* SPDX-License-Identifier: BSD-3-Clause */
#include "layer_clock.h"

#include <math.h>
#include <string.h>

#include "stats.h"

#define EMPTY   100
#define BATCHES 20

struct layer_clock layer_clock;

static uint64_t began_ns, began_cycles;
static double inside, around; /* what timing nothing adds to a part, and takes of the whole around it; cycles */
static struct samples of_parts[LAYER_PARTS];

static void forget_burst(void)
{
	memset(layer_clock.cycles, 0, sizeof(layer_clock.cycles));
	memset(layer_clock.count, 0, sizeof(layer_clock.count));
}

/* The least of several batches: others use this processor, too. */
static void time_nothing(void)
{
	inside = around = INFINITY;
	for (int batch = 0; batch < BATCHES; batch++) {
		forget_burst();
		uint64_t start = cycle_clock();
		for (int i = 0; i < EMPTY; i++)
			layer_clock_add(LAYER_PUT, layer_clock_now());
		around = fmin(around, (double)(cycle_clock() - start) / EMPTY);
		inside = fmin(inside, (double)layer_clock.cycles[LAYER_PUT] / EMPTY);
	}
	forget_burst();
}

void layer_clock_start(void)
{
	layer_clock.on = true;
	time_nothing();
	began_ns = monotonic_ns();
	began_cycles = cycle_clock();
}

void layer_clock_burst(unsigned operations)
{
	double cycles[LAYER_PARTS];

	if (!layer_clock.on)
		return;
	for (int part = 0; part < LAYER_PARTS; part++)
		cycles[part] = (double)layer_clock.cycles[part] - inside * (double)layer_clock.count[part];
	for (int part = 0; part < LAYER_SEND; part++)
		cycles[part == LAYER_PUT ? LAYER_SEND : LAYER_RECEIVE] -=
			cycles[part] + around * (double)layer_clock.count[part];
	for (int part = 0; part < LAYER_PARTS; part++)
		samples_add(&of_parts[part], fmax(0, cycles[part]) / operations);
	forget_burst();
}

void layer_clock_take(double ns[LAYER_PARTS])
{
	double scale = (double)(monotonic_ns() - began_ns) / (double)(cycle_clock() - began_cycles);

	layer_clock.on = false;
	for (int part = 0; part < LAYER_PARTS; part++) {
		ns[part] = samples_summary(&of_parts[part]).median * scale;
		samples_free(&of_parts[part]);
	}
}
