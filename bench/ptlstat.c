/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: ptlstat [--queues|--trace] PID
 * What the interfaces of a process of this user with PTL_STAT=1 do: base/stat_page.h says how.  The page is believed to be of
 * that layout, but not to be honest: its owner may have fewer rights than the reader (root).
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/stat_page.h"

enum { ANSWERED = 0, NO_PAGE = 1, USAGE = 2, NO_ANSWER = 3 };

static const char usage_text[] =
	"usage: ptlstat [OPTIONS] PID\n"
	"\n"
	"What the interfaces of a process do: a row for each, every interval.  Or, with --queues, its event queues, "
	"match lists,\n"
	"peers, and operations with what they wait for.  PID runs with PTL_STAT=1, and is of this user.  It is neither "
	"stopped nor\n"
	"traced.  If it does not answer in time, what it said last is shown with its age, and what has the interface "
	"that does\n"
	"not answer.  Status 1: there is no such page; 2: usage; 3: no answer, or other readers kept it busy.\n"
	"\n"
	"Options:\n"
	"  --queues       what is there, once, instead of rows\n"
	"  --trace        has it write its timelines as they are now, and says where; it runs with PTL_TRACE=FILE\n"
	"  --stages       the mean time of each stage too, where the stage clocks are on (PTL_NIC_TIMING=1)\n"
	"  --wait S       wait so long for the process to publish and to open an interface (0)\n"
	"  --timeout S    wait so long for an answer (1)\n"
	"  --interval S   between rows (1)\n"
	"  --count N      rows for each interface; 0: until the process ends (0)\n";

struct wish {
	long pid;
	double wait, timeout, interval;
	unsigned long count;
	bool queues, trace, stages;
	uint32_t text; /* what is written into wants_text */
};

/* --- arguments --- */

static _Noreturn void refuse(const char *what)
{
	fprintf(stderr, "ptlstat: %s\n%s", what, usage_text);
	exit(USAGE);
}

static double number(const char *text)
{
	char *end;
	double value = text ? strtod(text, &end) : -1;

	if (!text || *end || !(value >= 0 && value < 1e6))
		refuse("a number of seconds, or of rows, is wanted");
	return value;
}

static struct wish parse(char **at)
{
	struct wish wish = {.timeout = 1, .interval = 1};

	for (at++; *at; at++) {
		if (!strcmp(*at, "--help") || !strcmp(*at, "-h")) {
			fputs(usage_text, stdout);
			exit(0);
		} else if (!strcmp(*at, "--queues")) {
			wish.queues = true;
		} else if (!strcmp(*at, "--trace")) {
			wish.trace = true;
		} else if (!strcmp(*at, "--stages")) {
			wish.stages = true;
		} else if (!strcmp(*at, "--wait")) {
			wish.wait = number(at[1]), at++;
		} else if (!strcmp(*at, "--timeout")) {
			wish.timeout = number(at[1]), at++;
		} else if (!strcmp(*at, "--interval")) {
			wish.interval = number(at[1]), at++;
		} else if (!strcmp(*at, "--count")) {
			wish.count = (unsigned long)number(at[1]), at++;
		} else if (!wish.pid && (wish.pid = strtol(*at, NULL, 10)) > 0 &&
			   strspn(*at, "0123456789") == strlen(*at)) {
			continue;
		} else {
			refuse(*at);
		}
	}
	if (!wish.pid)
		refuse("which process?");
	return wish;
}

/* What other readers, in other pid namespaces too, hardly ask with at the same time. */
static uint32_t make_text(const struct wish *wish)
{
	uint32_t tag = (uint32_t)(monotonic_ns() ^ (uint64_t)getpid() << 12);

	return tag / STAT_TEXTS * STAT_TEXTS + (wish->trace ? STAT_TRACE : STAT_QUEUES);
}

static void rest(double seconds)
{
	struct timespec time = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&time, NULL);
}

/* --- finding the page --- */

/* Does the process call itself so, in its own namespace?  A forked child may still have its parent's page. */
static bool is_called(long pid, uint32_t name)
{
	char path[64], line[256];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	FILE *in = fopen(path, "re");

	while (in && fgets(line, sizeof(line), in)) {
		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		for (char *at = line + 6, *end; strtoul(at, &end, 10) || end != at; at = end)
			found |= strtoul(at, NULL, 10) == name;
	}
	if (in)
		fclose(in);
	return found;
}

/* Nothing is answered any more: the process has called PtlFini, or is no more.  There may be another page. */
static bool has_ended(const struct stat_page *page, long pid)
{
	return atomic_load_explicit(&page->magic, memory_order_acquire) != STAT_PAGE_MAGIC ||
	       !is_called(pid, page->unix_pid);
}

/* Sealed, so that it cannot shrink under us; the memory of a user whose processes we may look at. */
static struct stat_page *map_page(const char *path, long pid)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat_page *page = MAP_FAILED;
	struct stat stat;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return NULL;
	int has = fcntl(fd, F_GET_SEALS);

	if (has >= 0 && (has & seals) == seals && fstat(fd, &stat) == 0 &&
	    (stat.st_uid == geteuid() || geteuid() == 0) && stat.st_size == sizeof(*page))
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return NULL;
	if (!has_ended(page, pid))
		return page;
	munmap(page, sizeof(*page));
	return NULL;
}

