/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact: with processes that start later, at the same instant, again, or never. */
#include "tests/behaviour/behaviour.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Every process puts to every other as the first thing ever said between them. */
static void meet_all_at_once(unsigned series)
{
	static char area[8];
	announce_ids(series);
	open_interface(id_of[my_rank].pid);
	ptl_handle_eq_t in = new_eq(64), out = new_eq(64);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	open_window(BITS, md_over(area, 8, options, in));
	ptl_handle_md_t md = bind_md(md_over(area, 8, QUIET, out));
	drive_while_waiting();
	CHECK_OK(PtlNicReady(ni)); /* so that the contacts, not the openings, coincide */
	barrier();
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			CHECK_OK(PtlPut(md, PTL_ACK_REQ, id_of[rank], INDEX, 0, BITS, 0, (ptl_hdr_data_t)my_rank));
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
	announce_ids(0);
	if (am_initiator())
		open_interface(id_of[0].pid);
	barrier();
	if (am_target()) {
		CHECK_OK(PtlInit(&interfaces));
		CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, id_of[0].pid, NULL, NULL, &second), PTL_PID_INVALID);
		CHECK(strlen(PtlNicErrorText()) > 0);
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, id_of[1].pid, NULL, NULL, &ni)); /* another one is fine */
		CHECK_OK(PtlNIFini(ni));
	}
	barrier();
	if (am_initiator())
		CHECK_OK(PtlNIFini(ni));
	barrier();
	if (am_target()) /* free again */
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, id_of[0].pid, NULL, NULL, &ni));
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
	ptl_handle_md_t md = bind_md(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));
	uint64_t start = now_ns();
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, nobody(), INDEX, 0, BITS, 0, 0));
	/* Not after the usual 30 seconds, for which no test waits. */
	CHECK_EQUAL(take_failed(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_UNREACHABLE);
	CHECK_LESS(900000000, now_ns() - start);
	CHECK_LESS(now_ns() - start, 25000000000);
}

static void waiting_for_nobody_disturbs_nobody_else(void)
{
	ptl_handle_eq_t eq = new_eq(64);
	static char bytes[8];
	open_door();
	barrier();
	if (am_initiator()) {
		ping_until_answered(target_id());
		ptl_handle_md_t md = bind_md(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));
		for (int i = 0; i < 20; i++) {
			CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, nobody(), INDEX, 0, BITS, 0, 0));
			ping(target_id());
		}
		for (int i = 0; i < 20; i++)
			take_failed(eq, PTL_EVENT_SEND_END);
		ping(target_id());
	}
	barrier();
}

static void a_process_that_reopens_its_interface_can_be_reached_again(void)
{
	announce_ids(0);
	open_interface(id_of[my_rank].pid);
	drive_while_waiting();
	for (int round = 0; round < 3; round++) {
		open_door();
		barrier();
		if (am_initiator())
			ping_until_answered(id_of[1]);
		barrier();
		if (am_target()) {
			harness_while_waiting(NULL);
			CHECK_OK(PtlNIFini(ni));
			CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, id_of[1].pid, NULL, NULL, &ni));
			drive_while_waiting();
		}
	}
}

/* Rank 1 is killed; rank 2 takes its pid, and is spoken to as if nothing had happened. */
static void a_process_restarted_under_the_same_pid_can_be_talked_to_again(void)
{
	announce_ids(0);
	if (my_rank < 2) {
		open_interface(id_of[my_rank].pid);
		drive_while_waiting();
		open_door();
	}
	barrier();
	if (my_rank == 0)
		ping_until_answered(id_of[1]);
	barrier();
	if (my_rank == 1) {
		expect_death(1);
		kill(getpid(), SIGKILL);
	}
	barrier(); /* rank 1 is dead now */
	if (my_rank == 2) {
		open_interface(id_of[1].pid);
		drive_while_waiting();
		open_door();
	}
	barrier();
	if (my_rank == 0)
		ping_until_answered(id_of[1]);
	if (my_rank == 2)
		ping_until_answered(id_of[0]);
}

