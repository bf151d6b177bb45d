/* SPDX-License-Identifier: BSD-3-Clause */
/* Little-endian numbers at any address, whatever the processor's order: compilers make one load or store of each of these. */
#ifndef PORTALS_BASE_BYTES_H
#define PORTALS_BASE_BYTES_H

#include <stdint.h>

/* Behind what was written. */
static inline uint8_t *put_u16(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t)value;
	to[1] = (uint8_t)(value >> 8);
	return to + 2;
}

static inline uint8_t *put_u32(uint8_t *to, uint32_t value)
{
	return put_u16(put_u16(to, (uint16_t)value), (uint16_t)(value >> 16));
}

static inline uint8_t *put_u64(uint8_t *to, uint64_t value)
{
	return put_u32(put_u32(to, (uint32_t)value), (uint32_t)(value >> 32));
}

static inline uint16_t load_u16(const uint8_t *from)
{
	return (uint16_t)(from[0] | from[1] << 8);
}

static inline uint32_t load_u32(const uint8_t *from)
{
	return load_u16(from) | (uint32_t)load_u16(from + 2) << 16;
}

static inline uint64_t load_u64(const uint8_t *from)
{
	return load_u32(from) | (uint64_t)load_u32(from + 4) << 32;
}

#endif
