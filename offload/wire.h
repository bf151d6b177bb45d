/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What travels between NICs.  This file and wire.c are the only places that know the layout: little-endian, packed,
 * a prefix, then the fields of the operation in the order of its list below, then payload or segments.  wire_decode()
 * reads every message; wire_read_line() reads two kinds of one line faster.  Whatever they accept is consistent in
 * itself (lengths add up, indexes fit), and both accept or refuse any bytes without reading past them.
 *
 * There are two forms.  The prefix of the full form has 20 bytes, never changes between versions, and names the sender.
 * The compact form is for transports that vouch for the sender (limits.compact), and for what belongs to a
 * conversation: its prefix of 10 bytes names no process, its lengths of payload are the payload's, and its indexes are
 * one byte, so that the header of a put has 36 bytes.
 *
 * Both prefixes carry two tags: a random number for this conversation that each side chose when first contact was made
 * (peer.c).  A message whose tags do not fit belongs to an earlier incarnation of a process.
 */
#ifndef PORTALS_OFFLOAD_WIRE_H
#define PORTALS_OFFLOAD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define WIRE_MAGIC         0xE3
#define WIRE_MAGIC_COMPACT 0xE4
#define WIRE_VERSION       2
#define WIRE_PREFIX_SIZE   20
#define WIRE_COMPACT_SIZE  10 /* the prefix of the compact form */
#define WIRE_SEGMENT_SIZE  24
#define WIRE_MAX_SEGMENTS  256
#define WIRE_MAX_HEADER    64  /* checked in wire.c */
#define WIRE_SWAP_MAX      256 /* most bytes of a getput */

/*
 * F(type, field).  token: whose operation it is at the receiver of a response.  `length` is the requested length,
 * `mlength` what the target moved.  said: see WHAT IS MISSING in peer.c.  pt_index and ac_index saturate, and what they
 * saturate at is out of range everywhere: 0xffff, and 0xff as an `index`.
 */
#define WIRE_REQUEST(F)           F(u16, pt_index) F(u16, ac_index) F(u64, match_bits) F(u64, offset) F(u64, length)
#define WIRE_PUT_FIELDS(F)        WIRE_REQUEST(F) F(u64, hdr_data)
#define WIRE_LONG_FIELDS(F)       WIRE_PUT_FIELDS(F) F(u16, segment_count)
#define WIRE_ACK_FIELDS(F)        F(u64, mlength)
#define WIRE_REPLY_LONG_FIELDS(F) F(u64, mlength) F(u32, reply_token) F(u16, segment_count)
#define WIRE_IDENTITY(F)                                                                                               \
	F(u32, wanted_nid)                                                                                             \
	F(u32, wanted_pid) F(u32, uid) F(u32, jid) F(u64, incarnation_high) F(u64, incarnation_low) F(u16, abilities)
#define WIRE_REFUSAL_FIELDS(F) F(u32, wanted_nid) F(u32, wanted_pid) F(u16, reason) F(u16, their_version)
#define WIRE_COUNT_FIELDS(F)   F(u32, said)
#define WIRE_NO_FIELDS(F)

#define COMPACT_ADDRESS(F)     F(index, pt_index) F(index, ac_index) F(u64, match_bits) F(u64, offset)
#define COMPACT_PUT_FIELDS(F)  COMPACT_ADDRESS(F) F(u64, hdr_data)
#define COMPACT_GET_FIELDS(F)  COMPACT_ADDRESS(F) F(u64, length)
#define COMPACT_LONG_FIELDS(F) COMPACT_PUT_FIELDS(F) F(u64, length) F(u16, segment_count)

enum wire_body { BODY_NONE, BODY_LENGTH, BODY_MLENGTH, BODY_SEGMENTS };

