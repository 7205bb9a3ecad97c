/* links: backend */
/* State that Flink 2.3.0 wrote for two SQL jobs (golden/, made by `scripts/conformance --fixtures`), read through our cover of RocksDB
 * and our codecs: if they agree on every entry, keys that we make are the ones that Flink would look for.
 *
 * Both jobs read id = 1, 2, ... with k = MOD(id, 500); the queries stand in flink/SqlFixture.java. */
#include "backend/binary_row.h"
#include "backend/key_codec.h"
#include "backend/rocks.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#define KEYS 500
#define GROUPS 128

/* ---- reading a database ---------------------------------------------------------------------------- */

struct opened {
    struct tmpdir tmp;
    struct rocks_db *db;
};

static enum rc copy_file(void *ctx, const char *name, struct err *err)
{
    char from[FS_PATH_MAX];
    const char *const *dirs = ctx;
    struct tmpdir *tmp = (struct tmpdir *)(uintptr_t)dirs[1];

    snprintf(from, sizeof from, "%s/%s", dirs[0], name);
    return fs_copy(fs_posix(), from, tmpdir_at(tmp, name), err);
}

/* A copy, since even reading leaves a log beside the files. */
static void open_golden(struct opened *o, const char *name)
{
    char dir[FS_PATH_MAX];
    const char *dirs[] = {dir, (const char *)(uintptr_t)&o->tmp};
    struct rocks_config config = {.read_only = true, .block_cache_bytes = 8u << 20,
                                  .write_buffer_bytes = 1u << 20, .max_open_files = -1};
    struct err err = {0};

    snprintf(dir, sizeof dir, "%s/conformance/golden/%s", TESTS_DIR, name);
    tmpdir_make(&o->tmp);
    ck_assert_ok(fs_list(fs_posix(), dir, copy_file, dirs, &err));
    config.dir = o->tmp.path;
    ck_assert_ok(rocks_open(&config, &o->db, &err));
}

static void close_golden(struct opened *o)
{
    rocks_close(o->db);
    tmpdir_remove(&o->tmp);
}

typedef void entry_fn(struct bytes key, struct bytes value, void *ctx);

static void each_entry(struct opened *o, const char *family, entry_fn *fn, void *ctx)
{
    struct rocks_cf *cf = rocks_cf_find(o->db, family);
    struct rocks_iter *it;
    struct bytes key, value;
    struct err err = {0};
    enum rc rc;

    ck_assert_ptr_nonnull(cf);
    it = rocks_iter_new(cf, (struct bytes){0}, (struct bytes){0});
    while (rocks_iter_next(it, &key, &value, &rc, &err))
        fn(key, value, ctx);
    ck_assert_ok(rc);
    rocks_iter_free(it);
}

/* The parts of a key whose group is the one that we compute. */
static struct key_parts split(struct bytes key, enum key_namespace ns, const struct row_layout *layout)
{
    struct key_parts parts;
    struct err err = {0};

    ck_assert_ok(key_split(key, GROUPS, ns, &parts, &err));
    ck_assert_uint_eq(parts.user_key.len, 0);
    ck_assert_uint_eq(key_group_of_row(parts.row, GROUPS), parts.group);
    ck_assert_ok(binary_row_check(layout, parts.row, "key", &err));
    return parts;
}

/* A stored row behind its size. */
static const uint8_t *value_row(struct bytes value, const struct row_layout *layout)
{
    struct err err = {0};

    ck_assert_uint_ge(value.len, 4);
    ck_assert_uint_eq(get_be32(value.data), value.len - 4);
    ck_assert_ok(binary_row_check(layout, bytes_of(value.data + 4, value.len - 4), "value", &err));
    return value.data + 4;
}

/* How often k came among ids 1..n, and their sum, least and largest. */
struct totals {
    int64_t count, sum, least, largest;
};
static struct totals totals_of(int64_t k, int64_t n)
{
    struct totals t = {0};

    for (int64_t id = k == 0 ? KEYS : k; id <= n; id += KEYS) {
        t.least = t.count++ == 0 ? id : t.least;
        t.largest = id;
        t.sum += id;
    }
    return t;
}

/* ---- GROUP BY columns of every kind ---------------------------------------------------------------- */

