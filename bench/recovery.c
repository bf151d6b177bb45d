/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that die: how long until the survivor is told, and until it can talk to a successor at the same (nid, pid).
 *
 * Three processes, forked anew for every trial by one without Portals: a survivor, a victim, and, where it matters, a
 * successor.  The parent kills the victim and takes the time just before; the others share its clock.  So that something
 * is certainly outstanding at that moment, the victim is stopped before the survivor begins its operation.
 */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "machine.h"
#include "opening.h"
#include "output.h"
#include "session.h"
#include "stage_rows.h"
#include "stats.h"

#define SHORT_SIZE    8
#define LONG_SIZE     (4u << 20)
#define PAUSE_NS      100000000 /* between a death and the first operation after it */
#define REPEAT_MS     100
#define EVENT_WAIT_MS 100000

/* Unless the environment says otherwise: the usual ones are too long for a test. */
#define CONNECT_TIMEOUT "2s"
#define PEER_TIMEOUT    "5s"

enum deed { SHORT_PUT, LONG_PUT, LONG_GET, FIRST_PUT, UNTIL_ACKNOWLEDGED, DEEDS };

/* In which order a trial goes. */
enum play { KILLED_MEANWHILE, KILLED_BEFORE, REPLACED };

static const struct {
	const char *name;
	enum play play;
} deeds[DEEDS] = {
	[SHORT_PUT] = {"8 B put, ACK outstanding", KILLED_MEANWHILE},
	[LONG_PUT] = {"4 MiB put outstanding", KILLED_MEANWHILE},
	[LONG_GET] = {"4 MiB get outstanding", KILLED_MEANWHILE},
	[FIRST_PUT] = {"first put after the death", KILLED_BEFORE},
	[UNTIL_ACKNOWLEDGED] = {"successor, from the kill", REPLACED},
};

/* What the survivor saw. */
struct outcome {
	uint64_t start, end; /* monotonic_ns() when it began, and when the event was taken */
	char event[80];
};

static ptl_event_t take(struct session *session)
{
	ptl_event_t event;
	int which, code = PtlEQPoll(&session->eq, 1, EVENT_WAIT_MS, &event, &which);

	if (code != PTL_OK)
		fail("no event within %d s: %s", EVENT_WAIT_MS / 1000, PtlErrorStr((unsigned)code));
	return event;
}

/* Entries that every process may put to and get from. */
static void show_memory(struct session *session)
{
	session->other = (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY};
	session_attach(session, BITS_DATA,
		       session_md(session, session->sink, LONG_SIZE,
				  PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE),
		       PTL_RETAIN);
}

/* Until it is killed, waiting inside Portals. */
static void __attribute__((noreturn)) serve(struct session *session)
{
	ptl_event_t event;

	for (;;)
		PTL(PtlEQWait(session->eq, &event));
}

static void be_victim(struct peers *parent, const void *options)
{
	struct session session;

	session_open_alone(&session, options, PTL_PID_ANY);
	show_memory(&session);
	control_send(parent, &session.self, sizeof(session.self));
	serve(&session);
}

/* Opens at its predecessor's address when it is told which that is. */
static void be_successor(struct peers *parent, const void *options)
{
	struct session session;
	ptl_process_id_t predecessor;

	control_receive(parent, &predecessor, sizeof(predecessor));
	session_open_alone(&session, options, predecessor.pid);
	show_memory(&session);
	uint64_t ready = monotonic_ns();
	control_send(parent, &ready, sizeof(ready));
	serve(&session);
}

static void put(struct session *session, ptl_handle_md_t md, size_t size, ptl_ack_req_t ack)
{
	PTL(PtlPutRegion(md, 0, size, ack, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0, 0));
}

static void get(struct session *session, ptl_handle_md_t md)
{
	PTL(PtlGetRegion(md, 0, LONG_SIZE, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0));
}

/* Both know each other and have moved data of every kind. */
static void warm_up(struct session *session, ptl_handle_md_t md)
{
	put(session, md, SHORT_SIZE, PTL_ACK_REQ);
	put(session, md, LONG_SIZE, PTL_ACK_REQ);
	get(session, md);
	session_wait(session, PTL_EVENT_ACK, 2);
	session_wait(session, PTL_EVENT_SEND_END, 2);
	session_wait(session, PTL_EVENT_REPLY_END, 1);
}

static void begin(struct session *session, ptl_handle_md_t md, enum deed deed)
{
	if (deed == LONG_GET)
		get(session, md);
	else
		put(session, md, deed == LONG_PUT ? LONG_SIZE : SHORT_SIZE,
		    deed == LONG_PUT ? PTL_NO_ACK_REQ : PTL_ACK_REQ);
}

