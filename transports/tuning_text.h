/* SPDX-License-Identifier: BSD-3-Clause */
/* What a tuning file says, from its text and as text. */
#ifndef PORTALS_TRANSPORTS_TUNING_TEXT_H
#define PORTALS_TRANSPORTS_TUNING_TEXT_H

#include <stdio.h>

#include "transports/tuning.h"

#define TUNING_FORMAT   2
#define TUNING_TEXT_MAX 128 /* bytes of a string */
#define TUNING_KEY      "portals3-tuning"

struct tuning_file {
	uint64_t format;
	char version[TUNING_TEXT_MAX], cpu[TUNING_TEXT_MAX];
	struct tuning tuning;
};

/* False: it makes no sense, and `why` says where; what came before that is in *file. */
bool tuning_parse(struct tuning_file *, const char *text, char *why, size_t size);
void tuning_print(FILE *, const struct tuning *, const char *cpu);

/* Is a way named for any class of lengths? */
bool tuning_any_chosen(const struct tuning *);

#endif
