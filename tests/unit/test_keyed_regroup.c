/* links: backend */
/* Keyed state written anew for other key groups: every entry in the group that its key has there, none
 * lost, none twice, values untouched. */
#include "backend/keyed_regroup.h"

#include "backend/state_reader.h"
#include "backend/timers.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/model_state.h"
#include "tests/lib/tmpdir.h"

#define KEYS 3000u
#define COUNT 128u /* of key groups, before */
#define TTL_MS 1000u

static const struct state_desc counts = {
    "counts", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "ROW<`n` BIGINT>", 16, 0, "", 0};
static const struct state_desc members = {
    "members", STATE_MAP, "ROW<`k` BIGINT>", "BIGINT", "INT", "STRING", 0, 0, "", 0};
static const struct state_desc seen = {
    "seen", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "ROW<`n` BIGINT>", 16, TTL_MS, "", 0};

static struct tmpdir tmp;
static struct dir_target target;
static struct arena *arena;
static int opened;

static void setup(void)
{
    tmpdir_make(&tmp);
    dir_target_init(&target, fs_posix(), tmp.path);
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
    dir_target_release(&target);
    tmpdir_remove(&tmp);
}

/* The row of key n. */
static struct bytes row_of(uint64_t n, uint8_t out[16])
{
    memset(out, 0, 16);
    put_le64(out + 8, n * 2654435761u);
    return bytes_of(out, 16);
}

static struct keyed_backend *open_backend(enum backend_kind kind, struct key_group_range range)
{
    struct keyed_backend_config config = {.env = dir_target_env(),
                                          .kind = kind,
                                          .range = range,
                                          .key_group_count = COUNT,
                                          .local_dir =
                                              arena_printf(arena, "%s/db-%d", tmp.path, opened++),
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "test",
                                          .memory_bytes = 4u << 20,
                                          .max_open_files = -1};
    struct keyed_backend *b;
    struct err err = {0};

    ck_assert_ok(keyed_backend_open(&config, &b, &err));
    return b;
}

static void put(struct keyed_state *s, const struct key_builder *keys, struct bytes value)
{
    struct key_batch batch = key_builder_batch(keys);
    struct err err = {0};

    ck_assert_ok(keyed_put(s, &batch, &value, &err));
}

/* Keys of a range: a count, two members of one window, a timer, and a row that expired long ago. */
static void fill(struct keyed_backend *b, struct key_group_range range, bool sql_keys)
{
    struct keyed_state *c, *m, *t;
    struct key_builder plain, windows;
    struct timers *timers;
    struct err err = {0};

    ck_assert_ok(keyed_state_open(b, &counts, &c, &err));
    ck_assert_ok(keyed_state_open(b, &members, &m, &err));
    ck_assert_ok(keyed_state_open(b, &seen, &t, &err));
    ck_assert_ok(timers_open(b, COUNT, TIMER_EVENT, "user-timers", "ROW<`k` BIGINT>", "VOID", &timers, &err));
    key_builder_init(&plain, COUNT, KEY_NS_VOID);
    key_builder_init(&windows, COUNT, KEY_NS_BIGINT);
    for (uint64_t n = 0; n < KEYS; n++) {
        uint8_t row[16], value[24] = {0};
        uint32_t group = sql_keys ? key_group_of_row(row_of(n, row), COUNT) : (uint32_t)n % COUNT;
        struct key_batch batch;
        int64_t at_ms = (int64_t)n;

        row_of(n, row);
        if (!key_group_range_has(range, group))
            continue;
        key_builder_clear(&plain);
        ck_assert_ok(key_builder_add(&plain, group, bytes_of(row, 16), 0, (struct bytes){0}, &err));
        put_le64(value + 8, n);
        put(c, &plain, bytes_of(value, 16));
        put_be64(value, 1); /* T */
        put(t, &plain, bytes_of(value, 24));
        batch = key_builder_batch(&plain);
        ck_assert_ok(timers_register(timers, &batch, &at_ms, &err));
        for (uint32_t i = 0; i < 2; i++) {
            uint8_t member[4];

            put_be32(member, i);
            key_builder_clear(&windows);
            ck_assert_ok(key_builder_add(&windows, group, bytes_of(row, 16), (int64_t)n, bytes_of(member, 4), &err));
            put(m, &windows, bytes_of(row, n % 16));
        }
    }
    key_builder_release(&plain);
    key_builder_release(&windows);
    timers_close(timers);
}

/* A handle of a backend without time-to-live of its own: what has expired is in it. */
static void snapshot(enum backend_kind kind, struct key_group_range range, bool sql_keys,
                     struct keyed_handle *h)
{
    struct keyed_backend *b = open_backend(kind, range);
    struct keyed_snapshot *s;
    struct err err = {0};

    fill(b, range, sql_keys);
    ck_assert_ok(keyed_snapshot_begin(b, 1, &s, &err));
    ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, h, &err));
    keyed_snapshot_free(s);
    keyed_backend_close(b);
    dir_target_resolve(&target, arena, h);
}

