/* SPDX-License-Identifier: BSD-3-Clause */
/* Files for PTL_TUNING_FILE, of this machine and this version of the library. */
#ifndef TESTS_TUNING_H
#define TESTS_TUNING_H

/* From now on what is forked sends long messages of a node that way ("staged"); NULL: as it has measured.  For one caller at a time. */
void tuning_choose(const char *way);

#endif
