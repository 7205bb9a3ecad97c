/* keyed_job.h - the keyed state of a job without the job: some subtasks with states of several
 * kinds, of a namespace and of a time-to-live, random batches on them, checkpoints written by
 * threads of their own, and sorted maps that say what must be there. Everything that differs
 * aborts the test.
 *
 *     keyed_job_init -> keyed_job_open -> step, check, checkpoint .. -> keyed_job_close
 *                          ^---------- empty, or from a checkpoint ----------'
 *
 * Thread: one. */
#ifndef VARVE_TESTS_LIB_KEYED_JOB_H
#define VARVE_TESTS_LIB_KEYED_JOB_H

#include "backend/key_codec.h"
#include "base/rng.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/model_state.h"
#include "tests/lib/tmpdir.h"

#define KEYED_JOB_STATES 5u
#define KEYED_JOB_SUBTASKS_MAX 5u
#define KEYED_JOB_GROUPS 128u

extern const struct state_desc keyed_job_descs[KEYED_JOB_STATES];

struct keyed_subtask {
    struct keyed_backend *backend;
    struct keyed_state *states[KEYED_JOB_STATES];
    struct key_group_range range;
    char dir[FS_PATH_MAX];
};
struct keyed_job {
    /* Before keyed_job_open. */
    uint64_t key_space, memory_bytes;
    enum restore_verify verify;
    bool no_load;
    unsigned crash_percent; /* of openings that another process began and was killed at */

    struct tmpdir tmp;
    struct dir_target target;
    struct rng rng;
    struct model_state models[KEYED_JOB_STATES];
    struct keyed_subtask subtasks[KEYED_JOB_SUBTASKS_MAX];
    uint32_t parallelism;
    struct key_builder keys[KEYED_JOB_STATES];
    uint32_t opened; /* directories used so far */
    uint64_t checkpoint_id;
    uint64_t evictions, misses, loaded_rows, crashes;
};
/* A finished checkpoint and what it must hold. */
struct keyed_checkpoint {
    struct arena *arena;
    struct keyed_handle handles[KEYED_JOB_SUBTASKS_MAX];
    uint32_t count;
    struct model_state models[KEYED_JOB_STATES];
};
void keyed_job_init(struct keyed_job *j, uint64_t seed);
void keyed_job_release(struct keyed_job *j);

/* Opens `parallelism` subtasks, each of a kind drawn by lot among `kinds` (h hashmap, r rocksdb),
 * from a checkpoint, whose content must be there then, or empty. */
void keyed_job_open(struct keyed_job *j, uint32_t parallelism, const char *kinds,
                    const struct keyed_checkpoint *from);
void keyed_job_close(struct keyed_job *j);
/* One random batch. */
void keyed_job_step(struct keyed_job *j);
/* Every entry of every state. */
void keyed_job_check(struct keyed_job *j);
/* Every subtask at once, each written by a thread of its own, while the job goes on for `steps`. */
void keyed_job_checkpoint(struct keyed_job *j, struct keyed_checkpoint *c, int steps);
/* Two, the newer one begun while the older is written; over databases only. */
void keyed_job_two_checkpoints(struct keyed_job *j, struct keyed_checkpoint *older,
                               struct keyed_checkpoint *newer, int steps);
void keyed_checkpoint_release(struct keyed_checkpoint *c);

#endif
