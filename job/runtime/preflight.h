/* preflight.h - what a start would do, without doing it: for `varve run --dry-run`.
 *
 * The verdict is that of the very checks that a start makes (restore_plan.h, state_budget.h);
 * beside it everything that they look at, also behind the first thing that is wrong. Servers that
 * operators will write to are asked, too, whether their tables fit. Reads only.
 * Thread: any. */
#ifndef VARVE_JOB_RUNTIME_PREFLIGHT_H
#define VARVE_JOB_RUNTIME_PREFLIGHT_H

#include "base/json.h"
#include "job/runtime/restore_plan.h"

enum preflight_fate {
    PREFLIGHT_FRESH,     /* nothing is restored */
    PREFLIGHT_RESTORED,  /* takes over what the snapshot has of it */
    PREFLIGHT_EMPTY,     /* the snapshot has nothing of it, or nothing that it can take over */
    PREFLIGHT_STATELESS, /* has no state to restore */
    PREFLIGHT_REFUSED,   /* the snapshot's state does not fit it */
};
struct preflight_state {
    const char *name;
    const char *fate; /* "kept", "rewritten", "dropped", "starts empty"; of a refused operator
                       * "the same", "differs", "gone" */
    const struct state_desc *was, *is; /* NULL: it was, or is, not there */
};
struct preflight_operator {
    struct restore_verdict verdict;
    enum preflight_fate fate;
    const char *nearest; /* EMPTY: of those whose state would be dropped one named alike; NULL */
    size_t state_count;
    struct preflight_state *states; /* keyed */
    size_t position_count;
    json_t **positions; /* where a source goes on, in plain words (list_items.h) */
};
struct preflight {
    struct arena *arena;
    const struct graph *graph;
    const char *fault; /* why it would not start; NULL: it would */
    struct restore_plan plan;
    const struct checkpoint_metadata *meta; /* of the snapshot; NULL: none, or unreadable */
    const char *checkpoint_dir;             /* "": in memory */
    struct metadata_sizes sizes;
    uint32_t most_parallelism; /* the key groups: of the snapshot's keyed state, else the job's */
    size_t operator_count; /* 0: the snapshot cannot be read */
    struct preflight_operator *operators;
    size_t dropped_count; /* state that no operator takes over */
    const struct assign_dropped *dropped;
};
/* RC_OK also when it would not start. RC_DONE: there is nothing to resume; RC_INVALID:
 * configuration or graph are none to start with. The graph is borrowed. Release after every call. */
MUST_USE enum rc preflight_make(const struct env *env, const struct config *config,
                                const struct graph *graph, const struct job_restore *restore,
                                struct preflight *out, struct err *err);
void preflight_release(struct preflight *p);

void preflight_print(const struct preflight *p, struct buf *out);
json_t *preflight_json(const struct preflight *p);

#endif
