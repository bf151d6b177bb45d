/* SPDX-License-Identifier: BSD-3-Clause */
/* Running other tests of ptlbench, each in a process of its own. */
#ifndef PTLBENCH_CHILD_H
#define PTLBENCH_CHILD_H

#include <stdbool.h>

struct child_end {
	char *out, *err; /* what it has printed; to be freed with child_end_free() */
	int status;      /* of its exit; -signal */
	double cpu_s;    /* of it and of the processes it has waited for */
};

/*
 * Runs ptlbench with these arguments, words separated by blanks; a first word with a '=' is a setting, for its environment.  `keep_err`: its stderr is in `err`; otherwise it is ours,
 * and `err` is "".
 */
void child_run(const char *command, bool keep_err, struct child_end *end);
void child_end_free(struct child_end *end);

/* Whether this process was started so. */
bool child_is_one(void);

#endif
