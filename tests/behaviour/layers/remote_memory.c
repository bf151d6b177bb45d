/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "examples/remote_memory/rm.h"
#include "tests/behaviour/layers/layers.h"

#define LENGTH   (300u << 10)
#define MESSAGES (unsigned)FEWER(400)

enum { BUFFER = 1, SIDE = 0xfffffff0u };
enum { ORDERED, COUNTED, ANSWERED, UNKNOWN };

static rm_domain *domain;
static char *buffer, *side;
static unsigned handled;

/* Every process has two buffers under the same tags. */
static void open_domain(const struct rm_options *options)
{
	CHECK_EQUAL(rm_open(ni, options, &domain), 0);
	buffer = memory(LENGTH);
	side = memory(LENGTH);
	CHECK_EQUAL(rm_register(domain, BUFFER, buffer, LENGTH), 0);
	CHECK_EQUAL(rm_register(domain, SIDE, side, LENGTH), 0);
	barrier();
}

static void poll_while_waiting(void)
{
	rm_poll(domain);
}

static void close_domain_counting(struct rm_counters *counters)
{
	harness_while_waiting(poll_while_waiting);
	barrier();
	harness_while_waiting(NULL);
	rm_read_counters(domain, counters);
	rm_close(domain);
}

static void close_domain(void)
{
	struct rm_counters counters;
	close_domain_counting(&counters);
}

static int result(const struct rm_notice *notice)
{
	return rm_wait(domain, notice, PATIENCE);
}

/* Rank 0 puts, rank 1 is told, and gets what was put back from rank 0. */
static void what_is_put_arrives_and_is_got(void)
{
	struct rm_notice incoming = {0}, outgoing = {0}, ack = {0};
	open_domain(NULL);
	for (unsigned turn = 0; turn < 2; turn++) {
		const size_t length = short_and_long[turn] < LENGTH ? short_and_long[turn] : LENGTH;
		CHECK_EQUAL(
			rm_notify(domain, BUFFER, my_rank ? RM_INCOMING : RM_OUTGOING, my_rank ? &incoming : &outgoing),
			0);
		fill_pattern(side, length, turn);
		barrier();
		if (my_rank == 0) {
			fill_pattern(buffer, length, 10 + turn);
			CHECK_EQUAL(rm_put(domain, id_of[1], BUFFER, BUFFER, length, &ack), 0);
			CHECK_EQUAL(result(&outgoing), 0);
			CHECK_EQUAL(result(&ack), 0);
			CHECK_EQUAL(ack.length, length);
			CHECK_ID(ack.peer, id_of[1]);
		} else {
			CHECK_EQUAL(result(&incoming), 0);
			CHECK_EQUAL(incoming.length, length);
			CHECK_ID(incoming.peer, id_of[0]);
			CHECK_PATTERN(buffer, length, 10 + turn);
			memset(side, 0, length);
			CHECK_EQUAL(rm_get(domain, id_of[0], SIDE, SIDE, length, &ack), 0);
			CHECK_EQUAL(result(&ack), 0);
			CHECK_PATTERN(side, length, turn);
		}
		barrier();
	}
	close_domain();
}

/* Of three puts, the first is before the notice, the second is told, the third is not. */
static void a_notice_tells_once(void)
{
	struct rm_notice notice = {0}, ack = {0}, other = {0};
	open_domain(NULL);
	for (unsigned turn = 1; turn < 4; turn++) {
		if (my_rank == 1 && turn == 2) {
			CHECK_EQUAL(rm_notify(domain, BUFFER, RM_INCOMING, &notice), 0);
			CHECK_EQUAL(rm_notify(domain, BUFFER, RM_OUTGOING, &other), -EBUSY);
		}
		barrier();
		if (my_rank == 0) {
			CHECK_EQUAL(rm_put(domain, id_of[1], BUFFER, BUFFER, turn, &ack), 0);
			CHECK_EQUAL(result(&ack), 0);
		}
		barrier();
	}
	if (my_rank == 1) {
		CHECK_EQUAL(result(&notice), 0);
		CHECK_EQUAL(notice.length, 2);
		CHECK_EQUAL(rm_notify(domain, BUFFER, RM_OUTGOING, &notice), 0);
		CHECK_EQUAL(rm_wait(domain, &notice, 1), -ETIMEDOUT);
		CHECK_EQUAL(rm_deregister(domain, BUFFER), 0);
		CHECK_EQUAL(notice.status, -ECANCELED);
	}
	close_domain();
}

