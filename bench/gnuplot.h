/* SPDX-License-Identifier: BSD-3-Clause */
/* gnuplot as a process that is told what to draw, for files .png. */
#ifndef PTLBENCH_GNUPLOT_H
#define PTLBENCH_GNUPLOT_H

#include <stdio.h>

/* Where its script goes; ends the process with the reason if it cannot be started, or, when it is closed, if it has failed. */
FILE *gnuplot_open(const char *path, const char *title);
void gnuplot_close(FILE *gnuplot, const char *path);

/* "set SETTING 'TEXT'", and the quoted text alone. */
void gnuplot_set(FILE *gnuplot, const char *setting, const char *text);
void gnuplot_quoted(FILE *gnuplot, const char *text);

#endif
