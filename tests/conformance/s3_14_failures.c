/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 3.14 Failures.  Operations fail here because their other end does not exist, or dies: killed in the middle of a
 * transfer (so long that to kill at once when its START event is read is to kill in its middle), or before it could
 * answer.  Of three processes the first is the initiator, the last the target; the one between them only shows that
 * the survivor is well.
 */
#include "tests/conformance/requests.h"

#include "tests/conformance/conformance.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define BIG ((size_t)(UNDER_SANITIZER ? 64 : 256) << 20)

static const struct row rows[] = {
	{"3.14/1", "An operation that fails after it was accepted says so in ni_fail_type of its END or ACK event"},
	{"3.14/2", "START events say PTL_NI_OK, whatever becomes of the operation"},
	{"3.14/3", "A failed operation has used up its unit of the threshold"},
	{"3.14/4", "A failed END releases the memory: PtlMDUnlink succeeds once it has been read"},
	{"3.14/5",
	 "A failed operation that was its descriptor's last unlinks the descriptor if asked to: UNLINK follows"},
	{"3.14/6", "The completion of an operation is final, good or bad: its memory is not touched afterwards"},
	{"3.14/7", "A put to a process that does not exist yet waits for it, and is sent when it has come into being"},
	{"3.14/8", "A request for a process that cannot be reached ends with a failed SEND or REPLY"},
	{"3.14/9", "A request for a process that died ends in failure where the transport notices"},
	{"3.14/10", "A transfer under way whose other process dies ends in failure, at the initiator as at the target"},
	{0},
};

/* ---- No process there ---- */

/* What the initiator hears of a request whose target cannot be reached: every END fails. */
static const struct {
	enum request request;
	size_t length;
	int units;
	ptl_event_kind_t kinds[4];
} hopeless[] = {
	{PUT, 64, 1, {PTL_EVENT_SEND_START, PTL_EVENT_SEND_END}},
	{PUT, LONG, 1, {PTL_EVENT_SEND_START, PTL_EVENT_SEND_END}},
	{GET, 64, 1, {PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END}},
	{GET, LONG, 1, {PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END}},
	{GETPUT, 64, 2, {PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END}},
};
#define HOPELESS (sizeof(hopeless) / sizeof(hopeless[0]))

/* Takes the events of a hopeless request; the descriptor's threshold was `threshold`. */
static ptl_seq_t take_hopeless(size_t i, ptl_handle_eq_t eq, int threshold)
{
	ptl_seq_t link = 0;
	for (int j = 0; j < 2 * hopeless[i].units; j += 2) {
		ptl_event_t start = take(eq, hopeless[i].kinds[j]), end = take_failed(eq, hopeless[i].kinds[j + 1]);
		CHECK_EQUAL(start.md.threshold, --threshold);
		CHECK_EQUAL(end.md.threshold, threshold);
		CHECK_EQUAL(end.link, start.link);
		CHECK_EQUAL(end.ni_fail_type, PTL_NI_UNREACHABLE);
		link = end.link;
	}
	return link;
}

static void c3_14_requests_for_nobody_fail_and_use_up_their_units(void)
{
	ptl_handle_eq_t eq[HOPELESS];
	ptl_handle_md_t md[HOPELESS];
	char *bytes[HOPELESS];
	id_of[0] = nobody(); /* the target */
	for (size_t i = 0; i < HOPELESS; i++) {
		eq[i] = new_eq(8);
		bytes[i] = memory(hopeless[i].length);
		fill_pattern(bytes[i], hopeless[i].length, 1);
		md[i] = bind_md(with_threshold(md_over(bytes[i], hopeless[i].length, 0, eq[i]), hopeless[i].units + 1));
		ask(hopeless[i].request, md[i], BITS, 0);
	}
	for (size_t i = 0; i < HOPELESS; i++) {
		take_hopeless(i, eq[i], hopeless[i].units + 1);
		CHECK_EMPTY(eq[i]); /* no ACK either */
		CHECK_PATTERN(bytes[i], hopeless[i].length, 1);
		CHECK_EQUAL(state_of(md[i]).threshold, 1);
		CHECK_OK(PtlMDUnlink(md[i]));
	}
	CHECK_EQUAL(drops(), 0);
}

