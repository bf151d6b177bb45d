/* SPDX-License-Identifier: BSD-3-Clause */
/* Files as memory: what the server gets or puts is the file itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

int source_open(struct source *source, const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	if (fd < 0)
		return -errno;
	*source = (struct source){.bytes = NULL};
	if (fstat(fd, &status) != 0)
		rc = -errno;
	else if (!S_ISREG(status.st_mode))
		rc = S_ISDIR(status.st_mode) ? -EISDIR : -ESPIPE; /* its size has to be known */
	else if ((source->size = (uint64_t)status.st_size) > 0) {
		source->bytes = mmap(NULL, source->size, PROT_READ, MAP_PRIVATE, fd, 0);
		rc = source->bytes == MAP_FAILED ? -errno : 0;
	}
	close(fd);
	return rc;
}

void source_close(struct source *source)
{
	if (source->bytes)
		munmap(source->bytes, source->size);
}

static bool is_output(const struct destination *destination)
{
	return strcmp(destination->path, "-") == 0;
}

/* Room on the disk is had before, so that memory which is written to is never missing its page. */
static int open_temporary(struct destination *destination)
{
	if (asprintf(&destination->temporary, "%s.XXXXXX", destination->path) < 0) {
		destination->temporary = NULL;
		return -ENOMEM;
	}
	destination->fd = mkostemp(destination->temporary, O_CLOEXEC);
	if (destination->fd < 0) {
		int rc = -errno;
		free(destination->temporary);
		destination->temporary = NULL;
		return rc;
	}
	return destination->size ? -posix_fallocate(destination->fd, 0, (off_t)destination->size) : 0;
}

int destination_open(struct destination *destination, const char *path, uint64_t size)
{
	*destination = (struct destination){.path = path, .fd = -1, .size = size};
	int rc = is_output(destination) ? 0 : open_temporary(destination);
	if (rc == 0 && size > 0) {
		int flags = destination->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
		void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, destination->fd, 0);
		if (bytes == MAP_FAILED)
			rc = -errno;
		else
			destination->bytes = bytes;
	}
	if (rc)
		destination_close(destination, false, 0);
	return rc;
}

static int complete_output(const struct destination *destination, uint64_t size)
{
	if (destination->bytes && fwrite(destination->bytes, 1, size, stdout) != size)
		return -errno;
	return fflush(stdout) == 0 ? 0 : -errno;
}

static int complete_file(const struct destination *destination, uint64_t size)
{
	mode_t mask = umask(0);
	umask(mask);
	if (ftruncate(destination->fd, (off_t)size) != 0 || fchmod(destination->fd, 0666 & ~mask) != 0 ||
	    fsync(destination->fd) != 0 || rename(destination->temporary, destination->path) != 0)
		return -errno;
	return 0;
}

int destination_close(struct destination *destination, bool complete, uint64_t size)
{
	int rc = 0;
	if (complete)
		rc = is_output(destination) ? complete_output(destination, size) : complete_file(destination, size);
	if (destination->bytes)
		munmap(destination->bytes, destination->size);
	if (destination->fd >= 0) {
		close(destination->fd);
		if (destination->temporary && (!complete || rc))
			unlink(destination->temporary);
	}
	free(destination->temporary);
	return rc;
}
