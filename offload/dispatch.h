/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrivals. */
#ifndef PORTALS_OFFLOAD_DISPATCH_H
#define PORTALS_OFFLOAD_DISPATCH_H

#include "transports/transport.h"

extern const struct transport_sink dispatch_sink;

#endif
