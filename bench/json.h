/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON: strings of what the tests print, and reading that again. */
#ifndef PTLBENCH_JSON_H
#define PTLBENCH_JSON_H

#include <stdio.h>

enum json_kind { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A value, in the list of those of the array or object that it is in. */
struct json {
	enum json_kind kind;
	double number; /* of a boolean 0 or 1 */
	char *text;    /* of a string */
	char *name;    /* in an object */
	struct json *first, *next;
};

/* The value that the text is, or NULL if it is none, or a very deep one. */
struct json *json_parse(const char *text);
void json_free(struct json *json);

/* NULL if `json` is NULL, no object, or has no such member. */
const struct json *json_member(const struct json *json, const char *name);

/* A member that is a string or a number; otherwise "" and NaN. */
const char *json_text(const struct json *json, const char *name);
double json_number(const struct json *json, const char *name);

/* A string with its quotes. */
void json_write_text(FILE *out, const char *text);

#endif
