/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chart as SVG: grid, axes, a line with its points for each curve, and the names below.  Colours and fonts are classes: a
 * page has them in its style sheet, light or dark; a document of its own brings them along.
 */
#include "chart.h"

#include <math.h>
#include <string.h>

#include "html.h"

#define WIDTH      640.0
#define HEIGHT     360.0
#define LEFT       64.0
#define RIGHT      30.0
#define TOP        14.0
#define BOTTOM     46.0
#define LEGEND_ROW 20.0
#define LEGENDS    2 /* names in a row */
#define TICKS_MOST 7

static double whole_below(double value)
{
	double whole = trunc(value);

	return whole > value ? whole - 1 : whole;
}

static double across(double at)
{
	return LEFT + at * (WIDTH - LEFT - RIGHT);
}

static double down(double at)
{
	return HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM);
}

/* 1K, 64K, 4M by powers of two where bytes are counted; otherwise as short as may be. */
static void write_number(FILE *out, double value, bool bytes)
{
	static const char suffixes[] = "KMG";
	int power = 0;

	while (bytes && value >= 1024 && fmod(value, 1024) == 0 && suffixes[power]) {
		value /= 1024;
		power++;
	}
	fprintf(out, fabs(value) < 1e5 ? "%.6g" : "%.0e", value);
	if (power)
		fputc(suffixes[power - 1], out);
}

/* The distance between neighbours, or the factor: 1, 2 or 5 times a power of ten; of a logarithmic axis a power of its base. */
static double tick_step(const struct chart_axis *axis, double base)
{
	double range = axis->most - axis->least, step;

	if (axis->logarithmic) {
		double powers = log(axis->most / axis->least) / log(base);
		return pow(base, fmax(1, ceil(powers / TICKS_MOST)));
	}
	step = pow(10, whole_below(log10(range / TICKS_MOST)));
	while (range / step > TICKS_MOST)
		step *= range / step > 5 * TICKS_MOST ? 10 : range / step > 2 * TICKS_MOST ? 5 : 2;
	return step;
}

static void write_tick(FILE *out, const struct chart_axis *axis, bool of_x, double value, bool bytes)
{
	double at;

	if (!chart_place(axis, value, &at) || at < -1e-9 || at > 1 + 1e-9)
		return;
	double x = across(at), y = down(at);
	if (of_x)
		fprintf(out,
			"<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">",
			x, TOP, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 16);
	else
		fprintf(out,
			"<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">",
			LEFT, y, WIDTH - RIGHT, LEFT - 6, y + 4);
	write_number(out, value, bytes);
	fprintf(out, "</text>\n");
}

static void write_axis(FILE *out, const struct chart_axis *axis, bool of_x, bool bytes)
{
	double base = bytes ? 2 : 10, step = tick_step(axis, base);

	if (!axis->logarithmic) {
		for (int i = (int)ceil(axis->least / step); i * step <= axis->most * (1 + 1e-9); i++)
			write_tick(out, axis, of_x, i * step, bytes);
		return;
	}
	double value = pow(base, whole_below(log(axis->least) / log(base) + 1e-9));
	while (value <= axis->most * (1 + 1e-9)) {
		write_tick(out, axis, of_x, value, bytes);
		value *= step;
	}
}

static void write_axes(const struct chart *chart, FILE *out, const struct chart_axis *x, const struct chart_axis *y)
{
	write_axis(out, x, true, strstr(chart->x_title, "bytes") != NULL);
	write_axis(out, y, false, false);
	fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
	html_text(out, chart->x_title);
	fprintf(out, "</text>\n<text transform=\"translate(14 %.1f) rotate(-90)\" text-anchor=\"middle\">",
		(TOP + HEIGHT - BOTTOM) / 2);
	html_text(out, chart->y_title);
	fprintf(out, "</text>\n");
}

static void write_curve(FILE *out, const struct chart_curve *curve, size_t number, const struct chart_axis axes[2])
{
	const char *command = "M";
	double x, y;

	fprintf(out, "<g class=\"c%zu\"><path class=\"curve\" d=\"", number);
	for (size_t i = 0; i < curve->count; i++)
		if (chart_place(&axes[0], curve->points[i].x, &x) && chart_place(&axes[1], curve->points[i].y, &y)) {
			fprintf(out, "%s%.1f %.1f", command, across(x), down(y));
			command = "L";
		}
	fprintf(out, "\"/>\n");
	for (size_t i = 0; i < curve->count; i++)
		if (chart_place(&axes[0], curve->points[i].x, &x) && chart_place(&axes[1], curve->points[i].y, &y)) {
			fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"><title>", across(x), down(y));
			html_text(out, curve->name);
			fprintf(out, ": %.6g at %.10g</title></circle>", curve->points[i].y, curve->points[i].x);
		}
	fprintf(out, "</g>\n");
}

static void write_legend(FILE *out, const struct chart *chart)
{
	for (size_t i = 0; i < chart->count; i++) {
		double x = LEFT + (double)(i % LEGENDS) * (WIDTH - LEFT - RIGHT) / LEGENDS,
		       y = HEIGHT + LEGEND_ROW * whole_below((double)i / LEGENDS) + 8;
		fprintf(out, "<path class=\"curve c%zu\" d=\"M%.1f %.1fh18\"/><text x=\"%.1f\" y=\"%.1f\">", i, x,
			y - 4, x + 24, y);
		html_text(out, chart->curves[i].name);
		fprintf(out, "</text>\n");
	}
}

static const char document_style[] =
	"<style>svg{background:#fff;font:12px sans-serif}text{fill:#333}.grid{stroke:#ddd}.axis{stroke:#666;fill:none}"
	".curve{fill:none;stroke:currentColor;stroke-width:2}circle{fill:currentColor}"
	".c0{color:#2a6fc9}.c1{color:#c2410c}.c2{color:#15803d}.c3{color:#7c3aed}"
	".c4{color:#b45309}.c5{color:#be185d}.c6{color:#0e7490}.c7{color:#525252}</style>\n";

void chart_write_svg(const struct chart *chart, FILE *out, bool document)
{
	struct chart_axis axes[2] = {chart_axis(chart, true), chart_axis(chart, false)};
	double height = HEIGHT + LEGEND_ROW * ceil((double)chart->count / LEGENDS);

	fprintf(out, "<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"%s>\n<title>", WIDTH, height,
		document ? " xmlns=\"http://www.w3.org/2000/svg\"" : "");
	html_text(out, chart->title);
	fprintf(out, "</title>\n%s", document ? document_style : "");
	write_axes(chart, out, &axes[0], &axes[1]);
	for (size_t i = 0; i < chart->count; i++)
		write_curve(out, &chart->curves[i], i, axes);
	write_legend(out, chart);
	fprintf(out, "</svg>\n");
}
