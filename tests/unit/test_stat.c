/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: unit-stat [PTLSTAT]
 *
 * The page of PTL_STAT: its end, which other processes cannot put off; its descriptor, whose number the application may have
 * given to something else; and what ptlstat makes of interfaces and pages that come and go.  For ptlstat this process plays a
 * process with a page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <portals3.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stat_page.h"

#define SECONDS 120 /* until something that must happen is missed */

static const char *ptlstat;

/* --- a process that writes into the page --- */

static atomic_int attack; /* 1: when the thread sleeps next; 2: it is about to; 3: it has been woken in vain */

long __real_syscall(long which, long one, long two, long three, long four, long five, long six);
long __wrap_syscall(long which, long one, long two, long three, long four, long five, long six);

/* The request is raised between the thread's look and its sleep, the thread is woken before it sleeps, and the request is set back. */
long __wrap_syscall(long which, long one, long two, long three, long four, long five, long six)
{
	int wanted = 1;

	if (which == SYS_futex && two == FUTEX_WAKE && atomic_load(&attack) == 2) {
		long woken = __real_syscall(which, one, two, three, four, five, six);

		atomic_store(&attack, 3);
		return woken;
	}
	if (which == SYS_futex && two == FUTEX_WAIT && atomic_compare_exchange_strong(&attack, &wanted, 2)) {
		while (atomic_load(&attack) != 3)
			;
		atomic_store((_Atomic uint32_t *)one, (uint32_t)three);
	}
	return __real_syscall(which, one, two, three, four, five, six);
}

static void start(void)
{
	int most;

	setenv("PTL_STAT", "1", 1);
	assert_int_equal(PtlInit(&most), PTL_OK);
}

static void nobody_keeps_the_thread_by_setting_the_request_back(void **state)
{
	(void)state;
	atomic_store(&attack, 1);
	start();
	while (atomic_load(&attack) != 2)
		;
	PtlFini();
	assert_int_equal(atomic_load(&attack), 3);
	atomic_store(&attack, 0);
}

/* --- its descriptor --- */

static int find_descriptor(void)
{
	char path[64], target[128];

	for (int fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t length = readlink(path, target, sizeof(target) - 1);

		if (length <= 0)
			continue;
		target[length] = '\0';
		if (strstr(target, STAT_PAGE_NAME))
			return fd;
	}
	fail_msg("there is no page");
	return -1;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_number_that_is_the_applications_by_now_stays_open(void **state)
{
	int other = open("/dev/null", O_RDONLY), fd;

	(void)state;
	start();
	fd = find_descriptor();
	assert_int_equal(dup2(other, fd), fd);
	pid_t child = fork();

	if (child == 0)
		_exit(is_open(fd) ? 0 : 1);
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	PtlFini();
	assert_true(is_open(fd));
	close(fd);
	close(other);
	start();
	fd = find_descriptor();
	PtlFini();
	assert_false(is_open(fd));
}

static void a_page_says_when_its_life_is_over(void **state)
{
	(void)state;
	start();
	struct stat_page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, find_descriptor(), 0);

	assert_true(page != MAP_FAILED);
	assert_true(atomic_load(&page->magic) == STAT_PAGE_MAGIC);
	PtlFini();
	assert_true(atomic_load(&page->magic) == 0);
	munmap(page, sizeof(*page));
}

/* --- what ptlstat makes of it --- */

struct play {
	struct stat_page *page;
	int fd;
};

static struct play publish(void)
{
	struct play play = {.fd = memfd_create(STAT_PAGE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING)};

