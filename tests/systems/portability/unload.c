/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library as a plug-in of a program that knows nothing of it: loaded, used and dropped again and again.
 *
 *     unload LIBRARY          two dozen lives; nothing may be left that was not there after the fourteenth
 *     unload LIBRARY forgets  drops it without PtlFini, with its interface open, and goes on for a while
 *
 * The library stays where it is (it is linked with -z nodelete): it has threads, handlers of fork and exit, and callers that
 * may still be on their way out of a call, and none of these may find its code gone.
 *
 * PTL_TRANSPORT says over what.  Exit status 0: all is well, 1: something is not, 2: wrong usage.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <portals3.h>
#include <portals3_nic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hot.h"

enum { LIVES = 24, SETTLED = 14, FEW = 5, INDEX = 4, BITS = 0x2a, PATIENCE = 60 /* s */ };
enum { HEAP_STEP = 256 }; /* KiB: the heap grows by 132 at a time, and not in every life; a leak would in each */

#define CALLS(X)                                                                                                       \
	X(PtlInit)                                                                                                     \
	X(PtlFini)                                                                                                     \
	X(PtlNIInit)                                                                                                   \
	X(PtlNicReady) X(PtlGetId) X(PtlEQAlloc) X(PtlEQWait) X(PtlMEAttach) X(PtlMDAttach) X(PtlMDBind) X(PtlPut)

static struct {
#define MEMBER(call) __typeof__(&call) call;
	CALLS(MEMBER)
} library;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "unload.c:%d: %s\n", __LINE__, #condition);                                    \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

/* It has not more in threads than any library that is loaded late may have, wherever that is: base/hot.h. */
static int measure_storage(struct dl_phdr_info *object, size_t size, void *map)
{
	(void)size;
	if (object->dlpi_addr != ((const struct link_map *)map)->l_addr)
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			CHECK(object->dlpi_phdr[i].p_memsz <= HOT_BYTES);
	return 1;
}

static void *load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;

	if (!handle) {
		fprintf(stderr, "unload: %s\n", dlerror());
		exit(1);
	}
#define FIND(call) CHECK((*(void **)&library.call = dlsym(handle, #call)) != NULL);
	CALLS(FIND)
	CHECK(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
	CHECK(dl_iterate_phdr(measure_storage, map) == 1);
	return handle;
}

static ptl_handle_ni_t open_interface(void)
{
	ptl_handle_ni_t ni;
	int interfaces;

	CHECK(library.PtlInit(&interfaces) == PTL_OK);
	CHECK(library.PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
	return ni;
}

/* From PtlInit to a word that has arrived. */
static void use(void)
{
	ptl_handle_ni_t ni = open_interface();
	static uint64_t from = 42, to;
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_md_t md = {.start = &to, .length = sizeof(to), .threshold = 1, .options = PTL_MD_OP_PUT};
	ptl_process_id_t self;
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_event_t event;

	to = 0;
	CHECK(library.PtlNicReady(ni) == PTL_OK);
	CHECK(library.PtlGetId(ni, &self) == PTL_OK);
	CHECK(library.PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &md.eq_handle) == PTL_OK);
	CHECK(library.PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me) == PTL_OK);
	CHECK(library.PtlMDAttach(me, md, PTL_UNLINK, &handle) == PTL_OK);
	ptl_handle_eq_t eq = md.eq_handle;

	md.start = &from;
	md.eq_handle = PTL_EQ_NONE;
	CHECK(library.PtlMDBind(ni, md, PTL_UNLINK, &handle) == PTL_OK);
	CHECK(library.PtlPut(handle, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0) == PTL_OK);
	do
		CHECK(library.PtlEQWait(eq, &event) == PTL_OK);
	while (event.type != PTL_EVENT_PUT_END);
	CHECK(to == from);
}

static int entries_of(const char *path)
{
	DIR *directory = opendir(path);
	int count = 0;

	CHECK(directory != NULL);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

struct belongings {
	int threads, descriptors;
	long mapped; /* KiB of addresses */
};

static struct belongings belongings(void)
{
	struct belongings have = {.threads = entries_of("/proc/self/task"), .descriptors = entries_of("/proc/self/fd")};
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	CHECK(status != NULL);
	while (fgets(line, sizeof(line), status))
		sscanf(line, "VmSize: %ld", &have.mapped);
	fclose(status);
	return have;
}

/* A thread that was joined may be seen for a moment still. */
static struct belongings belongings_with(int threads)
{
	const time_t patience = time(NULL) + PATIENCE;
	struct belongings now = belongings();

	while (now.threads > threads && time(NULL) < patience) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		now = belongings();
	}
	return now;
}

/* The heap keeps what one life happened to need more than the others: the least of a few lives tells what stays. */
static void keep_least(struct belongings *least, struct belongings now)
{
	if (least->mapped == 0 || now.mapped < least->mapped)
		least->mapped = now.mapped;
}

static void live_often(const char *path)
{
	struct belongings settled = {0}, last = {0}, now;
	int threads = INT_MAX; /* in the life that had the fewest */

	for (int life = 1; life <= LIVES; life++) {
		void *handle = load(path);

		use();
		library.PtlFini();
		dlclose(handle);
		now = belongings();
		printf("life %d: %d threads, %d descriptors, %ld KiB mapped\n", life, now.threads, now.descriptors,
		       now.mapped);
		if (life <= SETTLED && now.threads < threads)
			threads = now.threads;
		if (life > SETTLED - FEW && life <= SETTLED)
			keep_least(&settled, now);
		if (life > LIVES - FEW)
			keep_least(&last, now);
		if (life == SETTLED)
			settled.descriptors = belongings_with(threads).descriptors;
	}
	now = belongings_with(threads);
	CHECK(now.threads == threads);
	CHECK(now.descriptors == settled.descriptors);
	CHECK(last.mapped <= settled.mapped + HEAP_STEP);
}

/*
 * The NIC thread, and the helper that is just opening libfabric, have time to stumble over code that is gone; then the
 * handlers of exit() have.  Nothing waits for them here on purpose.
 */
static void forget(const char *path)
{
	void *handle = load(path);
	ptl_handle_ni_t ni = open_interface();

	dlclose(handle);
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	CHECK((handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD)) != NULL);
	CHECK(open_interface() == ni);
	use();
	dlclose(handle);
}

int main(int argc, char **argv)
{
	mallopt(M_ARENA_MAX, 1); /* or what is mapped depends on which threads allocated at the same moment */
	if (argc == 2)
		live_often(argv[1]);
	else if (argc == 3 && strcmp(argv[2], "forgets") == 0)
		forget(argv[1]);
	else {
		fprintf(stderr, "usage: unload LIBRARY [forgets]\n");
		return 2;
	}
	return 0;
}
