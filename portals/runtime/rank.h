/* SPDX-License-Identifier: BSD-3-Clause */
/* What PtlInit, PtlNIInit and their opposites have to do with the runtime library (rank.c). Under process_lock(). */
#ifndef PORTALS_RUNTIME_RANK_H
#define PORTALS_RUNTIME_RANK_H

#include <portals3.h>

/*
 * An interface is about to open: a group for it, if one was set or a launcher has one.  *jid becomes the launcher's job,
 * if it was the launcher's.  0, or a negative errno value, reported: this process is one of several that cannot meet.
 */
int rank_prepare(ptl_jid_t *jid);

/* The pid that the group set for the next interface wants for this process; PTL_PID_ANY if it does not say. */
ptl_pid_t rank_wanted_pid(void);

/* Where the group set for the next interface keeps its processes' addresses; NULL: it was not launched. */
struct address_book *rank_addresses(uint32_t interface);

/* The interface has been opened with that group: tells the job, if need be.  0 or a negative errno value, reported. */
int rank_adopt(uint32_t interface, ptl_process_id_t id);

/* A line for humans: what its group is and what told it.  Returns its length, as snprintf(). */
int rank_describe(uint32_t interface, char *text, size_t size);

/* The interface has been closed. */
void rank_forget(uint32_t interface);

/* PtlFini: a group that no interface took is forgotten too. */
void rank_forget_all(void);

#endif
