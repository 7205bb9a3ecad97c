/* links: backend */
#include "backend/timers.h"
#include "base/rng.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/model_state.h"
#include "tests/lib/tmpdir.h"

#include <stdlib.h>

#define GROUPS 300u /* two-byte prefixes */

static struct tmpdir tmp;
static struct dir_target target;
static struct rng rng;

static void setup(void)
{
    tmpdir_make(&tmp);
    dir_target_init(&target, fs_posix(), tmp.path);
    rng_seed(&rng, 11);
}

static void teardown(void)
{
    dir_target_release(&target);
    tmpdir_remove(&tmp);
}

static struct keyed_backend *open_backend(enum backend_kind kind, struct key_group_range range,
                                          const struct keyed_handle *h, size_t count)
{
    static int opened;
    char name[20];
    struct keyed_backend_config config = {.env = dir_target_env(),
                                          .kind = kind,
                                          .range = range,
                                          .key_group_count = GROUPS,
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "test",
                                          .memory_bytes = 1 << 20,
                                          .max_open_files = -1,
                                          .restore = h,
                                          .restore_count = count,
                                          .restore_operator = "window"};
    struct keyed_backend *b;
    struct err err = {0};

    snprintf(name, sizeof name, "db-%d", opened++);
    config.local_dir = tmpdir_at(&tmp, name);
    ck_assert_ok(keyed_backend_open(&config, &b, &err));
    return b;
}

static struct timers *open_timers(struct keyed_backend *b)
{
    struct timers *t;
    struct err err = {0};

    ck_assert_ok(
        timers_open(b, GROUPS, TIMER_EVENT, "window-timers", "ROW<BIGINT>", "BIGINT", &t, &err));
    return t;
}

static void add_key(struct key_builder *b, uint32_t n, int64_t window)
{
    uint8_t row[16] = {0};
    struct err err = {0};

    put_le64(row + 8, n);
    if (key_builder_add(b, n % GROUPS, bytes_of(row, 16), window, (struct bytes){0}, &err) != RC_OK)
        ck_abort_msg("%s", err.msg);
}

/* Bytes of the reference's fixture: group, time with its sign flipped, key, namespace. */
START_TEST(timers_are_stored_as_the_reference_stores_them)
{
    struct keyed_backend *b =
        open_backend(BACKEND_HASHMAP, (struct key_group_range){0, GROUPS - 1}, NULL, 0);
    struct timers *t = open_timers(b);
    struct key_builder keys;
    struct key_batch batch;
    int64_t at = 1000000000000;
    struct state_desc desc = {"_timer_state/event_window-timers",
                              STATE_TIMER,
                              "ROW<BIGINT>",
                              "BIGINT",
                              "",
                              "",
                              0,
                              0,
                              "",
                              0};
    struct keyed_state *state;
    struct keyed_cursor *c;
    struct bytes key, value;
    uint32_t got;
    struct err err = {0};
    static const uint8_t want[] = {0,  7, 0x80, 0, 0, 0xE8, 0xD4, 0xA5, 0x10, 0, 0, 0, 0,
                                   16, 0, 0,    0, 0, 0,    0,    0,    0,    7, 0, 0, 0,
                                   0,  0, 0,    0, 0, 0,    0,    0,    0,    0, 0, 99};

    key_builder_init(&keys, GROUPS, KEY_NS_BIGINT);
    add_key(&keys, 7, 99);
    batch = key_builder_batch(&keys);
    ck_assert_ok(timers_register(t, &batch, &at, &err));
    ck_assert_ok(timers_register(t, &batch, &at, &err)); /* twice is once */
    ck_assert_uint_eq(timers_count(t), 1);
    ck_assert_ok(keyed_state_open(b, &desc, &state, &err));
    ck_assert_ok(keyed_scan_open(state, (struct bytes){0}, &c, &err));
    ck_assert_ok(keyed_scan_next(c, 1, &key, &value, &got, &err));
    ck_assert_uint_eq(got, 1);
    ck_assert_bytes_eq(key, bytes_of(want, sizeof want));
    ck_assert_uint_eq(value.len, 0);
    keyed_scan_close(c);
    timers_close(t);
    keyed_backend_close(b);
    key_builder_release(&keys);
}
END_TEST

/* The model: timers sorted by time, then key. */
static struct bytes model_key(int64_t at, struct bytes key, struct buf *out)
{
    uint8_t time[8];

    key_put_sortable(time, at);
    buf_clear(out);
    buf_append(out, time, 8);
    buf_append(out, key.data, key.len);
    return buf_bytes(out);
}

