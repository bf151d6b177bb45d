/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning file, in JSON, of which this is all that can be in it.
 *
 *   {
 *     "portals3-tuning": 2,
 *     "version": "0.1.0",
 *     "cpu": "AMD EPYC",
 *     "node": [
 *       {"from": 65536, "way": "staged", "ns": {"cross-memory": 8100, "split": 5200, "staged": 2600}}
 *     ],
 *     "short": {"node": 8192, "ofi:tcp": 16128}
 *   }
 *
 * `node` is what node_choice.c measures: `from` is the shortest length of a class, a power of two; a figure that is missing is not
 * known; a way that the file leaves out, or calls "measured", is measured as if there were no file.  `short` has the largest
 * payload that a transport sends with its header.
 */
#include <stdio.h>
#include <string.h>

#include "transports/tuning_text.h"

#define NUMBER_MAX UINT32_MAX

_Static_assert(TUNING_TEXT_MAX == 128 && NUMBER_MAX == UINT32_MAX && NODE_CLASS_SHIFT == 12 && NODE_CLASSES == 11 &&
		       TUNING_NAME_MAX == 64 && TUNING_SHORTS == 12,
	       "what is said about files has these numbers");

const char *const tuning_way_names[NODE_WAYS] = {
	[NODE_UNCHOSEN] = "measured", [NODE_ALONE] = "cross-memory", [NODE_SPLIT] = "split", [NODE_STAGED] = "staged"};

/* --- JSON, as much of it as is needed --- */

struct reader {
	const char *at;
	const char *error; /* what is wrong at `at`; NULL: nothing yet */
};

static bool wrong(struct reader *reader, const char *error)
{
	if (!reader->error)
		reader->error = error;
	return false;
}

static char peek(struct reader *reader)
{
	reader->at += strspn(reader->at, " \t\r\n");
	return *reader->at;
}

static bool take(struct reader *reader, char wanted)
{
	if (peek(reader) != wanted)
		return false;
	reader->at++;
	return true;
}

static bool read_string(struct reader *reader, char text[TUNING_TEXT_MAX])
{
	if (!take(reader, '"'))
		return wrong(reader, "a string is wanted");
	size_t length = strcspn(reader->at, "\"\\\n");

	if (reader->at[length] != '"' || length >= TUNING_TEXT_MAX)
		return wrong(reader, "a string without escapes, of less than 128 bytes, is wanted");
	memcpy(text, reader->at, length);
	text[length] = '\0';
	reader->at += length + 1;
	return true;
}

static bool read_number(struct reader *reader, uint64_t *number)
{
	if (peek(reader) < '0' || *reader->at > '9')
		return wrong(reader, "a number is wanted");
	for (*number = 0; *reader->at >= '0' && *reader->at <= '9'; reader->at++)
		if ((*number = *number * 10 + (uint64_t)(*reader->at - '0')) > NUMBER_MAX)
			return wrong(reader, "a number below 2^32 is wanted");
	return true;
}

typedef bool (*member_function)(struct reader *, const char *key, void *to);

static bool read_object(struct reader *reader, member_function member, void *to)
{
	char key[TUNING_TEXT_MAX] = "";

	if (!take(reader, '{'))
		return wrong(reader, "{ is wanted");
	if (take(reader, '}'))
		return true;
	do {
		if (!read_string(reader, key))
			return false;
		if (!take(reader, ':'))
			return wrong(reader, ": is wanted");
		if (!member(reader, key, to))
			return false;
	} while (take(reader, ','));
	return take(reader, '}') || wrong(reader, ", or } is wanted");
}

/* --- what the file says --- */

static bool read_way(struct reader *reader, const char *name, enum node_way *way)
{
	for (*way = NODE_UNCHOSEN; *way < NODE_WAYS; (*way)++)
		if (strcmp(name, tuning_way_names[*way]) == 0)
			return true;
	return wrong(reader, "there is no such way: cross-memory, split, staged, measured");
}

static bool read_figure(struct reader *reader, const char *key, void *to)
{
	enum node_way way;
	uint64_t ns;

	if (!read_way(reader, key, &way) || !read_number(reader, &ns))
		return false;
	((uint32_t *)to)[way] = (uint32_t)ns;
	return true;
}

struct row {
	uint64_t from;
	struct node_figures figures;
};

static bool read_row_member(struct reader *reader, const char *key, void *to)
{
	struct row *row = to;
	char name[TUNING_TEXT_MAX];

	if (strcmp(key, "from") == 0)
		return read_number(reader, &row->from);
	if (strcmp(key, "way") == 0)
		return read_string(reader, name) && read_way(reader, name, &row->figures.way);
	if (strcmp(key, "ns") == 0)
		return read_object(reader, read_figure, row->figures.ns);
	return wrong(reader, "\"from\", \"way\" or \"ns\" is wanted before this");
}

