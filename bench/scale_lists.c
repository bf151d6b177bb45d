/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What entries of a match list in front of the one that matches cost, and what it costs to attach one and take it away
 * again: match lists alone, longer than any interface has them, and the same of a whole message through the engine.
 */
#include "scale.h"

#include <portals3_nic.h>
#include <stdlib.h>

#include "fail.h"
#include "offload/match.h"
#include "synthetic.h"

#define BATCH_NS      5e6
#define LEAST         16u /* of anything in a batch */
#define MOST_ATTACHED 60000u
#define NOBODYS       (UINT64_C(1) << 63) /* a bit of no message, which no entry ignores */
#define PUTS          16u                 /* at a time */

/* How the entries in front differ. */
enum kind { EXACT, WILDCARDS, FOUR_MASKS, MANY_MASKS, KINDS };
static const char *const kinds[KINDS] = {"exact", "10 % wildcards", "4 masks", "1000 masks"};

static const ptl_process_id_t sender = {1, 2}, anyone = {PTL_NID_ANY, PTL_PID_ANY};

struct pattern {
	ptl_process_id_t source;
	uint64_t bits, ignore;
};

static struct pattern pattern_of(enum kind kind, uint32_t number)
{
	struct pattern pattern = {sender, NOBODYS | (uint64_t)number << 16, 0};

	switch (kind) {
	case WILDCARDS:
		pattern.source = number % 10 == 0 ? anyone : sender;
		pattern.ignore = number % 10 == 0 ? 0xff : 0;
		break;
	case FOUR_MASKS:
		pattern.ignore = UINT64_C(0xffffff) >> 8 * (number % 4);
		break;
	case MANY_MASKS:
		pattern.ignore = (uint64_t)(number % 1000) << 16;
		break;
	default:
		break;
	}
	return pattern;
}

/* ns of one act: the median of batches that take a while. */
static double time_of(void (*act)(void *), void *argument)
{
	double ns[SCALE_RUNS];

	for (unsigned i = 0; i < LEAST; i++)
		act(argument);
	for (int run = 0; run < SCALE_RUNS; run++) {
		double began = scale_now(), passed;
		uint64_t count = 0;

		do {
			for (unsigned i = 0; i < LEAST; i++, count++)
				act(argument);
			passed = scale_now() - began;
		} while (passed < BATCH_NS);
		ns[run] = passed / (double)count;
	}
	return scale_median(ns);
}

/* --- lists alone --- */

struct bench_list {
	struct match_list list;
	struct match_entry *entries, wanted, visitor;
	struct match_entry *beside; /* where the visitor goes; NULL: an end of the list */
	ptl_ins_pos_t position;
	uint32_t length;
};

static struct match_entry entry_of(struct pattern pattern)
{
	return (struct match_entry){
		.match_bits = pattern.bits, .must_match = ~pattern.ignore, .source = pattern.source};
}

/* With one that matches behind them. */
static void list_make(struct bench_list *bench, enum kind kind, uint32_t length)
{
	*bench = (struct bench_list){.length = length, .entries = calloc(length + 1, sizeof(struct match_entry))};
	if (!bench->entries)
		fail("no memory for %u match entries", length);
	for (uint32_t i = 0; i < length; i++) {
		bench->entries[i] = entry_of(pattern_of(kind, i));
		match_list_insert(&bench->list, &bench->entries[i], NULL, PTL_INS_AFTER);
	}
	bench->wanted = entry_of((struct pattern){sender, 0, 0});
	bench->visitor = entry_of(pattern_of(kind, length));
	match_list_insert(&bench->list, &bench->wanted, NULL, PTL_INS_AFTER);
}

static void list_end(struct bench_list *bench)
{
	match_list_free(&bench->list);
	free(bench->entries);
}

static void search(void *argument)
{
	struct bench_list *bench = argument;
	struct match_search search;

	match_begin(&search, &bench->list, sender, 0);
	if (match_next(&search) != &bench->wanted)
		fail("a search has found the wrong entry");
	match_end(&search);
}

static void come_and_go(void *argument)
{
	struct bench_list *bench = argument;

	match_list_insert(&bench->list, &bench->visitor, bench->beside, bench->position);
	match_list_remove(&bench->visitor);
}

/* Searches until those that lead to an index have been made: it is not the searches' price that is wanted, but their cost. */
static void settle(struct bench_list *bench)
{
	for (unsigned i = 0; i < 4 * LEAST && bench->length; i++)
		search(bench);
}

static double time_at(struct bench_list *bench, struct match_entry *beside, ptl_ins_pos_t position)
{
	bench->beside = beside;
	bench->position = position;
	return time_of(come_and_go, bench);
}

static void measure_lists(uint32_t length, double *searches, double *changes)
{
	struct bench_list bench;

	for (enum kind kind = 0; kind < KINDS; kind++) {
		list_make(&bench, kind, length);
		settle(&bench);
		searches[kind] = time_of(search, &bench);
		if (kind == EXACT) {
			changes[0] = time_at(&bench, NULL, PTL_INS_BEFORE);
			changes[1] = time_at(&bench, length ? &bench.entries[length / 2] : NULL, PTL_INS_AFTER);
			changes[2] = time_at(&bench, NULL, PTL_INS_AFTER);
		}
		list_end(&bench);
	}
}

