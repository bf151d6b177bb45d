/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives, and the completion queue. */
#ifndef PORTALS_TRANSPORTS_OFI_RECEIVE_H
#define PORTALS_TRANSPORTS_OFI_RECEIVE_H

#include "transports/ofi/ofi.h"

int ofi_buffers_create(struct ofi *);
void ofi_buffers_destroy(struct ofi *);
int ofi_poll(struct transport *, int budget);

#endif
