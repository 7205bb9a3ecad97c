/* state_view.h - entries of keyed state as rows that people read: key, namespace, map key and value
 * by the SQL types that the snapshot records, and back from a key's text to its bytes.
 *
 * Columns, in this order, each name once (a later one of the same name gets "_2"):
 *     key_group                    INT
 *     the key's columns            by name; a key that is no row: `key`
 *     window_end                   TIMESTAMP(3), of a BIGINT namespace; `namespace` of another one
 *     map_key                      of a map
 *     timer                        TIMESTAMP_LTZ(3), of timers
 *     the value's columns          by name; a value that is no row: `value`, of a list `elements`
 *     last_access                  TIMESTAMP_LTZ(3), with a time-to-live (lists: beside each element)
 * A call's totals are shown as what they mean (accumulator.h): `c$low` and `c$high` as one DECIMAL,
 * `c$sum`; a date, a decimal or a timestamp in a BIGINT as such. What has no SQL type is text:
 * "0x0a1b".
 *
 * Bytes come from outside: every length is checked. Thread: one owner. */
#ifndef VARVE_JOB_STATE_VIEW_H
#define VARVE_JOB_STATE_VIEW_H

#include "backend/state_handle.h"
#include "job/batch.h"

struct state_view; /* opaque */
/* desc: borrowed while the view lives. RC_UNSUPPORTED: a namespace of another kind. keys_only: in
 * place of map key and value stand `entries` and `bytes`, both BIGINT. */
MUST_USE enum rc state_view_new(const struct state_desc *desc, uint32_t key_group_count,
                                bool keys_only, struct state_view **out, struct err *err);
void state_view_free(struct state_view *v); /* NULL is a no-op */
const struct schema *state_view_schema(const struct state_view *v); /* lives as long as the view */

/* Appends an entry as one row. RC_CORRUPT names the part that does not fit; then nothing is
 * appended. */
MUST_USE enum rc state_view_append(struct state_view *v, struct bytes key, struct bytes value,
                                   struct batch_builder *out, struct err *err);

/* The same with keys_only, of a key without its map key. */
MUST_USE enum rc state_view_append_size(struct state_view *v, struct bytes key, uint64_t entries,
                                        uint64_t bytes, struct batch_builder *out,
                                        struct err *err);

/* What the composite keys of a key begin with, appended to `prefix`; *whole: that is all of it. The
 * text of a key of one column is its value, of several (or of a null) a JSON array: ["a", 3].
 * RC_INVALID: it is no value of the key's type. RC_UNSUPPORTED: the key has no SQL types, or stands
 * behind another part. */
MUST_USE enum rc state_view_key(const struct state_view *v, const char *text, struct buf *prefix,
                                bool *whole, struct err *err);

/* "0x0a1b", appended. */
void hex_print(struct bytes b, struct buf *out);

#endif
