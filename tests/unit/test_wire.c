/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of messages, byte for byte, and that nothing else passes for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offload/wire.h"

enum { OTHER_VERSION = WIRE_VERSION + 1, BODY = 5, RANDOM_MESSAGES = 1000000, RANDOM_MAX = 256 };
enum { LONGEST = WIRE_MAX_HEADER + (WIRE_MAX_SEGMENTS + 1) * WIRE_SEGMENT_SIZE };
enum { AT_VERSION = 1, AT_OPERATION = 2, AT_FLAGS = 3 };

enum { AT_COMPACT_OPERATION = 1, NOT_COMPACT = 0 };

/* What other builds of this library rely on: number, name, size before the body in full and in compact form, body. */
static const struct format {
	const char *name;
	size_t header, compact;
	enum wire_body body;
} formats[] = {
	{"PUT", 56, 36, BODY_LENGTH},
	{"PUT_LONG", 58, 46, BODY_SEGMENTS},
	{"GET", 48, 36, BODY_NONE},
	{"GETPUT", 56, 36, BODY_LENGTH},
	{"ACK", 28, 18, BODY_NONE},
	{"REPLY", 28, 10, BODY_MLENGTH},
	{"REPLY_LONG", 34, 24, BODY_SEGMENTS},
	{"SOURCE_FREE", 28, 18, BODY_NONE},
	{"DISCARDED", 20, 10, BODY_NONE},
	{"HELLO", 54, NOT_COMPACT, BODY_NONE},
	{"WELCOME", 54, NOT_COMPACT, BODY_NONE},
	{"REFUSED", 32, NOT_COMPACT, BODY_NONE},
	{"STALE", 20, NOT_COMPACT, BODY_NONE},
	{"PING", 24, NOT_COMPACT, BODY_NONE},
	{"PONG", 24, NOT_COMPACT, BODY_NONE},
};
_Static_assert(sizeof(formats) / sizeof(formats[0]) == WIRE_OPERATION_COUNT, "every operation has its format");

static uint8_t *edge; /* first byte of a page that may not be touched */

static int map_edge(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (LONGEST + page - 1) / page * page;
	uint8_t *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	if (memory == MAP_FAILED)
		return -1;
	edge = memory + room;
	return mprotect(edge, page, PROT_NONE);
}

/* Decodes a copy that ends where reading on would fault. */
static int decode(const uint8_t *bytes, size_t length, struct wire_message *message)
{
	memcpy(edge - length, bytes, length);
	return wire_decode(edge - length, length, message);
}

/* --- building messages --- */

struct example {
	struct wire_message message;
	uint8_t bytes[LONGEST];
	size_t length;
};

static void append_segments(struct example *example, const struct wire_segment *segments, unsigned count)
{
	example->message.segment_count = (uint16_t)count;
	example->length = wire_encode(&example->message, example->bytes);
	example->length += wire_encode_segments(segments, count, example->bytes + example->length);
}

static void append_bytes(struct example *example, size_t count)
{
	example->length = wire_encode(&example->message, example->bytes);
	memset(example->bytes + example->length, 'x', count);
	example->length += count;
}

/* A valid message whose fields are made of one byte, or of the bytes start, start + step, ... */
static void make_form(struct example *example, unsigned operation, bool compact, unsigned start, unsigned step)
{
	static const struct wire_segment all[] = {{UINT64_MAX, 1, UINT64_MAX - 1}, {0, UINT64_MAX, 1}};
	struct wire_message *message = &example->message;

	for (size_t i = 0; i < sizeof(*message); i++)
		((uint8_t *)message)[i] = (uint8_t)(start + step * i);
	message->operation = (uint8_t)operation;
	message->compact = compact;
	if (compact) { /* an index is one byte, and 0xff is no index */
		message->pt_index = message->pt_index % 256 < 255 ? message->pt_index % 256 : UINT16_MAX;
		message->ac_index = message->ac_index % 256 < 255 ? message->ac_index % 256 : UINT16_MAX;
	}
	message->flags &= WIRE_ALL_FLAGS;
	message->attempt &= 7;
	switch (formats[operation].body) {
	case BODY_NONE:
		append_bytes(example, 0);
		break;
	case BODY_LENGTH:
	case BODY_MLENGTH:
		message->length = message->mlength = BODY;
		append_bytes(example, BODY);
		break;
	case BODY_SEGMENTS:
		message->length = message->mlength = UINT64_MAX;
		append_segments(example, all, 2);
		break;
	}
}

static void make(struct example *example, unsigned operation, unsigned start, unsigned step)
{
	make_form(example, operation, false, start, step);
}

