/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/loader.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

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

void *load_library(const char *name, int flags, const char **why)
{
	bool alone = false;

	dl_iterate_phdr(executable_lacks_loader, &alone);
	if (alone) {
		*why = "the executable is linked with -static, without a dynamic loader";
		return NULL;
	}
	void *handle = dlopen(name, flags);

	*why = handle ? NULL : dlerror();
	return handle;
}
