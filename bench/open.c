/* SPDX-License-Identifier: BSD-3-Clause */
/* How long an interface takes to open and to close. */
#include "tests.h"

#include "base/arch.h"
#include "machine.h"
#include "output.h"
#include "session.h"
#include "stats.h"

static const struct column columns[] = {
	{"Call", "call", -22},
	{"median (ms)", "median_ms", 3},
	{"p10", "p10", 3},
	{"p90", "p90", 3},
};

static void print_call(const char *call, struct samples *samples)
{
	struct summary summary = samples_summary(samples);

	output_row((union cell[]){{.text = call}, {summary.median / 1e6}, {summary.p10 / 1e6}, {summary.p90 / 1e6}});
	samples_free(samples);
}

int open_close(const struct options *options)
{
	uint32_t trials = options->load.iterations ? options->load.iterations : options->load.quick ? 5 : 20;
	struct samples opening = {0}, closing = {0}, both = {0};
	struct session session = {.options = options};
	ptl_handle_ni_t ni;

	session_open_interface(&session, PTL_PID_ANY); /* what only the first one has to do is not counted */
	machine_facts();
	PTL(PtlNIFini(session.ni));
	output_table(columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t trial = 0; trial < trials; trial++) {
		uint64_t start = monotonic_ns();
		PTL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
		uint64_t middle = monotonic_ns();
		PTL(PtlNIFini(ni));
		uint64_t end = monotonic_ns();
		samples_add(&opening, (double)(middle - start));
		samples_add(&closing, (double)(end - middle));
		samples_add(&both, (double)(end - start));
	}
	print_call("PtlNIInit", &opening);
	print_call("PtlNIFini", &closing);
	print_call("PtlNIInit and PtlNIFini", &both);
	PtlFini();
	return 0;
}