#define SAME(type, field) assert_int_equal(out->field, in->field);
#define SAME_FIELDS(name, body, fields, ...)                                                                           \
	if (in->operation == WIRE_##name) {                                                                            \
		fields(SAME)                                                                                           \
	}

static void assert_same_prefix(const struct wire_message *out, const struct wire_message *in)
{
	SAME(u8, operation)
	SAME(u8, flags)
	SAME(u8, attempt)
	SAME(u32, source_nid)
	SAME(u32, source_pid)
	SAME(u16, source_tag)
	SAME(u16, target_tag)
	SAME(u32, token)
}

static void assert_same(const struct wire_message *out, const struct wire_message *in)
{
	if (in->compact) {
		SAME(u8, operation)
		SAME(u8, flags)
		SAME(u16, source_tag)
		SAME(u16, target_tag)
		SAME(u32, token)
	} else {
		assert_same_prefix(out, in);
	}
	assert_int_equal(out->compact, in->compact);
	WIRE_CONVERSATION(SAME_FIELDS) WIRE_NOTICES(SAME_FIELDS)
}

/* --- what is accepted --- */

static void operations_have_their_numbers_names_and_sizes(void **state)
{
	(void)state;
	for (unsigned operation = 0; operation < WIRE_OPERATION_COUNT; operation++) {
		assert_string_equal(wire_operation_name(operation), formats[operation].name);
		assert_int_equal(wire_header_size(operation, false), formats[operation].header);
		if (operation < WIRE_COMPACT_COUNT)
			assert_int_equal(wire_header_size(operation, true), formats[operation].compact);
		else
			assert_int_equal(formats[operation].compact, NOT_COMPACT);
	}
	assert_string_equal(wire_operation_name(WIRE_OPERATION_COUNT), "unknown");
}

static void every_field_of_every_operation_survives_the_wire(void **state)
{
	static const struct {
		unsigned start, step;
	} patterns[] = {{0, 0}, {0xff, 0}, {1, 37}, {0x80, 11}};
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned operation = 0; operation < WIRE_OPERATION_COUNT; operation++) {
		for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
			make(&example, operation, patterns[i].start, patterns[i].step);
			assert_int_equal(decode(example.bytes, example.length, &out), 0);
			assert_int_equal(out.version, WIRE_VERSION);
			assert_same(&out, &example.message);
			assert_int_equal(out.body_length, example.length - formats[operation].header);
			assert_ptr_equal(out.body + out.body_length, edge);
		}
	}
}

static void every_field_survives_in_compact_form(void **state)
{
	static const struct {
		unsigned start, step;
	} patterns[] = {{0, 0}, {0xff, 0}, {1, 37}, {0x80, 11}};
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned operation = 0; operation < WIRE_COMPACT_COUNT; operation++) {
		for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
			make_form(&example, operation, true, patterns[i].start, patterns[i].step);
			assert_int_equal(decode(example.bytes, example.length, &out), 0);
			assert_same(&out, &example.message);
			assert_int_equal(out.body_length, example.length - formats[operation].compact);
			assert_ptr_equal(out.body + out.body_length, edge);
			if (formats[operation].body == BODY_LENGTH)
				assert_int_equal(out.length, BODY);
			if (formats[operation].body == BODY_MLENGTH)
				assert_int_equal(out.mlength, BODY);
		}
	}
}

static void a_put_is_these_bytes(void **state)
{
	static const uint8_t golden[] = {
		0xe3, 0x02, 0x00, 0x61, 0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05, 0x0a, 0x09, 0x0c, 0x0b,
		0x10, 0x0f, 0x0e, 0x0d, 0x12, 0x11, 0x14, 0x13, 0x1c, 0x1b, 0x1a, 0x19, 0x18, 0x17, 0x16, 0x15,
		0x24, 0x23, 0x22, 0x21, 0x20, 0x1f, 0x1e, 0x1d, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x34, 0x33, 0x32, 0x31, 0x30, 0x2f, 0x2e, 0x2d, 'x',  'x',  'x',  'x',  'x',
	};
	static struct example example = {.message = {.operation = WIRE_PUT,
						     .flags = WIRE_WANTS_ACK,
						     .attempt = 3,
						     .source_nid = 0x01020304,
						     .source_pid = 0x05060708,
						     .source_tag = 0x090a,
						     .target_tag = 0x0b0c,
						     .token = 0x0d0e0f10,
						     .pt_index = 0x1112,
						     .ac_index = 0x1314,
						     .match_bits = 0x15161718191a1b1c,
						     .offset = 0x1d1e1f2021222324,
						     .length = BODY,
						     .hdr_data = 0x2d2e2f3031323334}};

	(void)state;
	append_bytes(&example, BODY);
	assert_int_equal(example.length, sizeof(golden));
	assert_memory_equal(example.bytes, golden, sizeof(golden));
}