/* X(name, what follows the fields, fields, fields of the compact form) */
#define WIRE_CONVERSATION(X)                                                                                           \
	X(PUT, BODY_LENGTH, WIRE_PUT_FIELDS, COMPACT_PUT_FIELDS)                                                       \
	X(PUT_LONG, BODY_SEGMENTS, WIRE_LONG_FIELDS, COMPACT_LONG_FIELDS)                                              \
	X(GET, BODY_NONE, WIRE_REQUEST, COMPACT_GET_FIELDS)                                                            \
	X(GETPUT, BODY_LENGTH, WIRE_PUT_FIELDS, COMPACT_PUT_FIELDS)                                                    \
	X(ACK, BODY_NONE, WIRE_ACK_FIELDS, WIRE_ACK_FIELDS)                                                            \
	X(REPLY, BODY_MLENGTH, WIRE_ACK_FIELDS, WIRE_NO_FIELDS)                                                        \
	X(REPLY_LONG, BODY_SEGMENTS, WIRE_REPLY_LONG_FIELDS, WIRE_REPLY_LONG_FIELDS)                                   \
	X(SOURCE_FREE, BODY_NONE, WIRE_ACK_FIELDS, WIRE_ACK_FIELDS)                                                    \
	X(DISCARDED, BODY_NONE, WIRE_NO_FIELDS, WIRE_NO_FIELDS)

/* X(name, what follows the fields, fields): always in full form */
#define WIRE_NOTICES(X)                                                                                                \
	X(HELLO, BODY_NONE, WIRE_IDENTITY)                                                                             \
	X(WELCOME, BODY_NONE, WIRE_IDENTITY)                                                                           \
	X(REFUSED, BODY_NONE, WIRE_REFUSAL_FIELDS)                                                                     \
	X(STALE, BODY_NONE, WIRE_NO_FIELDS)                                                                            \
	X(PING, BODY_NONE, WIRE_COUNT_FIELDS)                                                                          \
	X(PONG, BODY_NONE, WIRE_COUNT_FIELDS)

enum wire_operation {
#define WIRE_ENUM(name, ...) WIRE_##name,
	WIRE_CONVERSATION(WIRE_ENUM) WIRE_NOTICES(WIRE_ENUM)
#undef WIRE_ENUM
		WIRE_OPERATION_COUNT,
	WIRE_COMPACT_COUNT = WIRE_HELLO /* operations before it have a compact form */
};

/* Is it one of those that PING and PONG count? */
static inline bool wire_is_counted(unsigned operation)
{
	return operation < WIRE_COMPACT_COUNT;
}

/* flags: the low bits of a byte whose three high bits say at which of its addresses the sender can be reached */
#define WIRE_WANTS_ACK     1 /* on a put: acknowledge it, or say DISCARDED if no acknowledgement will come */
#define WIRE_ACKED         2 /* on SOURCE_FREE: it is the ACK as well */
#define WIRE_FAILED        4 /* on SOURCE_FREE: the data could not be moved */
#define WIRE_ALL_FLAGS     7
#define WIRE_ATTEMPT_SHIFT 5
#define WIRE_COMPACT_SHIFT 5 /* the compact form has them above the operation, in the same byte */

/* abilities */
#define WIRE_HAS_NIC_THREAD 1 /* answers a PING without help of its application */
#define WIRE_HOLDS          2 /* wants no requests until it says HELLO or WELCOME without this (hold.c) */

enum wire_refusal { REFUSED_WRONG_PROCESS, REFUSED_VERSION };

struct wire_segment {
	uint64_t address, key, length;
};

/* A message as code sees it.  Only the fields of its operation mean anything. */
struct wire_message {
	uint8_t operation, flags;
	bool compact;             /* in which form */
	uint8_t version, attempt; /* these four: of the full form only */
	uint32_t source_nid, source_pid;
	uint16_t source_tag, target_tag;
	uint32_t token;

	uint16_t pt_index, ac_index;
	uint64_t match_bits, offset, length, mlength, hdr_data;
	uint32_t reply_token, said;
	uint16_t segment_count;

	uint32_t wanted_nid, wanted_pid, uid, jid;
	uint64_t incarnation_high, incarnation_low;
	uint16_t abilities, reason, their_version;

	const uint8_t *body; /* decoded messages: payload or segments, in the transport's memory */
	size_t body_length;
};

/*
 * Writes prefix and fields (at most WIRE_MAX_HEADER bytes, no body), in full or compact form, and returns how many
 * bytes.
 */
size_t wire_encode(const struct wire_message *, uint8_t *start);

/* Writes `count` segments behind a header; returns bytes. */
size_t wire_encode_segments(const struct wire_segment *, unsigned count, uint8_t *to);

/*
 * 0; -EBADMSG if the bytes are no message; -EPROTONOSUPPORT if they are one of another version, then only the
 * prefix fields are valid.
 */
int wire_decode(const void *bytes, size_t length, struct wire_message *);

/* The same with the body in another place than behind the header; body NULL: behind it. */
int wire_decode_apart(const void *header, size_t length, const void *body, size_t body_length, struct wire_message *);

