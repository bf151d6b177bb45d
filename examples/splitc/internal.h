/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this layer share.  One portal table entry with one match entry for each purpose:
 *
 *     MEMORY   the segment, puts and gets at the initiator's offset, no events: what is read and written without this process
 *     STORES   the segment again, puts only, an event for each: their bytes are counted here
 *     TAKEN    how many stores of each process have been counted, to be got: how far it may go on storing
 *     WORDS    what others tell this process, to be put: the bytes that each has stored here
 *     ARRIVED  no bytes; hdr_data is a round of the barrier, an event for each
 */
#ifndef EXAMPLES_SPLITC_INTERNAL_H
#define EXAMPLES_SPLITC_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <portals3.h>
#include <portals3_nic.h>

#include "splitc.h"

#define PT_INDEX 21
#define ROUNDS   8    /* of a barrier of SC_PROCESSES */
#define WINDOW   1024 /* stores from one process to another that may be uncounted */
#define WORDS    256  /* values under way at a time */
#define BULK     4096 /* bulk operations under way at a time */

enum entry { MEMORY, STORES, TAKEN, TOLD, ARRIVED, ENTRIES };

/* A value on its way. */
struct operation {
	struct operation *next;
	uint64_t word;
	uint64_t *value;  /* where a value that was got goes, or NULL */
	bool ends_by_ack; /* a put; otherwise by its reply, or, a store, by SEND_END */
};

struct splitc {
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	unsigned rank, size;
	ptl_process_id_t ids[SC_PROCESSES];
	char *segment;
	size_t length, used;
	ptl_handle_me_t entries[ENTRIES];
	ptl_handle_md_t words_md;
	struct operation words[WORDS], *free;
	unsigned under_way;
	uint64_t barriers, arrived[ROUNDS];
	uint64_t stored_to[SC_PROCESSES], sent_to[SC_PROCESSES],
		taken_by[SC_PROCESSES];                          /* bytes, stores, stores counted */
	uint64_t stored_here, stored_before, from[SC_PROCESSES]; /* bytes */
	uint64_t taken[SC_PROCESSES], told[SC_PROCESSES];        /* read, and written, by others */
	int failure;
};

extern struct splitc sc;

/* Takes the events that are there; waits for one if there is none.  Returns sc.failure. */
int sc_progress(void);
bool sc_valid(sc_global at, size_t bytes);
/* access.c */
/* Waits until it is over. */
int sc_fetch_word(uint64_t *value, unsigned process, enum entry entry, uint64_t offset);
int sc_tell_word(unsigned process, enum entry entry, uint64_t offset, uint64_t value);
int sc_send(sc_global to, const void *from, size_t bytes, enum entry entry);
int sc_send_word(sc_global to, uint64_t value, enum entry entry);
/* A put of no bytes: it has come to this round of a barrier. */
int sc_notify(unsigned process, unsigned round);
void sc_operation_event(const ptl_event_t *event);
/* store.c */
void sc_store_event(const ptl_event_t *event);

#endif
