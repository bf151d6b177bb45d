/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment: what each variable takes, what it refuses, and that misspelt names are noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug_names.h"
#include "base/report.h"
#include "base/settings.h"

extern FILE *p3_out;

static char *printed;
static size_t printed_size;

static int listen_to_reports(void **state)
{
	(void)state;
	clearenv();
	p3_out = open_memstream(&printed, &printed_size);
	return p3_out ? 0 : -1;
}

static int stop_listening(void **state)
{
	(void)state;
	fclose(p3_out);
	free(printed);
	p3_out = NULL;
	return 0;
}

static const char *text_so_far(void)
{
	fflush(p3_out);
	return printed;
}

static int lines_so_far(void)
{
	int lines = 0;

	for (const char *at = text_so_far(); (at = strchr(at, '\n')); at++)
		lines++;
	return lines;
}

/* --- every variable of the table with values of its type --- */

struct sample {
	const char *text; /* NULL ends the list */
	bool good;
	uint64_t value;
};

#define GOOD(text, value)                                                                                              \
	{                                                                                                              \
		text, true, value                                                                                      \
	}
#define BAD(text)                                                                                                      \
	{                                                                                                              \
		text, false, 0                                                                                         \
	}
#define SECOND UINT64_C(1000000000)

static const struct sample samples_nic_mode[] = {
	GOOD("auto", NIC_MODE_AUTO),
	GOOD("shared", NIC_MODE_SHARED),
	GOOD("dedicated", NIC_MODE_DEDICATED),
	GOOD("host", NIC_MODE_HOST),
	BAD(""),
	BAD("Host"),
	BAD("hos"),
	BAD("host "),
	BAD("1"),
	{0},
};
static const struct sample samples_log_level[] = {
	GOOD("off", LOG_OFF),
	GOOD("error", LOG_ERROR),
	GOOD("warn", LOG_WARN),
	GOOD("info", LOG_INFO),
	GOOD("debug", LOG_DEBUG),
	BAD(""),
	BAD("warning"),
	BAD("2"),
	{0},
};
static const struct sample samples_debug[] = {
	GOOD("", PTL_DBG_NONE),
	GOOD("drop", PTL_DBG_DROP),
	GOOD("drop,match", PTL_DBG_DROP | PTL_DBG_REQUEST),
	GOOD("shutdown,api,drop", PTL_DBG_SHUTDOWN | PTL_DBG_API | PTL_DBG_DROP),
	GOOD("all", PTL_DBG_ALL),
	BAD("drop,"),
	BAD(","),
	BAD("drop match"),
	BAD("Drop"),
	BAD("drops"),
	BAD("8"),
	{0},
};
static const struct sample samples_signal[] = {
	GOOD("", 0),
	GOOD("USR2", SIGUSR2),
	GOOD("SIGUSR1", SIGUSR1),
	GOOD("HUP", SIGHUP),
	BAD("KILL"),
	BAD("SIGSEGV"),
	BAD("SIG"),
	BAD("usr2"),
	BAD("12"),
	{0},
};
static const struct sample samples_flag[] = {
	GOOD("no", 0), GOOD("yes", 1), GOOD("0", 0), GOOD("1", 1), GOOD("off", 0), GOOD("on", 1), BAD(""),
	BAD("2"),      BAD("true"),    BAD("auto"),  {0},
};
/* What is on is a text: the_clocks_may_print_or_have_a_file(). */
static const struct sample samples_timing[] = {
	GOOD("no", 0), GOOD("0", 0), GOOD("off", 0), BAD(""),     BAD("2"),
	BAD("true"),   BAD("Print"), BAD(".json"),   BAD("json"), {0},
};
static const struct sample samples_number[] = {
	GOOD("auto", SETTING_AUTO),
	GOOD("0", 0),
	GOOD("7", 7),
	GOOD("0x10", 16),
	GOOD("4294967294", UINT32_MAX - 1),
	BAD("4294967295"), /* PTL_JID_ANY */
	BAD("4294967296"),
	BAD("18446744073709551615"), /* would mean auto */
	BAD("18446744073709551616"),
	BAD(""),
	BAD("-1"),
	BAD("+1"),
	BAD(" 1"),
	BAD("1 "),
	BAD("1.5"),
	BAD("7K"),
	BAD("seven"),
	BAD("automatic"),
	{0},
};
static const struct sample samples_bytes[] = {
	GOOD("auto", SETTING_AUTO),
	GOOD("0", 0),
	GOOD("1000", 1000),
	GOOD("4K", 4096),
	GOOD("0x10K", 16384),
	GOOD("3M", 3 << 20),
	GOOD("2G", UINT64_C(2) << 30),
	GOOD("17179869183G", UINT64_C(17179869183) << 30),
	BAD("17179869184G"),
	BAD("18014398509481984K"),
	BAD("18446744073709551615"),
	BAD(""),
	BAD("K"),
	BAD("4k"),
	BAD("4KB"),
	BAD("4 K"),
	BAD("-4K"),
	BAD("4s"),
	{0},
};
static const struct sample samples_duration[] = {
	GOOD("0", 0),
	GOOD("5", 5 * SECOND),
	GOOD("5s", 5 * SECOND),
	GOOD("30ms", 30000000),
	GOOD("250us", 250000),
	GOOD("18446744073s", 18446744073 * SECOND),
	BAD("18446744074s"),
	BAD("18446744073709552ms"), /* after overflow: less than 1 ms */
	BAD("18446744073709551615us"),
	BAD("auto"), /* durations are always known */
	BAD(""),
	BAD("s"),
	BAD("1ns"),
	BAD("1m"),
	BAD("1 s"),
	BAD("1S"),
	BAD("0.5s"),
	BAD("-1s"),
	{0},
};
static const struct sample samples_string[] = {{0}};
static const struct sample samples_late[] = {{0}}; /* not parsed here: any text is good */
static const struct sample samples_dialect[] = {
	GOOD("standard", DIALECT_STANDARD), GOOD("cray", DIALECT_CRAY), BAD("Cray"), BAD(""), {0},
};
static const struct sample samples_launch[] = {
	GOOD("auto", LAUNCH_AUTO), GOOD("none", LAUNCH_NONE), BAD("pmi"), BAD(""), {0},
};
static const struct sample samples_addresses[] = {
	GOOD("auto", ADDRESSES_AUTO), GOOD("published", ADDRESSES_PUBLISHED), BAD("pmix"), BAD(""), {0},
};
static const struct sample samples_placing[] = {
	GOOD("auto", PLACING_AUTO),
	GOOD("never", PLACING_NEVER),
	GOOD("always", PLACING_ALWAYS),
	BAD("yes"),
	BAD(""),
	{0},
};
static const struct sample samples_open_time[] = {
	GOOD("auto", OPEN_AUTO),
	GOOD("wait", OPEN_WAIT),
	GOOD("background", OPEN_BACKGROUND),
	BAD("later"),
	BAD(""),
	{0},
};
static const struct sample samples_cpus[] = {
	BAD("a"), BAD("1,"), BAD(","), BAD("1-"), BAD("-1"), BAD("3-1"), BAD("1;2"), BAD("1024"), BAD("0-9999"), {0},
};

