/* SPDX-License-Identifier: BSD-3-Clause */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "points.h"

/* Nothing in the path comes from a client. */
struct file_name {
	char text[24];
};

static struct file_name name_of(uint64_t number)
{
	struct file_name name;
	snprintf(name.text, sizeof(name.text), "%" PRIx64, number);
	return name;
}

static int or_error(int fd)
{
	return fd < 0 ? -errno : fd;
}

/* A directory that was made lasts when the one that it is in is on the disk. */
static int sync_parent(int directory)
{
	int fd = openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd >= 0 && fsync(fd) == 0 ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_directory(int at, const char *name)
{
	bool made = mkdirat(at, name, 0700) == 0;
	if (!made && errno != EEXIST)
		return -errno;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : 0;
	if (rc == 0 && made)
		rc = sync_parent(fd);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_lock(int directory)
{
	int fd = openat(directory, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) /* the kernel gives it back when the server dies */
		return fd;
	close(fd);
	return -EBUSY;
}

int files_open(struct files *files, const char *directory)
{
	*files = (struct files){-1, -1, -1, -1};
	if ((files->directory = open_directory(AT_FDCWD, directory)) < 0)
		return files->directory;
	int rc = files->lock = open_lock(files->directory);
	if (rc >= 0)
		rc = files->incoming = open_directory(files->directory, "incoming");
	if (rc >= 0)
		rc = files->objects = open_directory(files->directory, "objects");
	if (rc >= 0 && fsync(files->directory) != 0)
		rc = -errno;
	if (rc < 0)
		files_close(files);
	return rc < 0 ? rc : 0;
}

void files_close(struct files *files)
{
	const int fds[] = {files->objects, files->incoming, files->lock, files->directory};
	for (int i = 0; i < 4; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int files_create(const struct files *files, uint64_t number)
{
	int fd = openat(files->incoming, name_of(number).text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return or_error(fd);
}

/* The data before the name, the name before the index: each step is on the disk before the next one begins. */
int files_keep(const struct files *files, uint64_t number, int fd)
{
	struct file_name name = name_of(number);
	int rc = fsync(fd) == 0 ? 0 : -errno;
	close(fd);
	object_point("synced");
	if (rc == 0 && linkat(files->incoming, name.text, files->objects, name.text, 0) != 0)
		rc = -errno;
	if (rc) {
		unlinkat(files->incoming, name.text, 0);
		return rc;
	}
	object_point("linked");
	if (fsync(files->objects) != 0) {
		rc = -errno;
		files_remove(files, number);
		return rc;
	}
	object_point("directory-synced");
	return 0;
}

void files_abandon(const struct files *files, uint64_t number, int fd)
{
	close(fd);
	unlinkat(files->incoming, name_of(number).text, 0);
}

int files_read(const struct files *files, uint64_t number)
{
	int fd = openat(files->objects, name_of(number).text, O_RDONLY | O_CLOEXEC);
	return or_error(fd);
}

/* Without it a crash leaves a file that is kept. */
void files_mark(const struct files *files, uint64_t number)
{
	struct file_name name = name_of(number);
	linkat(files->objects, name.text, files->incoming, name.text, 0);
}

void files_unmark(const struct files *files, uint64_t number)
{
	unlinkat(files->incoming, name_of(number).text, 0);
}

void files_remove(const struct files *files, uint64_t number)
{
	unlinkat(files->objects, name_of(number).text, 0);
	files_unmark(files, number);
}

struct sweep {
	const struct files *files;
	bool (*wanted)(void *context, uint64_t number);
	void *context;
	unsigned unknown;
};

/* Its mark goes last, so that a crash in between leaves the start that follows as much to do. */
static void sweep_incoming(struct sweep *sweep, const char *name, bool wanted)
{
	if (!wanted)
		unlinkat(sweep->files->objects, name, 0);
	unlinkat(sweep->files->incoming, name, 0);
}

static void count_unknown(struct sweep *sweep, const char *name, bool wanted)
{
	(void)name;
	sweep->unknown += !wanted;
}

static int each_file(struct sweep *sweep, int directory, void (*visit)(struct sweep *, const char *, bool))
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	if (!stream) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (const struct dirent *entry; (entry = readdir(stream));) {
		char *end;
		uint64_t number = strtoull(entry->d_name, &end, 16);
		if (*entry->d_name != '.' && !*end)
			visit(sweep, entry->d_name, sweep->wanted(sweep->context, number));
	}
	closedir(stream);
	return 0;
}

int files_sweep(const struct files *files, bool (*wanted)(void *, uint64_t), void *context, unsigned *unknown)
{
	struct sweep sweep = {.files = files, .wanted = wanted, .context = context};
	int rc = each_file(&sweep, files->incoming, sweep_incoming);
	if (rc == 0)
		rc = each_file(&sweep, files->objects, count_unknown);
	*unknown = sweep.unknown;
	return rc;
}
