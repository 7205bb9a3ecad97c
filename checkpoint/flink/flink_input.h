/* flink_input.h - the bytes of one stream of Flink's, from an offset on, through a window: a file, a
 * segment of one, or bytes inlined in `_metadata`; uncompressed on the way where they are Snappy's.
 *
 * The window grows to what its reader wants to see at once, at most FLINK_WANT_MAX. Streams have no
 * checksum of their own (compressed ones have one in each chunk, which is held): what is read here
 * is as Flink would read it, no more. Thread: one owner.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_INPUT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_INPUT_H

#include "base/fs.h"
#include "checkpoint/flink/flink_metadata.h"
#include "checkpoint/flink/flink_states.h"

#define FLINK_WANT_MAX (256u << 20) /* one key or value */

struct flink_input; /* opaque */
/* path: where the file of the stream lies (flink_view.h); "" when it is inlined. The stream is
 * borrowed while it is open. RC_CORRUPT: the file is shorter than the stream says. */
MUST_USE enum rc flink_input_open(struct fs *fs, const struct flink_stream *stream,
                                  const char *path, struct flink_input **out, struct err *err);
void flink_input_close(struct flink_input *in); /* NULL is a no-op */
uint64_t flink_input_size(const struct flink_input *in);
const char *flink_input_name(const struct flink_input *in); /* for messages */

/* Goes to an offset of the stream, and from there at most to `end`. compressed: what lies there is
 * Snappy frames. RC_CORRUPT: there is no such offset. */
MUST_USE enum rc flink_input_seek(struct flink_input *in, uint64_t offset, uint64_t end,
                                  bool compressed, struct err *err);
/* What comes next, at least `want` bytes of it; *out is shorter at the end alone. Holds until the
 * next call. RC_LIMIT past FLINK_WANT_MAX. */
MUST_USE enum rc flink_input_want(struct flink_input *in, size_t want, struct bytes *out,
                                  struct err *err);
/* Goes on by `n` bytes of what was shown. */
void flink_input_skip(struct flink_input *in, size_t n);
/* Exactly n bytes, and goes on. RC_CORRUPT: fewer are left; `field` says of what. */
MUST_USE enum rc flink_input_take(struct flink_input *in, size_t n, struct bytes *out,
                                  const char *field, struct err *err);
/* Where the next byte lies: offset in the stream; of compressed ones that of its chunk's end. */
uint64_t flink_input_offset(const struct flink_input *in);
/* Turns the raw bytes that follow into Snappy frames from here on. Only where the window holds
 * nothing more that is needed. */
MUST_USE enum rc flink_input_uncompress(struct flink_input *in, struct err *err);

/* The description that a stream of state begins with, by flink_states_keyed or _operator: as much of
 * the stream is shown as it needs. Everything in `arena`. Codes as theirs. */
typedef enum rc flink_states_fn(struct reader *r, struct arena *arena, struct flink_states *out,
                                struct err *err);
MUST_USE enum rc flink_input_states(struct flink_input *in, flink_states_fn *read,
                                    struct arena *arena, struct flink_states *out,
                                    struct err *err);

#endif
