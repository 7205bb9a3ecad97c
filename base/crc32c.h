/* crc32c.h - the checksum of RocksDB's logs and of snappy's framing format (Castagnoli's polynomial).
 * Pure; any thread. */
#ifndef VARVE_BASE_CRC32C_H
#define VARVE_BASE_CRC32C_H

#include "base/bytes.h"

/* Goes on from `crc`, that of what lies before; 0 at the beginning. */
uint32_t crc32c(uint32_t crc, struct bytes b);
/* As both formats store it: so that the checksum of bytes that hold one is none of a kind. */
static inline uint32_t crc32c_masked(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

#endif
