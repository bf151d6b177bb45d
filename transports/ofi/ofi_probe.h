/* SPDX-License-Identifier: BSD-3-Clause */
/* Is the port of a peer still held? */
#ifndef PORTALS_TRANSPORTS_OFI_PROBE_H
#define PORTALS_TRANSPORTS_OFI_PROBE_H

#include "transports/ofi/ofi.h"

int ofi_probe(struct transport *, transport_address);

#endif
