/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/report.h"

#define SUFFIX     ".json"
#define LOCK_TRIES 1000
#define LOCK_PAUSE 1000000 /* ns */

bool private_file_forbidden(const char *variable)
{
	if (!getauxval(AT_SECURE))
		return false;
	report(LOG_WARN, "%s is ignored: the process has privileges that its caller lacks", variable);
	return true;
}

static int refuse(const struct private_file *file, int error)
{
	report(LOG_WARN, "%s=%s cannot be written: %s", file->variable, file->path, strerror(-error));
	return error;
}

int private_file_open(struct private_file *file, const char *variable, const char *path)
{
	UNCANCELLED;

	file->variable = variable;
	if (snprintf(file->path, sizeof(file->path), "%s", path) >= (int)sizeof(file->path) ||
	    snprintf(file->temporary, sizeof(file->temporary), "%s.XXXXXX", path) >= (int)sizeof(file->temporary))
		return report_error(-ENAMETOOLONG, "%s=%s: the name is too long", variable, path);
	int fd = mkostemp(file->temporary, O_CLOEXEC); /* 0600 */

	file->out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (file->out)
		return 0;
	int rc = -errno;

	if (fd >= 0) {
		close(fd);
		unlink(file->temporary);
	}
	return refuse(file, rc);
}

int private_file_close(struct private_file *file)
{
	UNCANCELLED;
	bool whole = !ferror(file->out);

	errno = EIO; /* an earlier error has left no number */
	if (fclose(file->out) == 0 && whole && rename(file->temporary, file->path) == 0)
		return 0;
	int rc = -errno;

	unlink(file->temporary);
	return refuse(file, rc);
}

/* Of the directory: the file may not be there yet, and gives way to another one. */
int private_file_lock(const char *path)
{
	UNCANCELLED;
	char copy[PATH_MAX];
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE};

	snprintf(copy, sizeof(copy), "%s", path);
	int lock = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; lock >= 0 && i < LOCK_TRIES; i++) {
		if (flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		nanosleep(&pause, NULL);
	}
	return lock;
}

/* Not by close() alone: a child that was forked meanwhile may have the descriptor for long. */
void private_file_unlock(int lock)
{
	UNCANCELLED;

	if (lock < 0)
		return;
	flock(lock, LOCK_UN);
	close(lock);
}

bool private_file_name(char path[PATH_MAX], const char *wish, uint32_t nid, uint32_t pid)
{
	size_t length = strlen(wish), suffix = strlen(SUFFIX);

	if (length > suffix && strcmp(wish + length - suffix, SUFFIX) == 0)
		length -= suffix;
	return snprintf(path, PATH_MAX, "%.*s.%u.%u" SUFFIX, (int)length, wish, nid, pid) < PATH_MAX;
}
