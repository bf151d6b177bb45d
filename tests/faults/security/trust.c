/* SPDX-License-Identifier: BSD-3-Clause */
/* What is refused where user ids must be proven, and what keys of exposed memory are worth. */
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faults/security/outsider.h"
#include "tests/faults/security/security.h"

/* --- PTL_REQUIRE_VERIFIED_UID --- */

static int open_requiring(const char *transport)
{
	int interfaces;

	PtlFini(); /* settings are read by PtlInit */
	setenv("PTL_TRANSPORT", transport, 1);
	CHECK_OK(PtlInit(&interfaces));
	int rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);

	return rc == PTL_OK ? PtlNicReady(ni) : rc;
}

static void networks_are_refused_where_user_ids_must_be_proven(void)
{
	static const char *const networks[] = {"ofi",     "ofi:tcp",   "ofi:net",     "ofi:udp",
					       "ofi:shm", "ofi:verbs", "ofi:anything"};
	char expected[128];

	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
		CHECK_EQUAL(open_requiring(networks[i]), PTL_IFACE_INVALID);
		snprintf(expected, sizeof(expected),
			 "PTL_REQUIRE_VERIFIED_UID is set, but PTL_TRANSPORT=%s cannot prove user ids", networks[i]);
		if (!strstr(PtlNicErrorText(), expected))
			FAIL("\"%s\" does not say: %s", PtlNicErrorText(), expected);
	}
}

/* auto has no network then, on whatever interface. */
static void what_proves_user_ids_opens(void)
{
	static const char *const local[] = {"self", "node", "auto"};
	char text[4096];

	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		if (i == 2)
			unsetenv("PTL_IFACE");
		CHECK_OK(open_requiring(local[i]));
		CHECK_OK(PtlNicInfo(ni, text, sizeof(text)));
		CHECK(!strstr(text, "transport ofi"));
		put_to_myself();
		CHECK_OK(PtlNIFini(ni));
	}
}

/* --- keys --- */

enum { KEYS = 64, PULLED = 100000 };

/*
 * The honest process puts long messages to the outsider, which is a peer, keeps the key of each, reads the memory once
 * while it is offered, says that it is done, and then reads again.
 */
struct offer {
	uint64_t address, key, token;
};

static struct offer await_offer(struct outsider *me)
{
	struct wire_message message;

	do
		if (!outsider_hear(me, 10000 * SLOWNESS, &message))
			FAIL("no long put comes");
	while (message.operation != WIRE_PUT_LONG);
	struct wire_segment segment = wire_segment(&message, 0);

	return (struct offer){segment.address, segment.key, message.token};
}

static void release(struct outsider *me, fi_addr_t to, const struct wire_message *hello, uint16_t tag,
		    const struct offer *offer)
{
	struct wire_message done = {
		.operation = WIRE_SOURCE_FREE,
		.flags = WIRE_ACKED,
		.attempt = hello->attempt,
		.source_nid = hello->source_nid,
		.source_pid = hello->source_pid,
		.source_tag = hello->source_tag,
		.target_tag = tag,
		.token = (uint32_t)offer->token,
		.mlength = PULLED,
	};

	CHECK(outsider_say_message(me, to, &done));
}

static int compare(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* Random: none twice, no two near each other, and every bit now 0 and now 1. */
static void check_random(uint64_t *keys)
{
	uint64_t ever = 0, always = UINT64_MAX;

	for (int i = 0; i < KEYS; i++) {
		ever |= keys[i];
		always &= keys[i];
	}
	CHECK_EQUAL(ever, UINT64_MAX);
	CHECK_EQUAL(always, 0);
	qsort(keys, KEYS, sizeof(keys[0]), compare);
	for (int i = 1; i < KEYS; i++)
		CHECK(keys[i] - keys[i - 1] > UINT64_C(1) << 32);
}

static void pull(const ptl_process_id_t honest, uint16_t port)
{
	static uint8_t bytes[PULLED];
	uint64_t keys[KEYS];
	struct offer offer;
	struct wire_message hello;
	struct outsider *me = outsider_open(own_pid(0));
	fi_addr_t to = outsider_towards(me, port);
	struct wire_message welcome = outsider_meet(me, to, honest, &hello);

	for (int i = 0; i < KEYS; i++) {
		offer = await_offer(me);
		keys[i] = offer.key;
		if (i == KEYS - 1) {
			CHECK_EQUAL(outsider_read(me, to, offer.address, offer.key, bytes, PULLED, 10000 * SLOWNESS),
				    0);
			CHECK_PATTERN(bytes, PULLED, 7);
		}
		release(me, to, &hello, welcome.source_tag, &offer);
	}
	check_random(keys);
	barrier(); /* it has had its SEND_END: the memory region is deregistered */
	memset(bytes, 0, PULLED);
	CHECK(outsider_read(me, to, offer.address, offer.key, bytes, PULLED, 3000) != 0);
	CHECK(outsider_read(me, to, offer.address, offer.key + 1, bytes, PULLED, 3000) != 0);
	for (int i = 0; i < PULLED; i++)
		CHECK_EQUAL(bytes[i], 0);
	barrier();
}

static void offer_long_puts(ptl_process_id_t outsider)
{
	ptl_handle_eq_t eq = new_eq(16);
	uint8_t *bytes = memory(PULLED);
	ptl_handle_md_t md = bind_md(md_over(bytes, PULLED, PTL_MD_EVENT_START_DISABLE, eq));

	fill_pattern(bytes, PULLED, 7);
	for (int i = 0; i < KEYS; i++) {
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, outsider, INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_END);
	}
	barrier();
	barrier();
	CHECK_EMPTY(eq);
	put_to_myself();
}

static void keys_are_random_and_end_with_their_operation(void)
{
	if (my_rank == 0) {
		open_interface(PTL_PID_ANY);
		drive_while_waiting();
	}
	ptl_process_id_t mine = {.nid = 0x7f000001u, .pid = own_pid(0)};
	uint16_t port = my_rank == 0 ? tcp_port_of(ni) : 0, ports[MAX_PROCESSES];

	if (my_rank == 0)
		CHECK_OK(PtlGetId(ni, &mine));
	gather(&mine, sizeof(mine), id_of);
	gather(&port, sizeof(port), ports);
	if (my_rank == 0)
		offer_long_puts(id_of[1]);
	else
		pull(id_of[0], ports[0]);
}

const struct test trust_tests[] = {
	{.name = "networks_are_refused_where_user_ids_must_be_proven",
	 .run = networks_are_refused_where_user_ids_must_be_proven,
	 .processes = 1,
	 .traits = TRAIT_BARE,
	 .environment = "PTL_REQUIRE_VERIFIED_UID=1"},
	{.name = "what_proves_user_ids_opens",
	 .run = what_proves_user_ids_opens,
	 .processes = 1,
	 .traits = TRAIT_BARE,
	 .environment = "PTL_REQUIRE_VERIFIED_UID=1"},
	{.name = "keys_are_random_and_end_with_their_operation",
	 .run = keys_are_random_and_end_with_their_operation,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_OFI},
	{0},
};
