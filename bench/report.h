/* SPDX-License-Identifier: BSD-3-Clause */
/* ptlbench report DIR: what ptlbench all has left there, as a page, DIR/index.html. */
#ifndef PTLBENCH_REPORT_H
#define PTLBENCH_REPORT_H

/* The arguments behind the word; returns the exit status. */
int report_page(int argc, char **argv);

#endif
