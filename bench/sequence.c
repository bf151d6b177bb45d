/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocols as sequences, from timelines of both processes (PTL_TRACE): what each does when, and which message of one is which of
 * the other (Portals on QsNet, figures 1 and 2; prototype InfiniBand hardware, figures 2, 3 and 6; GRIM, figures 5.7, 5.9 and 5.11).
 * Each protocol is used a few times, and the quickest time is shown; first contact, once.  Messages that only the engines exchange
 * (HELLO, WELCOME) are no part of a timeline: of first contact, the time that they take is seen.
 */
#include "tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arch.h"
#include "fail.h"
#include "machine.h"
#include "measure.h"
#include "output.h"
#include "temporary.h"
#include "trace_events.h"

#define SHORT_BYTES 64
#define LONG_BYTES  (256 << 10)
#define FRAGMENTS   4

static const struct protocol {
	const char *name;
	uint64_t size;
	uint32_t count;  /* operations */
	bool get;        /* else puts with acknowledgement */
	bool one_by_one; /* each when the one before has been answered */
} protocols[] = {
	{"first contact", SHORT_BYTES, 1, false, false},
	{"short put", SHORT_BYTES, 1, false, false},
	{"long put", LONG_BYTES, 1, false, false},
	{"short get", SHORT_BYTES, 1, true, false},
	{"long get", LONG_BYTES, 1, true, false},
	{"store and forward", LONG_BYTES / FRAGMENTS, FRAGMENTS, false, true},
	{"pipeline", LONG_BYTES / FRAGMENTS, FRAGMENTS, false, false},
};

#define PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

/* The quickest use of each protocol, at the initiator, ns. */
static struct use {
	uint64_t begin, end;
} shown[PROTOCOLS];

static ptl_handle_md_t own_md;
static ptl_handle_me_t entry;

static const struct protocol *protocol_of(const struct run *run)
{
	if (run->variant >= PROTOCOLS)
		fail("there is no protocol %u", run->variant);
	return &protocols[run->variant];
}

static void sequence_prepare(struct session *session, const struct run *run)
{
	const struct protocol *protocol = protocol_of(run);
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	char *memory = (session->peers.role == INITIATOR) == protocol->get ? session->sink : session->source;

	if (session->peers.role == INITIATOR)
		own_md = session_bind(session, session_md(session, memory, run->size, 0), PTL_RETAIN);
	else
		entry = session_attach(session, BITS_DATA, session_md(session, memory, run->size, options), PTL_RETAIN);
}

static void operate(struct session *session, const struct protocol *protocol)
{
	if (protocol->get)
		PTL(PtlGet(own_md, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0));
	else
		PTL(PtlPut(own_md, PTL_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0, 0));
}

static void sequence_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	const struct protocol *protocol = protocol_of(run);
	const ptl_event_kind_t answer = protocol->get ? PTL_EVENT_REPLY_END : PTL_EVENT_ACK;
	const uint64_t before = (uint64_t)iteration * protocol->count;

	struct use use = {.begin = monotonic_ns()};
	for (uint32_t i = 0; i < protocol->count; i++) {
		operate(session, protocol);
		if (protocol->one_by_one)
			session_wait(session, answer, before + i + 1);
	}
	session_wait(session, answer, before + protocol->count);
	if (!protocol->get)
		session_wait(session, PTL_EVENT_SEND_END, before + protocol->count);
	use.end = monotonic_ns();
	if (iteration == 0 || use.end - use.begin < shown[run->variant].end - shown[run->variant].begin)
		shown[run->variant] = use;
}

static void sequence_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	const struct protocol *protocol = protocol_of(run);

	session_wait(session, protocol->get ? PTL_EVENT_GET_END : PTL_EVENT_PUT_END,
		     (uint64_t)(iteration + 1) * protocol->count);
}

static void sequence_finish(struct session *session, const struct run *run)
{
	(void)run;
	if (session->peers.role == INITIATOR)
		session_release(session, own_md);
	else
		session_detach(session, entry);
}

const struct exchange sequence_exchange = {sequence_prepare, sequence_initiate, sequence_serve, sequence_finish};

static const struct column columns[] = {
	{"Protocol", "protocol", -17}, {"us", "us", 3},       {"lasts", "lasts_us", 3}, {"process", "process", -9},
	{"thread", "thread", -6},      {"arrow", "arrow", 0}, {"Event", "event", -30},
};

/* An event of one of both processes, within what is shown. */
struct moment {
	const struct trace_event *event;
	enum role role;
	int arrow; /* -1: none */
};

struct scene {
	struct moment *moments;
	size_t count;
	double begin, end; /* us */
};

/* Calls, messages, what moves bytes, and what wakes: the NIC's stages would hide them. */
static bool is_told(const struct trace_event *event)
{
	static const char *const too_small[] = {"poll", "queued send", "registration", "idle"};

	if (event->kind != TRACE_SLICE)
		return true;
	if (!strcmp(event->category, "NIC"))
		return false;
	for (size_t i = 0; i < sizeof(too_small) / sizeof(too_small[0]); i++)
		if (!strcmp(event->name, too_small[i]))
			return false;
	return true;
}

