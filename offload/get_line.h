/* SPDX-License-Identifier: BSD-3-Clause */
/* The usual get in one go, as put_line.h has the usual put.  Owner only. */
#ifndef PORTALS_OFFLOAD_GET_LINE_H
#define PORTALS_OFFLOAD_GET_LINE_H

#include "offload/operation.h"

/* Its operation is new, and then waits for the answer. */
bool get_line(struct nic *, struct operation *);
bool get_line_arrived(struct nic *, transport_address from, const void *bytes, size_t length);

#endif
