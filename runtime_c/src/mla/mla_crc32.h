/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_crc32.h: CRC-32 as in zlib (mla_crc32.c). */
#include <stddef.h>
#include <stdint.h>

/* Goes on with a checksum: 0 at the start; mla_crc32(mla_crc32(0, a), b) is that of a followed by b. */
uint32_t mla_crc32(uint32_t crc, const uint8_t *data, size_t bytes);