void scale_lists(uint32_t most)
{
	struct figure searches = {.name = "lists",
				  .title = "One search of a match list, by entries in front of the one that matches",
				  .x_title = "entries",
				  .unit = "ns"};
	struct figure changes = {.name = "lists-attach",
				 .title = "Inserting an entry and removing it, by entries in the list",
				 .x_title = "entries",
				 .unit = "ns",
				 .curves = {"at the head", "in the middle", "at the tail"}};

	for (enum kind kind = 0; kind < KINDS; kind++)
		searches.curves[kind] = kinds[kind];
	for (uint32_t length = 1; length <= most; length *= 10) {
		searches.x[searches.points] = changes.x[changes.points] = length;
		measure_lists(length, searches.y[searches.points++], changes.y[changes.points++]);
	}
	scale_show(&searches);
	scale_show(&changes);
}

/* --- through the engine --- */

struct attachment {
	ptl_handle_ni_t ni;
	ptl_handle_me_t *entries, beside;
	ptl_ins_pos_t position;
	struct pattern visitor;
};

static void attach_and_unlink(void *argument)
{
	const struct attachment *list = argument;
	const struct pattern *visitor = &list->visitor;
	ptl_handle_me_t me;
	int rc = list->beside == PTL_INVALID_HANDLE
			 ? PtlMEAttach(list->ni, SYNTHETIC_INDEX, visitor->source, visitor->bits, visitor->ignore,
				       PTL_RETAIN, list->position, &me)
			 : PtlMEInsert(list->beside, visitor->source, visitor->bits, visitor->ignore, PTL_RETAIN,
				       list->position, &me);

	if (rc || PtlMEUnlink(me))
		fail("a match entry: %s", PtlNicErrorText());
}

static void fill(struct attachment *list, enum kind kind, uint32_t length)
{
	list->visitor = pattern_of(kind, length);
	for (uint32_t i = 0; i < length; i++) {
		struct pattern pattern = pattern_of(kind, i);

		pattern.source = pattern.source.nid == PTL_NID_ANY ? anyone : synthetic_id(0);
		if (PtlMEAttach(list->ni, SYNTHETIC_INDEX, pattern.source, pattern.bits, pattern.ignore, PTL_RETAIN,
				PTL_INS_AFTER, &list->entries[i]))
			fail("match entry %u: %s", i, PtlNicErrorText());
	}
}

static void open_behind(ptl_handle_ni_t ni)
{
	static uint64_t word;
	const ptl_md_t md = {.start = &word,
			     .length = sizeof(word),
			     .threshold = PTL_MD_THRESH_INF,
			     .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
			     .eq_handle = PTL_EQ_NONE};
	ptl_handle_me_t me;
	ptl_handle_md_t window;

	if (PtlMEAttach(ni, SYNTHETIC_INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me) ||
	    PtlMDAttach(me, md, PTL_RETAIN, &window))
		fail("a window: %s", PtlNicErrorText());
}

static void put_once(void *unused)
{
	(void)unused;
	synthetic_put(PUTS, 1, 0, false);
}

static double time_attached(struct attachment *list, ptl_handle_me_t beside, ptl_ins_pos_t position)
{
	list->beside = beside;
	list->position = position;
	return time_of(attach_and_unlink, list);
}

static void measure_engine(enum kind kind, uint32_t length, double *puts, double *changes)
{
	struct attachment list = {.ni = synthetic_open(1, true),
				  .entries = calloc(length + 1, sizeof(ptl_handle_me_t))};

	if (!list.entries)
		fail("no memory for %u handles", length);
	fill(&list, kind, length);
	open_behind(list.ni);
	synthetic_greet(0, 1);
	put_once(NULL);
	puts[kind] = time_of(put_once, NULL) / PUTS;
	if (kind == EXACT) {
		changes[0] = time_attached(&list, PTL_INVALID_HANDLE, PTL_INS_BEFORE);
		changes[1] =
			time_attached(&list, length ? list.entries[length / 2] : PTL_INVALID_HANDLE, PTL_INS_AFTER);
		changes[2] = time_attached(&list, PTL_INVALID_HANDLE, PTL_INS_AFTER);
	}
	synthetic_close();
	free(list.entries);
}

void scale_engine_lists(void)
{
	struct figure puts = {.name = "matching",
			      .title = "An arriving put, by entries in front of the one that matches",
			      .x_title = "entries",
			      .unit = "ns"};
	struct figure changes = {.name = "attaching",
				 .title = "PtlMEAttach and PtlMEUnlink, by entries in the list",
				 .x_title = "entries",
				 .unit = "ns",
				 .curves = {"at the head", "in the middle", "at the tail"}};
	static const uint32_t lengths[] = {1, 10, 100, 1000, 10000, MOST_ATTACHED};

	for (enum kind kind = 0; kind < KINDS; kind++)
		puts.curves[kind] = kinds[kind];
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		puts.x[i] = changes.x[i] = lengths[i];
		for (enum kind kind = 0; kind < KINDS; kind++)
			measure_engine(kind, lengths[i], puts.y[i], changes.y[i]);
		puts.points = changes.points = i + 1;
	}
	scale_show(&puts);
	scale_show(&changes);
}
