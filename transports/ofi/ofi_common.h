/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that the tables of all providers share. */
#ifndef PORTALS_TRANSPORTS_OFI_COMMON_H
#define PORTALS_TRANSPORTS_OFI_COMMON_H

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_memory.h"
#include "transports/ofi/ofi_open.h"
#include "transports/ofi/ofi_probe.h"
#include "transports/ofi/ofi_sleep.h"

void ofi_close(struct transport *);
void ofi_forked(struct transport *);
unsigned ofi_own_attempt(const struct transport *);
int ofi_describe(const struct transport *, char *text, size_t size);
unsigned ofi_unsent(const struct transport *);
/* As their namesakes, for providers that enter the kernel (base/cancel.h). */
int ofi_send_uncancelled(struct transport *, transport_address, const void *header, size_t header_length,
			 const struct iovec *payload, int count);
int ofi_send_placed_uncancelled(struct transport *, transport_address, const void *header, size_t header_length,
				const struct iovec *payload, int count, void *context);
int ofi_read_uncancelled(struct transport *, const struct transport_read *);
int ofi_poll_uncancelled(struct transport *, int budget);

/* What the operation tables have in common: all of them, and those of providers that enter the kernel. */
#define OFI_COMMON_OPS                                                                                                 \
	.name = "ofi", .register_memory = ofi_register_memory, .deregister = ofi_deregister, .unsent = ofi_unsent,     \
	.describe = ofi_describe
#define OFI_SOCKET_OPS                                                                                                 \
	OFI_COMMON_OPS, .open = ofi_open, .close = ofi_close, .forked = ofi_forked, .poll = ofi_poll_uncancelled,      \
			.arm = ofi_arm, .wait_fd = ofi_wait_fd, .probe = ofi_probe

#endif