static struct stat_page *find_page(long pid)
{
	static const char name[] = "/memfd:" STAT_PAGE_NAME;
	char folder[64], path[384], link[64];
	struct stat_page *page = NULL;

	snprintf(folder, sizeof(folder), "/proc/%ld/fd", pid);
	DIR *open = opendir(folder);

	for (struct dirent *entry; open && !page && (entry = readdir(open));) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		ssize_t length = readlink(path, link, sizeof(link));

		if (length > (ssize_t)strlen(name) && strncmp(link, name, strlen(name)) == 0)
			page = map_page(path, pid);
	}
	if (open)
		closedir(open);
	return page;
}

/* --- asking --- */

/* True: the answer to this question, or to a later one, is there.  False: not in time, or there will be none. */
static bool ask(struct stat_page *page, const struct wish *wish)
{
	uint64_t until = monotonic_ns() + (uint64_t)(wish->timeout * 1e9);
	const struct timespec pause = {.tv_nsec = 20000000};

	if (wish->queues || wish->trace)
		atomic_store_explicit(&page->wants_text, wish->text, memory_order_relaxed);
	/* Release: what is wanted is there when it is seen. */
	uint32_t request = atomic_fetch_add_explicit(&page->request, 1, memory_order_release) + 1;

	stat_page_wake(&page->request);
	for (;;) {
		uint32_t answered = atomic_load_explicit(&page->answered, memory_order_acquire);

		if ((int32_t)(answered - request) >= 0)
			return true;
		if (monotonic_ns() >= until || has_ended(page, wish->pid))
			return false;
		stat_page_sleep(&page->answered, answered, &pause);
	}
}

/* One answer, whole. */
static void copy_answer(struct stat_page *page, struct stat_page *copy)
{
	uint32_t before;
	int tries = 0;

	do {
		before = atomic_load_explicit(&page->sequence, memory_order_acquire);
		memcpy(copy, page, sizeof(*copy));
		/* Pairs with the release fence of its writer. */
		atomic_thread_fence(memory_order_acquire);
	} while (((before & 1) || atomic_load_explicit(&page->sequence, memory_order_relaxed) != before) &&
		 ++tries < 1000);
	if (copy->text_length > STAT_PAGE_TEXT)
		copy->text_length = STAT_PAGE_TEXT;
}

/* --- showing --- */

static bool any_open(const struct stat_page *copy)
{
	bool open = false;

	for (int i = 0; i < STAT_PAGE_INTERFACES; i++)
		open |= copy->interfaces[i].life != 0;
	return open;
}

static void print_owners(const struct stat_page *copy)
{
	static const char *const owners[] = {"no thread", "a thread inside a Portals call", "its NIC thread",
					     "its NIC thread, asleep", "no thread: it is closed"};

	for (int i = 0; i < STAT_PAGE_INTERFACES; i++)
		if (copy->owners[i])
			printf("interface %d: owned by %s, %u threads inside PtlEQWait or PtlEQPoll\n", i,
			       copy->owners[i] <= 5 ? owners[copy->owners[i] - 1] : "?", copy->hosts_waiting[i]);
}

static void print_age(const struct stat_page *copy, uint64_t at)
{
	if (copy->asking && copy->asking <= STAT_PAGE_INTERFACES)
		printf("interface %u does not answer: it has been owned for %.1f s at least.\n", copy->asking - 1,
		       (double)(monotonic_ns() - copy->asked_at) / 1e9);
	else
		printf("The process does not answer: is it stopped?\n");
	print_owners(copy);
	if (at)
		printf("What it said %.1f s ago:\n", (double)(monotonic_ns() - at) / 1e9);
	else
		printf("It has not said anything yet.\n");
}

static int show_queues(struct stat_page *page, const struct wish *wish)
{
	static struct stat_page copy;
	uint64_t until = monotonic_ns() + (uint64_t)(wish->timeout * 1e9);
	bool answered, ours;

	/* Another reader may have asked for a text meanwhile: the page has room for one. */
	do {
		answered = ask(page, wish);
		copy_answer(page, &copy);
		ours = copy.text_for == wish->text;
	} while (answered && !ours && monotonic_ns() < until);
	if (answered && !ours) {
		printf("The process is busy with what another ptlstat asks: try again.\n");
		return NO_ANSWER;
	}
	if (answered)
		print_owners(&copy);
	else if (has_ended(page, wish->pid))
		printf("The process has finished with Portals, or has ended.\n");
	else
		print_age(&copy, copy.text_at);
	if (ours && copy.text_length == 0)
		printf("The process has no memory for it.\n");
	for (uint32_t i = 0; i < copy.text_length; i++)
		putchar(copy.text[i] == '\n' || isprint((unsigned char)copy.text[i]) ? copy.text[i] : '?');
	if (copy.text_length == STAT_PAGE_TEXT)
		printf("\n... and so on\n");
	return answered ? ANSWERED : NO_ANSWER;
}