static void c3_14_a_failed_operation_unlinks_its_descriptor_like_any_other(void)
{
	ptl_handle_eq_t eq[HOPELESS];
	ptl_handle_md_t md[HOPELESS];
	id_of[0] = nobody();
	for (size_t i = 0; i < HOPELESS; i++) {
		eq[i] = new_eq(8);
		ptl_md_t state = md_over(memory(hopeless[i].length), hopeless[i].length, 0, eq[i]);
		md[i] = bind_mortal_md(with_threshold(state, hopeless[i].units));
		ask(hopeless[i].request, md[i], BITS, 0);
	}
	for (size_t i = 0; i < HOPELESS; i++) {
		ptl_seq_t link = take_hopeless(i, eq[i], hopeless[i].units);
		CHECK_EQUAL(take(eq[i], PTL_EVENT_UNLINK).link, link);
		CHECK_RC(PtlMDUnlink(md[i]), PTL_MD_INVALID);
		CHECK_EMPTY(eq[i]);
	}
}

/* What comes before the target has opened its window is dropped, as from any other process. */
static void c3_14_puts_wait_for_a_process_that_starts_later(void)
{
	enum { COUNT = 12 };
	announce_ids(0);
	if (am_target())
		barrier();
	open_interface(own_pid(0));
	ptl_handle_eq_t eq = new_eq(2 * COUNT);
	char *bytes = memory(LONG);
	if (am_initiator()) {
		fill_pattern(bytes, LONG, 1);
		ptl_handle_md_t md = bind_md(md_over(bytes, LONG, PTL_MD_EVENT_START_DISABLE, eq));
		for (int i = 0; i < COUNT; i++)
			CHECK_OK(PtlPutRegion(md, 0, short_and_long[i % 2], PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS,
					      0, 0));
		CHECK_EMPTY(eq); /* no process is there to send to */
		barrier();
		for (int i = 0; i < COUNT; i++)
			take(eq, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
		open_window(BITS, md_over(bytes, LONG, options, eq));
		int stored = 0;
		uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
		while (stored + drops() < COUNT && now_ns() < deadline) {
			ptl_event_t event;
			int which;
			if (PtlEQPoll(&eq, 1, 10, &event, &which) == PTL_EQ_EMPTY)
				continue;
			CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
			CHECK_PATTERN(bytes, event.mlength, 1);
			stored++;
		}
		CHECK_EQUAL(stored + drops(), COUNT);
	}
	drive_while_waiting();
}

/* ---- Peers that die ---- */

static _Noreturn void die(void)
{
	expect_death(my_rank);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static void murder(int rank)
{
	expect_death(rank);
	CHECK(kill(pid_of(rank), SIGKILL) == 0);
}

/* Every living process calls this after the death; the two put to and get from each other. */
static void the_living_work_on(int dead)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(32);
	char *near = memory(LONG), *far = memory(LONG);
	int peer = 3 - dead - my_rank;
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	fill_pattern(near, LONG, (unsigned)my_rank);
	open_window_on(INDEX_SIDE, BITS, md_over(far, LONG, options, in));
	barrier(); /* the victim is dead: the runner has reaped it */
	ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
	for (int i = 0; i < 2; i++) {
		size_t length = short_and_long[i];
		CHECK_OK(PtlPutRegion(md, 0, length, PTL_ACK_REQ, id_of[peer], INDEX_SIDE, 0, BITS, 0, 0));
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_ACK);
		take(in, PTL_EVENT_PUT_END);
		CHECK_PATTERN(far, length, (unsigned)peer);
	}
	barrier();
	for (int i = 0; i < 2; i++) {
		CHECK_OK(PtlGetRegion(md, 0, short_and_long[i], id_of[peer], INDEX_SIDE, 0, BITS, 0));
		take(out, PTL_EVENT_REPLY_END);
		CHECK_PATTERN(near, short_and_long[i], (unsigned)my_rank);
		take(in, PTL_EVENT_GET_END);
	}
	barrier();
}

/* The failure of a descriptor's last operation, after which it is gone.  Returns the operation's link. */
static ptl_seq_t take_last_failure(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t failed = take_any(eq);
	CHECK_EQUAL(failed.type, kind);
	if (failed.ni_fail_type == PTL_NI_OK)
		lose_race("the operation ended before one of its processes died");
	ptl_event_t unlink = take(eq, PTL_EVENT_UNLINK);
	CHECK_EQUAL(failed.md.threshold, 0);
	CHECK_EQUAL(unlink.link, failed.link);
	CHECK_RC(PtlMDUnlink(failed.md_handle), PTL_MD_INVALID);
	CHECK_EMPTY(eq);
	return failed.link;
}

