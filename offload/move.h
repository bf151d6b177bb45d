/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that move data: nic_command's, whose results refusal.h describes. */
#ifndef PORTALS_OFFLOAD_MOVE_H
#define PORTALS_OFFLOAD_MOVE_H

#include "offload/operation.h"

#define MOVE_WHOLE UINT64_MAX

struct move {
	ptl_handle_md_t md_handle, put_handle; /* put_handle: getput only */
	bool put_elsewhere;                    /* put_handle names a descriptor of another interface */
	uint64_t put_offset;                   /* likewise */
	struct put_arguments arguments;        /* length MOVE_WHOLE: all of it */
};

/* Given a struct move. */
int move_put(struct nic *, void *);
int move_get(struct nic *, void *);
int move_getput(struct nic *, void *);
/* Given a handle: 0, or refused with PTL_MD_INVALID without a report. */
int move_exists(struct nic *, void *);

#endif
