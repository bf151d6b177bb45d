/* SPDX-License-Identifier: BSD-3-Clause */
/* Network devices of this host by name, as far as an NI needs them. */
#ifndef PORTALS_OFFLOAD_INTERFACE_H
#define PORTALS_OFFLOAD_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

/*
 * IPv4 address, in host byte order, of a device given by name or by its address; "auto" is the first device that is
 * up and not a loopback, else the loopback.  Its name goes to `name`.  0 or -ENODEV with a report.
 */
int interface_find(const char *wanted, char *name, size_t size, uint32_t *nid);

#endif
