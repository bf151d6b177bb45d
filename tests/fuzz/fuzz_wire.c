/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever bytes arrive, wire_decode() reads only them, and what it accepts is exactly what
 * wire_encode() would have written: one message, one spelling in each of the two forms.  A broken promise traps.
 */
#include "offload/wire.h"

#include <errno.h>
#include <string.h>

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			__builtin_trap();                                                                              \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* How long a body the fields promise to its reader. */
static uint64_t announced_body(const struct wire_message *message)
{
	switch (message->operation) {
	case WIRE_PUT:
	case WIRE_GETPUT:
		return message->length;
	case WIRE_REPLY:
		return message->mlength;
	case WIRE_PUT_LONG:
	case WIRE_REPLY_LONG:
		return (uint64_t)message->segment_count * WIRE_SEGMENT_SIZE;
	default:
		return 0;
	}
}

static void require_body_inside(const struct wire_message *message, const uint8_t *bytes, size_t length)
{
	size_t header = wire_header_size((enum wire_operation)message->operation, message->compact);

	REQUIRE(header <= WIRE_MAX_HEADER && header + message->body_length == length);
	REQUIRE(message->body == bytes + header);
	REQUIRE(message->compact == (bytes[0] == WIRE_MAGIC_COMPACT));
	REQUIRE(!message->compact || message->operation < WIRE_COMPACT_COUNT);
	REQUIRE(message->body_length == announced_body(message));
	REQUIRE(message->operation != WIRE_GETPUT || message->length <= WIRE_SWAP_MAX);
}

static void require_same_header(const struct wire_message *message, const uint8_t *bytes)
{
	uint8_t again[WIRE_MAX_HEADER];
	size_t header = wire_encode(message, again);

	REQUIRE(header == wire_header_size((enum wire_operation)message->operation, message->compact));
	if (!message->compact)
		again[1] = bytes[1]; /* a refusal is accepted from any version */
	REQUIRE(memcmp(again, bytes, header) == 0);
}

/* Segments cover the data completely, however large the numbers in them. */
static void require_segments(const struct wire_message *message)
{
	static uint8_t again[WIRE_MAX_SEGMENTS * WIRE_SEGMENT_SIZE];
	static struct wire_segment segments[WIRE_MAX_SEGMENTS];
	uint64_t left = message->operation == WIRE_PUT_LONG ? message->length : message->mlength;

	REQUIRE(message->segment_count <= WIRE_MAX_SEGMENTS);
	for (unsigned i = 0; i < message->segment_count; i++) {
		segments[i] = wire_segment(message, i);
		REQUIRE(segments[i].length > 0 && segments[i].length <= left);
		left -= segments[i].length;
	}
	REQUIRE(left == 0);
	REQUIRE(wire_encode_segments(segments, message->segment_count, again) == message->body_length);
	REQUIRE(memcmp(again, message->body, message->body_length) == 0);
}

/* The same bytes with the body elsewhere are the same message. */
static void require_same_apart(const struct wire_message *message, const uint8_t *bytes, size_t length)
{
	static uint8_t body[1 << 16];
	struct wire_message apart;

	if (message->body_length > sizeof(body))
		return;
	memcpy(body, message->body, message->body_length);
	REQUIRE(wire_decode_apart(bytes, length - message->body_length, body, message->body_length, &apart) == 0);
	REQUIRE(apart.body == body && apart.body_length == message->body_length);
	REQUIRE(apart.operation == message->operation && apart.compact == message->compact);
	require_same_header(&apart, bytes);
}

/* What is read as a line is a message, and that one; `message` means something if it is. */
static void require_same_line(const struct wire_message *message, bool valid, const uint8_t *bytes, size_t length,
			      enum wire_operation operation)
{
	struct wire_line line;

	if (!wire_read_line(bytes, length, operation, &line))
		return;
	REQUIRE(valid && message->compact && message->operation == operation && message->flags == 0);
	REQUIRE(message->token == line.token);
	REQUIRE(message->source_tag == line.source_tag && message->target_tag == line.target_tag);
	REQUIRE(message->match_bits == line.match_bits && message->offset == line.offset);
	if (operation == WIRE_GET)
		REQUIRE(message->length == line.length && length == WIRE_LINE_HEADER);
	else
		REQUIRE(message->hdr_data == line.hdr_data && message->length == length - WIRE_LINE_HEADER);
	REQUIRE(message->pt_index == (line.pt_index < UINT8_MAX ? line.pt_index : UINT16_MAX));
	REQUIRE(message->ac_index == (line.ac_index < UINT8_MAX ? line.ac_index : UINT16_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct wire_message message;
	int code = wire_decode(bytes, length, &message);

	require_same_line(&message, code == 0, bytes, length, WIRE_PUT);
	require_same_line(&message, code == 0, bytes, length, WIRE_GET);

	REQUIRE(code == 0 || code == -EBADMSG || code == -EPROTONOSUPPORT);
	if (code == -EPROTONOSUPPORT)
		REQUIRE(length >= WIRE_PREFIX_SIZE && message.version == bytes[1] && message.version != WIRE_VERSION);
	if (code != 0)
		return 0;
	require_body_inside(&message, bytes, length);
	require_same_header(&message, bytes);
	require_same_apart(&message, bytes, length);
	REQUIRE(wire_names_segments(bytes, length) ==
		(message.operation == WIRE_PUT_LONG || message.operation == WIRE_REPLY_LONG));
	if (message.operation == WIRE_PUT_LONG || message.operation == WIRE_REPLY_LONG)
		require_segments(&message);
	return 0;
}
