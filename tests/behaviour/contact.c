/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact: with processes that start later, at the same instant, again, or never. */
#include "tests/behaviour/behaviour.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define QUIET (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)

/* A pid nobody else on this machine uses: process ids are unique and below 2^22. */
static ptl_pid_t own_pid(unsigned series)
{
	return 0x80000000u + (series << 22) + (ptl_pid_t)getpid();
}

/* Every process says which pid it has or will have; nodes are all the same. */
static void announce_pids(unsigned series, ptl_process_id_t *ids)
{
	ptl_process_id_t mine = {0x7f000001u, own_pid(series)};
	gather(&mine, sizeof mine, ids);
}

static void a_put_to_a_process_that_starts_later_arrives(void)
{
	enum { COUNT = 12 };
	ptl_process_id_t ids[MAX_PROCESSES];
	announce_pids(0, ids);
	if (am_initiator()) {
		open_interface(ids[0].pid);
		ptl_handle_eq_t eq = new_eq(2 * COUNT);
		char *bytes = memory(LONG);
		fill_pattern(bytes, LONG, 1);
		ptl_handle_md_t md = bind_md(md_over(bytes, LONG, PTL_MD_EVENT_START_DISABLE, eq));
		for (int i = 0; i < COUNT; i++)
			CHECK_OK(PtlPutRegion(md, 0, i % 4 ? 8 : LONG, PTL_NO_ACK_REQ, ids[1], INDEX, 0, BITS, 0, 0));
		CHECK_EMPTY(eq); /* nobody is there to send to */
		barrier();
		for (int i = 0; i < COUNT; i++)
			take(eq, PTL_EVENT_SEND_END);
	} else {
		barrier();
		open_interface(ids[1].pid);
		ptl_handle_eq_t eq = new_eq(2 * COUNT);
		char *bytes = memory(LONG);
		unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
		open_window(BITS, md_over(bytes, LONG, options, eq));
		/* What came before the window was open is dropped, as from any other process. */
		int arrived = 0;
		uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
		while (arrived + drops() < COUNT && now_ns() < deadline) {
			ptl_event_t event;
			int which;
			if (PtlEQPoll(&eq, 1, 10, &event, &which) == PTL_OK) {
				CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
				CHECK_PATTERN(bytes, event.mlength, 1);
				arrived++;
			}
		}
		CHECK_EQUAL(arrived + drops(), COUNT);
	}
	drive_while_waiting();
}

/* Everybody puts to everybody else as the first thing ever said between them. */
static void meet_all_at_once(unsigned series)
{
	static char area[8];
	ptl_process_id_t ids[MAX_PROCESSES];
	announce_pids(series, ids);
	open_interface(ids[my_rank].pid);
	ptl_handle_eq_t in = new_eq(64), out = new_eq(64);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	open_window(BITS, md_over(area, 8, options, in));
	ptl_handle_md_t md = bind_md(md_over(area, 8, QUIET, out));
	drive_while_waiting();
	CHECK_OK(PtlNicReady(ni)); /* so that the contacts, not the openings, coincide */
	barrier();
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			CHECK_OK(PtlPut(md, PTL_ACK_REQ, ids[rank], INDEX, 0, BITS, 0, (ptl_hdr_data_t)my_rank));
	for (int i = 1; i < process_count; i++)
		take(out, PTL_EVENT_ACK);
	unsigned seen = 0;
	for (int i = 1; i < process_count; i++)
		seen |= 1u << take(in, PTL_EVENT_PUT_END).hdr_data;
	CHECK_EQUAL(seen, (1u << process_count) - 1 - (1u << my_rank));
	barrier();
	harness_while_waiting(NULL);
	PtlFini();
	barrier();
}

static void processes_make_first_contact_at_the_same_instant(void)
{
	for (unsigned series = 0; series < FEWER(8); series++)
		meet_all_at_once(series);
}

static void a_pid_that_is_taken_is_refused(void)
{
	ptl_handle_ni_t second;
	int interfaces;
	ptl_process_id_t ids[MAX_PROCESSES];
	announce_pids(0, ids);
	if (am_initiator())
		open_interface(ids[0].pid);
	barrier();
	if (am_target()) {
		CHECK_OK(PtlInit(&interfaces));
		CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, ids[0].pid, NULL, NULL, &second), PTL_PID_INVALID);
		CHECK(strlen(PtlNicErrorText()) > 0);
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, ids[1].pid, NULL, NULL, &ni)); /* another one is fine */
		CHECK_OK(PtlNIFini(ni));
	}
	barrier();
	if (am_initiator())
		CHECK_OK(PtlNIFini(ni));
	barrier();
	if (am_target()) /* free again */
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, ids[0].pid, NULL, NULL, &ni));
}

