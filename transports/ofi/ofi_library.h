/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric, loaded when an interface first wants it. */
#ifndef PORTALS_TRANSPORTS_OFI_LIBRARY_H
#define PORTALS_TRANSPORTS_OFI_LIBRARY_H

#include <rdma/fabric.h>
#include <signal.h>
#include <sys/types.h>

/* The few functions libfabric exports; everything else goes through the tables of the objects they make. */
struct ofi_library {
	uint32_t (*version)(void);
	const char *(*strerror)(int error);
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *);
	struct fi_info *(*dupinfo)(const struct fi_info *);
	int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *context);
	pid_t process; /* that loaded it */
};

/* NULL, reported, if there is no libfabric.  The library stays loaded. */
const struct ofi_library *ofi_library_load(void);

/* The application's signal handlers before libfabric and its providers had a chance to replace them. */
struct ofi_signals {
	struct sigaction saved[NSIG];
	size_t objects; /* shared objects loaded at that time */
};
void ofi_library_prepare(void);
void ofi_signals_save(struct ofi_signals *);
void ofi_signals_restore(const struct ofi_signals *);

#endif
