/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/security/security.h"

#define ATTACK_NS    (at_night() ? 20000000000ull : 2500000000ull)
#define LEAST        2 /* contacts and round trips in an attack that proves something */
#define GREATEST     (256u << 10)
#define STALL_NS     (30000000000ull * SLOWNESS) /* docs/security.md: no message of honest peers is held up longer */
#define CONTACT_NS   90000000000ull              /* PTL_CONNECT_TIMEOUT, as ATTACK() sets it */
#define MOST_FDS     (64 + ATTACK_SILENT)
#define SETTLING_NS  (5000000000ull * SLOWNESS)
#define MOST_KIB     (UNDER_SANITIZER ? 512 << 10 : 64 << 10)
#define ECHO_BITS    0xec40u
#define DOOR_BITS    0xd00fu
#define NEWCOMER_IDS 150

/* Of all processes of a test. */
struct board {
	_Atomic bool over, done;
	_Atomic uint64_t round_trips, contacts, attacks, worst_stall, worst_contact;
};

static struct board *board(void)
{
	return shared_memory();
}

bool attack_is_over(void)
{
	return atomic_load(&board()->over);
}

void attack_await_exchange(void)
{
	const uint64_t before = atomic_load(&board()->round_trips), until = now_ns() + STALL_NS;
	const struct timespec pause = {0, 100000};

	while (atomic_load(&board()->round_trips) < before + 2 && now_ns() < until) /* one may be as good as over */
		nanosleep(&pause, NULL);
}

static void note_worst(_Atomic uint64_t *worst, uint64_t passed)
{
	if (passed > atomic_load(worst))
		atomic_store(worst, passed); /* one process writes each */
}

/* --- honest traffic --- */

struct line {
	ptl_handle_eq_t in, out;
	uint8_t *sent, *received;
	ptl_handle_md_t md;
};

static struct line open_line(void)
{
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	struct line line = {
		.in = new_eq(64), .out = new_eq(64), .sent = memory(GREATEST), .received = memory(GREATEST)};

	open_window(ECHO_BITS, md_over(line.received, GREATEST, options, line.in));
	line.md = bind_md(md_over(line.sent, GREATEST, QUIET, line.out));
	return line;
}

static size_t length_of(uint32_t number)
{
	return number % 8 == 7 ? GREATEST - number % 1000 : number * 37 % 4000 + 1;
}

static void send_number(const struct line *line, ptl_process_id_t to, uint32_t number)
{
	fill_pattern(line->sent, length_of(number), number);
	CHECK_OK(PtlPutRegion(line->md, 0, length_of(number), PTL_ACK_REQ, to, INDEX, 0, ECHO_BITS, 0, number));
}

static void receive_number(const struct line *line, uint32_t number)
{
	ptl_event_t event = take(line->in, PTL_EVENT_PUT_END);

	CHECK_EQUAL(event.hdr_data, number); /* neither lost nor doubled */
	CHECK_EQUAL(event.mlength, length_of(number));
	CHECK_PATTERN(line->received, length_of(number), number);
}

static void exchange(const struct line *line, uint32_t number)
{
	send_number(line, id_of[TARGET], number);
	take(line->out, PTL_EVENT_ACK);
	receive_number(line, number);
}

static void talk(void)
{
	struct line line = open_line();

	barrier();
	exchange(&line, 0);
	barrier(); /* they know each other: now outsiders may come */
	for (uint32_t number = 1; !attack_is_over() || number < LEAST; number++) {
		uint64_t start = now_ns();

		exchange(&line, number);
		note_worst(&board()->worst_stall, now_ns() - start);
		atomic_fetch_add(&board()->round_trips, 1);
	}
	/* The last number is told by its length. */
	CHECK_OK(PtlPutRegion(line.md, 0, 0, PTL_ACK_REQ, id_of[TARGET], INDEX, 0, ECHO_BITS, 0, 0));
	take(line.out, PTL_EVENT_ACK);
	barrier();
	CHECK_EMPTY(line.in);
}

struct size {
	unsigned fds;
	long kib;
};

static struct size size_now(void)
{
	struct size size = {0};
	char text[256];
	DIR *directory = opendir("/proc/self/fd");
	FILE *status = fopen("/proc/self/status", "r");

	CHECK(directory && status);
	while (readdir(directory))
		size.fds++;
	closedir(directory);
	while (fgets(text, sizeof(text), status))
		sscanf(text, "VmRSS: %ld", &size.kib);
	fclose(status);
	return size;
}

/* Only what the test is about: attack() sets them. */
static const char *attack_name;
static enum trace due_trace;

static ptl_nic_counters_t counters_now(void)
{
	ptl_nic_counters_t counters;

	CHECK_OK(PtlNicCounters(ni, &counters));
	return counters;
}

static bool has_trace(const ptl_nic_counters_t *before)
{
	const ptl_nic_counters_t now = counters_now();

	return due_trace == TRACE_MALFORMED ? before->malformed < now.malformed
	       : due_trace != NO_TRACE      ? before->stale < now.stale
					    : true;
}

