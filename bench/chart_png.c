/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart as PNG: gnuplot draws it, from data that are part of its script. */
#include "chart.h"

#include "gnuplot.h"

static void write_data(FILE *out, const struct chart_curve *curve)
{
	for (size_t i = 0; i < curve->count; i++)
		fprintf(out, "%.10g %.10g\n", curve->points[i].x, curve->points[i].y);
	fprintf(out, "e\n");
}

void chart_write_png(const struct chart *chart, const char *path)
{
	FILE *gnuplot = gnuplot_open(path, chart->title);

	fprintf(gnuplot, "set key outside below\nset grid\n");
	gnuplot_set(gnuplot, "xlabel", chart->x_title);
	gnuplot_set(gnuplot, "ylabel", chart->y_title);
	if (chart_axis(chart, true).logarithmic)
		fprintf(gnuplot, "set logscale x\n");
	if (chart_axis(chart, false).logarithmic)
		fprintf(gnuplot, "set logscale y\n");
	for (size_t i = 0; i < chart->count; i++) {
		fprintf(gnuplot, "%s '-' using 1:2 with linespoints title ", i ? "," : "plot");
		gnuplot_quoted(gnuplot, chart->curves[i].name);
	}
	fputc('\n', gnuplot);
	for (size_t i = 0; i < chart->count; i++)
		write_data(gnuplot, &chart->curves[i]);
	gnuplot_close(gnuplot, path);
}
