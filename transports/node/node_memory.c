/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/node/node_memory.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

/* Kernels before 6.3 do not know MFD_NOEXEC_SEAL; later ones may insist on it (vm.memfd_noexec). */
int node_memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

void *node_memory_map(int fd, size_t length, int protection)
{
	void *start = mmap(NULL, length, protection, MAP_SHARED, fd, 0);

	if (start == MAP_FAILED)
		return NULL;
	/* A child would go on writing into queues that are its parent's. */
	if (madvise(start, length, MADV_DONTFORK) == 0)
		return start;
	int error = errno;

	munmap(start, length);
	errno = error;
	return NULL;
}
