/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric's shm, whose peers have to meet before they may be addressed. */
#ifndef PORTALS_TRANSPORTS_OFI_SHM_H
#define PORTALS_TRANSPORTS_OFI_SHM_H

#include "transports/ofi/ofi.h"

extern const struct transport_ops transport_ofi_shm;
int ofi_shm_take_name(struct ofi *);

#endif
