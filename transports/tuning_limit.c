/* SPDX-License-Identifier: BSD-3-Clause */
/* Short limits: what the environment, the tuning file and the transport say of the largest payload that is sent with its header. */
#include <stdio.h>
#include <string.h>

#include "base/report.h"
#include "transports/transport.h"
#include "transports/tuning.h"

uint32_t *tuning_short(struct tuning *tuning, const char *transport)
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
	uint32_t *place = wanted ? tuning_short(tuning, transport) : NULL;

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
