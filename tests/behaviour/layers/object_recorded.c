/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a server of examples/object_store: each call that decides what a power failure leaves, and each reply, is a line of the
 * file that OBJECT_RECORD names, as the calls return, a reply before it leaves.  Built without _FILE_OFFSET_BITS, by which two of
 * the names would be one.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <portals3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "examples/object_store/protocol.h"

/* The write is the system's own: the call of this name is recorded. */
static void record(const char *what, const char *where)
{
	char line[64];
	const char *path = getenv("OBJECT_RECORD");
	int fd = path ? open(path, O_WRONLY | O_APPEND) : -1;
	if (fd < 0)
		return;
	int length = snprintf(line, sizeof(line), "%s %s\n", what, where);
	syscall(SYS_write, fd, line, (size_t)length);
	close(fd);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);
	return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* NULL: it is none of the files that matter. */
static const char *place_of(int fd)
{
	char descriptor[32], found[256];
	snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(descriptor, found, sizeof(found) - 1);
	found[length > 0 ? length : 0] = 0;
	return strstr(found, "/incoming/")             ? "data"
	       : ends_with(found, "/objects")          ? "names"
	       : ends_with(found, "/index.sqlite-wal") ? "index"
						       : NULL;
}

static long recorded(const char *what, int fd, long result)
{
	const char *place = place_of(fd);
	if (result >= 0 && place)
		record(what, place);
	return result;
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

int fsync(int fd)
{
	return (int)recorded("sync", fd, NEXT(fsync)(fd));
}

int fdatasync(int fildes)
{
	return (int)recorded("sync", fildes, NEXT(fdatasync)(fildes));
}

ssize_t write(int fd, const void *buf, size_t n)
{
	return recorded("write", fd, NEXT(write)(fd, buf, n));
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
	return recorded("write", fd, NEXT(pwrite)(fd, buf, n, offset));
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t offset)
{
	return recorded("write", fd, NEXT(pwrite64)(fd, buf, n, offset));
}

int linkat(int fromfd, const char *from, int tofd, const char *to, int flags)
{
	return (int)recorded("link", tofd, NEXT(linkat)(fromfd, from, tofd, to, flags));
}

int unlinkat(int fd, const char *name, int flag)
{
	return (int)recorded("unlink", fd, NEXT(unlinkat)(fd, name, flag));
}

int PtlPut(ptl_handle_md_t md_handle, ptl_ack_req_t ack_req, ptl_process_id_t target_id, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	if (pt_index == OBJECT_CONTROL)
		record("reply", "");
	return NEXT(PtlPut)(md_handle, ack_req, target_id, pt_index, ac_index, match_bits, remote_offset, hdr_data);
}
