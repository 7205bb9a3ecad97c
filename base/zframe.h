/* zframe.h - zstd frames with a size limit that is checked before allocating. Thread: any. */
#ifndef VARVE_BASE_ZFRAME_H
#define VARVE_BASE_ZFRAME_H

#include "base/bytes.h"

/* Append one frame with content size and checksum to out. level 1..19. */
void zframe_compress(struct bytes plain, int level, struct buf *out);
/* One frame that fills `frame` exactly, its content appended to out. RC_CORRUPT: damaged, cut, or
 * bytes after it; RC_LIMIT: larger than limit_bytes. `what` names the source in messages. */
MUST_USE enum rc zframe_decompress(struct bytes frame, size_t limit_bytes, struct buf *out,
                                   const char *what, struct err *err);

#endif