static void what_is_not_there_is_refused(void)
{
	struct rm_notice ack = {0};
	struct rm_place place;
	open_domain(NULL);
	CHECK_EQUAL(rm_register(domain, BUFFER, side, 1), -EEXIST);
	CHECK_EQUAL(rm_put(domain, id_of[0], 5, BUFFER, 1, NULL), -ENOENT);
	CHECK_EQUAL(rm_put(domain, id_of[0], BUFFER, BUFFER, LENGTH + 1, NULL), -EINVAL);
	CHECK_EQUAL(rm_notify(domain, 5, RM_INCOMING, &ack), -ENOENT);
	if (my_rank == 1)
		CHECK_EQUAL(rm_deregister(domain, SIDE), 0);
	barrier();
	if (my_rank == 0) {
		const struct rm_place end = {BUFFER, LENGTH - 8};
		CHECK_EQUAL(rm_put(domain, id_of[1], BUFFER, SIDE, 8, &ack), 0);
		CHECK_EQUAL(result(&ack), -ENXIO);
		CHECK_EQUAL(rm_put(domain, id_of[1], BUFFER, SIDE, LENGTH, &ack), 0);
		CHECK_EQUAL(result(&ack), -ENXIO);
		CHECK_EQUAL(rm_get(domain, id_of[1], BUFFER, SIDE, LENGTH, &ack), 0);
		CHECK_EQUAL(result(&ack), -ENXIO);
		CHECK_EQUAL(rm_write(domain, id_of[1], end, side, 9, &ack), 0);
		CHECK_EQUAL(result(&ack), -ENXIO);
		CHECK_EQUAL(rm_write(domain, id_of[1], end, side, 8, &ack), 0);
		CHECK_EQUAL(result(&ack), 0);
		CHECK_EQUAL(rm_translate(domain, id_of[1], 8, 8, PATIENCE, &place), -ENXIO);
	}
	close_domain();
}

/* The first driver: in the order of the receives, and a sender that is too early or too long is told. */
static void a_message_takes_the_next_receive(void)
{
	struct rm_notice first = {0}, second = {0}, third = {0};
	open_domain(NULL);
	if (my_rank == 1) {
		CHECK_EQUAL(rm_receive(domain, id_of[0], buffer, 100, &first), 0);
		CHECK_EQUAL(rm_receive(domain, id_of[0], buffer + 100, LENGTH - 100, &second), 0);
		CHECK_EQUAL(rm_receive(domain, id_of[0], side, 8, &third), 0);
	}
	barrier();
	if (my_rank == 0) {
		fill_pattern(buffer, LENGTH, 3);
		CHECK_EQUAL(rm_send(domain, id_of[1], buffer, 60, &first), 0);
		CHECK_EQUAL(rm_send(domain, id_of[1], buffer + 60, LENGTH - 100, &second), 0);
		CHECK_EQUAL(rm_send(domain, id_of[1], buffer, 9, &third), 0);
	}
	CHECK_EQUAL(result(&first), 0);
	CHECK_EQUAL(first.length, 60);
	CHECK_EQUAL(result(&second), 0);
	CHECK_EQUAL(result(&third), -EMSGSIZE);
	CHECK_EQUAL(third.length, 8);
	if (my_rank == 0) {
		CHECK_EQUAL(rm_send(domain, id_of[1], buffer, 1, &first), 0);
		CHECK_EQUAL(result(&first), -ENXIO);
	} else {
		memmove(buffer + 60, buffer + 100, LENGTH - 100);
		CHECK_PATTERN(buffer, LENGTH - 40, 3);
	}
	barrier();
	CHECK_EQUAL(rm_receive(domain, id_of[0], buffer, 1, &third), 0);
	close_domain();
	CHECK_EQUAL(third.status, -ECANCELED);
}

