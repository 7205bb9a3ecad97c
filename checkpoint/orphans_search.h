/* orphans_search.h - orphans of all that a path holds: a job's directory, a savepoint, a root of both.
 *
 * Nothing of a running job is ever listed: of one that holds its directory, nor a savepoint beside
 * it that is one of its own by name. Nor anything younger than the limit: a savepoint under way
 * elsewhere is told from a dead one by its age alone. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_ORPHANS_SEARCH_H
#define VARVE_CHECKPOINT_ORPHANS_SEARCH_H

#include "checkpoint/discard.h"
#include "checkpoint/orphans.h"
#include "checkpoint/snapshot_list.h"

struct orphan_search {
    int64_t min_age_ms;
    bool remove; /* what is old enough, under the directory's lock */
    /* of directories of Flink's */
    bool flink_is_stopped;     /* whoever asked says that no job of Flink's writes there: else
                                * nothing is removed from them */
    size_t claimant_count;     /* directories whose snapshots may share files with them, besides */
    const char *const *claimants; /* those in the directory above each */
    const struct rebase *rebase; /* NULL: none */
    struct look_watch watch; /* after each checkpoint */
};
struct orphan_place {
    const char *dir;
    bool savepoint;
    const char *held_by; /* NULL: by nobody; else who the running job says it is: no report */
    const struct orphan_report *report;
    int64_t now_wall_ms;
    size_t old_count, young_count; /* of the report's orphans, by orphan_is_old */
    uint64_t old_bytes, young_bytes;
    size_t deleted;
    size_t newer; /* of Flink's, old ones that stay: not older than the newest _metadata */
    size_t claimant_count; /* of Flink's: snapshots, also elsewhere, that were asked what they name */
    enum rc delete_rc; /* why not all were; RC_STATE: a _metadata is unreadable */
    const char *delete_fault;
};
/* Holds for the call. */
typedef enum rc orphan_place_fn(void *ctx, const struct orphan_place *place, struct err *err);
/* Codes as snapshot_list_make; a directory that cannot be looked at ends the search. */
MUST_USE enum rc orphans_search(const struct env *env, const char *path,
                                const struct orphan_search *how, orphan_place_fn *fn, void *ctx,
                                struct err *err);

#endif
