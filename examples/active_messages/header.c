/* SPDX-License-Identifier: BSD-3-Clause */
/* The 64 bits of hdr_data: tag 32, slot 16, handler 8, count 3, padding 3, body 2. */
#include "internal.h"

uint64_t am_pack(const struct header *header)
{
	return (uint64_t)header->tag << 32 | (uint64_t)header->slot << 16 | (uint64_t)header->handler << 8 |
	       (uint64_t)header->count << 5 | (uint64_t)header->padding << 2 | (uint64_t)header->body;
}

struct header am_unpack(uint64_t word)
{
	return (struct header){
		.tag = (uint32_t)(word >> 32),
		.slot = word >> 16 & 0xffff,
		.handler = word >> 8 & 0xff,
		.count = word >> 5 & 7,
		.padding = word >> 2 & 7,
		.body = (enum body)(word & 3),
	};
}
