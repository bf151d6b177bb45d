/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program that loses messages, or hangs, tells without being changed: PTL_LOG=debug, PTL_DEBUG, PTL_DUMP_SIGNAL. */
#include "tests/behaviour/behaviour.h"

#include <p3api/debug.h>
#include <p3utils.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- What is printed from here on ---- */

static void listen_in(void)
{
	FILE *all = tmpfile();
	CHECK(all != NULL);
	p3_out = all;
}

static const char *told_so_far(void)
{
	static char text[1 << 20];
	fflush(p3_out);
	ssize_t length = pread(fileno(p3_out), text, sizeof(text) - 1, 0);
	CHECK(length >= 0);
	text[length] = '\0';
	return text;
}

static void check_told(const char *expected)
{
	const char *text = told_so_far();
	if (strstr(text, expected) == NULL)
		FAIL("\"%s\" does not say: %s", strlen(text) > 600 ? text + strlen(text) - 600 : text, expected);
}

static void await_told(const char *expected)
{
	uint64_t end = now_ns() + PATIENCE * 1000000ull;
	while (strstr(told_so_far(), expected) == NULL && now_ns() < end)
		lend_time();
	check_told(expected);
}

/* ---- Drops ---- */

static char area[8];

static struct window window_for(unsigned options, int threshold)
{
	return open_window(BITS, with_threshold(md_over(area, sizeof(area), options, PTL_EQ_NONE), threshold));
}

static struct window for_puts(void)
{
	return window_for(PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_MD_THRESH_INF);
}

static struct window nothing(void)
{
	return (struct window){PTL_INVALID_HANDLE, PTL_INVALID_HANDLE};
}

static struct window at_another_index(void)
{
	return open_window_on(INDEX_SIDE, BITS, md_over(area, sizeof(area), PTL_MD_OP_PUT, PTL_EQ_NONE));
}

static struct window for_other_bits(void)
{
	return open_window(BITS + 1, md_over(area, sizeof(area), PTL_MD_OP_PUT, PTL_EQ_NONE));
}

static struct window without_put(void)
{
	return window_for(PTL_MD_OP_GET, PTL_MD_THRESH_INF);
}

static struct window used_up(void)
{
	return window_for(PTL_MD_OP_PUT, 0);
}

static struct window too_short(void)
{
	return open_window(BITS, md_over(area, 4, PTL_MD_OP_PUT, PTL_EQ_NONE));
}

static struct window entry_for(ptl_process_id_t source)
{
	struct window window = nothing();
	CHECK_OK(PtlMEAttach(ni, INDEX, source, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &window.me));
	return window;
}

static struct window without_descriptor(void)
{
	return entry_for(anyone);
}

static struct window for_nobody(void)
{
	return entry_for(nobody());
}

static struct window for_another_user(void)
{
	CHECK_OK(PtlACEntry(ni, 3, anyone, 4711, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	return for_puts();
}

static const struct mistake {
	struct window (*prepare)(void); /* at the target */
	ptl_ac_index_t ac;
	ptl_size_t offset;
	const char *told;
} mistakes[] = {
	{nothing, 0, 0, "there is no match entry at index 4"},
	{at_another_index, 0, 0, "there is no match entry at index 4; at index 9 one would match"},
	{for_other_bits, 0, 0,
	 "none of 1 match entries at index 4 matches; the first wants bits 0x5ca1ab1f, ignoring 0x0"},
	{for_nobody, 0, 0, "has these bits, but is for process"},
	{without_descriptor, 0, 0, "matches, but has no descriptor"},
	{without_put, 0, 0, "lacks PTL_MD_OP_PUT"},
	{used_up, 0, 0, "has threshold 0: used up, or never set"},
	{too_short, 0, 0, "has 4 bytes left at offset 0, and no PTL_MD_TRUNCATE"},
	{for_puts, 0, 100, "ends before offset 100: it has 8 bytes"},
	{for_puts, 99, 0, "there is no access control entry 99, the largest is"},
	{for_another_user, 3, 0, "access control entry 3 refuses it: for uid 4711, not"},
};

#define MISTAKES (int)(sizeof(mistakes) / sizeof(mistakes[0]))

static void a_drop_is_told_with_its_reason(void)
{
	static char bytes[8];
	ptl_handle_md_t md = bind_md(md_over(bytes, sizeof(bytes), QUIET, PTL_EQ_NONE));
	listen_in();
	open_door();
	for (int i = 0; i < MISTAKES; i++) {
		const struct mistake *mistake = &mistakes[i];
		struct window window = am_target() ? mistake->prepare() : nothing();
		barrier();
		if (am_initiator())
			CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, mistake->ac, BITS, mistake->offset, 0));
		if (am_target()) {
			await_drops(i + 1);
			check_told(mistake->told);
			check_told("PUT of 8 bytes from");
			check_told("index 4, bits 0x5ca1ab1e: ");
		}
		if (window.me != PTL_INVALID_HANDLE)
			CHECK_OK(PtlMEUnlink(window.me));
		barrier();
	}
}

