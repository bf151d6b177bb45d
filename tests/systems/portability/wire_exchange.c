/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kind of message as text, written by one build of the library and read by another: of another byte order, another
 * C library, or another time.
 *
 *     wire_exchange write             to standard output: a line a message, NAME FORM SHAPE BYTES-IN-HEX
 *     wire_exchange read < MESSAGES   decodes and compares every field, payload and segments included
 *     wire_exchange recorded FILE     both: FILE reads well, and is to the byte what this build writes
 *
 * wire_messages.txt, beside this file, is what processes of this WIRE_VERSION have always said.  A change of the format that
 * is meant raises WIRE_VERSION and records it anew.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/wire.h"

enum { PAYLOAD_MAX = WIRE_SWAP_MAX, BODY_MAX = WIRE_MAX_SEGMENTS * WIRE_SEGMENT_SIZE };
enum { MESSAGE_MAX = WIRE_MAX_HEADER + BODY_MAX, LINE_MAX_LENGTH = 2 * MESSAGE_MAX + 128 };

/*
 * How the fields are filled: all bits zero, all bits one, or with what follows from the field's name, so that two fields
 * which change places are noticed.
 */
enum shape { LEAST, GREATEST, NAMED, SHAPES };
static const char *const shape_names[SHAPES] = {"least", "greatest", "named"};

static const enum wire_body bodies[WIRE_OPERATION_COUNT] = {
#define BODY_ROW(name, body, ...) [WIRE_##name] = body,
	WIRE_CONVERSATION(BODY_ROW) WIRE_NOTICES(BODY_ROW)};

struct example {
	enum shape shape;
	struct wire_message message;
	struct wire_segment segments[WIRE_MAX_SEGMENTS];
	uint8_t payload[PAYLOAD_MAX];
};

static char name_of_line[64] = "?";

static _Noreturn void __attribute__((format(printf, 1, 2))) complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "wire_exchange: %s: ", name_of_line);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

/* --- making --- */

/* FNV-1a, of the name and of which of several it is. */
static uint64_t hash(const char *name, unsigned number)
{
	uint64_t value = (UINT64_C(0xcbf29ce484222325) ^ number) * UINT64_C(0x100000001b3);

	while (*name)
		value = (value ^ (uint8_t)*name++) * UINT64_C(0x100000001b3);
	return value;
}

static uint64_t bytes(const struct example *example, unsigned size, const char *name, unsigned number)
{
	const uint64_t values[SHAPES] = {[LEAST] = 0, [GREATEST] = UINT64_MAX, [NAMED] = hash(name, number)};

	return values[example->shape] >> (64 - 8 * size);
}

#define make_u16(example, name) (uint16_t) bytes(example, 2, name, 0)
#define make_u32(example, name) (uint32_t) bytes(example, 4, name, 0)
#define make_u64(example, name) bytes(example, 8, name, 0)

/* One byte on the wire, and that all of its bits are set means "none". */
static uint16_t make_index(const struct example *example, const char *name)
{
	uint64_t value = bytes(example, 1, name, 0);

	return value < UINT8_MAX ? (uint16_t)value : UINT16_MAX;
}

#define MAKE(type, field) message->field = make_##type(example, #field);
#define MAKE_FULL(name, body, fields, ...)                                                                             \
	if (message->operation == WIRE_##name) {                                                                       \
		fields(MAKE)                                                                                           \
	}
#define MAKE_COMPACT(name, body, full, fields) MAKE_FULL(name, body, fields)

static void make_fields(struct example *example)
{
	struct wire_message *message = &example->message;

	message->flags = example->shape == LEAST ? 0 : example->shape == GREATEST ? WIRE_ALL_FLAGS : WIRE_ACKED;
	MAKE(u16, source_tag)
	MAKE(u16, target_tag)
	MAKE(u32, token)
	if (message->compact) {
		WIRE_CONVERSATION(MAKE_COMPACT)
		return;
	}
	message->version = WIRE_VERSION;
	message->attempt = example->shape == LEAST ? 0 : example->shape == GREATEST ? 7 : 5;
	MAKE(u32, source_nid)
	MAKE(u32, source_pid)
	WIRE_CONVERSATION(MAKE_FULL)
	WIRE_NOTICES(MAKE_FULL)
}

