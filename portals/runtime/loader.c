/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/loader.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* Whatever was begun by a dynamic loader, also one named on the command line, says which. */
static int names_a_loader(struct dl_phdr_info *object, size_t size, void *argument)
{
	(void)size;
	(void)argument;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_INTERP)
			return true;
	return false;
}

void *load_library(const char *name, int flags, const char **why)
{
	if (!dl_iterate_phdr(names_a_loader, NULL)) {
		*why = "the executable is linked with -static, without a dynamic loader";
		return NULL;
	}
	void *handle = dlopen(name, flags);

	*why = handle ? NULL : dlerror();
	return handle;
}
