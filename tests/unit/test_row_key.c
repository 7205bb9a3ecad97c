/* test_row_key.c - keys of a batch, column by column, against the row writer and against bytes of
 * the reference. */
#include "job/row_key.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

static struct schema *schema_of(struct arena *a, const struct type *types, uint32_t n)
{
    struct schema *s = ARENA_NEW(a, struct schema);

    s->field_count = n;
    s->rowtime = -1;
    s->fields = ARENA_ARRAY(a, n, struct schema_field);
    for (uint32_t i = 0; i < n; i++)
        s->fields[i] = (struct schema_field){"c", types[i]};
    return s;
}

/* Bytes seen in a savepoint of the reference: key group 12, row (BIGINT 9, STRING 'x'), void
 * namespace. */
START_TEST(key_has_the_references_bytes)
{
    static const uint8_t want[] = {0x0C, 0, 0, 0, 0x18, 0, 0,    0, 0, 0, 0, 0, 0, 9,    0,
                                   0,    0, 0, 0, 0,    0, 0x78, 0, 0, 0, 0, 0, 0, 0x81, 0};
    struct arena *a = arena_new(0);
    struct type types[] = {type_of(TYPE_BIGINT), type_of(TYPE_VARCHAR)};
    struct schema *s = schema_of(a, types, 2);
    struct batch_builder *b = batch_builder_new(s);
    uint32_t keys[] = {0, 1}, group = 0;
    struct row_key *k = row_key_new(s, 2, keys, 128, KEY_NS_VOID);
    struct key_batch out;
    struct err err = {0};

    batch_append_int(b, 0, 9);
    batch_append_bytes(b, 1, bytes_of_str("x"));
    batch_row_end(b, ROW_UPDATE_AFTER); /* a row's kind is no part of its key */
    ck_assert_ok(row_key_keys(k, batch_builder_view(b), NULL, 0, 1, NULL, &out, &err));
    ck_assert_bytes_eq(key_batch_at(&out, 0), bytes_of(want, sizeof want));
    ck_assert_ok(row_key_groups(k, batch_builder_view(b), &group, &err));
    ck_assert_uint_eq(group, 12);
    row_key_free(k);
    batch_builder_free(b);
    arena_free(a);
}
END_TEST

static void append_random(struct batch_builder *b, uint32_t col, struct type t, struct rng *r)
{
    struct buf text = {0};

    if (gen_chance(r, 20)) {
        batch_append_null(b, col);
        return;
    }
    switch (t.kind) {
    case TYPE_BOOLEAN:
        batch_append_bool(b, col, gen_chance(r, 50));
        break;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        batch_append_double(b, col, gen_f64(r));
        break;
    case TYPE_DECIMAL:
        batch_append_decimal(b, col,
                             t.precision <= 18 ? gen_i64(r) : (int128)gen_i64(r) * gen_i64(r));
        break;
    case TYPE_VARCHAR:
        gen_bytes(r, gen_len(r, 0, 40), &text);
        batch_append_bytes(b, col, buf_bytes(&text));
        break;
    default:
        batch_append_int(b, col, gen_i64(r));
    }
    buf_release(&text);
}

/* One field as the row writer puts it: the slow truth. */
static void write_field(struct row_writer *w, uint32_t f, const struct column *c, uint32_t row)
{
    int64_t v, units;

    if (!column_present(c, row)) {
        row_write_null(w, f);
        return;
    }
    switch (c->type.kind) {
    case TYPE_BOOLEAN:
        row_write_int(w, f, bit_get(c->values, row));
        break;
    case TYPE_TINYINT:
        row_write_int(w, f, ((int8_t *)c->values)[row]);
        break;
    case TYPE_SMALLINT:
        row_write_int(w, f, ((int16_t *)c->values)[row]);
        break;
    case TYPE_INT:
    case TYPE_DATE:
        row_write_int(w, f, ((int32_t *)c->values)[row]);
        break;
    case TYPE_BIGINT:
        row_write_int(w, f, ((int64_t *)c->values)[row]);
        break;
    case TYPE_FLOAT:
        row_write_f32(w, f, ((float *)c->values)[row]);
        break;
    case TYPE_DOUBLE:
        row_write_f64(w, f, ((double *)c->values)[row]);
        break;
    case TYPE_DECIMAL:
        row_write_decimal(w, f, ((int128 *)c->values)[row]);
        break;
    case TYPE_TIMESTAMP:
        v = ((int64_t *)c->values)[row];
        units = timestamp_units_per_ms(c->type.precision);
        if (c->type.precision <= 3)
            row_write_int(w, f, v);
        else
            row_write_timestamp(w, f, v / units - (v % units < 0),
                                (uint32_t)(((v % units + units) % units) * (1000000 / units)));
        break;
    default:
        row_write_bytes(w, f, column_bytes(c, row));
    }
}

