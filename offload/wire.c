/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/wire.h"

#include <errno.h>

#include "base/bytes.h"

static inline const uint8_t *get_u16(const uint8_t *from, uint16_t *value)
{
	*value = load_u16(from);
	return from + 2;
}

static inline const uint8_t *get_u32(const uint8_t *from, uint32_t *value)
{
	*value = load_u32(from);
	return from + 4;
}

static inline const uint8_t *get_u64(const uint8_t *from, uint64_t *value)
{
	*value = load_u64(from);
	return from + 8;
}

/* A u16 that saturates at 0xff; what has done so was out of range, and stays so. */
static inline uint8_t *put_index(uint8_t *to, uint16_t value)
{
	*to = value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
	return to + 1;
}

static inline const uint8_t *get_index(const uint8_t *from, uint16_t *value)
{
	*value = *from < UINT8_MAX ? *from : UINT16_MAX;
	return from + 1;
}

enum { SIZE_index = 1, SIZE_u16 = 2, SIZE_u32 = 4, SIZE_u64 = 8 };

#define FIELD_SIZE(type, field) +SIZE_##type
#define FIELD_PUT(type, field)  to = put_##type(to, message->field);
#define FIELD_GET(type, field)  from = get_##type(from, &message->field);

#define CODEC(name, prefix, fields)                                                                                    \
	enum { SIZE_##name = prefix fields(FIELD_SIZE) };                                                              \
	_Static_assert((int)SIZE_##name <= (int)WIRE_MAX_HEADER, "WIRE_MAX_HEADER is too small");                      \
	static uint8_t *encode_##name(const struct wire_message *message, uint8_t *to)                                 \
	{                                                                                                              \
		(void)message;                                                                                         \
		fields(FIELD_PUT) return to;                                                                           \
	}                                                                                                              \
	static const uint8_t *decode_##name(const uint8_t *from, struct wire_message *message)                         \
	{                                                                                                              \
		(void)message;                                                                                         \
		fields(FIELD_GET) return from;                                                                         \
	}
#define CODEC_FULL(name, body, fields, ...)     CODEC(name, WIRE_PREFIX_SIZE, fields)
#define CODEC_COMPACT(name, body, full, fields) CODEC(compact_##name, WIRE_COMPACT_SIZE, fields)
WIRE_CONVERSATION(CODEC_FULL)
WIRE_NOTICES(CODEC_FULL)
WIRE_CONVERSATION(CODEC_COMPACT)

struct codec {
	const char *name;
	size_t size;
	enum wire_body body;
	uint8_t *(*encode)(const struct wire_message *, uint8_t *);
	const uint8_t *(*decode)(const uint8_t *, struct wire_message *);
};

#define ROW(name, what, body)        [WIRE_##name] = {#name, SIZE_##what, body, encode_##what, decode_##what},
#define ROW_FULL(name, body, ...)    ROW(name, name, body)
#define ROW_COMPACT(name, body, ...) ROW(name, compact_##name, body)
static const struct codec full_codecs[] = {WIRE_CONVERSATION(ROW_FULL) WIRE_NOTICES(ROW_FULL)};
static const struct codec compact_codecs[] = {WIRE_CONVERSATION(ROW_COMPACT)};

_Static_assert(sizeof(compact_codecs) / sizeof(compact_codecs[0]) == WIRE_COMPACT_COUNT, "notices come last");
_Static_assert(WIRE_COMPACT_COUNT <= 1 << WIRE_COMPACT_SHIFT, "operation and flags share a byte");
_Static_assert(WIRE_ALL_FLAGS < 1 << (8 - WIRE_COMPACT_SHIFT), "operation and flags share a byte");
_Static_assert(SIZE_compact_GET == (int)WIRE_LINE_HEADER, "wire_read_line() reads both");
_Static_assert(4 + (int)SIZE_compact_REPLY + WIRE_REPLY_PAYLOAD == WIRE_LINE_WORDS * (int)sizeof(uint64_t),
	       "the words are full");
_Static_assert(SIZE_compact_PUT == (int)WIRE_LINE_HEADER, "with its payload it has to fit a cache line");

static uint8_t *encode_full_prefix(const struct wire_message *message, uint8_t *to)
{
	*to++ = WIRE_MAGIC;
	*to++ = WIRE_VERSION;
	*to++ = message->operation;
	*to++ = (uint8_t)(message->flags | message->attempt << WIRE_ATTEMPT_SHIFT);
	to = put_u32(to, message->source_nid);
	return put_u32(to, message->source_pid);
}

static uint8_t *encode_compact_prefix(const struct wire_message *message, uint8_t *to)
{
	*to++ = WIRE_MAGIC_COMPACT;
	*to++ = (uint8_t)(message->operation | message->flags << WIRE_COMPACT_SHIFT);
	return to;
}

size_t wire_encode(const struct wire_message *message, uint8_t *start)
{
	const struct codec *codec = &(message->compact ? compact_codecs : full_codecs)[message->operation];
	uint8_t *to = message->compact ? encode_compact_prefix(message, start) : encode_full_prefix(message, start);

	to = put_u16(to, message->source_tag);
	to = put_u16(to, message->target_tag);
	to = put_u32(to, message->token);
	return (size_t)(codec->encode(message, to) - start);
}

size_t wire_encode_segments(const struct wire_segment *segments, unsigned count, uint8_t *to)
{
	for (unsigned i = 0; i < count; i++)
		to = put_u64(put_u64(put_u64(to, segments[i].address), segments[i].key), segments[i].length);
	return (size_t)count * WIRE_SEGMENT_SIZE;
}

struct wire_segment wire_segment(const struct wire_message *message, unsigned index)
{
	const uint8_t *at = message->body + (size_t)index * WIRE_SEGMENT_SIZE;

	return (struct wire_segment){load_u64(at), load_u64(at + 8), load_u64(at + 16)};
}

/* The segments of a long message must hold all of its bytes: no more, no less, none empty. */
static bool segments_fit(const struct wire_message *message)
{
	uint64_t total = 0, length = message->operation == WIRE_PUT_LONG ? message->length : message->mlength;

	if (message->segment_count > WIRE_MAX_SEGMENTS ||
	    message->body_length != (size_t)message->segment_count * WIRE_SEGMENT_SIZE)
		return false;
	for (unsigned i = 0; i < message->segment_count; i++) {
		struct wire_segment segment = wire_segment(message, i);

		if (segment.length == 0 || segment.length > length - total)
			return false;
		total += segment.length;
	}
	return total == length;
}

static bool body_fits(const struct wire_message *message, enum wire_body body)
{
	switch (body) {
	case BODY_NONE:
		return message->body_length == 0;
	case BODY_LENGTH:
		return message->body_length == message->length &&
		       (message->operation != WIRE_GETPUT || message->length <= WIRE_SWAP_MAX);
	case BODY_MLENGTH:
		return message->body_length == message->mlength;
	case BODY_SEGMENTS:
		return segments_fit(message);
	}
	return false;
}

/* What both prefixes end with. */
static const uint8_t *decode_tags(const uint8_t *from, struct wire_message *message)
{
	return get_u32(get_u16(get_u16(from, &message->source_tag), &message->target_tag), &message->token);
}

/* 0, or why not.  As far as the bytes go they are a message of the full form. */
static int decode_full_prefix(const uint8_t *from, size_t length, struct wire_message *message)
{
	if (length < WIRE_PREFIX_SIZE || from[0] != WIRE_MAGIC)
		return -EBADMSG;
	message->compact = false;
	message->version = from[1];
	message->operation = from[2];
	message->flags = from[3] & ((1 << WIRE_ATTEMPT_SHIFT) - 1);
	message->attempt = from[3] >> WIRE_ATTEMPT_SHIFT;
	message->source_nid = load_u32(from + 4);
	message->source_pid = load_u32(from + 8);
	decode_tags(from + 12, message);
	if (message->operation >= WIRE_OPERATION_COUNT || length < full_codecs[message->operation].size)
		return message->version == WIRE_VERSION ? -EBADMSG : -EPROTONOSUPPORT;
	/* A refusal is how versions tell each other apart, so its layout is fixed as the prefix is. */
	if (message->version != WIRE_VERSION && message->operation != WIRE_REFUSED)
		return -EPROTONOSUPPORT;
	return message->flags & ~WIRE_ALL_FLAGS ? -EBADMSG : 0;
}

static int decode_compact_prefix(const uint8_t *from, size_t length, struct wire_message *message)
{
	message->compact = true;
	message->operation = from[1] & ((1 << WIRE_COMPACT_SHIFT) - 1);
	message->flags = from[1] >> WIRE_COMPACT_SHIFT;
	if (message->operation >= WIRE_COMPACT_COUNT || length < compact_codecs[message->operation].size)
		return -EBADMSG;
	decode_tags(from + 2, message);
	return 0;
}

/* Lengths that the compact form leaves to the body. */
static void set_length(struct wire_message *message, enum wire_body body)
{
	if (body == BODY_LENGTH)
		message->length = message->body_length;
	else if (body == BODY_MLENGTH)
		message->mlength = message->body_length;
}

int wire_decode_apart(const void *header, size_t length, const void *body, size_t body_length,
		      struct wire_message *message)
{
	const uint8_t *from = header;
	bool compact = length > 1 && from[0] == WIRE_MAGIC_COMPACT;
	int rc = (compact ? decode_compact_prefix : decode_full_prefix)(from, length, message);

	if (rc)
		return rc;
	const struct codec *codec = &(compact ? compact_codecs : full_codecs)[message->operation];

	message->body = codec->decode(from + (compact ? WIRE_COMPACT_SIZE : WIRE_PREFIX_SIZE), message);
	message->body_length = length - codec->size;
	if (body && message->body_length > 0)
		return -EBADMSG;
	if (body) {
		message->body = body;
		message->body_length = body_length;
	}
	if (compact)
		set_length(message, codec->body);
	return body_fits(message, codec->body) ? 0 : -EBADMSG;
}

int wire_decode(const void *bytes, size_t length, struct wire_message *message)
{
	return wire_decode_apart(bytes, length, NULL, 0, message);
}

bool wire_names_segments(const void *header, size_t length)
{
	const uint8_t *from = header;

	if (length < WIRE_COMPACT_SIZE)
		return false;
	unsigned operation = from[0] == WIRE_MAGIC_COMPACT ? from[1] & ((1 << WIRE_COMPACT_SHIFT) - 1) : from[2];

	return operation < WIRE_OPERATION_COUNT && full_codecs[operation].body == BODY_SEGMENTS;
}

size_t wire_header_size(enum wire_operation operation, bool compact)
{
	return compact ? compact_codecs[operation].size : full_codecs[operation].size;
}

const char *wire_operation_name(enum wire_operation operation)
{
	return operation < WIRE_OPERATION_COUNT ? full_codecs[operation].name : "unknown";
}
