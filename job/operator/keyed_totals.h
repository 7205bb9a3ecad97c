/* keyed_totals.h - everything a grouping operator keeps per key: the accumulator row, the values of text calls, the distinct values;
 * applied to a batch in one place, for aggregate.c and window.c alike. Thread: the task's. */
#ifndef VARVE_JOB_OPERATOR_KEYED_TOTALS_H
#define VARVE_JOB_OPERATOR_KEYED_TOTALS_H

#include "backend/ttl.h"
#include "job/operator/distinct_calls.h"
#include "job/operator/group_key.h"
#include "job/operator/hot_keys.h"
#include "job/operator/text_calls.h"

#define TOTALS_ROWS_MAX (BATCH_ROWS_MAX / 2) /* a row may give two results */
/* Rows best applied at once: each call goes over their state, which has to stay in the processor's cache till the last has. */
#define TOTALS_ROWS_BEST 512u

struct keyed_totals {
    struct arena *arena;
    struct acc_layout layout;
    struct acc_scratch scratch;
    struct group_key key;
    struct hot_keys hot;
    struct keyed_state *state;
    struct distinct_calls distinct;
    struct text_calls text;
    struct key_dedup *dedup;
    void **rows;
    uint8_t *fresh, *gone; /* by row: its group was empty before it; is empty after it (an input that takes rows back) */
    bool strays;           /* some rows of the chunk have sign 0: they are taken back from a group that has expired */
    /* time-to-live: of a group as a whole, by the time of its accumulator row */
    struct keyed_backend *backend;
    struct ttl_shape ttl; /* of the row; ttl_ms 0: none */
    uint8_t *anew;        /* rows whose group starts anew with this chunk: it was not there, or had expired */
};
struct totals_config {
    const char *state_name; /* "accState", "window-aggs" */
    const struct schema *input;
    uint32_t key_count;
    const uint32_t *keys;
    uint32_t call_count;
    const struct agg_call *calls;
    bool retracts;
    bool blind; /* nothing is read before all of it is scanned: rows need not be looked up, if their calls allow that */
    uint64_t ttl_ms; /* 0: groups stay */
    enum key_namespace ns;
};
/* The states of such an operator, in `a`. */
MUST_USE enum rc keyed_totals_states(struct arena *a, const struct totals_config *config,
                                     struct state_desc **out, size_t *count, struct err *err);
MUST_USE enum rc keyed_totals_open(struct keyed_totals *t, const struct totals_config *config,
                                   struct keyed_backend *backend, uint32_t key_group_count,
                                   struct err *err);
void keyed_totals_release(struct keyed_totals *t);
/* Rows of the next chunk of `in`. */
uint32_t keyed_totals_chunk(const struct keyed_totals *t, const struct batch *in, bool emit);
/* Applies rows [from, from + n) with these keys: t->rows, t->fresh and t->gone are theirs, results before and after (with emit) in
 * t->scratch.result / t->text.calls[].result. RC_INVALID names the key, as does RC_STATE: a row is taken back that never came.
 * t->dedup is run when need_dedup or there are text calls; with time-to-live also for distinct ones. */
MUST_USE enum rc keyed_totals_apply(struct keyed_totals *t, const struct batch *in, uint32_t from,
                                    uint32_t n, const struct key_batch *keys, bool emit,
                                    bool need_dedup, struct err *err);
/* The result column of call `index`, as last computed. */
const struct column *keyed_totals_result(const struct keyed_totals *t, uint32_t index);
/* Finished results of n accumulator rows with these keys; columns through keyed_totals_result. */
MUST_USE enum rc keyed_totals_finish(struct keyed_totals *t, const void *const *rows,
                                     const struct key_batch *keys, struct err *err);

#endif
