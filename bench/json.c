/* SPDX-License-Identifier: BSD-3-Clause */
#include "json.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define DEEPEST 32

struct reader {
	const char *at;
	unsigned depth;
};

static struct json *read_value(struct reader *reader);

static void skip_blanks(struct reader *reader)
{
	reader->at += strspn(reader->at, " \t\r\n");
}

static bool take(struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	skip_blanks(reader);
	if (strncmp(reader->at, word, length) != 0)
		return false;
	reader->at += length;
	return true;
}

static struct json *new_value(enum json_kind kind)
{
	struct json *json = calloc(1, sizeof(*json));

	if (!json)
		fail("no memory for a value");
	json->kind = kind;
	return json;
}

/* Of \uXXXX, as UTF-8; halves of pairs become what they would be alone.  Returns how many bytes. */
static size_t put_code_point(unsigned long point, char *to)
{
	if (point < 0x80) {
		to[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		to[0] = (char)(0xc0 | point >> 6);
		to[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	to[0] = (char)(0xe0 | point >> 12);
	to[1] = (char)(0x80 | (point >> 6 & 0x3f));
	to[2] = (char)(0x80 | (point & 0x3f));
	return 3;
}

/* What a backslash stands before; `at` is behind it.  False: nothing that JSON knows. */
static bool read_escape(struct reader *reader, char **to)
{
	static const char from[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *known = *reader->at ? strchr(from, *reader->at) : NULL;
	char digits[5] = "", *end;

	if (known) {
		*(*to)++ = meant[known - from];
		reader->at++;
		return true;
	}
	if (*reader->at != 'u')
		return false;
	memccpy(digits, reader->at + 1, '\0', 4);
	unsigned long point = strtoul(digits, &end, 16);
	if (end != digits + 4 || !point)
		return false;
	*to += put_code_point(point, *to);
	reader->at += 5;
	return true;
}

/* No text gets longer by being read. */
static char *read_text(struct reader *reader)
{
	if (!take(reader, "\""))
		return NULL;
	char *text = malloc(strlen(reader->at) + 1), *to = text;
	if (!text)
		fail("no memory for a string");
	while (*reader->at && *reader->at != '"') {
		if (*reader->at != '\\') {
			*to++ = *reader->at++;
			continue;
		}
		reader->at++;
		if (!read_escape(reader, &to))
			break;
	}
	*to = '\0';
	if (*reader->at == '"') {
		reader->at++;
		return text;
	}
	free(text);
	return NULL;
}

/* What stands between `close` and the bracket before it, with names in an object.  False: it is not well-formed. */
static bool read_members(struct reader *reader, struct json *into, const char *close)
{
	struct json **end = &into->first;

	if (take(reader, close))
		return true;
	do {
		char *name = NULL;
		if (into->kind == JSON_OBJECT && (!(name = read_text(reader)) || !take(reader, ":"))) {
			free(name);
			return false;
		}
		*end = read_value(reader);
		if (!*end) {
			free(name);
			return false;
		}
		(*end)->name = name;
		end = &(*end)->next;
	} while (take(reader, ","));
	return take(reader, close);
}

static struct json *read_collection(struct reader *reader, enum json_kind kind, const char *close)
{
	struct json *json = new_value(kind);
	bool whole = ++reader->depth < DEEPEST && read_members(reader, json, close);

	reader->depth--;
	if (whole)
		return json;
	json_free(json);
	return NULL;
}

static struct json *read_number(struct reader *reader)
{
	char *end;
	double number = strtod(reader->at, &end);

	if (end == reader->at || !strchr("-0123456789", *reader->at))
		return NULL;
	reader->at = end;
	struct json *json = new_value(JSON_NUMBER);
	json->number = number;
	return json;
}

static struct json *read_string(struct reader *reader)
{
	char *text = read_text(reader);

	if (!text)
		return NULL;
	struct json *json = new_value(JSON_STRING);
	json->text = text;
	return json;
}

static struct json *read_value(struct reader *reader)
{
	if (take(reader, "{"))
		return read_collection(reader, JSON_OBJECT, "}");
	if (take(reader, "["))
		return read_collection(reader, JSON_ARRAY, "]");
	if (take(reader, "null"))
		return new_value(JSON_NULL);
	bool yes = take(reader, "true");
	if (yes || take(reader, "false")) {
		struct json *json = new_value(JSON_BOOLEAN);
		json->number = yes;
		return json;
	}
	return *reader->at == '"' ? read_string(reader) : read_number(reader);
}

struct json *json_parse(const char *text)
{
	struct reader reader = {.at = text};
	struct json *json = read_value(&reader);

	skip_blanks(&reader);
	if (!*reader.at)
		return json;
	json_free(json);
	return NULL;
}

void json_free(struct json *json)
{
	while (json) {
		struct json *next = json->next;
		json_free(json->first);
		free(json->text);
		free(json->name);
		free(json);
		json = next;
	}
}

const struct json *json_member(const struct json *json, const char *name)
{
	if (!json || json->kind != JSON_OBJECT)
		return NULL;
	for (const struct json *member = json->first; member; member = member->next)
		if (!strcmp(member->name, name))
			return member;
	return NULL;
}

const char *json_text(const struct json *json, const char *name)
{
	const struct json *member = json_member(json, name);

	return member && member->kind == JSON_STRING ? member->text : "";
}

double json_number(const struct json *json, const char *name)
{
	const struct json *member = json_member(json, name);

	return member && member->kind == JSON_NUMBER ? member->number : NAN;
}

void json_write_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}
