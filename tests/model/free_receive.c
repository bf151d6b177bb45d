/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane that receives as MPI libraries do: posted receives in front of a marker, each in one step with the proof that
 * nothing unexpected has come; blocks for the unexpected behind it.  Receives are numbered in the order in which they
 * were posted or found their message among the unexpected.
 */
#include "tests/model/free_target.h"

#include <limits.h>
#include <stdlib.h>

#define AT_ONCE 6 /* posted receives */
#define TRIES   4

/* What a receive is for; -1: any. */
struct wish {
	int source, tag;
};

struct unexpected {
	unsigned initiator;
	uint32_t number;
	bool claimed;
};

static unsigned lane;
static ptl_handle_me_t marker;
static struct posted *posted_first;
static unsigned posted_count;
static struct wish *wishes;                          /* by number of receive */
static uint32_t cancelled[AT_ONCE], cancelled_count; /* receives that got nothing */
static uint32_t receives, room, received, expected;
static struct unexpected *store;
static uint32_t stored, first_unclaimed;
static uint32_t *receive_of[FREE_PROCESSES]; /* by number of request; 0: none yet */
static bool finishing;

static bool is_ours(const struct request *request)
{
	return request->target == (unsigned)my_rank && request->lane == lane && request->fate == FATE_NONE;
}

static bool fits(const struct wish *wish, unsigned initiator, const struct request *request)
{
	return (wish->source < 0 || (unsigned)wish->source == initiator) &&
	       (wish->tag < 0 || (unsigned)wish->tag == request->tag);
}

void receives_open(unsigned number)
{
	lane = number;
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++) {
		receive_of[initiator] = calloc(program.count[initiator] + 1, sizeof(*receive_of[initiator]));
		CHECK(receive_of[initiator] != NULL);
		for (uint32_t i = 0; i < program.count[initiator]; i++)
			expected += is_ours(request_at(initiator, i));
	}
	store = calloc(expected + 1, sizeof(*store));
	CHECK(store != NULL);
	CHECK_OK(PtlMEAttach(ni, my_lane(lane)->index, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &marker));
}

static uint32_t number_receive(struct wish wish)
{
	if (++receives >= room) {
		room = 2 * room + 64;
		struct wish *more = realloc(wishes, room * sizeof(*wishes));
		CHECK(more != NULL);
		wishes = more;
	}
	wishes[receives] = wish;
	return receives;
}

static void assign(const struct subject *subject, uint32_t receive)
{
	uint32_t *mine = &receive_of[subject->initiator][subject->number];
	AGREE_EQUAL(subject, *mine, 0);
	*mine = receive;
	received++;
}

/* ---- Unexpected messages ---- */

void receives_unexpected(const struct subject *subject)
{
	CHECK(stored < expected);
	store[stored++] = (struct unexpected){subject->initiator, subject->number, false};
}

/* The oldest that fits. */
static bool claim(uint32_t receive)
{
	while (first_unclaimed < stored && store[first_unclaimed].claimed)
		first_unclaimed++;
	for (uint32_t i = first_unclaimed; i < stored; i++) {
		struct unexpected *message = &store[i];
		struct subject subject = {message->initiator, message->number,
					  request_at(message->initiator, message->number), NULL};
		if (message->claimed || !fits(&wishes[receive], message->initiator, subject.request))
			continue;
		message->claimed = true;
		assign(&subject, receive);
		return true;
	}
	return false;
}

/* ---- Posted receives ---- */

struct address {
	ptl_process_id_t who;
	ptl_match_bits_t bits, ignore;
};

static struct address address_of(const struct wish *wish)
{
	return (struct address){
		.who = wish->source < 0 ? anyone : id_of[wish->source],
		.bits = LANE_BITS(lane) | (wish->tag < 0 ? 0 : TAG_BITS(wish->tag)),
		.ignore = wish->tag < 0 ? ANY_TAG : ANY_NUMBER,
	};
}

static int post_in_one_step(struct posted *posted, const struct address *for_whom)
{
	return PtlMEMDPost(ni, marker, for_whom->who, for_whom->bits, for_whom->ignore, PTL_UNLINK, PTL_INS_BEFORE,
			   posted->said, PTL_UNLINK, &posted->me, &posted->md, queue[QUEUE_UNEXPECTED]);
}

/* Attached inactive, then activated; what could not be is taken away again. */
static int post_by_update(struct posted *posted, const struct address *for_whom)
{
	ptl_md_t inactive = posted->said;
	inactive.threshold = 0;
	CHECK_OK(PtlMEInsert(marker, for_whom->who, for_whom->bits, for_whom->ignore, PTL_UNLINK, PTL_INS_BEFORE,
			     &posted->me));
	CHECK_OK(PtlMDAttach(posted->me, inactive, PTL_UNLINK, &posted->md));
	int rc = PtlMDUpdate(posted->md, NULL, &posted->said, queue[QUEUE_UNEXPECTED]);
	if (rc != PTL_OK)
		CHECK_OK(PtlMEUnlink(posted->me));
	return rc;
}

