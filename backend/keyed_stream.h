/* keyed_stream.h - the stream of entries that a hashmap backend's snapshot is; docs/FORMAT.md
 * "Keyed stream".
 *
 * Blocks of entries, each of one key group and one state, with an XXH3-64; groups in ascending
 * order. Written piecewise to a snapshot_target, read with every byte checked. Thread: one owner.
 */
#ifndef VARVE_BACKEND_KEYED_STREAM_H
#define VARVE_BACKEND_KEYED_STREAM_H

#include "backend/snapshot_target.h"
#include "base/env.h"

#define KEYED_STREAM_HEADER_BYTES 40u
#define KEYED_BLOCK_HEADER_BYTES 32u
#define KEYED_BLOCK_BODY_MAX (1u << 31) /* one entry may be as large as a value */
#define KEYED_BLOCK_BODY_FULL (256u << 10)

struct keyed_stream_writer; /* opaque */
MUST_USE enum rc keyed_stream_writer_open(struct snapshot_target *target,
                                          struct key_group_range range, uint32_t key_group_count,
                                          uint32_t state_count, struct keyed_stream_writer **out,
                                          struct err *err);
/* Groups and, within a group, states must not descend. */
MUST_USE enum rc keyed_stream_write(struct keyed_stream_writer *w, uint32_t group,
                                    uint32_t state_id, struct bytes key, struct bytes value,
                                    struct err *err);
/* Finishes the stream; fills files, group_offsets and entry_count of *out in `arena`, and frees w,
 * whatever the code. */
MUST_USE enum rc keyed_stream_finish(struct keyed_stream_writer *w, struct arena *arena,
                                     struct keyed_handle *out, struct err *err);
void keyed_stream_abort(struct keyed_stream_writer *w); /* NULL is a no-op */

/* Called for the entries of one block at a time; slices hold for the call. */
typedef enum rc keyed_stream_fn(void *ctx, uint32_t state_id, uint32_t count,
                                const struct bytes *keys, const struct bytes *values,
                                struct err *err);
/* A KEYED_STREAM handle's file, opened; the handle is borrowed. prove: size and digest of all of it
 * first; else the size alone, and what is read is proven block by block. RC_CORRUPT names file,
 * offset and reason. */
struct keyed_stream_reader; /* opaque */
MUST_USE enum rc keyed_stream_open(struct fs *fs, const struct keyed_handle *h, bool prove,
                                   struct keyed_stream_reader **out, struct err *err);
void keyed_stream_close(struct keyed_stream_reader *r); /* NULL is a no-op */
/* All blocks of a group in the handle's range (asserted). */
MUST_USE enum rc keyed_stream_read_group(struct keyed_stream_reader *r, uint32_t group,
                                         keyed_stream_fn *fn, void *ctx, struct err *err);
/* Proves the file of a KEYED_STREAM handle and reads the entries whose group lies in `range`. */
MUST_USE enum rc keyed_stream_read(struct fs *fs, const struct keyed_handle *h,
                                   struct key_group_range range, keyed_stream_fn *fn, void *ctx,
                                   struct err *err);
/* The size alone. */
MUST_USE enum rc state_file_measure(struct fs *fs, const struct state_file *f, struct err *err);
/* Size and digest of a file of a handle against what is there (C13): inline bytes, or
 * resolved_path. */
MUST_USE enum rc state_file_prove(struct fs *fs, const struct state_file *f, struct err *err);

#endif
