/* SPDX-License-Identifier: BSD-3-Clause */
#include "reproduces.h"

#include <stdbool.h>
#include <string.h>

#include "plan.h"
#include "report_template.h"

#define LINE_SIZE 256

struct search {
	FILE *out;
	const char *test;
	char document[LINE_SIZE], setting[LINE_SIZE], exhibit[LINE_SIZE]; /* where the lines are; "": said already */
	bool any;
};

static bool is_of(const char *name, size_t length, const char *test)
{
	char own[32];

	for (size_t i = 0; i < plan_count; i++) {
		plan_test(&plan[i], own, sizeof(own));
		if (strlen(plan[i].name) == length && !memcmp(plan[i].name, name, length) && !strcmp(own, test))
			return true;
	}
	return false;
}

/* Text up to a bar, or all of it. */
static void copy_trimmed(char *to, const char *text, const char *end)
{
	size_t length = strcspn(text, end);

	while (length && text[length - 1] == ' ')
		length--;
	snprintf(to, LINE_SIZE, "%.*s", (int)length, text);
}

static void say(struct search *search)
{
	if (!search->any)
		fprintf(search->out, "\nMeasures what these print (the report has their figures beside):\n");
	search->any = true;
	if (*search->setting)
		fprintf(search->out, "  %s: %s\n", search->document, search->setting);
	if (*search->exhibit) {
		int number = (int)strcspn(search->exhibit, "|") - 1;
		fprintf(search->out, "    %.*s: %s\n", number, search->exhibit,
			search->exhibit + number + strspn(search->exhibit + number, " |"));
	}
	*search->setting = *search->exhibit = '\0';
}

static void look(void *with, const char *line)
{
	struct search *search = with;
	size_t word = strcspn(line, " ");
	const char *rest = line[word] ? line + word + 1 : "";

	if (!strncmp(line, "document ", 9)) {
		copy_trimmed(search->document, rest, "|");
		*search->setting = '\0';
	} else if (!strncmp(line, "setting ", 8)) {
		copy_trimmed(search->setting, rest, "");
	} else if (!strncmp(line, "exhibit ", 8)) {
		copy_trimmed(search->exhibit, rest, "");
	} else if ((!strncmp(line, "picture", 7) || !strncmp(line, "listing ", 8) || !strncmp(line, "sequence ", 9)) &&
		   is_of(rest, strcspn(rest, " |"), search->test) && strcmp(search->document, "beyond") != 0) {
		say(search);
	}
}

void reproduces_print(FILE *out, const char *test)
{
	struct search search = {.out = out, .test = test};

	template_each_line(look, &search);
}