static void print_figures(const struct size *before, const struct size *after, const ptl_nic_counters_t *counters)
{
	const char *path = getenv("PORTALS_TEST_FIGURES");
	FILE *out = path ? fopen(path, "a") : NULL;

	if (!out)
		return;
	fprintf(out,
		"%s %s: round trips %llu, worst %.1f ms; first contacts %llu, worst %.1f ms; attacks %llu, malformed "
		"%llu, stale %llu; target grew by %ld KiB, %d descriptors\n",
		getenv("PTL_TRANSPORT"), attack_name, (unsigned long long)board()->round_trips,
		(double)board()->worst_stall / 1e6, (unsigned long long)board()->contacts,
		(double)board()->worst_contact / 1e6, (unsigned long long)board()->attacks,
		(unsigned long long)counters->malformed, (unsigned long long)counters->stale, after->kib - before->kib,
		(int)after->fds - (int)before->fds);
	fclose(out);
}

static void be_target(void)
{
	struct line line = open_line();
	ptl_event_t event;

	open_window(DOOR_BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE));
	put_to_myself(); /* what is allocated at first use is there */
	struct size before = size_now();
	ptl_nic_counters_t counted = counters_now(), now;

	barrier();
	for (uint32_t number = 0;; number++) {
		event = take(line.in, PTL_EVENT_PUT_END);
		if (event.mlength == 0)
			break;
		CHECK_EQUAL(event.hdr_data, number);
		CHECK_EQUAL(event.mlength, length_of(number));
		CHECK_PATTERN(line.received, length_of(number), number);
		send_number(&line, id_of[TALKER], number);
		take(line.out, PTL_EVENT_ACK);
		if (number == 0)
			barrier();
	}
	while (!atomic_load(&board()->done))
		lend_time();
	/* What the attackers sent, and connections that they closed, at the very end is still to be noticed. */
	uint64_t until = now_ns() + SETTLING_NS;
	struct size after = size_now();

	while (((int)after.fds - (int)before.fds >= MOST_FDS || !has_trace(&counted)) && now_ns() < until) {
		lend_time();
		after = size_now();
	}

	now = counters_now();
	print_figures(&before, &after, &now);
	CHECK(has_trace(&counted));
	CHECK_LESS((int)after.fds - (int)before.fds, MOST_FDS);
	CHECK_LESS(after.kib - before.kib, MOST_KIB);
	barrier();
	CHECK_EMPTY(line.in);
}

/*
 * An acknowledged put, for which we wait as long as first contact may take.  False: we were forgotten for other
 * outsiders.
 */
static bool make_contact(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, eq));
	ptl_event_t event;
	int which;

	CHECK_OK(PtlPut(md, PTL_ACK_REQ, id_of[TARGET], INDEX, 0, DOOR_BITS, 0, 0));
	CHECK_OK(PtlEQPoll(&eq, 1, (ptl_time_t)(CONTACT_NS / 1000000), &event, &which));
	CHECK_EQUAL(event.type, PTL_EVENT_ACK);
	if (due_trace == TRACE_STALE_FORGOTTEN && event.ni_fail_type == PTL_NI_PEER_DIED)
		return false;
	CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
	return true;
}

static void meet_once(unsigned series)
{
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, own_pid(series), NULL, NULL, &ni));
	CHECK_OK(PtlNicReady(ni));
	uint64_t start = now_ns();

	while (!make_contact())
		CHECK_LESS(now_ns() - start, CONTACT_NS);
	note_worst(&board()->worst_contact, now_ns() - start);
	atomic_fetch_add(&board()->contacts, 1);
	CHECK_OK(PtlNIFini(ni));
}

static void be_newcomer(void)
{
	int interfaces;
	unsigned series = 0;

	CHECK_OK(PtlInit(&interfaces));
	barrier();
	barrier();
	while (!attack_is_over())
		meet_once(series++ % NEWCOMER_IDS);
	meet_once(series % NEWCOMER_IDS); /* and when it is over */
	atomic_store(&board()->done, true);
	barrier();
}

/* --- the attack --- */

uint16_t tcp_port_of(ptl_handle_ni_t interface)
{
	char text[4096];
	const char *at;

	if (interface == PTL_INVALID_HANDLE)
		return 0;
	CHECK_OK(PtlNicInfo(interface, text, sizeof(text)));
	at = strstr(text, "at 127.0.0.1:");
	return at ? (uint16_t)atoi(at + strlen("at 127.0.0.1:")) : 0;
}

static void be_outsider(const struct victims *victims, attack *once)
{
	uint64_t end;

	barrier();
	barrier();
	end = now_ns() + ATTACK_NS;
	for (unsigned again = 0; now_ns() < end; again++)
		atomic_fetch_add(&board()->attacks, once(victims, again));
	atomic_store(&board()->over, true);
	CHECK_LESS(0, board()->attacks);
	barrier();
}

void run_attack_at(const char *name, attack *once, enum trace trace)
{
	struct victims victims = {0};

	if (my_rank == TALKER || my_rank == TARGET) {
		open_interface(PTL_PID_ANY);
		drive_while_waiting();
	}
	exchange_ids();
	uint16_t port = tcp_port_of(ni);

	gather(&port, sizeof(port), victims.port);
	memcpy(victims.id, id_of, sizeof(victims.id));
	CHECK(over_transport("node") || (victims.port[TARGET] != 0 && victims.port[TALKER] != 0));
	attack_name = name;
	due_trace = trace;
	if (my_rank == TALKER)
		talk();
	else if (my_rank == TARGET)
		be_target();
	else if (my_rank == NEWCOMER)
		be_newcomer();
	else
		be_outsider(&victims, once);
	CHECK_LESS(board()->worst_stall, STALL_NS);
}
