/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading the libraries that only some processes need. */
#ifndef PORTALS_BASE_LOADER_H
#define PORTALS_BASE_LOADER_H

/*
 * dlopen(); NULL with the reason in *why.
 *
 * Refused in an executable linked with -static throughout: with the library its C library would come a second time, in
 * which libfabric (1.17) and PMIx (4.2) crash.
 */
void *loader_open(const char *name, int flags, const char **why);

/* What to do about it, as the end of a sentence: `otherwise` (install what it is in), or what is known to stand in the way. */
const char *loader_remedy(const char *otherwise);

#endif