static void nothing_is_told_of_drops_unasked(void)
{
	listen_in();
	barrier();
	if (am_initiator())
		CHECK_OK(PtlPut(bind_md(md_over(area, 1, QUIET, PTL_EQ_NONE)), PTL_NO_ACK_REQ, target_id(), INDEX, 0,
				BITS, 0, 0));
	if (am_target()) {
		await_drops(1);
		CHECK_STRING(told_so_far(), "");
	}
	barrier();
}

static void a_variable_traces_what_PtlNIDebug_would(void)
{
	listen_in();
	struct window window = am_target() ? for_puts() : nothing();
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++)
		CHECK_OK(PtlPut(bind_md(md_over(area, 8, QUIET, PTL_EQ_NONE)), PTL_NO_ACK_REQ, target_id(), INDEX, 0,
				BITS + (unsigned)i, 0, 0));
	if (am_target()) {
		await_drops(1);
		check_told(": request: PUT of");
		check_told(": drop: PUT of 8 bytes");
		CHECK(strstr(told_so_far(), ": me: ") == NULL);
		close_window(window);
	}
	CHECK_EQUAL(PtlNIDebug(ni, 0), PTL_DBG_DROP | PTL_DBG_REQUEST);
	barrier();
}

/* ---- The signal ---- */

static _Atomic bool waits;

static void *wait_for_ever(void *eq)
{
	ptl_event_t event;
	atomic_store(&waits, true);
	CHECK_RC(PtlEQWait(*(ptl_handle_eq_t *)eq, &event), PTL_EQ_INVALID);
	return NULL;
}

static void a_signal_prints_the_state_of_a_program_that_waits_for_ever(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	pthread_t thread;
	listen_in();
	struct window window = for_puts();
	CHECK(pthread_create(&thread, NULL, wait_for_ever, &eq) == 0);
	while (!atomic_load(&waits))
		lend_time();
	for (int i = 0; i < 2; i++) {
		CHECK(raise(SIGUSR2) == 0);
		await_told("portals3: interface 0");
		await_told("event queues");
		await_told("match bits 0x000000005ca1ab1e");
		await_told("threshold -1");
	}
	close_window(window);
	CHECK_OK(PtlEQFree(eq));
	pthread_join(thread, NULL);
}

static void a_signal_that_comes_after_PtlFini_kills_nobody(void)
{
	for (int i = 0; i < 2; i++) {
		listen_in();
		CHECK(raise(SIGUSR2) == 0);
		await_told("portals3: interface 0");
		PtlFini();
		CHECK(raise(SIGUSR2) == 0);
		open_interface(PTL_PID_ANY);
	}
}

static void a_child_that_starts_anew_prints_its_own_state(void)
{
	pid_t child = fork_child();
	if (child == 0) {
		raise(SIGUSR2); /* no thread is there that would print */
		PtlFini();
		open_interface(PTL_PID_ANY);
		listen_in();
		CHECK(raise(SIGUSR2) == 0);
		await_told("portals3: interface 0");
		_exit(0);
	}
	join_child(child);
}

static void own_handler(int number)
{
	(void)number;
}

static void a_signal_that_the_program_handles_is_left_to_it(void)
{
	int interfaces;
	struct sigaction own = {.sa_handler = own_handler}, now;
	listen_in();
	CHECK(sigaction(SIGUSR2, &own, NULL) == 0);
	CHECK_OK(PtlInit(&interfaces));
	check_told("PTL_DUMP_SIGNAL");
	CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == own_handler);
	PtlFini();
	CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == own_handler);
}

#define TOLD(test, number, what, variable)                                                                             \
	{                                                                                                              \
		.name = #test, .run = test, .processes = number, .traits = what, .environment = variable               \
	}

const struct test told_tests[] = {
	TOLD(a_drop_is_told_with_its_reason, 2, TRAIT_PAIR, "PTL_LOG=debug"),
	TOLD(nothing_is_told_of_drops_unasked, 2, TRAIT_PAIR, NULL),
	TOLD(a_variable_traces_what_PtlNIDebug_would, 2, TRAIT_PAIR, "PTL_DEBUG=drop,match"),
	TOLD(a_signal_prints_the_state_of_a_program_that_waits_for_ever, 1, 0, "PTL_DUMP_SIGNAL=USR2"),
	TOLD(a_signal_that_comes_after_PtlFini_kills_nobody, 1, 0, "PTL_DUMP_SIGNAL=USR2"),
	TOLD(a_child_that_starts_anew_prints_its_own_state, 1, TRAIT_NO_TSAN, "PTL_DUMP_SIGNAL=SIGUSR2"),
	TOLD(a_signal_that_the_program_handles_is_left_to_it, 1, TRAIT_BARE, "PTL_DUMP_SIGNAL=USR2"),
	{0},
};
