/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever the environment says, settings_read() accepts or refuses it, reads nothing beyond it, and
 * what it accepts is in the range of its type.  The input is a list of settings: which, and a text that ends with 0.
 */
#include "base/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/report.h"
#include "tests/fuzz/input.h"

extern FILE *p3_out;

#define NAME(field, variable, ...) variable,
static const char *const names[] = {PORTALS_SETTINGS(NAME)};
enum { NAMES = sizeof(names) / sizeof(names[0]), TEXT = 300 };

static void set_one(void)
{
	const char *name = names[input_number(1) % NAMES];
	size_t length = strnlen((const char *)input, input_length < TEXT ? input_length : TEXT);
	char *value = malloc(length + 1); /* exactly, for the sanitizer to watch its end */

	input_bytes(value, length);
	value[length] = '\0';
	input_number(1);
	setenv(name, value, 1);
	free(value);
}

static void require_in_range(const struct settings *settings)
{
	REQUIRE(settings->nic_mode <= NIC_MODE_HOST && settings->log <= LOG_DEBUG);
	REQUIRE(settings->connect_timeout != SETTING_AUTO && settings->peer_timeout != SETTING_AUTO);
	REQUIRE(settings->linger != SETTING_AUTO && settings->spin != SETTING_AUTO && settings->tick != SETTING_AUTO);
	for (const char *at = settings->nic_cpus; *at; at++)
		REQUIRE(strchr("0123456789,-", *at));
	REQUIRE(strlen(settings->transport) < 256 && strlen(settings->iface) < 256);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct settings settings;

	if (!p3_out)
		p3_out = fopen("/dev/null", "w");
	input = bytes;
	input_length = length;
	for (int i = 0; i < NAMES; i++)
		unsetenv(names[i]);
	while (input_length > 0)
		set_one();
	int rc = settings_read(&settings);

	REQUIRE(rc == 0 || (rc == -EINVAL && *report_last_error()));
	if (rc == 0)
		require_in_range(&settings);
	settings_print(p3_out);
	return 0;
}
