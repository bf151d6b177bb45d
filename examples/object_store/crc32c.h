/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_STORE_CRC32C_H
#define OBJECT_STORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC-32C (Castagnoli) of what `crc` is the checksum of, and then `bytes`; of nothing it is 0. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t length);

#endif