static void a_compact_put_is_these_bytes(void **state)
{
	static const uint8_t golden[] = {
		0xe4, 0x20, 0x0a, 0x09, 0x0c, 0x0b, 0x10, 0x0f, 0x0e, 0x0d, 0x12, 0x14, 0x1c, 0x1b,
		0x1a, 0x19, 0x18, 0x17, 0x16, 0x15, 0x24, 0x23, 0x22, 0x21, 0x20, 0x1f, 0x1e, 0x1d,
		0x34, 0x33, 0x32, 0x31, 0x30, 0x2f, 0x2e, 0x2d, 'x',  'x',  'x',  'x',  'x',
	};
	static struct example example = {.message = {.operation = WIRE_PUT,
						     .compact = true,
						     .flags = WIRE_WANTS_ACK,
						     .source_tag = 0x090a,
						     .target_tag = 0x0b0c,
						     .token = 0x0d0e0f10,
						     .pt_index = 0x12,
						     .ac_index = 0x14,
						     .match_bits = 0x15161718191a1b1c,
						     .offset = 0x1d1e1f2021222324,
						     .length = BODY,
						     .hdr_data = 0x2d2e2f3031323334}};

	(void)state;
	append_bytes(&example, BODY);
	assert_int_equal(example.length, sizeof(golden));
	assert_memory_equal(example.bytes, golden, sizeof(golden));
}

/* The line is what wire_encode() would have written, and is read back, whatever the length of its payload. */
static void a_put_in_words_is_the_same_bytes(void **state)
{
	static const uint8_t payload[WIRE_LINE_PAYLOAD + 4] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
							       11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	const struct wire_line put = {.source_tag = 0x8001,
				      .target_tag = 0x9002,
				      .pt_index = 0xfe,
				      .ac_index = 0x83,
				      .match_bits = UINT64_C(0x8102030405060708),
				      .offset = UINT64_C(0x9112131415161718),
				      .hdr_data = UINT64_C(0xa122232425262728)};
	const struct wire_message message = {.operation = WIRE_PUT,
					     .compact = true,
					     .source_tag = put.source_tag,
					     .target_tag = put.target_tag,
					     .pt_index = put.pt_index,
					     .ac_index = put.ac_index,
					     .match_bits = put.match_bits,
					     .offset = put.offset,
					     .hdr_data = put.hdr_data};

	(void)state;
	for (size_t length = 0; length <= sizeof(payload); length++) {
		uint8_t expected[4 + WIRE_LINE_HEADER + WIRE_LINE_PAYLOAD] = {0}, line[sizeof(expected)];
		uint64_t words[WIRE_LINE_WORDS];
		struct wire_line read = {.match_bits = 0};

		assert_int_equal(wire_encode(&message, expected + 4), WIRE_LINE_HEADER);
		memcpy(expected + 4 + WIRE_LINE_HEADER, payload,
		       length < WIRE_LINE_PAYLOAD ? length : WIRE_LINE_PAYLOAD);
		wire_write_line(WIRE_PUT, &put, payload, length, words);
		for (unsigned i = 0; i < WIRE_LINE_WORDS; i++)
			put_u64(line + i * sizeof(*words), words[i]);
		assert_memory_equal(line, expected, sizeof(line));
		assert_true(wire_read_line(line + 4, WIRE_LINE_HEADER + length, WIRE_PUT, &read));
		assert_int_equal(read.source_tag, put.source_tag);
		assert_int_equal(read.target_tag, put.target_tag);
		assert_int_equal(read.pt_index, put.pt_index);
		assert_int_equal(read.ac_index, put.ac_index);
		assert_int_equal(read.match_bits, put.match_bits);
		assert_int_equal(read.offset, put.offset);
		assert_int_equal(read.hdr_data, put.hdr_data);
	}
}

/* Likewise a reply. */
static void a_reply_in_words_is_the_same_bytes(void **state)
{
	uint8_t payload[WIRE_REPLY_PAYLOAD + 4];
	struct wire_message message = {.operation = WIRE_REPLY,
				       .compact = true,
				       .source_tag = 0x8001,
				       .target_tag = 0x9002,
				       .token = 0xa0b0c0d0};

	(void)state;
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(0xc0 + i);
	for (size_t length = 0; length <= sizeof(payload); length++) {
		uint8_t expected[4 + WIRE_COMPACT_SIZE + WIRE_REPLY_PAYLOAD] = {0}, line[sizeof(expected)];
		uint64_t words[WIRE_LINE_WORDS];

		assert_int_equal(wire_encode(&message, expected + 4), WIRE_COMPACT_SIZE);
		memcpy(expected + 4 + WIRE_COMPACT_SIZE, payload,
		       length < WIRE_REPLY_PAYLOAD ? length : WIRE_REPLY_PAYLOAD);
		wire_write_reply(message.source_tag, message.target_tag, message.token, length ? payload : NULL, length,
				 words);
		for (unsigned i = 0; i < WIRE_LINE_WORDS; i++)
			put_u64(line + i * sizeof(*words), words[i]);
		assert_memory_equal(line, expected, sizeof(line));
	}
}

