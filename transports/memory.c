/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22 /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#define MARGIN    ((size_t)8 << 20) /* of what is longer than two of them, as much is looked at at both ends */
#define MASK_SIZE 8                 /* bytes of the kernel's set of signals */

static uintptr_t page_size(void)
{
	static _Atomic uintptr_t size;
	uintptr_t known = atomic_load_explicit(&size, memory_order_relaxed);

	if (!known) {
		known = (uintptr_t)sysconf(_SC_PAGESIZE);
		atomic_store_explicit(&size, known, memory_order_relaxed);
	}
	return known;
}

/*
 * 0: it is as the advice wants it.  -EINVAL: the kernel does not know the advice, or the mapping forbids it, or is a device's.
 * Other errors: it is not mapped, or lies beyond the end of its file.
 */
static int populate(const void *base, size_t length, int advice)
{
	uintptr_t mask = page_size() - 1, first = (uintptr_t)base & ~mask;
	uintptr_t end = ((uintptr_t)base + length + mask) & ~mask;
	int rc;

	do
		rc = madvise((void *)first, end - first, advice);
	while (rc != 0 && (errno == EINTR || errno == EAGAIN));
	return rc == 0 ? 0 : -errno;
}

/*
 * The kernel copies the set of signals from where it is told before it finds that there is no such way of using it: EFAULT
 * or EINVAL.  No descriptor is needed, and no sandbox forbids it.
 */
static bool readable_at(uintptr_t address)
{
	return syscall(SYS_rt_sigprocmask, -1, address & ~(uintptr_t)(MASK_SIZE - 1), NULL, MASK_SIZE) == 0 ||
	       errno != EFAULT;
}

static bool pages_readable(const void *base, size_t length)
{
	uintptr_t page = page_size(), at = (uintptr_t)base, end = at + length;

	for (; at < end; at = (at & ~(page - 1)) + page)
		if (!readable_at(at))
			return false;
	return true;
}

static bool range_readable(const void *base, size_t length)
{
	int rc = populate(base, length, MADV_POPULATE_READ);

	return rc == 0 || (rc == -EINVAL && pages_readable(base, length));
}

bool memory_readable(const void *base, size_t length)
{
	if (length <= 2 * MARGIN)
		return length == 0 || range_readable(base, length);
	return range_readable(base, MARGIN) && range_readable((const char *)base + length - MARGIN, MARGIN);
}

static bool range_writable(void *base, size_t length)
{
	int rc = populate(base, length, MADV_POPULATE_WRITE);

	/* Said about reading as well, of what can be read, it is a device's, or the kernel knows no such advice. */
	return rc == 0 ||
	       (rc == -EINVAL && populate(base, length, MADV_POPULATE_READ) == -EINVAL && pages_readable(base, length));
}

bool memory_writable(void *base, size_t length)
{
	if (length <= 2 * MARGIN)
		return length == 0 || range_writable(base, length);
	return range_writable(base, MARGIN) && range_writable((char *)base + length - MARGIN, MARGIN);
}

/*
 * The pages of the piece at *first, and of those behind it that begin on these pages, or where they end; *first becomes the
 * piece behind these.  No page lies in between of which no byte is asked for.  A piece at the end of the address space, where
 * no process has memory, is left as it is: rounded up it would end at 0.
 */
static struct iovec join(const struct iovec *pieces, unsigned count, unsigned *first)
{
	uintptr_t page = page_size(), mask = page - 1, begin = 0, end = 0, limit = 0 - 2 * page;

	for (; *first < count; ++*first) {
		uintptr_t base = (uintptr_t)pieces[*first].iov_base, behind = base + pieces[*first].iov_len;

		if (pieces[*first].iov_len == 0)
			continue;
		if (behind - 1 >= limit) {
			if (end == 0)
				return pieces[(*first)++];
			break;
		}
		if (end == 0) {
			begin = base & ~mask;
			end = begin + page;
		}
		if (base < begin || base > end)
			break;
		if (behind > end)
			end = (behind + mask) & ~mask;
	}
	return (struct iovec){(void *)begin, end - begin};
}

bool memory_pieces_readable(const struct iovec *pieces, unsigned count)
{
	for (unsigned i = 0; i < count;) {
		struct iovec joined = join(pieces, count, &i);

		if (!memory_readable(joined.iov_base, joined.iov_len))
			return false;
	}
	return true;
}

bool memory_pieces_writable(const struct iovec *pieces, unsigned count)
{
	for (unsigned i = 0; i < count;) {
		struct iovec joined = join(pieces, count, &i);

		if (!memory_writable(joined.iov_base, joined.iov_len))
			return false;
	}
	return true;
}