static void pop_and_compare(struct timers **t, uint32_t count, struct model_state *model,
                            int64_t until)
{
    struct buf key = {0};
    struct err err = {0};
    size_t due = 0, seen = 0;

    for (size_t i = 0; i < model->count; i++)
        due += key_get_sortable(model->entries[i].key.data) <= until;
    for (uint32_t i = 0; i < count; i++) {
        struct key_batch keys;
        const int64_t *at;
        struct buf last = {0};

        do {
            ck_assert_ok(
                timers_pop(t[i], until, 1 + (uint32_t)rng_below(&rng, 50), &keys, &at, &err));
            for (uint32_t k = 0; k < keys.count; k++) {
                struct bytes m = model_key(at[k], key_batch_at(&keys, k), &key);

                if (last.len > 0 && bytes_cmp(buf_bytes(&last), m) >= 0)
                    ck_abort_msg("timers out of order");
                if (at[k] > until || !model_del(model, m))
                    ck_abort_msg("a timer that was never registered, or not due");
                buf_clear(&last);
                buf_append(&last, m.data, m.len);
                seen++;
            }
        } while (keys.count > 0);
        buf_release(&last);
        ck_assert_int_gt(timers_next_ms(t[i]), until);
    }
    ck_assert_uint_eq(seen, due);
    buf_release(&key);
}

/* Registered, deleted, fired, through snapshots and restores at 1, 2, 3, 1 subtasks: each timer
 * fires exactly once. */
START_TEST(each_timer_fires_once_in_order_through_rescales)
{
    static const uint32_t lives[] = {1, 2, 3, 1};
    enum backend_kind kind = _i == 0 ? BACKEND_HASHMAP : BACKEND_ROCKSDB;
    struct model_state model = {0};
    struct keyed_handle handles[3];
    size_t handle_count = 0;
    struct arena *arena = arena_new(0);
    struct key_builder keys;
    struct buf mk = {0};
    struct err err = {0};
    int64_t now = 0;

    key_builder_init(&keys, GROUPS, KEY_NS_BIGINT);
    for (size_t life = 0; life < ARRAY_LEN(lives); life++) {
        struct keyed_backend *backends[3];
        struct timers *timers[3];
        uint32_t p = lives[life];

        for (uint32_t i = 0; i < p; i++) {
            struct key_group_range range = keygroup_range_of(i, p, GROUPS);
            struct keyed_handle mine[3];
            size_t n = handles_meeting(handles, handle_count, range, mine);

            backends[i] = open_backend(kind, range, mine, n);
            timers[i] = open_timers(backends[i]);
        }
        for (int step = 0; step < 60; step++) {
            uint32_t i = (uint32_t)rng_below(&rng, p), count = (uint32_t)rng_below(&rng, 80);
            struct key_group_range range = keygroup_range_of(i, p, GROUPS);
            int64_t at[80];
            struct key_batch batch;
            bool del = rng_below(&rng, 4) == 0;

            key_builder_clear(&keys);
            while (keys.count < count) {
                uint32_t n = (uint32_t)rng_below(&rng, 900);

                if (!key_group_range_has(range, n % GROUPS))
                    continue;
                /* Mostly a few times with many keys, as windows have; some of their own. */
                at[keys.count] =
                    now + (rng_below(&rng, 5) == 0 ? (int64_t)rng_below(&rng, 5000)
                                                   : (int64_t)rng_below(&rng, 5) * 1000);
                add_key(&keys, n, at[keys.count] / 1000);
            }
            batch = key_builder_batch(&keys);
            for (uint32_t k = 0; k < count; k++) {
                struct bytes m = model_key(at[k], key_batch_at(&batch, k), &mk);

                if (del)
                    model_del(&model, m);
                else
                    model_put(&model, m, (struct bytes){0});
            }
            ck_assert_ok(del ? timers_delete(timers[i], &batch, at, &err)
                             : timers_register(timers[i], &batch, at, &err));
            if (rng_below(&rng, 4) == 0) {
                now += (int64_t)rng_below(&rng, 900);
                pop_and_compare(timers, p, &model, now);
            }
        }
        handle_count = p;
        for (uint32_t i = 0; i < p; i++) {
            struct keyed_snapshot *s;

            ck_assert_ok(keyed_snapshot_begin(backends[i], life, &s, &err));
            ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, &handles[i], &err));
            keyed_snapshot_free(s);
            dir_target_resolve(&target, arena, &handles[i]);
            timers_close(timers[i]);
            keyed_backend_close(backends[i]);
        }
    }
    {
        struct keyed_backend *b =
            open_backend(kind, (struct key_group_range){0, GROUPS - 1}, handles, 1);
        struct timers *t = open_timers(b);

        ck_assert_uint_eq(timers_count(t), model.count);
        ck_assert_uint_gt(model.count, 20);
        pop_and_compare(&t, 1, &model, INT64_MAX - 1);
        ck_assert_uint_eq(timers_count(t), 0);
        ck_assert_int_eq(timers_next_ms(t), INT64_MAX);
        timers_close(t);
        keyed_backend_close(b);
    }
    model_release(&model);
    arena_free(arena);
    key_builder_release(&keys);
    buf_release(&mk);
}
END_TEST