/* b BIGINT, i INT, s STRING, l STRING, d DECIMAL(18,2), w DECIMAL(30,4), t TIMESTAMP(6), f DOUBLE, u BOOLEAN, y TINYINT */
static const enum field_kind group_kinds[] = {FIELD_I64,          FIELD_I32,           FIELD_BYTES, FIELD_BYTES, FIELD_I64,
                                              FIELD_DECIMAL_WIDE, FIELD_TIMESTAMP_WIDE, FIELD_F64,   FIELD_BOOL,  FIELD_I8};
/* COUNT(*), SUM, MIN, MAX */
static const enum field_kind acc_kinds[] = {FIELD_I64, FIELD_I64, FIELD_I64, FIELD_I64};

/* The row that we write for key k. */
static struct bytes our_group_key(int64_t k, struct buf *out)
{
    struct row_layout layout;
    struct row_writer w;
    char text[64];

    row_layout_init(&layout, group_kinds, ARRAY_LEN(group_kinds));
    buf_clear(out);
    row_writer_begin(&w, &layout, out);
    row_write_int(&w, 0, k);
    if (k % 3 == 0)
        row_write_null(&w, 1);
    else
        row_write_int(&w, 1, k - 250);
    snprintf(text, sizeof text, "%lld", (long long)k);
    if (k % 7 == 0)
        row_write_null(&w, 2);
    else
        row_write_bytes(&w, 2, bytes_of_str(text));
    snprintf(text, sizeof text, "a longer name, %lld", (long long)(k * k));
    row_write_bytes(&w, 3, bytes_of_str(text));
    row_write_decimal(&w, 4, k * 100);
    row_write_decimal(&w, 5, (int128)(k - 100) * 10000);
    row_write_timestamp(&w, 6, 946684799123 + 1000 * k, 456000); /* 1999-12-31 23:59:59.123456 + k s */
    row_write_f64(&w, 7, (double)k / 8);
    row_write_int(&w, 8, k % 2);
    row_write_int(&w, 9, k % 100);
    return row_writer_end(&w);
}

struct seen {
    int64_t rows, ids; /* entries; events that they count */
    int64_t n;         /* events in all, once known */
};

static void count_group(struct bytes key, struct bytes value, void *ctx)
{
    struct seen *seen = ctx;
    struct row_layout keys, acc;
    struct key_parts parts;

    row_layout_init(&keys, group_kinds, ARRAY_LEN(group_kinds));
    row_layout_init(&acc, acc_kinds, ARRAY_LEN(acc_kinds));
    parts = split(key, KEY_NS_VOID, &keys);
    (void)parts;
    seen->rows++;
    seen->ids += binary_row_int(&acc, value_row(value, &acc), 0);
}

static void check_group(struct bytes key, struct bytes value, void *ctx)
{
    const struct seen *seen = ctx;
    struct row_layout keys, acc;
    struct key_parts parts;
    struct key_builder builder;
    struct key_batch made;
    struct buf ours = {0};
    struct totals want;
    struct err err = {0};
    const uint8_t *row;

    row_layout_init(&keys, group_kinds, ARRAY_LEN(group_kinds));
    row_layout_init(&acc, acc_kinds, ARRAY_LEN(acc_kinds));
    parts = split(key, KEY_NS_VOID, &keys);
    our_group_key(binary_row_int(&keys, parts.row.data, 0), &ours);
    ck_assert_bytes_eq(buf_bytes(&ours), parts.row);
    key_builder_init(&builder, GROUPS, KEY_NS_VOID);
    ck_assert_ok(key_builder_add(&builder, key_group_of_row(buf_bytes(&ours), GROUPS), buf_bytes(&ours), 0,
                                 (struct bytes){0}, &err));
    made = key_builder_batch(&builder);
    ck_assert_bytes_eq(key_batch_at(&made, 0), key);
    want = totals_of(binary_row_int(&keys, parts.row.data, 0), seen->n);
    row = value_row(value, &acc);
    ck_assert_int_eq(binary_row_int(&acc, row, 0), want.count);
    ck_assert_int_eq(binary_row_int(&acc, row, 1), want.sum);
    ck_assert_int_eq(binary_row_int(&acc, row, 2), want.least);
    ck_assert_int_eq(binary_row_int(&acc, row, 3), want.largest);
    key_builder_release(&builder);
    buf_release(&ours);
}

