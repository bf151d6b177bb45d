/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/timeline_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/report.h"
#include "offload/wire.h"

/* A moment of an entry: most have one, what overlaps others of its thread (`async`) has its begin and its end. */
struct moment {
	uint64_t at, until; /* ns */
	uint64_t ticket;
	struct timeline_record record;
	bool ends;
};

struct timeline_copy {
	struct identity self;
	uint32_t interface;
	uint64_t recorded, dropped;
	uint64_t first_ns, first_ticks, last_ns, last_ticks; /* when it was opened, and copied, on both clocks */
	struct {
		int thread; /* 0: none */
		char name[sizeof(((struct timeline_track *)NULL)->name)];
	} tracks[TIMELINE_TRACKS];
	size_t count;
	struct {
		uint64_t ticket;
		struct timeline_record record;
	} entries[TIMELINE_ENTRIES];
};

struct writer {
	const struct timeline_copy *copy;
	FILE *out;
	struct moment *moments;
	size_t count;
};

static const char *const stage_names[] = {
#define STAGE_NAME(name, text, group) text,
	PTL_NIC_STAGES(STAGE_NAME)
#undef STAGE_NAME
};

static const char *const groups[] = {
#define STAGE_GROUP(name, text, group) &#group[sizeof("PTL_STAGE_") - 1],
	PTL_NIC_STAGES(STAGE_GROUP)
#undef STAGE_GROUP
};

/* These begin in one thread and end in another, or overlap; all others are calls that are nested as calls are. */
static bool is_async(const struct timeline_record *record)
{
	return record->kind == TIMELINE_STAGE && (record->stage == PTL_STAGE_RDMA || record->stage == PTL_STAGE_WAKE);
}

/*
 * By the line through two moments that are as far apart as the timeline is long: the rate of timing_ns_per_tick() is good for
 * durations, but would be off by milliseconds after minutes.
 */
static uint64_t nanoseconds(const struct writer *writer, uint64_t ticks)
{
	const struct timeline_copy *copy = writer->copy;
	double rate = copy->last_ns - copy->first_ns < 2000000 ? timing_ns_per_tick()
							       : (double)(copy->last_ns - copy->first_ns) /
									 (double)(copy->last_ticks - copy->first_ticks);
	double ns = rate * (double)(int64_t)(ticks - copy->first_ticks);

	return copy->first_ns + (uint64_t)(int64_t)ns;
}

static void add(struct writer *writer, const struct timeline_record *record, uint64_t ticket, bool ends)
{
	struct moment *moment = &writer->moments[writer->count++];

	*moment = (struct moment){.record = *record, .ticket = ticket, .ends = ends};
	moment->until = nanoseconds(writer, record->end);
	moment->at = ends ? moment->until : nanoseconds(writer, record->start);
}

static void collect(struct writer *writer)
{
	const struct timeline_copy *copy = writer->copy;

	for (size_t i = 0; i < copy->count; i++) {
		const struct timeline_record *record = &copy->entries[i].record;

		add(writer, record, copy->entries[i].ticket, false);
		if (is_async(record))
			add(writer, record, copy->entries[i].ticket, true);
	}
}

/* By thread and time; of those that begin together the one that lasts longer has the other inside. */
static int compare(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->record.track != y->record.track)
		return x->record.track < y->record.track ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->ticket == y->ticket)
		return (x->ends > y->ends) - (x->ends < y->ends);
	if (x->until != y->until)
		return x->until > y->until ? -1 : 1;
	/* A stage that contains others is recorded after them; what happens at a moment, after what it is in. */
	bool still = x->record.kind != TIMELINE_STAGE, also = y->record.kind != TIMELINE_STAGE;

	if (still != also)
		return still ? 1 : -1;
	return (x->ticket < y->ticket) == still ? -1 : 1;
}

static void begin_event(const struct writer *writer, const char *phase, const struct moment *moment, uint64_t at)
{
	fprintf(writer->out, ",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%d,\"ts\":%" PRIu64 ".%03u,", phase,
		writer->copy->self.id.pid, writer->copy->tracks[moment->record.track].thread, at / 1000,
		(unsigned)(at % 1000));
}

