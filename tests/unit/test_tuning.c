/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning files, good and bad: what is read, what is written, what stays, and what becomes of short limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/report.h"
#include "base/settings.h"
#include "transports/transport.h"
#include "transports/tuning.h"

extern FILE *p3_out;

static bool secure;
static struct tuning tuning;
static char folder[] = "/tmp/portals3-tuning-XXXXXX", path[64], *printed;
static size_t printed_length;

unsigned long __wrap_getauxval(unsigned long type);

unsigned long __wrap_getauxval(unsigned long type)
{
	return type == AT_SECURE && secure;
}

/* What another process does just before this one has the lock; or there is always one that holds it. */
static void (*before_lock)(void);
static bool locked_for_ever;
static unsigned pauses;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names. */
int __wrap_flock(int fd, int operation);
int __real_flock(int fd, int operation);
int __wrap_nanosleep(const struct timespec *, struct timespec *);

int __wrap_flock(int fd, int operation)
{
	void (*act)(void) = operation == LOCK_UN ? NULL : before_lock;

	if (locked_for_ever && operation != LOCK_UN) {
		errno = EWOULDBLOCK;
		return -1;
	}
	if (act) {
		before_lock = NULL;
		act();
	}
	return __real_flock(fd, operation);
}

int __wrap_nanosleep(const struct timespec *pause, struct timespec *rest)
{
	(void)pause, (void)rest;
	pauses++;
	return 0;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static int begin(void **state)
{
	(void)state;
	memset(&tuning, 0, sizeof(tuning));
	p3_out = open_memstream(&printed, &printed_length);
	return !p3_out;
}

static int finish(void **state)
{
	(void)state;
	fclose(p3_out);
	free(printed);
	p3_out = NULL;
	unlink(path);
	return 0;
}

static void write_text(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(path, 0600);
}

static void read_it(void)
{
	memset(&tuning, 0xff, sizeof(tuning));
	tuning_read(&tuning, path);
	fflush(p3_out);
}

static bool is_empty(void)
{
	static const struct tuning nothing;

	return memcmp(&tuning, &nothing, sizeof(tuning)) == 0;
}

static void expect_refusal(const char *why)
{
	long before = ftell(p3_out);

	read_it();
	if (!strstr(printed + before, why) || !strstr(printed + before, path))
		fail_msg("\"%s\" instead of \"%s\"", printed + before, why);
	assert_true(is_empty());
}

/* What is written here, with one text in it replaced. */
static void write_changed(const char *from, const char *to)
{
	char text[4096], changed[8192];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	char *at = strstr(text, from);

	assert_non_null(at);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	write_text(changed);
}

static const struct tuning some = {.node = {[2] = {.ns = {0, 3000, 0, 2000}, .way = NODE_STAGED},
					    [10] = {.ns = {0, 0, UINT32_MAX, 0}, .way = NODE_SPLIT}},
				   .shorts = {{"node", 8192}, {"ofi:tcp", UINT32_MAX}, {"ofi:net", 0}},
				   .short_count = 3};

static void write_some(void)
{
	assert_int_equal(tuning_write(&some, path), 0);
}

static void what_was_written_is_read(void **state)
{
	struct stat status;

	(void)state;
	assert_int_equal(tuning_write(&tuning, path), 0); /* it says nothing, nothing is written */
	assert_int_equal(access(path, F_OK), -1);
	write_some();
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	read_it();
	assert_string_equal(printed, "");
	assert_memory_equal(&tuning, &some, sizeof(tuning));
}

static void what_is_not_written_anew_stays(void **state)
{
	const struct tuning more = {
		.node = {[3] = {.ns = {0, 1, 0, 0}, .way = NODE_ALONE}, [10] = {.way = NODE_STAGED}},
		.shorts = {{"ofi:tcp", 1000}, {"ofi:shm", 4}},
		.short_count = 2};

	(void)state;
	write_some();
	assert_int_equal(tuning_write(&more, path), 0);
	read_it();
	assert_string_equal(printed, "");
	assert_memory_equal(&tuning.node[2], &some.node[2], sizeof(some.node[2]));
	assert_memory_equal(&tuning.node[3], &more.node[3], sizeof(more.node[3]));
	assert_memory_equal(&tuning.node[10], &more.node[10], sizeof(more.node[10]));
	assert_int_equal(tuning.short_count, 4);
	assert_int_equal(tuning.shorts[0].bytes, 8192);
	assert_int_equal(tuning.shorts[1].bytes, 1000);
	assert_int_equal(tuning.shorts[3].bytes, 4);
	assert_string_equal(tuning.shorts[3].transport, "ofi:shm");
}

static void a_file_of_another_machine_is_replaced(void **state)
{
	const struct tuning more = {.shorts = {{"node", 1}}, .short_count = 1};

	(void)state;
	write_some();
	write_changed("\"cpu\": \"", "\"cpu\": \"Another ");
	assert_int_equal(tuning_write(&more, path), 0);
	read_it();
	assert_string_equal(printed, "");
	assert_memory_equal(&tuning, &more, sizeof(tuning));
}

static void of_processes_that_write_at_a_time_none_is_lost(void **state)
{
	const struct tuning more = {.shorts = {{"ofi:shm", 4}}, .short_count = 1};

	(void)state;
	before_lock = write_some;
	assert_int_equal(tuning_write(&more, path), 0);
	assert_null(before_lock);
	read_it();
	assert_int_equal(tuning.short_count, 4);
	assert_string_equal(tuning.shorts[3].transport, "ofi:shm");
}

static void a_lock_that_another_program_keeps_stops_nothing(void **state)
{
	(void)state;
	locked_for_ever = true;
	pauses = 0;
	write_some();
	locked_for_ever = false;
	assert_true(pauses > 0);
	read_it();
	assert_memory_equal(&tuning, &some, sizeof(tuning));
}

static void expect_left(const char *why)
{
	char before[4096], after[4096];
	long printed_before = ftell(p3_out);
	struct stat status, later;

	assert_int_equal(lstat(path, &status), 0);
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	before[fread(before, 1, sizeof(before) - 1, file)] = '\0';
	fclose(file);
	assert_int_equal(tuning_write(&some, path), -EEXIST);
	fflush(p3_out);
	if (!strstr(printed + printed_before, "is left as it is") || !strstr(printed + printed_before, why))
		fail_msg("\"%s\" instead of \"%s\"", printed + printed_before, why);
	assert_int_equal(lstat(path, &later), 0);
	assert_int_equal(later.st_ino, status.st_ino);
	assert_int_equal(later.st_mode, status.st_mode);
	assert_non_null((file = fopen(path, "r")));
	after[fread(after, 1, sizeof(after) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(after, before);
}

static void what_cannot_be_read_is_not_replaced(void **state)
{
	char target[80];

	(void)state;
	write_some();
	chmod(path, 0664);
	expect_left("others than its reader may write it");
	write_changed("\"way\"", "\"wya\"");
	expect_left("\"from\", \"way\" or \"ns\" is wanted");
	write_text("{\"node\": [{\"from\": 4096, \"way\": \"split\"}]}");
	expect_left("is 0, 2 is wanted");
	snprintf(target, sizeof(target), "%s.target", path);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	expect_left("symbolic link");
	assert_int_equal(unlink(target), 0);
}

static void what_is_empty_or_of_another_version_is_replaced(void **state)
{
	(void)state;
	write_text("");
	write_some();
	write_text("{\"portals3-tuning\": 3, \"later\": []}");
	write_some();
	write_changed("\"version\": \"", "\"version\": \"9");
	write_some();
	read_it();
	assert_string_equal(printed, "");
	assert_memory_equal(&tuning, &some, sizeof(tuning));
}

static void a_limit_for_which_there_is_no_room_is_told(void **state)
{
	const struct tuning more = {.shorts = {{"one-more", 4}}, .short_count = 1};

	(void)state;
	for (unsigned i = 0; i < TUNING_SHORTS; i++)
		snprintf(tuning.shorts[tuning.short_count++].transport, TUNING_NAME_MAX, "ofi:%u", i);
	assert_int_equal(tuning_write(&tuning, path), 0);
	assert_int_equal(tuning_write(&more, path), 0);
	read_it();
	assert_int_equal(tuning.short_count, TUNING_SHORTS);
	assert_non_null(strstr(printed, "no room for the limit of one-more"));
}

static void figures_of_other_machines_and_versions_are_left_alone(void **state)
{
	(void)state;
	write_some();
	write_changed("\"cpu\": \"", "\"cpu\": \"Another ");
	expect_refusal("processor \"Another ");
	write_some();
	write_changed("\"version\": \"", "\"version\": \"9");
	expect_refusal("version \"9");
	write_some();
	write_changed("tuning\": 2", "tuning\": 1");
	expect_refusal("is 1, 2 is wanted");
}

static void whatever_makes_no_sense_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "it is empty"},
		{"[]", "line 1: { is wanted"},
		{"{\n\"node\" []}", "line 2: : is wanted"},
		{"{\n\n\"nodes\": []}", "line 3: \"portals3-tuning\", \"version\""},
		{"{\"cpu\": 3}", "a string is wanted"},
		{"{\"cpu\": \"a\\\"b\"}", "without escapes"},
		{"{\"cpu\": \"unfinished", "without escapes"},
		{"{\"portals3-tuning\": -1}", "a number is wanted"},
		{"{\"portals3-tuning\": 99999999999999999999}", "below 2^32"},
		{"{\"portals3-tuning\": 1.5}", ", or } is wanted"},
		{"{\"portals3-tuning\": 1} x", "something follows"},
		{"{\"node\": [{\"from\": 5000, \"way\": \"split\"}]}", "power of two"},
		{"{\"node\": [{\"from\": 4096, \"way\": \"pigeon\"}]}", "no such way"},
		{"{\"node\": [{\"from\": 4096, \"to\": 1}]}", "\"from\", \"way\" or \"ns\""},
		{"{\"node\": [{\"from\": 4096, \"ns\": {\"pigeon\": 1}}]}", "no such way"},
		{"{\"node\": [{\"from\": 4096},]}", "{ is wanted"},
		{"{\"node\": [{\"from\": 4096}}", ", or ] is wanted"},
		{"{\"short\": [1]}", "{ is wanted"},
		{"{\"short\": {\"node\": \"8K\"}}", "a number is wanted"},
		{"{\"short\": {\"node\": 4294967296}}", "below 2^32"},
		{"{\"short\": {\"\": 1}}", "1 to 63 bytes"},
		{"{\"short\": {\"0123456789012345678901234567890123456789012345678901234567890123\": 1}}",
		 "1 to 63 bytes"},
		{"{\"short\": {\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1, \"e\": 1, \"f\": 1, \"g\": 1, \"h\": 1, \"i\": "
		 "1,"
		 " \"j\": 1, \"k\": 1, \"l\": 1, \"m\": 1}}",
		 "more than 12"},
		{"{}", "is 0, 2 is wanted"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_text(bad[i].text);
		expect_refusal(bad[i].why);
	}
}

/* Whatever is cut off or changed by a byte is refused or read, but never more than that. */
static void no_damage_to_a_file_does_any(void **state)
{
	char whole[4096], text[4096];

	(void)state;
	write_some();
	FILE *file = fopen(path, "r");
	size_t length = fread(whole, 1, sizeof(whole) - 1, file);

	fclose(file);
	for (size_t i = 0; i < length; i++) {
		memcpy(text, whole, length);
		text[length] = '\0';
		text[i] = '\0';
		write_text(text);
		read_it();
		memcpy(text, whole, length);
		text[i] = (char)(text[i] ^ 1 << i % 7);
		write_text(text);
		read_it();
	}
}

static void files_that_others_chose_or_can_change_are_not_read(void **state)
{
	char target[80], big[20000];

	(void)state;
	expect_refusal("No such file");
	snprintf(target, sizeof(target), "%s.target", path);
	write_some();
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	expect_refusal("symbolic link");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(target, path), 0);
	read_it();
	assert_int_equal(tuning.short_count, 3);
	chmod(path, 0620);
	expect_refusal("others than its reader may write it");
	memset(big, ' ', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	write_text(big);
	expect_refusal("no file of at most");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refusal("no file of at most");
	unlink(path);
}

static void privileges_have_no_file(void **state)
{
	(void)state;
	write_some();
	secure = true;
	read_it();
	assert_non_null(strstr(printed, "PTL_TUNING_FILE is ignored"));
	assert_true(is_empty());
	unlink(path);
	write_some();
	secure = false;
	assert_int_equal(access(path, F_OK), -1);
}

static void what_cannot_be_written_is_told_and_leaves_nothing(void **state)
{
	char nowhere[80];

	(void)state;
	snprintf(nowhere, sizeof(nowhere), "%s/no/folder", folder);
	assert_int_equal(tuning_write(&some, nowhere), -ENOENT);
	fflush(p3_out);
	assert_non_null(strstr(printed, "cannot be written"));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(tuning_write(&some, path) < 0);
	fflush(p3_out);
	assert_non_null(strstr(printed, "is left as it is"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0); /* it is empty */
	assert_int_equal(mkdir(folder, 0700), 0);
}

/* --- short limits --- */

static void expect_limit(uint64_t setting, const char *transport, uint64_t bytes, const char *description)
{
	struct transport_limits limits = {.short_max = 4096};
	char text[64];

	tuning_limit(&some, setting, transport, &limits);
	assert_int_equal(limits.payload_max, bytes);
	tuning_describe_limit(&limits, text, sizeof(text));
	assert_string_equal(text, description);
}

static void the_environment_goes_before_the_file(void **state)
{
	(void)state;
	expect_limit(SETTING_AUTO, "node", 8192, " (payload 8192: PTL_TUNING_FILE)");
	expect_limit(100, "node", 100, " (payload 100: PTL_SHORT_MAX)");
	expect_limit(0, "ofi:tcp", 0, " (payload 0: PTL_SHORT_MAX)");
	expect_limit(SETTING_AUTO, "ofi:net", 0, " (payload 0: PTL_TUNING_FILE)");
	expect_limit(SETTING_AUTO, "ofi:verbs", SETTING_AUTO, "");
}

static void what_a_transport_cannot_do_is_told(void **state)
{
	struct transport_limits limits = {.short_max = 8192 + 64, .header_room = 64};

	(void)state;
	tuning_limit(&some, SETTING_AUTO, "node", &limits);
	tuning_check("node", &limits);
	tuning_limit(&some, 1u << 30, "node", &limits);
	tuning_check("node", &limits);
	fflush(p3_out);
	assert_string_equal(printed, "");
	limits.short_max--;
	tuning_limit(&some, SETTING_AUTO, "node", &limits);
	tuning_check("node", &limits);
	fflush(p3_out);
	assert_non_null(strstr(printed, "node cannot send 8192 bytes with their header, but only 8191"));
}

static void only_what_was_set_is_noted(void **state)
{
	struct transport_limits limits = {.short_max = 4096 + 64, .header_room = 64};

	(void)state;
	tuning_limit(NULL, SETTING_AUTO, "node", &limits);
	tuning_note_limit(&tuning, "node", &limits);
	tuning_limit(&some, SETTING_AUTO, "node", &limits);
	tuning_note_limit(&tuning, "node", &limits);
	assert_int_equal(tuning.short_count, 0);
	tuning_limit(&some, 1u << 30, "node", &limits);
	tuning_note_limit(&tuning, "node", &limits);
	tuning_limit(&some, 0, "ofi:tcp", &limits);
	tuning_note_limit(&tuning, "ofi:tcp", &limits);
	assert_int_equal(tuning.short_count, 2);
	assert_int_equal(tuning.shorts[0].bytes, 4096); /* as much as there is */
	assert_int_equal(tuning.shorts[1].bytes, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_written_is_read),
		TEST(what_is_not_written_anew_stays),
		TEST(a_file_of_another_machine_is_replaced),
		TEST(of_processes_that_write_at_a_time_none_is_lost),
		TEST(a_lock_that_another_program_keeps_stops_nothing),
		TEST(what_cannot_be_read_is_not_replaced),
		TEST(what_is_empty_or_of_another_version_is_replaced),
		TEST(a_limit_for_which_there_is_no_room_is_told),
		TEST(figures_of_other_machines_and_versions_are_left_alone),
		TEST(whatever_makes_no_sense_is_told_with_its_line),
		TEST(no_damage_to_a_file_does_any),
		TEST(files_that_others_chose_or_can_change_are_not_read),
		TEST(privileges_have_no_file),
		TEST(what_cannot_be_written_is_told_and_leaves_nothing),
		TEST(the_environment_goes_before_the_file),
		TEST(what_a_transport_cannot_do_is_told),
		TEST(only_what_was_set_is_noted),
	};

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/file", folder);
	report_set_level(LOG_WARN);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rmdir(folder);
	return failed;
}
