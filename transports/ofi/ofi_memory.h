/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions. */
#ifndef PORTALS_TRANSPORTS_OFI_MEMORY_H
#define PORTALS_TRANSPORTS_OFI_MEMORY_H

#include "transports/ofi/ofi.h"

int ofi_register_memory(struct transport *, void *base, size_t length, unsigned uses, struct memory_region *);
void ofi_deregister(struct transport *, struct memory_region *);
void ofi_memory_destroy(struct ofi *);
/* report_lock_hint() for a provider that pins memory. */
const char *ofi_lock_hint(const struct ofi *, int code);
/* Registers with the provider's modes honoured; the key is random where we choose it. */
int ofi_register(struct ofi *, const void *base, size_t length, uint64_t access, struct fid_mr **);

#endif
