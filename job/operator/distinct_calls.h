/* distinct_calls.h - COUNT(DISTINCT x) and its like: which rows bring a value that their group has not seen.
 *
 * Each distinct call has a map state: composite key + encoded value -> Flink's map value (not-null flag, BIGINT count, big-endian).
 * A row counts for the call only when its value's count rises from 0, or falls to 0 when rows are taken back. With time-to-live each
 * value has a time of its own (flag, i64 milliseconds, count), and values of a group that has expired have, too. Thread: the task's.
 */
#ifndef VARVE_JOB_OPERATOR_DISTINCT_CALLS_H
#define VARVE_JOB_OPERATOR_DISTINCT_CALLS_H

#include "backend/key_codec.h"
#include "job/operator/accumulator.h"

#define DISTINCT_STATE_PREFIX "distinctAcc_" /* before the call: the name of its state (acc_state_name) */

struct distinct_call {
    uint32_t index; /* of the call in the layout */
    struct keyed_state *state;
    uint8_t *use; /* rows_max: what the call takes of the batch at hand */
};
struct distinct_calls {
    uint32_t count, rows_max;
    uint64_t ttl_ms; /* 0: none */
    struct distinct_call *calls;
    struct key_builder keys, gone;
    uint32_t *row_of; /* which row a key of `keys` belongs to */
    void **counts;
    uint8_t *fresh;
    struct buf user_key;
};

void distinct_calls_states(struct arena *a, const struct acc_layout *layout, const char *key_type,
                           const char *namespace_type, uint64_t ttl_ms, struct state_desc **out, size_t *count);
MUST_USE enum rc distinct_calls_open(struct distinct_calls *d, const struct acc_layout *layout,
                                     struct keyed_backend *backend, const char *key_type,
                                     const char *namespace_type, uint64_t ttl_ms, uint32_t key_group_count,
                                     enum key_namespace ns, uint32_t rows_max, struct err *err);
void distinct_calls_release(struct distinct_calls *d);
/* Runs every distinct call over the rows; leaves d->calls[].use. Uses s->use as scratch; s->sign must be set. With time-to-live: at
 * now_ms, anew[i]: row i's group has not been there before this chunk. */
MUST_USE enum rc distinct_calls_run(struct distinct_calls *d, const struct acc_layout *layout,
                                    struct acc_scratch *s, const struct batch *in, uint32_t from,
                                    uint32_t n, const struct key_batch *keys, int64_t now_ms,
                                    const uint8_t *anew, struct err *err);
/* What call `index` takes, or NULL when it is not a distinct one. */
const uint8_t *distinct_calls_use(const struct distinct_calls *d, uint32_t index);
/* Deletes all values whose window is `window` (KEY_NS_BIGINT): the window has fired. */
MUST_USE enum rc distinct_calls_delete_window(struct distinct_calls *d, int64_t window, struct err *err);

#endif
