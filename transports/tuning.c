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
 * payload that a transport sends with its header.  Figures of another processor or of another version of the
 * library mean nothing here: such a file is left alone, and so is one that makes no sense anywhere, and a process that has got
 * privileges from its program file neither reads nor writes what its caller names.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/private_file.h"
#include "base/report.h"
#include "transports/transport.h"
#include "transports/tuning.h"

#define FORMAT      2
#define LARGEST     16384 /* bytes of a file */
#define TEXT_MAX    128
#define NUMBER_MAX  UINT32_MAX
#define FORMAT_KEY  "portals3-tuning"
#define CPUINFO_MAX 4096
#define WHY_MAX     512

_Static_assert(TEXT_MAX == 128 && NUMBER_MAX == UINT32_MAX && NODE_CLASS_SHIFT == 12 && NODE_CLASSES == 11 &&
		       TUNING_NAME_MAX == 64 && TUNING_SHORTS == 12,
	       "what is said about files has these numbers");

const char *const tuning_way_names[NODE_WAYS] = {
	[NODE_UNCHOSEN] = "measured", [NODE_ALONE] = "cross-memory", [NODE_SPLIT] = "split", [NODE_STAGED] = "staged"};

/* --- the processor --- */

/* What follows "key : " in /proc/cpuinfo's text, if it is there, is appended to `model`. */
static void append_field(const char *cpuinfo, const char *key, char *model, size_t size)
{
	const char *line = strstr(cpuinfo, key), *value = line ? strchr(line, ':') : NULL;
	size_t used = strlen(model);

	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	for (; used + 1 < size && *value && *value != '\n'; value++)
		if (isprint((unsigned char)*value) && *value != '"' && *value != '\\')
			model[used++] = *value;
	model[used] = '\0';
}

static void cpu_model(char *model, size_t size)
{
	char text[CPUINFO_MAX + 1];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, CPUINFO_MAX) : 0;
	struct utsname system;

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	model[0] = '\0';
	append_field(text, "model name", model, size);
	append_field(text, "CPU implementer", model, size); /* aarch64 has numbers */
	append_field(text, "CPU part", model, size);
	if (!*model && uname(&system) == 0)
		snprintf(model, size, "%.*s", TEXT_MAX / 2, system.machine);
}

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

static bool read_string(struct reader *reader, char text[TEXT_MAX])
{
	if (!take(reader, '"'))
		return wrong(reader, "a string is wanted");
	size_t length = strcspn(reader->at, "\"\\\n");

	if (reader->at[length] != '"' || length >= TEXT_MAX)
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
	char key[TEXT_MAX];

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

struct file {
	uint64_t format;
	char version[TEXT_MAX], cpu[TEXT_MAX];
	struct tuning tuning;
};

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
	char name[TEXT_MAX];

	if (strcmp(key, "from") == 0)
		return read_number(reader, &row->from);
	if (strcmp(key, "way") == 0)
		return read_string(reader, name) && read_way(reader, name, &row->figures.way);
	if (strcmp(key, "ns") == 0)
		return read_object(reader, read_figure, row->figures.ns);
	return wrong(reader, "\"from\", \"way\" or \"ns\" is wanted before this");
}

static bool read_row(struct reader *reader, struct file *file)
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

static bool read_rows(struct reader *reader, struct file *file)
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

/* The entry of a transport, new or not; NULL: there is room for no more. */
static uint32_t *short_of(struct tuning *tuning, const char *transport)
{
	unsigned i = 0;

	while (i < tuning->short_count && strcmp(tuning->shorts[i].transport, transport) != 0)
		i++;
	if (i == TUNING_SHORTS)
		return NULL;
	if (i == tuning->short_count) {
		tuning->short_count++;
		snprintf(tuning->shorts[i].transport, TUNING_NAME_MAX, "%s", transport);
	}
	return &tuning->shorts[i].bytes;
}

static bool read_short(struct reader *reader, const char *key, void *to)
{
	uint64_t bytes;

	if (!*key || strlen(key) >= TUNING_NAME_MAX)
		return wrong(reader, "the name of a transport has 1 to 63 bytes");
	if (!read_number(reader, &bytes))
		return false;
	uint32_t *place = short_of(to, key);

	if (!place)
		return wrong(reader, "there are more than 12 transports");
	*place = (uint32_t)bytes;
	return true;
}

