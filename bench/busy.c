/* SPDX-License-Identifier: BSD-3-Clause */
#include "busy.h"

#include <math.h>
#include <unistd.h>

#define BEGINNING 0.5 /* what the program that started us may have left in the load average */

void busy_read(struct machine_load *load, FILE *loadavg, FILE *stat)
{
	unsigned long long user, nice, system, interrupt, soft, stolen;
	const double ticks = (double)sysconf(_SC_CLK_TCK);

	load->average = load->busy_s = load->stolen_s = NAN;
	load->runnable = 0;
	if (loadavg && fscanf(loadavg, "%lf %*s %*s %u/", &load->average, &load->runnable) == 2 && load->runnable > 0)
		load->runnable--; /* this thread */
	if (!stat || fscanf(stat, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &system, &interrupt, &soft,
			    &stolen) != 6)
		return;
	load->busy_s = (double)(user + nice + system + interrupt + soft) / ticks;
	load->stolen_s = (double)stolen / ticks;
}

double busy_stolen_percent(const struct machine_load *begin, const struct machine_load *end, long online)
{
	const double passed = end->clock_s - begin->clock_s;

	return passed < BUSY_STOLEN_S ? NAN : 100 * (end->stolen_s - begin->stolen_s) / (passed * (double)online);
}

bool busy_spoils(const struct machine_load *begin, const struct machine_load *end, long online, long allowed)
{
	/* What is NaN is no reason. */
	return allowed < BUSY_NEEDED_CPUS || (double)end->runnable + BUSY_NEEDED_CPUS > (double)online ||
	       end->average + BUSY_NEEDED_CPUS > (double)online + BEGINNING ||
	       busy_stolen_percent(begin, end, online) > BUSY_STOLEN_PERCENT;
}
