/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses that do not follow from (nid, pid). */
#ifndef PORTALS_TRANSPORTS_OFI_PUBLISHED_H
#define PORTALS_TRANSPORTS_OFI_PUBLISHED_H

#include "transports/ofi/ofi.h"

extern const struct transport_ops transport_ofi_published;
int ofi_publish(struct ofi *); /* the endpoint has been enabled */

#endif