static void only_a_plain_compact_put_is_read_as_a_line(void **state)
{
	struct wire_message message = {.operation = WIRE_PUT, .compact = true};
	uint8_t bytes[WIRE_MAX_HEADER];
	struct wire_line put;
	size_t length = wire_encode(&message, bytes);

	(void)state;
	assert_true(wire_read_line(bytes, length, WIRE_PUT, &put));
	assert_false(wire_read_line(bytes, length - 1, WIRE_PUT, &put));
	for (unsigned flag = 1; flag <= WIRE_ALL_FLAGS; flag <<= 1) {
		message.flags = (uint8_t)flag;
		assert_false(wire_read_line(bytes, wire_encode(&message, bytes), WIRE_PUT, &put));
	}
	message.flags = 0;
	for (unsigned operation = WIRE_PUT + 1; operation < WIRE_COMPACT_COUNT; operation++) {
		message.operation = (uint8_t)operation;
		assert_false(wire_read_line(bytes, wire_encode(&message, bytes), WIRE_PUT, &put));
	}
	message.operation = WIRE_PUT;
	message.compact = false;
	assert_false(wire_read_line(bytes, wire_encode(&message, bytes), WIRE_PUT, &put));
}

static void an_index_out_of_range_stays_out_of_range_in_compact_form(void **state)
{
	static const struct {
		uint16_t in, out;
	} indexes[] = {{0, 0}, {63, 63}, {254, 254}, {255, UINT16_MAX}, {256, UINT16_MAX}, {UINT16_MAX, UINT16_MAX}};
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		make_form(&example, WIRE_GET, true, 0, 0);
		example.message.pt_index = example.message.ac_index = indexes[i].in;
		append_bytes(&example, 0);
		assert_int_equal(decode(example.bytes, example.length, &out), 0);
		assert_int_equal(out.pt_index, indexes[i].out);
		assert_int_equal(out.ac_index, indexes[i].out);
	}
}

/* Header and body each end where reading on would fault. */
static int decode_apart(const uint8_t *header, size_t length, const uint8_t *body, size_t body_length,
			struct wire_message *message)
{
	uint8_t *apart = malloc(body_length + 1);

	assert_non_null(apart);
	memcpy(apart, body, body_length);
	memcpy(edge - length, header, length);
	int rc = wire_decode_apart(edge - length, length, apart, body_length, message);

	if (rc == 0) {
		assert_ptr_equal(message->body, apart);
		assert_int_equal(message->body_length, body_length);
	}
	free(apart);
	return rc;
}

static void a_body_may_lie_apart_from_its_header(void **state)
{
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned i = 0; i < WIRE_OPERATION_COUNT + WIRE_COMPACT_COUNT; i++) {
		bool compact = i >= WIRE_OPERATION_COUNT;
		unsigned operation = compact ? i - WIRE_OPERATION_COUNT : i;
		size_t header_length = compact ? formats[operation].compact : formats[operation].header;

		make_form(&example, operation, compact, 1, 37);
		const uint8_t *body = example.bytes + header_length;
		size_t rest = example.length - header_length;

		assert_int_equal(decode_apart(example.bytes, header_length, body, rest, &out), 0);
		assert_int_equal(decode_apart(example.bytes, header_length - 1, body, rest, &out), -EBADMSG);
		/* Not here and there. */
		assert_int_equal(decode_apart(example.bytes, header_length + 1, body, rest, &out), -EBADMSG);
		assert_int_equal(wire_names_segments(example.bytes, header_length),
				 formats[operation].body == BODY_SEGMENTS);
		if (rest > 0 && (!compact || formats[operation].body == BODY_SEGMENTS))
			assert_int_equal(decode_apart(example.bytes, header_length, body, rest - 1, &out), -EBADMSG);
	}
	for (size_t length = 0; length < WIRE_COMPACT_SIZE; length++)
		assert_false(wire_names_segments(example.bytes, length));
}