/* Is what follows this header a list of segments?  (Else it is the user's data, or nothing.) */
bool wire_names_segments(const void *header, size_t length);

struct wire_segment wire_segment(const struct wire_message *, unsigned index);

/*
 * A put without flags, or a get, in compact form, which begins in registers and goes from there to the receiver's
 * queue: words whose little-endian bytes are four that belong to the transport, then what wire_encode() writes, then
 * the payload, or its beginning.
 */
#define WIRE_LINE_WORDS   7
#define WIRE_LINE_HEADER  36
#define WIRE_LINE_PAYLOAD 16 /* bytes that the words have room for */

struct wire_line {
	uint16_t source_tag, target_tag;
	uint8_t pt_index, ac_index;
	uint32_t token;
	uint64_t match_bits, offset;
	union {
		uint64_t hdr_data; /* of a put */
		uint64_t length;   /* of a get */
	};
};

static inline void wire_write_line(enum wire_operation operation, const struct wire_line *line, const uint8_t *payload,
				   size_t length, uint64_t words[WIRE_LINE_WORDS])
{
	words[0] = (uint64_t)WIRE_MAGIC_COMPACT << 32 | (uint64_t)operation << 40 | (uint64_t)line->source_tag << 48;
	words[1] = line->target_tag | (uint64_t)line->token << 16 | (uint64_t)line->pt_index << 48 |
		   (uint64_t)line->ac_index << 56;
	words[2] = line->match_bits;
	words[3] = line->offset;
	words[4] = line->hdr_data;
	if (length == sizeof(uint64_t) || length >= WIRE_LINE_PAYLOAD) {
		words[5] = load_u64(payload);
		words[6] = length >= WIRE_LINE_PAYLOAD ? load_u64(payload + sizeof(uint64_t)) : 0;
		return;
	}
	uint8_t padded[WIRE_LINE_PAYLOAD] = {0};

	if (length > 0) /* else there may be no payload to point at */
		memcpy(padded, payload, length);
	words[5] = load_u64(padded);
	words[6] = load_u64(padded + sizeof(uint64_t));
}

/*
 * The same from where it arrived.  False: it is something else, or no message at all.  Any payload, at
 * bytes + WIRE_LINE_HEADER.
 */
static inline bool wire_read_line(const uint8_t *bytes, size_t length, enum wire_operation operation,
				  struct wire_line *line)
{
	if (length < WIRE_LINE_HEADER || bytes[0] != WIRE_MAGIC_COMPACT || bytes[1] != operation ||
	    (operation == WIRE_GET && length != WIRE_LINE_HEADER))
		return false;
	line->source_tag = load_u16(bytes + 2);
	line->target_tag = load_u16(bytes + 4);
	line->token = load_u32(bytes + 6);
	line->pt_index = bytes[10];
	line->ac_index = bytes[11];
	line->match_bits = load_u64(bytes + 12);
	line->offset = load_u64(bytes + 20);
	line->hdr_data = load_u64(bytes + 28);
	return true;
}

/* A reply in compact form, as wire_write_line() writes a put. */
#define WIRE_REPLY_PAYLOAD 42 /* bytes that the words have room for */

static inline void wire_write_reply(uint16_t source_tag, uint16_t target_tag, uint32_t token, const uint8_t *payload,
				    size_t length, uint64_t words[WIRE_LINE_WORDS])
{
	uint8_t padded[6 + WIRE_REPLY_PAYLOAD] = {0}; /* behind the first word */

	if (length > 0)
		/* cppcheck-suppress nullPointer ; NULL only where there are no bytes */
		memcpy(padded + 6, payload, length < WIRE_REPLY_PAYLOAD ? length : WIRE_REPLY_PAYLOAD);
	words[0] = (uint64_t)WIRE_MAGIC_COMPACT << 32 | (uint64_t)WIRE_REPLY << 40 | (uint64_t)source_tag << 48;
	words[1] = target_tag | (uint64_t)token << 16 | load_u64(padded);
	for (unsigned i = 2; i < WIRE_LINE_WORDS; i++)
		words[i] = load_u64(padded + (i - 1) * sizeof(uint64_t));
}

/* Size of a message's prefix and fields. */
size_t wire_header_size(enum wire_operation, bool compact);
const char *wire_operation_name(enum wire_operation);

#endif
