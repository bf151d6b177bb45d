/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads of the memory of peers. */
#ifndef PORTALS_TRANSPORTS_OFI_RMA_H
#define PORTALS_TRANSPORTS_OFI_RMA_H

#include "transports/ofi/ofi.h"

int ofi_read(struct transport *, const struct transport_read *);
void ofi_rma_done(struct ofi *, struct ofi_operation *, int status);
/* Its peer has died and nothing will be heard of it: as ofi_rma_done(), but what the provider holds stays its own. */
void ofi_rma_abandon(struct ofi *, struct ofi_operation *, int status);
void ofi_rma_reuse_failed(struct ofi *); /* the completion queue is empty */
void ofi_rma_destroy(struct ofi *);

#endif
