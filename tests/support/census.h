/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that make more processes than the harness joins: their beginning, their end, and what each of them holds. */
#ifndef TESTS_CENSUS_H
#define TESTS_CENSUS_H

#include <sys/types.h>

/* Says so, with what the library reported last, and exits with 1. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Forks a process that does nothing but run(), and ends with this one. */
pid_t begin_process(void (*run)(void));

/* Sleeps for some milliseconds: between looks at what others do. */
void rest(void);

/* The number behind `name` in /proc/PROCESS/FILE, such as "VmRSS" in "status"; 0: there is no such line. */
long number_of(pid_t process, const char *file, const char *name);
long descriptors_of(pid_t process);

#endif