static void write_message(const struct writer *writer, const struct timeline_message *message, const char *other)
{
	fprintf(writer->out,
		",\"args\":{\"%s\":\"" ID_TEXT "\",\"bytes\":%" PRIu64 ",\"match_bits\":\"0x%" PRIx64 "\"}", other,
		NID_PARTS(message->nid), message->pid, message->bytes, message->match_bits);
}

/* An arrow's start ("s") or end ("f"), in the slice that is there at this moment. */
static void write_flow(const struct writer *writer, const char *phase, const struct moment *moment)
{
	if (!moment->record.message.flow)
		return;
	begin_event(writer, phase, moment, moment->at);
	fprintf(writer->out, "\"cat\":\"message\",\"name\":\"%s\",\"id\":\"0x%" PRIx64 "\"%s}",
		wire_operation_name(moment->record.message.operation), moment->record.message.flow,
		*phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static void write_async(const struct writer *writer, const struct moment *moment)
{
	begin_event(writer, moment->ends ? "e" : "b", moment, moment->at);
	fprintf(writer->out, "\"cat\":\"%s\",\"name\":\"%s\",\"id\":\"%u.%" PRIu64 "\"}", groups[moment->record.stage],
		stage_names[moment->record.stage], writer->copy->self.id.pid, moment->ticket);
}

/* A put ends at its PUT_END, all others where they are handled. */
static bool lands_later(const struct timeline_message *message)
{
	return message->operation == WIRE_PUT || message->operation == WIRE_PUT_LONG;
}

static void write_stage(const struct writer *writer, const struct moment *moment)
{
	const struct timeline_message *message = &moment->record.message;
	bool whole = moment->record.stage == PTL_STAGE_MESSAGE;
	uint64_t length = moment->until - moment->at;

	begin_event(writer, "X", moment, moment->at);
	fprintf(writer->out, "\"dur\":%" PRIu64 ".%03u,\"cat\":\"%s\",\"name\":\"%s\"", length / 1000,
		(unsigned)(length % 1000), groups[moment->record.stage],
		whole ? wire_operation_name(message->operation) : stage_names[moment->record.stage]);
	if (whole)
		write_message(writer, message, "from");
	fputc('}', writer->out);
	if (whole && !lands_later(message))
		write_flow(writer, "f", moment);
}

static void write_instant(const struct writer *writer, const struct moment *moment)
{
	static const char *const what[] = {
		[TIMELINE_SENT] = "sent", [TIMELINE_LANDED] = "PUT_END", [TIMELINE_DROPPED] = "dropped"};
	enum timeline_kind kind = moment->record.kind;

	begin_event(writer, "i", moment, moment->at);
	fprintf(writer->out, "\"s\":\"t\",\"cat\":\"message\",\"name\":\"%s %s\"",
		wire_operation_name(moment->record.message.operation), what[kind]);
	write_message(writer, &moment->record.message, kind == TIMELINE_SENT ? "to" : "from");
	fputc('}', writer->out);
	if (kind != TIMELINE_DROPPED)
		write_flow(writer, kind == TIMELINE_SENT ? "s" : "f", moment);
}

static void write_moment(const struct writer *writer, const struct moment *moment)
{
	if (is_async(&moment->record))
		write_async(writer, moment);
	else if (moment->record.kind == TIMELINE_STAGE)
		write_stage(writer, moment);
	else
		write_instant(writer, moment);
}

/* A name of a thread is whatever the program made it. */
static void write_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc(*name < ' ' || *name > '~' || *name == '"' || *name == '\\' ? '?' : *name, out);
}

static void write_names(const struct writer *writer)
{
	const struct timeline_copy *copy = writer->copy;

	fprintf(writer->out, "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"",
		copy->self.id.pid);
	write_name(writer->out, program_invocation_short_name);
	fprintf(writer->out, " " ID_TEXT "\"}}", ID_PARTS(copy->self.id));
	for (uint32_t i = 0; i < TIMELINE_TRACKS; i++) {
		if (copy->tracks[i].thread == 0)
			continue;
		fprintf(writer->out,
			",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"",
			copy->self.id.pid, copy->tracks[i].thread);
		write_name(writer->out, copy->tracks[i].name);
		fputs("\"}}", writer->out);
	}
}

/* How far the clock of the day is ahead of ours: hosts have nothing else in common. */
static int64_t day_ahead(void)
{
	struct timespec day;

	clock_gettime(CLOCK_REALTIME, &day);
	return (int64_t)day.tv_sec * 1000000000 + day.tv_nsec - (int64_t)monotonic_ns();
}

static void write_head(const struct timeline_copy *copy, FILE *out)
{
	fprintf(out,
		"{\"otherData\":{\"portals3\":\"%s\",\"nid\":%u,\"pid\":%u,\"interface\":%u,\"day_ahead_ns\":%" PRId64
		",\"recorded\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"clock\":\"%s\",\"clock_cost_ns\":%.1f},\n",
		PORTALS_VERSION, copy->self.id.nid, copy->self.id.pid, copy->interface, day_ahead(), copy->recorded,
		copy->dropped, timing_clock_name(), timing_clock_cost());
	fputs("\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n", out);
}

void timeline_copy_write(const struct timeline_copy *copy, FILE *out)
{
	struct writer writer = {.copy = copy, .out = out};

	writer.moments = malloc((size_t)2 * TIMELINE_ENTRIES * sizeof(*writer.moments));
	if (writer.moments) {
		collect(&writer);
		qsort(writer.moments, writer.count, sizeof(*writer.moments), compare);
	} else {
		report(LOG_WARN, "no memory to write the timeline of interface %u", copy->interface);
	}
	write_head(copy, out);
	write_names(&writer);
	for (size_t i = 0; writer.moments && i < writer.count; i++)
		write_moment(&writer, &writer.moments[i]);
	fputs("\n]}\n", out);
	free(writer.moments);
}

struct timeline_copy *timeline_copy_new(void)
{
	void *memory = mmap(NULL, sizeof(struct timeline_copy), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	return memory;
}

void timeline_copy_free(struct timeline_copy *copy)
{
	if (copy)
		munmap(copy, sizeof(*copy));
}

static void copy_entries(struct timeline_copy *copy, struct timeline *timeline)
{
	uint64_t next = atomic_load_explicit(&timeline->next, memory_order_acquire);
	uint64_t first = next > TIMELINE_ENTRIES ? next - TIMELINE_ENTRIES : 0;

	copy->recorded = next;
	copy->dropped = first + atomic_load_explicit(&timeline->lost, memory_order_relaxed);
	copy->count = 0;
	for (uint64_t ticket = first; ticket < next; ticket++) {
		copy->entries[copy->count].ticket = ticket;
		if (timeline_read(timeline, ticket, &copy->entries[copy->count].record))
			copy->count++;
		else
			copy->dropped++;
	}
}

/* After the entries: a thread has its track before it records. */
static void copy_tracks(struct timeline_copy *copy, struct timeline *timeline)
{
	for (uint32_t i = 0; i < TIMELINE_TRACKS; i++) {
		/* Acquire pairs with the release in find_track(). */
		copy->tracks[i].thread = atomic_load_explicit(&timeline->tracks[i].thread, memory_order_acquire);
		if (copy->tracks[i].thread)
			memcpy(copy->tracks[i].name, timeline->tracks[i].name, sizeof(copy->tracks[i].name));
	}
}

void timeline_copy_fill(struct timeline_copy *copy, const struct nic *nic)
{
	struct timeline *timeline = nic->timing.timeline;

	copy->self = nic->self;
	copy->interface = nic->index;
	copy->first_ns = timeline->opened_at;
	copy->first_ticks = timeline->opened_ticks;
	timing_now(&copy->last_ns, &copy->last_ticks);
	copy_entries(copy, timeline);
	copy_tracks(copy, timeline);
}
