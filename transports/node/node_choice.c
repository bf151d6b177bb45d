/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way a long message takes, learnt from what the ways took.
 *
 * What a system call, a copy and a line between two processors cost differs by ten times between machines that look alike,
 * and so does the order of the ways.  So each pair of processes measures them on its first long messages, for each class
 * of lengths by itself: a row of messages is to go one way, then a row the next way, ROUNDS times.  Of the rows of a way
 * the quickest counts, for what a busy machine adds is noise.  A row that can no longer be the quickest ends early.
 *
 * WHAT COUNTS.  A message counts from its beginning or from the end of the one before, whichever was later, so that a window of
 * messages counts as what it is: so many bytes in so much time.  For that to be the way's own time,
 *   - only messages count that began when nothing was under way any more that had begun before the row, and the first of the row
 *     had ended: what overlaps with another way hides the time that it takes, or takes longer;
 *   - a row is at least twice as long as there are messages under way at a time: a program that has a window of messages asks
 *     for them in bursts, in which both processes have other things to do than later, when the source waits;
 *   - whatever was to go that way counts, also what then went another way because the source was not there: it cost time to
 *     find that out.  If most messages did (of split ones three quarters, because helpers copy whole ones), the row says nothing.
 *
 * Then the quickest way is taken, but none that costs more processor time for less than a sixteenth of it, unless it is taken
 * already.  When LEARN_SHARE times as many messages have passed as were needed for that, all of it is repeated: a first impression
 * may have been wrong, and processes move.  A class that the tuning file fixes is not measured.
 *
 * WHEN THE SOURCE IS NOT THERE.  The source's process helps only while a host waits there.  For its sake a reader waits no longer than it
 * would need to read a stretch by itself, and LATE_NS, which is what any process may be late: so what is lost is at most as much as
 * what it does then.  A source that was missed is not asked for twice as many messages as the last time, up to MOST_SKIPPED, so that a
 * process that computes all the time is rarely asked.  A message of which less than a quarter came from the source did not go
 * the way of a split one.  If the source has never helped, messages are split where nothing
 * quicker is known: that costs a record more than without, and it may help the next time.  What no figure tells is how often
 * a staged copy loses patience in the middle, with a request's worth copied for nothing: if that happens to more than one in
 * LATE_SHARE, it is not taken any more until all is measured again.
 *
 * A source that was seen last on the reader's own CPU is not there either: it would copy in turns with the reader, and writing
 * into another process takes longer than reading.  That is so where a NIC thread is woken while every core is busy: it gets the
 * core of the thread that wakes it.  Such a message is read alone, unless a tuning file says otherwise, and is neither measured nor
 * one that the source is spared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transports/node/node_choice.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_list.h"
#include "transports/node/node_place.h"

/* Counts of messages and ratios of times: nothing that a machine's speed changes. */
#define ROW          4   /* messages that count in a row, if not more are under way: each is a quarter, none is all */
#define ROUNDS       3   /* so that one that was disturbed, and another one, change nothing */
#define LEARN_SHARE  32  /* messages for each that measures: a way twice as slow costs two of a hundred of all time */
#define GAIN_SHIFT   4   /* a sixteenth: less is within what rows differ by */
#define LATE_SHARE   16  /* what is lost midway is copied twice: more of that would eat up the least gain */
#define LATE_FEW     6   /* are no share yet */
#define MOST_SKIPPED 256 /* messages: to ask in vain costs a 256th of what the reader waits at most */

/*
 * Times that bound what is lost, and choose nothing.  LATE_NS is for an interrupt or a system call in which the source is.
 * Where it is too little, a source that was about to come is missed and asked again; where it is too much, it is lost for
 * a source that computes, for one message of MOST_SKIPPED in the end.  MOST_PATIENT is for figures that are no figures:
 * a file may say anything, and a measured row may hold a process that was stopped.  Neither needs tuning: a quarter of them,
 * or four times as much, changes what is lost in the few messages for which the source is late, not what the ways take.
 */
#define LATE_NS      20000
#define MOST_PATIENT 1000000

/* A class of lengths between two processes. */
struct trial {
	struct node_figures figures;   /* way: NODE_UNCHOSEN while they are being measured */
	uint64_t sum;                  /* ns, of the row so far */
	uint32_t learnt, uses;         /* messages that were needed to choose, and since then */
	uint32_t row;                  /* its number, so that its messages are known when they end */
	uint16_t under_way, deepest;   /* messages: now, and the most in this row */
	uint16_t leftovers;            /* of another row, still under way */
	uint16_t cold, in_row, missed; /* ended in this row: before others counted; that count; of these another way */
	uint8_t way, round;
	uint8_t before; /* what was chosen the last time */
	bool warm;      /* whatever begins now counts */
};

