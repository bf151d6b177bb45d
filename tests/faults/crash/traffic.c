/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of every kind between three processes, and the books that each of them keeps of them.
 *
 * Every operation has memory of its own at both ends, which is used for nothing else, so that whatever is written there
 * too late is found in the end.  It also has a number: the place of its data at the target, and its header data.
 */
#include "tests/faults/crash/crash.h"

#include <string.h>
#include <sys/mman.h>

#define LONGEST   (320u << 10)
#define GET_BITS  0x9e7ull
#define PUT_BITS  0x907ull /* and the initiator's role */
#define IN_FLIGHT 2        /* operations with each peer */
#define NUMBERS   (MOST_OPERATIONS + SUCCESSOR_OPERATIONS)
#define MEMORY    ((size_t)NUMBERS * LONGEST)
#define DONE_BYTE 0xee
#define GOT_SEED  77

enum kind { PUT_SHORT, PUT_SLAB, PUT_LONG, GET_SHORT, GET_SLAB, GET_LONG, KINDS };

/* An operation of ours. */
struct operation {
	enum role peer;
	enum kind kind;
	size_t length;
	unsigned number;
	uint8_t *bytes;
	ptl_handle_md_t md;
	bool begun, ended, sent, acknowledged;
	uint64_t sum; /* of `bytes` since it has ended */
};

/* A put of another's, as its target. */
struct arrival {
	bool started, ended;
	size_t length;
	uint64_t sum;
};

static enum role me;
static uint64_t randomness;
static ptl_handle_eq_t in, out;
static struct operation operations[ROLES][NUMBERS];
static struct arrival arrivals[ROLES][NUMBERS];
static uint8_t *put_memory[ROLES]; /* into which others put */
static unsigned begun[ROLES], ended[ROLES], open_arrivals;
static uint64_t last_progress;
static bool with_successor, victim_failed;