static void add_moments(struct scene *scene, const struct trace_events *events, enum role role)
{
	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->event[i];

		if (event->us + event->lasts_us < scene->begin || event->us > scene->end || !is_told(event))
			continue;
		if (event->us < scene->begin && strcmp(event->category, "HOST") != 0)
			continue; /* of what was there before, only which thread waits */
		scene->moments[scene->count++] = (struct moment){event, role, -1};
	}
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->event->us != y->event->us)
		return x->event->us < y->event->us ? -1 : 1;
	return (y->event->lasts_us > x->event->lasts_us) - (y->event->lasts_us < x->event->lasts_us);
}

/* From where a message was sent to where the other process had it. */
static void number_arrows(struct scene *scene)
{
	int arrows = 0;

	for (size_t i = 0; i < scene->count; i++) {
		struct moment *from = &scene->moments[i];

		for (size_t j = 0; from->event->kind == TRACE_SENT && j < scene->count; j++) {
			struct moment *to = &scene->moments[j];

			if (to->event->kind == TRACE_ARRIVED && to->role != from->role &&
			    !strcmp(to->event->id, from->event->id))
				from->arrow = to->arrow = ++arrows;
		}
	}
}

static void print_moment(const struct protocol *protocol, const struct scene *scene, const struct moment *moment)
{
	static const char *const done[] = {[TRACE_SLICE] = "", [TRACE_SENT] = " sent", [TRACE_ARRIVED] = " is there"};
	const struct trace_event *event = moment->event;
	char text[64];

	if (event->kind == TRACE_ARRIVED && moment->arrow < 0)
		return; /* of an operation before */
	snprintf(text, sizeof(text), "%s%s", event->name, done[event->kind]);
	output_row((union cell[]){{.text = protocol->name},
				  {event->us - scene->begin},
				  {event->kind == TRACE_SLICE ? event->lasts_us : NAN},
				  {.text = moment->role == INITIATOR ? "initiator" : "target"},
				  {.text = event->nic_thread ? "NIC" : "host"},
				  {moment->arrow < 0 ? NAN : (double)moment->arrow},
				  {.text = text}});
}

static void print_protocol(size_t number, const struct trace_events events[2])
{
	struct scene scene = {.begin = (double)shown[number].begin / 1e3, .end = (double)shown[number].end / 1e3};

	scene.moments = calloc(events[INITIATOR].count + events[TARGET].count + 1, sizeof(*scene.moments));
	if (!scene.moments)
		fail("no memory for the sequence of a %s", protocols[number].name);
	add_moments(&scene, &events[INITIATOR], INITIATOR);
	add_moments(&scene, &events[TARGET], TARGET);
	qsort(scene.moments, scene.count, sizeof(*scene.moments), by_time);
	number_arrows(&scene);
	for (size_t i = 0; i < scene.count; i++)
		print_moment(&protocols[number], &scene, &scene.moments[i]);
	free(scene.moments);
}

/* Reads the timeline of a process that has ended, and takes it away. */
static void read_timeline(struct trace_events *events, const char *directory, ptl_process_id_t id)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/t.%u.%u.json", directory, id.nid, id.pid);
	trace_events_read(events, path);
	unlink(path);
}

static void use_protocols(struct session *session)
{
	for (uint32_t i = 0; i < PROTOCOLS; i++) {
		struct run run = {.exchange = EXCHANGE_SEQUENCE,
				  .size = protocols[i].size,
				  .variant = i,
				  .batch = 1,
				  .batches = i == 0                ? 1
					     : session->load.quick ? 5
								   : 20};
		measure_run(session, &run, NULL);
	}
	measure_end(session);
}

int sequence(const struct options *options)
{
	char path[sizeof(temporary_folder) + 8];
	temporary_folder directory;
	struct trace_events events[2] = {{0}};
	struct options own = *options;
	struct session session;

	temporary_folder_make(directory);
	snprintf(path, sizeof(path), "%s/t", directory);
	own.settings = (const struct setting[]){{"PTL_TRACE", path}, {"PTL_TRACE", path}};
	own.load.size_max = LONG_BYTES;
	fflush(stdout);
	session_open(&session, &own);
	if (session.peers.role == TARGET) {
		measure_serve(&session);
		session_close(&session);
		exit(0);
	}
	machine_facts();
	session_facts(&session);
	use_protocols(&session);
	session_close(&session);
	read_timeline(&events[INITIATOR], directory, session.self);
	read_timeline(&events[TARGET], directory, session.other);
	rmdir(directory);
	output_fact("us", "since the call of the initiator; an arrow is a message, from sent to there; clocks of the "
			  "stages are on");
	output_fact("short, long", "%d and %d bytes, acknowledged; store and forward, pipeline: %d fragments",
		    SHORT_BYTES, LONG_BYTES, FRAGMENTS);
	output_table(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < PROTOCOLS; i++)
		print_protocol(i, events);
	trace_events_free(&events[INITIATOR]);
	trace_events_free(&events[TARGET]);
	return 0;
}
