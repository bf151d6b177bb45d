/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning file: figures and choices of node_choice.c in JSON, of which this is all that can be in it.
 *
 *   {
 *     "portals3-tuning": 1,
 *     "version": "0.1.0",
 *     "cpu": "AMD EPYC",
 *     "node": [
 *       {"from": 65536, "way": "staged", "ns": {"cross-memory": 8100, "split": 5200, "staged": 2600}}
 *     ]
 *   }
 *
 * `from` is the shortest length of a class, a power of two; a figure that is missing is not known; a way that the file leaves out,
 * or calls "measured", is measured as if there were no file.  Figures of another processor or of another version of the
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

#include "base/private_file.h"
#include "base/report.h"
#include "transports/node/node_choice.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_tuning.h"

#define FORMAT      1
#define LARGEST     16384 /* bytes of a file */
#define TEXT_MAX    128
#define NUMBER_MAX  UINT32_MAX
#define FORMAT_KEY  "portals3-tuning"
#define CPUINFO_MAX 4096

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
	struct node_figures figures[NODE_CLASSES];
};

static bool read_way(struct reader *reader, const char *name, enum node_way *way)
{
	for (*way = NODE_UNCHOSEN; *way < NODE_WAYS; (*way)++)
		if (strcmp(name, node_way_names[*way]) == 0)
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
		file->figures[class] = row.figures;
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
	return wrong(reader, "\"" FORMAT_KEY "\", \"version\", \"cpu\" or \"node\" is wanted before this");
}

static bool parse(struct reader *reader, struct file *file)
{
	return read_object(reader, read_member, file) &&
	       (peek(reader) == '\0' || wrong(reader, "something follows the end"));
}

/* --- reading --- */

/* Only what we or root alone can have written: others could make us slow.  The length, or negative. */
static ssize_t load(const char *path, char text[LARGEST + 1])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	ssize_t length = -1;

	if (fd < 0 || fstat(fd, &status) != 0)
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: %s", path,
		       errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	else if (!S_ISREG(status.st_mode) || status.st_size > LARGEST)
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: it is no file of at most %d bytes", path, LARGEST);
	else if ((status.st_uid != geteuid() && status.st_uid != 0) || status.st_mode & (S_IWGRP | S_IWOTH))
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: others than its reader may write it", path);
	else
		length = read(fd, text, LARGEST);
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

static unsigned line_of(const char *text, const char *at)
{
	unsigned line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

static bool meant_for_us(const char *path, const struct file *file)
{
	char cpu[TEXT_MAX];

	cpu_model(cpu, sizeof(cpu));
	if (file->format != FORMAT)
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: its \"" FORMAT_KEY "\" is %llu, %d is wanted", path,
		       (unsigned long long)file->format, FORMAT);
	else if (strcmp(file->version, PORTALS_VERSION) != 0)
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: it is of version \"%s\" of the library, this is %s",
		       path, file->version, PORTALS_VERSION);
	else if (strcmp(file->cpu, cpu) != 0)
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: it is of the processor \"%s\", this is \"%s\"", path,
		       file->cpu, cpu);
	else
		return true;
	return false;
}

void node_tuning_read(struct node_copies *copies, const char *path)
{
	UNCANCELLED;
	char text[LARGEST + 1];
	struct reader reader = {.at = text};
	struct file file = {0};

	if (private_file_forbidden("PTL_TUNING_FILE") || load(path, text) < 0)
		return;
	if (!parse(&reader, &file)) {
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: line %u: %s", path, line_of(text, reader.at),
		       reader.error);
		return;
	}
	if (!meant_for_us(path, &file))
		return;
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		copies->fixed[class] = file.figures[class].way != NODE_UNCHOSEN;
		if (copies->fixed[class])
			copies->figures[class] = file.figures[class];
	}
}

/* --- writing --- */

static void write_row(FILE *file, const struct node_figures *figures, unsigned class, bool first)
{
	const char *separator = "";

	fprintf(file, "%s\n    {\"from\": %llu, \"way\": \"%s\", \"ns\": {", first ? "" : ",",
		(unsigned long long)node_class_length(class), node_way_names[figures->way]);
	for (enum node_way way = NODE_ALONE; way < NODE_WAYS; way++) {
		if (!figures->ns[way])
			continue;
		fprintf(file, "%s\"%s\": %u", separator, node_way_names[way], figures->ns[way]);
		separator = ", ";
	}
	fprintf(file, "}}");
}

static void write_file(FILE *file, const struct node_copies *copies)
{
	char cpu[TEXT_MAX];
	bool first = true;

	cpu_model(cpu, sizeof(cpu));
	fprintf(file, "{\n  \"" FORMAT_KEY "\": %d,\n  \"version\": \"%s\",\n  \"cpu\": \"%s\",\n  \"node\": [", FORMAT,
		PORTALS_VERSION, cpu);
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		if (copies->figures[class].way == NODE_UNCHOSEN)
			continue;
		write_row(file, &copies->figures[class], class, first);
		first = false;
	}
	fprintf(file, "\n  ]\n}\n");
}

static bool any_chosen(const struct node_copies *copies)
{
	for (unsigned class = 0; class < NODE_CLASSES; class ++)
		if (copies->figures[class].way != NODE_UNCHOSEN)
			return true;
	return false;
}

int node_tuning_write(const struct node_copies *copies, const char *path)
{
	UNCANCELLED;
	struct private_file file;

	if (!any_chosen(copies) || private_file_forbidden("PTL_TUNING_SAVE"))
		return 0;
	int rc = private_file_open(&file, "PTL_TUNING_SAVE", path);

	if (rc)
		return rc;
	write_file(file.out, copies);
	return private_file_close(&file);
}
