/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pthread_cancel() acts at the cancellation points of the C library.  Linked with the library and a program of tests, this
 * file stands before them all, also where libfabric calls them: a thread that comes to one while it is inside an engine, waits
 * for events, or holds the lock of the process has to have forbidden its cancellation, for no other thread could go on with
 * what it has begun (base/cancel.h).  The first that has not ends the process, and says where it was.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <ifaddrs.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "offload/wait.h"
#include "portals/process_table.h"

static bool may_be_cancelled(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_setcancelstate(before, NULL);
	return before == PTHREAD_CANCEL_ENABLE;
}

static _Noreturn void complain(const char *point)
{
	void *frames[32];
	char text[128];
	int length = snprintf(text, sizeof(text), "cancellation point %s() under ownership, called from\n", point);

	if (write(STDERR_FILENO, text, (size_t)length) == length)
		backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
	abort();
}

static void pass(const char *point)
{
	static _Thread_local bool complaining;

	if (complaining || (!nic_inside() && !nic_waits() && !process_holds_lock()) || !may_be_cancelled())
		return;
	complaining = true;
	complain(point);
}

static void *real(void **function, const char *name)
{
	if (!*function)
		*function = dlsym(RTLD_NEXT, name);
	return *function;
}

/* The names are given to the linker only: headers declare them with attributes, as macros, or for other widths of files. */
#define POINT_NAMED(type, name, symbol, parameters, arguments)                                                         \
	type point_##name parameters __asm__(symbol);                                                                  \
	type point_##name parameters                                                                                   \
	{                                                                                                              \
		static void *function;                                                                                 \
		pass(symbol);                                                                                          \
		return ((type(*) parameters)real(&function, symbol))arguments;                                         \
	}
#define POINT(type, name, parameters, arguments) POINT_NAMED(type, name, #name, parameters, arguments)

POINT(int, accept, (int fd, void *address, socklen_t *length), (fd, address, length))
POINT(int, accept4, (int fd, void *address, socklen_t *length, int flags), (fd, address, length, flags))
POINT(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
      (clock, flags, time, left))
POINT(int, close, (int fd), (fd))
POINT(int, closedir, (DIR * directory), (directory))
POINT(int, connect, (int fd, const void *address, socklen_t length), (fd, address, length))
POINT(int, epoll_pwait, (int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask),
      (fd, events, most, timeout, mask))
POINT(int, epoll_wait, (int fd, struct epoll_event *events, int most, int timeout), (fd, events, most, timeout))
POINT(int, fclose, (FILE * file), (file))
POINT(int, fflush, (FILE * file), (file))
POINT(char *, fgets, (char *text, int size, FILE *file), (text, size, file))
POINT(FILE *, fopen, (const char *path, const char *mode), (path, mode))
POINT(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
POINT(int, fputc, (int byte, FILE *file), (byte, file))
POINT(int, fputs, (const char *text, FILE *file), (text, file))
POINT(size_t, fwrite, (const void *bytes, size_t size, size_t count, FILE *file), (bytes, size, count, file))
POINT(int, fsync, (int fd), (fd))
POINT(int, getaddrinfo, (const char *node, const char *service, const void *hints, void *result),
      (node, service, hints, result))
POINT(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *file), (line, room, end, file))
POINT_NAMED(ssize_t, getdelim_inner, "__getdelim", (char **line, size_t *room, int end, FILE *file),
	    (line, room, end, file))
POINT(int, getifaddrs, (struct ifaddrs * *list), (list))
POINT(int, getnameinfo,
      (const void *address, socklen_t length, char *host, socklen_t host_room, char *service, socklen_t service_room,
       int flags),
      (address, length, host, host_room, service, service_room, flags))