/* None, two, or as many as there may be; together as long as can be. */
static void make_segments(struct example *example)
{
	struct wire_message *message = &example->message;
	unsigned count = example->shape == LEAST   ? 0
			 : example->shape == NAMED ? 2
			 : message->compact        ? WIRE_MAX_SEGMENTS
						   : 3;
	uint64_t total = 0;

	for (unsigned i = 0; i < count; i++) {
		struct wire_segment *segment = &example->segments[i];

		*segment = (struct wire_segment){bytes(example, 8, "address", i), bytes(example, 8, "key", i),
						 bytes(example, 6, "length", i)};
		if (example->shape == GREATEST && i + 1 == count)
			segment->length = UINT64_MAX - total;
		total += segment->length;
	}
	message->segment_count = (uint16_t)count;
	message->length = message->mlength = total;
}

static void make(struct example *example, enum wire_operation operation, bool compact, enum shape shape)
{
	static const size_t lengths[SHAPES] = {[LEAST] = 0, [GREATEST] = PAYLOAD_MAX, [NAMED] = 5};
	struct wire_message *message = &example->message;

	*example = (struct example){.shape = shape, .message = {.operation = (uint8_t)operation, .compact = compact}};
	make_fields(example);
	if (bodies[operation] == BODY_SEGMENTS)
		make_segments(example);
	if (bodies[operation] != BODY_LENGTH && bodies[operation] != BODY_MLENGTH)
		return;
	message->length = message->mlength = lengths[shape];
	for (size_t i = 0; i < lengths[shape]; i++)
		example->payload[i] = (uint8_t)bytes(example, 1, "payload", (unsigned)i);
}

static size_t encode(const struct example *example, uint8_t *to)
{
	const struct wire_message *message = &example->message;
	size_t length = wire_encode(message, to);

	if (bodies[message->operation] == BODY_SEGMENTS)
		return length + wire_encode_segments(example->segments, message->segment_count, to + length);
	if (bodies[message->operation] == BODY_NONE)
		return length;
	memcpy(to + length, example->payload, message->length);
	return length + message->length;
}

/* Also says what the recorded file is. */
static const char heading[] = "# SPDX-License-Identifier: BSD-3-Clause\n"
			      "# Written by wire_exchange.c: every kind of message, byte for byte.\n";

/* Calls `act` for every message there is, in the order in which they are written. */
static void for_each(void (*act)(const struct example *, void *), void *context)
{
	static struct example example;

	for (unsigned operation = 0; operation < WIRE_OPERATION_COUNT; operation++)
		for (unsigned compact = 0; compact < (operation < WIRE_COMPACT_COUNT ? 2 : 1); compact++)
			for (unsigned shape = 0; shape < SHAPES; shape++) {
				make(&example, operation, compact, shape);
				snprintf(name_of_line, sizeof(name_of_line), "%s %s %s", wire_operation_name(operation),
					 compact ? "compact" : "full", shape_names[shape]);
				act(&example, context);
			}
}

static void write_line(const struct example *example, void *to)
{
	uint8_t message[MESSAGE_MAX];
	size_t length = encode(example, message);

	fprintf(to, "%s ", name_of_line);
	for (size_t i = 0; i < length; i++)
		fprintf(to, "%02x", message[i]);
	fputc('\n', to);
}

static void write_all(FILE *to)
{
	fputs(heading, to);
	for_each(write_line, to);
}

/* --- reading --- */

static unsigned compared;

static void same(const char *field, uint64_t read, uint64_t expected)
{
	compared++;
	if (read != expected)
		complain("%s is %#llx, should be %#llx", field, (unsigned long long)read, (unsigned long long)expected);
}

#define SAME(type, field) same(#field, read->field, expected->field);
#define SAME_FULL(name, body, fields, ...)                                                                             \
	if (expected->operation == WIRE_##name) {                                                                      \
		fields(SAME)                                                                                           \
	}
