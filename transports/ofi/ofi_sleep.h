/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping until something arrives. */
#ifndef PORTALS_TRANSPORTS_OFI_SLEEP_H
#define PORTALS_TRANSPORTS_OFI_SLEEP_H

#include "transports/ofi/ofi.h"

void ofi_sleep_prepare(struct ofi *);
void ofi_sleep_destroy(struct ofi *);
int ofi_fill_stash(struct ofi *); /* 0: nothing has come; otherwise poll() is to be called */
/* Has it completed already?  What else has, up to it, is kept for poll(). */
bool ofi_completed_at_once(struct ofi *, const struct ofi_operation *);
int ofi_arm(struct transport *);
/* Has the provider take some of the connections that wait at its listener; a system call if there are none. */
void ofi_take_connections(struct ofi *ofi);
int ofi_wait_fd(const struct transport *);

#endif
