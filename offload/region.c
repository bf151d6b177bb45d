/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"

int region_set(struct region *region, void *start, uint64_t length)
{
	if (!start && length > 0)
		return report_error(-EINVAL, "descriptor of %llu bytes starts at NULL", (unsigned long long)length);
	if ((uintptr_t)start + length < (uintptr_t)start)
		return report_error(-EINVAL, "descriptor of %llu bytes at %p wraps around the address space",
				    (unsigned long long)length, start);
	*region = (struct region){.length = length, .count = 1, .whole = {start, length}};
	return 0;
}

int region_set_pieces(struct region *region, const struct iovec *pieces, uint64_t count)
{
	uint64_t length = 0;

	if (count > REGION_MAX_PIECES)
		return report_error(-EINVAL, "%llu pieces of memory, at most %d are allowed (max_md_iovecs)",
				    (unsigned long long)count, REGION_MAX_PIECES);
	if (!pieces && count > 0)
		return report_error(-EINVAL, "%llu pieces of memory at NULL", (unsigned long long)count);
	for (uint64_t i = 0; i < count; i++) {
		uintptr_t start = (uintptr_t)pieces[i].iov_base;

		if ((start == 0 && pieces[i].iov_len > 0) || start + pieces[i].iov_len < start ||
		    length + pieces[i].iov_len < length)
			return report_error(-EINVAL, "piece %llu of the descriptor (%zu bytes at %p) is no memory",
					    (unsigned long long)i, pieces[i].iov_len, pieces[i].iov_base);
		length += pieces[i].iov_len;
	}
	*region = (struct region){.length = length, .count = (uint32_t)count};
	if (count == 1) {
		region->whole = pieces[0];
	} else if (count > 1) {
		region->pieces = malloc(count * sizeof(*pieces));
		if (!region->pieces)
			return report_error(-ENOMEM, "no memory for a copy of %llu pieces", (unsigned long long)count);
		memcpy(region->pieces, pieces, count * sizeof(*pieces));
	}
	return 0;
}

void region_clear(struct region *region)
{
	free(region->pieces);
	*region = (struct region){0};
}

void *region_at(const struct region *region, uint64_t offset, uint64_t *contiguous)
{
	if (region->count == 1) {
		*contiguous = region->length - offset;
		return (char *)region->whole.iov_base + offset;
	}
	for (uint32_t i = 0; i < region->count; i++) {
		const struct iovec *piece = &region->pieces[i];

		if (offset < piece->iov_len) {
			*contiguous = piece->iov_len - offset;
			return (char *)piece->iov_base + offset;
		}
		offset -= piece->iov_len;
	}
	*contiguous = 0;
	return NULL;
}

int region_range(const struct region *region, uint64_t offset, uint64_t length, struct iovec *iov)
{
	int count = 0;

	if (length == 0)
		return 0;
	if (region->count == 1) {
		iov[0] = (struct iovec){(char *)region->whole.iov_base + offset, length};
		return 1;
	}
	for (uint32_t i = 0; i < region->count && length > 0; i++) {
		const struct iovec *piece = &region->pieces[i];

		if (offset >= piece->iov_len) {
			offset -= piece->iov_len;
			continue;
		}
		uint64_t take = piece->iov_len - offset < length ? piece->iov_len - offset : length;
		iov[count++] = (struct iovec){(char *)piece->iov_base + offset, take};
		length -= take;
		offset = 0;
	}
	return count;
}

void region_write(const struct region *region, uint64_t offset, const void *from, uint64_t length)
{
	struct iovec iov[REGION_MAX_PIECES];
	int count = region_range(region, offset, length, iov);

	for (int i = 0; i < count; i++) {
		memcpy(iov[i].iov_base, from, iov[i].iov_len);
		from = (const char *)from + iov[i].iov_len;
	}
}

void region_read(const struct region *region, uint64_t offset, void *to, uint64_t length)
{
	struct iovec iov[REGION_MAX_PIECES];
	int count = region_range(region, offset, length, iov);

	for (int i = 0; i < count; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to = (char *)to + iov[i].iov_len;
	}
}
