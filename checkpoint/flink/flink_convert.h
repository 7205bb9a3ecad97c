/* flink_convert.h - a keyed state of Flink's as one of a varve job's with other types, as a mapping says:
 * decided once against both descriptions, then done entry by entry.
 *
 * Every column of the job's state gets a source; nothing is made up. Of totals (accumulator.h)
 * a call may be named instead of its columns: `SUM(v)` is `SUM(v)$low` and `SUM(v)$high`; unless it is
 * said, `SUM(v)$count` is 1, or 0 where the sum is null, which is all that a SUM asks of it when no rows
 * are taken back. A value that would lose something is an error (flink_cast.h); so a state goes over
 * whole or not at all. Times of last access are kept. A window of Flink's goes over as its end.
 * Pure; nothing is allocated for an entry but in the arena that it was read into. Thread: any, each
 * conversion one at a time.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_CONVERT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_CONVERT_H

#include "backend/state_handle.h"
#include "checkpoint/flink/flink_cast.h"
#include "checkpoint/flink/flink_mapping.h"
#include "checkpoint/flink/flink_path.h"

struct convert_request {
    const char *file; /* of the mapping */
    const struct mapped_state *mapped;
    const struct flink_serializer *key; /* of Flink's operator */
    const struct flink_state *state;
    const struct state_desc *wanted;
    uint32_t key_group_count;
};
struct flink_convert; /* opaque; in the arena. It needs of the request the mapping and `wanted` alone */
/* NULL: "\n  file:line:column: ..." was appended to `faults` for each thing that is not right. */
const struct flink_convert *flink_convert_make(const struct convert_request *r, struct arena *arena,
                                               struct buf *faults);
/* What a mapping has to say of a key, map key or value of this type; of totals calls for short. */
struct convert_ask {
    const char *name; /* "" of what is no row */
    struct cast_type type;
    size_t same_as; /* 1 + index of the one that it always equals; 0: none */
};
size_t flink_convert_asks(const struct state_desc *wanted, const char *type, bool value,
                          struct arena *arena, const struct convert_ask **out);
/* "key k BIGINT: key.f0, LongSerializer": column i, in `arena`. */
size_t flink_convert_columns(const struct flink_convert *c);
const char *flink_convert_column(const struct flink_convert *c, size_t i, struct arena *arena);
/* "word \"a\", num 7" of a composite key that the conversion made. */
void flink_convert_print_key(const struct flink_convert *c, struct bytes key, struct buf *out);
/* The composite key and the value as the job's backend has them, in place of what the bufs held.
 * *none: Flink's null, where the job has no entry. RC_INVALID names key, column and value. */
MUST_USE enum rc flink_convert_entry(const struct flink_convert *c, const struct flink_key *key,
                                     const struct flink_entry *entry, struct buf *key_out,
                                     struct buf *value_out, bool *none, struct err *err);

#endif
