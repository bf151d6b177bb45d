/* SPDX-License-Identifier: BSD-3-Clause */
#include "temporary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define NAME "/ptlbench-XXXXXX"

void temporary_folder_make(temporary_folder folder)
{
	const char *parent = getenv("TMPDIR");

	if (!parent || strlen(parent) + sizeof(NAME) > sizeof(temporary_folder))
		parent = "/tmp";
	snprintf(folder, sizeof(temporary_folder), "%s" NAME, parent);
	if (!mkdtemp(folder))
		fail("cannot make a folder %s: %s", folder, strerror(errno));
}
