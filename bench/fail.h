/* SPDX-License-Identifier: BSD-3-Clause */
/* How ptlbench gives up: one clear line on stderr; status 2 for a wrong command line, 1 for anything else. */
#ifndef PTLBENCH_FAIL_H
#define PTLBENCH_FAIL_H

void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void fail_usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Ends the process with a line on stderr if it still runs after so many seconds. */
void watchdog_start(unsigned seconds);

#endif
