/* SPDX-License-Identifier: BSD-3-Clause */
#include "bars.h"

#include <math.h>
#include <stdlib.h>

#include "fail.h"
#include "gnuplot.h"
#include "html.h"

#define WIDTH            760.0
#define LEFT             280.0 /* of it for names */
#define RIGHT            90.0  /* and for figures */
#define TOP              40.0
#define ROW              22.0
#define LOGARITHMIC_FROM 30 /* the greatest value to the least */

void bars_add(struct bars *bars, const char *name, double value)
{
	if (isnan(value))
		return;
	if (bars->count == bars->room) {
		bars->room = bars->room ? 2 * bars->room : 16;
		bars->bar = realloc(bars->bar, bars->room * sizeof(*bars->bar));
		if (!bars->bar)
			fail("no memory for %zu bars", bars->room);
	}
	struct bar *bar = &bars->bar[bars->count++];
	snprintf(bar->name, sizeof(bar->name), "%s", name);
	bar->value = value;
}

void bars_free(struct bars *bars)
{
	free(bars->bar);
	*bars = (struct bars){0};
}

/* Lengths are logarithms, from a power of ten, where the least bar would not be seen beside the greatest. */
struct scale {
	double from, most;
	bool logarithmic;
};

static struct scale scale_of(const struct bars *bars)
{
	double least = NAN, most = NAN;

	for (size_t i = 0; i < bars->count; i++)
		if (bars->bar[i].value > 0) {
			least = fmin(least, bars->bar[i].value);
			most = fmax(most, bars->bar[i].value);
		}
	if (isnan(most))
		return (struct scale){0, 1, false};
	/* Shares are compared as lengths, however small. */
	if (most <= LOGARITHMIC_FROM * least || bars->unit[0] == '%')
		return (struct scale){0, most, false};
	/* Strictly below the least, which has a length. */
	return (struct scale){pow(10, ceil(log10(least)) - 1), most, true};
}

/* From 0 to 1. */
static double length_of(const struct scale *scale, double value)
{
	if (value <= scale->from)
		return 0;
	return scale->logarithmic ? log(value / scale->from) / log(scale->most / scale->from) : value / scale->most;
}

static const char style[] =
	"<style>svg{background:#fff;font:12px sans-serif}text{fill:#333}rect{fill:#2a6fc9}</style>\n";

void bars_write_svg(const struct bars *bars, FILE *out, bool alone)
{
	const struct scale scale = scale_of(bars);

	fprintf(out,
		"<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
		"xmlns=\"http://www.w3.org/2000/svg\">\n<title>",
		WIDTH, TOP + ROW * (double)bars->count + 10);
	html_text(out, bars->title);
	fprintf(out, "</title>\n%s<text x=\"10\" y=\"20\">", alone ? style : "");
	html_text(out, bars->title);
	fprintf(out, ", ");
	html_text(out, bars->unit);
	fprintf(out, "%s</text>\n", scale.logarithmic ? "; lengths are logarithmic" : "");
	for (size_t i = 0; i < bars->count; i++) {
		const double y = TOP + ROW * (double)i,
			     length = length_of(&scale, bars->bar[i].value) * (WIDTH - LEFT - RIGHT);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 8, y + 13);
		html_text(out, bars->bar[i].name);
		fprintf(out,
			"</text><rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
			"<text x=\"%.1f\" y=\"%.1f\">%.4g</text>\n",
			LEFT, y, length, ROW - 6, LEFT + length + 6, y + 13, bars->bar[i].value);
	}
	fprintf(out, "</svg>\n");
}

void bars_write_png(const struct bars *bars, const char *path)
{
	const struct scale scale = scale_of(bars);
	FILE *gnuplot = gnuplot_open(path, bars->title);

	gnuplot_set(gnuplot, "ylabel", bars->unit);
	fprintf(gnuplot, "set xtics rotate by -45\nset grid y\nset boxwidth 0.7\nset style fill solid\n");
	if (scale.logarithmic)
		fprintf(gnuplot, "set logscale y\nset yrange [%.10g:]\n", scale.from);
	else
		fprintf(gnuplot, "set yrange [0:]\n");
	fprintf(gnuplot, "plot '-' using 0:1:xtic(2) with boxes notitle\n");
	for (size_t i = 0; i < bars->count; i++)
		fprintf(gnuplot, "%.10g \"%s\"\n", bars->bar[i].value, bars->bar[i].name);
	fprintf(gnuplot, "e\n");
	gnuplot_close(gnuplot, path);
}