POINT(ssize_t, getrandom, (void *bytes, size_t size, unsigned flags), (bytes, size, flags))
POINT(int, glob, (const char *pattern, int flags, void *failed, void *found), (pattern, flags, failed, found))
POINT(int, msync, (void *start, size_t length, int flags), (start, length, flags))
POINT(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
POINT(DIR *, opendir, (const char *path), (path))
POINT(void, perror, (const char *text), (text))
POINT(int, poll, (struct pollfd * set, nfds_t count, int timeout), (set, count, timeout))
POINT_NAMED(int, poll_chk, "__poll_chk", (struct pollfd * set, nfds_t count, int timeout, size_t room),
	    (set, count, timeout, room))
POINT(int, ppoll, (struct pollfd * set, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
      (set, count, timeout, mask))
POINT(ssize_t, pread, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at))
POINT(ssize_t, pread64, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at))
POINT(int, pselect, (int count, void *in, void *out, void *other, const struct timespec *timeout, const sigset_t *mask),
      (count, in, out, other, timeout, mask))
POINT(int, pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *lock, const struct timespec *until),
      (condition, lock, until))
POINT(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *lock), (condition, lock))
POINT(int, pthread_join, (pthread_t thread, void **result), (thread, result))
POINT(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
POINT(ssize_t, pwrite64, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
POINT(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size))
POINT_NAMED(ssize_t, read_chk, "__read_chk", (int fd, void *bytes, size_t size, size_t room), (fd, bytes, size, room))
POINT(void *, readdir, (DIR * directory), (directory))
POINT(void *, readdir64, (DIR * directory), (directory))
POINT(ssize_t, readv, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
POINT(ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
POINT_NAMED(ssize_t, recv_chk, "__recv_chk", (int fd, void *bytes, size_t size, size_t room, int flags),
	    (fd, bytes, size, room, flags))
POINT(ssize_t, recvfrom, (int fd, void *bytes, size_t size, int flags, void *address, socklen_t *length),
      (fd, bytes, size, flags, address, length))
POINT(int, recvmmsg, (int fd, void *messages, unsigned count, int flags, struct timespec *timeout),
      (fd, messages, count, flags, timeout))
POINT(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
POINT(int, scandir, (const char *path, void *entries, void *wanted, void *order), (path, entries, wanted, order))
POINT(int, scandir64, (const char *path, void *entries, void *wanted, void *order), (path, entries, wanted, order))
POINT(int, select, (int count, void *in, void *out, void *other, void *timeout), (count, in, out, other, timeout))
POINT(int, sem_timedwait, (sem_t * semaphore, const struct timespec *until), (semaphore, until))
POINT(int, sem_wait, (sem_t * semaphore), (semaphore))
POINT(ssize_t, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags))
POINT(int, sendmmsg, (int fd, void *messages, unsigned count, int flags), (fd, messages, count, flags))
POINT(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
POINT(ssize_t, sendto, (int fd, const void *bytes, size_t size, int flags, const void *address, socklen_t length),
      (fd, bytes, size, flags, address, length))
POINT(unsigned, sleep, (unsigned seconds), (seconds))
POINT(int, usleep, (useconds_t time), (time))
POINT(int, vfprintf, (FILE * file, const char *format, va_list arguments), (file, format, arguments))
POINT_NAMED(int, vfprintf_chk, "__vfprintf_chk", (FILE * file, int flag, const char *format, va_list arguments),
	    (file, flag, format, arguments))
POINT(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
POINT(ssize_t, writev, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))

/* Their third argument is not always there; then what is passed on for it is not looked at. */
POINT(int, fcntl, (int fd, int what, void *argument), (fd, what, argument))
POINT(int, fcntl64, (int fd, int what, void *argument), (fd, what, argument))
POINT(int, open, (const char *path, int flags, unsigned mode), (path, flags, mode))
POINT(int, open64, (const char *path, int flags, unsigned mode), (path, flags, mode))

int point_fprintf(FILE *file, const char *format, ...) __asm__("fprintf");
int point_fprintf(FILE *file, const char *format, ...)
{
	va_list arguments;

	pass("fprintf");
	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is */
	int length = vfprintf(file, format, arguments);
	va_end(arguments);
	return length;
}

int point_fprintf_chk(FILE *file, int flag, const char *format, ...) __asm__("__fprintf_chk");
int point_fprintf_chk(FILE *file, int flag, const char *format, ...)
{
	va_list arguments;

	(void)flag;
	pass("fprintf");
	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is */
	int length = vfprintf(file, format, arguments);
	va_end(arguments);
	return length;
}
