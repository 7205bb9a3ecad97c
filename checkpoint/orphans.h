/* orphans.h - what lies in a job's directory although no readable _metadata names it.
 *
 * Three sorts: a chk-<n> without _metadata, a shared file that nobody names, a temporary file. Only
 * names that layout.h makes are ever listed: strangers are nobody's to delete. taskowned/ is left
 * alone. Deletion needs the directory's lock and every _metadata in it readable.
 */
#ifndef VARVE_CHECKPOINT_ORPHANS_H
#define VARVE_CHECKPOINT_ORPHANS_H

#include "base/env.h"
#include "checkpoint/metadata.h"
#include "checkpoint/ended.h"

enum orphan_kind {
    ORPHAN_INCOMPLETE, /* a directory chk-<n> without _metadata, with all in it */
    ORPHAN_SHARED,     /* shared/<hex>.sst that no readable _metadata names */
    ORPHAN_TEMP,       /* a copy, _metadata or note that was under way */
};
const char *orphan_kind_str(enum orphan_kind kind); /* "incomplete checkpoint" */
struct orphan {
    enum orphan_kind kind;
    const char *path; /* absolute when job_dir is */
    uint64_t size_bytes;
    int64_t changed_wall_ms; /* max of mtime and ctime */
};
struct orphan_checkpoint {
    uint64_t checkpoint_id;
    const char *dir;
    struct checkpoint_metadata *meta; /* NULL: unreadable */
    uint64_t metadata_bytes;
    const char *reason; /* why it is unreadable; "" else */
    enum rc rc;         /* of reading it */
};
/* One look at a job's directory. Everything in the arena. */
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
    size_t shared_file_count; /* content-named files in shared/ */
    uint64_t shared_bytes;
};
MUST_USE enum rc orphans_scan(struct fs *fs, const char *job_dir, struct orphan_report *out,
                              struct err *err);
void orphan_report_release(struct orphan_report *r);

/* Delete what the report lists and was last changed at least min_age_ms ago (0: whatever its age,
 * also with a clock that was set back). The caller holds the job directory's lock and made the
 * report under it. RC_STATE when a _metadata is unreadable. */
MUST_USE enum rc orphans_delete(const struct env *env, const struct orphan_report *r,
                                int64_t min_age_ms, size_t *deleted, struct err *err);

#endif
