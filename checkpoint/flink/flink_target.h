/* flink_target.h - the directory of a snapshot in Flink's form that is being written: files under
 * names as Flink gives them (random UUIDs), then its `_metadata`, so that nothing else is needed.
 *
 * All or nothing: content and name of every file are durable before `_metadata` is there, and that
 * appears whole (C2, C3). Who fails calls flink_target_abort: what was made goes again. Files go
 * through the seam. Memory: FLINK_TARGET_BUFFER for each file that is open. Thread: one owner.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_TARGET_H
#define VARVE_CHECKPOINT_FLINK_FLINK_TARGET_H

#include "base/env.h"
#include "checkpoint/flink/flink_metadata.h"

#define FLINK_TARGET_BUFFER (1u << 20)

struct flink_target; /* opaque */
/* dir: absolute; made, with its parents, or empty: RC_EXISTS else. */
MUST_USE enum rc flink_target_open(const struct env *env, const char *dir,
                                   struct flink_target **out, struct err *err);
/* After the last file. RC_OK: the snapshot is there, power loss included. */
MUST_USE enum rc flink_target_publish(struct flink_target *t, struct bytes metadata,
                                      struct err *err);
/* Removes what was made, and the directory. A file that stays is logged. */
void flink_target_abort(struct flink_target *t);
void flink_target_free(struct flink_target *t); /* NULL is a no-op */
uint64_t flink_target_files(const struct flink_target *t);
uint64_t flink_target_bytes(const struct flink_target *t); /* of all streams */

/* A whole file that nobody changes any more, as a file of the target: a second name of it, or its blocks
 * shared, where the file systems can: *linked. Else nothing was done, and it can be copied. RC_CORRUPT:
 * it has another length. The stream lives in `arena`. */
MUST_USE enum rc flink_target_link(struct flink_target *t, const char *from, uint64_t size_bytes,
                                   struct arena *arena, bool *linked, struct flink_stream *out,
                                   struct err *err);

/* A stream of it: a file or, as Flink has it when nothing was flushed before its end and it is
 * short, bytes inside `_metadata`. `buf` is what comes next: whoever writes appends to it and calls
 * flink_file_flush when it holds more than FLINK_TARGET_BUFFER. */
#define FLINK_INLINE_BYTES 20480u
struct flink_file {
    struct flink_target *target;
    struct fs_file *file; /* NULL: nothing was flushed */
    const char *name;
    struct buf buf;
    uint64_t written; /* before buf */
};
void flink_file_init(struct flink_target *t, struct flink_file *out);
/* Writes the first `n` bytes of buf. */
MUST_USE enum rc flink_file_flush(struct flink_file *f, size_t n, struct err *err);
/* The rest, durably; *out: the handle of it, which lives in `arena`. */
MUST_USE enum rc flink_file_finish(struct flink_file *f, struct arena *arena,
                                   struct flink_stream *out, struct err *err);
void flink_file_release(struct flink_file *f); /* zeroes and finished ones: a no-op */

#endif
