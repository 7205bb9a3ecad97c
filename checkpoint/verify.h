/* verify.h - proves every byte that a restore from the snapshots at a path would use.
 *
 * Of each snapshot: its _metadata (header, digest, every rule of the tree; inline content has its
 * digest there), and that each file it names is there, of its length and digest. Of each job's
 * directory its notes (ORIGIN, ENDED), by which a resume chooses. A file that several snapshots
 * name is read once. With a scratch directory also that each database opens and holds what its
 * handle says, in a process of its own. All faults are found, not the first; with each go the
 * snapshots that share it.
 *
 * Flink's _metadata has no digests: of its snapshots what RocksDB or snappy gave a checksum is proven
 * by that, in a process of its own, streams are walked to their ends where their format allows it,
 * and what nothing proves is listed as such (flink/flink_prove.h). With a scratch directory every
 * entry of keyed state is read to its end (flink/flink_prove_deep.h).
 *
 * Nothing is written or locked: read-only media will do, and a running job is not disturbed (what
 * it deletes meanwhile is no fault). Memory grows with the files, not with their uses: snapshots
 * are read one after the other. Thread: any, one at a time; reading is spread over threads of its
 * own.
 */
#ifndef VARVE_CHECKPOINT_VERIFY_H
#define VARVE_CHECKPOINT_VERIFY_H

#include "base/env.h"
#include "checkpoint/rebase.h"
#include "checkpoint/snapshot_list.h"

struct verify_options {
    uint32_t threads; /* that read; 0: 1 */
    /* Looks into the databases as well (handle_check.h): a directory that is there, for what is
     * opened; what is made in it goes again. Only for a process without other threads. NULL: no. */
    const char *scratch_dir;
    const struct rebase *rebase; /* for snapshots of Flink's; NULL: none */
    struct look_watch watch;
};

enum verify_status {
    VERIFY_CLEAN,
    VERIFY_DAMAGED,
    VERIFY_INCOMPLETE, /* no _metadata: it never completed, and is no fault */
};
const char *verify_status_str(enum verify_status s);
struct verified_snapshot {
    const char *dir;
    uint64_t checkpoint_id; /* 0: not known */
    uint32_t job;           /* index in `list.job_dirs`, or SNAPSHOT_ALONE */
    enum verify_status status;
    const char *job_name; /* NULL: _metadata cannot be read */
    bool flink;           /* Flink wrote it */
    uint64_t file_count, size_bytes; /* that it names, inline ones too */
    uint64_t fault_count;
};
struct verify_fault {
    const char *path; /* of a file, a _metadata, or a job's note */
    const char *reason;
    const char *operator_name; /* that uses it; NULL: a _metadata or a note */
    uint32_t subtask_index;
    uint64_t size_bytes; /* as it ought to be; of a _metadata 0 */
    size_t snapshot_count; /* 0: a note */
    uint32_t *snapshots;   /* that name it, ascending indices */
};
/* Bytes without a checksum, of a snapshot of Flink's. */
struct verify_unproven {
    const char *path;   /* of a file, or of the _metadata that has it inlined */
    const char *reason; /* "no checksum: length alone" */
    uint64_t size_bytes;
};
/* Entries in a database of Flink's outside the key groups of its handle, as a rescale leaves there
 * until a compaction: Flink never reads them. */
struct verify_left_over {
    const char *snapshot_dir, *operator_name, *state;
    uint32_t subtask_index;
    uint64_t entries, bytes; /* of keys and values */
};
#define VERIFY_NONE SIZE_MAX
struct verify_report {
    struct arena *arena; /* owns all below */
    struct snapshot_list list;
    size_t snapshot_count;
    struct verified_snapshot *snapshots; /* in the order of list.items */
    size_t *newest_clean;                /* of each job of the list; VERIFY_NONE */
    size_t fault_count;
    struct verify_fault *faults;
    size_t unproven_count; /* each file once; of Flink's only */
    struct verify_unproven *unproven;
    size_t left_over_count; /* with a scratch directory */
    struct verify_left_over *left_over;
    size_t damaged_count, incomplete_count; /* of snapshots */
    uint64_t file_count, read_bytes;        /* distinct ones */
};
/* RC_OK also when there are faults. Codes as snapshot_list_make, for a path that is nothing of
 * ours. Release after every call. */
MUST_USE enum rc verify_path(const struct env *env, const char *path,
                             const struct verify_options *options, struct verify_report *out,
                             struct err *err);
void verify_report_release(struct verify_report *r);
/* A fault was found, or the one snapshot that was asked for is incomplete. */
bool verify_found_damage(const struct verify_report *r);

#endif
