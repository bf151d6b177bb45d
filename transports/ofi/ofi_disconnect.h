/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of connections, before the endpoint is closed. */
#ifndef PORTALS_TRANSPORTS_OFI_DISCONNECT_H
#define PORTALS_TRANSPORTS_OFI_DISCONNECT_H

#include "transports/ofi/ofi.h"

void ofi_disconnect(struct ofi *);

#endif
