/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked into an executable, this makes it one that has loaded something before it uses Portals, as NSS and iconv do. */
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((constructor)) static void preload(void)
{
	if (!dlopen("libm.so.6", RTLD_NOW))
		abort();
}
