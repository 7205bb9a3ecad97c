/* batch.c - see batch.h
 *
 * A builder keeps room for one row more than it has, so that appending a fixed-width value needs no
 * check. Validity bits of a builder are all set from `rows` on: only a null touches them. A null's
 * value is zero (or empty), so equal rows are equal bytes. */
#include "job/batch.h"

#define ROWS_START 256u
#define BYTES_START 1024u
#define GIVEN_BYTES (16u << 10) /* a column from here on is given away by batch_take, not copied */
/* A column that grew past this for one huge value gives its memory back at the next clear. */
#define BYTES_KEPT_MAX (2u * BATCH_BYTES_MAX)

struct build_column {
    struct type type;
    uint32_t width;
    bool bits, varlen;
    bool has_null;
    uint64_t *validity;
    uint8_t *values; /* fixed width, or the bits of a BOOLEAN */
    int32_t *offsets;
    uint8_t *bytes;
    size_t bytes_cap;
};
struct batch_builder {
    uint32_t column_count;
    uint32_t rows, rows_cap; /* rows < rows_cap */
    uint32_t appended;       /* columns of the unfinished row */
    size_t var_bytes;        /* of finished rows and the unfinished one */
    bool has_kinds;          /* some row is not +I */
    uint8_t *kinds;
    struct build_column *columns;
    uint32_t *twice; /* scratch of batch_double */
    uint32_t twice_cap;
    struct batch view;
    struct column *view_columns;
};

const char *row_kind_str(enum row_kind k)
{
    static const char *const text[] = {"+I", "-U", "+U", "-D"};

    ASSERT((unsigned)k < ARRAY_LEN(text));
    return text[k];
}

/* `bytes` is never NULL, so that an offset may always be added to it. */
static void start_bytes(struct build_column *c)
{
    c->bytes_cap = BYTES_START;
    c->bytes = mem_alloc(c->bytes_cap);
}

/* Room for `rows` rows in all columns; new validity bits are set, new bytes zero. */
static void grow_rows(struct batch_builder *b, uint32_t rows)
{
    size_t words_old = bit_words(b->rows_cap), words = bit_words(rows);

    for (uint32_t i = 0; i < b->column_count; i++) {
        struct build_column *c = &b->columns[i];

        c->validity = mem_realloc(c->validity, words * 8);
        memset(c->validity + words_old, 0xff, (words - words_old) * 8);
        if (c->varlen) {
            c->offsets = mem_realloc(c->offsets, ((size_t)rows + 1) * sizeof *c->offsets);
            if (b->rows_cap == 0)
                c->offsets[0] = 0;
            if (c->bytes == NULL)
                start_bytes(c);
        } else if (c->bits) {
            c->values = mem_realloc(c->values, words * 8);
            memset(c->values + words_old * 8, 0, (words - words_old) * 8);
        } else {
            c->values = mem_realloc(c->values, (size_t)rows * c->width);
        }
    }
    b->kinds = mem_realloc(b->kinds, rows);
    b->rows_cap = rows;
}

struct batch_builder *batch_builder_new(const struct schema *schema)
{
    struct batch_builder *b = mem_calloc(1, sizeof *b);

    b->column_count = schema->field_count;
    b->columns = mem_calloc(schema->field_count, sizeof *b->columns);
    b->view_columns = mem_calloc(schema->field_count, sizeof *b->view_columns);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        struct build_column *c = &b->columns[i];

        c->type = schema->fields[i].type;
        c->width = type_width(c->type.kind);
        c->varlen = type_is_varlen(c->type.kind);
        c->bits = c->type.kind == TYPE_BOOLEAN || c->type.kind == TYPE_NULL;
    }
    grow_rows(b, ROWS_START);
    return b;
}

void batch_builder_free(struct batch_builder *b)
{
    if (b == NULL)
        return;
    for (uint32_t i = 0; i < b->column_count; i++) {
        mem_free(b->columns[i].validity);
        mem_free(b->columns[i].values);
        mem_free(b->columns[i].offsets);
        mem_free(b->columns[i].bytes);
    }
    mem_free(b->columns);
    mem_free(b->view_columns);
    mem_free(b->kinds);
    mem_free(b->twice);
    mem_free(b);
}

uint32_t batch_builder_rows(const struct batch_builder *b)
{
    return b->rows;
}

