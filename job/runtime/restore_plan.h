/* restore_plan.h - what a job starts from, checked completely before anything starts: which
 * snapshot, which state goes where, what is dropped, whether types fit. Reads only. Thread: any.
 * After: CheckpointCoordinator.restoreSavepoint, Checkpoints.loadAndValidate. */
#ifndef VARVE_JOB_RUNTIME_RESTORE_PLAN_H
#define VARVE_JOB_RUNTIME_RESTORE_PLAN_H

#include "checkpoint/assign.h"
#include "checkpoint/recovery.h"
#include "job/runtime/supervisor.h"

/* `= {0}`; release after every call that got it, also a failed one. */
struct restore_plan {
    bool restored; /* false: a fresh start */
    struct recovered recovered;
    enum claim_mode claim_mode;
    bool allow_non_restored;
    uint32_t key_group_count; /* to run with: the snapshot's, unless it has none */
    bool from_flink;          /* Flink wrote the snapshot: restore_flink.h has read it into one of ours */
    size_t import_dropped_count; /* of such a one: state that nobody takes over, a line each */
    const char **import_dropped;
    size_t import_converted_count; /* columns that a mapping converts, a line each */
    const char **import_converted;
    const struct env *import_env; /* of the directory that it was read into */
    char import_dir[FS_PATH_MAX]; /* "": none */
    struct fs_file *import_lock;
    struct arena *arena;
    struct assignment assignment; /* operators in order of vertices and chains */
};
void restore_plan_release(struct restore_plan *p);
/* Path and rules from `restore`, else from the configuration (execution.state-recovery.*). */
MUST_USE enum rc restore_plan_make(const struct env *env, const struct config *config,
                                   const struct graph *g, const struct job_restore *restore,
                                   struct restore_plan *out, struct err *err);
/* State of a tree to the subtasks of the graph; also what becomes of types that differ.
 * *key_group_count: to run with. */
MUST_USE enum rc restore_plan_assign(const struct graph *g, const struct checkpoint_metadata *m,
                                     bool allow_non_restored, struct arena *arena,
                                     struct assignment *out, uint32_t *key_group_count,
                                     struct err *err);
/* Which aggregates start empty and which are gone, a line for each operator where there are any. */
void restore_plan_print_fits(const struct restore_plan *p, const struct graph *g, struct buf *out);
/* "dropped:" and a line for each of import_dropped; "" where there are none. */
void restore_plan_print_import_dropped(const struct restore_plan *p, struct buf *out);
/* An operator of the job against the snapshot, by itself. */
struct restore_verdict {
    const struct operator_spec *spec;
    uint32_t parallelism;
    const struct operator_meta *old; /* whose state it takes over; NULL: there is none */
    struct state_fit fit;
    const char *fault; /* why it cannot; NULL: it can */
    uint64_t in_flight_rows;    /* that the snapshot has on their way to it */
    const char *in_flight_lost; /* which of them are dropped, for the user; "": none */
};
/* All operators, in order of vertices and chains, also behind one that a start would end at; in
 * `arena`. m: the snapshot's. */
struct restore_verdict *restore_plan_judge(const struct graph *g,
                                           const struct checkpoint_metadata *m,
                                           bool allow_non_restored, struct arena *arena,
                                           size_t *count);

#endif
