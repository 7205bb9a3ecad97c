/* flink_columns.h - entries of keyed state that Flink wrote, as rows that people read: key, namespace,
 * map key and value by the serializers that the snapshot records, and back from a key's text to its
 * bytes.
 *
 * Columns, in this order:
 *     key_group                   INT
 *     key                         or `key.<field>` of a record (Tuple, Pojo, Row, RowData)
 *     window_start, window_end    TIMESTAMP(3) as text; `namespace` of another one; none of the void one
 *     timer                       of timers, as text: "2023-11-14 22:13:20.000Z"
 *     map_key                     of a map; or its fields
 *     value                       or its fields; of a list its elements
 *     last_access                 of a time-to-live, as text (lists: in each element)
 * Booleans, integers, reals and decimals have their SQL type, everything else is text: JSON of what
 * has parts, "0x0a1b" of bytes. Of a key that is opaque (Kryo, unknown classes) all that follows it is
 * part of it; `rest` behind all columns holds the map key's bytes where a map's serializer is opaque.
 *
 * Bytes come from outside: every length is checked. Thread: one owner. */
#ifndef VARVE_JOB_FLINK_COLUMNS_H
#define VARVE_JOB_FLINK_COLUMNS_H

#include "checkpoint/flink/flink_source.h"
#include "checkpoint/flink/flink_value.h"
#include "job/batch.h"

struct flink_columns; /* opaque */
/* s: lives as long. keys_only: in place of map key and value stand `entries` and `bytes`. */
struct flink_columns *flink_columns_new(const struct flink_source_state *s,
                                        uint32_t key_group_count, bool keys_only);
void flink_columns_free(struct flink_columns *c); /* NULL is a no-op */
const struct schema *flink_columns_schema(const struct flink_columns *c); /* lives as long */

/* Appends an entry as one row. RC_CORRUPT names the part that does not fit; then nothing is
 * appended. */
MUST_USE enum rc flink_columns_append(struct flink_columns *c, struct bytes key, struct bytes value,
                                      struct batch_builder *out, struct err *err);
/* The same with keys_only, of a key without its map key. */
MUST_USE enum rc flink_columns_append_size(struct flink_columns *c, struct bytes key,
                                           uint64_t entries, uint64_t bytes,
                                           struct batch_builder *out, struct err *err);
/* Length of what a key shares with those of the same key and namespace. */
MUST_USE enum rc flink_columns_owner(struct flink_columns *c, struct bytes key, size_t *len,
                                     struct err *err);

/* One value, of an operator's list, as columns: see above. */
struct flink_value_columns; /* opaque */
/* Adds the columns of values of `s` (NULL: bytes) to a schema whose fields have room for
 * FLINK_VALUE_COLUMNS_MAX more, in `arena`. */
#define FLINK_VALUE_COLUMNS_MAX 1024u
struct flink_value_columns *flink_value_columns_add(const struct flink_serializer *s,
                                                    const char *name, struct schema *schema,
                                                    struct arena *arena);
void flink_value_columns_release(struct flink_value_columns *c); /* before its arena */
void flink_value_columns_put(const struct flink_value_columns *c, const struct flink_value *v,
                             struct batch_builder *out);

/* Bytes of the key that a text means: of one column its value, of several a JSON array. *group: its
 * key group, when the class's hash is known (*known). RC_INVALID: it is no value of the key's type;
 * RC_UNSUPPORTED: keys of this type cannot be looked up. */
MUST_USE enum rc flink_key_of_text(const struct flink_serializer *key, const char *text,
                                   uint32_t key_group_count, struct buf *out, uint32_t *group,
                                   bool *known, struct err *err);

#endif
