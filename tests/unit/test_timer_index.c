/* links: backend */
/* The ordered index of timers against a sorted map, whatever the times are. */
#include "backend/timer_index.h"
#include "backend/key_codec.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"
#include "tests/lib/model_state.h"

static struct timer_index *ix;
static struct model_state model; /* time, key */
static struct rng rng;
static struct err err;

static void setup(void)
{
    ix = timer_index_new();
    model = (struct model_state){0};
    err = (struct err){0};
}

static void teardown(void)
{
    timer_index_free(ix);
    model_release(&model);
}

static struct bytes model_key(int64_t at_ms, struct bytes key, struct buf *out)
{
    uint8_t time[8];

    key_put_sortable(time, at_ms);
    buf_clear(out);
    buf_append(out, time, 8);
    buf_append(out, key.data, key.len);
    return buf_bytes(out);
}

static void add(int64_t at_ms, struct bytes key)
{
    struct buf m = {0};
    bool added, known = model_get(&model, model_key(at_ms, key, &m)) != NULL;

    if (timer_index_add(ix, at_ms, key, &added, &err) != RC_OK || added == known)
        ck_abort_msg("time %lld: added %d, known %d %s", (long long)at_ms, added, known, err.msg);
    model_put(&model, buf_bytes(&m), bytes_of("", 0));
    buf_release(&m);
}

static void del(int64_t at_ms, struct bytes key)
{
    struct buf m = {0};
    bool known = model_del(&model, model_key(at_ms, key, &m));

    if (timer_index_remove(ix, at_ms, key) != known)
        ck_abort_msg("time %lld: known %d", (long long)at_ms, known);
    buf_release(&m);
}

/* The first of all, against the model; false: none. */
static bool fire(int64_t *at_ms)
{
    struct bytes key;
    struct buf m = {0};
    bool any = timer_index_first(ix, at_ms, &key);

    if (any != (model.count > 0))
        ck_abort_msg("%zu timers in the model", model.count);
    if (any) {
        if (!bytes_eq(model_key(*at_ms, key, &m), model.entries[0].key))
            ck_abort_msg("time %lld is not the first", (long long)*at_ms);
        timer_index_drop_first(ix);
        model_del(&model, buf_bytes(&m));
    }
    buf_release(&m);
    return any;
}

static const struct {
    const char *what;
    int64_t from, spread; /* times */
    int64_t step;         /* between two times */
    uint32_t keys;
    bool extremes;
} shapes[] = {
    {"within one millisecond", 5, 1, 1, 500, false},
    {"within one span, its timers firing while others come", 0, 900, 1, 20, false},
    {"windows", 0, 10, 60000, 300, false},
    {"all over a day", 1700000000000, 86400000, 1, 50, false},
    {"all over 300 years: spans widen", -4000000000000, 9000000, 1000000, 3, false},
    {"before 1970", -5000, 5000, 1, 10, true},
};

START_TEST(timers_come_in_order_each_once)
{
    uint64_t seed = gen_seed((uint64_t)_i + 1);
    int64_t now = INT64_MIN;

    rng_seed(&rng, seed);
    for (int step = 0; step < 30000; step++) {
        uint8_t key[24] = {0};
        size_t len = 6 + rng_below(&rng, 3) * 8;
        int64_t at_ms = shapes[_i].from +
                        (int64_t)rng_below(&rng, (uint64_t)shapes[_i].spread) * shapes[_i].step;

        if (shapes[_i].extremes && gen_chance(&rng, 1))
            at_ms = gen_i64(&rng) / 8 * 8; /* the last 5 before the largest are case 3's */
        put_be32(key, (uint32_t)rng_below(&rng, shapes[_i].keys));
        key[5] = (uint8_t)len; /* no key is the beginning of another */
        switch (rng_below(&rng, 8)) {
        case 0:
        case 1:
            del(at_ms, bytes_of(key, len));
            break;
        case 2:
            for (uint64_t n = rng_below(&rng, 6); n > 0 && fire(&now); n--)
                ;
            break;
        case 3: /* moved from time to time, as by a session window */
            for (int i = 0; i < 5; i++) {
                add(at_ms + i, bytes_of(key, len));
                del(at_ms + i, bytes_of(key, len));
            }
            break;
        default:
            add(at_ms, bytes_of(key, len));
        }
        if (timer_index_count(ix) != model.count)
            ck_abort_msg("%s, seed %llu: %llu timers, not %zu", shapes[_i].what,
                         (unsigned long long)seed, (unsigned long long)timer_index_count(ix),
                         model.count);
    }
    while (fire(&now))
        ;
    ck_assert_uint_eq(timer_index_count(ix), 0);
}
END_TEST

/* A timer that an event moves on each time leaves nothing behind. */
START_TEST(deleted_timers_give_their_memory_back)
{
    struct bytes key = bytes_of("0123456789abcdef0123456789", 26);
    bool added;

    for (int64_t t = 0; t < 1000000; t++) {
        ck_assert(timer_index_add(ix, 3600000 + t / 1000, key, &added, &err) == RC_OK);
        timer_index_remove(ix, 3600000 + t / 1000, key);
    }
    ck_assert_uint_lt(timer_index_bytes(ix), 100000);
    for (int64_t t = 0; t < 1000000; t++) { /* with another one that stays there */
        if (t % 1000 == 0)
            ck_assert(timer_index_add(ix, 3600000 + t, bytes_of("x", 1), &added, &err) == RC_OK);
        ck_assert(timer_index_add(ix, 3600000 + t, key, &added, &err) == RC_OK);
        timer_index_remove(ix, 3600000 + t, key);
    }
    ck_assert_uint_eq(timer_index_count(ix), 1000);
    ck_assert_uint_lt(timer_index_bytes(ix), 8000000); /* 1000 spans, up to 64 records in each */
}
END_TEST

START_TEST(a_timer_costs_little_however_far_apart_they_are)
{
    uint8_t key[30] = {0};
    bool added;

    for (uint64_t i = 0; i < 300000; i++) {
        put_be64(key, i);
        ck_assert(timer_index_add(ix, (int64_t)(splitmix64(i) % 3000000000000), bytes_of(key, 30),
                                  &added, &err) == RC_OK);
    }
    ck_assert_uint_lt(timer_index_bytes(ix) / 300000, 100);
}
END_TEST

TEST_MAIN("timer_index", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, timers_come_in_order_each_once, 0, ARRAY_LEN(shapes));
          tcase_add_test(tc, deleted_timers_give_their_memory_back);
          tcase_add_test(tc, a_timer_costs_little_however_far_apart_they_are))
