/* end_note.c - see end_note.h */
#include "job/runtime/end_note.h"

#include "checkpoint/ended.h"

static enum rc write_end(struct end_note *n, enum job_end end, uint64_t checkpoint_id,
                         const char *savepoint_dir, struct err *err)
{
    struct ended e = {.end = end,
                      .checkpoint_id = checkpoint_id,
                      .wall_ms = clock_wall_ms(n->env->clock),
                      .savepoint_dir = savepoint_dir,
                      .job_id = n->origin->job_id,
                      .job_name = n->origin->job_name,
                      .fingerprint = n->origin->fingerprint};
    const char *job_dir = storage_job_dir(n->storage);

    if (job_dir == NULL)
        return RC_OK;
    RETURN_IF_ERR(storage_check_lock(n->storage, true, err));
    n->noted = true; /* also when the answer is lost */
    return ended_write(n->env->fs, job_dir, &e, err);
}

enum rc end_note_stop(struct end_note *n, uint64_t savepoint_id, const char *dir, struct err *err)
{
    if (n->noted_stop == savepoint_id)
        return RC_OK;
    RETURN_IF_ERR(write_end(n, JOB_END_FINISHED, savepoint_id, dir, err));
    n->noted_stop = savepoint_id;
    return RC_OK;
}

enum rc end_note_job(struct end_note *n, enum job_end end,
                     const struct completed_checkpoint *latest,
                     enum checkpoint_retention retention, bool stopped, struct err *err)
{
    bool finished = end == JOB_END_FINISHED;

    if (finished && stopped)
        return RC_OK; /* as noted by the stop */
    if (!finished &&
        (latest == NULL || latest->restored || n->noted || retention_keeps(retention, end)))
        return RC_OK; /* what a resume goes on from stays, if there is anything */
    return write_end(n, end, latest == NULL ? 0 : latest->id, NULL, err);
}

enum rc end_note_forget(struct end_note *n, struct err *err)
{
    if (!n->noted)
        return RC_OK;
    RETURN_IF_ERR(storage_check_lock(n->storage, true, err));
    RETURN_IF_ERR(ended_remove(n->env->fs, storage_job_dir(n->storage), err));
    n->noted = false;
    return RC_OK;
}
