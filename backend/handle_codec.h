/* handle_codec.h - a keyed_handle as bytes of its own, outside any _metadata; docs/FORMAT.md
 * "Handle".
 *
 * A header with version, length and digest, then the handle. Decoding proves the digest first, and
 * then believes nothing: lengths, counts, names, ranges and offsets are all checked, so that what
 * comes out may be handed to keyed_backend_open. Pure; any thread. */
#ifndef VARVE_BACKEND_HANDLE_CODEC_H
#define VARVE_BACKEND_HANDLE_CODEC_H

#include "backend/state_handle.h"

#define HANDLE_BYTES_MAX (1u << 30) /* inline files included */
#define HANDLE_STATES_MAX 4096u
#define HANDLE_FILES_MAX (1u << 18)
#define HANDLE_PATH_MAX 1023u   /* bytes of a file's path */
#define HANDLE_TEXT_MAX 16384u  /* bytes of a type */

/* Appends. */
void handle_encode(const struct keyed_handle *h, struct buf *out);
/* Strings and inline content are copied into `arena`. RC_CORRUPT, RC_VERSION, RC_LIMIT. */
MUST_USE enum rc handle_decode(struct bytes bytes, struct arena *arena, struct keyed_handle *out,
                               struct err *err);

#endif
