/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact mode: a program is done by the library and by the reference model, step by step.
 *
 * exact.c runs it, exact_calls.c makes the calls on both sides, exact_observe.c looks at what the scripted transport
 * carries and tells the model which of its happenings that is, exact_compare.c compares what both say.
 *
 * What is never scripted, so that a fault there goes unseen:
 *   - threads: one thread makes all calls and drives all engines in turn, in mode `host` and in one process; there is
 *     no NIC thread, no contended ownership, no sleep, no doorbell, no fork();
 *   - calls: PtlEQWait, PtlEQPoll with a time-out, handlers of event queues, NULL where a result goes, limits other
 *     than the usual ones, runtime and ranks; on a closed interface only PtlGetId; PTL_LINGER is 0;
 *   - the transport: messages of one direction that are lost singly, doubled, overtaken or spoilt; a send or read that
 *     is refused with anything but -EAGAIN; memory that cannot be exposed; a port that a probe finds closed; a network
 *     that opens late;
 *   - first contact: other wire versions, REFUSED, a process at another than its first address, a sender that claims
 *     the id of another; and no peer falls silent for PTL_PEER_TIMEOUT;
 *   - users: all interfaces have one uid and one jid, so an access control entry names these, any or none;
 *   - sizes: memory beyond PROGRAM_MEMORY bytes, counters that wrap, lack of memory.
 * A process that dies closes its interface first, so its memory is deregistered before anything can be read from it.
 * Which conversation ends when, and in which order if several do, is read off the library.
 */
#ifndef PORTALS_TESTS_MODEL_EXACT_H
#define PORTALS_TESTS_MODEL_EXACT_H

#include "offload/nic.h"
#include "tests/model/program.h"
#include "tests/model/reference.h"
#include "tests/support/scripted.h"

/* What was made in a slot last: the library's handle, and the model's number of the same object. */
struct slot {
	ptl_handle_any_t handle;
	unsigned number;
};

struct slots {
	struct slot entry[PROGRAM_ENTRIES], md[PROGRAM_MDS], queue[PROGRAM_QUEUES];
};

struct exact {
	struct program *program;
	const struct step *step;
	struct reference *reference;
	ptl_handle_ni_t ni[PROGRAM_INTERFACES];
	struct nic *nic[PROGRAM_INTERFACES];
	struct reference_interface is[PROGRAM_INTERFACES];
	uint8_t *memory[PROGRAM_INTERFACES];
	struct slots slots[PROGRAM_INTERFACES];
	/* Are the two out of step, so that what they say may be lost?  When that is over: exact_observe.c. */
	bool disturbed[PROGRAM_INTERFACES][PROGRAM_INTERFACES];
};

extern struct exact exact;

/* --- running (exact.c) --- */

/* What happened in a program, in memory that outlives the process that runs it. */
struct outcome {
	uint64_t steps;
	bool disagreed;
	unsigned at; /* step */
	char what[400];
};

/* Runs it in this process, which ends if there is a disagreement.  With a generator, makes the program on the way. */
void exact_run(struct program *, struct generator *, struct outcome *);

_Noreturn void disagree(const char *format, ...) __attribute__((format(printf, 1, 2)));

ptl_process_id_t exact_id(enum who);

/* --- calls (exact_calls.c) --- */

void exact_call(const struct step *);
/* Takes one event of a queue on both sides; false if there was none. */
bool exact_take(unsigned ni, const struct slot *);
void exact_status(unsigned ni, ptl_sr_index_t);

/* --- comparing (exact_compare.c) --- */

void compare_begin(void);
/* The interface counts its operations from the beginning. */
void compare_restarted(unsigned ni);
void compare_codes(const char *call, int actual, int expected);
void compare_memory(void);
void compare_md(const char *what, const ptl_md_t *actual, const ptl_md_t *expected);
void compare_events(unsigned ni, const ptl_event_t *actual, const ptl_event_t *expected);
/* The library's handle of an object; to be told when one is made. */
void handle_note(unsigned number, ptl_handle_any_t);
ptl_handle_any_t handle_of_number(unsigned number);

/* --- the network (exact_observe.c) --- */

extern const struct scripted_observer exact_observer;

void observe_begin(void);
/* The interface hears that the other one is gone. */
void observe_gone(unsigned ni, unsigned peer);
/* The interface was closed. */
void observe_closed(unsigned ni);
/* After a step that may have ended conversations. */
void observe_conversations(unsigned ni);
/* From now on the two may not understand each other, */
void observe_disturbance(unsigned one, unsigned other);
/* until they do again; to be called after every step that may have brought that about. */
void observe_reconciled(void);

/* --- what is exposed (exact_exposed.c) --- */

/* All of it belongs to something that lives.  Returns how much is exposed for operations under way. */
unsigned observe_memory_regions(void);

#endif
