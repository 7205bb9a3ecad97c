/* assign.h - old subtasks' state -> new subtasks at another parallelism. Pure; any thread.
 *
 * Keyed state goes where its key groups go (range meeting); split lists are dealt out round-robin
 * in the order of old subtasks and items; union lists go whole to everyone; of broadcast lists one
 * copy goes to everyone. Rows in flight are left out: where they go is the job's to say (job/runtime/inflight_assign.h). The result depends only on the snapshot and the new parallelism (C10), not
 * on the order in which the tree has them.
 * After: StateAssignmentOperation, RoundRobinOperatorStateRepartitioner, Checkpoints.
 */
#ifndef VARVE_CHECKPOINT_ASSIGN_H
#define VARVE_CHECKPOINT_ASSIGN_H

#include "backend/state_change.h"
#include "checkpoint/metadata.h"

/* An operator of the job that shall start. */
struct assign_operator {
    char id[OPERATOR_ID_LEN + 1];
    const char *name; /* as in the query */
    uint32_t parallelism;
    uint32_t key_group_count;
    bool key_group_count_set; /* by the user: it must match; else the stored one is adopted */
};
/* How keyed states that the snapshot has become those that the operator opens: whoever knows the
 * operator decides (job/operator/state_fit.h). */
struct state_fit {
    size_t change_count;
    const struct state_change *changes;
    const char *said; /* which aggregates start empty or are gone, for the user; "": none */
    /* The same by name, and those that keep their state. */
    size_t kept_count, fresh_count, gone_count;
    const char **kept, **fresh, **gone;
};
struct assigned_operator {
    bool restored;            /* false: it was not in the snapshot and starts empty */
    bool finished;            /* it had ended altogether: its tasks end at once */
    uint32_t key_group_count; /* to run with */
    struct subtask_state *subtasks; /* `parallelism` of them; they share the snapshot's strings */
    struct state_fit fit;           /* not by assign_restore: left for its caller to fill */
};
/* State that the new job has no operator for. */
struct assign_dropped {
    const char *id, *name;
    uint64_t entry_count; /* keys, where the snapshot knows them; else 0 */
    uint64_t size_bytes;
    size_t list_item_count;
    uint64_t in_flight_rows;
};
struct assignment {
    size_t operator_count;
    struct assigned_operator *operators; /* in the order of `ops` */
    size_t dropped_count;                /* with allow_non_restored: what it drops */
    struct assign_dropped *dropped;
};
/* RC_INVALID: an operator with state has none to take it (all are listed, with keys and bytes) and
 * allow_non_restored is false; the number of key groups was set to another value; the parallelism
 * exceeds the stored number of key groups. */
MUST_USE enum rc assign_restore(const struct checkpoint_metadata *snapshot,
                                const struct assign_operator *ops, size_t op_count,
                                bool allow_non_restored, struct arena *arena,
                                struct assignment *out, struct err *err);

/* The rules of RC_INVALID for one operator that takes over the state of `old`. */
MUST_USE enum rc assign_check(const struct operator_meta *old, const struct assign_operator *op,
                              struct err *err);

/* The states of an operator over all its handles (the first of each name). */
void assign_states_of(const struct operator_meta *op, struct arena *arena,
                      struct state_desc **states, size_t *count);
/* "3 keys, 4096 bytes of operator ..." for the log and the dry run; one line for each dropped
 * operator. */
void assign_print_dropped(const struct assignment *a, struct buf *out);

#endif