#define VALUE_OF(field, variable, type, preset, text)                                                                  \
	static uint64_t value_of_##field(const struct settings *settings)                                              \
	{                                                                                                              \
		return (uintptr_t)settings->field;                                                                     \
	}
PORTALS_SETTINGS(VALUE_OF)

static const struct row {
	const char *variable, *preset, *text;
	const struct sample *samples;
	uint64_t (*value)(const struct settings *);
} rows[] = {
#define ROW(field, variable, type, preset, text) {variable, preset, text, samples_##type, value_of_##field},
	PORTALS_SETTINGS(ROW)};

#define FOR_EACH_ROW(row) for (const struct row *row = rows; row < rows + sizeof(rows) / sizeof(rows[0]); row++)

static void assert_read(const struct row *row, const struct sample *sample)
{
	struct settings settings, before;

	memset(&settings, 0x5a, sizeof(settings));
	before = settings;
	setenv(row->variable, sample->text, 1);
	int rc = settings_read(&settings);
	if (rc != (sample->good ? 0 : -EINVAL))
		fail_msg("%s=%s gives %d", row->variable, sample->text, rc);
	if (sample->good) {
		if (row->value(&settings) != sample->value)
			fail_msg("%s=%s means %llu", row->variable, sample->text,
				 (unsigned long long)row->value(&settings));
	} else {
		char expected[128];

		snprintf(expected, sizeof(expected), "%s=%s makes no sense (default %s)", row->variable, sample->text,
			 *row->preset ? row->preset : "\"\"");
		assert_non_null(strstr(report_last_error(), expected));
		assert_memory_equal(&settings, &before, sizeof(settings));
	}
	unsetenv(row->variable);
}