static void a_hello_is_these_bytes(void **state)
{
	static const uint8_t golden[] = {
		0xe3, 0x02, 0x09, 0xe0, 0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05, 0x0a, 0x09,
		0x0c, 0x0b, 0x10, 0x0f, 0x0e, 0x0d, 0x14, 0x13, 0x12, 0x11, 0x18, 0x17, 0x16, 0x15,
		0x1c, 0x1b, 0x1a, 0x19, 0x20, 0x1f, 0x1e, 0x1d, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23,
		0x22, 0x21, 0x30, 0x2f, 0x2e, 0x2d, 0x2c, 0x2b, 0x2a, 0x29, 0x01, 0x00,
	};
	static struct example example = {.message = {.operation = WIRE_HELLO,
						     .attempt = 7,
						     .source_nid = 0x01020304,
						     .source_pid = 0x05060708,
						     .source_tag = 0x090a,
						     .target_tag = 0x0b0c,
						     .token = 0x0d0e0f10,
						     .wanted_nid = 0x11121314,
						     .wanted_pid = 0x15161718,
						     .uid = 0x191a1b1c,
						     .jid = 0x1d1e1f20,
						     .incarnation_high = 0x2122232425262728,
						     .incarnation_low = 0x292a2b2c2d2e2f30,
						     .abilities = WIRE_HAS_NIC_THREAD}};

	(void)state;
	append_bytes(&example, 0);
	assert_int_equal(example.length, sizeof(golden));
	assert_memory_equal(example.bytes, golden, sizeof(golden));
}

static void segments_are_these_bytes_and_come_back(void **state)
{
	static const uint8_t golden[] = {8,  7,  6,  5, 4,  3,  2,  1,  16, 15, 14, 13,
					 12, 11, 10, 9, 24, 23, 22, 21, 20, 19, 18, 17};
	static const struct wire_segment segments[] = {{1, 2, 3},
						       {0x0102030405060708, 0x090a0b0c0d0e0f10, 0x1112131415161718}};
	uint8_t bytes[2 * WIRE_SEGMENT_SIZE];
	struct wire_message message = {.body = bytes};

	(void)state;
	assert_int_equal(wire_encode_segments(segments, 2, bytes), sizeof(bytes));
	assert_memory_equal(bytes + WIRE_SEGMENT_SIZE, golden, sizeof(golden));
	for (unsigned i = 0; i < 2; i++) {
		struct wire_segment segment = wire_segment(&message, i);

		assert_memory_equal(&segment, &segments[i], sizeof(segment));
	}
}

/* --- what is refused --- */

static void a_message_of_any_other_length_is_refused(void **state)
{
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned operation = 0; operation < WIRE_OPERATION_COUNT; operation++) {
		make(&example, operation, 1, 37);
		for (size_t length = 0; length < example.length; length++)
			assert_int_equal(decode(example.bytes, length, &out), -EBADMSG);
		assert_int_equal(decode(example.bytes, example.length, &out), 0);
		for (size_t more = 1; more <= 2 * WIRE_SEGMENT_SIZE; more++)
			assert_int_equal(decode(example.bytes, example.length + more, &out), -EBADMSG);
	}
}

/* In compact form the length of a payload is all that says how long it is. */
static void a_compact_message_of_any_other_length_is_refused(void **state)
{
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned operation = 0; operation < WIRE_COMPACT_COUNT; operation++) {
		enum wire_body body = formats[operation].body;
		bool payload = body == BODY_LENGTH || body == BODY_MLENGTH;

		make_form(&example, operation, true, 1, 37);
		for (size_t length = 0; length < example.length; length++)
			assert_int_equal(decode(example.bytes, length, &out),
					 payload && length >= formats[operation].compact ? 0 : -EBADMSG);
		for (size_t more = 0; more <= 2 * WIRE_SEGMENT_SIZE; more++)
			assert_int_equal(decode(example.bytes, example.length + more, &out),
					 payload || more == 0 ? 0 : -EBADMSG);
	}
}

static void notices_have_no_compact_form(void **state)
{
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		make_form(&example, WIRE_DISCARDED, true, 0, 0);
		example.bytes[AT_COMPACT_OPERATION] = (uint8_t)byte;
		int rc = decode(example.bytes, WIRE_COMPACT_SIZE, &out);

		if (byte % 32 == WIRE_DISCARDED || byte % 32 == WIRE_REPLY) {
			assert_int_equal(rc, 0);
			assert_int_equal(out.flags, byte / 32);
		} else {
			assert_int_equal(rc, -EBADMSG);
		}
		rc = decode(example.bytes, LONGEST, &out);
		assert_true(byte % 32 < WIRE_COMPACT_COUNT || rc == -EBADMSG);
	}
}

