/* links: backend */
#include "backend/flusher.h"
#include "base/rng.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/tmpdir.h"

#include <signal.h>

#define VALUES 4u /* in turn: rows of one block differ */
#define FOUR_VALUES "abcdefghijklmnop"

static struct tmpdir tmp;
static struct rocks_db *db;
static struct rocks_cf *cf;
static struct flusher *flusher;
static struct keyed_memory *memory;

static void make_flusher(uint64_t total_bytes)
{
    struct memory_demand demand = {.total_bytes = total_bytes, .subtasks = 1, .cores = 1};
    struct flusher_config config = {
        .env = dir_target_env(), .range = {1, 9}, .prefix_len = 1, .key_group_count = 128};
    struct memory_plan plan;

    flusher_free(flusher);
    keyed_memory_free(memory);
    memory_plan_make(&demand, &plan);
    memory = keyed_memory_new(&plan);
    config.db = db;
    config.memory = memory;
    config.run_dir = tmpdir_at(&tmp, "runs");
    flusher = flusher_new(&config);
}

static void setup(void)
{
    struct rocks_config config = {.create = true,
                                  .block_cache_bytes = 8 << 20,
                                  .write_buffer_bytes = 4 << 20,
                                  .max_open_files = -1};
    struct err err = {0};

    tmpdir_make(&tmp);
    config.dir = tmpdir_at(&tmp, "db");
    ck_assert_ok(fs_mkdirs(fs_posix(), config.dir, &err));
    ck_assert_ok(rocks_open(&config, &db, &err));
    ck_assert_ok(rocks_cf_create(db, "s", &cf, &err));
    ck_assert_ok(fs_mkdirs(fs_posix(), tmpdir_at(&tmp, "runs"), &err));
    make_flusher(512u << 20);
}

static void teardown(void)
{
    flusher_free(flusher);
    rocks_close(db);
    keyed_memory_free(memory);
    tmpdir_remove(&tmp);
}

/* Rows made up on the way: `per_group` in each of the groups 1..9, values of `value_len` bytes. */
struct made {
    struct row_source source; /* first */
    uint32_t next, total, per_group;
    size_t value_len;
    bool delete_odd;
    uint8_t keys[1024][5];
    uint8_t *value; /* VALUES of them */
};

static uint32_t made_next(struct row_source *source, struct row_view *out, uint32_t max)
{
    struct made *m = (struct made *)source;
    uint32_t got = 0;

    while (got < max && got < 1024 && m->next < m->total) {
        uint8_t *k = m->keys[got];

        k[0] = (uint8_t)(1 + m->next / m->per_group);
        put_be32(k + 1, m->next);
        out[got++] = (struct row_view){.key = bytes_of(k, 5),
                                       .value = bytes_of(m->value + m->next % VALUES * m->value_len,
                                                         m->value_len),
                                       .tombstone = m->delete_odd && m->next % 2 == 1,
                                       .dirty = true};
        m->next++;
    }
    return got;
}

/* They do not compress. */
static uint8_t *values_new(size_t value_len)
{
    uint8_t *values = mem_alloc(VALUES * value_len);

    for (size_t i = 0; i < VALUES * value_len; i++)
        values[i] = (uint8_t)splitmix64(i);
    return values;
}

static void flush_made(uint32_t per_group, size_t value_len, bool delete_odd)
{
    struct made *m = mem_calloc(1, sizeof *m);
    struct err err = {0};

    m->source =
        (struct row_source){made_next, 9ull * per_group, 9ull * per_group * (value_len + 40), false, {0}};
    m->total = 9 * per_group;
    m->per_group = per_group;
    m->value_len = value_len;
    m->delete_odd = delete_odd;
    m->value = values_new(value_len);
    ck_assert_ok(flusher_write(flusher, cf, &m->source, &err));
    mem_free(m->value);
    mem_free(m);
}

static uint32_t entries(void)
{
    struct rocks_iter *it = rocks_iter_new(cf, (struct bytes){0}, (struct bytes){0});
    struct bytes key, value;
    struct err err = {0};
    uint32_t n = 0;
    enum rc rc;

    while (rocks_iter_next(it, &key, &value, &rc, &err))
        n++;
    ck_assert_int_eq(rc, RC_OK);
    rocks_iter_free(it);
    return n;
}

START_TEST(small_sets_go_through_the_memtable_and_large_ones_as_runs)
{
    struct flusher_stats s;

    flush_made(100, 50, false);
    flusher_stats(flusher, &s);
    ck_assert_uint_eq(s.flushes, 1);
    ck_assert_uint_eq(s.runs, 0);
    ck_assert_uint_eq(entries(), 900);
    flush_made(8000, 10, true); /* 72,000 rows, half of them tombstones */
    flusher_stats(flusher, &s);
    ck_assert_uint_eq(s.runs, 1);
    ck_assert_uint_eq(s.rows, 72900);
    ck_assert_uint_eq(entries(), 36000 + 800); /* 100 keys of the first are in both */
}
END_TEST

/* The filter of a file is built from what the writer keeps of each row: a small number of memory makes smaller files, and what
 * a flush takes is counted and given back. */
START_TEST(a_run_ends_where_its_writers_memory_does)
{
    struct keyed_memory_stats use;
    struct flusher_stats s;

    make_flusher(16u << 20);
    flush_made(20000, 10, false);
    flusher_stats(flusher, &s);
    ck_assert_uint_ge(s.runs, 2);
    keyed_memory_stats(memory, &use);
    ck_assert_uint_eq(use.parts[MEMORY_FLUSHES].used, 0);
    ck_assert_uint_gt(use.parts[MEMORY_FLUSHES].peak, 180000 * ROW_SORT_BYTES);
    ck_assert_uint_eq(entries(), 180000);
}
END_TEST

