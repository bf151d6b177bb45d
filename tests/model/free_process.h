/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes saw, and what each of them shares among its parts. */
#ifndef PORTALS_TESTS_MODEL_FREE_PROCESS_H
#define PORTALS_TESTS_MODEL_FREE_PROCESS_H

#include <stdatomic.h>

#include "tests/model/free_program.h"

/* ---- The ledger ---- */

struct record {
	/* the initiator's */
	uint8_t issued, send_end_due, send_started, send_ended, acked, reply_started, replied;
	uint32_t send_link, reply_link, acked_length, reply_length;
	int send_left, reply_left; /* of the descriptor's threshold, as START told it */
	/* the target's */
	uint8_t started, ended;
	uint32_t link, mlength;
	uint64_t offset;
	int left;
	uint32_t serial;        /* of the descriptor */
	_Atomic uint32_t taken; /* the process that got a swapped-in value back */
};

struct ledger {
	_Atomic uint32_t turns[FREE_PROCESSES];
	_Atomic uint32_t reached[8];              /* processes that have come to a phase */
	_Atomic int64_t accepted[FREE_PROCESSES]; /* requests, by their target */
	_Atomic int64_t owed[FREE_PROCESSES];     /* ACKs and REPLYs, by their initiator */
	_Atomic uint32_t
		blank_taken[FREE_PROCESSES][LANES][MAX_WORDS]; /* the process that got the first value of a word */
	struct record record[];
};

extern struct ledger *ledger;
/* In memory that the processes of a round inherit and share. */
void ledger_make(void);
void ledger_free(void);
struct record *record_of(unsigned initiator, uint32_t number);

/* ---- A process ---- */

enum queue {
	QUEUE_FIRST,
	QUEUE_SECOND,
	QUEUE_TARGET,
	QUEUE_CHAIN,
	QUEUE_RECEIVES,
	QUEUE_UNEXPECTED,
	QUEUE_FLOOD,
	QUEUES
};

extern ptl_handle_eq_t queue[QUEUES];
extern struct random own_chance;
extern ptl_uid_t our_uid;
extern ptl_jid_t jid_of[FREE_PROCESSES];

void process_run(void);
/* Takes what a queue has, at most so many events.  True if nothing was left. */
bool queue_drain(enum queue, int most);
uint64_t turns_taken(void);

/* The request that an event is about; checks that there is such a request. */
struct subject {
	unsigned initiator;
	uint32_t number;
	const struct request *request;
	struct record *record;
};
struct subject subject_of(const ptl_event_t *);

/* Ends the process with a report about a pair's request. */
#define DISAGREE(subject, ...) disagree_at(__FILE__, __LINE__, (subject)->initiator, (subject)->number, __VA_ARGS__)
#define AGREE(subject, condition)                                                                                      \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			DISAGREE(subject, "%s", #condition);                                                           \
	} while (0)
#define AGREE_EQUAL(subject, actual, expected)                                                                         \
	do {                                                                                                           \
		if ((actual) != (expected))                                                                            \
			DISAGREE(subject, "%s is %lld, not %lld", #actual, (long long)(actual),                        \
				 (long long)(expected));                                                               \
	} while (0)
void disagree_at(const char *file, int line, unsigned initiator, uint32_t number, const char *format, ...)
	__attribute__((noreturn, format(printf, 5, 6)));

/* ---- When all is quiet ---- */

bool all_is_quiet(void);
_Noreturn void report_unrest(void);
void audit(void);
/* After every process has closed its lanes. */
void audit_swaps(void);

#endif
