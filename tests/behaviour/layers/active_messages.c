/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "examples/active_messages/am.h"
#include "tests/behaviour/layers/layers.h"

#define NETWORK  7
#define TAG      0xa77u
#define SEGMENT  (1u << 20)
#define MESSAGES FEWER(600)

enum { UNDELIVERABLE, ECHO, ECHOED, SILENT, RULES, COUNT };

static am_bundle *bundle;
static am_endpoint *endpoint;
static char *segment;
static unsigned echoed, lost, counted;
static uint64_t lost_handler, lost_reason;

/* Sends back what came: arguments incremented, data as it is, bulk to the same place of the requester. */
static void echo(am_token *token, const uint64_t *arguments, void *data, size_t length)
{
	const uint64_t answer[] = {arguments[0] + 1, arguments[1], arguments[2], arguments[3]};
	CHECK_EQUAL(am_token_endpoint(token) == endpoint, true);
	if (arguments[3]) /* bulk: came to, and goes to, this offset */
		CHECK_EQUAL(am_reply_bulk(token, ECHOED, data, length, arguments[2], answer, 4), 0);
	else if (length)
		CHECK_EQUAL(am_reply_medium(token, ECHOED, data, length, answer, 4), 0);
	else
		CHECK_EQUAL(am_reply(token, ECHOED, answer, 4), 0);
}

static void take_echo(am_token *token, const uint64_t *arguments, void *data, size_t length)
{
	(void)token;
	CHECK_EQUAL(length, arguments[1]);
	CHECK_PATTERN(data, length, (unsigned)arguments[0] - 1);
	echoed++;
}

static void count(am_token *token, const uint64_t *arguments, void *data, size_t length)
{
	(void)token, (void)arguments, (void)data, (void)length;
	counted++;
}

static void take_lost(am_token *token, const uint64_t *arguments, void *data, size_t length)
{
	(void)token, (void)data, (void)length;
	lost_handler = arguments[0];
	lost_reason = arguments[1];
	lost++;
}

static void rules(am_token *token, const uint64_t *arguments, void *data, size_t length)
{
	(void)arguments, (void)data, (void)length;
	CHECK_EQUAL(am_request(endpoint, 0, COUNT, NULL, 0), -EDEADLK);
	CHECK_EQUAL(am_poll(bundle), -EDEADLK);
	CHECK_EQUAL(am_bundle_destroy(bundle), -EBUSY);
	CHECK_EQUAL(am_reply(token, COUNT, NULL, 0), 0);
	CHECK_EQUAL(am_reply(token, COUNT, NULL, 0), -EDEADLK);
}

/* Every process has an endpoint; peer r is rank r. */
static void open_network(enum am_flow flow, unsigned requests)
{
	struct am_options options = am_defaults;
	options.flow = flow;
	options.requests = requests;
	CHECK_EQUAL(am_bundle_create(ni, &options, &bundle), 0);
	CHECK_EQUAL(am_endpoint_create(bundle, NETWORK, TAG, &endpoint), 0);
	segment = memory(SEGMENT);
	CHECK_EQUAL(am_segment_set(endpoint, segment, SEGMENT), 0);
	am_handler_set(endpoint, UNDELIVERABLE, take_lost);
	am_handler_set(endpoint, ECHO, echo);
	am_handler_set(endpoint, ECHOED, take_echo);
	am_handler_set(endpoint, RULES, rules);
	am_handler_set(endpoint, COUNT, count);
	for (int rank = 0; rank < process_count; rank++)
		CHECK_EQUAL(am_map(endpoint, (unsigned)rank, id_of[rank], NETWORK, TAG), 0);
	barrier();
}

static void poll_while_waiting(void)
{
	am_poll(bundle);
}

/* Serves the others until all are here. */
static void close_network_counting(struct am_counters *counters)
{
	harness_while_waiting(poll_while_waiting);
	barrier();
	harness_while_waiting(NULL);
	am_bundle_counters(bundle, counters);
	CHECK_EQUAL(am_bundle_destroy(bundle), 0);
}

static void close_network(void)
{
	struct am_counters counters;
	close_network_counting(&counters);
}