static uint32_t file_count;
static enum rc note_file(void *ctx, const char *name, uint64_t size_bytes, struct err *err)
{
    (void)ctx, (void)name, (void)err;
    ck_assert_uint_le(size_bytes, keyed_memory_plan(memory)->file_bytes + (1 << 20));
    file_count++;
    return RC_OK;
}

/* So that compaction and clipping stay local. */
START_TEST(runs_are_cut_at_key_group_borders)
{
    struct flusher_stats s;
    struct err err = {0};

    flush_made(1500, 5000, false); /* 7.5 MB a group: cut after every third */
    flusher_stats(flusher, &s);
    ck_assert_uint_eq(s.runs, 3);
    ck_assert_ok(rocks_live_files(db, note_file, NULL, &err));
    ck_assert_uint_eq(file_count, 3);
    ck_assert_uint_eq(entries(), 9 * 1500);
}
END_TEST

START_TEST(one_large_group_is_cut_within)
{
    struct flusher_stats s;
    struct err err = {0};
    struct made *m = mem_calloc(1, sizeof *m);

    m->source = (struct row_source){made_next, UINT64_MAX, UINT64_MAX, false, {0}};
    m->total = m->per_group = 14000;
    m->value_len = 10000;
    m->value = values_new(m->value_len);
    ck_assert_ok(flusher_write(flusher, cf, &m->source, &err));
    mem_free(m->value);
    mem_free(m);
    flusher_stats(flusher, &s);
    ck_assert_uint_eq(s.runs, 3); /* 140 MB in pieces of 64 */
    ck_assert_ok(rocks_live_files(db, note_file, NULL, &err));
}
END_TEST

static uint32_t note_value(struct value_shape shape, uint64_t *bytes)
{
    struct rocks_iter *it;
    struct bytes key, value;
    struct err err = {0};
    uint32_t n = 0;
    enum rc rc;

    rocks_cf_set_shape(cf, shape);
    *bytes = 0;
    it = rocks_iter_new(cf, (struct bytes){0}, (struct bytes){0});
    for (; rocks_iter_next(it, &key, &value, &rc, &err); n++) {
        *bytes += value.len;
        if (shape.bytes != 0)
            ck_assert_uint_eq(get_le64(value.data + 8), n % VALUES);
    }
    ck_assert_int_eq(rc, RC_OK);
    rocks_iter_free(it);
    return n;
}

/* Through the memtable and as runs; what lies in the database is what docs/FORMAT.md says. */
START_TEST(values_of_a_fixed_size_are_packed)
{
    const struct value_shape shape = {.bytes = 32};
    struct made *m = mem_calloc(1, sizeof *m);
    struct err err = {0};
    uint64_t bytes;

    m->source = (struct row_source){made_next, _i == 0 ? 900 : UINT64_MAX, 900, false, {0}};
    m->total = 900;
    m->per_group = 100;
    m->value_len = 32;
    m->value = mem_calloc(VALUES, 32);
    for (uint32_t i = 0; i < VALUES; i++)
        put_le64(m->value + (size_t)i * 32 + 8, i);
    rocks_cf_set_shape(cf, shape);
    ck_assert_ok(flusher_write(flusher, cf, &m->source, &err));
    mem_free(m->value);
    mem_free(m);
    ck_assert_uint_eq(note_value(shape, &bytes), 900);
    ck_assert_uint_eq(bytes, 900 * 32);
    ck_assert_uint_eq(note_value((struct value_shape){0}, &bytes), 900);
    ck_assert_uint_eq(bytes, 900 * 3 + 900 * 3 / 4); /* codes, and the numbers that are not 0 */
}
END_TEST

/* C1: a row of another subtask must not get into this database. */
START_TEST(row_outside_the_range_is_an_assertion)
{
    flush_made(1, 4, false); /* groups 1..9: fine */
    {
        struct made m = {.source = {.next = made_next, .rows_max = 10, .bytes_max = 10},
                         .total = 10,
                         .per_group = 1,
                         .value = (uint8_t *)FOUR_VALUES,
                         .value_len = 4};
        struct err err = {0};

        (void)!flusher_write(flusher, cf, &m.source, &err);
    }
}
END_TEST

START_TEST(failed_run_leaves_no_file_behind)
{
    struct made *m = mem_calloc(1, sizeof *m);
    struct err err = {0};

    ck_assert_ok(fs_rmdir(fs_posix(), tmpdir_at(&tmp, "runs"), &err));
    m->source = (struct row_source){made_next, UINT64_MAX, 0, false, {0}};
    m->total = m->per_group = 10;
    m->value = (uint8_t *)FOUR_VALUES;
    m->value_len = 4;
    ck_assert_rc_msg(flusher_write(flusher, cf, &m->source, &err), RC_IO, "flush of s");
    ck_assert_uint_eq(entries(), 0);
    mem_free(m);
}
END_TEST

TEST_MAIN("flusher", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, small_sets_go_through_the_memtable_and_large_ones_as_runs);
          tcase_add_test(tc, a_run_ends_where_its_writers_memory_does);
          tcase_add_test(tc, runs_are_cut_at_key_group_borders);
          tcase_add_test(tc, one_large_group_is_cut_within);
          tcase_add_loop_test(tc, values_of_a_fixed_size_are_packed, 0, 2);
          tcase_add_test_raise_signal(tc, row_outside_the_range_is_an_assertion, SIGABRT);
          tcase_add_test(tc, failed_run_leaves_no_file_behind))
