/* snapshot_target.h - where a snapshot puts its files; checkpoint/storage implements it.
 *
 * One target serves one attempt (checkpoint or savepoint) and may be used by several threads at
 * once. After RC_OK of a publish the content and its name are durable (C2). A failure leaves
 * nothing that a later retry or the attempt's clean-up would not handle.
 */
#ifndef VARVE_BACKEND_SNAPSHOT_TARGET_H
#define VARVE_BACKEND_SNAPSHOT_TARGET_H

#include "backend/state_handle.h"

struct snapshot_target;
struct snapshot_stream; /* an exclusive file being written; may end inline */

struct snapshot_target_ops {
    /* A finished, immutable local file that later checkpoints may share. Reserves its content name
     * for this attempt, then hard-links, reflinks or copies it into shared/ (savepoints: into their
     * own directory) unless it is there already and proven. Fills *out anew, local_name as "": the
     * caller knows it, and sets it after the call. Strings in `arena`. */
    enum rc (*publish_shared)(struct snapshot_target *, struct arena *arena, const char *local_path,
                              uint64_t size_bytes, struct digest128 digest, struct state_file *out,
                              struct err *);
    /* Small content of this attempt alone: inline up to the threshold, else a file in chk-<n>/. */
    enum rc (*publish_exclusive)(struct snapshot_target *, struct arena *arena,
                                 struct bytes content, struct state_file *out, struct err *);
    /* The same for content that is written in pieces. finish or abort ends the stream. */
    enum rc (*stream_open)(struct snapshot_target *, struct snapshot_stream **out, struct err *);
    enum rc (*stream_append)(struct snapshot_stream *, struct bytes, struct err *);
    enum rc (*stream_finish)(struct snapshot_stream *, struct arena *arena, struct state_file *out,
                             struct err *);
    void (*stream_abort)(struct snapshot_stream *);
    /* A finished file in taskowned/ that its task holds (storage_hold): named where it lies; a
     * savepoint gets a link or copy of its own. Of *log resolved_path, size, digest and
     * newly_written are given; scope, path and resolved_path are filled, strings in `arena`.
     * NULL: the target takes none. */
    enum rc (*publish_log)(struct snapshot_target *, struct arena *arena, struct state_file *log,
                           struct err *);
    /* true once the attempt is aborted: long work may stop early with RC_CANCELLED. */
    bool (*cancelled)(struct snapshot_target *);
};
struct snapshot_target {
    const struct snapshot_target_ops *ops;
    bool far; /* files go to a server: it pays to send several at a time, whatever is known of them */
};

#endif
