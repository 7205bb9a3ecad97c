/* state_flink.h - what the parts of `varve state` share that look at a snapshot of Flink's; for
 * state_flink*.c only. Thread: main's. */
#ifndef VARVE_JOB_CLI_STATE_FLINK_H
#define VARVE_JOB_CLI_STATE_FLINK_H

#include "checkpoint/flink/flink_keyed.h"
#include "checkpoint/flink/flink_snapshot.h"
#include "job/cli/state_look.h"

/* The snapshot and what was asked of it. */
struct flink_look {
    struct look *look;
    const char *dir;
    struct flink_snapshot from;
};
/* Its id in hex; as people call it; any text for a message. In the command's arena. */
const char *flink_op_id(const struct flink_look *f, const struct flink_operator *op);
struct bytes flink_op_word(const struct flink_look *f, const struct flink_operator *op);
const char *flink_shown(const struct flink_look *f, struct bytes text);

/* A list, union or broadcast state of a subtask; NULL: it has none of that name. */
const struct flink_list *flink_list_of(const struct flink_subtask *s, struct bytes name);
/* Whether no subtask before this one has the list. */
bool flink_list_is_first(const struct flink_operator *op, size_t subtask, struct bytes name);
/* Its items in all subtasks; of a broadcast state the entries of each copy. */
MUST_USE enum rc flink_list_measure(struct flink_look *f, const struct flink_operator *op,
                                    struct bytes name, struct flink_size *size, struct err *err);
/* Prints them. RC_INVALID: something was asked that lists do not have. */
MUST_USE enum rc flink_list_print(struct flink_look *f, const struct flink_operator *op,
                                  struct bytes name, struct err *err);

#endif