/* Only the prefix is known of another version; and a refusal, by which versions tell each other apart. */
static void another_version_shows_its_prefix_and_its_refusals(void **state)
{
	static const uint8_t versions[] = {0, OTHER_VERSION, 255};
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned operation = 0; operation < WIRE_OPERATION_COUNT; operation++) {
		make(&example, operation, 1, 37);
		for (size_t length = 0; length <= example.length; length++) {
			bool refusal = operation == WIRE_REFUSED && length == example.length;

			example.bytes[AT_VERSION] = versions[length % 3];
			int rc = decode(example.bytes, length, &out);
			if (length < WIRE_PREFIX_SIZE) {
				assert_int_equal(rc, -EBADMSG);
				continue;
			}
			assert_int_equal(rc, refusal ? 0 : -EPROTONOSUPPORT);
			assert_int_equal(out.version, versions[length % 3]);
			assert_same_prefix(&out, &example.message);
			if (refusal)
				assert_same(&out, &example.message);
		}
	}
}

static void a_refusal_of_another_version_must_be_well_formed(void **state)
{
	static struct example example;
	struct wire_message out;

	(void)state;
	make(&example, WIRE_REFUSED, 1, 37);
	example.bytes[AT_VERSION] = OTHER_VERSION;
	assert_int_equal(decode(example.bytes, example.length + 1, &out), -EBADMSG);
	example.bytes[AT_FLAGS] |= 8;
	assert_int_equal(decode(example.bytes, example.length, &out), -EBADMSG);
}

static void bytes_without_the_magic_number_are_no_message_of_any_version(void **state)
{
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned magic = 0; magic < 256; magic++) {
		make(&example, WIRE_PING, 0, 0);
		example.bytes[0] = (uint8_t)magic;
		int rc = decode(example.bytes, example.length, &out);
		assert_int_equal(rc, magic == WIRE_MAGIC ? 0 : -EBADMSG);
		example.bytes[AT_VERSION] = OTHER_VERSION;
		assert_int_equal(decode(example.bytes, example.length, &out),
				 magic == WIRE_MAGIC ? -EPROTONOSUPPORT : -EBADMSG);
	}
}

static void unknown_operations_are_refused(void **state)
{
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned operation = WIRE_OPERATION_COUNT; operation < 256; operation++) {
		make(&example, WIRE_PING, 0, 0);
		example.bytes[AT_OPERATION] = (uint8_t)operation;
		assert_int_equal(decode(example.bytes, example.length, &out), -EBADMSG);
		example.bytes[AT_VERSION] = OTHER_VERSION;
		assert_int_equal(decode(example.bytes, example.length, &out), -EPROTONOSUPPORT);
		assert_int_equal(out.operation, operation);
	}
}

static void unknown_flags_are_refused(void **state)
{
	static struct example example;
	struct wire_message out;

	(void)state;
	make(&example, WIRE_PING, 0, 0);
	for (unsigned flags = 0; flags < 256; flags++) {
		example.bytes[AT_FLAGS] = (uint8_t)flags;
		assert_int_equal(decode(example.bytes, example.length, &out), flags & 0x18 ? -EBADMSG : 0);
		assert_int_equal(out.attempt, flags >> 5);
	}
}

static void assert_body(struct example *example, size_t bytes, int expected)
{
	struct wire_message out;

	append_bytes(example, bytes);
	assert_int_equal(decode(example->bytes, example->length, &out), expected);
}

static void a_payload_is_as_long_as_its_header_says(void **state)
{
	static const uint64_t wrong[] = {0, BODY - 1, BODY + 1, UINT64_C(1) << 32 | BODY, UINT64_MAX};
	static const unsigned operations[] = {WIRE_PUT, WIRE_GETPUT, WIRE_REPLY};
	static struct example example;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		make(&example, operations[i], 1, 37);
		/* Each looks at its own length. */
		*(operations[i] == WIRE_REPLY ? &example.message.length : &example.message.mlength) = 0;
		assert_body(&example, BODY, 0);
		for (unsigned j = 0; j < 5; j++) {
			*(operations[i] == WIRE_REPLY ? &example.message.mlength : &example.message.length) = wrong[j];
			assert_body(&example, BODY, -EBADMSG);
		}
	}
}

static void a_getput_has_no_more_than_its_greatest_length(void **state)
{
	static struct example example;

	(void)state;
	make(&example, WIRE_GETPUT, 0, 0);
	example.message.length = 256;
	assert_body(&example, 256, 0);
	example.message.length = 257;
	assert_body(&example, 257, -EBADMSG);
	example.message.compact = true;
	assert_body(&example, 256, 0);
	assert_body(&example, 257, -EBADMSG);
	example.message.operation = WIRE_PUT;
	assert_body(&example, 257, 0);
	example.message.compact = false;
	assert_body(&example, 257, 0);
}