static void every_variable_takes_what_its_type_allows_and_refuses_the_rest(void **state)
{
	unsigned count = 0;

	(void)state;
	FOR_EACH_ROW(row)
	{
		for (const struct sample *sample = row->samples; sample->text; sample++, count++)
			assert_read(row, sample);
	}
	assert_true(count > 100);
}

static void an_empty_environment_means_the_defaults(void **state)
{
	struct settings s;

	(void)state;
	assert_int_equal(settings_read(&s), 0);
	assert_true(s.nic_mode == NIC_MODE_AUTO && s.log == LOG_WARN);
	assert_true(s.job == SETTING_AUTO && s.short_max == SETTING_AUTO);
	assert_true(s.connect_timeout == 30 * SECOND && s.peer_timeout == 60 * SECOND && s.linger == SECOND);
	assert_true(s.spin == 100000 && s.tick == 1000000);
	assert_true(!s.timing && !s.verified_uid);
	assert_string_equal(s.nic_cpus, "");
	assert_string_equal(s.transport, "auto");
	assert_string_equal(s.iface, "auto");
}

static void strings_are_kept_when_the_environment_changes(void **state)
{
	static char variable[] = "PTL_IFACE=127.0.0.1"; /* part of the environment, not a copy */
	struct settings s;

	(void)state;
	putenv(variable);
	setenv("PTL_TRANSPORT", "", 1);
	setenv("PTL_NIC_CPUS", "1,3-5", 1);
	assert_int_equal(settings_read(&s), 0);
	strcpy(variable, "PTL_IFACE=lo");
	clearenv();
	assert_string_equal(s.iface, "127.0.0.1");
	assert_string_equal(s.transport, "");
	assert_string_equal(s.nic_cpus, "1,3-5");
}

/* A later, shorter value leaves nothing of an earlier one; one too long to be kept is refused, not cut. */
static void strings_are_read_anew(void **state)
{
	struct settings s;
	char text[256];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	setenv("PTL_IFACE", text, 1);
	assert_int_equal(settings_read(&s), 0);
	assert_string_equal(s.iface, text);
	setenv("PTL_TRANSPORT", "longer", 1);
	assert_int_equal(settings_read(&s), 0);
	char longer[257];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	setenv("PTL_TRANSPORT", longer, 1);
	assert_int_equal(settings_read(&s), -EINVAL);
	unsetenv("PTL_TRANSPORT");
	setenv("PTL_IFACE", "lo", 1);
	assert_int_equal(settings_read(&s), 0);
	assert_string_equal(s.iface, "lo");
}

static void the_clocks_may_print_or_have_a_file(void **state)
{
	static const char *const texts[][2] = {{"1", ""},
					       {"yes", ""},
					       {"on", ""},
					       {"print", "print"},
					       {"t.json", "t.json"},
					       {"/tmp/t", "/tmp/t"},
					       {"batches", "batches"}};
	struct settings s;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		setenv("PTL_NIC_TIMING", texts[i][0], 1);
		assert_int_equal(settings_read(&s), 0);
		assert_string_equal(s.timing, texts[i][1]);
	}
	unsetenv("PTL_NIC_TIMING");
}

/* --- what is printed --- */

/* The library warns once in a process: this test comes first, and has all the misspelt names. */
static void unknown_variables_are_named_once_with_the_nearest_name(void **state)
{
	static const char *const expected[][2] = {
		{"PTL_NIC_MOED", "PTL_NIC_MODE"},
		{"PTL_TRANSPROT", "PTL_TRANSPORT"},
		{"PTL_INTERFACE", "PTL_IFACE"},
		{"PTL_SHORTMAX", "PTL_SHORT_MAX"},
		{"PTL_CONECT_TIMEOUT", "PTL_CONNECT_TIMEOUT"},
		{"PTL_LOGG", "PTL_LOG"},
		{"PTL_spin", "PTL_SPIN"},
		{"PTL_NIC_CPU", "PTL_NIC_CPUS"},
	};
	const int count = sizeof(expected) / sizeof(expected[0]);
	struct settings settings;

	(void)state;
	for (int i = 0; i < count; i++)
		setenv(expected[i][0], "1", 1);
	setenv("PTL_LINGER", "2s", 1);
	setenv("PTL_NOSUCH", "1", 1); /* has nothing but the beginning in common with any */
	setenv("MY_PTL_LOG", "1", 1);
	assert_int_equal(settings_read(&settings), 0);
	for (int i = 0; i < count; i++) {
		char line[200];

		snprintf(line, sizeof(line),
			 "portals3: warning: unknown variable %s in the environment; did you mean %s?\n",
			 expected[i][0], expected[i][1]);
		assert_non_null(strstr(text_so_far(), line));
	}
	assert_non_null(
		strstr(text_so_far(), "unknown variable PTL_NOSUCH in the environment; \"ptlbench info\" lists"));
	assert_int_equal(lines_so_far(), count + 1);
	assert_int_equal(settings_read(&settings), 0);
	assert_int_equal(lines_so_far(), count + 1);
}

