/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/timeline_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
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

struct writer {
	const struct nic *nic;
	FILE *out;
	struct moment *moments;
	size_t count;
	uint64_t recorded, dropped, last_ns, last_ticks;
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
	const struct timeline *timeline = writer->nic->timing.timeline;
	double rate = writer->last_ns - timeline->opened_at < 2000000
			      ? timing_ns_per_tick()
			      : (double)(writer->last_ns - timeline->opened_at) /
					(double)(writer->last_ticks - timeline->opened_ticks);
	double ns = rate * (double)(int64_t)(ticks - timeline->opened_ticks);

	return timeline->opened_at + (uint64_t)(int64_t)ns;
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
	struct timeline *timeline = writer->nic->timing.timeline;
	uint64_t next = atomic_load_explicit(&timeline->next, memory_order_acquire);
	uint64_t first = next > TIMELINE_ENTRIES ? next - TIMELINE_ENTRIES : 0;
	struct timeline_record record;

	writer->recorded = next;
	writer->dropped = first + atomic_load_explicit(&timeline->lost, memory_order_relaxed);
	for (uint64_t ticket = first; ticket < next; ticket++) {
		if (!timeline_read(timeline, ticket, &record)) {
			writer->dropped++;
			continue;
		}
		add(writer, &record, ticket, false);
		if (is_async(&record))
			add(writer, &record, ticket, true);
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
	const struct timeline_track *track = &writer->nic->timing.timeline->tracks[moment->record.track];

	fprintf(writer->out, ",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%d,\"ts\":%" PRIu64 ".%03u,", phase,
		writer->nic->self.id.pid, atomic_load_explicit(&track->thread, memory_order_relaxed), at / 1000,
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
		stage_names[moment->record.stage], writer->nic->self.id.pid, moment->ticket);
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
	struct timeline *timeline = writer->nic->timing.timeline;
	const struct nic *nic = writer->nic;

	fprintf(writer->out, "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"",
		nic->self.id.pid);
	write_name(writer->out, program_invocation_short_name);
	fprintf(writer->out, " " ID_TEXT "\"}}", ID_PARTS(nic->self.id));
	for (uint32_t i = 0; i < TIMELINE_TRACKS; i++) {
		/* Acquire pairs with the release in find_track(). */
		int thread = atomic_load_explicit(&timeline->tracks[i].thread, memory_order_acquire);

		if (thread == 0)
			continue;
		fprintf(writer->out,
			",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"",
			nic->self.id.pid, thread);
		write_name(writer->out, timeline->tracks[i].name);
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

void timeline_write(const struct nic *nic, FILE *out)
{
	struct writer writer = {.nic = nic, .out = out};

	timing_now(&writer.last_ns, &writer.last_ticks);
	writer.moments = malloc((size_t)2 * TIMELINE_ENTRIES * sizeof(*writer.moments));
	if (writer.moments) {
		collect(&writer);
		qsort(writer.moments, writer.count, sizeof(*writer.moments), compare);
	} else {
		report(LOG_WARN, "no memory to write the timeline of interface %u", nic->index);
	}
	fprintf(out,
		"{\"otherData\":{\"portals3\":\"%s\",\"nid\":%u,\"pid\":%u,\"interface\":%u,\"day_ahead_ns\":%" PRId64
		",\"recorded\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"clock\":\"%s\",\"clock_cost_ns\":%.1f},\n",
		PORTALS_VERSION, nic->self.id.nid, nic->self.id.pid, nic->index, day_ahead(), writer.recorded,
		writer.dropped, timing_clock_name(), timing_clock_cost());
	fputs("\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n", out);
	write_names(&writer);
	for (size_t i = 0; writer.moments && i < writer.count; i++)
		write_moment(&writer, &writer.moments[i]);
	fputs("\n]}\n", out);
	free(writer.moments);
}
