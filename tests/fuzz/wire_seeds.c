/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the corpus fuzz_wire starts from into a directory: valid messages of every operation in every form, one file
 * each.
 */
#include "offload/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void save(const char *directory, const struct wire_message *message, unsigned variant, const uint8_t *bytes,
		 size_t length)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s-%u%s", directory,
		 wire_operation_name((enum wire_operation)message->operation), variant,
		 message->compact ? "-compact" : "");
	FILE *file = fopen(path, "wb");
	if (file == NULL || fwrite(bytes, 1, length, file) != length || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

/* A message whose every field has bytes of its own, so that a mutation of any of them shows. */
static struct wire_message example(unsigned operation, unsigned body)
{
	return (struct wire_message){
		.operation = (uint8_t)operation,
		.flags = operation == WIRE_PUT ? WIRE_WANTS_ACK : 0,
		.source_nid = 0x7f000001,
		.source_pid = 0x01020304,
		.source_tag = 0x0506,
		.target_tag = 0x0708,
		.token = 0x090a0b0c,
		.pt_index = 4,
		.ac_index = 1,
		.match_bits = 0x1112131415161718,
		.offset = 0x2122232425262728,
		.length = body,
		.mlength = body,
		.hdr_data = 0x3132333435363738,
		.reply_token = 0x41424344,
		.said = 0x45464748,
		.wanted_nid = 0x7f000002,
		.wanted_pid = 0x51525354,
		.uid = 1000,
		.jid = 77,
		.incarnation_high = 0x6162636465666768,
		.incarnation_low = 0x7172737475767778,
		.attempt = 1,
		.abilities = WIRE_HAS_NIC_THREAD,
		.reason = REFUSED_VERSION,
		.their_version = WIRE_VERSION + 1,
	};
}

/* Segments for `length` bytes, as many as there may be. */
static unsigned cut(struct wire_segment *segments, uint64_t length)
{
	unsigned count = 0;

	for (; count < WIRE_MAX_SEGMENTS && length > 0; count++) {
		segments[count] = (struct wire_segment){0x10000 + count, ~(uint64_t)count, 1};
		length--;
	}
	if (count > 0)
		segments[count - 1].length += length;
	return count;
}

static void write_seed(const char *directory, unsigned operation, bool compact, unsigned body)
{
	static uint8_t bytes[WIRE_MAX_HEADER + WIRE_MAX_SEGMENTS * WIRE_SEGMENT_SIZE];
	static struct wire_segment segments[WIRE_MAX_SEGMENTS];
	struct wire_message message = example(operation, body);

	message.compact = compact;
	message.segment_count = (uint16_t)cut(segments, body);
	size_t length = wire_encode(&message, bytes);
	if (operation == WIRE_PUT_LONG || operation == WIRE_REPLY_LONG) {
		length += wire_encode_segments(segments, message.segment_count, bytes + length);
	} else if (operation == WIRE_PUT || operation == WIRE_GETPUT || operation == WIRE_REPLY) {
		memset(bytes + length, 0x5a, body);
		length += body;
	}
	if (wire_decode(bytes, length, &message) != 0) {
		fprintf(stderr, "%s with %u bytes does not decode\n", wire_operation_name(operation), body);
		exit(1);
	}
	save(directory, &message, body, bytes, length);
}

int main(int argc, char **argv)
{
	static const unsigned bodies[] = {0, 2, WIRE_SWAP_MAX};

	if (argc != 2)
		return fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]), 2;
	for (unsigned operation = 0; operation < WIRE_OPERATION_COUNT; operation++)
		for (unsigned i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
			write_seed(argv[1], operation, false, bodies[i]);
			if (operation < WIRE_COMPACT_COUNT)
				write_seed(argv[1], operation, true, bodies[i]);
		}
	return 0;
}
