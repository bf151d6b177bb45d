/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What travels between NICs.  This file and wire.c are the only places that know the layout: little-endian, packed,
 * a 20-byte prefix that never changes between versions, then the fields of the operation in the order of its list
 * below, then payload or segments.  wire_decode() is the only code that looks at raw bytes; whatever it accepts is
 * consistent in itself (lengths add up, indexes fit), and it accepts or refuses any bytes without reading past them.
 *
 * The prefix names the sender and two tags: a random number for this conversation that each side chose when first
 * contact was made (peer.c).  A message whose tags do not fit belongs to an earlier incarnation of somebody.
 */
#ifndef PORTALS_OFFLOAD_WIRE_H
#define PORTALS_OFFLOAD_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC        0xE3
#define WIRE_VERSION      1
#define WIRE_PREFIX_SIZE  20
#define WIRE_SEGMENT_SIZE 24
#define WIRE_MAX_SEGMENTS 256
#define WIRE_MAX_HEADER   64  /* checked in wire.c */
#define WIRE_SWAP_MAX     256 /* most bytes of a getput */

/*
 * F(type, field).  token: whose operation it is at the receiver of a response.  `length` is the requested length,
 * `mlength` what the target moved.  pt_index and ac_index saturate: 0xffff is out of range everywhere.
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
#define WIRE_NO_FIELDS(F)

enum wire_body { BODY_NONE, BODY_LENGTH, BODY_MLENGTH, BODY_SEGMENTS };

/* X(name, fields, what follows the fields) */
#define WIRE_OPERATIONS(X)                                                                                             \
	X(PUT, WIRE_PUT_FIELDS, BODY_LENGTH)                                                                           \
	X(PUT_LONG, WIRE_LONG_FIELDS, BODY_SEGMENTS)                                                                   \
	X(GET, WIRE_REQUEST, BODY_NONE)                                                                                \
	X(GETPUT, WIRE_PUT_FIELDS, BODY_LENGTH)                                                                        \
	X(ACK, WIRE_ACK_FIELDS, BODY_NONE)                                                                             \
	X(REPLY, WIRE_ACK_FIELDS, BODY_MLENGTH)                                                                        \
	X(REPLY_LONG, WIRE_REPLY_LONG_FIELDS, BODY_SEGMENTS)                                                           \
	X(SOURCE_FREE, WIRE_ACK_FIELDS, BODY_NONE)                                                                     \
	X(DISCARDED, WIRE_NO_FIELDS, BODY_NONE)                                                                        \
	X(HELLO, WIRE_IDENTITY, BODY_NONE)                                                                             \
	X(WELCOME, WIRE_IDENTITY, BODY_NONE)                                                                           \
	X(REFUSED, WIRE_REFUSAL_FIELDS, BODY_NONE)                                                                     \
	X(STALE, WIRE_NO_FIELDS, BODY_NONE)                                                                            \
	X(PING, WIRE_NO_FIELDS, BODY_NONE)                                                                             \
	X(PONG, WIRE_NO_FIELDS, BODY_NONE)

enum wire_operation {
#define WIRE_ENUM(name, fields, body) WIRE_##name,
	WIRE_OPERATIONS(WIRE_ENUM)
#undef WIRE_ENUM
		WIRE_OPERATION_COUNT
};

/* flags: the low bits of a byte whose three high bits say at which of its addresses the sender can be reached */
#define WIRE_WANTS_ACK     1 /* on a put: acknowledge it, or say DISCARDED if no acknowledgement will come */
#define WIRE_ACKED         2 /* on SOURCE_FREE: it is the ACK as well */
#define WIRE_FAILED        4 /* on SOURCE_FREE: the data could not be moved */
#define WIRE_ALL_FLAGS     7
#define WIRE_ATTEMPT_SHIFT 5

/* abilities */
#define WIRE_HAS_NIC_THREAD 1 /* answers a PING without help of its application */

enum wire_refusal { REFUSED_WRONG_PROCESS, REFUSED_VERSION };

struct wire_segment {
	uint64_t address, key, length;
};

/* A message as code sees it.  Only the fields of its operation mean anything. */
struct wire_message {
	uint8_t operation, flags, version, attempt;
	uint32_t source_nid, source_pid;
	uint16_t source_tag, target_tag;
	uint32_t token;

	uint16_t pt_index, ac_index;
	uint64_t match_bits, offset, length, mlength, hdr_data;
	uint32_t reply_token;
	uint16_t segment_count;

	uint32_t wanted_nid, wanted_pid, uid, jid;
	uint64_t incarnation_high, incarnation_low;
	uint16_t abilities, reason, their_version;

	const uint8_t *body; /* decoded messages: payload or segments, in the transport's memory */
	size_t body_length;
};

/* Writes prefix and fields (at most WIRE_MAX_HEADER bytes, no body) and returns how many bytes. */
size_t wire_encode(const struct wire_message *, uint8_t *to);

/* Writes `count` segments behind a header; returns bytes. */
size_t wire_encode_segments(const struct wire_segment *, unsigned count, uint8_t *to);

/*
 * 0; -EBADMSG if the bytes are no message; -EPROTONOSUPPORT if they are one of another version, then only the
 * prefix fields are valid.
 */
int wire_decode(const void *bytes, size_t length, struct wire_message *);

struct wire_segment wire_segment(const struct wire_message *, unsigned index);

/* Size of a message's prefix and fields. */
size_t wire_header_size(enum wire_operation);
const char *wire_operation_name(enum wire_operation);

#endif