struct node_pair {
	uint64_t last_end;       /* monotonic_ns() */
	uint32_t skips, skipped; /* messages for which the source is not asked any more, and were to be the last time */
	struct trial trials[NODE_CLASSES];
};

static unsigned class_of(uint64_t length)
{
	unsigned shift = 63 - (unsigned)__builtin_clzll(length | 1);

	if (shift < NODE_CLASS_SHIFT)
		return 0;
	return shift - NODE_CLASS_SHIFT < NODE_CLASSES ? shift - NODE_CLASS_SHIFT : NODE_CLASSES - 1;
}

/* --- pairs --- */

static bool make_room(struct node_copies *copies, uint32_t index)
{
	uint32_t room = index + 1 > 2 * copies->pair_room ? index + 1 : 2 * copies->pair_room;
	struct node_pair **grown = realloc(copies->pairs, room * sizeof(struct node_pair *));

	if (!grown)
		return false;
	memset(grown + copies->pair_room, 0, (room - copies->pair_room) * sizeof(struct node_pair *));
	copies->pairs = grown;
	copies->pair_room = room;
	return true;
}

/* NULL: no memory, or no peer any more. */
static struct node_pair *pair_of(struct node_copies *copies, const struct node_peer *peer)
{
	uint32_t index = peer->index;

	if (unlikely(index >= copies->pair_room) && !make_room(copies, index))
		return NULL;
	if (unlikely(!copies->pairs[index]) && (copies->pairs[index] = calloc(1, sizeof(struct node_pair))))
		for (unsigned class = 0; class < NODE_CLASSES; class ++)
			copies->pairs[index]->trials[class].way = NODE_ALONE;
	return copies->pairs[index];
}

void node_choice_forget(struct node_copies *copies, const struct node_peer *peer)
{
	if (peer->index >= copies->pair_room)
		return;
	free(copies->pairs[peer->index]);
	copies->pairs[peer->index] = NULL;
}

void node_choice_free(struct node_copies *copies)
{
	for (uint32_t i = 0; i < copies->pair_room; i++)
		free(copies->pairs[i]);
	free(copies->pairs);
}

/* --- before a message --- */

static bool possible(const struct node_read *read, enum node_way way)
{
	const struct node_peer *peer = read->peer;

	switch (way) {
	case NODE_SPLIT: /* without a pidfd there would be no proof that a helper is dead */
		return read->length >= NODE_SPLIT_MIN && read->total <= NODE_SPLIT_MOST && peer->cross_memory &&
		       peer->meeting == NODE_OPEN && peer->pidfd >= 0;
	case NODE_STAGED:
		return peer->meeting == NODE_OPEN;
	default:
		return peer->cross_memory;
	}
}

/* What does not count on the source, but lets it help. */
static enum node_way usual_way(const struct node_read *read)
{
	return possible(read, NODE_SPLIT) ? NODE_SPLIT : NODE_ALONE;
}

static void take_quickest(struct node_copies *copies, unsigned class, struct trial *trial)
{
	uint32_t *ns = trial->figures.ns;
	/* If the source has not helped, nothing is known against SPLIT: without help it is ALONE. */
	bool unhelped = !ns[NODE_SPLIT] && node_class_length(class) >= NODE_SPLIT_MIN;
	enum node_way best = unhelped ? NODE_SPLIT : NODE_ALONE;
	uint32_t least = ns[NODE_ALONE];

	for (enum node_way way = NODE_SPLIT; way < NODE_WAYS; way++) {
		uint32_t gain = way == trial->before ? 0 : least >> GAIN_SHIFT;

		if (!ns[way] || (least && ns[way] >= least - gain))
			continue;
		best = way;
		least = ns[way];
	}
	trial->figures.way = best;
	trial->before = (uint8_t)best;
	trial->uses = 0;
	copies->figures[class] = trial->figures;
}

static void next_row(struct node_copies *copies, unsigned class, struct trial *trial)
{
	trial->row++;
	trial->leftovers = trial->under_way;
	trial->sum = trial->deepest = trial->cold = trial->in_row = trial->missed = 0;
	trial->warm = false;
	if (++trial->way < NODE_WAYS)
		return;
	trial->way = NODE_ALONE;
	if (++trial->round == ROUNDS)
		take_quickest(copies, class, trial);
}

static void learn_again(struct trial *trial)
{
	*trial = (struct trial){.way = NODE_ALONE,
				.before = trial->before,
				.row = trial->row + 1,
				.under_way = trial->under_way,
				.leftovers = trial->under_way};
}

