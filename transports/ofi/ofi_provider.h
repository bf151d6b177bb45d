/* SPDX-License-Identifier: BSD-3-Clause */
/* Which providers there are to open, and what is known of each. */
#ifndef PORTALS_TRANSPORTS_OFI_PROVIDER_H
#define PORTALS_TRANSPORTS_OFI_PROVIDER_H

#include "transports/ofi/ofi.h"
#include "transports/tuning.h"

#define OFI_PROFILES 8
#define OFI_DEVICES  "/sys/class/infiniband"

bool ofi_is_published(const char *provider, const struct settings *); /* rather than computed: its peers' addresses */
size_t ofi_choose_profiles(const char *provider, struct ofi_profile chosen[OFI_PROFILES]);
int ofi_check_addresses(struct ofi *);         /* -ENOTSUP, noted, unless we can compute them or have a book */
int ofi_query(struct ofi *);                   /* finds ofi->info for ofi->profile */
size_t ofi_greatest_short(const struct ofi *); /* what any peer may send */
size_t ofi_choose_short_max(const struct ofi *);
/* As a user writes it, and a tuning file: ofi:tcp. */
void ofi_tuning_name(const struct ofi *, char name[TUNING_NAME_MAX]);
void ofi_list_providers(const struct ofi *, char *text, size_t size);
/* Before the first opening, like ofi_library_prepare().  `devices`: a directory with an entry for each RDMA device. */
void ofi_prepare_verbs(const char *provider, const char *devices);
/* Notes why a provider was refused, for describe() and the final error; both return `error`. */
int ofi_refuse(struct ofi *, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
int ofi_refuse_step(struct ofi *, const char *step, int code);

#endif
