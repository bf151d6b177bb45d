/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/model.h"

#define USUAL_SECONDS 60

static int usage(const char *program)
{
	fprintf(stderr,
		"usage: %s [--exact | --free] [--seed N] [--seconds N] [--hours N] [--operations N]\n"
		"  --exact, --free  one mode only; both: half the time each\n"
		"  --seed N         replays the program or round of that seed; with one of the next, begins there\n"
		"  --seconds N, --hours N, --operations N\n"
		"                   how long, or how much; %d seconds unless told\n",
		program, USUAL_SECONDS);
	return 2;
}

struct choice {
	struct model_options options;
	bool exact, free;
};

static bool parse_number(const char *text, double *number)
{
	char *end;

	*number = strtod(text, &end);
	return end != text && !*end && *number >= 0;
}

static bool parse_option(struct choice *choice, const char *name, const char *value)
{
	struct model_options *options = &choice->options;
	double number;
	char *end;

	if (!value)
		return false;
	if (strcmp(name, "--seed") == 0) {
		options->seed = strtoull(value, &end, 0);
		options->seed_given = true;
		return end != value && !*end;
	}
	if (!parse_number(value, &number))
		return false;
	if (strcmp(name, "--seconds") == 0)
		options->seconds = number;
	else if (strcmp(name, "--hours") == 0)
		options->seconds = number * 3600;
	else if (strcmp(name, "--operations") == 0)
		options->operations = (uint64_t)number;
	else
		return false;
	return true;
}

static bool parse(int count, char **arguments, struct choice *choice)
{
	for (int i = 1; i < count; i++) {
		if (strcmp(arguments[i], "--exact") == 0)
			choice->exact = true;
		else if (strcmp(arguments[i], "--free") == 0)
			choice->free = true;
		else if (!parse_option(choice, arguments[i], i + 1 < count ? arguments[i + 1] : NULL))
			return false;
		else
			i++;
	}
	return true;
}

int main(int count, char **arguments)
{
	struct choice choice = {0};
	int exact_code = 0, free_code = 0;

	if (!parse(count, arguments, &choice))
		return usage(arguments[0]);
	choice.options.once = choice.options.seed_given && choice.options.seconds == 0 && !choice.options.operations;
	if (choice.options.seconds == 0) /* with a number of operations: as long as they take */
		choice.options.seconds = choice.options.operations ? 1e9 : USUAL_SECONDS;
	if (choice.exact == choice.free) {
		choice.exact = choice.free = true;
		choice.options.seconds /= 2;
	}
	if (choice.exact)
		exact_code = exact_mode(&choice.options);
	if (choice.free)
		free_code = free_mode(&choice.options);
	return exact_code == 1 || free_code == 1 ? 1 : exact_code ? exact_code : free_code;
}
