/* SPDX-License-Identifier: BSD-3-Clause */
#include "scale_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"

#define LOGARITHM_OF_NOTHING 0.1 /* what is measured as 0 is drawn, and fitted, as that */

static unsigned curve_count(const struct figure *figure)
{
	unsigned count = 0;

	while (figure->curves[count])
		count++;
	return count;
}

static double logarithm(double value)
{
	return log(value > LOGARITHM_OF_NOTHING ? value : LOGARITHM_OF_NOTHING);
}

static double steepness(const struct figure *figure, unsigned curve)
{
	double n = figure->points, x = 0, y = 0, xx = 0, xy = 0;

	for (unsigned i = 0; i < figure->points; i++) {
		double at = logarithm(figure->x[i]), value = logarithm(figure->y[i][curve]);

		x += at;
		y += value;
		xx += at * at;
		xy += at * value;
	}
	return n > 1 ? (n * xy - x * y) / (n * xx - x * x) : 0;
}

void figure_print(const struct figure *figure)
{
	unsigned curves = curve_count(figure);

	printf("# %s, %s\n# %12s", figure->title, figure->unit, figure->x_title);
	for (unsigned curve = 0; curve < curves; curve++)
		printf(" %16s", figure->curves[curve]);
	putchar('\n');
	for (unsigned i = 0; i < figure->points; i++) {
		printf("%14.0f", figure->x[i]);
		for (unsigned curve = 0; curve < curves; curve++)
			printf(" %16.1f", figure->y[i][curve]);
		putchar('\n');
	}
	printf("# %12s", "exponent");
	for (unsigned curve = 0; curve < curves; curve++)
		printf(" %16.2f", steepness(figure, curve));
	printf("\n\n");
	fflush(stdout);
}

static void write_data(const struct figure *figure, const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		fail("cannot write %s", path);
	for (unsigned i = 0; i < figure->points; i++) {
		fprintf(file, "%.0f", figure->x[i]);
		for (unsigned curve = 0; curve < curve_count(figure); curve++)
			fprintf(file, " %g", fmax(figure->y[i][curve], LOGARITHM_OF_NOTHING));
		fputc('\n', file);
	}
	if (fclose(file))
		fail("cannot write %s", path);
}

bool figure_plot(const struct figure *figure, const char *directory)
{
	char data[1024], picture[1024];

	snprintf(data, sizeof(data), "%s/%s.dat", directory, figure->name);
	snprintf(picture, sizeof(picture), "%s/%s.svg", directory, figure->name);
	write_data(figure, data);
	FILE *gnuplot = popen("gnuplot", "we");

	if (!gnuplot)
		return false;
	fprintf(gnuplot,
		"set terminal svg size 900,600 background 'white'\nset output '%s'\nset title '%s'\nset xlabel '%s'\n"
		"set ylabel '%s'\nset logscale xy\nset key outside\nset grid\nplot",
		picture, figure->title, figure->x_title, figure->unit);
	for (unsigned curve = 0; curve < curve_count(figure); curve++)
		fprintf(gnuplot, "%s '%s' using 1:%u with linespoints title '%s'", curve ? "," : "", data, curve + 2,
			figure->curves[curve]);
	fputc('\n', gnuplot);
	return pclose(gnuplot) == 0;
}
