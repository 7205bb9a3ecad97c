/* snapshot_writer.h - a snapshot that a thread of its own writes while its backend is used. What
 * differs from what should be aborts the test.
 *
 *     keyed_snapshot_begin -> snapshot_writer_start -> .. -> snapshot_writer_join, or _complete
 *
 * Thread: the task's. */
#ifndef VARVE_TESTS_LIB_SNAPSHOT_WRITER_H
#define VARVE_TESTS_LIB_SNAPSHOT_WRITER_H

#include "backend/keyed_backend.h"
#include "tests/lib/dir_target.h"

struct snapshot_writer {
    struct keyed_snapshot *snapshot; /* set by who began it */
    struct dir_target *target;
    struct arena *arena; /* of the handle */
    struct keyed_handle handle;
    struct thread *thread;
    enum rc rc;
    struct err err;
};
void snapshot_writer_start(struct snapshot_writer *w, struct dir_target *target);
/* Waits until it is written; its handle, with the files' paths, to `out` in `arena`. */
void snapshot_writer_join(struct snapshot_writer *w, struct arena *arena, struct keyed_handle *out);
/* The same, then frees the snapshot and tells the backend that its checkpoint is complete. */
void snapshot_writer_complete(struct snapshot_writer *w, struct keyed_backend *backend,
                              uint64_t checkpoint_id, struct arena *arena,
                              struct keyed_handle *out);

#endif
