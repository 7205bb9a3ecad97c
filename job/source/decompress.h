/* decompress.h - gzip and zstd input, recognised by content: bytes in, bytes out, bounded memory.
 *
 * Members (gzip) and frames (zstd) may follow one another; empty ones and zstd's skippable frames
 * hold nothing. Cut or damaged input is RC_CORRUPT; checksums are looked at. Thread: one at a time.
 */
#ifndef VARVE_JOB_SOURCE_DECOMPRESS_H
#define VARVE_JOB_SOURCE_DECOMPRESS_H

#include "base/bytes.h"

/* A zstd frame that asks for a larger window is refused: 27 = 128 MiB, what `zstd` makes without
 * --long. */
#define ZSTD_WINDOW_LOG_MAX 27
/* As many first bytes as compression_of needs. */
#define COMPRESSION_MAGIC_LEN 6u

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };
/* By the first bytes of a file. A file whose name promises a compression (.gz, .gzip, .zst, .zstd)
 * and does not begin like it is RC_CORRUPT; bzip2 and xz are RC_UNSUPPORTED. `name`: for the rule
 * and for messages. */
MUST_USE enum rc compression_of(const char *name, struct bytes head, enum compression *out,
                                struct err *err);

struct decompressor;                                          /* opaque */
struct decompressor *decompressor_new(enum compression kind); /* not COMPRESSION_NONE */
void decompressor_free(struct decompressor *d);
/* Takes from `in` (*used bytes) and writes to out (*made bytes, at most cap). in_end: nothing
 * follows `in`. Progress is made whenever `in` is not empty and cap > 0. *done: the input has ended
 * where it may end, and everything was written. */
MUST_USE enum rc decompressor_run(struct decompressor *d, struct bytes in, bool in_end,
                                  size_t *used, uint8_t *out, size_t cap, size_t *made, bool *done,
                                  struct err *err);

#endif
