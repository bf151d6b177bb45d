/* SPDX-License-Identifier: BSD-3-Clause */
/* What hardened kernels and containers refuse, refused here. */
#ifndef TESTS_REFUSE_H
#define TESTS_REFUSE_H

#include <stdbool.h>

/* process_vm_readv() and process_vm_writev() end with EPERM from now on, for threads started later too.  False: the
   kernel has no such filters. */
bool refuse_cross_memory(void);

#endif