/* To an address that the other process tells. */
static void write_all(enum rm_injection injection)
{
	static const size_t lengths[] = {1, 1000, 1024, 1025, LENGTH - 77};
	struct rm_options options = rm_defaults;
	struct rm_notice incoming = {0}, ack = {0};
	uint64_t addresses[MAX_PROCESSES];
	struct rm_place place;
	options.injection = injection;
	options.fragment = 1024;
	open_domain(&options);
	uint64_t address = (uintptr_t)side + 77;
	gather(&address, sizeof(address), addresses);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		CHECK_EQUAL(rm_notify(domain, SIDE, RM_INCOMING, &incoming), 0);
		barrier();
		if (my_rank == 0) {
			fill_pattern(buffer, lengths[i], i);
			CHECK_EQUAL(rm_translate(domain, id_of[1], addresses[1], lengths[i], PATIENCE, &place), 0);
			CHECK_EQUAL(place.tag, SIDE);
			CHECK_EQUAL(rm_write(domain, id_of[1], place, buffer, lengths[i], i % 2 ? &ack : NULL), 0);
			memset(buffer, 0, lengths[i]);
			CHECK_EQUAL(i % 2 ? result(&ack) : 0, 0);
		} else {
			CHECK_EQUAL(result(&incoming), 0);
			CHECK_EQUAL(incoming.length, lengths[i]);
			CHECK_PATTERN(side + 77, lengths[i], i);
			CHECK_EQUAL(rm_notify(domain, SIDE, RM_OUTGOING, &incoming), 0);
		}
		barrier();
		CHECK_EQUAL(rm_deregister(domain, SIDE), 0);
		CHECK_EQUAL(rm_register(domain, SIDE, side, LENGTH), 0);
	}
	close_domain();
}

static void a_write_is_told_once_however_it_is_injected(void)
{
	write_all(RM_BY_LENGTH);
	write_all(RM_COPY);
	write_all(RM_DIRECT);
}

/* Eight bytes of a write in fragments to SIDE, as rm_write() sends them, by a program that leaves the others for later. */
static void put_fragment(ptl_process_id_t to, uint64_t write, uint64_t total, uint64_t offset)
{
	static char bytes[8];
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t md = bind_md(md_over(bytes, sizeof(bytes), PTL_MD_EVENT_START_DISABLE, eq));
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, to, rm_defaults.pt_index, 0, 1ULL << 48 | SIDE, offset, write << 48 | total));
	take(eq, PTL_EVENT_SEND_END);
	CHECK_EQUAL(take(eq, PTL_EVENT_ACK).mlength, sizeof(bytes));
	CHECK_OK(PtlMDUnlink(md));
	CHECK_OK(PtlEQFree(eq));
}

/* As many as a domain keeps at a time, one after the other, while the first is under way. */
static void a_long_write_is_told_whatever_comes_meanwhile(void)
{
	struct rm_notice notice = {0};
	open_domain(NULL);
	if (my_rank == 0) {
		put_fragment(id_of[1], 0, 24, 0);
		put_fragment(id_of[1], 0, 24, 8);
		for (uint64_t write = 1; write <= 64; write++) {
			put_fragment(id_of[1], write, 16, 32);
			put_fragment(id_of[1], write, 16, 40);
		}
	}
	barrier();
	if (my_rank == 1)
		CHECK_EQUAL(rm_notify(domain, SIDE, RM_INCOMING, &notice), 0);
	barrier();
	if (my_rank == 0) {
		put_fragment(id_of[1], 0, 24, 16);
	} else {
		CHECK_EQUAL(result(&notice), 0);
		CHECK_EQUAL(notice.length, 24);
	}
	close_domain();
}

/* What was begun under the tag's last registration is none of this one's. */
static void a_write_that_was_begun_ends_with_its_buffer(void)
{
	struct rm_notice notice = {0};
	open_domain(NULL);
	if (my_rank == 0) {
		put_fragment(id_of[1], 0, 24, 0);
		put_fragment(id_of[1], 0, 24, 8);
	}
	barrier();
	if (my_rank == 1) {
		CHECK_EQUAL(rm_deregister(domain, SIDE), 0);
		CHECK_EQUAL(rm_register(domain, SIDE, side, LENGTH), 0);
		CHECK_EQUAL(rm_notify(domain, SIDE, RM_INCOMING, &notice), 0);
	}
	barrier();
	if (my_rank == 0)
		put_fragment(id_of[1], 0, 24, 16);
	barrier();
	if (my_rank == 1) {
		CHECK_EQUAL(rm_poll(domain), 1);
		CHECK_EQUAL(notice.status, RM_PENDING);
	}
	close_domain();
}