/* What the survivor writes after the failure must stay there. */
static void work_on_and_watch(int dead, char *bytes)
{
	bool survivor = my_rank == 2 - dead;
	if (survivor)
		memset(bytes, 0x5a, BIG);
	the_living_work_on(dead);
	if (survivor)
		CHECK(bytes[0] == 0x5a && memcmp(bytes, bytes + 1, BIG - 1) == 0);
}

static void lose_the_target(enum request request, ptl_event_kind_t near_start, ptl_event_kind_t near_end)
{
	const int victim = 2;
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(my_rank == 1 ? 0 : BIG);
	memset(bytes, 1, my_rank == 1 ? 0 : BIG);
	if (am_target())
		open_window(BITS, md_over(bytes, BIG, request_kinds[request].operations, eq));
	barrier();
	if (am_target()) {
		take(eq, request_kinds[request].start);
		die();
	}
	if (am_initiator()) {
		ptl_handle_md_t md = bind_mortal_md(with_threshold(md_over(bytes, BIG, 0, eq), 1));
		ask(request, md, BITS, 0);
		ptl_seq_t link = take(eq, near_start).link;
		CHECK_EQUAL(take_last_failure(eq, near_end), link);
	}
	work_on_and_watch(victim, bytes);
}

static void lose_the_initiator(enum request request)
{
	const int victim = 0;
	ptl_handle_eq_t eq = new_eq(8);
	struct window window = {0};
	char *bytes = memory(my_rank == 1 ? 0 : BIG);
	memset(bytes, 1, my_rank == 1 ? 0 : BIG);
	if (am_target()) {
		ptl_md_t md = md_over(bytes, BIG, request_kinds[request].operations, eq);
		window = open_mortal_window(BITS, with_threshold(md, 1));
	}
	barrier();
	if (am_initiator()) {
		ask(request, bind_md(md_over(bytes, BIG, 0, eq)), BITS, 0);
		for (;;)
			take_any(eq); /* serves the transfer where no NIC thread does, until killed */
	}
	if (am_target()) {
		ptl_seq_t link = take(eq, request_kinds[request].start).link;
		murder(victim);
		CHECK_EQUAL(take_last_failure(eq, request_kinds[request].end), link);
		CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
	}
	work_on_and_watch(victim, bytes);
}

