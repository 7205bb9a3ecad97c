/* committer.h - closed parts that wait for their checkpoint, and their way into view (C7).
 *
 * A part is committed when a checkpoint that holds it is complete: renamed, then its directory
 * synced; only then is it forgotten, so that a failure anywhere can be tried again and finds done
 * work done. Transient errors are tried COMMIT_TRIES times. Thread: the task's. After:
 * CommitterOperator, FileCommitter (Flink).
 */
#ifndef VARVE_SINK_COMMITTER_H
#define VARVE_SINK_COMMITTER_H

#include "sink/part_file.h"

#define COMMIT_TRIES 3

struct committer;
struct committer *committer_new(const struct env *env); /* env is borrowed */
void committer_free(struct committer *c);
/* A part was closed; strings are copied. It belongs to no checkpoint yet. */
void committer_add(struct committer *c, const struct part_record *record);
/* The barrier of a checkpoint: parts without one belong to it from now on. */
void committer_prepare(struct committer *c, uint64_t checkpoint_id);
size_t committer_count(const struct committer *c);
/* Oldest first; borrowed until the next change. */
const struct part_record *committer_at(const struct committer *c, size_t i);
/* Everything that belongs to `checkpoint_id` or an earlier one. *parts and *rows grow by what was
 * committed. */
MUST_USE enum rc committer_commit(struct committer *c, uint64_t checkpoint_id, uint64_t *parts,
                                  uint64_t *rows, struct err *err);

#endif
