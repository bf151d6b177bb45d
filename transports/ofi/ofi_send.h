/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends. */
#ifndef PORTALS_TRANSPORTS_OFI_SEND_H
#define PORTALS_TRANSPORTS_OFI_SEND_H

#include "transports/ofi/ofi.h"

int ofi_slots_create(struct ofi *);
void ofi_slots_destroy(struct ofi *);
int ofi_send(struct transport *, transport_address, const void *header, size_t header_length,
	     const struct iovec *payload, int count);
int ofi_send_placed(struct transport *, transport_address, const void *header, size_t header_length,
		    const struct iovec *payload, int count, void *context);
/* The provider is through with it: so is the payload's owner, if that is not in the slot. */
void ofi_send_done(struct ofi *, struct ofi_operation *slot);
/* What a refused post means to the engine: -EAGAIN, or -EHOSTUNREACH (reported). */
int ofi_post_error(const struct ofi *, const char *what, uint64_t peer, ssize_t code);

#endif
