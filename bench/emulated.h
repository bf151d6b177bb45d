/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether software stands for hardware that is measured: such figures say nothing about the hardware, and are marked. */
#ifndef PTLBENCH_EMULATED_H
#define PTLBENCH_EMULATED_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * Whether all RDMA devices that serve the network interface (named as such, or as the device) are soft ones (soft-RoCE, soft-iWARP),
 * or, if no device says that it does, all that there are; and the name of one.  `sysfs` is where /sys is; "": no interface.
 */
bool emulated_device(const char *sysfs, const char *iface, char *name, size_t size);

/* The processor, by QEMU without a hypervisor (TCG); one that is only virtual runs the program itself. */
bool emulated_processor(void);

/*
 * Marks what is printed: before an interface is open only where every RDMA device is soft, and then from what the interface says it is
 * made of.
 */
void emulated_mark(const struct options *options);
void emulated_mark_interface(const char *transport_ofi, const char *iface);

#endif
