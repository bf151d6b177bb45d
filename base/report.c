/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/report.h"

#include <errno.h>
#include <p3utils.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cancel.h"

FILE *p3_out;

static _Atomic int level_now = LOG_WARN;
static _Atomic bool errors_aloud;

#define TEXT_SIZE 512
#define HINT_SIZE 192
#define KEYS      32 /* of a thread, for which glibc has room without an allocation */
#define FEW       8  /* descriptors left, or fewer: a call that failed without a reason may have lacked one */

struct report_texts {
	char last_error[TEXT_SIZE], lock_hint[HINT_SIZE], descriptor_hint[HINT_SIZE];
};

/*
 * Of this thread, or of the one for which it works just now; NULL: it has none yet.  Not in the thread's own storage, where the
 * library may have few bytes only (base/hot.h).  Made from a mapping, because signal handlers come here too.
 */
static _Thread_local _Atomic(struct report_texts *) texts;
static struct report_texts everybodys; /* of threads for which there is no memory */
static pthread_key_t end_of_thread;
static _Atomic bool ends_are_told; /* threads may be at work while the process exits */

static void forget_texts(void *mapped)
{
	atomic_store_explicit(&texts, NULL, memory_order_relaxed);
	munmap(mapped, sizeof(struct report_texts));
}

/*
 * Before the process has many keys: what is kept for the first few of them takes no memory, and may be set in signal
 * handlers.
 */
__attribute__((constructor)) static void watch_ends(void)
{
	ends_are_told = pthread_key_create(&end_of_thread, forget_texts) == 0;
}

/* A plug-in with the static library in it may be unloaded: threads that end later must not come here. */
__attribute__((destructor)) static void watch_no_longer(void)
{
	if (atomic_exchange(&ends_are_told, false))
		pthread_key_delete(end_of_thread);
}

static struct report_texts *make_texts(void)
{
	int before = errno;
	struct report_texts *none = NULL, *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
						       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = before;
	if (made == MAP_FAILED)
		return &everybodys;
	/* A handler may have come between. */
	if (!atomic_compare_exchange_strong_explicit(&texts, &none, made, memory_order_relaxed, memory_order_relaxed)) {
		munmap(made, sizeof(*made));
		return none;
	}
	if (ends_are_told)
		pthread_setspecific(end_of_thread, made);
	return made;
}

struct report_texts *report_texts(void)
{
	struct report_texts *now = atomic_load_explicit(&texts, memory_order_relaxed);

	return now ? now : make_texts();
}

void report_prepare(void)
{
	if (!ends_are_told || end_of_thread < KEYS)
		report_texts();
}

struct report_texts *report_into(struct report_texts *other)
{
	struct report_texts *before = atomic_load_explicit(&texts, memory_order_relaxed);

	atomic_store_explicit(&texts, other, memory_order_relaxed);
	return before;
}

static char *last_error(void)
{
	return report_texts()->last_error;
}

void report_set_level(enum log_level level)
{
	atomic_store_explicit(&level_now, level, memory_order_relaxed);
}

bool report_wanted(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&level_now, memory_order_relaxed);
}

void report_errors_aloud(bool aloud)
{
	atomic_store_explicit(&errors_aloud, aloud, memory_order_relaxed);
}

static void print(enum log_level level, const char *text)
{
	static const char *const names[] = {"", "error", "warning", "info", "debug"};
	UNCANCELLED;
	FILE *out = p3_out ? p3_out : stderr;

	if ((int)level <= atomic_load_explicit(&level_now, memory_order_relaxed))
		fprintf(out, "portals3: %s: %s\n", names[level], text);
}

static void keep_error_text(const char *format, va_list arguments)
{
	char text[TEXT_SIZE]; /* arguments may point into the text that is kept */

	vsnprintf(text, sizeof(text), format, arguments);
	snprintf(last_error(), TEXT_SIZE, "%s", text);
}

/* An error is the caller's to tell, so it is printed at the most verbose level only. */
int report_error(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	keep_error_text(format, arguments);
	va_end(arguments);
	print(atomic_load_explicit(&errors_aloud, memory_order_relaxed) ? LOG_ERROR : LOG_INFO, last_error());
	return error;
}

/* Few programs report what is wrong with their environment, and no other code could. */
int report_setting(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	keep_error_text(format, arguments);
	va_end(arguments);
	print(LOG_ERROR, last_error());
	return error;
}

int report_kept(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	keep_error_text(format, arguments);
	va_end(arguments);
	return error;
}

int report_nothing(int error)
{
	struct report_texts *own = atomic_load_explicit(&texts, memory_order_relaxed);

	if (own)
		own->last_error[0] = '\0';
	return error;
}

void report(enum log_level level, const char *format, ...)
{
	char text[TEXT_SIZE];
	va_list arguments;

	if (!report_wanted(level))
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	print(level, text);
}

const char *report_lock_hint(int error)
{
	struct rlimit limit;

	if (error != -ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return "";
	char *text = report_texts()->lock_hint;

	snprintf(text, HINT_SIZE, "; this process may lock %llu KiB in all: raise RLIMIT_MEMLOCK (ulimit -l)",
		 (unsigned long long)limit.rlim_cur >> 10);
	return text;
}

/* What else eventfd() may fail with says nothing about descriptors. */
int report_descriptors(int count)
{
	UNCANCELLED; /* for close(); callers may own an engine */
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	int rc = count > 1 ? report_descriptors(count - 1) : 0;

	close(fd);
	return rc;
}

int report_cause(int error)
{
	int missing = error == -EIO || error == -ELIBACC ? report_descriptors(FEW) : 0;

	return missing ? missing : error;
}

const char *report_descriptor_hint(int error)
{
	struct rlimit limit;

	error = report_cause(error);
	if (error == -ENFILE)
		return "; the whole system has as many open as it may: raise fs.file-max";
	if (error != -EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return "";
	char *text = report_texts()->descriptor_hint;

	snprintf(text, HINT_SIZE, "; this process may have %llu descriptors: raise RLIMIT_NOFILE (ulimit -n)",
		 (unsigned long long)limit.rlim_cur);
	return text;
}

const char *report_last_error(void)
{
	const struct report_texts *own = atomic_load_explicit(&texts, memory_order_relaxed);

	return own ? own->last_error : "";
}
