/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For programs whose processes each load libfabric anew: it searches /proc/kallsyms, megabytes that the kernel makes up as
 * they are read, for what memory of graphics processors needs.  A program's fopen() comes before that of the C library, and
 * finds an empty file there.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Its symbol is fopen for files of any size: the header makes fopen64 of the name. */
FILE *open_all_but_kallsyms(const char *path, const char *mode) __asm__("fopen");

FILE *open_all_but_kallsyms(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *);

	*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	return real(strcmp(path, "/proc/kallsyms") == 0 ? "/dev/null" : path, mode);
}
