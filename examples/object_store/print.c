/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

#define SHOWN_FROM (8u << 20) /* bytes: less is there at once */

/* Names may be any bytes: printable ASCII is shown as it is, the rest as \u00XX, which is what JSON and people can read. */
static void print_escaped(const void *bytes, size_t length)
{
	const unsigned char *next = bytes;
	for (size_t i = 0; i < length; i++) {
		if (next[i] == '"' || next[i] == '\\')
			printf("\\%c", next[i]);
		else if (next[i] >= ' ' && next[i] < 127)
			putchar(next[i]);
		else
			printf("\\u%04x", next[i]);
	}
}

void print_json_string(const void *bytes, size_t length)
{
	putchar('"');
	print_escaped(bytes, length);
	putchar('"');
}

static void print_hex(const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		printf("%02x", ((const unsigned char *)bytes)[i]);
}

static void print_name(struct object_name name)
{
	printf("\"name\": ");
	print_json_string(name.bytes, name.length);
	printf(", \"name_hex\": \"");
	print_hex(name.bytes, name.length);
	printf("\"");
}

void print_object(const struct object_about *about, bool json)
{
	char when[32];
	time_t changed = (time_t)about->changed;
	struct tm parts;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&changed, &parts));
	if (!json) {
		printf("%12" PRIu64 "  %08x  %6u  %s  ", about->size, about->crc, about->uid, when);
		print_escaped(about->name.bytes, about->name.length);
		putchar('\n');
		return;
	}
	putchar('{');
	print_name(about->name);
	printf(", \"size\": %" PRIu64 ", \"crc32c\": \"%08x\", \"uid\": %u, \"changed\": \"%s\"}", about->size,
	       about->crc, about->uid, when);
}

void print_changed(const char *what, struct object_name name, const struct object_id *id, bool json)
{
	if (!json)
		return; /* no news is good news */
	printf("{\"%s\": true, ", what);
	print_name(name);
	printf(", \"id\": \"");
	print_hex(id, sizeof(*id));
	printf("\"}\n");
}

void print_progress(void *context, uint64_t moved, uint64_t size)
{
	static unsigned shown;
	static const char bar[] = "########################################";
	unsigned percent = (unsigned)(moved * 100 / size);
	(void)context;
	if (size < SHOWN_FROM || percent == shown || !isatty(STDERR_FILENO))
		return;
	shown = percent;
	fprintf(stderr, "\r[%-40.*s] %3u%% of %" PRIu64 " MiB%s", (int)percent * 40 / 100, bar, percent, size >> 20,
		moved == size ? "\n" : "");
}