/* To look at a clock takes a part of what a short one of these messages takes: so only now. */
static bool measured(const struct node_copies *copies, const struct trial *trial, unsigned class)
{
	return !copies->fixed[class] && trial->figures.way == NODE_UNCHOSEN;
}

/* The way that is being measured, or that was chosen. */
static enum node_way way_of(struct node_copies *copies, const struct node_read *read, struct trial *trial)
{
	unsigned class = class_of(read->length);

	if (trial->figures.way != NODE_UNCHOSEN && ++trial->uses / LEARN_SHARE >= trial->learnt)
		learn_again(trial);
	while (trial->figures.way == NODE_UNCHOSEN && !possible(read, (enum node_way)trial->way))
		next_row(copies, class, trial);
	return trial->figures.way != NODE_UNCHOSEN ? trial->figures.way : (enum node_way)trial->way;
}

/* The source was late in the middle of a message: if it often is, to be staged is not the quickest after all. */
static void miss_midway(struct node_copies *copies, struct trial *trial, unsigned class)
{
	if (copies->fixed[class] || trial->figures.way != NODE_STAGED ||
	    ++trial->missed <= LATE_FEW + trial->uses / LATE_SHARE)
		return;
	trial->figures.ns[NODE_STAGED] = 0;
	take_quickest(copies, class, trial);
}

/* In cycles: as long as it takes to read a stretch, and what any process may be late. */
static uint64_t patience(const struct node_copies *copies, const struct node_pair *pair, uint64_t length)
{
	unsigned class = class_of(length < NODE_PULL_MAX ? length : NODE_PULL_MAX);
	uint64_t ns = LATE_NS + (copies->fixed[class] ? copies->figures[class].ns[NODE_ALONE]
						      : pair->trials[class].figures.ns[NODE_ALONE]);

	return cycles_in(ns < MOST_PATIENT ? ns : MOST_PATIENT);
}

static void begin(const struct node_copies *copies, struct trial *trial, struct node_read *read, unsigned class)
{
	read->noted = true;
	read->began = measured(copies, trial, class) ? monotonic_ns() : 0;
	read->row = trial->row;
	read->counts = trial->warm;
	if (++trial->under_way > trial->deepest)
		trial->deepest = trial->under_way;
}

void node_choose(struct node *node, struct node_read *read)
{
	struct node_copies *copies = node->copies;
	unsigned class = class_of(read->length);

	read->way = NODE_STAGED;
	if (!read->peer->cross_memory)
		return;
	/*
	 * Segments are read by one call; staged, each would be a round trip.  A source on this core would take from us what
	 * it does there.  What either takes says nothing of one piece between two cores: it counts nowhere.
	 */
	if (node_read_is_list(read) || (!copies->fixed[class] && node_shares_core(read->peer))) {
		read->way = NODE_ALONE;
		return;
	}
	read->way = (uint8_t)usual_way(read);
	struct node_pair *pair = read->length >= node_class_length(0) ? pair_of(copies, read->peer) : NULL;

	if (!pair)
		return;
	enum node_way way =
		copies->fixed[class] ? copies->figures[class].way : way_of(copies, read, &pair->trials[class]);

	if (way == NODE_STAGED && pair->skips > 0)
		pair->skips--;
	else if (possible(read, way))
		read->way = (uint8_t)way;
	begin(copies, &pair->trials[class], read, class);
	if (read->way == NODE_STAGED)
		read->patience = patience(copies, pair, read->length);
}

/* --- after it --- */

static struct trial *trial_of(const struct node_copies *copies, const struct node_read *read)
{
	const struct node_peer *peer = read->peer;

	if (peer->index >= copies->pair_room || !copies->pairs[peer->index])
		return NULL;
	return &copies->pairs[peer->index]->trials[class_of(read->length)];
}

void node_choice_missed(struct node *node, struct node_read *read)
{
	struct node_copies *copies = node->copies;
	struct trial *trial = trial_of(copies, read);

	if (!trial)
		return;
	struct node_pair *pair = copies->pairs[read->peer->index];

	pair->skipped = pair->skipped == 0 ? 1 : pair->skipped * 2 < MOST_SKIPPED ? pair->skipped * 2 : MOST_SKIPPED;
	pair->skips = pair->skipped;
	if (read->at > 0)
		miss_midway(copies, trial, class_of(read->length));
}

/* What the quickest way took.  UINT32_MAX: none is known. */
static uint32_t least_known(const struct node_figures *figures)
{
	uint32_t least = UINT32_MAX;

	for (enum node_way way = NODE_ALONE; way < NODE_WAYS; way++)
		if (figures->ns[way] && figures->ns[way] < least)
			least = figures->ns[way];
	return least;
}

