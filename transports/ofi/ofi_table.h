/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses that are known. */
#ifndef PORTALS_TRANSPORTS_OFI_TABLE_H
#define PORTALS_TRANSPORTS_OFI_TABLE_H

#include "transports/ofi/ofi.h"

struct ofi_address *ofi_find_address(const struct ofi *, uint32_t nid, uint16_t port);
/* Finds it or makes it, unknown to the provider.  0 or -ENOMEM.  Pointers into ofi->addresses may change. */
int ofi_make_address(struct ofi *, uint32_t nid, uint16_t port, transport_address *out);
int ofi_make_published(struct ofi *, uint32_t nid, uint32_t pid, unsigned life, transport_address *out);
/* The entry is free from now on, and the provider knows it no longer. */
void ofi_free_address(struct ofi *, transport_address);
/* Tells the provider of it, `name` being the provider's own.  0, or a negative errno value, not reported. */
int ofi_insert_address(struct ofi *, transport_address, const void *name);
/* From now on the provider calls it so; FI_ADDR_NOTAVAIL: it does not know it any more.  0 or -ENOMEM. */
int ofi_number_address(struct ofi *, transport_address, fi_addr_t number);

#endif
