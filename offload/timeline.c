/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/timeline.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"

#define TRACK_BITS 8 /* the others of a word: the number of a timeline, which comes again after 16 million more */

_Static_assert(TIMELINE_TRACKS < 1 << TRACK_BITS, "tracks, and none, fit");

static _Atomic uint32_t opened; /* timelines, so far */

/* The number of the timeline that the calling thread has recorded in last (0: in none yet), and its track there: few bytes, see base/hot.h. */
static _Thread_local uint32_t own;

struct timeline *timeline_open(uint64_t ns, uint64_t ticks)
{
	struct timeline *timeline =
		calloc(1, sizeof(*timeline)); /* so large that its pages come when they are written */

	if (!timeline)
		return NULL;
	timeline->number = atomic_fetch_add_explicit(&opened, 1, memory_order_relaxed) % (UINT32_MAX >> TRACK_BITS) + 1;
	timeline->opened_at = ns;
	timeline->opened_ticks = ticks;
	return timeline;
}

void timeline_close(struct timeline *timeline)
{
	free(timeline);
}

/* The track of a thread that has one, or a new one.  Only the thread itself looks for its own. */
static unsigned find_track(struct timeline *timeline)
{
	UNCANCELLED;
	int thread = (int)syscall(SYS_gettid);
	uint32_t count = atomic_load_explicit(&timeline->count, memory_order_relaxed);

	for (uint32_t i = 0; i < count && i < TIMELINE_TRACKS; i++)
		if (atomic_load_explicit(&timeline->tracks[i].thread, memory_order_relaxed) == thread)
			return i;
	if (count >= TIMELINE_TRACKS)
		return TIMELINE_TRACKS;
	uint32_t track = atomic_fetch_add_explicit(&timeline->count, 1, memory_order_relaxed);

	if (track >= TIMELINE_TRACKS)
		return TIMELINE_TRACKS;
	prctl(PR_GET_NAME, timeline->tracks[track].name);
	/* Publishes the name; pairs with the acquire of the thread that prints it. */
	atomic_store_explicit(&timeline->tracks[track].thread, thread, memory_order_release);
	return track;
}

static unsigned own_track(struct timeline *timeline)
{
	if (own >> TRACK_BITS != timeline->number)
		own = timeline->number << TRACK_BITS | find_track(timeline);
	return own & ((1u << TRACK_BITS) - 1);
}

/* An entry's ticket meanwhile: greater than any, so that no other writer takes it. */
#define BEING_WRITTEN UINT64_MAX

static void record(struct timeline *timeline, enum timeline_kind kind, ptl_stage_t stage, uint64_t start, uint64_t end,
		   const struct timeline_message *message)
{
	unsigned track = own_track(timeline);

	if (track >= TIMELINE_TRACKS) {
		atomic_fetch_add_explicit(&timeline->lost, 1, memory_order_relaxed);
		return;
	}
	uint64_t ticket = atomic_fetch_add_explicit(&timeline->next, 1, memory_order_relaxed);
	struct timeline_entry *entry = &timeline->entries[ticket % TIMELINE_ENTRIES];
	const uint64_t words[TIMELINE_WORDS] = {(uint64_t)kind | (uint64_t)stage << 8 |
							(uint64_t)message->operation << 16 | (uint64_t)track << 24,
						start,
						end,
						message->flow,
						message->bytes,
						message->match_bits,
						(uint64_t)message->nid << 32 | message->pid};

	/* One writer at a time: a recorder that was a whole round behind finds its place taken, and is read as dropped. */
	uint64_t old = atomic_load_explicit(&entry->ticket, memory_order_relaxed);

	if (old > ticket || !atomic_compare_exchange_strong_explicit(&entry->ticket, &old, BEING_WRITTEN,
								     memory_order_acquire, memory_order_relaxed))
		return;
	/* As in event_post(): pairs with the fence in timeline_read(). */
	atomic_thread_fence(memory_order_release);
	for (int i = 0; i < TIMELINE_WORDS; i++)
		atomic_store_explicit(&entry->words[i], words[i], memory_order_relaxed);
	atomic_store_explicit(&entry->ticket, ticket + 1, memory_order_release);
}

void timeline_stage(struct timeline *timeline, ptl_stage_t stage, uint64_t start, uint64_t end)
{
	static const struct timeline_message none;

	record(timeline, TIMELINE_STAGE, stage, start, end, stage == PTL_STAGE_MESSAGE ? &timeline->current : &none);
}

void timeline_note(struct timeline *timeline, enum timeline_kind kind, uint64_t start,
		   const struct timeline_message *message)
{
	record(timeline, kind, PTL_STAGE_COUNT, start, start, message);
}

bool timeline_read(struct timeline *timeline, uint64_t ticket, struct timeline_record *out)
{
	struct timeline_entry *entry = &timeline->entries[ticket % TIMELINE_ENTRIES];
	uint64_t words[TIMELINE_WORDS];

	if (atomic_load_explicit(&entry->ticket, memory_order_acquire) != ticket + 1)
		return false;
	for (int i = 0; i < TIMELINE_WORDS; i++)
		words[i] = atomic_load_explicit(&entry->words[i], memory_order_relaxed);
	/* Pairs with the fence in record(). */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&entry->ticket, memory_order_relaxed) != ticket + 1)
		return false;
	*out = (struct timeline_record){.kind = words[0] & 0xff,
					.stage = words[0] >> 8 & 0xff,
					.track = (unsigned)(words[0] >> 24),
					.start = words[1],
					.end = words[2],
					.message = {.operation = (uint8_t)(words[0] >> 16),
						    .flow = words[3],
						    .bytes = words[4],
						    .match_bits = words[5],
						    .nid = (uint32_t)(words[6] >> 32),
						    .pid = (uint32_t)words[6]}};
	return true;
}
