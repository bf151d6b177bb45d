/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses that the engine has taken back. */
#ifndef PORTALS_TRANSPORTS_OFI_FORGET_H
#define PORTALS_TRANSPORTS_OFI_FORGET_H

#include "transports/ofi/ofi.h"

void ofi_dig_grave(struct ofi *); /* the endpoint has been enabled, and no address inserted */
/* One use more and one less of an address. */
void ofi_use(struct ofi *, transport_address);
void ofi_forget(struct transport *, transport_address);
void ofi_reap_unused(struct ofi *); /* the completion queue has been found empty; there are more than OFI_UNUSED_KEPT */

#endif
