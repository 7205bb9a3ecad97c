/* driver_attempt.h - a checkpoint or savepoint under way as its driver keeps it: where it goes and
 * who has acked; and lists of such.
 *
 * Thread: one at a time.
 */
#ifndef VARVE_JOB_RUNTIME_DRIVER_ATTEMPT_H
#define VARVE_JOB_RUNTIME_DRIVER_ATTEMPT_H

#include "checkpoint/coordinator.h"
#include "checkpoint/storage.h"
#include "job/runtime/task.h"

/* An attempt between ACTION_BEGIN and its end. */
struct attempt {
    uint64_t id;
    struct barrier barrier;
    struct storage_attempt *storage;
    uint32_t task_count;
    struct task_event **acks; /* by task; NULL: none */
    bool sent;                /* its triggers are out */
    bool complete;            /* and kept only until the actions of that step are done */
    struct attempt *next;     /* under way: the next newer; aborted: waits for the cleaner too */
};
/* Without storage. */
struct attempt *attempt_new(uint64_t id, const struct barrier *barrier, uint32_t task_count);
void attempt_free(struct attempt *a); /* with acks and storage */

/* NULL: it is not in the list. */
struct attempt *attempt_find(struct attempt *list, uint64_t id);
void attempt_append(struct attempt **list, struct attempt *a);
void attempt_remove(struct attempt **list, struct attempt *a); /* which is in it */

/* Each task's snapshot was taken past the end of its data: nothing more can come. */
bool attempt_acked_past_the_data(const struct attempt *a);

#endif