static struct type decimal(uint8_t precision)
{
    struct type t = type_of(TYPE_DECIMAL);

    t.precision = precision;
    t.scale = 2;
    return t;
}
static struct type timestamp(uint8_t precision)
{
    struct type t = type_of(TYPE_TIMESTAMP);

    t.precision = precision;
    return t;
}

/* Row i: the key columns; each combination of fixed, text and wide fields takes another path. */
static const uint32_t key_sets[][6] = {
    {0},     {1, 4},         {0, 1, 2, 3, 4},       {5, 6, 7}, {9}, {9, 4, 9}, {7, 9, 0}, {8},
    {10, 9}, {11, 12, 9, 8}, {8, 10, 11, 12, 9, 0},
};
static const uint32_t key_set_len[] = {1, 2, 5, 3, 1, 3, 3, 1, 2, 4, 6};

START_TEST(columns_and_row_writer_agree)
{
    struct arena *a = arena_new(0);
    struct type types[] = {
        type_of(TYPE_BOOLEAN), type_of(TYPE_TINYINT), type_of(TYPE_SMALLINT), type_of(TYPE_INT),
        type_of(TYPE_BIGINT),  type_of(TYPE_FLOAT),   type_of(TYPE_DOUBLE),   decimal(18),
        decimal(38),           type_of(TYPE_VARCHAR), timestamp(3),           timestamp(6),
        timestamp(9),
    };
    struct schema *s = schema_of(a, types, ARRAY_LEN(types));
    struct batch_builder *b = batch_builder_new(s);
    uint64_t seed = gen_seed(11) + (uint64_t)_i;
    uint32_t key_count = key_set_len[_i], groups[300], sel[300], max = _i % 2 ? 128 : 4000;
    enum key_namespace ns = _i % 3 == 0 ? KEY_NS_BIGINT : KEY_NS_VOID;
    struct row_key *k = row_key_new(s, key_count, key_sets[_i], max, ns);
    enum field_kind kinds[6];
    struct row_layout layout;
    struct key_builder want;
    int64_t windows[300];
    struct batch *batch;
    struct key_batch got, all;
    struct rng r;
    struct err err = {0};

    rng_seed(&r, seed);
    for (uint32_t i = 0; i < 300; i++) {
        for (uint32_t c = 0; c < ARRAY_LEN(types); c++)
            append_random(b, c, types[c], &r);
        batch_row_end(b, ROW_INSERT);
        windows[i] = gen_i64(&r);
        sel[i] = (uint32_t)rng_below(&r, 300);
    }
    batch = batch_builder_view(b);
    for (uint32_t f = 0; f < key_count; f++)
        kinds[f] = field_kind_of(types[key_sets[_i][f]]);
    row_layout_init(&layout, kinds, key_count);
    ck_assert_ok(row_key_groups(k, batch, groups, &err));
    key_builder_init(&want, max, ns);
    for (uint32_t i = 0; i < 300; i++) {
        struct buf out = {0};
        struct row_writer w;
        struct bytes row;

        row_writer_begin(&w, &layout, &out);
        for (uint32_t f = 0; f < key_count; f++)
            write_field(&w, f, &batch->columns[key_sets[_i][f]], sel[i]);
        row = row_writer_end(&w);
        ck_assert_uint_eq(groups[sel[i]], key_group_of_row(row, max));
        ck_assert_ok(key_builder_add(&want, groups[sel[i]], row,
                                     ns == KEY_NS_BIGINT ? windows[i] : 0, bytes_of(NULL, 0),
                                     &err));
        buf_release(&out);
    }
    all = key_builder_batch(&want);
    ck_assert_ok(
        row_key_keys(k, batch, sel, 0, 300, ns == KEY_NS_BIGINT ? windows : NULL, &got, &err));
    ck_assert_uint_eq(got.count, 300);
    for (uint32_t i = 0; i < 300; i++)
        ck_assert_bytes_eq(key_batch_at(&got, i), key_batch_at(&all, i));
    key_builder_release(&want);
    row_key_free(k);
    batch_builder_free(b);
    arena_free(a);
}
END_TEST

/* Columns without nulls are hashed column by column, and a batch's blocks are kept for the next one:
 * every third batch has nulls, of which nothing may stay. */