static void posted_list(struct posted *posted)
{
	posted->previous = NULL;
	posted->next = posted_first;
	if (posted_first)
		posted_first->previous = posted;
	posted_first = posted;
	posted_count++;
}

void receives_gone(struct posted *posted)
{
	*(posted->previous ? &posted->previous->next : &posted_first) = posted->next;
	if (posted->next)
		posted->next->previous = posted->previous;
	posted_count--;
	posted_free(posted);
}

static struct posted *new_receive(uint32_t receive)
{
	uint64_t length = chance(&own_chance, 10) ? LONGEST : draw(&own_chance, 4096);
	struct posted *posted = posted_new(lane, length, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, QUEUE_RECEIVES);
	posted->said.threshold = posted->units = 1;
	posted->mortal = true;
	posted->receive = receive;
	return posted;
}

/* Posts, or finds the message; false: something unexpected is half received, so neither can be said. */
static bool receive(struct wish wish)
{
	uint32_t number = number_receive(wish);
	struct address address = address_of(&wish);
	bool one_step = chance(&own_chance, 50);
	if (claim(number))
		return true;
	struct posted *posted = new_receive(number);
	for (int i = 0; i < TRIES; i++) {
		int rc = one_step ? post_in_one_step(posted, &address) : post_by_update(posted, &address);
		if (rc == PTL_OK) {
			posted_list(posted);
			return true;
		}
		CHECK_RC(rc, PTL_MD_NO_UPDATE);
		queue_drain(QUEUE_UNEXPECTED, INT_MAX);
		if (claim(number)) {
			posted_free(posted);
			return true;
		}
	}
	posted_free(posted);
	receives--;
	return false;
}

static struct wish random_wish(void)
{
	struct wish wish = {-1, -1};
	if (chance(&own_chance, 60))
		wish.source = (int)draw(&own_chance, program.round.processes);
	if (chance(&own_chance, 70))
		wish.tag = (int)draw(&own_chance, 4);
	return wish;
}

void receives_post(void)
{
	while (!finishing && posted_count < AT_ONCE && received + posted_count < expected)
		if (!receive(random_wish()))
			return;
}

void receives_matched(const struct posted *posted, const struct subject *subject)
{
	AGREE(subject, fits(&wishes[posted->receive], subject->initiator, subject->request));
	assign(subject, posted->receive);
}

/* ---- The end ---- */

static void take_back(struct posted *posted)
{
	int rc = PtlMEUnlink(posted->me);
	if (rc == PTL_ME_IN_USE || rc == PTL_ME_INVALID)
		return; /* it has its message, as its events will tell */
	CHECK_RC(rc, PTL_OK);
	CHECK_EQUAL(posted->started, 0);
	cancelled[cancelled_count++] = posted->receive;
	posted_check_contents(posted);
	receives_gone(posted);
}

bool receives_finish(void)
{
	finishing = true;
	queue_drain(QUEUE_RECEIVES, INT_MAX);
	queue_drain(QUEUE_UNEXPECTED, INT_MAX);
	for (struct posted *posted = posted_first, *next; posted; posted = next) {
		next = posted->next;
		take_back(posted);
	}
	if (posted_first)
		return false;
	while (claim(number_receive((struct wish){-1, -1})))
		;
	return true;
}

/*
 * Of the messages of one source that a receive would have taken, it got the first that no earlier receive had got; and
 * one that got none had no message go by.
 */
static void check_cancelled(const struct subject *subject, uint32_t got)
{
	for (uint32_t i = 0; i < cancelled_count; i++)
		if (cancelled[i] < got && fits(&wishes[cancelled[i]], subject->initiator, subject->request))
			DISAGREE(subject, "went by receive %u to %u", cancelled[i], got);
}

static uint32_t greater(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void check_order(unsigned initiator)
{
	uint32_t last = 0, last_of_tag[4] = {0};
	for (uint32_t i = 0; i < program.count[initiator]; i++) {
		const struct request *request = request_at(initiator, i);
		struct subject subject = {initiator, i, request, NULL};
		uint32_t got = receive_of[initiator][i];
		if (!is_ours(request))
			continue;
		if (got == 0)
			DISAGREE(&subject, "never received");
		if (got < (wishes[got].tag < 0 ? last : last_of_tag[request->tag]))
			DISAGREE(&subject, "received before an earlier one, by receive %u", got);
		last_of_tag[request->tag] = greater(last_of_tag[request->tag], got);
		last = greater(last, got);
		check_cancelled(&subject, got);
	}
}

void receives_audit(void)
{
	CHECK_EQUAL(received, expected);
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++) {
		check_order(initiator);
		free(receive_of[initiator]);
	}
	CHECK_OK(PtlMEUnlink(marker));
	free(wishes);
	free(store);
}
