/* batch.h - typed columnar batches: validity bits + fixed-width or offset/bytes columns, laid out as in the
 * Arrow C data interface (bit = 1: present; least significant bit first; BOOLEAN values are bits; int32 offsets).
 *
 * A batch passed to a function is borrowed for the call; who keeps rows copies them (batch_builder). Buffers
 * belong to whoever made the batch (an operator's arena, a builder). No allocation per row.
 */
#ifndef VARVE_JOB_BATCH_H
#define VARVE_JOB_BATCH_H

#include "job/type.h"

#define BATCH_ROWS_MAX 4096u              /* rows of one batch */
#define BATCH_BYTES_MAX (16u << 20)       /* a builder reports full at this many var-length bytes ... */
#define VALUE_BYTES_MAX (256u << 20)      /* ... though a single longer value is taken alone; past this: RC_LIMIT */

enum row_kind { ROW_INSERT = 0, ROW_UPDATE_BEFORE = 1, ROW_UPDATE_AFTER = 2, ROW_DELETE = 3 }; /* Flink's bytes */
const char *row_kind_str(enum row_kind k); /* "+I" "-U" "+U" "-D" */

typedef __int128 int128;

struct column {
    struct type type;
    uint64_t *validity; /* NULL: all present; words of 64 bits */
    void *values;       /* fixed width; BOOLEAN: bits in uint64_t words; NULL for variable length */
    int32_t *offsets;   /* variable length: rows + 1 */
    uint8_t *bytes;     /* variable length: offsets index this */
};
struct batch {
    uint32_t rows;
    uint32_t column_count;
    struct column *columns;
    uint8_t *kinds; /* enum row_kind a row; NULL: all +I */
};

static inline bool bit_get(const uint64_t *bits, uint32_t i) { return (bits[i >> 6] >> (i & 63)) & 1; }
static inline void bit_set(uint64_t *bits, uint32_t i) { bits[i >> 6] |= 1ull << (i & 63); }
static inline void bit_clear(uint64_t *bits, uint32_t i) { bits[i >> 6] &= ~(1ull << (i & 63)); }
static inline size_t bit_words(uint32_t rows) { return ((size_t)rows + 63) / 64; }
static inline bool column_present(const struct column *c, uint32_t i) { return c->validity == NULL || bit_get(c->validity, i); }
static inline struct bytes column_bytes(const struct column *c, uint32_t i)
{
    return (struct bytes){c->bytes + c->offsets[i], (size_t)(c->offsets[i + 1] - c->offsets[i])};
}
/* Any type of width 1..8 but floating point. */
static inline int64_t column_int(const struct column *c, uint32_t row)
{
    switch (type_width(c->type.kind)) {
    case 8:
        return ((const int64_t *)c->values)[row];
    case 4:
        return ((const int32_t *)c->values)[row];
    case 2:
        return ((const int16_t *)c->values)[row];
    default:
        return ((const int8_t *)c->values)[row];
    }
}
static inline enum row_kind batch_kind(const struct batch *b, uint32_t i) { return b->kinds == NULL ? ROW_INSERT : (enum row_kind)b->kinds[i]; }

/* Builds a batch row by row or by gathering rows of another. Memory is kept between batches. */
struct batch_builder; /* opaque */
struct batch_builder *batch_builder_new(const struct schema *schema); /* schema borrowed while the builder lives */
void batch_builder_free(struct batch_builder *b);
uint32_t batch_builder_rows(const struct batch_builder *b);
bool batch_builder_full(const struct batch_builder *b); /* rows or bytes reached */
void batch_builder_clear(struct batch_builder *b);
/* Appending one row: one call per column in order 0..n-1, then row_end. */
void batch_append_null(struct batch_builder *b, uint32_t column);
void batch_append_bool(struct batch_builder *b, uint32_t column, bool v);
void batch_append_int(struct batch_builder *b, uint32_t column, int64_t v); /* TINYINT..BIGINT, DATE, TIME, TIMESTAMP*, intervals */
void batch_append_double(struct batch_builder *b, uint32_t column, double v); /* FLOAT, DOUBLE */
void batch_append_decimal(struct batch_builder *b, uint32_t column, int128 unscaled);
void batch_append_bytes(struct batch_builder *b, uint32_t column, struct bytes v);
void batch_row_end(struct batch_builder *b, enum row_kind kind);
void batch_row_abandon(struct batch_builder *b); /* take back the columns of an unfinished row */
/* Appending many rows column by column, for decoders: batch_rows_begin, every column once through its space, batch_rows_end. What
 * was begun and not ended counts for nothing. At most BATCH_ROWS_MAX rows at a time. */
struct batch_space {
    uint32_t row;      /* of the first new row */
    void *values;      /* fixed width: write at [row..]; BOOLEAN: bits */
    uint64_t *validity; /* all bits from `row` on are set; clear them through batch_space_null */
    int32_t *offsets;  /* variable length: offsets[row] is set, offsets[row + 1..] are to be */
    uint8_t *bytes;    /* offsets index it; as much room as was asked for */
};
void batch_rows_begin(struct batch_builder *b, uint32_t rows);
struct batch_space batch_space_open(struct batch_builder *b, uint32_t column, size_t bytes);
void batch_space_null(struct batch_builder *b, uint32_t column, uint32_t row); /* its value is to be zero or empty */
void batch_rows_end(struct batch_builder *b, uint32_t rows);
void batch_rows_abandon(struct batch_builder *b, uint32_t rows);
/* The kinds of all its rows, a byte each (0..3); empty: all +I. */
void batch_builder_kinds(struct batch_builder *b, struct bytes kinds);
/* Rows idx[0..n) of src (same column types) to the end; columns map[c] of src go to column c (map NULL: identity). */
void batch_gather(struct batch_builder *b, const struct batch *src, const uint32_t *idx, uint32_t n,
                  const uint32_t *map);
/* Rows [from, from + n) of src, each twice: positions 2i and 2i + 1; columns as in batch_gather. */
void batch_double(struct batch_builder *b, const struct batch *src, uint32_t from, uint32_t n, const uint32_t *map);
/* The batch built so far, borrowed until the next change of the builder. */
struct batch *batch_builder_view(struct batch_builder *b);

/* A batch that owns itself, for queues between threads: made from a builder (which is cleared; large columns are given away, not
 * copied), freed by the receiver. */
struct batch *batch_take(struct batch_builder *b);
void batch_free(struct batch *b); /* only for batches of batch_take; NULL is a no-op */

/* One value as Flink's print sink shows it (text for the default CSV encoder too): null is "null". */
void column_print(const struct column *c, uint32_t row, struct buf *out);

#endif
