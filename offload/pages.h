/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of our own mappings that are not needed for the time being. */
#ifndef PORTALS_OFFLOAD_PAGES_H
#define PORTALS_OFFLOAD_PAGES_H

/*
 * Gives the whole pages between *begin and *end back to the system.  They stay mapped and read as zero, to threads that still
 * look as well, until they are written again.  *begin and *end become what was given back: nothing (*begin == *end) if no page
 * lies between, or these are locked in memory.  A system call.
 */
void pages_give_back(char **begin, char **end);

#endif