static void any_pid_is_different_for_every_process(void)
{
	CHECK(my_rank == 0 || id_of[0].pid != id_of[1].pid);
	for (int i = 0; i < process_count; i++)
		CHECK(id_of[i].pid != PTL_PID_ANY && id_of[i].nid == 0x7f000001u);
}

static void a_put_to_nobody_fails_after_the_connect_timeout(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	static char bytes[8];
	ptl_process_id_t nobody = {initiator_id().nid, own_pid(9)};
	ptl_md_t md = md_over(bytes, 8, 0, eq);
	md.threshold = 1;
	uint64_t start = now_ns();
	ptl_handle_md_t handle = bind_mortal_md(md);
	CHECK_OK(PtlPut(handle, PTL_NO_ACK_REQ, nobody, INDEX, 0, BITS, 0, 0));
	ptl_seq_t link = take(eq, PTL_EVENT_SEND_START).link;
	ptl_event_t end = take_failed(eq, PTL_EVENT_SEND_END);
	uint64_t passed = now_ns() - start;
	CHECK_EQUAL(end.link, link);
	CHECK_EQUAL(end.ni_fail_type, PTL_NI_UNREACHABLE);
	CHECK_LESS(900000000, passed);
	CHECK_LESS(passed, 4000000000ll * SLOWNESS);
	take(eq, PTL_EVENT_UNLINK); /* a failed operation is over like any other */
	CHECK_RC(PtlMDUnlink(handle), PTL_MD_INVALID);
	CHECK_EMPTY(eq);
}

static void long_puts_gets_and_getputs_to_nobody_fail_too(void)
{
	ptl_handle_eq_t put_eq = new_eq(8), get_eq = new_eq(8), swap_eq = new_eq(8), reply_eq = new_eq(8);
	char *bytes = memory(LONG);
	ptl_process_id_t nobody = {initiator_id().nid, own_pid(9)};
	ptl_handle_md_t put_md = bind_md(md_over(bytes, LONG, 0, put_eq));
	ptl_handle_md_t get_md = bind_md(md_over(bytes, LONG, 0, get_eq));
	ptl_handle_md_t swap_md = bind_md(md_over(bytes, 8, 0, swap_eq));
	ptl_handle_md_t reply_md = bind_md(md_over(bytes, 8, 0, reply_eq));
	CHECK_OK(PtlPut(put_md, PTL_NO_ACK_REQ, nobody, INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlGet(get_md, nobody, INDEX, 0, BITS, 0));
	CHECK_OK(PtlGetPut(reply_md, swap_md, nobody, INDEX, 0, BITS, 0, 0));
	take(put_eq, PTL_EVENT_SEND_START);
	take_failed(put_eq, PTL_EVENT_SEND_END);
	take(get_eq, PTL_EVENT_REPLY_START);
	take_failed(get_eq, PTL_EVENT_REPLY_END);
	take(swap_eq, PTL_EVENT_SEND_START);
	take_failed(swap_eq, PTL_EVENT_SEND_END);
	take(reply_eq, PTL_EVENT_REPLY_START);
	take_failed(reply_eq, PTL_EVENT_REPLY_END);
	CHECK_OK(PtlMDUnlink(put_md));
	CHECK_OK(PtlMDUnlink(get_md));
	CHECK_OK(PtlMDUnlink(swap_md));
	CHECK_OK(PtlMDUnlink(reply_md));
}

static void waiting_for_nobody_disturbs_nobody_else(void)
{
	ptl_handle_eq_t eq = new_eq(64);
	static char bytes[8];
	ptl_process_id_t nobody = {initiator_id().nid, own_pid(9)};
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));
		for (int i = 0; i < 20; i++) {
			CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, nobody, INDEX, 0, BITS, 0, 0));
			knock(target_id());
		}
		for (int i = 0; i < 20; i++)
			take_failed(eq, PTL_EVENT_SEND_END);
		knock(target_id());
	}
	barrier();
}

