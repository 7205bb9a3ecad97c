/* format.h - contract: bytes <-> rows. CSV and JSON lines with Flink's options.
 *
 * A decoder is fed decompressed bytes in pieces of any size and keeps what it needs between calls. Three rules for a bad row: fail (the
 * message names file, line, reason), skip the row and count it (`varve.bad-rows` = 'skip'), null the field
 * ('<format>.ignore-parse-errors' = 'true'). Bytes that are not UTF-8 in a text column are an error under the first and third rule.
 */
#ifndef VARVE_JOB_FORMAT_FORMAT_H
#define VARVE_JOB_FORMAT_FORMAT_H

#include "base/env.h"
#include "job/batch.h"

enum bad_row_rule { BAD_ROW_FAIL, BAD_ROW_SKIP, BAD_ROW_NULL_FIELD };

struct format_options {
    enum bad_row_rule bad_rows;
    /* csv.* */
    char field_delimiter, quote_character, escape_character; /* 0: none */
    bool disable_quote, allow_comments;
    const char *null_literal;            /* NULL: none; an unquoted field equal to it is null */
    const char *array_element_delimiter; /* kept for SHOW CREATE; arrays are not a type here */
    bool write_bigdecimal_scientific;
    /* json.* */
    bool fail_on_missing_field, encode_decimal_plain, ignore_null_fields;
    enum { JSON_TIMESTAMP_SQL, JSON_TIMESTAMP_ISO } timestamp_format;
    const char *time_zone;
};

struct decoder; /* first member is its ops */
struct decoder_ops {
    /* Decodes rows of `data` into out until out is full or data is used up. *used bytes were taken (whole rows only; the
     * caller gives the rest again, with more behind it). at_end: nothing follows, so an unfinished last row counts. A row longer than
     * the caller can hold is the caller's RC_LIMIT. On entry line_number is that of data's first byte; kept up to date. */
    enum rc (*decode)(struct decoder *, struct bytes data, bool at_end, struct batch_builder *out,
                      size_t *used, struct err *);
    void (*free)(struct decoder *);
};
struct decoder {
    const struct decoder_ops *ops;
    const char *file;     /* for messages; set by the caller */
    uint32_t max_rows;    /* stop when out holds this many rows; 0: when it is full */
    uint64_t line_number; /* from 1; set at start and on seek by the caller, kept by decode */
    uint64_t bad_rows, null_fields; /* counted; read and reset by the caller */
};

struct encoder;
struct encoder_ops {
    /* Appends the rows sel[0..n) of the batch, each a whole line with its end; ends[i] = out->len after row i when ends != NULL. */
    enum rc (*encode)(struct encoder *, const struct batch *, const uint32_t *sel, uint32_t n,
                      struct buf *out, uint32_t *ends, struct err *);
    void (*free)(struct encoder *);
};
struct encoder {
    const struct encoder_ops *ops;
};

struct format {
    const char *name; /* "csv", "json" */
    /* Reads '<name>.*' options and 'varve.bad-rows' ('fail' | 'skip'), keys given in full; an unknown one is RC_INVALID with the nearest name. Pairs are borrowed; results in arena. */
    enum rc (*options)(struct arena *, size_t count, const char *const *keys, const char *const *values,
                       struct format_options *out, struct err *);
    struct decoder *(*decoder_new)(const struct schema *, const struct format_options *);
    /* `skip` columns (partition columns) are not written; NULL: none. */
    struct encoder *(*encoder_new)(const struct schema *, const struct format_options *, const bool *skip);
};
extern const struct format csv_format, json_format;
const struct format *format_find(const char *name); /* NULL: unknown */

#endif
