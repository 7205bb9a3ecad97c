/* accumulator.h - the running totals of aggregate calls, laid out as one fixed-size binary row per key.
 *
 * A row is stored as Flink's RowDataSerializer does: i32 size, big-endian, then the binary row (header with null bits, 8-byte
 * slots); offsets below count from the size. Its fields are named after the calls, so that state can be
 * judged and carried over by name and meaning:
 *     COUNT          `c` BIGINT
 *     SUM, AVG       `c$low`, `c$high` BIGINT (one 128-bit sum: it never wraps), `c$count` BIGINT; of FLOAT and DOUBLE: `c$sum`
 *                    DOUBLE, `c$count` BIGINT
 *     MIN, MAX, FIRST_VALUE, LAST_VALUE of fixed-size types: `c` of the integer's type, BIGINT or DOUBLE (DECIMAL: `c$low`, `c$high`);
 *                    null = no value yet
 *     rows           `$rows` BIGINT when the input retracts: a group with none left goes
 * MIN, MAX, FIRST_VALUE and LAST_VALUE of text and bytes have no field here: each has a value state of its own (text_calls.h).
 *
 * Work goes call by call over a batch, not row by row over calls: each loop has one operation. Thread: the task's.
 */
#ifndef VARVE_JOB_OPERATOR_ACCUMULATOR_H
#define VARVE_JOB_OPERATOR_ACCUMULATOR_H

#include "backend/state_handle.h"
#include "job/operator/operators.h"

#define ACC_SIZE_BYTES 4u /* the row's size before it */
#define ACC_ROWS_FIELD "$rows"

enum acc_class { ACC_INT, ACC_DOUBLE, ACC_WIDE, ACC_TEXT }; /* int64, double, 128 bits, bytes */

/* One call, resolved against its input. */
struct acc_call {
    struct agg_call call;
    enum acc_class arg_class, result_class;
    struct type arg_type;
    uint32_t field, offset; /* first field and its byte offset in the row; unused for ACC_TEXT results */
    uint32_t field_count;
};
struct acc_layout {
    uint32_t call_count;
    struct acc_call *calls;
    uint32_t field_count, row_bytes; /* row_bytes with its size */
    int32_t rows_offset;      /* of `$rows`; -1 */
    const uint8_t *template_row; /* an empty group */
    const char *value_type;   /* "ROW<...>" for the state's description */
};
/* Resolve the calls. RC_UNSUPPORTED names a call that cannot be kept over an input that retracts. */
MUST_USE enum rc acc_layout_make(struct arena *a, const struct agg_call *calls, uint32_t call_count,
                                 const struct schema *input, bool retracts,
                                 struct acc_layout *out, struct err *err);

/* Field `field` (0 .. field_count - 1) of a call as value_type has it, without quotes. Strings in `a`. */
void acc_field_describe(struct arena *a, const struct acc_call *c, uint32_t field, const char **name, const char **type);
/* Name of a state that a call has of its own: the call behind a prefix; a long one is cut and ends in a digest of the whole. */
const char *acc_state_name(struct arena *a, const char *prefix, const char *call);
/* Where the slots, 8 bytes each, begin in a row of so many fields. */
uint32_t acc_slots_offset(uint32_t field_count);

/* How two rows of the same group come together (backend/blind.h), in `a`; NULL: not in every order to the same result, or not within
 * their types, or with a state besides. */
const char *acc_blind_pattern(struct arena *a, const struct acc_layout *layout);

/* Scratch of one operator for batches of up to `rows_max` rows; before/after values of each call at positions 2i and 2i + 1. */
struct acc_scratch {
    uint32_t rows_max;
    int64_t *arg;        /* ACC_INT and (as bits) ACC_DOUBLE arguments */
    int128 *wide_arg;
    uint8_t *use;        /* 1: the row counts for the call at hand */
    int8_t *sign;        /* +1, -1 */
    uint8_t *changed;    /* some call's result differs */
    struct column *result; /* per call: 2 x rows_max values */
};
void acc_scratch_init(struct acc_scratch *s, const struct acc_layout *layout, uint32_t rows_max);
void acc_scratch_release(struct acc_scratch *s, const struct acc_layout *layout);

/* Which rows of [from, from+n) call `c` takes: filter TRUE and argument present; into s->use. */
void acc_select(struct acc_scratch *s, const struct acc_call *c, const struct batch *in,
                uint32_t from, uint32_t n);
/* Apply call number `index` to its rows in order: rows[i] is row i's accumulator row. With `emit` the results before and after go to
 * s->result[index] and s->changed. RC_INVALID: a result does not fit its type; *bad_row says which row. */
MUST_USE enum rc acc_apply(struct acc_scratch *s, const struct acc_layout *layout, uint32_t index,
                           const struct batch *in, uint32_t from, uint32_t n, void *const *rows,
                           bool emit, uint32_t *bad_row, struct err *err);
/* Results of call `index` of n finished accumulator rows into *out (memory of the scratch, at most rows_max). */
MUST_USE enum rc acc_results(struct acc_scratch *s, const struct acc_layout *layout, uint32_t index,
                             const void *const *rows, uint32_t n, struct column *out,
                             uint32_t *bad_row, struct err *err);

#endif
