/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc and its family, interposed: symbols of the program come before those of libc for every library of the process.
 * They forward to glibc's own entry points.  A sanitizer interposes them itself, so under one nothing is defined here.
 */
#include "tests/behaviour/allocations.h"

#include <dlfcn.h>
#include <portals3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/harness.h"

#define REMEMBERED 1024

static _Atomic bool watching;
static _Atomic unsigned count;
static void *_Atomic caller[REMEMBERED];

#if !UNDER_SANITIZER
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved ones. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static void note(void *from)
{
	if (!atomic_load_explicit(&watching, memory_order_relaxed))
		return;
	unsigned n = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	if (n < REMEMBERED)
		atomic_store_explicit(&caller[n], from, memory_order_relaxed);
}

void *malloc(size_t size)
{
	note(__builtin_return_address(0));
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	note(__builtin_return_address(0));
	return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size)
{
	note(__builtin_return_address(0));
	return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	note(__builtin_return_address(0));
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size)
{
	note(__builtin_return_address(0));
	*result = __libc_memalign(alignment, size);
	return *result ? 0 : 12; /* ENOMEM */
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	note(__builtin_return_address(0));
	return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
#endif

void allocations_watch(void)
{
	atomic_store(&count, 0);
	atomic_store(&watching, true);
}

struct allocations allocations_seen(void)
{
	struct allocations seen = {0};
	Dl_info library, from;
	atomic_store(&watching, false);
	unsigned number = atomic_load(&count);
	CHECK(dladdr((void *)PtlInit, &library) != 0);
	for (unsigned i = 0; i < number; i++) {
		bool known = i < REMEMBERED && dladdr(atomic_load(&caller[i]), &from) != 0;
		if (known && from.dli_fbase == library.dli_fbase)
			seen.ours++;
		else
			seen.others++;
	}
	return seen;
}