static void assert_segments(uint64_t length, const struct wire_segment *segments, unsigned count, int expected)
{
	static const unsigned operations[] = {WIRE_PUT_LONG, WIRE_REPLY_LONG};
	static struct example example;
	struct wire_message out;

	for (unsigned i = 0; i < 4; i++) {
		make_form(&example, operations[i % 2], i / 2, 0, 0);
		/* Each looks at its own length. */
		example.message.length = operations[i % 2] == WIRE_PUT_LONG ? length : 77;
		example.message.mlength = operations[i % 2] == WIRE_PUT_LONG ? 77 : length;
		append_segments(&example, segments, count);
		assert_int_equal(decode(example.bytes, example.length, &out), expected);
	}
}

static void segments_hold_all_bytes_and_no_more(void **state)
{
	static const uint64_t half = UINT64_C(1) << 63;
	const struct wire_segment pair[] = {{1, 1, 10}, {2, 2, 5}}, wrap[] = {{0, 0, half}, {0, 0, half}},
				  empty[] = {{1, 1, 10}, {2, 2, 0}}, leading[] = {{1, 1, 0}, {2, 2, 10}},
				  all[] = {{0, 0, half}, {0, 0, half - 1}},
				  around[] = {{1, 1, 10}, {2, 2, UINT64_MAX - 4}, {3, 3, 5}};

	(void)state;
	assert_segments(15, pair, 2, 0);
	assert_segments(14, pair, 2, -EBADMSG);
	assert_segments(16, pair, 2, -EBADMSG);
	assert_segments(10, pair, 1, 0);
	assert_segments(15, pair, 1, -EBADMSG);
	assert_segments(10, empty, 2, -EBADMSG);
	assert_segments(10, leading, 2, -EBADMSG);
	assert_segments(UINT64_MAX, all, 2, 0);
	assert_segments(0, wrap, 2, -EBADMSG);
	assert_segments(half, wrap, 2, -EBADMSG);
	assert_segments(10, around, 3, -EBADMSG);
	assert_segments(0, NULL, 0, 0);
	assert_segments(1, NULL, 0, -EBADMSG);
}

static void there_are_no_more_segments_than_allowed(void **state)
{
	static struct wire_segment many[257];

	(void)state;
	for (unsigned i = 0; i < 257; i++)
		many[i].length = 1;
	assert_segments(256, many, 256, 0);
	assert_segments(257, many, 257, -EBADMSG);
}

static void the_number_of_segments_fits_the_bytes_there_are(void **state)
{
	static const unsigned counts[] = {0, 1, 3, 256, 0xffff};
	static struct example example;
	struct wire_message out;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		make(&example, WIRE_PUT_LONG, 0, 0);
		example.message.segment_count = (uint16_t)counts[i];
		wire_encode(&example.message, example.bytes);
		assert_int_equal(decode(example.bytes, example.length, &out), -EBADMSG);
	}
}

/* --- anything --- */

static uint64_t random_state;

static uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static size_t random_noise(uint8_t *bytes)
{
	size_t length = random_bits() % RANDOM_MAX;

	for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
		uint64_t word = random_bits();
		memcpy(bytes + i, &word, sizeof(word));
	}
	return length;
}

/* Noise; or noise that begins like a message; or a message with some bytes changed, and cut or extended. */
static size_t random_message(uint8_t *bytes)
{
	static struct example example;
	uint64_t choice = random_bits();

	if (choice % 4 == 0)
		return random_noise(bytes);
	if (choice % 4 == 1) {
		size_t length = random_noise(bytes);

		bytes[0] = choice & 0xf000 ? WIRE_MAGIC : WIRE_MAGIC_COMPACT;
		bytes[AT_VERSION] = choice & 0xf00 ? WIRE_VERSION : OTHER_VERSION;
		bytes[AT_OPERATION] = (uint8_t)(choice >> 16) % (WIRE_OPERATION_COUNT + 1);
		return length;
	}
	bool compact = choice >> 40 & 1;

	make_form(&example, (unsigned)(choice >> 16 & 0xff) % (compact ? WIRE_COMPACT_COUNT : WIRE_OPERATION_COUNT),
		  compact, (unsigned)(choice >> 24 & 0xff), choice >> 32 & 0xff);
	memcpy(bytes, example.bytes, example.length);
	for (uint64_t changes = choice >> 8 & 3; changes > 0; changes--)
		bytes[random_bits() % example.length] ^= (uint8_t)(1 << random_bits() % 8);
	if (choice >> 60 == 0)
		return random_bits() % (example.length + 8);
	return example.length;
}