static unsigned row_length(const struct trial *trial)
{
	return 2u * trial->deepest > ROW ? 2u * trial->deepest : ROW;
}

/*
 * So many that a row of that many messages says nothing.  Of a window a helper may come to some messages only: to be split
 * is to have help with a quarter of them, as it is to have a quarter of one.
 */
static bool too_many_missed(const struct trial *trial, unsigned messages)
{
	return trial->way == NODE_SPLIT ? trial->missed * 4u > messages * 3u : trial->missed * 2u > messages;
}

static void end_row(struct node_copies *copies, struct trial *trial, unsigned class)
{
	uint32_t *known = &trial->figures.ns[trial->way];
	uint64_t mean = trial->sum / trial->in_row + 1; /* never 0, which means unknown */
	uint32_t ns = mean < UINT32_MAX ? (uint32_t)mean : UINT32_MAX;

	if (!too_many_missed(trial, trial->in_row) && (*known == 0 || ns < *known))
		*known = ns;
	next_row(copies, class, trial);
}

static void count(struct node_copies *copies, struct trial *trial, unsigned class, uint64_t ns, bool missed)
{
	unsigned length = row_length(trial);

	trial->sum += ns;
	trial->in_row++;
	trial->missed += missed;
	if (trial->in_row >= length || too_many_missed(trial, length) ||
	    trial->sum > (uint64_t)least_known(&trial->figures) * length)
		end_row(copies, trial, class);
}

/* True: it counts.  More messages than can be under way have not outlasted a leftover: it stands still, and hides nothing. */
static bool end(struct trial *trial, const struct node_read *read)
{
	if (trial->under_way > 0)
		trial->under_way--;
	if (read->row != trial->row) {
		if (trial->leftovers > 0)
			trial->leftovers--;
		return false;
	}
	if (!trial->warm)
		trial->warm = trial->leftovers == 0 || ++trial->cold > 2 * NODE_READS;
	return read->counts;
}

/* Did the message go the way that it was meant to go? */
static bool went(const struct node_read *read, enum node_way way)
{
	/* The source has not helped, or hardly. */
	if (way == NODE_SPLIT && (!read->split || (read->total - read->front) * 4 < read->total))
		return false;
	return read->way == way;
}

void node_choice_ended(struct node *node, struct node_read *read, int status)
{
	struct node_copies *copies = node->copies;
	struct trial *trial = trial_of(copies, read);

	if (!trial)
		return;
	struct node_pair *pair = copies->pairs[read->peer->index];
	unsigned class = class_of(read->length);
	bool counts = end(trial, read);

	if (read->way == NODE_STAGED && !status)
		pair->skipped = 0;
	if (!measured(copies, trial, class))
		return;
	uint64_t now = monotonic_ns(), since = read->began > pair->last_end ? read->began : pair->last_end;

	pair->last_end = now;
	trial->learnt++;
	if (counts && !status)
		count(copies, trial, class, now - since, !went(read, (enum node_way)trial->way));
}

/* --- for humans --- */

/* ": 64K split 4.1/3.2/-": its name and what the ways took, us. */
static size_t describe_class(const struct node_figures *figures, unsigned class, char *text, size_t size)
{
	uint64_t kib = node_class_length(class) >> 10;
	size_t used = (size_t)snprintf(text, size, " %llu%c %s", (unsigned long long)(kib < 1024 ? kib : kib >> 10),
				       kib < 1024 ? 'K' : 'M', tuning_way_names[figures->way]);

	for (enum node_way way = NODE_ALONE; way < NODE_WAYS && used < size; way++) {
		char separator = way == NODE_ALONE ? ' ' : '/';

		used += (size_t)(figures->ns[way] ? snprintf(text + used, size - used, "%c%.1f", separator,
							     figures->ns[way] / 1e3)
						  : snprintf(text + used, size - used, "%c-", separator));
	}
	return used;
}

int node_choice_describe(const struct node_copies *copies, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "; ways chosen (us by %s/%s/%s):", tuning_way_names[NODE_ALONE],
				       tuning_way_names[NODE_SPLIT], tuning_way_names[NODE_STAGED]);
	bool any = false;

	for (unsigned class = 0; class < NODE_CLASSES && used < size; class ++) {
		if (copies->figures[class].way == NODE_UNCHOSEN)
			continue;
		used += describe_class(&copies->figures[class], class, text + used, size - used);
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, copies->fixed[class] ? " (fixed)," : ",");
		any = true;
	}
	if (used < size && !any)
		used += (size_t)snprintf(text + used, size - used, " none yet, they are measured with each peer");
	else if (used < size)
		text[--used] = '\0';
	return (int)used;
}
