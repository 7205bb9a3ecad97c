/* field_column.h - one column of many rows at a time, from fields that lie between known bounds.
 * For decoders' fast path. */
#ifndef VARVE_JOB_FORMAT_FIELD_COLUMN_H
#define VARVE_JOB_FORMAT_FIELD_COLUMN_H

#include "job/format/field.h"

/* Rows of fields_per_row unquoted fields each, one behind the other: field k of all lies in data
 * between bounds[k] + 1 and bounds[k + 1]. (bounds[0] is one before the first byte, modulo 2^32.)
 * The last field of a row may end in a CR that is not its. */
struct field_block {
    const uint8_t *data;
    size_t len;
    const uint32_t *bounds;
    uint32_t rows, fields_per_row;
    bool ascii; /* no byte above 0x7f in it */
    bool has_null_literal;
    struct bytes null_literal;
};
/* This type can be read so. */
bool field_column_possible(enum type_kind kind);
/* Fills the column of block->rows rows begun in out. False: some field cannot be read; which one, a
 * slower way must tell. */
bool field_column_fill(struct batch_builder *out, uint32_t column, const struct type *type,
                       const struct field_block *block);

#endif
