/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum of iSCSI (RFC 3720), eight bytes at a time: table k advances a byte over k bytes of zeros. */
#include "crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t tables[8][256];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (unsigned byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][byte] = crc;
	}
	for (unsigned k = 1; k < 8; k++)
		for (unsigned byte = 0; byte < 256; byte++)
			tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 255];
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t length)
{
	const unsigned char *next = bytes;
	pthread_once(&made, make_tables);
	crc = ~crc;
	for (; length >= 8; length -= 8, next += 8) {
		crc ^= (uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 | (uint32_t)next[3] << 24;
		crc = tables[7][crc & 255] ^ tables[6][crc >> 8 & 255] ^ tables[5][crc >> 16 & 255] ^
		      tables[4][crc >> 24] ^ tables[3][next[4]] ^ tables[2][next[5]] ^ tables[1][next[6]] ^
		      tables[0][next[7]];
	}
	for (; length > 0; length--)
		crc = crc >> 8 ^ tables[0][(crc ^ *next++) & 255];
	return ~crc;
}
