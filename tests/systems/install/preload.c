/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked into an executable, this makes it one that has loaded something before it uses Portals, as NSS and iconv do. */
#include <dlfcn.h>
#include <stdlib.h>

static void *kept;

__attribute__((constructor)) static void preload(void)
{
	kept = dlopen("libm.so.6", RTLD_NOW);
	if (!kept)
		abort();
}
