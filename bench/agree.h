/* SPDX-License-Identifier: BSD-3-Clause */
/* ptlbench agree DIR DIR: whether what ptlbench all has left in two folders says the same. */
#ifndef PTLBENCH_AGREE_H
#define PTLBENCH_AGREE_H

/* The arguments behind the word; returns the exit status: 1 if fewer than nine rows of ten agree. */
int agree_runs(int argc, char **argv);

#endif