/* Rank 0 dies in a write; rank 2 follows it under its id, and its own write has the same number. */
static void a_write_is_not_finished_by_a_process_that_follows(void)
{
	struct rm_notice notice = {0};
	announce_ids(0);
	if (my_rank < 2)
		open_interface(id_of[my_rank].pid);
	if (my_rank == 1) {
		open_door();
		CHECK_EQUAL(rm_open(ni, NULL, &domain), 0);
		CHECK_EQUAL(rm_register(domain, SIDE, memory(24), 24), 0);
		CHECK_EQUAL(rm_notify(domain, SIDE, RM_INCOMING, &notice), 0);
	}
	barrier();
	if (my_rank == 0) {
		ping_until_answered(id_of[1]);
		put_fragment(id_of[1], 0, 24, 0);
		put_fragment(id_of[1], 0, 24, 8);
		expect_death(0);
		kill(getpid(), SIGKILL);
	}
	barrier();
	if (my_rank == 2) {
		open_interface(id_of[0].pid);
		ping_until_answered(id_of[1]);
		put_fragment(id_of[1], 0, 24, 0);
	}
	barrier();
	if (my_rank == 1) {
		rm_poll(domain);
		CHECK_EQUAL(notice.status, RM_PENDING);
	}
	barrier();
	if (my_rank == 2) {
		put_fragment(id_of[1], 0, 24, 8);
		put_fragment(id_of[1], 0, 24, 16);
	} else {
		CHECK_EQUAL(result(&notice), 0);
		CHECK_EQUAL(notice.length, 24);
		rm_close(domain);
	}
}

/* Rank 1 has none at first, and its interface drops the question. */
static void a_process_without_a_domain_may_be_asked(void)
{
	struct rm_place place;
	uint64_t address, addresses[MAX_PROCESSES];
	char *there = memory(8);
	open_door();
	CHECK_EQUAL(my_rank == 0 ? rm_open(ni, NULL, &domain) : 0, 0);
	barrier();
	if (my_rank == 0) {
		ping_until_answered(id_of[1]);
		CHECK_EQUAL(rm_translate(domain, id_of[1], 8, 8, 10, &place), -ETIMEDOUT);
		ping(id_of[1]); /* the question is over */
	}
	barrier();
	if (my_rank == 1) {
		CHECK_EQUAL(rm_open(ni, NULL, &domain), 0);
		CHECK_EQUAL(rm_register(domain, SIDE, there, 8), 0);
	}
	address = (uintptr_t)there;
	gather(&address, sizeof(address), addresses);
	if (my_rank == 0) {
		CHECK_EQUAL(rm_translate(domain, id_of[1], addresses[1], 8, PATIENCE, &place), 0);
		CHECK_EQUAL(place.tag, SIDE);
		CHECK_EQUAL(place.offset, 0);
	}
	close_domain();
}

static void await_handled(unsigned count)
{
	const struct rm_notice never = {.status = RM_PENDING};
	for (int waited = 0; handled < count && waited < PATIENCE; waited += 10)
		CHECK_EQUAL(rm_wait(domain, &never, 10), -ETIMEDOUT);
	CHECK_EQUAL(handled, count);
}

/* Of so many bytes. */
static size_t length_of(unsigned message)
{
	return message % 5 ? message * 131 % 900 : message % 10 ? 30000 + message : 0;
}

static void check_order(rm_domain *of, ptl_process_id_t from, void *data, size_t length)
{
	CHECK_EQUAL(of == domain, true);
	CHECK_ID(from, id_of[0]);
	CHECK_EQUAL(length, length_of(handled));
	CHECK_PATTERN(data, length, handled);
	handled++;
}

static void count(rm_domain *of, ptl_process_id_t from, void *data, size_t length)
{
	(void)of, (void)from, (void)data, (void)length;
	handled++;
}

/*
 * Of the acknowledgements of this process, how many there are to each that fails, though its fragment is there; 0: none fails.  And of how
 * many, from the first on, each fails.
 */
static unsigned acks_to_a_failure, acks, first_acks_failing;

