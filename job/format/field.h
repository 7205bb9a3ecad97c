/* field.h - one field: its text <-> a value of a column. What CSV and JSON share.
 *
 * Spellings are Flink's: numbers with blanks around them, "true" and "false" in any letter case,
 * "2026-01-31", "10:15:30.5", "2026-01-31 10:15:30.5", a final Z for TIMESTAMP_LTZ, base64 for
 * BYTES. Thread: any; nothing here allocates per value.
 */
#ifndef VARVE_JOB_FORMAT_FIELD_H
#define VARVE_JOB_FORMAT_FIELD_H

#include "job/batch.h"

/* Why a text is no value of a type. */
enum field_fault {
    FIELD_OK = 0,
    FIELD_NOT_NUMBER,
    FIELD_OUT_OF_RANGE,
    FIELD_NOT_BOOLEAN,
    FIELD_NOT_DATE,
    FIELD_NOT_TIME,
    FIELD_NOT_TIMESTAMP,
    FIELD_NOT_INSTANT, /* TIMESTAMP_LTZ without zone */
    FIELD_NOT_BASE64,
    FIELD_NOT_UTF8,
    FIELD_TOO_LONG, /* past VALUE_BYTES_MAX */
};

/* Appends the value of `text` to `column` of the row under way; nothing is appended unless
 * FIELD_OK. ascii: the caller knows that no byte is above 0x7f. scratch: for base64, kept by the
 * caller. */
enum field_fault field_append(struct batch_builder *out, uint32_t column, const struct type *type,
                              struct bytes text, bool ascii, struct buf *scratch);
/* "not a number: 'twelve'", "number out of range: 300": the reason, appended. */
void field_fault_print(enum field_fault fault, const struct type *type, struct bytes text,
                       struct buf *out);
/* `text` in quotes as messages show it: double quotes when it holds a single one; at most 60 bytes,
 * odd bytes as \xNN. */
void field_quote(struct bytes text, struct buf *out);

/* Standard alphabet with padding. */
void base64_encode(struct bytes plain, struct buf *out);
MUST_USE bool base64_decode(struct bytes text, struct buf *out);

/* Appends the text of a present value as Flink's CSV and JSON have it; text types as they are.
 * scientific: DECIMAL as Java's BigDecimal.toString ("1E-7"), else plain. timestamp_sep ' ' or 'T'.
 */
void field_print(const struct column *c, uint32_t row, bool scientific, char timestamp_sep,
                 struct buf *out);

#endif