/* A timer for the time that is just firing comes with the next pop, not never. */
START_TEST(timer_registered_while_its_time_fires_is_popped_too)
{
    struct keyed_backend *b =
        open_backend(BACKEND_HASHMAP, (struct key_group_range){0, GROUPS - 1}, NULL, 0);
    struct timers *t = open_timers(b);
    struct key_builder keys;
    struct key_batch batch, fired;
    int64_t at[20];
    const int64_t *fired_at;
    struct err err = {0};

    key_builder_init(&keys, GROUPS, KEY_NS_BIGINT);
    for (uint32_t i = 0; i < 20; i++) {
        add_key(&keys, i, 1);
        at[i] = INT64_MIN; /* the earliest there is */
    }
    batch = key_builder_batch(&keys);
    ck_assert_ok(timers_register(t, &batch, at, &err));
    ck_assert_ok(timers_pop(t, 0, 15, &fired, &fired_at, &err));
    ck_assert_uint_eq(fired.count, 15);
    ck_assert_ok(timers_register(t, &batch, at, &err)); /* the 15 again */
    ck_assert_uint_eq(timers_count(t), 20);
    ck_assert_ok(timers_pop(t, 0, 100, &fired, &fired_at, &err));
    ck_assert_uint_eq(fired.count, 20);
    ck_assert_int_eq(fired_at[19], INT64_MIN);
    timers_close(t);
    timers_close(NULL);
    keyed_backend_close(b);
    key_builder_release(&keys);
}
END_TEST

/* Millions of timers: as many fire as were registered, in order, after a restore at another
 * parallelism, and each costs little memory. VARVE_TEST_LONG=1: 3 million. */
START_TEST(millions_of_timers)
{
    uint32_t count = getenv("VARVE_TEST_LONG") == NULL ? 200000 : 3000000;
    enum backend_kind kind = _i == 0 ? BACKEND_HASHMAP : BACKEND_ROCKSDB;
    struct keyed_backend *b = open_backend(kind, (struct key_group_range){0, GROUPS - 1}, NULL, 0);
    struct timers *t = open_timers(b);
    struct arena *arena = arena_new(0);
    struct keyed_handle h;
    struct keyed_snapshot *s;
    struct key_builder keys;
    int64_t at[1000];
    uint64_t fired = 0;
    struct err err = {0};

    key_builder_init(&keys, GROUPS, KEY_NS_BIGINT);
    for (uint32_t i = 0; i < count;) {
        struct key_batch batch;

        key_builder_clear(&keys);
        for (; keys.count < 1000; i++) {
            at[keys.count] = (int64_t)(splitmix64(i) % count);
            add_key(&keys, i, at[keys.count]);
        }
        batch = key_builder_batch(&keys);
        ck_assert_ok(timers_register(t, &batch, at, &err));
    }
    ck_assert_uint_eq(timers_count(t), count);
    ck_assert_uint_lt(timers_bytes(t) / count, 100);
    ck_assert_ok(keyed_snapshot_begin(b, 1, &s, &err));
    ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, &h, &err));
    keyed_snapshot_free(s);
    dir_target_resolve(&target, arena, &h);
    timers_close(t);
    keyed_backend_close(b);
    for (uint32_t i = 0; i < 2; i++) {
        struct key_batch batch;
        const int64_t *fired_at;
        int64_t last = INT64_MIN;

        b = open_backend(kind, keygroup_range_of(i, 2, GROUPS), &h, 1);
        t = open_timers(b);
        do {
            ck_assert_ok(timers_pop(t, INT64_MAX, 1000, &batch, &fired_at, &err));
            for (uint32_t k = 0; k < batch.count; k++) {
                if (fired_at[k] < last)
                    ck_abort_msg("timers out of order");
                last = fired_at[k];
            }
            fired += batch.count;
        } while (batch.count > 0);
        timers_close(t);
        keyed_backend_close(b);
    }
    ck_assert_uint_eq(fired, count);
    key_builder_release(&keys);
    arena_free(arena);
}
END_TEST

TEST_MAIN("timers", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, timers_are_stored_as_the_reference_stores_them);
          tcase_add_loop_test(tc, each_timer_fires_once_in_order_through_rescales, 0, 2);
          tcase_add_test(tc, timer_registered_while_its_time_fires_is_popped_too);
          tcase_set_timeout(tc, getenv("VARVE_TEST_LONG") == NULL ? 60 : 900);
          tcase_add_loop_test(tc, millions_of_timers, 0, 2))
