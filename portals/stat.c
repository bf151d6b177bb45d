/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers ptlstat, in a thread of its own that sleeps until it is asked.  It makes ordinary calls: an engine's owner, its NIC
 * thread or a host, runs them, or this thread if there is none, so the answer is one moment's state in every mode.  The owner of
 * each engine is written before it is asked: if it is never given back, this thread waits there, and that has told.
 *
 * As with the signal's thread (dump_signal.c), PtlFini waits for it under the process's lock, which it never wants: for the
 * end of an answer, that is for engines, whose ends PtlFini would wait for next, and for nothing that other processes do.
 */
#include "portals/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "base/private_file.h"
#include "base/report.h"
#include "base/stat_page.h"
#include "offload/results.h"
#include "offload/spawn.h"
#include "portals/dump.h"
#include "portals/process_table.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

#define WAKE_AGAIN_NS 10000000

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

_Static_assert(STAT_PAGE_INTERFACES == MAX_INTERFACES, "a place for each interface");

static struct {
	struct stat_page *page; /* NULL: none */
	int fd;
	struct stat
		identity; /* of what it was when it was made: the application may have closed it, and its number is another's */
	pthread_t thread;
	_Atomic bool over;
	struct stat_interface answer[MAX_INTERFACES]; /* put together here; the thread's */
} own = {.fd = -1};

/* --- the answer --- */

static int read_numbers(struct nic *nic, void *argument)
{
	struct stat_interface *out = argument;
	struct event_queue *eq;

	*out = (struct stat_interface){.nid = nic->self.id.nid,
				       .pid = nic->self.id.pid,
				       .entries = nic->objects.entries.live,
				       .descriptors = nic->objects.descriptors.live,
				       .queues = nic->objects.queues.live,
				       .operations = nic->objects.operations.live,
				       .peers = nic->peers.count};
	out->counters = *nic_counters(nic);
	for (uint32_t i = 0; (eq = pool_next(&nic->objects.queues, &i));)
		out->unread += event_unread(eq);
	return 0;
}

static void read_stages(const struct nic *nic, struct stat_interface *out)
{
	ptl_nic_timing_t timing;

	if (!timing_on(&nic->timing))
		return;
	timing_read(&nic->timing, &timing);
	for (int i = 0; i < PTL_STAGE_COUNT; i++) {
		out->stages[i].count = timing.stage[i].count;
		/* Of a stage that takes next to nothing batches may say a little less. */
		out->stages[i].ns = timing.stage[i].total > 0 ? (uint64_t)timing.stage[i].total : 0;
	}
}

static struct nic *interface(int i)
{
	return process_nic(handle_make(HANDLE_NI, (uint32_t)i, 0, 0));
}

static void show_owners(struct stat_page *page)
{
	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = interface(i);
		uintptr_t owner = nic ? atomic_load_explicit(&nic->own, memory_order_relaxed) & NIC_OWNER_MASK : 0;

		atomic_store_explicit(&page->owners[i], nic ? (uint32_t)owner + 1 : 0, memory_order_relaxed);
		atomic_store_explicit(&page->hosts_waiting[i],
				      nic ? atomic_load_explicit(&nic->hosts.waiting, memory_order_relaxed) : 0,
				      memory_order_relaxed);
	}
}

static void write_text(struct nic *nic, uint32_t wanted, FILE *out)
{
	if (wanted % STAT_TEXTS == STAT_TRACE)
		results_trace(nic, out);
	else
		dump_interface(nic, out);
}

