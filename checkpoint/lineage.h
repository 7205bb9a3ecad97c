/* lineage.h - the file ORIGIN in a job's directory: which run it belongs to, and from which runs that
 * one went on.
 *
 * A run writes it at its start, once it holds LOCK and before it touches anything outside its
 * snapshot; nothing is written into the directories it went on from. A resume learns from it that a
 * checkpoint is followed by a run that has ended, or that a start from nothing came after one; a file
 * sink, whether it may go on with a part in place: only when no other run does, or may. Of two runs
 * that start at once from one checkpoint, at most one looks before the other has written its ORIGIN;
 * each that does see the other finds its LOCK held. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_LINEAGE_H
#define VARVE_CHECKPOINT_LINEAGE_H

#include "base/env.h"
#include "checkpoint/note.h"

#define LINEAGE_ANCESTORS_MAX 1000u /* nearest ones */

struct run_origin {
    const char *job_id, *job_name;
    const char *fingerprint; /* of the statements: equal ones are the same job (not only its name) */
    int64_t started_wall_ms;
    const char *from; /* directory of the snapshot that it started from; "": from nothing */
    /* Job ids of the runs that it went on from, nearest first, then of those that came to nothing
     * before it. Their directories lie beside one another: so a root that was moved keeps its
     * order. */
    size_t ancestor_count;
    const char **ancestors;
};

void origin_encode(const struct run_origin *o, struct buf *out);
/* RC_CORRUPT. Strings in the note's arena. */
MUST_USE enum rc origin_parse(struct note note, struct run_origin *out, struct err *err);
MUST_USE enum rc origin_write(struct fs *fs, const char *job_dir, const struct run_origin *o,
                              struct err *err);
/* RC_NOT_FOUND: none; RC_CORRUPT, RC_LIMIT. */
MUST_USE enum rc origin_read(struct fs *fs, const char *job_dir, struct arena *arena,
                             struct run_origin *out, struct err *err);

/* Fills the ancestors of a run that starts from the snapshot in `snapshot_dir`, nearest first, and
 * *parent_dir, the directory of the nearest (NULL: none), in `arena`: the run whose directory it lies in (a checkpoint) or that is named `job_id` below `root`
 * (a savepoint; root NULL: not known), and those before it. None when that run may live: what starts then is a fork of it. */
MUST_USE enum rc lineage_ancestors(const struct env *env, const char *snapshot_dir,
                                   const char *job_id, const char *root, struct arena *arena,
                                   struct run_origin *out, const char **parent_dir,
                                   struct err *err);

/* Adds those runs beside `own_dir` (NULL: the run has none) to the ancestors that are of the same
 * statements, are dead and completed nothing: each whose own ancestors are all among them. So their
 * order is known, whatever the clock said. */
MUST_USE enum rc lineage_add_begun(struct fs *fs, const char *own_dir, struct arena *arena,
                                   struct run_origin *out, struct err *err);

/* Whether the run in `own_dir`, whose ORIGIN is written, may take what the run of checkpoint `id` in
 * `job_dir` left outside for its own: that run and all others that went on from there are dead for
 * certain, and made no snapshot after it, and
 * it is no copy of one that is still there. Others are known only by their directories beside both: no,
 * when the two do not lie in one. own_dir NULL: the run has none, so others could not know of it. */
bool lineage_may_take_over(const struct env *env, const char *job_dir, uint64_t id,
                           const char *own_dir);

#endif