START_TEST(batches_without_nulls_take_the_same_keys)
{
    static const enum type_kind kinds_of[] = {TYPE_BIGINT, TYPE_TINYINT, TYPE_INT, TYPE_SMALLINT,
                                              TYPE_DOUBLE, TYPE_FLOAT};
    static const uint32_t columns[] = {0, 1, 2, 3, 4, 5};
    uint32_t key_count = (uint32_t)_i % 6 + 1, max = _i < 6 ? 128 : 1000;
    struct arena *a = arena_new(0);
    struct type types[6];
    struct schema *s;
    struct batch_builder *b;
    struct row_key *k;
    struct row_layout layout;
    enum field_kind kinds[6];
    struct rng r;
    struct err err = {0};

    rng_seed(&r, gen_seed(12) + (uint64_t)_i);
    for (uint32_t c = 0; c < 6; c++) {
        types[c] = type_of(kinds_of[c]);
        kinds[c] = field_kind_of(types[c]);
    }
    s = schema_of(a, types, 6);
    b = batch_builder_new(s);
    k = row_key_new(s, key_count, columns, max, KEY_NS_VOID);
    row_layout_init(&layout, kinds, key_count);
    for (uint32_t round = 0; round < 7; round++) {
        uint32_t rows = 100 + 150 * (round % 3), first = round * 5, groups[400];
        struct batch *batch;
        struct key_batch got;

        batch_builder_clear(b);
        for (uint32_t i = 0; i < rows; i++) {
            for (uint32_t c = 0; c < 6; c++) {
                if (round % 3 == 1)
                    append_random(b, c, types[c], &r);
                else if (types[c].kind == TYPE_DOUBLE || types[c].kind == TYPE_FLOAT)
                    batch_append_double(b, c, gen_f64(&r));
                else
                    batch_append_int(b, c, gen_i64(&r));
            }
            batch_row_end(b, ROW_INSERT);
        }
        batch = batch_builder_view(b);
        ck_assert_ok(row_key_groups(k, batch, groups, &err));
        ck_assert_ok(row_key_keys(k, batch, NULL, first, rows - first, NULL, &got, &err));
        for (uint32_t i = first; i < rows; i++) {
            struct bytes key = key_batch_at(&got, i - first);
            struct buf out = {0};
            struct row_writer w;
            struct bytes row;

            row_writer_begin(&w, &layout, &out);
            for (uint32_t f = 0; f < key_count; f++)
                write_field(&w, f, &batch->columns[f], i);
            row = row_writer_end(&w);
            ck_assert_uint_eq(groups[i], key_group_of_row(row, max));
            ck_assert_uint_eq(keygroup_get_prefix(key.data, keygroup_prefix_len(max)), groups[i]);
            ck_assert_bytes_eq(
                bytes_of(key.data + keygroup_prefix_len(max) + 4, row.len), row);
            buf_release(&out);
        }
    }
    row_key_free(k);
    batch_builder_free(b);
    arena_free(a);
}
END_TEST

/* GROUP BY nothing: one key, the same for each row, and no crash without columns. */
START_TEST(no_key_columns_give_one_key)
{
    struct arena *a = arena_new(0);
    struct type types[] = {type_of(TYPE_INT)};
    struct schema *s = schema_of(a, types, 1);
    struct batch_builder *b = batch_builder_new(s);
    struct row_key *k = row_key_new(s, 0, NULL, 128, KEY_NS_VOID);
    struct key_batch got;
    struct err err = {0};

    for (int i = 0; i < 2; i++) {
        batch_append_int(b, 0, i);
        batch_row_end(b, ROW_INSERT);
    }
    ck_assert_ok(row_key_keys(k, batch_builder_view(b), NULL, 0, 2, NULL, &got, &err));
    ck_assert_bytes_eq(key_batch_at(&got, 0), key_batch_at(&got, 1));
    ck_assert_uint_eq(key_batch_at(&got, 0).len, 1 + 4 + 8 + 1);
    ck_assert_ok(row_key_keys(k, batch_builder_view(b), NULL, 0, 0, NULL, &got, &err));
    ck_assert_uint_eq(got.count, 0);
    row_key_free(k);
    batch_builder_free(b);
    arena_free(a);
}
END_TEST

TEST_MAIN("row_key", tcase_add_test(tc, key_has_the_references_bytes);
          tcase_add_loop_test(tc, columns_and_row_writer_agree, 0, ARRAY_LEN(key_sets));
          tcase_add_loop_test(tc, batches_without_nulls_take_the_same_keys, 0, 12);
          tcase_add_test(tc, no_key_columns_give_one_key))
