/* flink_view.h - a snapshot that Flink wrote as the tree that the looking verbs share (metadata.h).
 *
 * It holds what there is to list, measure and compare: operators, subtasks, and each file once, with
 * where it lies. What else Flink's _metadata says stays in `flink` of the tree. Files have no digest:
 * the one that stands there tells them apart, by their own names, so that a copy of a snapshot has
 * the same ones.
 *
 * Flink names shared files by absolute path. When a snapshot was moved together with its job's
 * directory (or a savepoint as a whole), the file at the same relative place is meant, if there is
 * one there of any that lay in that directory; rules of --rebase go first. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_VIEW_H
#define VARVE_CHECKPOINT_FLINK_FLINK_VIEW_H

#include "base/fs.h"
#include "checkpoint/flink/flink_metadata.h"
#include "checkpoint/metadata.h"
#include "checkpoint/rebase.h"

/* dir: absolute, where the _metadata lies; rebase NULL: no rules. Everything in `arena`, which holds
 * `m` too. written_wall_ms: when the _metadata was last changed. */
MUST_USE enum rc flink_view_make(struct fs *fs, const struct flink_metadata *m, const char *dir,
                                 const struct rebase *rebase, int64_t written_wall_ms,
                                 struct arena *arena, struct checkpoint_metadata *out,
                                 struct err *err);
/* Where streams' bytes lie, by the same rules. */
struct flink_places; /* opaque */
/* m NULL: of a snapshot that names no file elsewhere. */
struct flink_places *flink_places_new(struct fs *fs, const struct flink_metadata *m,
                                      const char *dir, const struct rebase *rebase,
                                      struct arena *arena);
/* "" for one without bytes elsewhere. In the arena. */
const char *flink_place(struct flink_places *p, const struct flink_stream *s);
/* The file of the tree that stands for a stream's bytes. */
struct state_file flink_view_file(struct flink_places *places, struct arena *arena,
                                  const struct flink_stream_use *use);
/* Text as a C string: a NUL in it is shown as "\x00". In the arena. */
const char *flink_c_text(struct arena *arena, struct bytes text);

#endif