static void reports_are_printed_as_loudly_as_the_log_setting_asks(void **state)
{
	static const char *const words[] = {"off", "error", "warn", "info", "debug"};
	struct settings settings;

	(void)state;
	for (int asked = LOG_OFF; asked <= LOG_DEBUG; asked++) {
		setenv("PTL_LOG", words[asked], 1);
		assert_int_equal(settings_read(&settings), 0);
		for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
			char text[64];

			snprintf(text, sizeof(text), "asked %d, level %d", asked, level);
			report((enum log_level)level, "%s", text);
			assert_int_equal(strstr(text_so_far(), text) != NULL, level <= asked);
		}
	}
}

/* Also where that is the first call of all, and whatever order the variables come in. */
static void a_senseless_setting_is_printed_even_if_nobody_asks_for_its_text(void **state)
{
	static const char *const levels[] = {NULL, "off", "error", "warn"};
	struct settings settings;

	(void)state;
	setenv("PTL_NIC_MODE", "lazy", 1);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		int before = lines_so_far();

		unsetenv("PTL_LOG");
		if (levels[i])
			setenv("PTL_LOG", levels[i], 1);
		else
			report_set_level(LOG_WARN); /* as in a process that begins */
		assert_int_equal(settings_read(&settings), -EINVAL);
		assert_int_equal(lines_so_far() - before, i != 1);
		assert_non_null(strstr(report_last_error(), "PTL_NIC_MODE=lazy"));
	}
	assert_non_null(strstr(text_so_far(), "portals3: error: PTL_NIC_MODE=lazy makes no sense"));
	unsetenv("PTL_NIC_MODE");
	setenv("PTL_LOG", "loud", 1);
	assert_int_equal(settings_read(&settings), -EINVAL);
	unsetenv("PTL_LOG");
}

static void an_error_is_told_to_the_caller_and_printed_to_those_who_ask_for_more(void **state)
{
	(void)state;
	report_set_level(LOG_WARN);
	assert_int_equal(report_error(-ENODEV, "no device %d", 7), -ENODEV);
	assert_string_equal(report_last_error(), "no device 7");
	assert_string_equal(text_so_far(), "");
	report_set_level(LOG_INFO);
	report_error(-ENODEV, "again: %s", report_last_error());
	assert_string_equal(report_last_error(), "again: no device 7");
	assert_string_equal(text_so_far(), "portals3: info: again: no device 7\n");
	report_set_level(LOG_WARN);
}

static void *meet_error(void *unused)
{
	(void)unused;
	report_error(-EIO, "its own");
	assert_string_equal(report_last_error(), "its own");
	return NULL;
}

static void *fail_on_behalf(void *texts_of_the_caller)
{
	report_error(-EIO, "its own");
	struct report_texts *own = report_into(texts_of_the_caller);

	report_error(-EIO, "what the other thread met");
	report_into(own);
	assert_string_equal(report_last_error(), "its own");
	return NULL;
}

static void *fail_on_behalf_only(void *texts_of_the_caller)
{
	struct report_texts *own = report_into(texts_of_the_caller);

	assert_null(own);
	report_error(-EIO, "what the other thread met");
	report_into(own);
	assert_string_equal(report_last_error(), "");
	report_nothing(-EIO);
	report_error(-EIO, "its own");
	return NULL;
}

static void errors_are_kept_for_the_thread_on_whose_behalf_they_happened(void **state)
{
	void *(*const others[])(void *) = {fail_on_behalf, fail_on_behalf_only};
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 2; i++) {
		report_error(-EIO, "mine");
		assert_int_equal(pthread_create(&thread, NULL, others[i], report_texts()), 0);
		pthread_join(thread, NULL);
		assert_string_equal(report_last_error(), "what the other thread met");
	}
}

