/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a process in a round: attach, issue and serve in turns, meet, grow quiet, be audited.
 *
 * A turn issues some requests, reads what has happened and replaces what was used up.  Processes pace each other: an
 * initiator sends a target only so much in one turn of the target, or chains would be empty most of the time.
 */
#include "tests/model/free_process.h"

#include <stdarg.h>
#include <stdio.h>

#include "tests/model/free_initiator.h"
#include "tests/model/free_target.h"

#define TURNS_PER_FLOOD 50 /* the small queue is looked at so seldom */
#define AT_ONCE         400

enum phase { PHASE_ISSUED, PHASE_MATCHED, PHASE_RECEIVED, PHASE_QUIET, PHASE_STILL_QUIET };

ptl_handle_eq_t queue[QUEUES];
struct random own_chance;
ptl_uid_t our_uid;
ptl_jid_t jid_of[FREE_PROCESSES];
struct ledger *ledger;

static ptl_seq_t last_sequence[QUEUES];

static size_t ledger_size(void)
{
	return sizeof(struct ledger) + program.total * sizeof(struct record);
}

void ledger_make(void)
{
	ledger = share(ledger_size());
}

void ledger_free(void)
{
	unshare(ledger, ledger_size());
}

struct record *record_of(unsigned initiator, uint32_t number)
{
	return &ledger->record[program.base[initiator] + number];
}

uint64_t turns_taken(void)
{
	return atomic_load_explicit(&ledger->turns[my_rank], memory_order_relaxed);
}

void disagree_at(const char *file, int line, unsigned initiator, uint32_t number, const char *format, ...)
{
	const struct request *request = request_at(initiator, number);
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (!program.round.terse)
		print_pair(initiator, request->target, number);
	fflush(stdout);
	fail_at(file, line, "request %u of process %u to process %u, lane %u: %s", number, initiator, request->target,
		request->lane, text);
}

struct subject subject_of(const ptl_event_t *event)
{
	struct subject subject = {.initiator = (unsigned)(event->match_bits >> 24) & 0xff,
				  .number = (uint32_t)event->match_bits & 0xffffff};
	if (subject.initiator >= program.round.processes || subject.number >= program.count[subject.initiator])
		FAIL("%s with match bits 0x%llx, which nobody sent", PtlEventKindStr(event->type),
		     (unsigned long long)event->match_bits);
	subject.request = request_at(subject.initiator, subject.number);
	subject.record = record_of(subject.initiator, subject.number);
	AGREE_EQUAL(&subject, event->match_bits, bits_of(subject.initiator, subject.number));
	return subject;
}

/* ---- Queues ---- */

static void open_queues(void)
{
	uint32_t addressed = 0;
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++)
		for (uint32_t number = 0; number < program.count[initiator]; number++)
			addressed += request_at(initiator, number)->target == (unsigned)my_rank;
	for (enum queue which = 0; which < QUEUES; which++) {
		bool of_initiator = which == QUEUE_FIRST || which == QUEUE_SECOND;
		queue[which] = new_eq(of_initiator ? 5 * program.count[my_rank] + 64 : 3 * addressed + 64);
		last_sequence[which] = 0;
	}
}

static void (*const handler[QUEUES])(enum queue, const ptl_event_t *) = {
	[QUEUE_FIRST] = initiator_event, [QUEUE_SECOND] = initiator_event, [QUEUE_TARGET] = target_event,
	[QUEUE_CHAIN] = target_event,    [QUEUE_RECEIVES] = target_event,  [QUEUE_UNEXPECTED] = target_event,
};

static void handle(enum queue which, int rc, const ptl_event_t *event)
{
	CHECK_RC(rc, PTL_OK); /* no queue but the small one overflows */
	CHECK_EQUAL(event->sequence, last_sequence[which] + 1);
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
	last_sequence[which] = event->sequence;
	handler[which](which, event);
}

bool queue_drain(enum queue which, int most)
{
	ptl_event_t event;
	for (int i = 0; i < most; i++) {
		int rc = PtlEQGet(queue[which], &event);
		if (rc == PTL_EQ_EMPTY)
			return true;
		handle(which, rc, &event);
	}
	return false;
}

static void wait_a_moment(void)
{
	ptl_event_t event;
	int which;
	int rc = PtlEQPoll(queue, QUEUE_FLOOD, 1, &event, &which);
	if (rc != PTL_EQ_EMPTY)
		handle((enum queue)which, rc, &event);
}

/* ---- Turns and phases ---- */

static void read_queues(void)
{
	for (enum queue which = 0; which < QUEUE_FLOOD; which++)
		if (queue_drain(which, AT_ONCE))
			lanes_settled(which);
}

static void take_turn(void)
{
	bool moved = issue_some();
	read_queues();
	if (turns_taken() % TURNS_PER_FLOOD == 0)
		flood_drain();
	receives_post();
	lanes_refill();
	origins_retire();
	atomic_fetch_add_explicit(&ledger->turns[my_rank], 1, memory_order_relaxed);
	if (!moved)
		wait_a_moment();
}

static void reach(enum phase phase)
{
	atomic_fetch_add(&ledger->reached[phase], 1);
	while (atomic_load(&ledger->reached[phase]) < program.round.processes)
		take_turn();
}

static void ping_all(void)
{
	for (unsigned process = 0; process < program.round.processes; process++)
		ping(id_of[process]);
}

static void grow_quiet(void)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	while (!all_is_quiet()) {
		take_turn();
		if (now_ns() > deadline)
			report_unrest();
	}
}

static void open_everything(void)
{
	own_chance = (struct random){program.round.seed * 77 + (uint64_t)my_rank};
	CHECK_OK(PtlGetUid(ni, &our_uid));
	ptl_jid_t jid, jids[MAX_PROCESSES];
	CHECK_OK(PtlGetJid(ni, &jid));
	gather(&jid, sizeof(jid), jids);
	for (unsigned process = 0; process < program.round.processes; process++)
		jid_of[process] = jids[process];
	open_queues();
	open_door();
	origins_open();
	lanes_open();
	barrier();
}

/*
 * The equation of all_is_quiet() can hold by chance while a target has not read of a request whose answer it will owe;
 * so it has to hold again when it has held everywhere, and once more when all have been heard of since.
 */
void process_run(void)
{
	open_everything();
	while (!issued_all())
		take_turn();
	reach(PHASE_ISSUED);
	ping_all();
	reach(PHASE_MATCHED);
	while (!receives_finish())
		take_turn();
	reach(PHASE_RECEIVED);
	grow_quiet();
	reach(PHASE_QUIET);
	grow_quiet();
	reach(PHASE_STILL_QUIET);
	ping_all();
	barrier();
	read_queues();
	if (!all_is_quiet())
		report_unrest();
	origins_close();
	audit();
	lanes_close();
	barrier();
	audit_swaps();
}