static void note(struct outcome *outcome, const struct session *session, const ptl_event_t *event)
{
	outcome->end = monotonic_ns();
	snprintf(outcome->event, sizeof(outcome->event), "%s %s", PtlEventKindStr(event->type),
		 PtlNIFailStr(session->ni, event->ni_fail_type));
}

/* Until an event reports a failure; that is what the victim's death has to lead to. */
static void await_failure(struct session *session, struct outcome *outcome)
{
	ptl_event_t event;

	do
		event = take(session);
	while (event.ni_fail_type == PTL_NI_OK);
	note(outcome, session, &event);
}

/*
 * As a program would: again when a put has failed, or when nothing is heard of it.  One that arrives between the
 * successor's PtlNIInit and its PtlMDAttach is dropped, and Portals reports nothing.
 */
static void put_until_acknowledged(struct session *session, ptl_handle_md_t md, struct outcome *outcome)
{
	ptl_event_t event = {.type = PTL_EVENT_SEND_END};
	unsigned failed = 0, unanswered = 0;
	int which;

	do {
		int code = PtlEQPoll(&session->eq, 1, REPEAT_MS, &event, &which);
		if (code == PTL_OK && event.ni_fail_type == PTL_NI_OK)
			continue;
		failed += code == PTL_OK;
		unanswered += code != PTL_OK;
		put(session, md, SHORT_SIZE, PTL_ACK_REQ);
	} while (event.type != PTL_EVENT_ACK || event.ni_fail_type != PTL_NI_OK);
	note(outcome, session, &event);
	snprintf(outcome->event, sizeof(outcome->event), "ACK, after %u failed, %u repeated", failed, unanswered);
}

struct survivor {
	const struct options *options;
	enum deed deed;
	bool stages; /* with the clocks on, and the stages told behind the outcome */
};

static void send_stages(struct session *session, const struct peers *parent)
{
	static struct stage_times times;

	stage_times_take(session->ni, &times);
	control_send(parent, &times, sizeof(times));
}

static void be_survivor(struct peers *parent, const void *argument)
{
	const struct survivor *survivor = argument;
	const enum deed deed = survivor->deed;
	struct session session;
	struct outcome outcome = {0};
	ptl_process_id_t victim;

	session_open_alone(&session, survivor->options, PTL_PID_ANY);
	control_receive(parent, &victim, sizeof(victim));
	session.other = victim;
	ptl_handle_md_t md = session_bind(&session, session_md(&session, session.source, LONG_SIZE, 0), PTL_RETAIN);
	warm_up(&session, md);
	control_meet(parent);
	control_meet(parent);
	if (survivor->stages)
		PTL(PtlNicTimingSet(session.ni, 1));
	outcome.start = monotonic_ns();
	begin(&session, md, deed);
	control_meet(parent);
	if (deed == UNTIL_ACKNOWLEDGED)
		put_until_acknowledged(&session, md, &outcome);
	else
		await_failure(&session, &outcome);
	control_send(parent, &outcome, sizeof(outcome));
	if (survivor->stages)
		send_stages(&session, parent);
	peers_part(parent);
	_exit(0);
}

struct cast {
	struct peers survivor, victim, successor;
};

static void cast_players(struct cast *cast, const struct options *options, enum deed deed, bool stages)
{
	const struct survivor survivor = {options, deed, stages};

	peers_start(&cast->victim, be_victim, options);
	peers_start(&cast->successor, be_successor, options);
	peers_start(&cast->survivor, be_survivor, &survivor);
}

static void pause_for_death(void)
{
	struct timespec left = {.tv_nsec = PAUSE_NS};

	while (nanosleep(&left, &left))
		;
}

struct trial {
	double told_ns;      /* from the kill, or the survivor's call if that came later, to the event */
	double successor_ns; /* REPLACED: from the successor's being ready */
	char event[80];
};

/* With the stages of the survivor too, unless `times` is NULL. */
static struct trial perform(const struct options *options, enum deed deed, struct stage_times *times)
{
	enum play play = deeds[deed].play;
	struct cast cast;
	struct outcome outcome;
	ptl_process_id_t victim;
	uint64_t killed = 0, ready = 0;