bool batch_builder_full(const struct batch_builder *b)
{
    return b->rows >= BATCH_ROWS_MAX || b->var_bytes >= BATCH_BYTES_MAX;
}

void batch_builder_clear(struct batch_builder *b)
{
    size_t words = bit_words(b->rows_cap);

    for (uint32_t i = 0; i < b->column_count; i++) {
        struct build_column *c = &b->columns[i];

        if (c->has_null)
            memset(c->validity, 0xff, words * 8);
        c->has_null = false;
        if (c->bytes_cap > BYTES_KEPT_MAX) {
            mem_free(c->bytes);
            start_bytes(c);
        }
    }
    b->rows = 0;
    b->appended = 0;
    b->var_bytes = 0;
    b->has_kinds = false;
}

/* ---- row by row ------------------------------------------------------------------------------ */

static struct build_column *next_column(struct batch_builder *b, uint32_t column)
{
    ASSERT(column == b->appended && column < b->column_count);
    b->appended++;
    return &b->columns[column];
}

static void set_int(struct build_column *c, uint32_t row, int64_t v)
{
    switch (c->width) {
    case 8:
        ((int64_t *)(void *)c->values)[row] = v;
        break;
    case 4:
        ((int32_t *)(void *)c->values)[row] = (int32_t)v;
        break;
    case 2:
        ((int16_t *)(void *)c->values)[row] = (int16_t)v;
        break;
    default:
        ((int8_t *)(void *)c->values)[row] = (int8_t)v;
        break;
    }
}

void batch_append_null(struct batch_builder *b, uint32_t column)
{
    struct build_column *c = next_column(b, column);

    c->has_null = true;
    bit_clear(c->validity, b->rows);
    if (c->varlen)
        c->offsets[b->rows + 1] = c->offsets[b->rows];
    else if (c->bits)
        bit_clear((uint64_t *)(void *)c->values, b->rows);
    else
        memset(c->values + (size_t)b->rows * c->width, 0, c->width);
}

void batch_append_bool(struct batch_builder *b, uint32_t column, bool v)
{
    struct build_column *c = next_column(b, column);

    ASSERT(c->bits);
    if (v)
        bit_set((uint64_t *)(void *)c->values, b->rows);
    else
        bit_clear((uint64_t *)(void *)c->values, b->rows);
}

void batch_append_int(struct batch_builder *b, uint32_t column, int64_t v)
{
    struct build_column *c = next_column(b, column);

    ASSERT(c->width != 0 && c->width <= 8);
    set_int(c, b->rows, v);
}

void batch_append_double(struct batch_builder *b, uint32_t column, double v)
{
    struct build_column *c = next_column(b, column);

    ASSERT(c->type.kind == TYPE_DOUBLE || c->type.kind == TYPE_FLOAT);
    if (c->width == 8)
        ((double *)(void *)c->values)[b->rows] = v;
    else
        ((float *)(void *)c->values)[b->rows] = (float)v;
}

void batch_append_decimal(struct batch_builder *b, uint32_t column, int128 unscaled)
{
    struct build_column *c = next_column(b, column);

    ASSERT(c->type.kind == TYPE_DECIMAL);
    ((int128 *)(void *)c->values)[b->rows] = unscaled;
}

/* Room for `more` bytes after those of `row`; offsets stay within int32. */
static void grow_bytes(struct build_column *c, uint32_t row, size_t more)
{
    size_t need = (size_t)c->offsets[row] + more;

    ASSERT(need <= INT32_MAX);
    if (need > c->bytes_cap) {
        c->bytes_cap = need + need / 2;
        c->bytes = mem_realloc(c->bytes, c->bytes_cap);
    }
}

void batch_append_bytes(struct batch_builder *b, uint32_t column, struct bytes v)
{
    struct build_column *c = next_column(b, column);

    ASSERT(c->varlen && v.len <= VALUE_BYTES_MAX);
    grow_bytes(c, b->rows, v.len);
    if (v.len > 0)
        memcpy(c->bytes + c->offsets[b->rows], v.data, v.len);
    c->offsets[b->rows + 1] = c->offsets[b->rows] + (int32_t)v.len;
    b->var_bytes += v.len;
}

