/* row_key.c - see row_key.h */
#include "job/row_key.h"

#include "base/arena.h"

#define INLINE_MAX 7u /* text up to this length lies in its slot */

struct row_key {
    struct row_layout layout;
    enum field_kind *kinds;
    uint32_t *columns;
    bool wide; /* has a kind that is written row by row */
    uint32_t key_group_count, prefix_len;
    enum key_namespace ns;
    struct buf data;
    uint32_t *offsets; /* rows_cap + 1 */
    uint32_t *cursors; /* rows_cap: end of what is written of row i's variable part, from the row's
                          start */
    uint32_t *groups; /* rows_cap */
    uint32_t rows_cap;
    uint32_t equal_size, equal_count; /* without text columns: offsets[i] = i * equal_size, that many */
    uint32_t clean_rows; /* of equal size: so many blocks are zero but for slots, size and group */
};

enum field_kind field_kind_of(struct type t)
{
    switch (t.kind) {
    case TYPE_BOOLEAN:
        return FIELD_BOOL;
    case TYPE_TINYINT:
        return FIELD_I8;
    case TYPE_SMALLINT:
        return FIELD_I16;
    case TYPE_INT:
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_INTERVAL_YEAR:
        return FIELD_I32;
    case TYPE_BIGINT:
    case TYPE_INTERVAL_DAY:
        return FIELD_I64;
    case TYPE_FLOAT:
        return FIELD_F32;
    case TYPE_DOUBLE:
        return FIELD_F64;
    case TYPE_DECIMAL:
        return t.precision <= 18 ? FIELD_I64 : FIELD_DECIMAL_WIDE;
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return t.precision <= 3 ? FIELD_I64 : FIELD_TIMESTAMP_WIDE;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return FIELD_BYTES;
    case TYPE_NULL:
        break;
    }
    ASSERT(t.kind != TYPE_NULL); /* has no values; coerced by the planner */
    return FIELD_I64;
}

struct row_key *row_key_new(const struct schema *schema, uint32_t key_count, const uint32_t *keys,
                            uint32_t key_group_count, enum key_namespace ns)
{
    struct row_key *k = mem_calloc(1, sizeof *k);

    ASSERT(ns != KEY_NS_BYTES);
    k->kinds = mem_calloc(key_count, sizeof *k->kinds);
    k->columns = mem_calloc(key_count, sizeof *k->columns);
    for (uint32_t i = 0; i < key_count; i++) {
        ASSERT(keys[i] < schema->field_count);
        k->columns[i] = keys[i];
        k->kinds[i] = field_kind_of(schema->fields[keys[i]].type);
        k->wide |= k->kinds[i] == FIELD_DECIMAL_WIDE || k->kinds[i] == FIELD_TIMESTAMP_WIDE;
    }
    row_layout_init(&k->layout, k->kinds, key_count);
    k->key_group_count = key_group_count;
    k->prefix_len = keygroup_prefix_len(key_group_count);
    k->ns = ns;
    return k;
}

void row_key_free(struct row_key *k)
{
    if (k == NULL)
        return;
    buf_release(&k->data);
    mem_free(k->offsets);
    mem_free(k->cursors);
    mem_free(k->groups);
    mem_free(k->kinds);
    mem_free(k->columns);
    mem_free(k);
}

const struct row_layout *row_key_layout(const struct row_key *k)
{
    return &k->layout;
}

static void reserve_rows(struct row_key *k, uint32_t n)
{
    if (n <= k->rows_cap && k->offsets != NULL)
        return;
    k->rows_cap = n < BATCH_ROWS_MAX ? BATCH_ROWS_MAX : n;
    k->offsets = mem_realloc(k->offsets, ((size_t)k->rows_cap + 1) * sizeof *k->offsets);
    k->cursors = mem_realloc(k->cursors, (size_t)k->rows_cap * sizeof *k->cursors);
    k->groups = mem_realloc(k->groups, (size_t)k->rows_cap * sizeof *k->groups);
}

static inline uint32_t round_up8(uint32_t n)
{
    return (n + 7) & ~7u;
}
/* Rows of a batch: sel[0], sel[1], ..., or first, first + 1, ... */
struct picked {
    const uint32_t *sel;
    uint32_t first;
};
static inline uint32_t row_at(struct picked p, uint32_t i)
{
    return p.sel == NULL ? p.first + i : p.sel[i];
}

/* ---- column by column -------------------------------------------------------------------------
 */

/* Zeroed memory for the blocks. */
static enum rc clear_rows(struct row_key *k, uint64_t bytes, struct err *err)
{
    if (bytes > KEY_BATCH_BYTES_MAX)
        return err_set(err, RC_LIMIT, "keys of one batch exceed %u bytes", KEY_BATCH_BYTES_MAX);
    buf_clear(&k->data);
    buf_reserve(&k->data, (size_t)bytes);
    if (bytes > 0)
        memset(k->data.data, 0, (size_t)bytes);
    k->data.len = (size_t)bytes;
    return RC_OK;
}

