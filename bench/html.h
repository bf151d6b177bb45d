/* SPDX-License-Identifier: BSD-3-Clause */
/* Text in HTML and SVG. */
#ifndef PTLBENCH_HTML_H
#define PTLBENCH_HTML_H

#include <stdio.h>

/* What is markup in the text is written so that it is shown. */
void html_text(FILE *out, const char *text);

#endif
