/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/report.h"

/*
 * The executable comes first, without a name of its own.  Only it is asked: a static one that has loaded something (NSS,
 * iconv) has a C library behind it, which names a loader, too.  If something else comes first, a loader is here: only it
 * makes another namespace (dlmopen), and musl names everything and loads nothing into what is static.
 */
static int executable_lacks_loader(struct dl_phdr_info *object, size_t size, void *lacks)
{
	(void)size;
	*(bool *)lacks = object->dlpi_name[0] == '\0';
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_INTERP)
			*(bool *)lacks = false;
	return 1;
}

static bool no_loader(void)
{
	bool lacks = false;

	dl_iterate_phdr(executable_lacks_loader, &lacks);
	return lacks;
}

const char *loader_remedy(const char *otherwise)
{
	const char *hint = report_descriptor_hint(-EIO);

	if (no_loader())
		return "link it without -static (libportals3.a is as good there)";
	return *hint ? hint + strlen("; ") : otherwise;
}

void *loader_open(const char *name, int flags, const char **why)
{
	if (no_loader()) {
		*why = "the executable is linked with -static, without a dynamic loader";
		return NULL;
	}
	void *handle = dlopen(name, flags);

	*why = handle ? NULL : dlerror();
	return handle;
}
