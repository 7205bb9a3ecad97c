/* metadata_tree.h - what _metadata says of a checkpoint whose tasks have all acked: job, settings,
 * operators, and the states of their subtasks.
 *
 * No I/O. Thread: the job's only.
 */
#ifndef VARVE_JOB_RUNTIME_METADATA_TREE_H
#define VARVE_JOB_RUNTIME_METADATA_TREE_H

#include "base/env.h"
#include "checkpoint/metadata.h"
#include "job/config.h"
#include "job/runtime/driver_attempt.h"
#include "job/runtime/graph.h"

struct metadata_tree_job { /* all borrowed */
    const struct graph *graph;
    const struct config *config;
    const char *job_id;
    const char *rocksdb_version;
};

/* In `arena`; strings of states are the attempt's, and live as long as it. Of a task without an ack
 * the subtasks count as finished. */
struct checkpoint_metadata *metadata_tree_build(const struct metadata_tree_job *job,
                                                const struct attempt *a, int64_t completed_wall_ms,
                                                struct arena *arena);

#endif