/* What was accepted has one spelling, and its body is the rest of the bytes. */
static bool is_consistent(const struct wire_message *message, size_t length)
{
	uint8_t again[WIRE_MAX_HEADER];
	size_t header = wire_encode(message, again);
	const uint8_t *bytes = edge - length;

	if (!message->compact)
		again[AT_VERSION] = message->version;
	return message->body == bytes + header && message->body_length == length - header &&
	       memcmp(again, bytes, header) == 0;
}

/* What is read as a line is that message; `message`: what wire_decode() made of it, NULL if it is none. */
static bool reads_alike(const uint8_t *bytes, size_t length, enum wire_operation operation,
			const struct wire_message *message)
{
	bool is_line = message && message->operation == operation && !message->flags && message->compact;
	struct wire_line line;

	memcpy(edge - length, bytes, length);
	if (!wire_read_line(edge - length, length, operation, &line))
		return !is_line;
	return is_line && message->source_tag == line.source_tag && message->target_tag == line.target_tag &&
	       message->token == line.token && message->match_bits == line.match_bits &&
	       message->offset == line.offset &&
	       (operation == WIRE_GET
			? message->length == line.length
			: message->hdr_data == line.hdr_data && message->length == length - WIRE_LINE_HEADER);
}

static void random_bytes_are_never_read_beyond_their_end(void **state)
{
	static uint8_t bytes[RANDOM_MAX + sizeof(uint64_t)];
	unsigned accepted[WIRE_OPERATION_COUNT] = {0}, briefly = 0, malformed = 0, foreign = 0, inconsistent = 0;
	struct wire_message message;

	(void)state;
	random_state = 0x9e3779b97f4a7c15;
	for (int i = 0; i < RANDOM_MESSAGES; i++) {
		size_t length = random_message(bytes);
		int rc = decode(bytes, length, &message);

		malformed += rc == -EBADMSG;
		foreign += rc == -EPROTONOSUPPORT;
		if (rc == 0) {
			accepted[message.operation]++;
			briefly += message.compact;
			inconsistent += !is_consistent(&message, length);
		}
		inconsistent += !reads_alike(bytes, length, WIRE_PUT, rc == 0 ? &message : NULL) ||
				!reads_alike(bytes, length, WIRE_GET, rc == 0 ? &message : NULL);
	}
	assert_int_equal(inconsistent, 0);
	/* The bytes were of every sort. */
	assert_true(malformed > RANDOM_MESSAGES / 10 && foreign > RANDOM_MESSAGES / 100);
	assert_true(briefly > RANDOM_MESSAGES / 10);
	for (unsigned operation = 0; operation < WIRE_OPERATION_COUNT; operation++) {
		assert_true(accepted[operation] > RANDOM_MESSAGES / 1000);
		malformed += accepted[operation];
	}
	assert_int_equal(malformed + foreign, RANDOM_MESSAGES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_have_their_numbers_names_and_sizes),
		cmocka_unit_test(every_field_of_every_operation_survives_the_wire),
		cmocka_unit_test(a_put_is_these_bytes),
		cmocka_unit_test(a_put_in_words_is_the_same_bytes),
		cmocka_unit_test(a_reply_in_words_is_the_same_bytes),
		cmocka_unit_test(only_a_plain_compact_put_is_read_as_a_line),
		cmocka_unit_test(a_hello_is_these_bytes),
		cmocka_unit_test(segments_are_these_bytes_and_come_back),
		cmocka_unit_test(a_message_of_any_other_length_is_refused),
		cmocka_unit_test(another_version_shows_its_prefix_and_its_refusals),
		cmocka_unit_test(a_refusal_of_another_version_must_be_well_formed),
		cmocka_unit_test(bytes_without_the_magic_number_are_no_message_of_any_version),
		cmocka_unit_test(unknown_operations_are_refused),
		cmocka_unit_test(unknown_flags_are_refused),
		cmocka_unit_test(a_payload_is_as_long_as_its_header_says),
		cmocka_unit_test(a_getput_has_no_more_than_its_greatest_length),
		cmocka_unit_test(segments_hold_all_bytes_and_no_more),
		cmocka_unit_test(there_are_no_more_segments_than_allowed),
		cmocka_unit_test(the_number_of_segments_fits_the_bytes_there_are),
		cmocka_unit_test(random_bytes_are_never_read_beyond_their_end),
		cmocka_unit_test(every_field_survives_in_compact_form),
		cmocka_unit_test(a_compact_put_is_these_bytes),
		cmocka_unit_test(an_index_out_of_range_stays_out_of_range_in_compact_form),
		cmocka_unit_test(a_body_may_lie_apart_from_its_header),
		cmocka_unit_test(a_compact_message_of_any_other_length_is_refused),
		cmocka_unit_test(notices_have_no_compact_form),
	};

	return cmocka_run_group_tests(tests, map_edge, NULL);
}