static bool read_row(struct reader *reader, struct tuning_file *file)
{
	struct row row = {0};

	if (!read_object(reader, read_row_member, &row))
		return false;
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		if (node_class_length(class) != row.from)
			continue;
		file->tuning.node[class] = row.figures;
		return true;
	}
	return wrong(reader, "\"from\" has to be a power of two from 4096 to 4194304");
}

static bool read_rows(struct reader *reader, struct tuning_file *file)
{
	if (!take(reader, '['))
		return wrong(reader, "[ is wanted");
	if (take(reader, ']'))
		return true;
	do {
		if (!read_row(reader, file))
			return false;
	} while (take(reader, ','));
	return take(reader, ']') || wrong(reader, ", or ] is wanted");
}

static bool read_short(struct reader *reader, const char *key, void *to)
{
	uint64_t bytes;

	if (!*key || strlen(key) >= TUNING_NAME_MAX)
		return wrong(reader, "the name of a transport has 1 to 63 bytes");
	if (!read_number(reader, &bytes))
		return false;
	uint32_t *place = tuning_short(to, key);

	if (!place)
		return wrong(reader, "there are more than 12 transports");
	*place = (uint32_t)bytes;
	return true;
}

static bool read_member(struct reader *reader, const char *key, void *to)
{
	struct tuning_file *file = to;

	if (strcmp(key, TUNING_KEY) == 0)
		return read_number(reader, &file->format);
	if (strcmp(key, "version") == 0)
		return read_string(reader, file->version);
	if (strcmp(key, "cpu") == 0)
		return read_string(reader, file->cpu);
	if (strcmp(key, "node") == 0)
		return read_rows(reader, file);
	if (strcmp(key, "short") == 0)
		return read_object(reader, read_short, &file->tuning);
	return wrong(reader, "\"" TUNING_KEY "\", \"version\", \"cpu\", \"node\" or \"short\" is wanted before this");
}

static unsigned line_of(const char *text, const char *at)
{
	unsigned line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

bool tuning_parse(struct tuning_file *file, const char *text, char *why, size_t size)
{
	struct reader reader = {.at = text};

	*file = (struct tuning_file){0};
	if (read_object(&reader, read_member, file) &&
	    (peek(&reader) == '\0' || wrong(&reader, "something follows the end")))
		return true;
	snprintf(why, size, "line %u: %s", line_of(text, reader.at), reader.error);
	return false;
}

/* --- writing --- */

bool tuning_any_chosen(const struct tuning *tuning)
{
	for (unsigned class = 0; class < NODE_CLASSES; class ++)
		if (tuning->node[class].way != NODE_UNCHOSEN)
			return true;
	return false;
}

static void write_row(FILE *file, const struct node_figures *figures, unsigned class, bool first)
{
	const char *separator = "";

	fprintf(file, "%s\n    {\"from\": %llu, \"way\": \"%s\", \"ns\": {", first ? "" : ",",
		(unsigned long long)node_class_length(class), tuning_way_names[figures->way]);
	for (enum node_way way = NODE_ALONE; way < NODE_WAYS; way++) {
		if (!figures->ns[way])
			continue;
		fprintf(file, "%s\"%s\": %u", separator, tuning_way_names[way], figures->ns[way]);
		separator = ", ";
	}
	fprintf(file, "}}");
}

static void write_rows(FILE *file, const struct tuning *tuning)
{
	bool first = true;

	fprintf(file, ",\n  \"node\": [");
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		if (tuning->node[class].way == NODE_UNCHOSEN)
			continue;
		write_row(file, &tuning->node[class], class, first);
		first = false;
	}
	fprintf(file, "\n  ]");
}

static void write_shorts(FILE *file, const struct tuning *tuning)
{
	fprintf(file, ",\n  \"short\": {");
	for (unsigned i = 0; i < tuning->short_count; i++)
		fprintf(file, "%s\"%s\": %u", i ? ", " : "", tuning->shorts[i].transport, tuning->shorts[i].bytes);
	fprintf(file, "}");
}

void tuning_print(FILE *file, const struct tuning *tuning, const char *cpu)
{
	fprintf(file, "{\n  \"" TUNING_KEY "\": %d,\n  \"version\": \"%s\",\n  \"cpu\": \"%s\"", TUNING_FORMAT,
		PORTALS_VERSION, cpu);
	if (tuning_any_chosen(tuning))
		write_rows(file, tuning);
	if (tuning->short_count > 0)
		write_shorts(file, tuning);
	fprintf(file, "\n}\n");
}
