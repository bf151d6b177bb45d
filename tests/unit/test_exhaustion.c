/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: unit-exhaustion TRANSPORT [STEP]
 *
 * From PtlInit to PtlFini the n-th allocation, mapping, descriptor or thread that the library asks for is refused, for
 * n = 1 to as many as there are (STEP: every so many of them, from a place that changes with the day).  The linker leads
 * these calls here, so that those of libfabric, which is loaded, are not counted.  Each n is a process of its own: it must
 * not crash nor hang, must see no code but PTL_OK and PTL_NO_SPACE, keep no descriptor and no memory, and do everything once
 * more, with success.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <portals3.h>
#include <portals3_nic.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INTERFACES 2
#define LENGTH     100000 /* bytes of a long message */
#define INDEX      4
#define BITS       77
#define SECONDS    120   /* that a process may take */
#define MOST_KEPT  65536 /* allocations at a time */

static atomic_uint asked, refused_at;

static bool refuse(void)
{
	unsigned wanted = atomic_load(&refused_at);

	return wanted && atomic_fetch_add(&asked, 1) + 1 == wanted;
}

#define WRAP(type, name, parameters, arguments, failure, error)                                                        \
	type __real_##name parameters;                                                                                 \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		if (!refuse())                                                                                         \
			return __real_##name arguments;                                                                \
		errno = error;                                                                                         \
		return failure;                                                                                        \
	}

