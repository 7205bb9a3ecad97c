/* failure.c - why checkpoints fail: Flink's words, whether it counts, what a caller sees. See
 * coordinator.h. After: CheckpointFailureReason, CheckpointFailureManager (flink-runtime). */
#include "checkpoint/coordinator.h"

static const struct {
    const char *text;
    bool counts;
    enum rc rc;
} failures[FAILURE_COUNT_] = {
    [FAILURE_NOT_ALL_RUNNING] = {"Not all required tasks are currently running.", false, RC_STATE},
    [FAILURE_MIN_PAUSE] = {"The minimum time between checkpoints is still pending.", false,
                           RC_STATE},
    [FAILURE_TOO_MANY_REQUESTS] = {"The maximum number of queued checkpoint requests exceeded.",
                                   false, RC_LIMIT},
    [FAILURE_IO] = {"An Exception occurred while triggering the checkpoint.", true, RC_IO},
    [FAILURE_EXPIRED] = {"Checkpoint expired before completing.", true, RC_TIMEOUT},
    [FAILURE_DECLINED] = {"Checkpoint was declined.", true, RC_IO},
    [FAILURE_ASYNC] = {"Asynchronous task checkpoint failed.", true, RC_IO},
    [FAILURE_TASK_CLOSING] = {"Checkpoint was declined (task is closing).", false, RC_STATE},
    [FAILURE_FINALIZE] = {"Failure to finalize checkpoint.", true, RC_IO},
    [FAILURE_SUBSUMED] = {"Checkpoint has been subsumed.", false, RC_STATE},
    [FAILURE_JOB_FAILING] = {"The job has failed.", false, RC_STATE},
    [FAILURE_SUSPENDED] = {"Checkpoint Coordinator is suspending.", false, RC_CANCELLED},
    [FAILURE_SHUTDOWN] = {"CheckpointCoordinator shutdown.", false, RC_STATE},
    [FAILURE_CANCELLED] = {"The job is being cancelled.", false, RC_CANCELLED},
};

const char *checkpoint_failure_str(enum checkpoint_failure f)
{
    ASSERT(f < FAILURE_COUNT_);
    return failures[f].text;
}

bool checkpoint_failure_counts(enum checkpoint_failure f)
{
    ASSERT(f < FAILURE_COUNT_);
    return failures[f].counts;
}

enum rc checkpoint_failure_rc(enum checkpoint_failure f)
{
    ASSERT(f < FAILURE_COUNT_);
    return failures[f].rc;
}
