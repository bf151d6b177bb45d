/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether software stands for hardware that is measured: such figures say nothing about the hardware, and are marked. */
#ifndef PTLBENCH_EMULATED_H
#define PTLBENCH_EMULATED_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * A soft RDMA device (soft-RoCE, soft-iWARP) that serves the network interface, or, if none of all devices says that it does, any
 * soft one; `sysfs` is where /sys is.  False: all are hardware, or there is none.
 */
bool emulated_device(const char *sysfs, const char *iface, char *name, size_t size);

/* The processor, by QEMU without a hypervisor (TCG); one that is only virtual runs the program itself. */
bool emulated_processor(void);

/* Marks what is printed, as soon as the transport is known: from what was asked for, or from what an interface says it is made of. */
void emulated_mark(const struct options *options);
void emulated_mark_interface(const char *transport_ofi, const char *iface);

#endif