/* Without text columns all blocks have one size, and a batch's differ from the last one's only in
 * slots, which are written anew, unless that one had nulls. */
static enum rc place_equal_rows(struct row_key *k, uint32_t n, uint32_t size, struct err *err)
{
    if ((uint64_t)n * size > KEY_BATCH_BYTES_MAX)
        return err_set(err, RC_LIMIT, "keys of one batch exceed %u bytes", KEY_BATCH_BYTES_MAX);
    if (k->equal_size != size || n >= k->equal_count) {
        k->equal_size = size;
        k->equal_count = k->rows_cap + 1;
        k->clean_rows = 0;
        for (uint32_t i = 0; i < k->equal_count && (uint64_t)i * size <= KEY_BATCH_BYTES_MAX; i++)
            k->offsets[i] = i * size;
    }
    if (n <= k->clean_rows)
        return RC_OK;
    RETURN_IF_ERR(clear_rows(k, (uint64_t)n * size, err));
    k->clean_rows = n;
    return RC_OK;
}

/* offsets[i]: where the block of row i starts: `around` bytes that are not the row, and the row. */
static enum rc place_rows(struct row_key *k, const struct batch *b, struct picked picked, uint32_t n,
                          uint32_t around, struct err *err)
{
    uint64_t at = 0;

    if (k->layout.fixed_size)
        return place_equal_rows(k, n, k->layout.fixed_bytes + around, err);
    for (uint32_t i = 0; i < n; i++)
        k->cursors[i] = k->layout.fixed_bytes;
    for (uint32_t f = 0; f < k->layout.field_count; f++) {
        const struct column *c = &b->columns[k->columns[f]];

        if (k->kinds[f] != FIELD_BYTES)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t row = row_at(picked, i);
            uint32_t len = (uint32_t)(c->offsets[row + 1] - c->offsets[row]);

            if (len > INLINE_MAX && column_present(c, row)) {
                k->cursors[i] += round_up8(len);
                if (k->cursors[i] > BINARY_ROW_BYTES_MAX)
                    return err_set(err, RC_LIMIT, "key of more than %u bytes",
                                   BINARY_ROW_BYTES_MAX);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        k->offsets[i] = (uint32_t)at;
        at += k->cursors[i] + around;
        if (at > KEY_BATCH_BYTES_MAX)
            return err_set(err, RC_LIMIT, "keys of one batch exceed %u bytes", KEY_BATCH_BYTES_MAX);
        k->cursors[i] = k->layout.fixed_bytes;
    }
    k->offsets[n] = (uint32_t)at;
    return clear_rows(k, at, err);
}

static inline void mark_null(uint8_t *row, uint32_t field)
{
    row[(field + 8) >> 3] |= (uint8_t)(1u << ((field + 8) & 7));
}

/* `load` gives the slot's 64 bits of `row`. */
#define FILL(load)                                                                                 \
    do {                                                                                           \
        if (c->validity == NULL && picked.sel == NULL) {                                           \
            for (uint32_t i = 0; i < n; i++) {                                                     \
                uint32_t row = picked.first + i;                                                   \
                put_le64(base + k->offsets[i] + slot, (uint64_t)(load));                           \
            }                                                                                      \
            break;                                                                                 \
        }                                                                                          \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            uint32_t row = row_at(picked, i);                                                      \
            if (c->validity != NULL && !bit_get(c->validity, row)) {                               \
                mark_null(base + k->offsets[i], f);                                                \
                k->clean_rows = 0;                                                                 \
            } else {                                                                               \
                put_le64(base + k->offsets[i] + slot, (uint64_t)(load));                           \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static void fill_bytes(struct row_key *k, const struct column *c, uint32_t f, struct picked picked,
                       uint32_t n, uint8_t *base, uint32_t slot)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = row_at(picked, i);
        uint8_t *to = base + k->offsets[i];
        struct bytes v;

        if (!column_present(c, row)) {
            mark_null(to, f);
            continue;
        }
        v = column_bytes(c, row);
        if (v.len <= INLINE_MAX) {
            if (v.len > 0)
                memcpy(to + slot, v.data, v.len);
            to[slot + 7] = (uint8_t)(0x80 | v.len);
            continue;
        }
        memcpy(to + k->cursors[i], v.data, v.len);
        put_le32(to + slot, (uint32_t)v.len);
        put_le32(to + slot + 4, k->cursors[i]);
        k->cursors[i] += round_up8((uint32_t)v.len);
    }
}

/* Field f of all rows; `base` + offsets[i] is the start of row i. */
static void fill_field(struct row_key *k, const struct batch *b, uint32_t f, struct picked picked,
                       uint32_t n, uint8_t *base)
{
    const struct column *c = &b->columns[k->columns[f]];
    uint32_t slot = k->layout.header_bytes + 8 * f;
    const void *v = c->values;

    switch (k->kinds[f]) {
    case FIELD_BYTES:
        fill_bytes(k, c, f, picked, n, base, slot);
        break;
    case FIELD_BOOL:
        FILL(bit_get((const uint64_t *)v, row));
        break;
    case FIELD_I8:
        FILL(((const uint8_t *)v)[row]);
        break;
    case FIELD_I16:
        FILL(((const uint16_t *)v)[row]);
        break;
    case FIELD_I32:
    case FIELD_F32:
        FILL(((const uint32_t *)v)[row]);
        break;
    default: /* FIELD_I64, FIELD_F64; DECIMAL up to 18 digits lies in 16 bytes */
        if (c->type.kind == TYPE_DECIMAL)
            FILL(((const int128 *)v)[row]);
        else
            FILL(((const uint64_t *)v)[row]);
        break;
    }
}

/* ---- row by row, for wide kinds ---------------------------------------------------------------
 */

static void write_field(struct row_writer *w, uint32_t f, enum field_kind kind,
                        const struct column *c, uint32_t row)
{
    if (!column_present(c, row)) {
        row_write_null(w, f);
        return;
    }
    switch (kind) {
    case FIELD_BYTES:
        row_write_bytes(w, f, column_bytes(c, row));
        break;
    case FIELD_BOOL:
        row_write_int(w, f, bit_get((const uint64_t *)c->values, row));
        break;
    case FIELD_I8:
        row_write_int(w, f, ((const int8_t *)c->values)[row]);
        break;
    case FIELD_I16:
        row_write_int(w, f, ((const int16_t *)c->values)[row]);
        break;
    case FIELD_I32:
        row_write_int(w, f, ((const int32_t *)c->values)[row]);
        break;
    case FIELD_F32:
        row_write_f32(w, f, ((const float *)c->values)[row]);
        break;
    case FIELD_F64:
        row_write_f64(w, f, ((const double *)c->values)[row]);
        break;
    case FIELD_I64:
        if (c->type.kind == TYPE_DECIMAL)
            row_write_decimal(w, f, ((const int128 *)c->values)[row]);
        else
            row_write_int(w, f, ((const int64_t *)c->values)[row]);
        break;
    case FIELD_DECIMAL_WIDE:
        row_write_decimal(w, f, ((const int128 *)c->values)[row]);
        break;
    case FIELD_TIMESTAMP_WIDE: {
        int64_t units = timestamp_units_per_ms(c->type.precision);
        int64_t v = ((const int64_t *)c->values)[row];
        int64_t ms = v / units, rest = v % units;

        if (rest < 0) {
            ms--;
            rest += units;
        }
        row_write_timestamp(w, f, ms, (uint32_t)(rest * (1000000 / units)));
        break;
    }
    }
}

static enum rc write_rows(struct row_key *k, const struct batch *b, struct picked picked, uint32_t n,
                          uint32_t before, uint32_t behind, struct err *err)
{
    static const uint8_t zero[16];

    buf_clear(&k->data);
    for (uint32_t i = 0; i < n; i++) {
        struct row_writer w;

        k->offsets[i] = (uint32_t)k->data.len;
        buf_append(&k->data, zero, before);
        row_writer_begin(&w, &k->layout, &k->data);
        for (uint32_t f = 0; f < k->layout.field_count; f++)
            write_field(&w, f, k->kinds[f], &b->columns[k->columns[f]], row_at(picked, i));
        buf_append(&k->data, zero, behind);
        if (k->data.len > KEY_BATCH_BYTES_MAX)
            return err_set(err, RC_LIMIT, "keys of one batch exceed %u bytes", KEY_BATCH_BYTES_MAX);
    }
    k->offsets[n] = (uint32_t)k->data.len;
    return RC_OK;
}

/* Rows in k->data with `before` and `behind` bytes around each. */
static enum rc build(struct row_key *k, const struct batch *b, struct picked picked, uint32_t n,
                     uint32_t before, uint32_t behind, struct err *err)
{
    reserve_rows(k, n);
    if (k->wide)
        return write_rows(k, b, picked, n, before, behind, err);
    RETURN_IF_ERR(place_rows(k, b, picked, n, before + behind, err));
    for (uint32_t f = 0; n > 0 && f < k->layout.field_count; f++)
        fill_field(k, b, f, picked, n, k->data.data + before);
    return RC_OK;
}

/* ---- key groups ------------------------------------------------------------------------------- */

/* Over the columns, without building rows: true when all are of fixed width and without nulls. */
static bool groups_of_columns(const struct row_key *k, const struct batch *b, struct picked picked,
                              uint32_t n, uint32_t *groups)
{
    if (k->wide || !k->layout.fixed_size || picked.sel != NULL)
        return false;
    for (uint32_t f = 0; f < k->layout.field_count; f++) {
        const struct column *c = &b->columns[k->columns[f]];

        if (c->validity != NULL || k->kinds[f] == FIELD_BOOL || c->type.kind == TYPE_DECIMAL)
            return false;
    }
    keygroup_hash_begin(groups, n, k->layout.header_bytes);
    for (uint32_t f = 0; f < k->layout.field_count; f++) {
        const struct column *c = &b->columns[k->columns[f]];
        uint32_t width = type_width(c->type.kind);

        keygroup_hash_slots(groups, n, (const uint8_t *)c->values + (size_t)picked.first * width,
                            width);
    }
    keygroup_hash_end(groups, n, k->layout.fixed_bytes, k->key_group_count);
    return true;
}

/* Of rows that are built: row i is [offsets[i] + before, offsets[i + 1] - behind). */
static void groups_of_rows(const struct row_key *k, uint32_t n, uint32_t before, uint32_t behind,
                           uint32_t *groups)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row_len = k->offsets[i + 1] - k->offsets[i] - before - behind;

        groups[i] = key_group_of_row(bytes_of(k->data.data + k->offsets[i] + before, row_len),
                                     k->key_group_count);
    }
}

