/* orphans_flink.h - deleting what no _metadata names from a directory of Flink's, which has no lock by
 * which to know that its job is gone: the user has to say so, and what can be seen must agree.
 *
 * Nothing is deleted while a _metadata there, or elsewhere below its root, cannot be read; when
 * none is there at all; or when anything in the directory changed since the look began. Never what a
 * snapshot elsewhere names (claims.h), nor what was written after the newest _metadata, since it may
 * be of a checkpoint that was under way. Each file is looked at once more before it goes. Nothing
 * that is named is touched, so a crash at any moment loses nothing. Thread: one owner.
 */
#ifndef VARVE_CHECKPOINT_ORPHANS_FLINK_H
#define VARVE_CHECKPOINT_ORPHANS_FLINK_H

#include "checkpoint/claims.h"
#include "checkpoint/orphans.h"

/* How a directory stands: names, lengths and times of all in it, and below. */
struct dir_stand {
    uint64_t entries, sum;
};
MUST_USE enum rc dir_stand_take(struct fs *fs, const char *dir, struct dir_stand *out,
                                struct err *err);

/* Takes from the report what other snapshots name: counted in its claimed_count, claimed_bytes. */
MUST_USE enum rc flink_orphans_spare(struct fs *fs, struct claims *claims, struct orphan_report *r,
                                     struct err *err);

struct flink_cleanup {
    const struct env *env;
    const char *dir;
    const struct orphan_report *report; /* that flink_orphans_spare was applied to */
    const struct claims *claims;
    struct dir_stand before; /* taken before the report was made */
    int64_t min_age_ms;
    /* out */
    size_t deleted;
    size_t newer; /* old enough, but not older than the newest _metadata: they stay */
};
/* RC_STATE: something forbids it, and what. */
MUST_USE enum rc flink_orphans_delete(struct flink_cleanup *c, struct err *err);

#endif
