/* SPDX-License-Identifier: BSD-3-Clause */
#include "gnuplot.h"

#include "fail.h"

/* Names of curves and titles of axes are ours; a path may have any character, so quotes in it are doubled. */
void gnuplot_quoted(FILE *gnuplot, const char *text)
{
	fputc('\'', gnuplot);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', gnuplot);
		fputc(*text, gnuplot);
	}
	fputc('\'', gnuplot);
}

void gnuplot_set(FILE *gnuplot, const char *setting, const char *text)
{
	fprintf(gnuplot, "set %s ", setting);
	gnuplot_quoted(gnuplot, text);
	fputc('\n', gnuplot);
}

FILE *gnuplot_open(const char *path, const char *title)
{
	FILE *gnuplot = popen("gnuplot", "we");

	if (!gnuplot)
		fail("cannot start gnuplot");
	fprintf(gnuplot, "set terminal png size 900,600 noenhanced\n");
	gnuplot_set(gnuplot, "output", path);
	gnuplot_set(gnuplot, "title", title);
	return gnuplot;
}

void gnuplot_close(FILE *gnuplot, const char *path)
{
	if (pclose(gnuplot) != 0)
		fail("gnuplot has failed: there is no %s", path);
}
