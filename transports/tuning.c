/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which tuning files are used, and how they are replaced; what is in them: tuning_text.c.
 *
 * Figures of another processor or of another version of the library mean nothing here: such a file is left alone, and so is one that
 * makes no sense anywhere, and a process that has got privileges from its program file neither reads nor writes what its caller names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/private_file.h"
#include "base/report.h"
#include "transports/tuning.h"
#include "transports/tuning_cpu.h"
#include "transports/tuning_text.h"

#define LARGEST 16384 /* bytes of a file */
#define WHY_MAX 512

/* --- reading --- */

/* What a file is, to a reader that may write another one in its place. */
enum found {
	FOUND,
	NOTHING, /* or an empty file, as mktemp makes it */
	ANOTHERS,
	USELESS, /* now; it may have figures that were worth something */
};

/* Only what we or root alone can have written: others could make us slow.  Otherwise says why not. */
static enum found load(const char *path, char text[LARGEST + 1], char why[WHY_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	ssize_t length = -1;
	enum found found = USELESS;

	if (fd < 0 && errno == ENOENT)
		found = NOTHING;
	if (fd < 0 || fstat(fd, &status) != 0)
		snprintf(why, WHY_MAX, "%s", errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	else if (!S_ISREG(status.st_mode) || status.st_size > LARGEST)
		snprintf(why, WHY_MAX, "it is no file of at most %d bytes", LARGEST);
	else if ((status.st_uid != geteuid() && status.st_uid != 0) || status.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, WHY_MAX, "others than its reader may write it");
	else if (status.st_size == 0) {
		snprintf(why, WHY_MAX, "it is empty");
		found = NOTHING;
	} else if ((length = read(fd, text, LARGEST)) < 0)
		snprintf(why, WHY_MAX, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length >= 0 ? FOUND : found;
}

/* What it does not say makes it no other's: that was forgotten, or comes behind a mistake. */
static bool is_anothers(const struct tuning_file *file)
{
	char cpu[TUNING_TEXT_MAX];

	tuning_cpu(cpu, sizeof(cpu));
	return (file->format && file->format != TUNING_FORMAT) ||
	       (*file->version && strcmp(file->version, PORTALS_VERSION) != 0) ||
	       (*file->cpu && strcmp(file->cpu, cpu) != 0);
}

static bool meant_for_us(const struct tuning_file *file, char why[WHY_MAX])
{
	char cpu[TUNING_TEXT_MAX];

	tuning_cpu(cpu, sizeof(cpu));
	if (file->format != TUNING_FORMAT)
		snprintf(why, WHY_MAX, "its \"" TUNING_KEY "\" is %llu, %d is wanted", (unsigned long long)file->format,
			 TUNING_FORMAT);
	else if (strcmp(file->version, PORTALS_VERSION) != 0)
		snprintf(why, WHY_MAX, "it is of version \"%s\" of the library, this is %s", file->version,
			 PORTALS_VERSION);
	else if (strcmp(file->cpu, cpu) != 0)
		snprintf(why, WHY_MAX, "it is of the processor \"%s\", this is \"%s\"", file->cpu, cpu);
	else
		return true;
	return false;
}

/* All of the file, or nothing and why. */
static enum found read_whole(struct tuning *tuning, const char *path, char why[WHY_MAX])
{
	char text[LARGEST + 1];
	struct tuning_file file;

	*tuning = (struct tuning){0};
	enum found found = load(path, text, why);

	if (found != FOUND)
		return found;
	if (tuning_parse(&file, text, why, WHY_MAX) && meant_for_us(&file, why)) {
		*tuning = file.tuning;
		return FOUND;
	}
	return is_anothers(&file) ? ANOTHERS : USELESS;
}

void tuning_read(struct tuning *tuning, const char *path)
{
	UNCANCELLED;
	char why[WHY_MAX];

	*tuning = (struct tuning){0};
	if (!private_file_forbidden("PTL_TUNING_FILE") && read_whole(tuning, path, why) != FOUND)
		report(LOG_WARN, "PTL_TUNING_FILE=%s is not used: %s", path, why);
}

/* --- writing --- */

/* `more` is newer. */
static void merge(struct tuning *tuning, const struct tuning *more, const char *path)
{
	for (unsigned class = 0; class < NODE_CLASSES; class ++)
		if (more->node[class].way != NODE_UNCHOSEN)
			tuning->node[class] = more->node[class];
	for (unsigned i = 0; i < more->short_count; i++) {
		uint32_t *place = tuning_short(tuning, more->shorts[i].transport);

		if (place)
			*place = more->shorts[i].bytes;
		else
			report(LOG_WARN, "PTL_TUNING_SAVE=%s has no room for the limit of %s: it names %u transports",
			       path, more->shorts[i].transport, tuning->short_count);
	}
}

/* No other process may write between this one's look at the file and its own. */
static int add_to_file(const struct tuning *tuning, const char *path)
{
	struct private_file file;
	struct tuning whole;
	char why[WHY_MAX], cpu[TUNING_TEXT_MAX];

	if (read_whole(&whole, path, why) == USELESS) {
		report(LOG_WARN, "PTL_TUNING_SAVE=%s is left as it is: %s", path, why);
		return -EEXIST;
	}
	merge(&whole, tuning, path);
	int rc = private_file_open(&file, "PTL_TUNING_SAVE", path);

	if (rc)
		return rc;
	tuning_cpu(cpu, sizeof(cpu));
	tuning_print(file.out, &whole, cpu);
	return private_file_close(&file);
}

int tuning_write(const struct tuning *tuning, const char *path)
{
	UNCANCELLED;

	if ((!tuning_any_chosen(tuning) && tuning->short_count == 0) || private_file_forbidden("PTL_TUNING_SAVE"))
		return 0;
	int lock = private_file_lock(path), rc = add_to_file(tuning, path);

	private_file_unlock(lock);
	return rc;
}
