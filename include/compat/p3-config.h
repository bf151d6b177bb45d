/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reference implementation's configure found out; programs include it and use nothing of it. */
#ifndef P3_CONFIG_H
#define P3_CONFIG_H

#endif