/* Ten columns of every kind, nulls among them: our row and composite key are Flink's byte for byte; the totals are right. */
START_TEST(keys_of_a_group_by_are_flinks_byte_for_byte)
{
    struct opened o = {0};
    struct seen seen = {0};

    open_golden(&o, "flink-2.3.0-group-by");
    each_entry(&o, "accState", count_group, &seen);
    ck_assert_int_eq(seen.rows, KEYS);
    seen.n = seen.ids; /* every id was counted under one key */
    each_entry(&o, "accState", check_group, &seen);
    close_golden(&o);
}
END_TEST

/* ---- windows --------------------------------------------------------------------------------------- */

static const enum field_kind window_key_kinds[] = {FIELD_I64};
static const enum field_kind window_acc_kinds[] = {FIELD_I64, FIELD_I64}; /* COUNT(*), SUM */
#define FIRST_MS 1767225600000 /* 2026-01-01 */
#define WINDOW_MS 600000

static void check_window(struct bytes key, struct bytes value, void *ctx)
{
    struct seen *seen = ctx;
    struct row_layout keys, acc;
    struct key_parts parts;
    int64_t k, count = 0, sum = 0;
    const uint8_t *row;

    row_layout_init(&keys, window_key_kinds, 1);
    row_layout_init(&acc, window_acc_kinds, 2);
    parts = split(key, KEY_NS_BIGINT, &keys);
    k = binary_row_int(&keys, parts.row.data, 0);
    ck_assert_int_eq((parts.window - FIRST_MS) % WINDOW_MS, 0);
    ck_assert(parts.window > FIRST_MS && parts.window <= FIRST_MS + 6 * WINDOW_MS);
    row = value_row(value, &acc);
    seen->rows++;
    seen->ids += binary_row_int(&acc, row, 0);
    for (int64_t id = k == 0 ? KEYS : k; id <= seen->n; id += KEYS) {
        int64_t end = FIRST_MS + (id % 3600 * 1000 / WINDOW_MS + 1) * WINDOW_MS;

        if (end == parts.window) {
            count++;
            sum += id;
        }
    }
    if (seen->n == 0)
        return;
    ck_assert_int_eq(binary_row_int(&acc, row, 0), count);
    ck_assert_int_eq(binary_row_int(&acc, row, 1), sum);
}

START_TEST(windows_have_their_end_as_namespace)
{
    struct opened o = {0};
    struct seen seen = {0};

    open_golden(&o, "flink-2.3.0-tumble");
    each_entry(&o, "window-aggs", check_window, &seen);
    ck_assert_int_gt(seen.rows, KEYS);
    seen.n = seen.ids;
    each_entry(&o, "window-aggs", check_window, &seen);
    close_golden(&o);
}
END_TEST

static void check_timer(struct bytes key, struct bytes value, void *ctx)
{
    struct seen *seen = ctx;
    struct row_layout keys;
    struct bytes row;
    struct err err = {0};
    int64_t at;

    row_layout_init(&keys, window_key_kinds, 1);
    ck_assert_uint_eq(value.len, 0);
    ck_assert_uint_eq(key.len, 1 + 8 + 4 + 16 + 8); /* group, time, size, row, window's end */
    at = key_get_sortable(key.data + 1);
    row = bytes_of(key.data + 13, get_be32(key.data + 9));
    ck_assert_uint_eq(row.len, 16);
    ck_assert_ok(binary_row_check(&keys, row, "timer", &err));
    ck_assert_uint_eq(key_group_of_row(row, GROUPS), key.data[0]);
    ck_assert_int_eq((int64_t)get_be64(key.data + 29) - 1, at); /* a window fires when the watermark passes its last ms */
    seen->rows++;
}

START_TEST(timers_of_windows_carry_time_key_and_window)
{
    struct opened o = {0};
    struct seen timers = {0}, windows = {0};

    open_golden(&o, "flink-2.3.0-tumble");
    each_entry(&o, "_timer_state/event_window-timers", check_timer, &timers);
    each_entry(&o, "window-aggs", check_window, &windows);
    ck_assert_int_eq(timers.rows, windows.rows);
    close_golden(&o);
}
END_TEST

TEST_MAIN("flink_sql_state", tcase_add_test(tc, keys_of_a_group_by_are_flinks_byte_for_byte);
          tcase_add_test(tc, windows_have_their_end_as_namespace);
          tcase_add_test(tc, timers_of_windows_carry_time_key_and_window);)
