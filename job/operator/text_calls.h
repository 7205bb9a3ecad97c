/* text_calls.h - MIN, MAX, FIRST_VALUE and LAST_VALUE of text and bytes: each call has a value state of its own.
 *
 * Values vary in size, so they are read and written a batch at a time beside the fixed-size accumulator row. Within a batch the
 * values of its distinct keys are held here: read once, written once. With time-to-live (i64 milliseconds before the value) they live
 * as long as their group: every row of it makes them young. Thread: the task's.
 */
#ifndef VARVE_JOB_OPERATOR_TEXT_CALLS_H
#define VARVE_JOB_OPERATOR_TEXT_CALLS_H

#include "backend/key_codec.h"
#include "job/operator/accumulator.h"
#include "job/operator/key_dedup.h"

#define TEXT_STATE_PREFIX "acc_" /* before the call: the name of its state (acc_state_name) */

bool is_text_call(const struct acc_call *c);
struct text_call {
    uint32_t index; /* of the call in the layout */
    struct keyed_state *state;
    struct bytes *current; /* by first row of the key: the value now; data NULL = none */
    uint8_t *dirty;        /* likewise: it has to be written, or deleted when there is none */
    struct buf loaded;    /* what current pointed to when the batch began */
    struct column result; /* before and after at 2i, 2i + 1; or finished results */
    struct buf result_bytes;
};
struct text_calls {
    struct keyed_backend *backend;
    uint32_t count, rows_max;
    uint64_t ttl_ms; /* 0: none */
    int64_t now_ms;  /* of the chunk */
    struct text_call *calls;
    struct key_builder keys; /* of distinct or dirty rows */
    struct bytes *values;    /* scratch, rows_max */
    struct buf stored;       /* values as they are stored */
    size_t largest_bytes;    /* largest value seen: bounds the next chunk */
};

/* The states of the layout's text calls, for the plan's description and for opening. Strings in `a`; *count of them. */
void text_calls_states(struct arena *a, const struct acc_layout *layout, const char *key_type,
                       const char *namespace_type, uint64_t ttl_ms, struct state_desc **out, size_t *count);
MUST_USE enum rc text_calls_open(struct text_calls *t, const struct acc_layout *layout,
                                 struct keyed_backend *backend, const char *key_type,
                                 const char *namespace_type, uint64_t ttl_ms, uint32_t key_group_count,
                                 enum key_namespace ns, uint32_t rows_max, struct err *err);
void text_calls_release(struct text_calls *t);
/* Rows that a chunk may have so that its results stay within BATCH_BYTES_MAX. */
uint32_t text_calls_chunk_rows(const struct text_calls *t, const struct batch *in, bool emit);
/* Reads the current values of the chunk's distinct keys. With time-to-live: at now_ms, without those of rows in anew, whose group has not
 * been there before. */
MUST_USE enum rc text_calls_load(struct text_calls *t, const struct key_batch *keys,
                                 const struct key_dedup *dedup, int64_t now_ms, const uint8_t *anew,
                                 struct err *err);
/* Applies call c to rows [from, from + n) of the batch, s->use saying which count. With emit fills c->result and s->changed. */
void text_calls_apply(struct text_calls *t, struct text_call *c, const struct acc_layout *layout,
                      struct acc_scratch *s, const struct batch *in, uint32_t from, uint32_t n,
                      const struct key_dedup *dedup, bool emit);
/* Writes what changed. */
MUST_USE enum rc text_calls_store(struct text_calls *t, const struct key_batch *keys,
                                  const struct key_dedup *dedup, struct err *err);
/* Finished values of call c for n keys into c->result. */
MUST_USE enum rc text_calls_results(struct text_calls *t, struct text_call *c,
                                    const struct key_batch *keys, struct err *err);
MUST_USE enum rc text_calls_delete(struct text_calls *t, const struct key_batch *keys, struct err *err);

#endif