void batch_row_end(struct batch_builder *b, enum row_kind kind)
{
    ASSERT(b->appended == b->column_count);
    b->appended = 0;
    b->kinds[b->rows] = (uint8_t)kind;
    b->has_kinds |= kind != ROW_INSERT;
    b->rows++;
    if (b->rows == b->rows_cap)
        grow_rows(b, b->rows_cap * 2);
}

void batch_row_abandon(struct batch_builder *b)
{
    for (uint32_t i = 0; i < b->appended; i++) {
        struct build_column *c = &b->columns[i];

        bit_set(c->validity, b->rows);
        if (c->varlen)
            b->var_bytes -= (size_t)(c->offsets[b->rows + 1] - c->offsets[b->rows]);
    }
    b->appended = 0;
}

/* ---- column by column ------------------------------------------------------------------------ */

static void room_for(struct batch_builder *b, uint32_t n)
{
    uint32_t cap = b->rows_cap;

    ASSERT(b->appended == 0);
    while (cap <= b->rows + n)
        cap *= 2;
    if (cap != b->rows_cap)
        grow_rows(b, cap);
}

void batch_rows_begin(struct batch_builder *b, uint32_t rows)
{
    ASSERT(rows <= BATCH_ROWS_MAX);
    room_for(b, rows);
}

struct batch_space batch_space_open(struct batch_builder *b, uint32_t column, size_t bytes)
{
    struct build_column *c = &b->columns[column];

    if (c->varlen)
        grow_bytes(c, b->rows, bytes);
    return (struct batch_space){b->rows, c->values, c->validity, c->offsets, c->bytes};
}

void batch_space_null(struct batch_builder *b, uint32_t column, uint32_t row)
{
    b->columns[column].has_null = true;
    bit_clear(b->columns[column].validity, row);
}

void batch_rows_end(struct batch_builder *b, uint32_t rows)
{
    ASSERT(b->rows + rows < b->rows_cap);
    for (uint32_t i = 0; i < b->column_count; i++) {
        const struct build_column *c = &b->columns[i];

        if (c->varlen)
            b->var_bytes += (size_t)(c->offsets[b->rows + rows] - c->offsets[b->rows]);
    }
    memset(b->kinds + b->rows, ROW_INSERT, rows);
    b->rows += rows;
}

void batch_rows_abandon(struct batch_builder *b, uint32_t rows)
{
    for (uint32_t i = 0; i < b->column_count; i++) {
        for (uint32_t r = b->rows; b->columns[i].has_null && r < b->rows + rows; r++)
            bit_set(b->columns[i].validity, r);
    }
}

