/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own address, and where the addresses of others are. */
#ifndef PORTALS_TRANSPORTS_OFI_ADDRESS_H
#define PORTALS_TRANSPORTS_OFI_ADDRESS_H

#include "transports/ofi/ofi.h"

const char *ofi_address_text(const struct ofi *); /* ours, dotted; valid until the next call of this thread */
int ofi_claim(struct transport_config *, struct transport **out);
void ofi_unclaim(struct ofi *);
int ofi_claim_next_port(struct ofi *); /* the next free candidate after the present one */
void ofi_yield_port(struct ofi *);     /* for a provider whose endpoint binds it itself */
int ofi_resolve(struct transport *, uint32_t nid, uint32_t pid, unsigned attempt, transport_address *);
uint16_t ofi_candidate_port(uint32_t pid, unsigned attempt);

#endif
