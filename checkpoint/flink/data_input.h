/* data_input.h - what Java's DataOutputStream wrote, out of a checked reader: everything big-endian.
 *
 * Texts come as UTF-8 in the arena, with a NUL behind them that does not count: they may hold NULs
 * of their own. A surrogate without its other half stays as the three bytes that it is (no UTF-8;
 * who prints it escapes it). Codes: RC_CORRUPT with the field and the offset. Thread: any.
 * After: java.io.DataInput.
 */
#ifndef VARVE_CHECKPOINT_FLINK_DATA_INPUT_H
#define VARVE_CHECKPOINT_FLINK_DATA_INPUT_H

#include "base/arena.h"

MUST_USE enum rc data_u16(struct reader *r, uint16_t *out, const char *field, struct err *err);
MUST_USE enum rc data_i32(struct reader *r, int32_t *out, const char *field, struct err *err);
MUST_USE enum rc data_i64(struct reader *r, int64_t *out, const char *field, struct err *err);
MUST_USE enum rc data_bool(struct reader *r, bool *out, const char *field, struct err *err);
/* A count of things that take at least `least_bytes` each and are at most `limit`. */
MUST_USE enum rc data_count(struct reader *r, size_t least_bytes, size_t limit, size_t *out,
                            const char *field, struct err *err);
/* writeUTF: a length of 16 bits, then modified UTF-8. */
MUST_USE enum rc data_utf(struct reader *r, struct arena *arena, struct bytes *out,
                          const char *field, struct err *err);
/* A length of 32 bits, then that many bytes; borrowed from the reader's. */
MUST_USE enum rc data_blob(struct reader *r, struct bytes *out, const char *field,
                           struct err *err);
/* Modified UTF-8 as UTF-8; false: malformed. */
MUST_USE bool data_text(struct bytes modified, struct arena *arena, struct bytes *out);
/* RC_CORRUPT "<what>: <message> at offset <n>"; offset: where it begins. */
enum rc data_fault(const struct reader *r, size_t offset, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
