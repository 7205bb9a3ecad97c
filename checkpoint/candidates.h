/* candidates.h - all that a resume may choose from, in a job's directory or a root of several, in
 * order: the newest first. Reads only; decides nothing.
 *
 * A group is a job's directory, or a savepoint alone. Groups are ordered by time, what is in one by
 * checkpoint ids: a clock may have been set back, and what cannot be read has no time.
 * Thread: any.
 */
#ifndef VARVE_CHECKPOINT_CANDIDATES_H
#define VARVE_CHECKPOINT_CANDIDATES_H

#include "base/env.h"
#include "checkpoint/ended.h"

enum candidate_kind {
    CANDIDATE_SNAPSHOT, /* with a _metadata, readable or not (B02: without one it is none) */
    CANDIDATE_STOP,     /* the savepoint that an ENDED names, there or not */
    CANDIDATE_OVER,     /* an ENDED without savepoint: there is nothing to go on with */
    CANDIDATE_BEGUN,    /* a run that completed no checkpoint: nothing of it is out */
};
struct candidate_group {
    const char *dir;
    const char *job_name;      /* NULL: nothing there says it */
    const char *fingerprint;   /* of the run whose directory it is; NULL: not known */
    const char *from;          /* the snapshot that this run started from; "": nothing */
    size_t ancestor_count;     /* job ids of the runs that it went on from */
    const char **ancestors;
    const struct ended *ended; /* NULL: none that can be read */
    const struct candidate_group *after; /* whose run went on from here and has an ENDED; NULL: none */
    int64_t wall_ms; /* of its newest readable member; none readable: the latest; later than those
                      * of the runs that it went on from, whatever the clock said */
    bool begun, gone_on_from; /* its one item is BEGUN; a run names it as an ancestor */
    bool own, led_to_own;     /* for who chooses */
};
struct candidate {
    enum candidate_kind kind;
    struct candidate_group *group;
    const char *dir;         /* of the snapshot; else the group's */
    const char *fingerprint; /* of its run; NULL: not known */
    uint64_t id;             /* 0: not known */
    const char *job_id;      /* of a readable snapshot's run; else NULL */
    int64_t wall_ms;
    enum rc rc;         /* of reading it */
    const char *reason; /* why it cannot be read; NULL */
};
struct candidates {
    size_t count, job_count; /* job_count: directories of jobs, empty ones too */
    struct candidate *items;
    size_t group_count;
    struct candidate_group **groups; /* of jobs, by job id */
};
struct candidate_group *candidates_group(const struct candidates *c, const char *job_id);

/* Everything in `arena`. RC_NOT_FOUND: no such directory; RC_IO: something cannot be looked at now,
 * so nothing can be said. */
MUST_USE enum rc candidates_gather(struct fs *fs, const char *dir, bool savepoints,
                                   struct arena *arena, struct candidates *out, struct err *err);

/* The group whose ENDED says that its run, or one that went on from it, is over: from this snapshot
 * results would come again. NULL: there is none. */
const struct candidate_group *candidate_barred_by(const struct candidate *k);

#endif