uint64_t next_number(uint64_t *random)
{
	*random += 0x9e3779b97f4a7c15u;
	uint64_t z = (*random ^ *random >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint64_t sum_of(const uint8_t *bytes, size_t length)
{
	uint64_t sum = length, word = 0;

	for (size_t i = 0; i + 8 <= length; i += 8) {
		memcpy(&word, bytes + i, 8);
		sum = (sum ^ word) * 0x100000001b3u;
	}
	for (size_t i = length & ~(size_t)7; i < length; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3u;
	return sum;
}

static unsigned pattern_of(enum role initiator, unsigned number)
{
	return (unsigned)initiator * NUMBERS + number;
}

/*
 * Only what has to do with a victim that was killed may fail: until it has a successor, everything; then what was begun
 * before its death was noticed.
 */
static bool may_fail(enum role peer, unsigned number)
{
	if (with_successor)
		return peer == VICTIM && number < MOST_OPERATIONS + IN_FLIGHT;
	return plan.kill && (peer == VICTIM || me == VICTIM);
}

/* Address space; only what is used becomes memory. */
static uint8_t *reserve(size_t length)
{
	void *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(bytes != MAP_FAILED);
	return bytes;
}

void traffic_open(enum role role)
{
	uint8_t *got = reserve(LONGEST);

	me = role;
	randomness = plan.seed * ROLES + role;
	in = new_eq(4096);
	out = new_eq(1024);
	fill_pattern(got, LONGEST, GOT_SEED);
	open_window(GET_BITS, md_over(got, LONGEST, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET, PTL_EQ_NONE));
	for (unsigned from = 0; from < ROLES; from++) {
		put_memory[from] = reserve(MEMORY);
		open_window(PUT_BITS + from,
			    md_over(put_memory[from], MEMORY, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, in));
	}
}

/* --- what we send --- */

static size_t choose_length(enum kind kind)
{
	uint64_t random = next_number(&randomness);

	switch (kind) {
	case PUT_SHORT:
	case GET_SHORT:
		return random % 220;
	case PUT_SLAB:
	case GET_SLAB:
		return 220 + random % 7000;
	default:
		/* Sometimes too short to be split between two processes. */
		return random % 4 ? (64u << 10) + random % (LONGEST - (64u << 10)) : 20000;
	}
}

static void begin(enum role peer)
{
	struct operation *new = &operations[peer][begun[peer]];
	ptl_md_t md;

	*new = (struct operation){.peer = peer, .number = begun[peer]++, .begun = true};
	new->kind = (enum kind)(next_number(&randomness) % KINDS);
	new->length = choose_length(new->kind);
	new->bytes = reserve(new->length + 1);
	md = md_over(new->bytes, new->length, PTL_MD_EVENT_START_DISABLE, out);
	md.user_ptr = new;
	if (new->kind < GET_SHORT)
		fill_pattern(new->bytes, new->length, pattern_of(me, new->number));
	new->md = bind_md(md);
	if (new->kind < GET_SHORT)
		CHECK_OK(PtlPut(new->md, PTL_ACK_REQ, id_of[peer], INDEX, 0, PUT_BITS + me,
				(ptl_size_t) new->number *LONGEST, new->number));
	else
		CHECK_OK(PtlGet(new->md, id_of[peer], INDEX, 0, GET_BITS, 0));
}

/* Its memory is ours again. */
static void end(struct operation *old, bool failed)
{
	CHECK(!old->ended);
	old->ended = true;
	if (old->kind >= GET_SHORT && !failed)
		CHECK_PATTERN(old->bytes, old->length, GOT_SEED);
	if (old->kind < GET_SHORT)
		memset(old->bytes, DONE_BYTE, old->length); /* a late reader gets something else */
	old->sum = sum_of(old->bytes, old->length);
	unlink_soon(old->md);
	ended[old->peer]++;
	last_progress = now_ns();
	if (me != VICTIM && old->peer != VICTIM)
		atomic_fetch_add(&stage->between[me], 1);
}

static void note_sent(struct operation *which, bool failed)
{
	CHECK(which->kind < GET_SHORT && !which->sent);
	which->sent = true;
	if (failed || which->acknowledged)
		end(which, failed);
}

static void note_acknowledged(struct operation *which, bool failed)
{
	CHECK(which->kind < GET_SHORT && !which->acknowledged);
	which->acknowledged = true;
	if (which->sent)
		end(which, failed);
}

static void note_own(const ptl_event_t *event)
{
	struct operation *which = event->md.user_ptr;
	bool failed = event->ni_fail_type != PTL_NI_OK;

	CHECK(which && which->begun);
	victim_failed |= failed;
	if (failed && !may_fail(which->peer, which->number)) {
		/* play() has made it short for the sake of processes that call the dead. */
		if (plan.kill && event->ni_fail_type == PTL_NI_UNREACHABLE)
			lose_race("first contact of two who live took longer than PTL_CONNECT_TIMEOUT");
		FAIL("operation %u with process %d failed: %s in %s", which->number, which->peer,
		     PtlNIFailStr(ni, event->ni_fail_type), PtlEventKindStr(event->type));
	}
	if (which->ended)
		FAIL("%s comes after the end of operation %u with process %d", PtlEventKindStr(event->type),
		     which->number, which->peer);
	switch (event->type) {
	case PTL_EVENT_SEND_END:
		note_sent(which, failed);
		break;
	case PTL_EVENT_ACK:
		note_acknowledged(which, failed);
		break;
	case PTL_EVENT_REPLY_END:
		CHECK(which->kind >= GET_SHORT);
		end(which, failed);
		break;
	default:
		FAIL("%s at an initiator", PtlEventKindStr(event->type));
	}
}

/* --- what others send --- */

static void note_end_of_arrival(struct arrival *arrival, enum role from, const ptl_event_t *event)
{
	const uint8_t *bytes = put_memory[from] + (size_t)event->hdr_data * LONGEST;

	/* The END of what the victim had begun may come when its successor has begun to talk. */
	bool excused = with_successor ? from == VICTIM && event->hdr_data < MOST_OPERATIONS
				      : may_fail(from, (unsigned)event->hdr_data);

	if (event->ni_fail_type != PTL_NI_OK && !excused)
		FAIL("put %u of process %d failed: %s", (unsigned)event->hdr_data, from,
		     PtlNIFailStr(ni, event->ni_fail_type));
	if (event->ni_fail_type == PTL_NI_OK)
		CHECK_PATTERN(bytes, event->mlength, pattern_of(from, (unsigned)event->hdr_data));
	arrival->ended = true;
	arrival->length = event->mlength;
	arrival->sum = sum_of(bytes, arrival->length);
	open_arrivals--;
}

static void note_arrival(const ptl_event_t *event)
{
	unsigned from = (unsigned)(event->match_bits - PUT_BITS);

	CHECK(from < ROLES && event->hdr_data < NUMBERS);
	struct arrival *arrival = &arrivals[from][event->hdr_data];

	if (event->type == PTL_EVENT_PUT_START) {
		CHECK(!arrival->started);
		arrival->started = true;
		open_arrivals++;
	} else {
		CHECK_EQUAL(event->type, PTL_EVENT_PUT_END);
		CHECK(arrival->started && !arrival->ended);
		note_end_of_arrival(arrival, (enum role)from, event);
	}
}

/* --- both --- */

static void take_event(int wait_ms)
{
	ptl_handle_eq_t both[] = {out, in};
	ptl_event_t event;
	int which, rc = PtlEQPoll(both, 2, wait_ms, &event, &which);

	if (rc == PTL_EQ_EMPTY)
		return;
	CHECK_RC(rc, PTL_OK);
	if (which == 0)
		note_own(&event);
	else
		note_arrival(&event);
}

static unsigned wanted(enum role peer)
{
	unsigned count = USUAL_OPERATIONS + (me != VICTIM && peer != VICTIM ? atomic_load(&stage->more) : 0);

	if (victim_failed && peer == VICTIM && !with_successor)
		return begun[peer];
	if (with_successor)
		return MOST_OPERATIONS + SUCCESSOR_OPERATIONS;
	return count < MOST_OPERATIONS ? count : MOST_OPERATIONS;
}

/* Returns whether nothing is left to be done with that peer. */
static bool go_on_with(enum role peer)
{
	if (peer == me)
		return true;
	while (begun[peer] < wanted(peer) && begun[peer] - ended[peer] < IN_FLIGHT) {
		begin(peer);
		last_progress = now_ns();
	}
	return ended[peer] == begun[peer] && begun[peer] >= wanted(peer);
}

static bool go_on(void)
{
	static const int waits[] = {0, 0, 1, 5};
	bool finished = true;

	for (unsigned peer = 0; peer < ROLES; peer++)
		finished &= go_on_with((enum role)peer);
	take_event(waits[next_number(&randomness) % 4]);
	finished &= open_arrivals == 0;
	if (!finished && now_ns() - last_progress > PATIENCE * 1000000ull)
		FAIL("nothing has ended for %d ms: with 0: %u of %u, with 1: %u of %u, with 2: %u of %u; %u arrivals "
		     "open",
		     PATIENCE, ended[0], begun[0], ended[1], begun[1], ended[2], begun[2], open_arrivals);
	return finished;
}

void traffic_run(void)
{
	last_progress = now_ns();
	atomic_store(&stage->talking[me], true);
	while (!atomic_load(&stage->over))
		atomic_store(&stage->finished[me], go_on());
}

void traffic_run_with_successor(void)
{
	with_successor = true;
	for (unsigned peer = 0; peer < ROLES; peer++)
		begun[peer] = ended[peer] = MOST_OPERATIONS; /* other numbers than the victim may have used */
	last_progress = now_ns();
	while (!go_on())
		;
}

static void drain(void)
{
	ptl_event_t event;

	while (PtlEQGet(in, &event) == PTL_OK)
		note_arrival(&event);
	CHECK_EMPTY(out);
	CHECK_EQUAL(open_arrivals, 0);
}

void traffic_check(void)
{
	drain();
	for (unsigned peer = 0; peer < ROLES; peer++)
		for (unsigned number = 0; number < NUMBERS; number++) {
			const struct operation *own = &operations[peer][number];
			const struct arrival *arrival = &arrivals[peer][number];

			if (own->begun && sum_of(own->bytes, own->length) != own->sum)
				FAIL("memory of operation %u (kind %d, %zu bytes) with process %d was written after "
				     "its end",
				     number, own->kind, own->length, peer);
			if (arrival->ended &&
			    sum_of(put_memory[peer] + (size_t)number * LONGEST, arrival->length) != arrival->sum)
				FAIL("memory of put %u of process %d was written after PUT_END", number, peer);
		}
}