	assert_true(play.fd >= 0);
	assert_int_equal(ftruncate(play.fd, sizeof(*play.page)), 0);
	assert_int_equal(fcntl(play.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	play.page = mmap(NULL, sizeof(*play.page), PROT_READ | PROT_WRITE, MAP_SHARED, play.fd, 0);
	assert_true(play.page != MAP_FAILED);
	play.page->unix_pid = (uint32_t)getpid();
	atomic_store(&play.page->magic, STAT_PAGE_MAGIC);
	return play;
}

static void unpublish(struct play play)
{
	atomic_store(&play.page->magic, 0);
	stat_page_wake(&play.page->answered);
	munmap(play.page, sizeof(*play.page));
	close(play.fd);
}

static uint32_t await_question(struct stat_page *page, uint32_t before)
{
	uint32_t request;

	while ((request = atomic_load(&page->request)) == before)
		stat_page_sleep(&page->request, before, NULL);
	return request;
}

static uint32_t answer(struct stat_page *page, uint32_t before, uint32_t life, uint64_t messages)
{
	uint32_t request = await_question(page, before);

	page->at += 1000000000;
	page->interfaces[0].life = life;
	page->interfaces[0].counters.requests_received = messages;
	atomic_store(&page->answered, request);
	stat_page_wake(&page->answered);
	return request;
}

static FILE *run_ptlstat(const char *options)
{
	char command[512];

	snprintf(command, sizeof(command), "%s --timeout 1000 --interval 0 %s %d", ptlstat, options, (int)getpid());
	return popen(command, "r");
}

static double next_rate(FILE *out)
{
	char line[512], *end;

	assert_non_null(fgets(line, sizeof(line), out));
	strtol(line, &end, 10); /* the interface */
	return strtod(end, NULL);
}

static void rates_begin_again_with_an_interface(void **state)
{
	uint32_t asked = 0;
	char title[512];

	(void)state;
	if (!ptlstat)
		skip();
	struct play play = publish();
	FILE *out = run_ptlstat("--count 4");

	asked = answer(play.page, asked, 1, 1000);
	asked = answer(play.page, asked, 1, 1500);
	asked = answer(play.page, asked, 2, 20);
	answer(play.page, asked, 2, 50);
	assert_non_null(fgets(title, sizeof(title), out));
	assert_true(next_rate(out) == 0);
	assert_true(next_rate(out) == 500);
	assert_true(next_rate(out) == 0);
	assert_true(next_rate(out) == 30);
	assert_int_equal(pclose(out), 0);
	unpublish(play);
}

static uint32_t answer_text(struct stat_page *page, uint32_t before, uint32_t text_for, const char *text)
{
	uint32_t request = await_question(page, before);

	page->text_for = text_for;
	page->text_length = (uint32_t)strlen(text);
	memcpy(page->text, text, page->text_length);
	atomic_store(&page->answered, request);
	stat_page_wake(&page->answered);
	return request;
}

/* Two ask at a time: the answer to the other one is there when ours is looked for. */
static void text_for_another_is_not_taken(void **state)
{
	char line[512];

	(void)state;
	if (!ptlstat)
		skip();
	struct play play = publish();
	FILE *out = run_ptlstat("--queues");
	await_question(play.page, 0);
	uint32_t wanted = atomic_load(&play.page->wants_text);

	assert_int_equal(wanted % STAT_TEXTS, STAT_QUEUES);
	uint32_t asked = answer_text(play.page, 0, wanted + STAT_TEXTS, "another's\n");
	await_question(play.page, asked);
	answer_text(play.page, asked, atomic_load(&play.page->wants_text), "its own\n");
	assert_non_null(fgets(line, sizeof(line), out));
	assert_string_equal(line, "its own\n");
	assert_int_equal(pclose(out), 0);
	unpublish(play);
}

/* It waits for no answer of that any longer; here, and where the next page is there already. */
static void a_page_whose_life_is_over_is_left(void **state)
{
	char title[512];

	(void)state;
	if (!ptlstat)
		skip();
	struct play play = publish(), next;
	FILE *out = run_ptlstat("--count 2");
	uint32_t asked = answer(play.page, 0, 1, 1000);

	await_question(play.page, asked);
	close(play.fd);
	next = publish();
	unpublish((struct play){play.page, -1});
	answer(next.page, 0, 2, 20);
	assert_non_null(fgets(title, sizeof(title), out));
	assert_true(next_rate(out) == 0);
	assert_true(next_rate(out) == 0);
	assert_int_equal(pclose(out), 0);

	out = run_ptlstat("");
	asked = answer(next.page, atomic_load(&next.page->request), 2, 20);
	await_question(next.page, asked);
	close(next.fd);
	unpublish((struct play){next.page, -1});
	while (fgets(title, sizeof(title), out))
		;
	assert_int_equal(pclose(out), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_keeps_the_thread_by_setting_the_request_back),
		cmocka_unit_test(a_number_that_is_the_applications_by_now_stays_open),
		cmocka_unit_test(a_page_says_when_its_life_is_over),
		cmocka_unit_test(rates_begin_again_with_an_interface),
		cmocka_unit_test(a_page_whose_life_is_over_is_left),
		cmocka_unit_test(text_for_another_is_not_taken),
	};

	/* A variant of which only some programs are built has it not. */
	ptlstat = argc > 1 && access(argv[1], X_OK) == 0 ? argv[1] : NULL;
	alarm(SECONDS);
	return cmocka_run_group_tests_name("stat", tests, NULL, NULL);
}
