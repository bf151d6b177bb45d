/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading libfabric without letting it change the process.
 *
 * Debian's libfabric pulls in libinfinipath, whose constructor replaces the handlers of signals 2, 4, 6, 7, 11 and 15.
 * Linked in the ordinary way that happens before main() in every process, also in those that never leave their node;
 * loaded by open() it happens here, where it can be undone.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/loader.h"
#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_library.h"

struct object_search {
	uintptr_t address;
	size_t index, found;
};

static struct ofi_library library;
static _Atomic(const struct ofi_library *) loaded;

static bool find_symbols(void *handle, struct ofi_library *out)
{
	const struct {
		const char *name;
		void *where;
	} symbols[] = {
		{"fi_version", &out->version},   {"fi_strerror", &out->strerror}, {"fi_getinfo", &out->getinfo},
		{"fi_freeinfo", &out->freeinfo}, {"fi_dupinfo", &out->dupinfo},   {"fi_fabric", &out->fabric},
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(handle, symbols[i].name);
		if (!symbol) {
			report_error(-ELIBBAD, "libfabric.so.1 has no %s: %s", symbols[i].name, dlerror());
			return false;
		}
		memcpy(symbols[i].where, &symbol, sizeof(symbol));
	}
	return true;
}

const struct ofi_library *ofi_library_load(void)
{
	/* Pairs with the release store below.  Two threads may both load: dlopen counts, and they find the same. */
	const struct ofi_library *ready = atomic_load_explicit(&loaded, memory_order_acquire);
	if (ready)
		return ready;

	const char *why;
	void *handle = loader_open("libfabric.so.1", RTLD_NOW | RTLD_LOCAL, &why);
	if (!handle) {
		report_error(-ELIBACC, "cannot load libfabric.so.1: %s; %s, or set PTL_TRANSPORT=node", why,
			     loader_remedy("install libfabric"));
		return NULL;
	}
	struct ofi_library found = {.process = getpid()};
	if (!find_symbols(handle, &found))
		return NULL;
	library = found;
	atomic_store_explicit(&loaded, &library, memory_order_release);
	return &library;
}

static int count_object(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)info;
	(void)size;
	++*(size_t *)count;
	return 0;
}

static int object_contains(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct object_search *search = argument;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && search->address - start < info->dlpi_phdr[i].p_memsz) {
			search->found = search->index;
			return 1;
		}
	}
	search->index++;
	return 0;
}

/* Objects are listed in the order they were loaded. */
static size_t object_of(uintptr_t code)
{
	struct object_search search = {.address = code, .found = 0};

	dl_iterate_phdr(object_contains, &search);
	return search.found;
}

/* Loaded in between, or libfabric itself, which may have been there before: its shm replaces handlers later. */
static bool is_foreign(uintptr_t code, size_t objects)
{
	size_t object = object_of(code);

	return object >= objects || (library.getinfo && object == object_of((uintptr_t)library.getinfo));
}

/*
 * Its constructor takes 100 ms after replacing the handlers, too long for ofi_signals_restore() alone: a signal would
 * meet another library's handler.  Its own switch prevents that.  Here and not in the opener's thread, because changing
 * the environment wants a time when programs still have one thread, and PtlNIInit is the nearest to it.
 */
void ofi_library_prepare(void)
{
	setenv("IPATH_NO_BACKTRACE", "1", 0);
}

void ofi_signals_save(struct ofi_signals *signals)
{
	signals->objects = 0;
	dl_iterate_phdr(count_object, &signals->objects);
	for (int number = 1; number < NSIG; number++)
		if (sigaction(number, NULL, &signals->saved[number]) != 0)
			signals->saved[number].sa_handler = SIG_ERR;
}

/* Only handlers of libfabric and of what was loaded with it are undone: another thread may have installed its own. */
void ofi_signals_restore(const struct ofi_signals *signals)
{
	for (int number = 1; number < NSIG; number++) {
		const struct sigaction *saved = &signals->saved[number];
		struct sigaction current;
		if (saved->sa_handler == SIG_ERR || sigaction(number, NULL, &current) != 0)
			continue;
		if (current.sa_handler != saved->sa_handler &&
		    is_foreign((uintptr_t)current.sa_handler, signals->objects))
			sigaction(number, saved, NULL);
	}
}
