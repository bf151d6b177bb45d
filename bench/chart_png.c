/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart as PNG: gnuplot draws it, from data that are part of its script. */
#include "chart.h"

#include <stdlib.h>

#include "fail.h"

/* Names of curves and titles of axes are ours; a path may have any character, so quotes in it are doubled. */
static void write_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

static void write_line(FILE *out, const char *setting, const char *text)
{
	fprintf(out, "set %s ", setting);
	write_quoted(out, text);
	fputc('\n', out);
}

static void write_data(FILE *out, const struct chart_curve *curve)
{
	for (size_t i = 0; i < curve->count; i++)
		fprintf(out, "%.10g %.10g\n", curve->points[i].x, curve->points[i].y);
	fprintf(out, "e\n");
}

void chart_write_png(const struct chart *chart, const char *path)
{
	FILE *gnuplot = popen("gnuplot", "we");

	if (!gnuplot)
		fail("cannot start gnuplot");
	fprintf(gnuplot, "set terminal png size 900,600 noenhanced\nset key outside below\nset grid\n");
	write_line(gnuplot, "output", path);
	write_line(gnuplot, "title", chart->title);
	write_line(gnuplot, "xlabel", chart->x_title);
	write_line(gnuplot, "ylabel", chart->y_title);
	if (chart_axis(chart, true).logarithmic)
		fprintf(gnuplot, "set logscale x\n");
	if (chart_axis(chart, false).logarithmic)
		fprintf(gnuplot, "set logscale y\n");
	for (size_t i = 0; i < chart->count; i++) {
		fprintf(gnuplot, "%s '-' using 1:2 with linespoints title ", i ? "," : "plot");
		write_quoted(gnuplot, chart->curves[i].name);
	}
	fputc('\n', gnuplot);
	for (size_t i = 0; i < chart->count; i++)
		write_data(gnuplot, &chart->curves[i]);
	if (pclose(gnuplot) != 0)
		fail("gnuplot has failed: there is no %s", path);
}