/* What the library has allocated, and no other code. */
static struct {
	pthread_mutex_t lock;
	const void *kept[MOST_KEPT];
	unsigned count;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *keep(void *memory)
{
	pthread_mutex_lock(&heap.lock);
	if (memory && heap.count == MOST_KEPT)
		abort();
	if (memory)
		heap.kept[heap.count++] = memory;
	pthread_mutex_unlock(&heap.lock);
	return memory;
}

static void let_go(const void *memory)
{
	pthread_mutex_lock(&heap.lock);
	for (unsigned i = heap.count; memory && i-- > 0;)
		if (heap.kept[i] == memory) {
			heap.kept[i] = heap.kept[--heap.count];
			break;
		}
	pthread_mutex_unlock(&heap.lock);
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
	let_go(memory);
	__real_free(memory);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
	if (refuse()) {
		errno = ENOMEM;
		return NULL;
	}
	let_go(old); /* the size is never 0, and memory does not run out */
	return keep(__real_realloc(old, size));
}

#define WRAP_KEPT(type, name, parameters, arguments)                                                                   \
	type __real_##name parameters;                                                                                 \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		if (!refuse())                                                                                         \
			return keep(__real_##name arguments);                                                          \
		errno = ENOMEM;                                                                                        \
		return NULL;                                                                                           \
	}

WRAP_KEPT(void *, malloc, (size_t size), (size))
WRAP_KEPT(void *, calloc, (size_t count, size_t size), (count, size))
WRAP_KEPT(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
WRAP(char *, strdup, (const char *text), (text), NULL, ENOMEM) /* which libfabric frees */
WRAP(FILE *, open_memstream, (char **bytes, size_t *size), (bytes, size), NULL, ENOMEM)
WRAP(void *, mmap64, (void *start, size_t length, int protection, int flags, int fd, off_t at),
     (start, length, protection, flags, fd, at), MAP_FAILED, ENOMEM)
WRAP(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE)
WRAP(int, eventfd, (unsigned count, int flags), (count, flags), -1, EMFILE)
WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE)
WRAP(int, epoll_create1, (int flags), (flags), -1, EMFILE)
WRAP(int, open64, (const char *path, int flags, unsigned mode), (path, flags, mode), -1, EMFILE)
WRAP(FILE *, fopen64, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
WRAP(DIR *, opendir, (const char *path), (path), NULL, EMFILE)
WRAP(int, getifaddrs, (struct ifaddrs * *list), (list), -1, ENOMEM)
WRAP(int, pthread_create, (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *argument),
     (thread, how, run, argument), EAGAIN, 0)

/* Not all that these do makes a descriptor. */
int __real_fcntl64(int fd, int command, long argument);
int __wrap_fcntl64(int fd, int command, long argument);
int __wrap_fcntl64(int fd, int command, long argument)
{
	if (command != F_DUPFD_CLOEXEC || !refuse())
		return __real_fcntl64(fd, command, argument);
	errno = EMFILE;
	return -1;
}

long __real_syscall(long which, long one, long two, long three, long four, long five, long six);
long __wrap_syscall(long which, long one, long two, long three, long four, long five, long six);
long __wrap_syscall(long which, long one, long two, long three, long four, long five, long six)
{
	if (which != SYS_pidfd_open || !refuse())
		return __real_syscall(which, one, two, three, four, five, six);
	errno = EMFILE;
	return -1;
}

/* The kernel leaves out those for which it finds no number, and says that something is missing. */
static void refuse_rights(struct msghdr *message, struct cmsghdr *rights)
{
	size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int), kept = 0;
	int fds[8];

	memcpy(fds, CMSG_DATA(rights), count * sizeof(int));
	while (kept < count && !refuse())
		kept++;
	if (kept == count)
		return;
	for (size_t i = kept; i < count; i++)
		close(fds[i]);
	rights->cmsg_len = CMSG_LEN(kept * sizeof(int));
	message->msg_flags |= MSG_CTRUNC;
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t length = __real_recvmsg(fd, message, flags);

	for (struct cmsghdr *part = length < 0 ? NULL : CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
		if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
			refuse_rights(message, part);
	return length;
}

static unsigned number;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			dprintf(STDERR_FILENO, "request %u refused: line %d: %s: %s\n", number, __LINE__, #condition,  \
				PtlNicErrorText());                                                                    \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

/* PTL_OK, or PTL_NO_SPACE where one may be refused.  True: the former. */
#define DONE(call)                                                                                                     \
	({                                                                                                             \
		int code = call;                                                                                       \
		if (code != PTL_OK && (!may_fail || code != PTL_NO_SPACE)) {                                           \
			dprintf(STDERR_FILENO, "request %u refused: line %d: %s = %s: %s\n", number, __LINE__, #call,  \
				PtlErrorStr((unsigned)code), PtlNicErrorText());                                       \
			_exit(1);                                                                                      \
		}                                                                                                      \
		code == PTL_OK;                                                                                        \
	})

static bool may_fail;
static char source[LENGTH], target[LENGTH];

static int count_descriptors(void)
{
	int count = 0;
	DIR *directory = __real_opendir("/proc/self/fd");

	CHECK(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static ptl_md_t md_over(char *start, size_t length, unsigned options, ptl_handle_eq_t eq)
{
	return (ptl_md_t){.start = start,
			  .length = length,
			  .threshold = PTL_MD_THRESH_INF,
			  .options = options | PTL_MD_EVENT_START_DISABLE,
			  .eq_handle = eq};
}

static bool open_target(ptl_handle_ni_t ni)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	return DONE(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me)) &&
	       DONE(PtlMDAttach(
		       me, md_over(target, LENGTH, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
		       PTL_RETAIN, &md));
}

/* Until the last event, which may tell a failure if one may be. */
static void await(ptl_handle_eq_t eq, ptl_event_kind_t last)
{
	ptl_event_t event;
	int which;

	do {
		int code = PtlEQPoll(&eq, 1, SECONDS * 1000, &event, &which);

		CHECK(code == PTL_OK || (may_fail && code == PTL_NO_SPACE));
		CHECK(event.ni_fail_type == PTL_NI_OK || may_fail);
	} while (event.type != last && event.ni_fail_type == PTL_NI_OK);
}

static void move(ptl_handle_ni_t ni, ptl_process_id_t to, size_t length)
{
	ptl_handle_eq_t eq = PTL_EQ_NONE;
	ptl_handle_md_t md;

	if (!DONE(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &eq)) ||
	    !DONE(PtlMDBind(ni, md_over(source, length, 0, eq), PTL_RETAIN, &md)))
		return;
	if (DONE(PtlPut(md, PTL_ACK_REQ, to, INDEX, 0, BITS, 0, 0)))
		await(eq, PTL_EVENT_ACK);
	if (DONE(PtlGet(md, to, INDEX, 0, BITS, 0)))
		await(eq, PTL_EVENT_REPLY_END);
}

static void run(void)
{
	ptl_handle_ni_t ni[INTERFACES];
	ptl_process_id_t id[INTERFACES];
	int most;

	if (!DONE(PtlInit(&most)))
		return;
	for (int i = 0; i < INTERFACES; i++) {
		if (!DONE(PtlNIInit((ptl_interface_t)i, PTL_PID_ANY, NULL, NULL, &ni[i]))) {
			PtlFini();
			return;
		}
		CHECK(PtlNicReady(ni[i]) == PTL_OK || may_fail);
		CHECK(PtlGetId(ni[i], &id[i]) == PTL_OK);
	}
	const char *transport = getenv("PTL_TRANSPORT");
	int to = transport && strcmp(transport, "self") == 0 ? 0 : 1;

	if (open_target(ni[to]))
		for (int long_ones = 0; long_ones < 2; long_ones++)
			move(ni[0], id[to], long_ones ? LENGTH : 8);
	PtlFini();
}

/* 0: everything was as it should be; 2: there were not so many requests. */
static int refuse_one(unsigned which)
{
	alarm(SECONDS);
	number = which;
	int before = count_descriptors();

	run(); /* what is kept for the life of a process is there then */
	unsigned kept = heap.count;

	may_fail = true;
	setenv("PTL_CONNECT_TIMEOUT", "1s", 1); /* what is never answered ends soon */
	atomic_store(&refused_at, which);
	run();
	atomic_store(&refused_at, 0);
	unsetenv("PTL_CONNECT_TIMEOUT");
	may_fail = false;
	const char *transport = getenv("PTL_TRANSPORT");

	/* libfabric's stay. */
	CHECK(count_descriptors() == before || (transport && strncmp(transport, "ofi", 3) == 0));
	CHECK(heap.count <= kept);
	run();
	return atomic_load(&asked) < which ? 2 : 0;
}

int main(int argc, char **argv)
{
	unsigned step = argc > 2 ? (unsigned)atoi(argv[2]) : 1, failures = 0, which, status = 0;
	unsigned first = 1 + (unsigned)(time(NULL) / 86400) % step;

	setenv("PTL_TRANSPORT", argc > 1 ? argv[1] : "node", 1);
	setenv("PTL_IFACE", "lo", 1);
	setenv("PTL_LINGER", "100ms", 1);
	if (argc <= 3)
		setenv("PTL_LOG", "off", 1);
	for (which = first; status != 2 && failures < 20; which += step) {
		pid_t child = fork();
		int result;

		if (child == 0)
			_exit(refuse_one(which));
		if (child < 0 || waitpid(child, &result, 0) != child)
			return 1;
		status = WIFEXITED(result) ? (unsigned)WEXITSTATUS(result) : 1;
		if (WIFSIGNALED(result))
			printf("request %u refused: died of signal %d (%s)\n", which, WTERMSIG(result),
			       strsignal(WTERMSIG(result)));
		failures += status == 1;
	}
	printf("%u requests, every %u. refused, %u failures\n", which - step, step, failures);
	return failures > 0;
}