static void errors_of_other_threads_are_not_mine(void **state)
{
	pthread_t thread;

	(void)state;
	report_error(-EIO, "mine");
	assert_int_equal(pthread_create(&thread, NULL, meet_error, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(report_last_error(), "mine");
}

static void handler_fails(int signal)
{
	(void)signal;
	report_error(-EDEADLK, "in a handler"); /* NOLINT(bugprone-signal-handler): as a refused call does */
}

static void *fail_in_a_handler_first(void *unused)
{
	(void)unused;
	raise(SIGUSR1);
	assert_string_equal(report_last_error(), "in a handler");
	return NULL;
}

static void a_signal_handler_may_be_the_first_of_its_thread_to_fail(void **state)
{
	pthread_t thread;

	(void)state;
	signal(SIGUSR1, handler_fails);
	assert_int_equal(pthread_create(&thread, NULL, fail_in_a_handler_first, NULL), 0);
	pthread_join(thread, NULL);
	signal(SIGUSR1, SIG_DFL);
}

/* Fails once more after its texts were given back: what a destructor of the program's may do. */
static void fail_at_the_end(void *unused)
{
	meet_error(unused);
}

static void *leave_failing(void *key)
{
	meet_error(NULL);
	pthread_setspecific(*(pthread_key_t *)key, key);
	return NULL;
}

/* By the list of mappings, which an emulator of user programs keeps free of its own. */
static unsigned long kilobytes_mapped(void)
{
	unsigned long first, last, sum = 0;
	FILE *file = fopen("/proc/self/maps", "r");

	assert_non_null(file);
	while (fscanf(file, "%lx-%lx%*[^\n]", &first, &last) == 2)
		sum += (last - first) >> 10;
	fclose(file);
	return sum;
}

static void threads_that_end_leave_no_texts_behind(void **state)
{
	enum { FIRST = 100, THREADS = 2000 };
	unsigned long before = 0;
	pthread_key_t key;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_key_create(&key, fail_at_the_end), 0);
	for (int i = 0; i < FIRST + THREADS; i++) {
		if (i == FIRST)
			before = kilobytes_mapped();
		assert_int_equal(pthread_create(&thread, NULL, leave_failing, &key), 0);
		pthread_join(thread, NULL);
	}
	pthread_key_delete(key);
	assert_true(kilobytes_mapped() < before + THREADS);
}

/* The line of a listing that begins with a variable's name, in `line`. */
static void find_line(const char *listing, const char *variable, char *line, size_t size)
{
	size_t length = strlen(variable);

	for (; *listing; listing += strcspn(listing, "\n"), listing += *listing == '\n')
		if (strncmp(listing, variable, length) == 0 && listing[length] == ' ') {
			snprintf(line, size, "%.*s", (int)strcspn(listing, "\n"), listing);
			return;
		}
	fail_msg("%s is not listed", variable);
}

static void the_listing_shows_value_default_and_meaning_of_every_variable(void **state)
{
	char line[400], value[100], word[100], preset[100];

	(void)state;
	setenv("PTL_SPIN", "7us", 1);
	setenv("PTL_NIC_CPUS", "0-1", 1);
	settings_print(p3_out);
	FOR_EACH_ROW(row)
	{
		const char *set = getenv(row->variable), *in_force = set ? set : row->preset;

		find_line(text_so_far(), row->variable, line, sizeof(line));
		assert_int_equal(sscanf(line + strlen(row->variable), "%99s %99s %99s", value, word, preset), 3);
		assert_string_equal(value, *in_force ? in_force : "\"\"");
		assert_string_equal(word, "default");
		assert_string_equal(preset, *row->preset ? row->preset : "\"\"");
		assert_string_equal(line + strlen(line) - strlen(row->text), row->text);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, listen_to_reports, stop_listening)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unknown_variables_are_named_once_with_the_nearest_name),
		TEST(every_variable_takes_what_its_type_allows_and_refuses_the_rest),
		TEST(an_empty_environment_means_the_defaults),
		TEST(strings_are_kept_when_the_environment_changes),
		TEST(strings_are_read_anew),
		TEST(the_clocks_may_print_or_have_a_file),
		TEST(reports_are_printed_as_loudly_as_the_log_setting_asks),
		TEST(a_senseless_setting_is_printed_even_if_nobody_asks_for_its_text),
		TEST(an_error_is_told_to_the_caller_and_printed_to_those_who_ask_for_more),
		TEST(errors_are_kept_for_the_thread_on_whose_behalf_they_happened),
		TEST(errors_of_other_threads_are_not_mine),
		TEST(a_signal_handler_may_be_the_first_of_its_thread_to_fail),
		TEST(threads_that_end_leave_no_texts_behind),
		TEST(the_listing_shows_value_default_and_meaning_of_every_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
