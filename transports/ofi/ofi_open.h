/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing the endpoint. */
#ifndef PORTALS_TRANSPORTS_OFI_OPEN_H
#define PORTALS_TRANSPORTS_OFI_OPEN_H

#include "transports/ofi/ofi.h"

int ofi_open(struct transport *);
void ofi_release(struct ofi *); /* everything open() made */

#endif