enum rc row_key_groups(struct row_key *k, const struct batch *batch, uint32_t *groups,
                       struct err *err)
{
    struct picked all = {0};

    if (groups_of_columns(k, batch, all, batch->rows, groups))
        return RC_OK;
    RETURN_IF_ERR(build(k, batch, all, batch->rows, 0, 0, err));
    groups_of_rows(k, batch->rows, 0, 0, groups);
    return RC_OK;
}

enum rc row_key_keys(struct row_key *k, const struct batch *batch, const uint32_t *sel,
                     uint32_t first, uint32_t n, const int64_t *windows, struct key_batch *out,
                     struct err *err)
{
    uint32_t before = k->prefix_len + 4, behind = k->ns == KEY_NS_VOID ? 1 : 8;
    struct picked picked = {sel, first};

    ASSERT((k->ns == KEY_NS_BIGINT) == (windows != NULL));
    RETURN_IF_ERR(build(k, batch, picked, n, before, behind, err));
    if (!groups_of_columns(k, batch, picked, n, k->groups))
        groups_of_rows(k, n, before, behind, k->groups);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *key = k->data.data + k->offsets[i];
        uint32_t row_len = k->offsets[i + 1] - k->offsets[i] - before - behind;

        if (k->prefix_len == 1)
            key[0] = (uint8_t)k->groups[i];
        else
            put_be16(key, (uint16_t)k->groups[i]);
        put_be32(key + k->prefix_len, row_len);
        if (windows != NULL)
            put_be64(key + before + row_len, (uint64_t)windows[i]);
    }
    *out = (struct key_batch){n, k->data.data, k->offsets};
    return RC_OK;
}