static bool read_member(struct reader *reader, const char *key, void *to)
{
	struct file *file = to;

	if (strcmp(key, FORMAT_KEY) == 0)
		return read_number(reader, &file->format);
	if (strcmp(key, "version") == 0)
		return read_string(reader, file->version);
	if (strcmp(key, "cpu") == 0)
		return read_string(reader, file->cpu);
	if (strcmp(key, "node") == 0)
		return read_rows(reader, file);
	if (strcmp(key, "short") == 0)
		return read_object(reader, read_short, &file->tuning);
	return wrong(reader, "\"" FORMAT_KEY "\", \"version\", \"cpu\", \"node\" or \"short\" is wanted before this");
}

static bool parse(struct reader *reader, struct file *file)
{
	return read_object(reader, read_member, file) &&
	       (peek(reader) == '\0' || wrong(reader, "something follows the end"));
}

/* --- reading --- */

/* What a file is, to a reader that may write another one in its place. */
enum found {
	FOUND,
	NOTHING, /* or an empty file, as mktemp makes it */
	ANOTHERS,
	USELESS, /* now; it may have figures that were worth something */
};

/* Only what we or root alone can have written: others could make us slow.  Otherwise says why not. */
static enum found load(const char *path, char text[LARGEST + 1], char why[WHY_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	ssize_t length = -1;
	enum found found = USELESS;

	if (fd < 0 && errno == ENOENT)
		found = NOTHING;
	if (fd < 0 || fstat(fd, &status) != 0)
		snprintf(why, WHY_MAX, "%s", errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	else if (!S_ISREG(status.st_mode) || status.st_size > LARGEST)
		snprintf(why, WHY_MAX, "it is no file of at most %d bytes", LARGEST);
	else if ((status.st_uid != geteuid() && status.st_uid != 0) || status.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, WHY_MAX, "others than its reader may write it");
	else if (status.st_size == 0) {
		snprintf(why, WHY_MAX, "it is empty");
		found = NOTHING;
	} else if ((length = read(fd, text, LARGEST)) < 0)
		snprintf(why, WHY_MAX, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length >= 0 ? FOUND : found;
}

static unsigned line_of(const char *text, const char *at)
{
	unsigned line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

/* What it does not say makes it no other's: that was forgotten, or comes behind a mistake. */
static bool is_anothers(const struct file *file)
{
	char cpu[TEXT_MAX];

	cpu_model(cpu, sizeof(cpu));
	return (file->format && file->format != FORMAT) ||
	       (*file->version && strcmp(file->version, PORTALS_VERSION) != 0) ||
	       (*file->cpu && strcmp(file->cpu, cpu) != 0);
}

static bool meant_for_us(const struct file *file, char why[WHY_MAX])
{
	char cpu[TEXT_MAX];

	cpu_model(cpu, sizeof(cpu));
	if (file->format != FORMAT)
		snprintf(why, WHY_MAX, "its \"" FORMAT_KEY "\" is %llu, %d is wanted", (unsigned long long)file->format,
			 FORMAT);
	else if (strcmp(file->version, PORTALS_VERSION) != 0)
		snprintf(why, WHY_MAX, "it is of version \"%s\" of the library, this is %s", file->version,
			 PORTALS_VERSION);
	else if (strcmp(file->cpu, cpu) != 0)
		snprintf(why, WHY_MAX, "it is of the processor \"%s\", this is \"%s\"", file->cpu, cpu);
	else
		return true;
	return false;
}

/* All of the file, or nothing and why. */
static enum found read_whole(struct tuning *tuning, const char *path, char why[WHY_MAX])
{
	char text[LARGEST + 1];
	struct reader reader = {.at = text};
	struct file file = {0};

	*tuning = (struct tuning){0};
	enum found found = load(path, text, why);

	if (found != FOUND)
		return found;
	if (!parse(&reader, &file))
		snprintf(why, WHY_MAX, "line %u: %s", line_of(text, reader.at), reader.error);
	else if (meant_for_us(&file, why)) {
		*tuning = file.tuning;
		return FOUND;
	}
	return is_anothers(&file) ? ANOTHERS : USELESS;
}

void tuning_read(struct tuning *tuning, const char *path)
{
	UNCANCELLED;
	char why[WHY_MAX];

	*tuning = (struct tuning){0};
	if (!private_file_forbidden("PTL_TUNING_FILE") && read_whole(tuning, path, why) != FOUND)
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: %s", path, why);
}

/* --- writing --- */

static bool any_chosen(const struct tuning *tuning)
{
	for (unsigned class = 0; class < NODE_CLASSES; class ++)
		if (tuning->node[class].way != NODE_UNCHOSEN)
			return true;
	return false;
}

/* `more` is newer. */
static void merge(struct tuning *tuning, const struct tuning *more, const char *path)
{
	for (unsigned class = 0; class < NODE_CLASSES; class ++)
		if (more->node[class].way != NODE_UNCHOSEN)
			tuning->node[class] = more->node[class];
	for (unsigned i = 0; i < more->short_count; i++) {
		uint32_t *place = short_of(tuning, more->shorts[i].transport);

		if (place)
			*place = more->shorts[i].bytes;
		else
			report(LOG_WARN, "PTL_TUNING_SAVE=%s has no room for the limit of %s: it names %u transports",
			       path, more->shorts[i].transport, tuning->short_count);
	}
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

static void write_file(FILE *file, const struct tuning *tuning)
{
	char cpu[TEXT_MAX];

	cpu_model(cpu, sizeof(cpu));
	fprintf(file, "{\n  \"" FORMAT_KEY "\": %d,\n  \"version\": \"%s\",\n  \"cpu\": \"%s\"", FORMAT,
		PORTALS_VERSION, cpu);
	if (any_chosen(tuning))
		write_rows(file, tuning);
	if (tuning->short_count > 0)
		write_shorts(file, tuning);
	fprintf(file, "\n}\n");
}

/* No other process may write between this one's look at the file and its own. */
static int add_to_file(const struct tuning *tuning, const char *path)
{
	struct private_file file;
	struct tuning whole;
	char why[WHY_MAX];

	if (read_whole(&whole, path, why) == USELESS) {
		report(LOG_WARN, "PTL_TUNING_SAVE=%s is left as it is: %s", path, why);
		return -EEXIST;
	}
	merge(&whole, tuning, path);
	int rc = private_file_open(&file, "PTL_TUNING_SAVE", path);

	if (rc)
		return rc;
	write_file(file.out, &whole);
	return private_file_close(&file);
}

int tuning_write(const struct tuning *tuning, const char *path)
{
	UNCANCELLED;

	if ((!any_chosen(tuning) && tuning->short_count == 0) || private_file_forbidden("PTL_TUNING_SAVE"))
		return 0;
	int lock = private_file_lock(path), rc = add_to_file(tuning, path);

	private_file_unlock(lock);
	return rc;
}

/* --- short limits --- */

void tuning_limit(const struct tuning *tuning, uint64_t setting, const char *transport, struct transport_limits *limits)
{
	limits->payload_max = setting;
	limits->payload_tuned = false;
	for (unsigned i = 0; tuning && setting == SETTING_AUTO && i < tuning->short_count; i++) {
		if (strcmp(tuning->shorts[i].transport, transport) != 0)
			continue;
		limits->payload_max = tuning->shorts[i].bytes;
		limits->payload_tuned = true;
	}
}

void tuning_check(const char *transport, const struct transport_limits *limits)
{
	const size_t greatest = limits->short_max - limits->header_room;

	if (limits->payload_tuned && limits->payload_max > greatest)
		report(LOG_WARN, "PTL_TUNING_FILE: %s cannot send %llu bytes with their header, but only %zu",
		       transport, (unsigned long long)limits->payload_max, greatest);
}

void tuning_note_limit(struct tuning *tuning, const char *transport, const struct transport_limits *limits)
{
	const size_t greatest = limits->short_max - limits->header_room;
	uint64_t bytes = limits->payload_max < greatest ? limits->payload_max : greatest;
	bool wanted = limits->payload_max != SETTING_AUTO && !limits->payload_tuned;
	uint32_t *place = wanted ? short_of(tuning, transport) : NULL;

	if (place)
		*place = (uint32_t)bytes;
}

int tuning_describe_limit(const struct transport_limits *limits, char *text, size_t size)
{
	*text = '\0';
	if (limits->payload_max == SETTING_AUTO)
		return 0;
	return snprintf(text, size, " (payload %llu: %s)", (unsigned long long)limits->payload_max,
			limits->payload_tuned ? "PTL_TUNING_FILE" : "PTL_SHORT_MAX");
}