static void print_row(int index, const struct stat_interface *now, const struct stat_interface *before, double seconds)
{
	const ptl_nic_counters_t *a = &before->counters, *b = &now->counters;
	double host = (double)(b->driven_by_host - a->driven_by_host),
	       nic = (double)(b->driven_by_nic - a->driven_by_nic);

	printf("%2d %9.0f %9.0f %9.3f %9.3f %7.0f %6.0f %8u %8" PRIu64 " %8u %6u %9" PRIu64 "\n", index,
	       (double)(b->requests_received - a->requests_received) / seconds,
	       (double)(b->requests_sent - a->requests_sent) / seconds,
	       (double)(b->bytes_received - a->bytes_received) / seconds / 1e6,
	       (double)(b->bytes_sent - a->bytes_sent) / seconds / 1e6, (double)(b->sleeps - a->sleeps) / seconds,
	       host + nic > 0 ? 100 * host / (host + nic) : 0, now->entries, now->unread, now->operations, now->peers,
	       b->drops);
}

static void print_stages(const struct stat_interface *now, const struct stat_interface *before)
{
	static const char *const names[] = {
#define STAGE_NAME(name, text, group) text,
		PTL_NIC_STAGES(STAGE_NAME)
#undef STAGE_NAME
	};

	for (int i = 0; i < PTL_STAGE_COUNT; i++) {
		uint64_t count = now->stages[i].count - before->stages[i].count;

		/* Totals of batches are estimates, and may become less. */
		if (count > 0 && now->stages[i].count >= before->stages[i].count &&
		    now->stages[i].ns >= before->stages[i].ns)
			printf("   %-18s %10" PRIu64 " x %9.0f ns\n", names[i], count,
			       (double)(now->stages[i].ns - before->stages[i].ns) / (double)count);
	}
}

static void print_titles(void)
{
	printf("%2s %9s %9s %9s %9s %7s %6s %8s %8s %8s %6s %9s\n", "if", "recv/s", "sent/s", "MB in/s", "MB out/s",
	       "sleep/s", "host %", "entries", "unread", "op'tions", "peers", "dropped");
}

/* Rates since the answer before; an interface's first row is of all the time since it was opened, and has no rates. */
static void show_interface(int i, const struct stat_page *now, const struct stat_page *before, bool stages)
{
	static const struct stat_interface unopened;
	const struct stat_interface *then = &before->interfaces[i];
	double seconds = INFINITY;

	if (!now->interfaces[i].life)
		return;
	if (then->life != now->interfaces[i].life)
		then = &unopened;
	else if (now->at > before->at)
		seconds = (double)(now->at - before->at) / 1e9;
	print_row(i, &now->interfaces[i], then, seconds);
	if (stages)
		print_stages(&now->interfaces[i], then);
}

static int show_rows(struct stat_page *page, const struct wish *wish)
{
	static struct stat_page now, before;

	print_titles();
	for (unsigned long row = 0; wish->count == 0 || row < wish->count;) {
		rest(row ? wish->interval : 0);
		bool answered = ask(page, wish);

		if (!answered && has_ended(page, wish->pid)) {
			munmap(page, sizeof(*page));
			if (!(page = find_page(wish->pid)))
				return ANSWERED;
			continue;
		}
		copy_answer(page, &now);
		if (!answered) {
			print_age(&now, now.at);
			return NO_ANSWER;
		}
		for (int i = 0; i < STAT_PAGE_INTERFACES; i++)
			show_interface(i, &now, &before, wish->stages);
		fflush(stdout);
		before = now;
		row++;
	}
	return ANSWERED;
}

/* The page, when an interface is open if that is to be waited for. */
static struct stat_page *await_page(const struct wish *wish)
{
	static struct stat_page copy;
	uint64_t until = monotonic_ns() + (uint64_t)(wish->wait * 1e9);
	struct stat_page *page = NULL;
	struct wish counters = *wish; /* what takes the process time is asked for once, when it is there */

	counters.queues = counters.trace = false;
	for (;;) {
		if (!page)
			page = find_page(wish->pid);
		if (page && wish->wait > 0 && ask(page, &counters))
			copy_answer(page, &copy);
		if (page && has_ended(page, wish->pid)) {
			munmap(page, sizeof(*page));
			page = NULL;
		}
		if ((page && (wish->wait == 0 || any_open(&copy))) || monotonic_ns() >= until)
			return page;
		rest(0.01);
	}
}

int main(int argc, char **argv)
{
	struct wish wish = parse(argv);
	wish.text = make_text(&wish);
	struct stat_page *page = await_page(&wish);

	(void)argc;
	if (!page) {
		fprintf(stderr,
			"ptlstat: process %ld publishes nothing that we may read: does it run, with PTL_STAT=1, and is "
			"it ours?\n",
			wish.pid);
		return NO_PAGE;
	}
	return wish.queues || wish.trace ? show_queues(page, &wish) : show_rows(page, &wish);
}
