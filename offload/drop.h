/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are dropped, and why. */
#ifndef PORTALS_OFFLOAD_DROP_H
#define PORTALS_OFFLOAD_DROP_H

#include "offload/operation.h"

/* Counts a message that nothing matches. */
void drop_count(struct nic *, uint64_t length);

/* Tells people, if any listen, why that request was dropped, or why something else was (drop.c). */
struct access;
void drop_explain(const struct nic *, const struct peer *, const struct wire_message *, const struct access *,
		  bool granted);
#define OPERATIONS_OWED_TEXT "no more operations are held for this peer"
void drop_tell(const struct nic *, const struct peer *, enum wire_operation what, const char *why);

/* The same of an answer of ours. */
void drop_tell_answer(const struct nic *, const struct peer *, enum wire_operation what, const char *why);

#endif
