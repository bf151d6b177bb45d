/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define READABLE 1u /* PROCMAP_QUERY_VMA_READABLE */

/* struct procmap_query of <linux/fs.h>, which compilers' headers may be too old to have. */
struct mapping_query {
	uint64_t size;
	uint64_t wanted; /* what the mapping has to allow */
	uint64_t address;
	uint64_t start, end;
	uint64_t allowed;
	uint64_t page_size;
	uint64_t offset;
	uint64_t inode; /* 0: of no file */
	uint32_t device_major, device_minor;
	uint32_t name_size, build_id_size; /* in: 0, neither is asked for */
	uint64_t name, build_id;
};
#define MAPPING_QUERY _IOWR('f', 17, struct mapping_query)

_Static_assert(sizeof(struct mapping_query) == 104, "as the kernel has it");

int mapping_open(void)
{
	return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

bool mapping_readable(int mappings, const void *base, size_t length)
{
	struct mapping_query query = {.size = sizeof(query), .wanted = READABLE, .address = (uintptr_t)base};

	if (mappings < 0 || ioctl(mappings, MAPPING_QUERY, &query) != 0)
		return false;
	return query.inode == 0 && length <= query.end - query.address;
}
