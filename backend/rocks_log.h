/* rocks_log.h - RocksDB's log format, in which a MANIFEST is written: blocks of 32 KiB of records, each
 * with a checksum. Pure; any thread. */
#ifndef VARVE_BACKEND_ROCKS_LOG_H
#define VARVE_BACKEND_ROCKS_LOG_H

#include "base/bytes.h"

/* Every record against its checksum, and that records are whole, up to the last byte. RC_CORRUPT
 * says at which offset. */
MUST_USE enum rc rocks_log_check(struct bytes file, const char *what, struct err *err);

#endif