/* Acknowledged puts until one is: the first to a process that was replaced may be lost without a word. */
static void reach(ptl_process_id_t peer)
{
	uint64_t deadline = now_ns() + 20000000000ull * SLOWNESS;
	while (now_ns() < deadline) {
		ptl_handle_eq_t eq = new_eq(8);
		ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, eq));
		ptl_event_t event;
		int which;
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, peer, INDEX, 0, BITS, 0, 0));
		if (PtlEQPoll(&eq, 1, 500, &event, &which) == PTL_OK && event.type == PTL_EVENT_ACK &&
		    event.ni_fail_type == PTL_NI_OK)
			return;
	}
	FAIL("%08x:%u was not reached", peer.nid, peer.pid);
}

static void open_for_reach(void)
{
	open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE));
}

static void a_process_that_reopens_its_interface_can_be_reached_again(void)
{
	ptl_process_id_t ids[MAX_PROCESSES];
	announce_pids(0, ids);
	open_interface(ids[my_rank].pid);
	drive_while_waiting();
	for (int round = 0; round < 3; round++) {
		open_for_reach();
		barrier();
		if (am_initiator())
			reach(ids[1]);
		barrier();
		if (am_target()) {
			harness_while_waiting(NULL);
			CHECK_OK(PtlNIFini(ni));
			CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, ids[1].pid, NULL, NULL, &ni));
			drive_while_waiting();
		}
	}
}

/* Rank 1 is killed; rank 2 takes its pid, and is spoken to as if nothing had happened. */
static void a_process_restarted_under_the_same_pid_can_be_talked_to_again(void)
{
	ptl_process_id_t ids[MAX_PROCESSES];
	announce_pids(0, ids);
	if (my_rank < 2) {
		open_interface(ids[my_rank].pid);
		drive_while_waiting();
		open_for_reach();
	}
	barrier();
	if (my_rank == 0)
		reach(ids[1]);
	barrier();
	if (my_rank == 1) {
		expect_death(1);
		kill(getpid(), SIGKILL);
	}
	barrier(); /* rank 1 is dead now */
	if (my_rank == 2) {
		open_interface(ids[1].pid);
		drive_while_waiting();
		open_for_reach();
	}
	barrier();
	if (my_rank == 0)
		reach(ids[1]);
	if (my_rank == 2)
		reach(ids[0]);
}

/* What network providers say of their peers' users is a claim; who requires more gets no such transport. */
static void a_transport_that_cannot_prove_user_ids_can_be_refused(void)
{
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	int rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	if (rc == PTL_OK)
		rc = PtlNicReady(ni);
	CHECK(rc == PTL_FAIL || rc == PTL_IFACE_INVALID);
	if (strstr(PtlNicErrorText(), "PTL_REQUIRE_VERIFIED_UID") == NULL)
		FAIL("\"%s\" does not name the setting", PtlNicErrorText());
}

#define MEETING(test, count)                                                                                           \
	{                                                                                                              \
		.name = #test, .run = test, .processes = count, .traits = TRAIT_SEVERAL | TRAIT_BARE                   \
	}
#define HASTY(test, traits_)                                                                                           \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = traits_, .environment = "PTL_CONNECT_TIMEOUT=1s" \
	}

const struct test contact_tests[] = {
	MEETING(a_put_to_a_process_that_starts_later_arrives, 2),
	MEETING(processes_make_first_contact_at_the_same_instant, 4),
	MEETING(a_pid_that_is_taken_is_refused, 2),
	PAIR(any_pid_is_different_for_every_process),
	HASTY(a_put_to_nobody_fails_after_the_connect_timeout, TRAIT_NETWORK),
	HASTY(long_puts_gets_and_getputs_to_nobody_fail_too, TRAIT_NETWORK),
	HASTY(waiting_for_nobody_disturbs_nobody_else, TRAIT_SEVERAL),
	{.name = "a_transport_that_cannot_prove_user_ids_can_be_refused",
	 .run = a_transport_that_cannot_prove_user_ids_can_be_refused,
	 .processes = 1,
	 .traits = TRAIT_NETWORK | TRAIT_BARE,
	 .environment = "PTL_REQUIRE_VERIFIED_UID=1"},
	MEETING(a_process_that_reopens_its_interface_can_be_reached_again, 2),
	MEETING(a_process_restarted_under_the_same_pid_can_be_talked_to_again, 3),
	{0},
};