/* All entries of a state, `count` the number of key groups, moved to `moved_to` of them. */
static void read_all(const struct keyed_handle *h, const char *name, uint32_t moved_to,
                     struct model_state *out)
{
    uint32_t prefix_len = keygroup_prefix_len(h->key_group_count), to_len = keygroup_prefix_len(moved_to);
    const struct state_desc *d = state_desc_find(h->states, h->state_count, name);
    size_t row_at = prefix_len + 4 + (d->kind == STATE_TIMER ? 8 : 0);
    struct state_reader *r;
    struct state_scan *scan;
    struct bytes key, value;
    struct buf moved = {0};
    struct err err = {0};

    ck_assert_ok(state_reader_open(fs_posix(), h, tmpdir_at(&tmp, "look"), &r, &err));
    ck_assert_ok(state_scan_open(r, (size_t)(d - h->states), h->range, (struct bytes){0}, &scan, &err));
    for (;;) {
        uint8_t prefix[2];

        ck_assert_ok(state_scan_next(scan, &key, &value, &err));
        if (key.data == NULL)
            break;
        keygroup_put_prefix(prefix, to_len, key_group_of_row(bytes_of(key.data + row_at, 16), moved_to));
        buf_clear(&moved);
        buf_append(&moved, prefix, to_len);
        buf_append(&moved, key.data + prefix_len, key.len - prefix_len);
        ck_assert_ptr_null(model_get(out, buf_bytes(&moved))); /* none twice */
        model_put(out, buf_bytes(&moved), value);
    }
    buf_release(&moved);
    state_scan_close(scan);
    state_reader_close(r);
}

static const struct {
    enum backend_kind first, second;
    uint32_t count, parallelism;
} cases[] = {
    {BACKEND_ROCKSDB, BACKEND_ROCKSDB, 300, 3}, {BACKEND_HASHMAP, BACKEND_HASHMAP, 300, 3},
    {BACKEND_ROCKSDB, BACKEND_HASHMAP, 77, 2},  {BACKEND_HASHMAP, BACKEND_HASHMAP, 32768, 2},
    {BACKEND_ROCKSDB, BACKEND_ROCKSDB, 1, 1},   {BACKEND_ROCKSDB, BACKEND_ROCKSDB, 128, 2},
};

START_TEST(every_entry_goes_to_the_group_of_its_key)
{
    static const char *const names[] = {"counts", "members", "seen", "_timer_state/event_user-timers"};
    uint32_t count = cases[_i].count, parallelism = cases[_i].parallelism;
    struct keyed_handle before[2], after[3];
    struct err err = {0};

    snapshot(cases[_i].first, (struct key_group_range){0, 63}, true, &before[0]);
    snapshot(cases[_i].second, (struct key_group_range){64, 127}, true, &before[1]);
    for (uint32_t i = 0; i < parallelism; i++) {
        struct regroup r = {.env = dir_target_env(),
                            .count = 2,
                            .handles = before,
                            .key_group_count = count,
                            .range = keygroup_range_of(i, parallelism, count),
                            .local_dir = tmpdir_at(&tmp, "regroup"),
                            .name = "test",
                            .checkpoint_id = 9};

        ck_assert_ok(keyed_regroup(&r, &target.base, arena, &after[i], &err));
        dir_target_resolve(&target, arena, &after[i]);
        ck_assert_uint_eq(after[i].key_group_count, count);
        ck_assert_int_eq(after[i].kind, cases[_i].first == BACKEND_HASHMAP ? KEYED_STREAM : KEYED_ROCKS);
        ck_assert(!fs_exists(fs_posix(), tmpdir_at(&tmp, "regroup")));
    }
    for (size_t s = 0; s < ARRAY_LEN(names); s++) {
        struct model_state want = {0}, got = {0};
        const char *differ;

        read_all(&before[0], names[s], count, &want);
        read_all(&before[1], names[s], count, &want);
        for (uint32_t i = 0; i < parallelism; i++)
            read_all(&after[i], names[s], count, &got);
        if (s != 2) /* what had expired may have left before */
            ck_assert_uint_eq(want.count, s == 1 ? 2 * KEYS : KEYS);
        differ = model_differ(&got, &want);
        ck_assert_msg(differ == NULL, "%s: %s", names[s], differ);
        model_release(&want);
        model_release(&got);
    }
}
END_TEST

/* Another program's hash: nobody can say where its keys belong. */
START_TEST(keys_that_are_no_sql_rows_are_refused)
{
    struct keyed_handle before, after;
    struct err err = {0};
    struct regroup r = {.env = dir_target_env(),
                        .count = 1,
                        .handles = &before,
                        .key_group_count = 300,
                        .range = {0, 299},
                        .local_dir = tmpdir_at(&tmp, "regroup"),
                        .name = "test"};

    snapshot(_i == 0 ? BACKEND_HASHMAP : BACKEND_ROCKSDB, (struct key_group_range){0, 127}, false, &before);
    ck_assert_rc_msg(keyed_regroup(&r, &target.base, arena, &after, &err), RC_UNSUPPORTED, "no SQL row");
    ck_assert(!fs_exists(fs_posix(), tmpdir_at(&tmp, "regroup")));
}
END_TEST

TEST_MAIN("keyed_regroup", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, every_entry_goes_to_the_group_of_its_key, 0, ARRAY_LEN(cases));
          tcase_add_loop_test(tc, keys_that_are_no_sql_rows_are_refused, 0, 2);)