void row_field_append(const struct row_layout *l, const uint8_t *row, uint32_t i, struct type type,
                      struct batch_builder *out, uint32_t column)
{
    uint32_t nanos = 0;
    int64_t ms, per_ms;

    if (binary_row_is_null(row, i)) {
        batch_append_null(out, column);
        return;
    }
    switch (l->kinds[i]) {
    case FIELD_F32:
        batch_append_double(out, column, (double)binary_row_f32(l, row, i));
        break;
    case FIELD_F64:
        batch_append_double(out, column, binary_row_f64(l, row, i));
        break;
    case FIELD_BYTES:
        batch_append_bytes(out, column, binary_row_bytes(l, row, i));
        break;
    case FIELD_TIMESTAMP_WIDE:
        ms = binary_row_timestamp(l, row, i, &nanos);
        per_ms = timestamp_units_per_ms(type.precision);
        batch_append_int(out, column, ms * per_ms + nanos * per_ms / NS_PER_MS);
        break;
    case FIELD_DECIMAL_WIDE:
        batch_append_decimal(out, column, binary_row_decimal(l, row, i));
        break;
    default:
        if (type.kind == TYPE_DECIMAL)
            batch_append_decimal(out, column, binary_row_decimal(l, row, i));
        else if (type.kind == TYPE_BOOLEAN)
            batch_append_bool(out, column, binary_row_int(l, row, i) != 0);
        else
            batch_append_int(out, column, binary_row_int(l, row, i));
    }
}