static void c3_14_a_long_put_whose_target_is_killed_ends_in_failure(void)
{
	lose_the_target(PUT, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
}

static void c3_14_a_long_get_whose_target_is_killed_ends_in_failure(void)
{
	lose_the_target(GET, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END);
}

static void c3_14_a_long_put_whose_initiator_is_killed_ends_in_failure(void)
{
	lose_the_initiator(PUT);
}

static void c3_14_a_long_get_whose_initiator_is_killed_ends_in_failure(void)
{
	lose_the_initiator(GET);
}

/* The target stands still, so nothing is answered; then it dies. */
static void c3_14_answers_owed_by_a_killed_process_fail(void)
{
	ptl_handle_eq_t eq[REQUESTS];
	static char bytes[8];
	open_door();
	barrier();
	if (am_initiator()) {
		ping(target_id());
		stop_process(2);
		for (enum request request = 0; request < REQUESTS; request++) {
			ptl_md_t md = md_over(bytes, 8, 0, eq[request] = new_eq(8));
			ask(request, bind_mortal_md(with_threshold(md, request == GET ? 1 : 2)), BITS, 0);
		}
		take(eq[PUT], PTL_EVENT_SEND_START);
		take(eq[PUT], PTL_EVENT_SEND_END);
		take(eq[GETPUT], PTL_EVENT_SEND_START);
		take(eq[GETPUT], PTL_EVENT_SEND_END);
		murder(2);
		take_last_failure(eq[PUT], PTL_EVENT_ACK);
		for (enum request request = GET; request < REQUESTS; request++) {
			ptl_seq_t link = take(eq[request], PTL_EVENT_REPLY_START).link;
			CHECK_EQUAL(take_last_failure(eq[request], PTL_EVENT_REPLY_END), link);
		}
	}
	if (am_target())
		barrier(); /* answers until it is stopped */
	the_living_work_on(2);
}

/* Whether the SEND itself fails or only what should follow it depends on how soon the transport notices. */
static void take_request_to_the_dead(size_t i, ptl_handle_eq_t eq)
{
	const enum request request = hopeless[i].request;
	bool sent = false;
	if (request != GET) {
		take(eq, PTL_EVENT_SEND_START);
		ptl_event_t end = take_any(eq);
		CHECK_EQUAL(end.type, PTL_EVENT_SEND_END);
		sent = end.ni_fail_type == PTL_NI_OK;
	}
	if (request != PUT)
		take(eq, PTL_EVENT_REPLY_START);
	if (request != PUT || sent)
		take_failed(eq, request_kinds[request].answer);
	CHECK_EMPTY(eq);
}

/* The pid is one that no other test running on this machine will get when it has become free. */
static void c3_14_requests_for_a_process_that_died_fail(void)
{
	ptl_handle_eq_t eq[HOPELESS];
	ptl_handle_md_t md[HOPELESS];
	announce_ids(0);
	open_interface(own_pid(0));
	drive_while_waiting();
	open_door();
	barrier();
	if (am_target())
		barrier(); /* answers until it is killed */
	ping(target_id());
	murder(1);
	barrier(); /* the runner has reaped it */
	for (size_t i = 0; i < HOPELESS; i++) {
		eq[i] = new_eq(8);
		md[i] = bind_md(md_over(memory(hopeless[i].length), hopeless[i].length, 0, eq[i]));
		ask(hopeless[i].request, md[i], BITS, 0);
	}
	for (size_t i = 0; i < HOPELESS; i++) {
		take_request_to_the_dead(i, eq[i]);
		CHECK_OK(PtlMDUnlink(md[i]));
	}
}

#define HOPELESS_CASE(test, numbers)                                                                                   \
	{                                                                                                              \
		.name = #test, .run = test, .proves = numbers, .processes = 1,                                         \
		.environment = "PTL_CONNECT_TIMEOUT=500ms"                                                             \
	}
/* Contact takes its time on a busy machine: only a process that looks for none may be in a hurry. */
#define DEADLY(test, numbers, count, trait)                                                                            \
	{                                                                                                              \
		.name = #test, .run = test, .proves = numbers, .processes = count, .traits = TRAIT_SEVERAL | (trait),  \
		.environment = "PTL_CONNECT_TIMEOUT=5s PTL_PEER_TIMEOUT=5s"                                            \
	}

static const struct test tests[] = {
	HOPELESS_CASE(c3_14_requests_for_nobody_fail_and_use_up_their_units,
		      "3.14/1 3.14/2 3.14/3 3.14/4 3.14/6 3.14/8"),
	HOPELESS_CASE(c3_14_a_failed_operation_unlinks_its_descriptor_like_any_other, "3.14/3 3.14/5"),
	CASE(c3_14_puts_wait_for_a_process_that_starts_later, "3.14/7", 2, TRAIT_SEVERAL | TRAIT_BARE),
	DEADLY(c3_14_requests_for_a_process_that_died_fail, "3.14/4 3.14/9", 2, TRAIT_BARE),
	DEADLY(c3_14_a_long_put_whose_target_is_killed_ends_in_failure, "3.14/2 3.14/5 3.14/6 3.14/10", 3, 0),
	DEADLY(c3_14_a_long_get_whose_target_is_killed_ends_in_failure, "3.14/2 3.14/5 3.14/6 3.14/10", 3, 0),
	DEADLY(c3_14_a_long_put_whose_initiator_is_killed_ends_in_failure, "3.14/2 3.14/5 3.14/6 3.14/10", 3, 0),
	DEADLY(c3_14_a_long_get_whose_initiator_is_killed_ends_in_failure, "3.14/2 3.14/5 3.14/6 3.14/10", 3, 0),
	DEADLY(c3_14_answers_owed_by_a_killed_process_fail, "3.14/1 3.14/3 3.14/5 3.14/9", 3, 0),
	{0},
};

const struct chapter failures_chapter = {.title = "3.14 Failures", .rows = rows, .tests = tests};
