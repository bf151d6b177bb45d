/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/settings.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/debug_names.h"
#include "base/nearest.h"
#include "base/report.h"

enum setting_type {
	TYPE_nic_mode,
	TYPE_dialect,
	TYPE_launch,
	TYPE_addresses,
	TYPE_placing,
	TYPE_open_time,
	TYPE_log_level,
	TYPE_string,
	TYPE_late,
	TYPE_cpus,
	TYPE_debug,
	TYPE_signal,
	TYPE_number,
	TYPE_bytes,
	TYPE_duration,
	TYPE_flag,
	TYPE_timing
};

static const struct setting {
	const char *variable, *preset, *text;
	enum setting_type type;
	size_t offset;
} table[] = {
#define SETTING_ROW(field, variable, type, preset, text)                                                               \
	{variable, preset, text, TYPE_##type, offsetof(struct settings, field)},
	PORTALS_SETTINGS(SETTING_ROW)
#undef SETTING_ROW
};

#define SETTINGS (sizeof(table) / sizeof(table[0]))

/* --- values --- */

struct word {
	const char *name;
	uint64_t value;
};

static const struct word modes[] = {{"auto", NIC_MODE_AUTO},
				    {"shared", NIC_MODE_SHARED},
				    {"dedicated", NIC_MODE_DEDICATED},
				    {"host", NIC_MODE_HOST},
				    {NULL, 0}};
static const struct word dialects[] = {{"standard", DIALECT_STANDARD}, {"cray", DIALECT_CRAY}, {NULL, 0}};
static const struct word launches[] = {{"auto", LAUNCH_AUTO}, {"none", LAUNCH_NONE}, {NULL, 0}};
static const struct word open_times[] = {
	{"auto", OPEN_AUTO}, {"wait", OPEN_WAIT}, {"background", OPEN_BACKGROUND}, {NULL, 0}};
static const struct word addresses[] = {{"auto", ADDRESSES_AUTO}, {"published", ADDRESSES_PUBLISHED}, {NULL, 0}};
static const struct word placings[] = {
	{"auto", PLACING_AUTO}, {"never", PLACING_NEVER}, {"always", PLACING_ALWAYS}, {NULL, 0}};
static const struct word levels[] = {{"off", LOG_OFF},   {"error", LOG_ERROR}, {"warn", LOG_WARN},
				     {"info", LOG_INFO}, {"debug", LOG_DEBUG}, {NULL, 0}};
static const struct word flags[] = {{"no", 0}, {"yes", 1}, {"0", 0}, {"1", 1}, {"off", 0}, {"on", 1}, {NULL, 0}};
static const struct word debug_names[] = {
#define DEBUG_NAME(name, bit) {name, bit},
	PORTALS_DEBUG_NAMES(DEBUG_NAME)
#undef DEBUG_NAME
		{"match", PTL_DBG_REQUEST},
	{"all", PTL_DBG_ALL},
	{NULL, 0}};
static const struct word signals[] = {{"", 0},           {"HUP", SIGHUP},     {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
				      {"USR2", SIGUSR2}, {"WINCH", SIGWINCH}, {NULL, 0}};
static const struct word byte_units[] = {{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};
static const struct word time_units[] = {{"", 1000000000}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {NULL, 0}};
static const struct word plain[] = {{"", 1}, {NULL, 0}};

static bool find_word(const struct word *words, const char *name, uint64_t *value)
{
	for (; words->name; words++) {
		if (strcmp(words->name, name) == 0) {
			*value = words->value;
			return true;
		}
	}
	return false;
}

static bool parse_quantity(const char *text, const struct word *units, uint64_t *value)
{
	char *end;
	uint64_t unit;

	if (strcmp(text, "auto") == 0) {
		*value = SETTING_AUTO;
		return true;
	}
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 0);

	if (errno || !find_word(units, end, &unit) || number > (UINT64_MAX - 1) / unit)
		return false;
	*value = number * unit;
	return true;
}

/* "1,3-5": numbers and ranges. */
static bool parse_list(const char *text)
{
	while (*text) {
		char *end;
		long first, last;

		if (*text < '0' || *text > '9')
			return false;
		last = first = strtol(text, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtol(end + 1, &end, 10);
		if (last < first || last >= 1024 || (*end != ',' && *end != '\0') || (*end == ',' && !end[1]))
			return false;
		text = *end ? end + 1 : end;
	}
	return true;
}

/* "drop,match": bits of these names together. */
static bool parse_names(const char *text, const struct word *words, uint32_t *bits)
{
	*bits = 0;
	while (*text) {
		size_t length = strcspn(text, ",");
		char name[16];
		uint64_t bit;

		if (length >= sizeof(name) || (text[length] && !text[length + 1]))
			return false;
		memcpy(name, text, length);
		name[length] = '\0';
		if (!find_word(words, name, &bit))
			return false;
		*bits |= (uint32_t)bit;
		text += length + (text[length] != '\0');
	}
	return true;
}

/* What is wanted, where the text of the row does not say it. */
static const char *form(enum setting_type type)
{
	switch (type) {
	case TYPE_number:
		return ", a number below 2^32 - 1 is wanted";
	case TYPE_bytes:
		return ", a number of bytes, K, M or G is wanted";
	case TYPE_duration:
		return ", a number of us, ms or s is wanted";
	case TYPE_flag:
		return ", yes or no is wanted";
	default:
		return "";
	}
}

/* The environment may change under us; a string lives until it is read again.  NULL: too long to be kept. */
static const char *keep_string(const struct setting *setting, const char *text)
{
	static char kept[SETTINGS][256];
	char *copy = kept[setting - table];

	if (strlen(text) >= sizeof(kept[0]))
		return NULL;
	return memcpy(copy, text, strlen(text) + 1);
}

static bool names_file(const char *text)
{
	size_t length = strlen(text), suffix = strlen(".json");

	return strchr(text, '/') || (length > suffix && strcmp(text + length - suffix, ".json") == 0);
}

static bool parse_timing(const struct setting *setting, const char *text, const char **timing)
{
	uint64_t on = 0;

	if (names_file(text) || strcmp(text, "print") == 0 || strcmp(text, "batches") == 0)
		return (*timing = keep_string(setting, text)) != NULL;
	*timing = find_word(flags, text, &on) && on ? "" : NULL;
	return find_word(flags, text, &on);
}

static bool parse(const struct setting *setting, const char *text, struct settings *settings)
{
	void *field = (char *)settings + setting->offset;
	uint64_t value = 0;
	bool good;

	switch (setting->type) {
	case TYPE_cpus:
		return parse_list(text) && (*(const char **)field = keep_string(setting, text)) != NULL;
	case TYPE_string:
		return (*(const char **)field = keep_string(setting, text)) != NULL;
	case TYPE_debug:
		return parse_names(text, debug_names, field);
	case TYPE_signal:
		good = find_word(signals, strncmp(text, "SIG", 3) == 0 && text[3] ? text + 3 : text, &value);
		*(int *)field = (int)value;
		return good;
	case TYPE_nic_mode:
		good = find_word(modes, text, &value);
		*(enum nic_mode *)field = (enum nic_mode)value;
		return good;
	case TYPE_dialect:
		good = find_word(dialects, text, &value);
		*(enum dialect *)field = (enum dialect)value;
		return good;
	case TYPE_launch:
		good = find_word(launches, text, &value);
		*(enum launch *)field = (enum launch)value;
		return good;
	case TYPE_addresses:
		good = find_word(addresses, text, &value);
		*(enum addresses *)field = (enum addresses)value;
		return good;
	case TYPE_placing:
		good = find_word(placings, text, &value);
		*(enum placing *)field = (enum placing)value;
		return good;
	case TYPE_open_time:
		good = find_word(open_times, text, &value);
		*(enum open_time *)field = (enum open_time)value;
		return good;
	case TYPE_late:
		return true;
	case TYPE_log_level:
		good = find_word(levels, text, &value);
		*(enum log_level *)field = (enum log_level)value;
		return good;
	case TYPE_flag:
		good = find_word(flags, text, &value);
		*(bool *)field = value != 0;
		return good;
	case TYPE_timing:
		return parse_timing(setting, text, field);
	case TYPE_number:
		return parse_quantity(text, plain, field) &&
		       (*(uint64_t *)field < UINT32_MAX || *(uint64_t *)field == SETTING_AUTO);
	case TYPE_bytes:
		return parse_quantity(text, byte_units, field);
	case TYPE_duration:
		return parse_quantity(text, time_units, field) && *(uint64_t *)field != SETTING_AUTO;
	}
	return false;
}

/* --- names --- */

static bool known(const char *name)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (strcmp(name, table[i].variable) == 0)
			return true;
	return false;
}

static void warn_of_unknown(void)
{
	static bool warned;

	if (warned)
		return;
	warned = true;
	for (char **at = environ; at && *at; at++) {
		const char *equals = strchr(*at, '=');
		char name[256];

		if (strncmp(*at, "PTL_", 4) != 0 || !equals || (size_t)(equals - *at) >= sizeof(name))
			continue;
		memcpy(name, *at, (size_t)(equals - *at));
		name[equals - *at] = '\0';
		const char *meant = name_nearest(name, strlen("PTL_"), &table[0].variable, SETTINGS, sizeof(table[0]));

		if (known(name))
			continue;
		if (meant)
			report(LOG_WARN, "unknown variable %s in the environment; did you mean %s?", name, meant);
		else
			report(LOG_WARN,
			       "unknown variable %s in the environment; \"ptlbench info\" lists those there are", name);
	}
}

/* What is wrong with the others is told as loudly as this one asks. */
static void set_level_first(void)
{
	const char *text = getenv("PTL_LOG");
	uint64_t level;

	if (text && find_word(levels, text, &level))
		report_set_level((enum log_level)level);
}

static const char *visible(const char *text)
{
	return *text ? text : "\"\"";
}

int settings_read(struct settings *settings)
{
	struct settings read;

	set_level_first();
	for (size_t i = 0; i < SETTINGS; i++) {
		const char *text = getenv(table[i].variable);

		if (!parse(&table[i], text ? text : table[i].preset, &read))
			return report_setting(-EINVAL, "%s=%s makes no sense (default %s)%s: %s", table[i].variable,
					      text, visible(table[i].preset), form(table[i].type), table[i].text);
	}
	*settings = read;
	report_set_level(read.log);
	warn_of_unknown();
	return 0;
}

void settings_print(FILE *out)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		const char *text = getenv(table[i].variable);

		fprintf(out, "%-25s %-10s default %-8s  %s\n", table[i].variable,
			visible(text ? text : table[i].preset), visible(table[i].preset), table[i].text);
	}
}