	cast_players(&cast, options, deed, times != NULL);
	control_receive(&cast.victim, &victim, sizeof(victim));
	control_send(&cast.survivor, &victim, sizeof(victim));
	control_meet(&cast.survivor); /* it has warmed up */
	if (play == KILLED_MEANWHILE)
		peers_stop(&cast.victim);
	else
		killed = peers_kill(&cast.victim);
	if (play == KILLED_BEFORE)
		pause_for_death();
	if (play == REPLACED)
		control_send(&cast.successor, &victim, sizeof(victim));
	control_meet(&cast.survivor); /* it may begin */
	control_meet(&cast.survivor); /* it has begun */
	if (play == KILLED_MEANWHILE)
		killed = peers_kill(&cast.victim);
	control_receive(&cast.survivor, &outcome, sizeof(outcome));
	if (times)
		control_receive(&cast.survivor, times, sizeof(*times));
	if (play == REPLACED)
		control_receive(&cast.successor, &ready, sizeof(ready));
	peers_kill(&cast.successor);
	peers_kill(&cast.survivor);
	struct trial trial = {.told_ns = (double)(outcome.end - (play == KILLED_BEFORE ? outcome.start : killed)),
			      .successor_ns = (double)outcome.end - (double)ready};
	memcpy(trial.event, outcome.event, sizeof(trial.event));
	return trial;
}

static const struct column columns[] = {
	{"Transport", "transport", -10}, {"What", "what", -26}, {"median (ms)", "median_ms", 3}, {"least", "least", 3},
	{"greatest", "greatest", 3},     {NULL, "trials", 0},   {"Event", "event", -34},
};

static void print_case(const struct session *session, const char *what, struct samples *times, const char *event,
		       const struct stage_times stages[2])
{
	const struct run run = {.batch = 1, .batches = 1};
	struct summary summary = samples_summary(times);

	stage_row_with(session,
		       (union cell[]){{.text = session->options->transport},
				      {.text = what},
				      {summary.median / 1e6},
				      {times->value[0] / 1e6},
				      {times->value[times->count - 1] / 1e6},
				      {(double)summary.count},
				      {.text = event}},
		       &run, stages);
	samples_free(times);
}

static void measure_deed(const struct options *options, enum deed deed, uint32_t trials)
{
	const struct session session = {.options = options, .load = options->load};
	struct samples told = {0}, successor = {0};
	static struct stage_times stages[2];
	struct trial trial;

	for (uint32_t i = 0; i < trials; i++) {
		trial = perform(options, deed, NULL);
		samples_add(&told, trial.told_ns);
		samples_add(&successor, trial.successor_ns);
	}
	stage_times_none(&stages[TARGET]); /* the victim cannot tell */
	if (options->load.nic_timing)
		perform(options, deed, &stages[INITIATOR]);
	print_case(&session, deeds[deed].name, &told, trial.event, stages);
	if (deeds[deed].play == REPLACED)
		print_case(&session, "successor, once it is open", &successor, trial.event, stages);
	else
		samples_free(&successor);
}

static void measure_transport(const struct options *options, const char *transport)
{
	uint32_t trials = options->load.iterations ? options->load.iterations : options->load.quick ? 1 : 5;
	struct options own = *options;
	static struct opening opening;

	own.transport = transport;
	opening_start(&opening, &own, transport);
	opening_end(&opening);
	if (!opening.open) {
		output_note(transport, "not measured: %.*s", (int)strcspn(opening.text, "\n"), opening.text);
		return;
	}
	for (enum deed deed = 0; deed < DEEDS; deed++)
		measure_deed(&own, deed, trials);
}

int recovery(const struct options *options)
{
	static const char *const all[] = {"node", "ofi:tcp", "ofi:net", "ofi:verbs"};
	struct options own = *options;
	const struct session session = {.options = options, .load = options->load};

	own.unpinned = true; /* three processes, and none of them is in a hurry */
	own.load.size_max = LONG_SIZE;
	if (!own.iface && !getenv("PTL_IFACE"))
		own.iface = "lo";
	setenv("PTL_CONNECT_TIMEOUT", CONNECT_TIMEOUT, 0);
	setenv("PTL_PEER_TIMEOUT", PEER_TIMEOUT, 0);
	machine_facts();
	output_fact("time", "from kill -9 of the peer to the event; of the first put after it: from that PtlPut");
	output_fact("PTL_CONNECT_TIMEOUT", "%s, bounds the first put to a peer known to be dead",
		    getenv("PTL_CONNECT_TIMEOUT"));
	output_fact("PTL_PEER_TIMEOUT", "%s, bounds what nothing else does: node has pidfds, ofi probes after 1 s",
		    getenv("PTL_PEER_TIMEOUT"));
	stage_rows_open(&session, columns, sizeof(columns) / sizeof(columns[0]));
	if (own.transport)
		measure_transport(&own, own.transport);
	else
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			measure_transport(&own, all[i]);
	stage_rows_close(&session);
	return 0;
}
