/* SPDX-License-Identifier: BSD-3-Clause */
/* PTL_STAT: what ptlstat sees of this process. */
#ifndef PORTALS_STAT_H
#define PORTALS_STAT_H

#include <stdbool.h>

/* Publishes a page, if it is wanted.  Never fails PtlInit: what goes wrong is a warning. */
void stat_open(bool wanted);
void stat_close(bool forked);

/* In a forked child: the page is its parent's. */
void stat_forked(void);

#endif
