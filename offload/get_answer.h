/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer to a get whose START has been told, now or later, and its END.  Owner only. */
#ifndef PORTALS_OFFLOAD_GET_ANSWER_H
#define PORTALS_OFFLOAD_GET_ANSWER_H

#include "offload/operation.h"

void get_answer(struct nic *, struct peer *, uint32_t token, struct descriptor *, const struct event_info *);
void get_answer_long(struct nic *, struct peer *, uint32_t token, struct descriptor *, const struct event_info *);

#endif
