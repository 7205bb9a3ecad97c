/* orphans.h - what lies in a job's directory, or a savepoint's, although no _metadata names it.
 *
 * Five sorts: a chk-<n> or savepoint without _metadata, a shared file or a log that nobody names, a
 * file of one snapshot that its _metadata does not name, a temporary file. Only names that layout.h
 * makes are ever listed: strangers are nobody's to delete. While a _metadata is unreadable no shared
 * file and no log is an orphan: it may name any of them.
 *
 * Checkpoints are read one at a time, so memory grows with their number and that of the files in
 * shared/, not with what they name. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_ORPHANS_H
#define VARVE_CHECKPOINT_ORPHANS_H

#include "base/env.h"
#include "checkpoint/ended.h"
#include "checkpoint/metadata.h"
#include "checkpoint/rebase.h"
#include "checkpoint/shared_files.h"

enum orphan_kind {
    ORPHAN_INCOMPLETE, /* a directory chk-<n> or savepoint-.. without _metadata, with all in it */
    ORPHAN_SHARED,     /* shared/<hex>.sst that no _metadata names */
    ORPHAN_UNNAMED,    /* s-<k>.bin or <hex>.sst beside a _metadata that does not name it */
    ORPHAN_LOG,        /* taskowned/<log> that no _metadata names */
    ORPHAN_TEMP,       /* a copy, _metadata or note that was under way */
};
const char *orphan_kind_str(enum orphan_kind kind);   /* "incomplete checkpoint" */
const char *orphan_reason_str(enum orphan_kind kind); /* a sentence: why nobody needs it */
struct orphan {
    enum orphan_kind kind;
    const char *path; /* absolute when the directory's is */
    uint64_t size_bytes;
    int64_t changed_wall_ms; /* max of mtime and ctime; of a directory, of all in it */
};
struct orphan_checkpoint {
    uint64_t checkpoint_id;
    const char *dir;
    uint64_t metadata_bytes;
    const char *reason; /* why it is unreadable; "" else */
    enum rc rc;         /* of reading it */
};
/* One look at a directory. Everything in the arena, but for the table. */
struct orphan_report {
    struct arena *arena;
    size_t orphan_count;
    struct orphan *orphans; /* sorted by path */
    uint64_t orphan_bytes;
    size_t checkpoint_count; /* with a _metadata, readable or not; ascending ids */
    struct orphan_checkpoint *checkpoints;
    size_t unreadable_count;
    uint64_t newest_seen_id;
    struct ended ended;      /* job_name NULL: no note of its end that can be read */
    const char *ended_fault; /* why it cannot be read; NULL: it can, or there is none */
    struct shared_files shared; /* users: index in checkpoints */
    size_t shared_file_count;   /* content-named files in shared/ */
    uint64_t shared_bytes;
    const char *flink_why; /* how it is known to be Flink's; NULL: it is not */
    bool flink;            /* it is Flink's: deleted from by orphans_flink.h alone */
    size_t claimed_count; /* not in the list: what snapshots elsewhere name (orphans_flink.h) */
    uint64_t claimed_bytes;
    size_t unnamed_count; /* of them, that no readable _metadata names */
    uint64_t unnamed_bytes;
};
/* Each checkpoint with a _metadata, in ascending order, once its files are noted in the table.
 * r->checkpoint_count: how many there may be; of its lists the table alone is filled yet.
 *   meta   NULL: unreadable; holds for the call */
typedef enum rc orphan_visit_fn(void *ctx, const struct orphan_report *r,
                                const struct orphan_checkpoint *c,
                                const struct checkpoint_metadata *meta, struct err *err);
/* visit NULL: nobody wants to know. Release the report also after a failure. */
MUST_USE enum rc orphans_scan(struct fs *fs, const char *job_dir, orphan_visit_fn *visit, void *ctx,
                              struct orphan_report *out, struct err *err);
/* For who only looks: snapshots that Flink wrote are read too (orphans_scan takes them as
 * unreadable), and what they leave in shared/ and taskowned/ is listed. rebase NULL: no rules. */
MUST_USE enum rc orphans_look(struct fs *fs, const char *job_dir, const struct rebase *rebase,
                              orphan_visit_fn *visit, void *ctx, struct orphan_report *out,
                              struct err *err);
/* The same of a savepoint's directory, or any other that holds one snapshot. */
MUST_USE enum rc orphans_look_savepoint(struct fs *fs, const char *dir,
                                        const struct rebase *rebase, struct orphan_report *out,
                                        struct err *err);
void orphan_report_release(struct orphan_report *r);

/* Whether it was last changed at least min_age_ms ago (0: whatever its age, also with a clock that
 * was set back). */
bool orphan_is_old(const struct orphan *o, int64_t now_wall_ms, int64_t min_age_ms);
/* Delete what the report lists and is old. The caller holds the job directory's lock and made the
 * report under it. RC_STATE when a _metadata is unreadable; RC_UNSUPPORTED when one is Flink's, which
 * holds no lock by which to know that its job is gone (orphans_flink.h). */
MUST_USE enum rc orphans_delete(const struct env *env, const struct orphan_report *r,
                                int64_t min_age_ms, size_t *deleted, struct err *err);

#endif