void batch_builder_kinds(struct batch_builder *b, struct bytes kinds)
{
    ASSERT(kinds.len == 0 || kinds.len == b->rows);
    b->has_kinds = kinds.len > 0;
    if (kinds.len > 0)
        memcpy(b->kinds, kinds.data, kinds.len);
    else
        memset(b->kinds, ROW_INSERT, b->rows);
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* idx is first, first + 1, ...: rows can be copied in one piece. */
static bool is_run(const uint32_t *idx, uint32_t n)
{
    if (idx[n - 1] - idx[0] != n - 1)
        return false;
    for (uint32_t i = 1; i < n; i++) {
        if (idx[i] != idx[i - 1] + 1)
            return false;
    }
    return true;
}

#define GATHER(type_)                                                                              \
    do {                                                                                           \
        type_ *to_ = (type_ *)to;                                                                  \
        const type_ *from_ = (const type_ *)from;                                                  \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to_[i] = from_[idx[i]];                                                                \
    } while (0)

static void gather_fixed(uint32_t width, void *to, const void *from, const uint32_t *idx,
                         uint32_t n, bool run)
{
    if (run) {
        memcpy(to, (const uint8_t *)from + (size_t)idx[0] * width, (size_t)n * width);
        return;
    }
    switch (width) {
    case 1:
        GATHER(uint8_t);
        break;
    case 2:
        GATHER(uint16_t);
        break;
    case 4:
        GATHER(uint32_t);
        break;
    case 8:
        GATHER(uint64_t);
        break;
    default:
        GATHER(int128);
        break;
    }
}

static size_t gather_varlen(struct build_column *c, uint32_t at, const struct column *src,
                            const uint32_t *idx, uint32_t n, bool run)
{
    size_t total = 0;
    int32_t end = c->offsets[at];

    for (uint32_t i = 0; i < n; i++)
        total += (size_t)(src->offsets[idx[i] + 1] - src->offsets[idx[i]]);
    grow_bytes(c, at, total);
    if (run && total > 0)
        memcpy(c->bytes + end, src->bytes + src->offsets[idx[0]], total);
    for (uint32_t i = 0; i < n; i++) {
        int32_t len = src->offsets[idx[i] + 1] - src->offsets[idx[i]];

        if (!run && len > 0)
            memcpy(c->bytes + end, src->bytes + src->offsets[idx[i]], (size_t)len);
        end += len;
        c->offsets[at + i + 1] = end;
    }
    return total;
}

static void gather_column(struct batch_builder *b, struct build_column *c, const struct column *src,
                          const uint32_t *idx, uint32_t n, bool run)
{
    uint32_t at = b->rows;

    ASSERT(c->varlen == type_is_varlen(src->type.kind) && c->width == type_width(src->type.kind));
    if (src->validity != NULL) {
        for (uint32_t i = 0; i < n; i++) {
            if (!bit_get(src->validity, idx[i])) {
                bit_clear(c->validity, at + i);
                c->has_null = true;
            }
        }
    }
    if (c->varlen) {
        b->var_bytes += gather_varlen(c, at, src, idx, n, run);
    } else if (c->bits) {
        uint64_t *to = (uint64_t *)(void *)c->values;

        for (uint32_t i = 0; i < n; i++) {
            if (src->values != NULL && bit_get(src->values, idx[i]))
                bit_set(to, at + i);
            else
                bit_clear(to, at + i);
        }
    } else {
        gather_fixed(c->width, c->values + (size_t)at * c->width, src->values, idx, n, run);
    }
}

void batch_gather(struct batch_builder *b, const struct batch *src, const uint32_t *idx, uint32_t n,
                  const uint32_t *map)
{
    bool run;

    room_for(b, n);
    if (n == 0)
        return;
    run = is_run(idx, n);
    for (uint32_t i = 0; i < b->column_count; i++)
        gather_column(b, &b->columns[i], &src->columns[map == NULL ? i : map[i]], idx, n, run);
    if (src->kinds == NULL) {
        memset(b->kinds + b->rows, ROW_INSERT, n);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            b->kinds[b->rows + i] = src->kinds[idx[i]];
            b->has_kinds |= src->kinds[idx[i]] != ROW_INSERT;
        }
    }
    b->rows += n;
}

#define DOUBLE(type_)                                                                              \
    do {                                                                                           \
        type_ *restrict to_ = (type_ *)to;                                                         \
        const type_ *restrict from_ = (const type_ *)from;                                         \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to_[2 * i] = to_[2 * i + 1] = from_[i];                                                \
    } while (0)

static void double_fixed(uint32_t width, void *to, const void *from, uint32_t n)
{
    switch (width) {
    case 1:
        DOUBLE(uint8_t);
        break;
    case 2:
        DOUBLE(uint16_t);
        break;
    case 4:
        DOUBLE(uint32_t);
        break;
    case 8:
        DOUBLE(uint64_t);
        break;
    default:
        DOUBLE(int128);
        break;
    }
}

static const uint32_t *twice_from(struct batch_builder *b, uint32_t from, uint32_t n)
{
    if (2 * n > b->twice_cap) {
        b->twice_cap = 2 * n;
        b->twice = mem_realloc(b->twice, b->twice_cap * sizeof *b->twice);
    }
    for (uint32_t i = 0; i < 2 * n; i++)
        b->twice[i] = from + i / 2;
    return b->twice;
}

void batch_double(struct batch_builder *b, const struct batch *src, uint32_t from, uint32_t n,
                  const uint32_t *map)
{
    const uint32_t *twice = NULL;

    room_for(b, 2 * n);
    for (uint32_t i = 0; i < b->column_count && n > 0; i++) {
        const struct column *from_column = &src->columns[map == NULL ? i : map[i]];
        struct build_column *c = &b->columns[i];

        if (from_column->validity == NULL && !c->varlen && !c->bits) {
            ASSERT(c->width == type_width(from_column->type.kind));
            double_fixed(c->width, c->values + (size_t)b->rows * c->width,
                         (const uint8_t *)from_column->values + (size_t)from * c->width, n);
            continue;
        }
        twice = twice == NULL ? twice_from(b, from, n) : twice;
        gather_column(b, c, from_column, twice, 2 * n, false);
    }
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint8_t kind = src->kinds == NULL ? ROW_INSERT : src->kinds[from + i / 2];

        b->kinds[b->rows + i] = kind;
        b->has_kinds |= kind != ROW_INSERT;
    }
    b->rows += 2 * n;
}

