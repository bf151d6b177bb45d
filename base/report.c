/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/report.h"

#include <errno.h>
#include <p3utils.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cancel.h"

FILE *p3_out;

static _Atomic int level_now = LOG_WARN;
static _Atomic bool errors_aloud;

#define TEXT_SIZE 512
#define FEW       8 /* descriptors, so that whoever could not say what was missing may have meant them */

static _Thread_local char own_text[TEXT_SIZE];
static _Thread_local char *other_text; /* of the thread for which this one works just now */

static char *last_error(void)
{
	return other_text ? other_text : own_text;
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

static void keep(const char *format, va_list arguments)
{
	char text[TEXT_SIZE]; /* arguments may point into the text that is kept */

	vsnprintf(text, sizeof(text), format, arguments);
	snprintf(last_error(), TEXT_SIZE, "%s", text);
}

/* An error is the caller's to tell, so it is printed only by those who ask for everything. */
int report_error(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	keep(format, arguments);
	va_end(arguments);
	print(atomic_load_explicit(&errors_aloud, memory_order_relaxed) ? LOG_ERROR : LOG_INFO, last_error());
	return error;
}

/* Few programs tell what is wrong with their environment, and nobody else could. */
int report_setting(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	keep(format, arguments);
	va_end(arguments);
	print(LOG_ERROR, last_error());
	return error;
}

int report_kept(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	keep(format, arguments);
	va_end(arguments);
	return error;
}

int report_nothing(int error)
{
	last_error()[0] = '\0';
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
	static _Thread_local char text[128];
	struct rlimit limit;

	if (error != -ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return "";
	snprintf(text, sizeof(text), "; this process may lock %llu KiB in all: raise RLIMIT_MEMLOCK (ulimit -l)",
		 (unsigned long long)limit.rlim_cur >> 10);
	return text;
}

/* Whether so many more descriptors can be had now. */
static bool can_open(int count)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	bool more = fd >= 0 && (count == 1 || can_open(count - 1));

	if (fd >= 0)
		close(fd);
	return more;
}

int report_cause(int error)
{
	UNCANCELLED; /* for close(); callers may own an engine */

	return (error == -EIO || error == -ELIBACC) && !can_open(FEW) ? -EMFILE : error;
}

const char *report_descriptor_hint(int error)
{
	static _Thread_local char text[128];
	struct rlimit limit;

	error = report_cause(error);
	if (error == -ENFILE)
		return "; the whole system has as many open as it may: raise fs.file-max";
	if (error != -EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return "";
	snprintf(text, sizeof(text), "; this process may have %llu descriptors: raise RLIMIT_NOFILE (ulimit -n)",
		 (unsigned long long)limit.rlim_cur);
	return text;
}

char *report_own_text(void)
{
	return last_error();
}

void report_into(char *text)
{
	other_text = text;
}

const char *report_last_error(void)
{
	return last_error();
}
