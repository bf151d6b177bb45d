/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that settings name: which users may read them, what is at their name meanwhile, and that privileges forbid them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_file.h"
#include "base/report.h"

static char folder[] = "/tmp/portals3-private-XXXXXX";
static unsigned long secure;

unsigned long __wrap_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type)
{
	return type == AT_SECURE && secure;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return chdir("/") || rmdir(folder);
}

static int write_text(const char *path, const char *text)
{
	struct private_file file;
	int rc = private_file_open(&file, "PTL_TEST", path);

	if (rc)
		return rc;
	fputs(text, file.out);
	return private_file_close(&file);
}

static void assert_holds(const char *path, const char *text)
{
	char found[64] = "";
	FILE *in = fopen(path, "re");

	assert_non_null(in);
	assert_non_null(fgets(found, sizeof(found), in));
	fclose(in);
	assert_string_equal(found, text);
}

static void a_file_is_ours_alone(void **state)
{
	mode_t before = umask(0);
	struct stat stat;

	(void)state;
	assert_int_equal(write_text("new", "first"), 0);
	assert_int_equal(write_text("new", "second"), 0);
	umask(before);
	assert_int_equal(lstat("new", &stat), 0);
	assert_true(S_ISREG(stat.st_mode) && (stat.st_mode & 07777) == 0600);
	assert_holds("new", "second");
	assert_int_equal(unlink("new"), 0);
}

static void a_link_is_not_followed(void **state)
{
	struct stat stat;

	(void)state;
	assert_int_equal(write_text("victim", "precious"), 0);
	assert_int_equal(symlink("victim", "link"), 0);
	assert_int_equal(write_text("link", "new"), 0);
	assert_holds("victim", "precious");
	assert_holds("link", "new");
	assert_int_equal(lstat("link", &stat), 0);
	assert_true(S_ISREG(stat.st_mode));
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(unlink("victim"), 0);
}

static void what_cannot_be_written_leaves_nothing_behind(void **state)
{
	char longest[PATH_MAX + 8];
	struct private_file file;

	(void)state;
	report_set_level(LOG_OFF);
	assert_int_equal(write_text("nowhere/new", "text"), -ENOENT);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(write_text(longest, "text"), -ENAMETOOLONG);
	/* A folder is in its place. */
	assert_int_equal(mkdir("there", 0700), 0);
	assert_int_equal(private_file_open(&file, "PTL_TEST", "there"), 0);
	assert_int_equal(private_file_close(&file), -EISDIR);
	assert_int_equal(rmdir("there"), 0); /* and the folder of all is empty at the end: remove_folder() */
}

static void privileges_forbid(void **state)
{
	(void)state;
	report_set_level(LOG_OFF);
	secure = 0;
	assert_false(private_file_forbidden("PTL_TRACE"));
	secure = 1;
	assert_true(private_file_forbidden("PTL_TRACE"));
	secure = 0;
}

static void each_interface_of_each_process_has_a_name(void **state)
{
	char path[PATH_MAX], longest[PATH_MAX];

	(void)state;
	assert_true(private_file_name(path, "t", 2130706433, 4242));
	assert_string_equal(path, "t.2130706433.4242.json");
	assert_true(private_file_name(path, "/tmp/t.json", 1, 2));
	assert_string_equal(path, "/tmp/t.1.2.json");
	assert_true(private_file_name(path, ".json", 1, 2));
	assert_string_equal(path, ".json.1.2.json");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(private_file_name(path, longest, 1, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_ours_alone),
		cmocka_unit_test(a_link_is_not_followed),
		cmocka_unit_test(what_cannot_be_written_leaves_nothing_behind),
		cmocka_unit_test(privileges_forbid),
		cmocka_unit_test(each_interface_of_each_process_has_a_name),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
