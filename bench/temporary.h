/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of this process alone for files that end with it. */
#ifndef PTLBENCH_TEMPORARY_H
#define PTLBENCH_TEMPORARY_H

/* With the name of a file in it, still short enough for the address of a socket (108 bytes). */
typedef char temporary_folder[64];

/* In TMPDIR, or in /tmp where that is not set or too long.  Gives up if there can be none; the caller removes it. */
void temporary_folder_make(temporary_folder folder);

#endif