/* ---- handing over ---------------------------------------------------------------------------- */

struct batch *batch_builder_view(struct batch_builder *b)
{
    ASSERT(b->appended == 0);
    for (uint32_t i = 0; i < b->column_count; i++) {
        struct build_column *c = &b->columns[i];

        b->view_columns[i] = (struct column){
            .type = c->type,
            .validity = c->has_null ? c->validity : NULL,
            .values = c->varlen ? NULL : c->values,
            .offsets = c->offsets,
            .bytes = c->bytes,
        };
    }
    b->view =
        (struct batch){b->rows, b->column_count, b->view_columns, b->has_kinds ? b->kinds : NULL};
    return &b->view;
}

static size_t round16(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

/* Bytes of the column's value area (not offsets). */
static size_t value_bytes(const struct build_column *c, uint32_t rows)
{
    if (c->varlen)
        return (size_t)c->offsets[rows];
    return c->bits ? bit_words(rows) * 8 : (size_t)rows * c->width;
}

/* A batch that owns itself: the block that begins with this, and large columns beside it, which the
 * builder gave away instead of copying them. */
struct owned_batch {
    struct batch batch; /* first */
    uint32_t given_count;
    void **given;
};

static bool gives(const struct batch_builder *b, const struct build_column *c)
{
    return !c->varlen && !c->bits && (size_t)b->rows * c->width >= GIVEN_BYTES;
}

static void *give_values(struct batch_builder *b, struct build_column *c)
{
    void *values = c->values;

    c->values = mem_alloc((size_t)b->rows_cap * c->width);
    return values;
}

struct batch *batch_take(struct batch_builder *b)
{
    size_t words = bit_words(b->rows) * 8, size;
    struct batch *view = batch_builder_view(b);
    struct owned_batch *out;
    uint8_t *at;

    size = round16(sizeof *out) + round16(b->column_count * sizeof(struct column)) +
           round16(b->column_count * sizeof(void *)) + round16(b->rows);
    for (uint32_t i = 0; i < b->column_count; i++) {
        const struct build_column *c = &b->columns[i];

        size += round16(words) + (gives(b, c) ? 0 : round16(value_bytes(c, b->rows))) +
                (c->varlen ? round16(((size_t)b->rows + 1) * sizeof *c->offsets) : 0);
    }
    at = mem_alloc(size);
#define TAKE(bytes_) (at += round16(bytes_), at - round16(bytes_))
#define MOVE(from_, bytes_) memcpy(TAKE(bytes_), (from_), (bytes_))
    out = (struct owned_batch *)(void *)TAKE(sizeof *out);
    *out = (struct owned_batch){.batch = *view};
    out->batch.columns = (struct column *)(void *)TAKE(b->column_count * sizeof(struct column));
    out->given = (void **)(void *)TAKE(b->column_count * sizeof(void *));
    if (view->kinds != NULL)
        out->batch.kinds = MOVE(view->kinds, b->rows);
    for (uint32_t i = 0; i < b->column_count; i++) {
        const struct column *v = &view->columns[i];
        struct column *c = &out->batch.columns[i];
        size_t len = value_bytes(&b->columns[i], b->rows);

        *c = *v;
        if (v->validity != NULL)
            c->validity = MOVE(v->validity, words);
        if (v->offsets != NULL) {
            c->offsets = MOVE(v->offsets, ((size_t)b->rows + 1) * sizeof *v->offsets);
            c->bytes = TAKE(len);
            if (len > 0)
                memcpy(c->bytes, v->bytes, len);
        } else if (gives(b, &b->columns[i])) {
            out->given[out->given_count++] = give_values(b, &b->columns[i]);
        } else {
            c->values = MOVE(v->values, len);
        }
    }
#undef MOVE
#undef TAKE
    batch_builder_clear(b);
    return &out->batch;
}

void batch_free(struct batch *b)
{
    struct owned_batch *owned = (struct owned_batch *)b;

    if (b == NULL)
        return;
    for (uint32_t i = 0; i < owned->given_count; i++)
        mem_free(owned->given[i]);
    mem_free(owned);
}