static void await(const unsigned *what, unsigned count)
{
	for (int waited = 0; *what < count && waited < PATIENCE; waited += 100)
		CHECK(am_wait(bundle, 100) >= 0);
	CHECK_EQUAL(*what, count);
}

/* One of: short, medium, bulk. */
static void ask(unsigned peer, unsigned number)
{
	static char data[SEGMENT / 8];
	const size_t lengths[] = {0, 1 + number % AM_MEDIUM, 8 + number * 997 % sizeof(data)};
	size_t length = lengths[number % 3];
	bool bulk = number % 3 == 2;
	uint64_t place = (uint64_t)my_rank * sizeof(data);
	const uint64_t arguments[] = {number, length, place, bulk};
	fill_pattern(data, length, number);
	if (bulk)
		CHECK_EQUAL(am_request_bulk(endpoint, peer, ECHO, data, length, place, arguments, 4), 0);
	else if (length)
		CHECK_EQUAL(am_request_medium(endpoint, peer, ECHO, data, length, arguments, 4), 0);
	else
		CHECK_EQUAL(am_request(endpoint, peer, ECHO, arguments, 4), 0);
}

/* Bulk replies of several requests would overwrite each other at the requester: one at a time of these. */
static void exchange(enum am_flow flow)
{
	open_network(flow, 16);
	for (unsigned number = 0; number < (unsigned)MESSAGES; number++) {
		ask((unsigned)(my_rank + (int)number) % (unsigned)process_count, number);
		if (number % 3 == 2)
			await(&echoed, number + 1);
	}
	await(&echoed, (unsigned)MESSAGES);
	CHECK_EQUAL(lost, 0);
	close_network();
}

static void every_message_is_answered_with_credits(void)
{
	exchange(AM_CREDITS);
}

static void every_message_is_answered_with_credits_by_size(void)
{
	exchange(AM_CREDITS_BY_SIZE);
}

static void every_message_is_answered_without_credits(void)
{
	exchange(AM_FETCH);
}

/* Room for 2 blocks of 32 messages, and the target does not poll. */
static void what_finds_no_receive_memory_is_fetched(void)
{
	enum { SENT = 200 };
	struct am_counters counters;
	open_door();
	open_network(AM_FETCH, SENT);
	if (my_rank == 0) {
		for (unsigned number = 0; number < SENT; number++)
			CHECK_EQUAL(am_request_medium(endpoint, 1, COUNT, segment, AM_MEDIUM, NULL, 0), 0);
		ping(id_of[1]); /* all have been matched */
	}
	barrier();
	if (my_rank == 1)
		await(&counted, SENT);
	close_network_counting(&counters);
	if (my_rank == 1) {
		CHECK_EQUAL(counters.requests, SENT);
		CHECK_LESS(0, counters.fetched);
	}
}

static void who_has_no_credit_waits_for_replies(void)
{
	struct am_counters counters;
	open_network(AM_CREDITS, 64);
	if (my_rank == 0) {
		for (unsigned number = 0; number < 4 * am_defaults.credits; number++)
			CHECK_EQUAL(am_request(endpoint, 1, COUNT, NULL, 0), 0);
		am_bundle_counters(bundle, &counters);
		CHECK(counters.waits >= 3);
		CHECK(counters.replies >= 3 * am_defaults.credits);
	} else {
		await(&counted, 4 * am_defaults.credits);
		am_bundle_counters(bundle, &counters);
		CHECK_EQUAL(counters.fetched, 0);
	}
	close_network();
}

static void a_handler_sends_nothing_but_its_reply(void)
{
	open_network(AM_CREDITS, 16);
	if (my_rank == 0) {
		CHECK_EQUAL(am_request(endpoint, 1, RULES, NULL, 0), 0);
		await(&counted, 1);
	}
	close_network();
}

