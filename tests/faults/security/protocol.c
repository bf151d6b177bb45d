/* SPDX-License-Identifier: BSD-3-Clause */
/* Outsiders with an endpoint of the same provider, which speak the engine's protocol. */
#include <string.h>
#include <unistd.h>

#include "tests/faults/security/outsider.h"
#include "tests/faults/security/security.h"

#define SERIES 201 /* of the outsider's own pid */

/* The outsider, and its ways to both; opened when first asked for. */
struct hostile {
	struct outsider *me;
	fi_addr_t to[PARTS];
};

static struct hostile *hostile(const struct victims *victims)
{
	static struct hostile hostile;

	if (!hostile.me) {
		hostile.me = outsider_open(own_pid(SERIES));
		hostile.to[TARGET] = outsider_towards(hostile.me, victims->port[TARGET]);
		hostile.to[TALKER] = outsider_towards(hostile.me, victims->port[TALKER]);
	}
	return &hostile;
}

/*
 * Over tcp;ofi_rxm the provider takes from its sockets what comes, and keeps it in memory until the target looks: a sender
 * that is faster makes the target grow by gigabytes, which docs/security.md says, and which would be this machine's memory.
 */
static void hold_back(unsigned again)
{
	if (!over_transport("ofi:tcp"))
		return;
	if (again % 16 == 0)
		usleep(1000);
	if (again % 64 == 0) /* they may have been kept from running */
		attack_await_exchange();
}

static bool send_half(const struct victims *victims, unsigned again)
{
	struct hostile *hostiles = hostile(victims);
	enum part victim = again % 2 ? TARGET : TALKER;
	struct wire_message hello = outsider_hello(hostiles->me, outsider_id(hostiles->me), victims->id[victim]);
	uint8_t bytes[WIRE_MAX_HEADER];
	size_t length = wire_encode(&hello, bytes);

	hold_back(again);
	return outsider_say(hostiles->me, hostiles->to[victim], bytes, 1 + again % (length - 1));
}

static void half_hellos(void)
{
	run_attack(send_half, TRACE_MALFORMED);
}

/* Anything behind the right magic, whole messages with random fields among them. */
static bool send_random(const struct victims *victims, unsigned again)
{
	struct hostile *hostiles = hostile(victims);
	uint8_t bytes[2048];
	size_t length = noise() % sizeof(bytes);

	noise_fill(bytes, sizeof(bytes));
	if (again % 4) {
		bytes[0] = again % 8 < 4 ? WIRE_MAGIC : WIRE_MAGIC_COMPACT;
		bytes[1] = WIRE_VERSION;
		bytes[2] = (uint8_t)(noise() % (WIRE_OPERATION_COUNT + 2));
		memcpy(bytes + 4, &victims->id[TALKER], 8); /* in the talker's name */
		if (bytes[2] < WIRE_OPERATION_COUNT)
			length = wire_header_size(bytes[2], false) + (again % 16 == 1 ? noise() % 64 : 0);
	}
	hold_back(again);
	return outsider_say(hostiles->me, hostiles->to[TARGET], bytes, length ? length : 1);
}

static void messages_made_of_noise(void)
{
	run_attack(send_random, TRACE_MALFORMED);
}

/* A peer that was admitted, and then lies about everything. */
static bool send_lies(const struct victims *victims, unsigned again)
{
	static struct wire_message hello, welcome;
	struct hostile *hostiles = hostile(victims);
	uint8_t bytes[WIRE_MAX_HEADER + 2 * WIRE_SEGMENT_SIZE];
	struct wire_segment far[2] = {{noise(), noise(), UINT64_MAX / 2}, {0, 0, UINT64_MAX / 2}};

	if (again == 0)
		welcome = outsider_meet(hostiles->me, hostiles->to[TARGET], victims->id[TARGET], &hello);
	struct wire_message lie = {
		.operation = (uint8_t)(again % WIRE_HELLO),
		.flags = (uint8_t)(noise() & WIRE_ALL_FLAGS),
		.attempt = hello.attempt,
		.source_nid = hello.source_nid,
		.source_pid = hello.source_pid,
		.source_tag = hello.source_tag,
		.target_tag = welcome.source_tag,
		.token = noise(),
		.pt_index = again % 3 ? INDEX : (uint16_t)noise(),
		.ac_index = again % 5 ? 0 : (uint16_t)noise(),
		.match_bits = again % 2 ? noise() : 0xdeadu,
		.offset = again % 7 ? UINT64_MAX - noise() % 3 : 0,
		.length = 0,
		.mlength = UINT64_MAX - noise() % 2,
		.hdr_data = noise(),
		.reply_token = noise(),
	};
	if (lie.operation == WIRE_REPLY)
		lie.mlength = 0;
	if (lie.operation == WIRE_GET)
		lie.length = UINT64_MAX;
	if (lie.operation == WIRE_PUT_LONG || lie.operation == WIRE_REPLY_LONG) {
		lie.segment_count = 2;
		lie.length = lie.mlength = UINT64_MAX / 2 * 2;
	}
	size_t length = wire_encode(&lie, bytes);

	length += wire_encode_segments(far, lie.segment_count, bytes + length);
	if (again % 11 == 10)
		bytes[2] = (uint8_t)(WIRE_OPERATION_COUNT + noise() % 200); /* an operation that there is not */
	hold_back(again);
	return outsider_say(hostiles->me, hostiles->to[TARGET], bytes, length);
}

static void a_peer_that_lies(void)
{
	run_attack(send_lies, TRACE_MALFORMED);
}

/* The talker's name in a greeting to the target, and the other way round. */
static bool steal(const struct victims *victims, unsigned again)
{
	struct hostile *hostiles = hostile(victims);
	enum part victim = again % 2 ? TARGET : TALKER;
	struct wire_message hello =
		outsider_hello(hostiles->me, victims->id[victim == TARGET ? TALKER : TARGET], victims->id[victim]);

	hello.attempt = again / 2 % 2 ? hello.attempt : (uint8_t)(again / 4 % 8);
	bool greeted = outsider_say_message(hostiles->me, hostiles->to[victim], &hello);

	hello.operation = WIRE_STALE;
	outsider_say_message(hostiles->me, hostiles->to[victim], &hello);
	usleep(1000);
	return greeted;
}

static void greetings_in_somebody_elses_name(void)
{
	run_attack(steal, TRACE_STALE);
}

static bool invent(const struct victims *victims, unsigned again)
{
	struct hostile *hostiles = hostile(victims);
	ptl_process_id_t nobody_there = {.nid = again % 2 ? 0x7f000001u : 0x7f000000u | (noise() & 0xffffffu),
					 .pid = noise()};
	struct wire_message hello = outsider_hello(hostiles->me, nobody_there, victims->id[TARGET]);

	hello.attempt = (uint8_t)(noise() % 8);
	hold_back(again);
	return outsider_say_message(hostiles->me, hostiles->to[TARGET], &hello);
}

static void a_flood_of_greetings_from_invented_processes(void)
{
	run_attack(invent, TRACE_STALE_FORGOTTEN);
}

#define ATTACK(test)                                                                                                   \
	{                                                                                                              \
		.name = #test, .run = test, .processes = PARTS, .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_OFI,      \
		.environment = "PTL_CONNECT_TIMEOUT=90s", .seconds = 300                                               \
	}

const struct test protocol_tests[] = {
	ATTACK(half_hellos),
	ATTACK(messages_made_of_noise),
	ATTACK(a_peer_that_lies),
	ATTACK(greetings_in_somebody_elses_name),
	ATTACK(a_flood_of_greetings_from_invented_processes),
	{0},
};