static int spoil(int code, ptl_event_t *event)
{
	if ((code != PTL_OK && code != PTL_EQ_DROPPED) || event->type != PTL_EVENT_ACK)
		return code;
	acks++;
	if (acks <= first_acks_failing || (acks_to_a_failure && acks % acks_to_a_failure == 0))
		event->ni_fail_type = PTL_NI_PROTOCOL;
	return code;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names. */
int __wrap_PtlEQGet(ptl_handle_eq_t, ptl_event_t *);
int __real_PtlEQGet(ptl_handle_eq_t, ptl_event_t *);
int __wrap_PtlEQPoll(ptl_handle_eq_t *, int, ptl_time_t, ptl_event_t *, int *);
int __real_PtlEQPoll(ptl_handle_eq_t *, int, ptl_time_t, ptl_event_t *, int *);

int __wrap_PtlEQGet(ptl_handle_eq_t queue, ptl_event_t *event)
{
	return spoil(__real_PtlEQGet(queue, event), event);
}

int __wrap_PtlEQPoll(ptl_handle_eq_t *queues, int count, ptl_time_t timeout, ptl_event_t *event, int *which)
{
	return spoil(__real_PtlEQPoll(queues, count, timeout, event, which), event);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* More than there is receive memory for, and more than there are slots. */
static void send_in_order(void)
{
	struct rm_options options = rm_defaults;
	struct rm_counters counters;
	options.fragment = 512;
	options.blocks = 2;
	options.slots = 100;
	open_domain(&options);
	CHECK_EQUAL(rm_handler_set(domain, ORDERED, check_order), 0);
	barrier();
	if (my_rank == 0) {
		for (unsigned i = 0; i < MESSAGES; i++) {
			fill_pattern(buffer, length_of(i), i);
			CHECK_EQUAL(rm_message(domain, id_of[1], ORDERED, buffer, length_of(i)), 0);
		}
		CHECK_EQUAL(rm_flush(domain, id_of[1]), 0);
		rm_read_counters(domain, &counters);
		CHECK_LESS(0, counters.refused);
	} else {
		await_handled(MESSAGES);
	}
	close_domain();
	CHECK_EQUAL(handled, my_rank == 0 ? 0 : MESSAGES);
}

static void messages_are_handled_in_order_and_none_is_lost(void)
{
	send_in_order();
}

/* After the failure of a fragment it is not known whether it is there. */
static void a_failure_loses_no_message_of_a_process_that_lives(void)
{
	acks_to_a_failure = 10;
	send_in_order();
}

/* Fragments that are in flight together fail together, which is one failure of each. */
static void failures_of_many_fragments_lose_no_message(void)
{
	struct rm_options options = rm_defaults;
	options.fragment = 512;
	open_domain(&options);
	CHECK_EQUAL(rm_handler_set(domain, COUNTED, count), 0);
	barrier();
	if (my_rank == 0) {
		first_acks_failing = 16;
		CHECK_EQUAL(rm_message(domain, id_of[1], COUNTED, buffer, (size_t)20 * options.fragment), 0);
		CHECK_EQUAL(rm_flush(domain, id_of[1]), 0);
	} else {
		await_handled(1);
	}
	close_domain();
}

/* All fail: that is no network.  It is told, and nothing waits for ever. */
static void failures_without_end_are_told(void)
{
	open_domain(NULL);
	CHECK_EQUAL(rm_handler_set(domain, COUNTED, count), 0);
	if (my_rank == 0) {
		acks_to_a_failure = 1;
		CHECK_EQUAL(rm_message(domain, id_of[1], COUNTED, buffer, 1), 0);
		CHECK_EQUAL(rm_flush(domain, id_of[1]), -EIO);
		rm_close(domain);
		barrier();
	} else {
		await_handled(1);
		close_domain();
		CHECK_EQUAL(handled, 1);
	}
}

static void answer(rm_domain *of, ptl_process_id_t from, void *data, size_t length)
{
	CHECK_EQUAL(rm_poll(of), -EDEADLK);
	CHECK_EQUAL(rm_write(of, from, (struct rm_place){BUFFER, 0}, data, length, NULL), -EDEADLK);
	CHECK_EQUAL(rm_message(of, from, COUNTED, NULL, 0), 0);
}

static void a_handler_sends_but_does_not_wait(void)
{
	struct rm_counters counters;
	open_domain(NULL);
	CHECK_EQUAL(rm_handler_set(domain, ANSWERED, answer), 0);
	CHECK_EQUAL(rm_handler_set(domain, COUNTED, count), 0);
	CHECK_EQUAL(rm_message(domain, id_of[0], RM_HANDLERS, NULL, 0), -EINVAL);
	barrier();
	for (unsigned i = 0; i < 10; i++) {
		CHECK_EQUAL(rm_message(domain, id_of[1 - my_rank], UNKNOWN, buffer, 1), 0);
		CHECK_EQUAL(rm_message(domain, id_of[1 - my_rank], ANSWERED, buffer, 1 + i), 0);
	}
	await_handled(10);
	close_domain_counting(&counters);
	CHECK_EQUAL(counters.unhandled, 10);
}

static void what_is_under_way_with_a_process_that_dies_ends(void)
{
	struct rm_notice ack = {0};
	open_domain(NULL);
	CHECK_EQUAL(rm_handler_set(domain, COUNTED, count), 0);
	barrier();
	expect_death(1);
	if (my_rank == 0) {
		CHECK_EQUAL(rm_put(domain, id_of[1], BUFFER, BUFFER, 8, &ack), 0);
		CHECK_EQUAL(result(&ack), 0);
		stop_process(1); /* so that it does not answer any more when it dies */
		CHECK_EQUAL(rm_message(domain, id_of[1], COUNTED, buffer, 2 * rm_defaults.fragment), 0);
		CHECK_EQUAL(rm_put(domain, id_of[1], BUFFER, BUFFER, LENGTH, &ack), 0);
		CHECK(kill(pid_of(1), SIGKILL) == 0);
		CHECK_EQUAL(result(&ack), -EHOSTDOWN);
		CHECK_EQUAL(rm_flush(domain, id_of[1]), -EHOSTDOWN);
		CHECK_EQUAL(rm_message(domain, id_of[2], COUNTED, buffer, LENGTH), 0);
		CHECK_EQUAL(rm_put(domain, id_of[2], BUFFER, SIDE, LENGTH, &ack), 0);
		CHECK_EQUAL(result(&ack), 0);
	} else if (my_rank == 1) {
		while (true)
			rm_poll(domain);
	} else {
		await_handled(1);
	}
	close_domain();
}

static void open_own_domain(void)
{
	CHECK_EQUAL(rm_open(ni, NULL, &domain), 0);
	CHECK_EQUAL(rm_handler_set(domain, COUNTED, count), 0);
}

/* Rank 1 comes under one id after the other: as many processes as a domain knows at a time, and one more. */
static void processes_that_have_gone_leave_room_for_others(void)
{
	open_own_domain();
	barrier();
	if (my_rank == 0)
		await_handled(RM_PEERS + 1);
	for (unsigned i = 0; my_rank == 1 && i <= RM_PEERS; i++) {
		if (i > 0) {
			rm_close(domain);
			PtlFini();
			open_interface(own_pid(i - 1));
			open_own_domain();
		}
		CHECK_EQUAL(rm_message(domain, id_of[0], COUNTED, &i, sizeof(i)), 0);
		CHECK_EQUAL(rm_flush(domain, id_of[0]), 0);
	}
	rm_close(domain);
}

/* Nothing was sent to them. */
static void ids_that_are_only_asked_for_take_no_room(void)
{
	open_domain(NULL);
	CHECK_EQUAL(rm_handler_set(domain, COUNTED, count), 0);
	barrier();
	for (unsigned i = 1; my_rank == 0 && i <= RM_PEERS; i++) {
		const ptl_process_id_t other = {id_of[1].nid, id_of[1].pid + i};
		CHECK_EQUAL(rm_flush(domain, other), 0);
		CHECK_EQUAL(rm_message(domain, other, RM_HANDLERS, buffer, 1), -EINVAL);
	}
	if (my_rank == 0)
		CHECK_EQUAL(rm_message(domain, id_of[1], COUNTED, buffer, 1), 0);
	else
		await_handled(1);
	close_domain();
}

const struct test rm_tests[] = {
	TWO(what_is_put_arrives_and_is_got),
	TWO(a_notice_tells_once),
	TWO(what_is_not_there_is_refused),
	TWO(a_message_takes_the_next_receive),
	TWO(a_write_is_told_once_however_it_is_injected),
	TWO(a_long_write_is_told_whatever_comes_meanwhile),
	TWO(a_write_that_was_begun_ends_with_its_buffer),
	{.name = "a_write_is_not_finished_by_a_process_that_follows",
	 .run = a_write_is_not_finished_by_a_process_that_follows,
	 .processes = 3,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE},
	TWO(a_process_without_a_domain_may_be_asked),
	TWO(messages_are_handled_in_order_and_none_is_lost),
	TWO(a_failure_loses_no_message_of_a_process_that_lives),
	TWO(failures_of_many_fragments_lose_no_message),
	TWO(failures_without_end_are_told),
	TWO(a_handler_sends_but_does_not_wait),
	TWO(ids_that_are_only_asked_for_take_no_room),
	{.name = "processes_that_have_gone_leave_room_for_others",
	 .run = processes_that_have_gone_leave_room_for_others,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_NODE},
	{.name = "what_is_under_way_with_a_process_that_dies_ends",
	 .run = what_is_under_way_with_a_process_that_dies_ends,
	 .processes = 3,
	 .traits = TRAIT_SEVERAL},
	{0},
};