/* What network providers say of their peers' users is a claim, what node says comes from the kernel. */
static void only_a_transport_that_proves_user_ids_will_do_if_that_is_required(void)
{
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	int rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	if (rc == PTL_OK)
		rc = PtlNicReady(ni);
	if (over_transport("node")) {
		CHECK_EQUAL(rc, PTL_OK);
		return;
	}
	CHECK(rc == PTL_FAIL || rc == PTL_IFACE_INVALID);
	if (strstr(PtlNicErrorText(), "PTL_REQUIRE_VERIFIED_UID") == NULL)
		FAIL("\"%s\" does not name the setting", PtlNicErrorText());
}

/* ---- Where others compute, a thread that yields gets its core back when each of them has used up its time slice. ---- */

#define TIME_SLICE_NS 4000000

static _Atomic bool others_compute;
static _Atomic unsigned yields;

/* The library's calls come here too.  It is no cancellation point, so nothing in it may be one. */
int sched_yield(void)
{
	if (!atomic_load(&others_compute))
		return (int)syscall(SYS_sched_yield);
	atomic_fetch_add(&yields, 1);
	return (int)syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = TIME_SLICE_NS}, NULL);
}

static void wait_for_ack(ptl_handle_eq_t eq)
{
	take(eq, PTL_EVENT_ACK);
}

static void poll_for_ack(ptl_handle_eq_t eq)
{
	ptl_event_t event;
	int rc;
	while ((rc = PtlEQGet(eq, &event)) == PTL_EQ_EMPTY)
		CHECK_LESS(atomic_load(&yields), 100000);
	CHECK_OK(rc);
	CHECK_EQUAL(event.type, PTL_EVENT_ACK);
}

/* So many slices, rather than a time, because how long the other side takes is the machine's affair. */
static void meet_in_few_slices(void (*await)(ptl_handle_eq_t), unsigned most)
{
	static char area[8];
	ptl_handle_eq_t in = new_eq(8), out = new_eq(8);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	if (am_target())
		open_window(BITS, md_over(area, 8, options, in));
	ptl_handle_md_t md = bind_md(md_over(area, 8, QUIET, out));
	atomic_store(&others_compute, true);
	barrier();
	if (am_initiator()) {
		put(md, PTL_ACK_REQ, BITS);
		await(out);
	} else {
		take(in, PTL_EVENT_PUT_END);
	}
	atomic_store(&others_compute, false);
	if (atomic_load(&yields) > most)
		lose_race("first contact took too many time slices; perhaps the other side waited for its core");
	barrier();
}

static void first_contact_takes_few_time_slices_where_others_compute(void)
{
	meet_in_few_slices(wait_for_ack, 40);
}

static void first_contact_of_one_that_polls_takes_few_time_slices_where_others_compute(void)
{
	meet_in_few_slices(poll_for_ack, 60);
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
	MEETING(processes_make_first_contact_at_the_same_instant, 4),
	MEETING(a_pid_that_is_taken_is_refused, 2),
	PAIR(any_pid_is_different_for_every_process),
	HASTY(a_put_to_nobody_fails_after_the_connect_timeout, TRAIT_NETWORK),
	HASTY(waiting_for_nobody_disturbs_nobody_else, TRAIT_SEVERAL),
	{.name = "only_a_transport_that_proves_user_ids_will_do_if_that_is_required",
	 .run = only_a_transport_that_proves_user_ids_will_do_if_that_is_required,
	 .processes = 1,
	 .traits = TRAIT_NETWORK | TRAIT_BARE,
	 .environment = "PTL_REQUIRE_VERIFIED_UID=1"},
	{.name = "first_contact_takes_few_time_slices_where_others_compute",
	 .run = first_contact_takes_few_time_slices_where_others_compute,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_NODE},
	{.name = "first_contact_of_one_that_polls_takes_few_time_slices_where_others_compute",
	 .run = first_contact_of_one_that_polls_takes_few_time_slices_where_others_compute,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_NODE},
	MEETING(a_process_that_reopens_its_interface_can_be_reached_again, 2),
	MEETING(a_process_restarted_under_the_same_pid_can_be_talked_to_again, 3),
	{0},
};
