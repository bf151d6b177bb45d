/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors that sleepers watch in place of the provider. */
#ifndef PORTALS_TRANSPORTS_OFI_WATCH_H
#define PORTALS_TRANSPORTS_OFI_WATCH_H

#include "transports/ofi/ofi.h"

void ofi_watch_take(struct ofi *); /* the endpoint has been enabled */
void ofi_watch_give_back(struct ofi *);
int ofi_watch(struct ofi *); /* 0, or a negative errno value: not everything is watched */
void ofi_unwatch(struct ofi *);

/*
 * Has watching without a sleeper cost about as much as ending it, and beginning it with the next sleep?  That is as much as it costs for a few
 * messages, and for one more with some 32 connections: the kernel looks at each of them there, and goes all the way up from one here.
 * Every connection has an address, so that there are no fewer of those.
 */
static inline bool ofi_watching_costs_more(const struct ofi *ofi)
{
	return ofi->received - ofi->received_when_armed > 4 + ofi->address_count / 32;
}

/* What is in an epoll set of this process; of anything else, nothing. */
void ofi_for_each_watched(int set, void (*act)(void *, const struct ofi_watched *), void *argument);

#endif