/* NULL: no memory. */
static char *ask_engines(struct stat_page *page, uint32_t wanted)
{
	char *text = NULL;
	size_t size;
	FILE *out = wanted % STAT_TEXTS != STAT_NONE ? open_memstream(&text, &size) : NULL;

	memset(own.answer, 0, sizeof(own.answer));
	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = interface(i);

		if (!nic)
			continue;
		atomic_store_explicit(&page->asked_at, monotonic_ns(), memory_order_relaxed);
		/* Release: a reader that sees it sees since when. */
		atomic_store_explicit(&page->asking, (uint32_t)i + 1, memory_order_release);
		if (nic_call(nic, read_numbers, &own.answer[i]))
			continue;
		own.answer[i].life = atomic_load_explicit(&process_table.lives[i], memory_order_relaxed) + 1;
		read_stages(nic, &own.answer[i]);
		if (out)
			write_text(nic, wanted, out);
	}
	atomic_store_explicit(&page->asking, 0, memory_order_relaxed);
	if (out && fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static void write_answer(struct stat_page *page, uint32_t wanted, const char *text)
{
	uint32_t sequence = atomic_load_explicit(&page->sequence, memory_order_relaxed);

	atomic_store_explicit(&page->sequence, sequence | 1, memory_order_relaxed);
	/* Pairs with the acquire fence of a reader, before it looks again whether that was odd. */
	atomic_thread_fence(memory_order_release);
	uint64_t now = monotonic_ns();

	page->at = now;
	memcpy(page->interfaces, own.answer, sizeof(own.answer));
	if (wanted % STAT_TEXTS != STAT_NONE) {
		uint32_t length = text ? (uint32_t)strnlen(text, STAT_PAGE_TEXT) : 0; /* 0: no memory for one */

		page->text_at = now;
		page->text_for = wanted;
		page->text_length = length;
		if (text)
			memcpy(page->text, text, length); /* not what the page says: others may write it */
	}
	atomic_store_explicit(&page->sequence, (sequence | 1) + 1, memory_order_release);
}

static void answer(struct stat_page *page, uint32_t request)
{
	uint32_t wanted = atomic_exchange_explicit(&page->wants_text, STAT_NONE, memory_order_relaxed);

	show_owners(page);
	char *text = ask_engines(page, wanted);

	write_answer(page, wanted, text);
	free(text);
	/* Release: a thread that sees it sees the answer. */
	atomic_store_explicit(&page->answered, request, memory_order_release);
	stat_page_wake(&page->answered);
}

static void *run(void *argument)
{
	struct stat_page *page = argument;
	uint32_t done = 0;

	cancel_forbid();
	while (!atomic_load_explicit(&own.over, memory_order_acquire)) {
		/* Acquire pairs with the release of the process that asks: what it wants is there. */
		uint32_t request = atomic_load_explicit(&page->request, memory_order_acquire);

		if (request == done) {
			stat_page_sleep(&page->request, done, NULL);
			continue;
		}
		answer(page, request);
		done = request;
	}
	return NULL;
}

/* --- its life --- */

static int make_memory(void)
{
	int fd = memfd_create(STAT_PAGE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* kernels before 6.3 */
		fd = memfd_create(STAT_PAGE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

static int publish(void)
{
	own.fd = make_memory();
	if (own.fd < 0 || fstat(own.fd, &own.identity) || fchmod(own.fd, 0600) ||
	    ftruncate(own.fd, sizeof(struct stat_page)) || fcntl(own.fd, F_ADD_SEALS, SEALS))
		return -errno;
	void *start = mmap(NULL, sizeof(struct stat_page), PROT_READ | PROT_WRITE, MAP_SHARED, own.fd, 0);

	if (start == MAP_FAILED)
		return -errno;
	own.page = start;
	own.page->unix_pid = (uint32_t)getpid();
	snprintf(own.page->version, sizeof(own.page->version), "%s", PORTALS_VERSION);
	madvise(start, sizeof(struct stat_page), MADV_DONTFORK);
	atomic_store_explicit(&own.over, false, memory_order_relaxed);
	int rc = nic_spawn(&own.thread, run, start, "serve PTL_STAT");

	if (rc == 0)
		atomic_store_explicit(&own.page->magic, STAT_PAGE_MAGIC, memory_order_release);
	return rc;
}

static bool is_still_ours(int fd)
{
	struct stat now;

	return fd >= 0 && fstat(fd, &now) == 0 && now.st_ino == own.identity.st_ino &&
	       now.st_dev == own.identity.st_dev;
}

static void deregister(void)
{
	if (own.page)
		munmap(own.page, sizeof(*own.page));
	if (is_still_ours(own.fd))
		close(own.fd);
	own.page = NULL;
	own.fd = -1;
}

void stat_open(bool wanted)
{
	UNCANCELLED;
	int rc;

	if (!wanted || own.page || private_file_forbidden("PTL_STAT") || (rc = publish()) == 0)
		return;
	report(LOG_WARN, "PTL_STAT: nothing is published: %s%s", strerror(-rc), report_descriptor_hint(rc));
	deregister();
}

/*
 * Any process of the user may set `request` back between our raising it and the thread's last look before it sleeps.  So the
 * thread is woken until it has ended: when it has slept once more, it sees `over`.
 */
static void join_thread(void)
{
	struct timespec until;

	do {
		atomic_fetch_add_explicit(&own.page->request, 1, memory_order_release);
		stat_page_wake(&own.page->request);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WAKE_AGAIN_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	} while (pthread_timedjoin_np(own.thread, NULL, &until) == ETIMEDOUT);
}

void stat_close(bool forked)
{
	UNCANCELLED;

	if (!own.page || forked)
		return;
	/* Release pairs with the acquire in run(). */
	atomic_store_explicit(&own.over, true, memory_order_release);
	join_thread();
	/* ptlstat waits for an answer no longer. */
	atomic_store_explicit(&own.page->magic, 0, memory_order_release);
	stat_page_wake(&own.page->answered);
	deregister();
}

void stat_forked(void)
{
	/* Its memory was not inherited, and whatever is at that address now is another's. */
	own.page = NULL;
	deregister();
}
