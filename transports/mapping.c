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

static bool ask(int mappings, const void *address, struct mapping_query *query)
{
	*query = (struct mapping_query){.size = sizeof(*query), .wanted = READABLE, .address = (uintptr_t)address};
	return ioctl(mappings, MAPPING_QUERY, query) == 0;
}

int mapping_open(void)
{
	int mappings = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct mapping_query query;

	if (mappings < 0 || ask(mappings, &query, &query)) /* what holds our stack can be read */
		return mappings;
	close(mappings);
	return -1;
}

bool mapping_readable(int mappings, const void *base, size_t length)
{
	struct mapping_query query;

	if (mappings < 0 || !ask(mappings, base, &query))
		return false;
	return query.inode == 0 && length <= query.end - query.address;
}