#define SAME_COMPACT(name, body, full, fields) SAME_FULL(name, body, fields)

static void compare_fields(const struct wire_message *read, const struct wire_message *expected)
{
	SAME(u8, operation)
	SAME(bool, compact)
	SAME(u8, flags)
	SAME(u16, source_tag)
	SAME(u16, target_tag)
	SAME(u32, token)
	if (expected->compact) {
		WIRE_CONVERSATION(SAME_COMPACT)
		return;
	}
	SAME(u8, version)
	SAME(u8, attempt)
	SAME(u32, source_nid)
	SAME(u32, source_pid)
	WIRE_CONVERSATION(SAME_FULL)
	WIRE_NOTICES(SAME_FULL)
}

static void compare_body(const struct wire_message *read, const struct example *example)
{
	const struct wire_message *expected = &example->message;
	enum wire_body body = bodies[expected->operation];

	if (body == BODY_LENGTH)
		SAME(u64, length)
	if (body == BODY_MLENGTH)
		SAME(u64, mlength)
	if (body == BODY_NONE)
		same("length of the body", read->body_length, 0);
	if (body == BODY_LENGTH || body == BODY_MLENGTH) {
		same("length of the payload", read->body_length, expected->length);
		for (size_t i = 0; i < expected->length; i++)
			same("a byte of the payload", read->body[i], example->payload[i]);
	}
	for (unsigned i = 0; body == BODY_SEGMENTS && i < expected->segment_count; i++) {
		struct wire_segment segment = wire_segment(read, i);

		same("the address of a segment", segment.address, example->segments[i].address);
		same("the key of a segment", segment.key, example->segments[i].key);
		same("the length of a segment", segment.length, example->segments[i].length);
	}
}

static unsigned digit(char c)
{
	const char digits[] = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	if (!at)
		complain("0x%02x is no hexadecimal digit", (unsigned char)c);
	return (unsigned)(at - digits);
}

static void read_line(const struct example *example, void *from)
{
	static char line[LINE_MAX_LENGTH];
	static uint8_t message[MESSAGE_MAX];
	struct wire_message read;
	size_t name_length = strlen(name_of_line), length = 0;

	do
		if (!fgets(line, sizeof(line), from))
			complain("there is no such line");
	while (line[0] == '#');
	line[strcspn(line, "\n")] = 0;
	if (strncmp(line, name_of_line, name_length) != 0 || line[name_length] != ' ')
		complain("the line begins with \"%.40s\"", line);
	for (const char *at = line + name_length + 1; *at && length < sizeof(message); at += 2)
		message[length++] = (uint8_t)(digit(at[0]) << 4 | digit(at[1]));
	int rc = wire_decode(message, length, &read);

	if (rc)
		complain("%zu bytes are refused (%d)", length, rc);
	compare_fields(&read, &example->message);
	compare_body(&read, example);
}

static void read_all(FILE *from)
{
	for_each(read_line, from);
	if (fgetc(from) != EOF)
		complain("there are more lines behind it");
	printf("%u fields and bytes are what was meant\n", compared);
}

/* --- the recorded ones --- */

static void compare_recorded(FILE *recorded)
{
	char *text;
	size_t length;
	FILE *written = open_memstream(&text, &length);

	write_all(written);
	fclose(written);
	snprintf(name_of_line, sizeof(name_of_line), "recorded");
	for (size_t i = 0; i < length; i++)
		if (fgetc(recorded) != text[i])
			complain("byte %zu of the file is not what this build writes", i);
	free(text);
}

int main(int argc, char **argv)
{
	FILE *file;

	if (argc == 2 && strcmp(argv[1], "write") == 0) {
		write_all(stdout);
		return fflush(stdout) == 0 ? 0 : 1;
	}
	if (argc == 2 && strcmp(argv[1], "read") == 0) {
		read_all(stdin);
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "recorded") != 0 || !(file = fopen(argv[2], "r"))) {
		fprintf(stderr, "usage: wire_exchange write | read | recorded FILE\n");
		return 2;
	}
	read_all(file);
	rewind(file);
	compare_recorded(file);
	fclose(file);
	return 0;
}
