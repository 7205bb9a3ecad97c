/* row_key.h - key columns of a batch -> composite keys and key groups, a batch at a time.
 *
 * The key of a row is the binary row (backend/binary_row.h) of its key columns, in the order given,
 * row kind +I. From it come the key group (C1: exchange and aggregate must agree, so both use this
 * file) and the composite key
 *
 *     key-group prefix | i32 size, big-endian | binary row | namespace       (backend/key_codec.h)
 *
 * Fixed-width and text keys are written column by column; DECIMAL above 18 and TIMESTAMP above 3
 * digits row by row. Memory is kept between batches: nothing is allocated per row. Thread: one
 * owner.
 */
#ifndef VARVE_JOB_ROW_KEY_H
#define VARVE_JOB_ROW_KEY_H

#include "backend/binary_row.h"
#include "backend/key_codec.h"
#include "job/batch.h"

/* How a SQL type is stored in a binary row; TYPE_NULL has none (asserted: the planner coerces it).
 */
enum field_kind field_kind_of(struct type t);

/* Appends field `i` of a checked row, of that type, to a column of the row under way. */
void row_field_append(const struct row_layout *l, const uint8_t *row, uint32_t i, struct type type,
                      struct batch_builder *out, uint32_t column);

struct row_key; /* opaque */
/* `keys` are columns of `schema`; both are only read here. key_count 0: every row has the same
 * (empty) key. ns: KEY_NS_VOID or KEY_NS_BIGINT. */
struct row_key *row_key_new(const struct schema *schema, uint32_t key_count, const uint32_t *keys,
                            uint32_t key_group_count, enum key_namespace ns);
void row_key_free(struct row_key *k);
/* Layout of the binary row of a key, to read keys back from a scan. Lives as long as k. */
const struct row_layout *row_key_layout(const struct row_key *k);

/* groups[i] = key group of row i, for all rows of the batch. */
MUST_USE enum rc row_key_groups(struct row_key *k, const struct batch *batch, uint32_t *groups,
                                struct err *err);
/* Keys of rows sel[0..n) (sel NULL: rows first..first + n) in that order. windows[i] is the namespace of the
 * i-th of them (KEY_NS_BIGINT; else NULL). Borrowed until the next call on k. RC_LIMIT past
 * KEY_BATCH_BYTES_MAX. */
MUST_USE enum rc row_key_keys(struct row_key *k, const struct batch *batch, const uint32_t *sel,
                              uint32_t first, uint32_t n, const int64_t *windows,
                              struct key_batch *out, struct err *err);

#endif