static void mistakes_are_told(void)
{
	const uint64_t many[AM_ARGUMENTS + 1] = {0};
	open_network(AM_CREDITS, 16);
	if (my_rank == 0) {
		CHECK_EQUAL(am_request(endpoint, 1, 0, NULL, 0), -EINVAL);
		CHECK_EQUAL(am_request(endpoint, 1, AM_HANDLERS, NULL, 0), -EINVAL);
		CHECK_EQUAL(am_request(endpoint, AM_PEERS, ECHO, NULL, 0), -EINVAL);
		CHECK_EQUAL(am_request(endpoint, 9, ECHO, NULL, 0), -EINVAL);
		CHECK_EQUAL(am_request(endpoint, 1, ECHO, many, AM_ARGUMENTS + 1), -EINVAL);
		CHECK_EQUAL(am_request_medium(endpoint, 1, ECHO, segment, AM_MEDIUM + 1, NULL, 0), -EINVAL);
		CHECK_EQUAL(am_map(endpoint, 1, id_of[1], NETWORK, TAG), -EINVAL);
		CHECK_EQUAL(am_request(endpoint, 1, SILENT, NULL, 0), 0); /* there is no such handler */
		await(&lost, 1);
		CHECK_EQUAL(lost_handler, SILENT);
		CHECK_EQUAL(lost_reason, ENOSYS);
		CHECK_EQUAL(am_request_bulk(endpoint, 1, COUNT, segment, 16, SEGMENT - 8, NULL, 0), 0);
		await(&lost, 2);
		CHECK_EQUAL(lost_reason, EPROTO);
		CHECK_EQUAL(am_request_bulk(endpoint, 1, COUNT, segment, 16, SEGMENT - 16, NULL, 0), 0);
	} else {
		await(&counted, 1);
	}
	close_network();
}

/* The endpoint of another tag does not reach the one that has ours. */
static void a_tag_protects_an_endpoint(void)
{
	am_endpoint *other;
	open_network(AM_CREDITS, 16);
	if (my_rank == 0) {
		CHECK_EQUAL(am_endpoint_create(bundle, NETWORK + 1, TAG, &other), 0);
		CHECK_EQUAL(am_map(other, 0, id_of[1], NETWORK, TAG + 1), 0);
		CHECK_EQUAL(am_request(other, 0, COUNT, NULL, 0), 0);
		CHECK_EQUAL(am_request(endpoint, 1, COUNT, NULL, 0), 0);
	} else {
		await(&counted, 1);
	}
	close_network();
	CHECK_EQUAL(counted, my_rank);
}

static void requests_to_a_peer_that_dies_are_given_back(void)
{
	open_network(AM_CREDITS, 64);
	expect_death(1);
	if (my_rank == 0) {
		int rc = 0;
		ask(1, 0);
		await(&echoed, 1);
		CHECK(kill(pid_of(1), SIGKILL) == 0);
		for (int sent = 0; rc == 0 && sent < 10; sent++)
			rc = am_request(endpoint, 1, COUNT, NULL, 0);
		CHECK(rc == 0 || rc == -EHOSTDOWN);
		while (lost == 0)
			CHECK(am_wait(bundle, 100) >= 0);
		CHECK_EQUAL(lost_reason, EHOSTDOWN);
		CHECK_EQUAL(am_request(endpoint, 1, COUNT, NULL, 0), -EHOSTDOWN);
		CHECK_EQUAL(am_request(endpoint, 2, COUNT, NULL, 0), 0);
	} else if (my_rank == 1) {
		while (true)
			am_wait(bundle, 1000);
	} else {
		await(&counted, 1);
	}
	close_network();
}

const struct test am_tests[] = {
	{.name = "every_message_is_answered_with_credits",
	 .run = every_message_is_answered_with_credits,
	 .processes = 3,
	 .traits = TRAIT_SEVERAL},
	{.name = "every_message_is_answered_with_credits_by_size",
	 .run = every_message_is_answered_with_credits_by_size,
	 .processes = 3,
	 .traits = TRAIT_SEVERAL},
	{.name = "every_message_is_answered_without_credits",
	 .run = every_message_is_answered_without_credits,
	 .processes = 3,
	 .traits = TRAIT_SEVERAL},
	TWO(what_finds_no_receive_memory_is_fetched),
	TWO(who_has_no_credit_waits_for_replies),
	TWO(a_handler_sends_nothing_but_its_reply),
	TWO(mistakes_are_told),
	TWO(a_tag_protects_an_endpoint),
	{.name = "requests_to_a_peer_that_dies_are_given_back",
	 .run = requests_to_a_peer_that_dies_are_given_back,
	 .processes = 3,
	 .traits = TRAIT_SEVERAL},
	{0},
};
