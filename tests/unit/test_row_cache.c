/* links: backend */
#include "backend/row_cache.h"
#include "base/rng.h"
#include "base/thread.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/model_state.h"
#include "tests/lib/must.h"

/* A database as a sorted map: what lies below the cache. */
struct below {
    struct row_loader loader; /* first */
    struct row_sink sink;
    struct mutex mutex; /* over rows */
    struct model_state rows;
    struct buf loaded; /* what load handed out */
    bool fail;
    uint64_t puts, deletes;
};

static enum rc below_load(struct row_loader *loader, const struct bytes *keys, uint32_t count,
                          struct bytes *values, struct err *err)
{
    struct below *b = (struct below *)loader;

    if (b->fail)
        return err_set(err, RC_IO, "asked to fail");
    mutex_lock(&b->mutex);
    buf_clear(&b->loaded);
    for (uint32_t i = 0; i < count; i++) {
        const struct model_entry *e = model_get(&b->rows, keys[i]);

        if (i > 0)
            MUST(bytes_cmp(keys[i - 1], keys[i]) < 0, "loader's keys out of order at %u", i);
        if (e != NULL) /* the writer may change the map as soon as the mutex is free */
            buf_append(&b->loaded, e->value.data, e->value.len);
        values[i] = bytes_of(e == NULL ? NULL : (const uint8_t *)"", e == NULL ? 0 : e->value.len);
    }
    for (uint32_t i = 0, at = 0; i < count; i++) {
        if (values[i].data != NULL)
            values[i].data = b->loaded.data == NULL ? (const uint8_t *)"" : b->loaded.data + at;
        at += (uint32_t)values[i].len;
    }
    mutex_unlock(&b->mutex);
    return RC_OK;
}

static void below_take(struct below *b, struct row_source *rows)
{
    struct row_view views[100];
    struct buf last = {0};
    uint32_t got;

    while ((got = rows->next(rows, views, ARRAY_LEN(views))) > 0) {
        for (uint32_t i = 0; i < got; i++) {
            if (last.len > 0)
                MUST(bytes_cmp(buf_bytes(&last), views[i].key) < 0, "rows out of order");
            buf_clear(&last);
            buf_append(&last, views[i].key.data, views[i].key.len);
            mutex_lock(&b->mutex);
            if (views[i].tombstone) {
                model_del(&b->rows, views[i].key);
                b->deletes++;
            } else {
                model_put(&b->rows, views[i].key, views[i].value);
                b->puts++;
            }
            mutex_unlock(&b->mutex);
        }
    }
    buf_release(&last);
}

static enum rc below_write(struct row_sink *sink, struct row_source *rows, struct err *err)
{
    struct below *b = (struct below *)((char *)sink - offsetof(struct below, sink));

    if (b->fail)
        return err_set(err, RC_IO, "asked to fail");
    below_take(b, rows);
    return RC_OK;
}

static void below_init(struct below *b)
{
    *b = (struct below){.loader = {below_load}, .sink = {below_write}};
    mutex_init(&b->mutex);
}

/* Keys: group byte | i32 size | 8 bytes | void | map key; some share an owner. */
static void add_key(struct key_builder *b, uint64_t n)
{
    uint8_t row[8];
    uint8_t member[4];
    struct err err = {0};

    put_le64(row, n / 8 * 0x9E3779B97F4A7C15ull);
    put_be32(member, (uint32_t)(n % 8));
    MUST(key_builder_add(b, (uint32_t)(n / 8 % 5), bytes_of(row, 8), 0,
                         bytes_of(member, n % 8 == 0 ? 0 : 4), &err) == RC_OK,
         "%s", err.msg);
}

struct world {
    struct row_group *group;
    struct row_cache *cache;
    struct below below;
    struct model_state model;
    struct key_builder keys;
    struct rng rng;
    uint32_t fixed;
    bool dirty_mode;
    bool complete; /* every row that lives is cached */
    /* A load under way: what was read of the database at its begin, and how much has come in. */
    bool loading;
    struct model_state read;
    size_t loaded;
    uint64_t loads, loads_ended;
};

static void world_init(struct world *w, enum row_mode mode, uint32_t fixed, bool is_map,
                       uint64_t seed)
{
    struct row_cache_config config = {fixed, 1, is_map, KEY_NS_VOID, 16u << 10};

    *w = (struct world){.fixed = fixed, .dirty_mode = mode == ROWS_DIRTY};
    w->group = row_group_new(mode, seed);
    w->cache = row_cache_new(w->group, &config);
    below_init(&w->below);
    key_builder_init(&w->keys, 128, KEY_NS_VOID);
    rng_seed(&w->rng, seed);
}

static void world_release(struct world *w)
{
    row_group_free(w->group);
    model_release(&w->below.rows);
    buf_release(&w->below.loaded);
    mutex_release(&w->below.mutex);
    model_release(&w->model);
    model_release(&w->read);
    key_builder_release(&w->keys);
}

static struct row_loader *world_loader(struct world *w)
{
    return w->dirty_mode && !w->complete ? &w->below.loader : NULL;
}

static void load_begin(struct world *w)
{
    row_cache_load_begin(w->cache);
    model_release(&w->read);
    mutex_lock(&w->below.mutex); /* a writer may be at work */
    model_copy(&w->below.rows, &w->read);
    mutex_unlock(&w->below.mutex);
    w->loaded = 0;
    w->loading = true;
    if (rng_below(&w->rng, 2) == 0)
        row_cache_load_expect(w->cache, w->read.count);
}

/* The next rows that were read come in. */
static void load_some(struct world *w, size_t max)
{
    struct key_builder keys;
    struct key_batch batch;
    struct bytes values[64];
    bool loading;
    struct err err = {0};

    key_builder_init(&keys, 128, KEY_NS_VOID);
    for (; keys.count < max && w->loaded < w->read.count; w->loaded++) {
        values[keys.count] = w->read.entries[w->loaded].value;
        ck_assert_ok(key_builder_add_raw(&keys, w->read.entries[w->loaded].key, &err));
    }
    batch = key_builder_batch(&keys);
    ck_assert_ok(row_cache_load(w->cache, &batch, values, &loading, &err));
    if (!loading) {
        w->loads_ended++;
        w->loading = false;
    } else if (w->loaded == w->read.count) {
        row_cache_load_end(w->cache);
        w->loads++;
        w->loading = false;
        w->complete = true;
    }
    key_builder_release(&keys);
}

static void evict(struct world *w, size_t bytes)
{
    struct row_evicted evicted;
    struct err err = {0};

    ck_assert_ok(row_cache_evict(w->cache, bytes, &w->below.sink, &evicted, &err));
    if (evicted.live > 0)
        w->complete = false;
}

static uint32_t fill_keys(struct world *w, uint64_t space)
{
    uint32_t count = 1 + (uint32_t)rng_below(&w->rng, 150);

    key_builder_clear(&w->keys);
    for (uint32_t i = 0; i < count; i++)
        add_key(&w->keys, rng_below(&w->rng, space)); /* the same key may come twice */
    return count;
}

static void do_upsert(struct world *w, struct key_batch keys)
{
    void *rows[200];
    uint8_t fresh[200];
    struct err err = {0};

    ck_assert_ok(row_cache_upsert(w->cache, &keys, rows, fresh, world_loader(w), &err));
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct model_entry *e = model_get(&w->model, key_batch_at(&keys, i));
        uint8_t *row = rows[i];

        MUST(fresh[i] == (e == NULL), "key %u: fresh %u, known %d", i, fresh[i], e != NULL);
        if (e == NULL)
            for (uint32_t j = 0; j < w->fixed; j++)
                MUST(row[j] == 0, "fresh row holds %u", row[j]);
        else
            MUST(bytes_eq(bytes_of(row, w->fixed), e->value), "key %u: another value", i);
        put_le64(row, get_le64(row) + 1);
        row[w->fixed - 1] = (uint8_t)rng_u64(&w->rng);
        model_put(&w->model, key_batch_at(&keys, i), bytes_of(row, w->fixed));
    }
}

static void do_get(struct world *w, struct key_batch keys)
{
    struct bytes values[200];
    struct err err = {0};

    ck_assert_ok(row_cache_get(w->cache, &keys, values, world_loader(w), &err));
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct model_entry *e = model_get(&w->model, key_batch_at(&keys, i));

        MUST((values[i].data != NULL) == (e != NULL), "key %u: known %d", i, e != NULL);
        MUST(e == NULL || bytes_eq(values[i], e->value), "key %u: another value", i);
    }
}

static void do_put(struct world *w, struct key_batch keys)
{
    static uint8_t data[70000];
    struct bytes values[200];
    struct err err = {0};

    for (uint32_t i = 0; i < keys.count; i++) {
        size_t len = w->fixed != 0                 ? w->fixed
                     : rng_below(&w->rng, 50) == 0 ? rng_below(&w->rng, 20000)
                                                   : rng_below(&w->rng, 60);

        for (size_t j = 0; j < sizeof data / 200; j += 8)
            put_le64(data + i * 300 + j, rng_u64(&w->rng));
        values[i] = bytes_of(data + i * 250, len);
    }
    ck_assert_ok(row_cache_put(w->cache, &keys, values, w->complete, &err));
    for (uint32_t i = 0; i < keys.count; i++)
        model_put(&w->model, key_batch_at(&keys, i), values[i]);
}

static void do_del(struct world *w, struct key_batch keys)
{
    struct err err = {0};

    ck_assert_ok(row_cache_del(w->cache, &keys, w->complete, &err));
    for (uint32_t i = 0; i < keys.count; i++)
        model_del(&w->model, key_batch_at(&keys, i));
}

static void random_step(struct world *w, uint64_t space)
{
    struct key_batch keys;

    fill_keys(w, space);
    keys = key_builder_batch(&w->keys);
    switch (rng_below(&w->rng, 5)) {
    case 0:
    case 1:
        if (w->fixed != 0) {
            do_upsert(w, keys);
            break;
        }
        /* fall through */
    case 2:
        do_put(w, keys);
        break;
    case 3:
        do_get(w, keys);
        break;
    default:
        do_del(w, keys);
    }
    row_cache_tidy(w->cache);
    if (w->loading)
        load_some(w, rng_below(&w->rng, 64));
    else if (w->dirty_mode && rng_below(&w->rng, 8) == 0)
        load_begin(w);
}

/* Live rows of the cache over what lies below. */
static void contents(struct world *w, struct bytes prefix, struct model_state *out)
{
    struct row_walk walk;
    struct row_view views[64];
    uint32_t got;

    *out = (struct model_state){0};
    for (size_t i = 0; w->dirty_mode && i < w->below.rows.count; i++) {
        struct model_entry *e = &w->below.rows.entries[i];

        if (e->key.len >= prefix.len && memcmp(e->key.data, prefix.data, prefix.len) == 0)
            model_put(out, e->key, e->value);
    }
    row_walk_init(&walk, w->cache, prefix);
    while ((got = row_walk_next(&walk, views, ARRAY_LEN(views))) > 0) {
        for (uint32_t i = 0; i < got; i++) {
            if (views[i].tombstone)
                model_del(out, views[i].key);
            else
                model_put(out, views[i].key, views[i].value);
        }
    }
}

static void check_contents(struct world *w)
{
    struct model_state got;

    contents(w, (struct bytes){(const uint8_t *)"", 0}, &got);
    ck_assert_msg(model_differ(&got, &w->model) == NULL, "%s", model_differ(&got, &w->model));
    model_release(&got);
}

/* A map's rows, by its owner's chain. */
static void check_owner(struct world *w, uint64_t n)
{
    struct model_state got, want = {0};
    struct bytes prefix;
    struct key_batch keys;

    key_builder_clear(&w->keys);
    add_key(&w->keys, n / 8 * 8);
    keys = key_builder_batch(&w->keys);
    prefix = key_batch_at(&keys, 0);
    for (size_t i = 0; i < w->model.count; i++) {
        struct model_entry *e = &w->model.entries[i];

        if (e->key.len >= prefix.len && memcmp(e->key.data, prefix.data, prefix.len) == 0)
            model_put(&want, e->key, e->value);
    }
    contents(w, prefix, &got);
    ck_assert_msg(model_differ(&got, &want) == NULL, "%s", model_differ(&got, &want));
    model_release(&got);
    model_release(&want);
}

struct writer {
    struct world *world;
    struct model_state got; /* ROWS_ALL: what the snapshot held */
};

static void write_snapshot(void *arg)
{
    struct writer *x = arg;
    struct world *w = x->world;
    struct row_snapshot *s = row_snapshot_new(w->cache, w->dirty_mode);

    if (w->dirty_mode) {
        below_take(&w->below, row_snapshot_rows(s));
    } else {
        struct row_source *rows = row_snapshot_rows(s);
        struct row_view views[64];
        uint32_t got;
        int last_group = -1;

        while ((got = rows->next(rows, views, ARRAY_LEN(views))) > 0) {
            for (uint32_t i = 0; i < got; i++) {
                MUST(views[i].key.data[0] >= last_group, "groups out of order");
                last_group = views[i].key.data[0];
                MUST(!views[i].tombstone, "a tombstone");
                MUST(model_get(&x->got, views[i].key) == NULL, "a row came twice");
                model_put(&x->got, views[i].key, views[i].value);
            }
        }
    }
    row_snapshot_free(s);
    row_snapshot_done(w->group);
}

static const struct {
    enum row_mode mode;
    uint32_t fixed;
    bool is_map;
    uint64_t space;
} shapes[] = {
    {ROWS_ALL, 24, false, 3000}, {ROWS_ALL, 0, false, 800},     {ROWS_ALL, 0, true, 2000},
    {ROWS_ALL, 16, true, 2000},  {ROWS_DIRTY, 24, false, 3000}, {ROWS_DIRTY, 0, false, 800},
    {ROWS_DIRTY, 0, true, 2000}, {ROWS_DIRTY, 16, true, 2000},
};

/* The whole of it against a sorted map: batches, deaths, moves, evictions, and snapshots whose
 * writer runs between batches of the task (C11). In this test the writer runs piecewise on the same
 * thread, so that each order of events has a seed. */
START_TEST(random_batches_agree_with_a_sorted_map)
{
    struct world w;
    uint64_t seed = (uint64_t)_i / ARRAY_LEN(shapes) + 1;
    int shape = _i % (int)ARRAY_LEN(shapes);

    world_init(&w, shapes[shape].mode, shapes[shape].fixed, shapes[shape].is_map, seed);
    for (int step = 0; step < 120; step++) {
        random_step(&w, shapes[shape].space);
        if (w.dirty_mode && rng_below(&w.rng, 15) == 0)
            evict(&w, rng_below(&w.rng, 3) * 40000);
        if (rng_below(&w.rng, 20) == 0) {
            struct model_state at_close;
            struct writer x = {&w, {0}};
            bool abandon = rng_below(&w.rng, 4) == 0;
            bool piecewise = !abandon;

            model_copy(&w.model, &at_close);
            row_group_close(w.group);
            ck_assert(row_group_writing(w.group));
            for (uint64_t i = rng_below(&w.rng, 5); i > 0; i--)
                random_step(&w, shapes[shape].space);
            if (piecewise && w.dirty_mode) {
                /* Some rows are written, the task changes others, the rest is written. */
                struct row_snapshot *s = row_snapshot_new(w.cache, true);
                struct row_source *rows = row_snapshot_rows(s);
                struct row_view views[7];
                uint32_t got;

                while ((got = rows->next(rows, views, ARRAY_LEN(views))) > 0) {
                    if (rng_below(&w.rng, 8) == 0) /* handed out, but not in the database yet */
                        random_step(&w, shapes[shape].space);
                    for (uint32_t i = 0; i < got; i++) {
                        if (views[i].tombstone)
                            model_del(&w.below.rows, views[i].key);
                        else
                            model_put(&w.below.rows, views[i].key, views[i].value);
                    }
                }
                row_snapshot_free(s);
                row_snapshot_done(w.group);
            } else if (piecewise) {
                write_snapshot(&x);
            }
            if (!abandon && w.dirty_mode)
                ck_assert_msg(model_differ(&w.below.rows, &at_close) == NULL, "below: %s",
                              model_differ(&w.below.rows, &at_close));
            if (!abandon && !w.dirty_mode)
                ck_assert_msg(model_differ(&x.got, &at_close) == NULL, "snapshot: %s",
                              model_differ(&x.got, &at_close));
            if (abandon || rng_below(&w.rng, 2) == 0)
                row_group_retire(w.group);
            model_release(&at_close);
            model_release(&x.got);
        }
        if (step % 10 == 0) {
            check_contents(&w);
            check_owner(&w, rng_below(&w.rng, shapes[shape].space));
        }
    }
    check_contents(&w);
    ck_assert(!w.dirty_mode || w.loads + w.loads_ended > 0);
    world_release(&w);
}
END_TEST

/* The same with a real second thread; run under the thread sanitizer. */
START_TEST(writer_on_another_thread_gets_what_the_closed_epoch_held)
{
    struct world w;

    world_init(&w, shapes[_i].mode, shapes[_i].fixed, shapes[_i].is_map, 99);
    /* The loader would read the map that the writer fills: all keys stay cached here. */
    for (int round = 0; round < 6; round++) {
        struct model_state at_close;
        struct writer x = {&w, {0}};
        struct thread *t;

        for (int i = 0; i < 40; i++)
            random_step(&w, shapes[_i].space);
        if (w.dirty_mode) { /* cache every key before the writer starts */
            for (uint64_t n = 0; n < shapes[_i].space; n += 150) {
                key_builder_clear(&w.keys);
                for (uint64_t k = n; k < n + 150; k++)
                    add_key(&w.keys, k);
                do_get(&w, key_builder_batch(&w.keys));
            }
        }
        model_copy(&w.model, &at_close);
        row_group_close(w.group);
        t = thread_start("writer", write_snapshot, &x);
        for (int i = 0; i < 60; i++)
            random_step(&w, shapes[_i].space);
        thread_join(t);
        if (w.dirty_mode)
            ck_assert_msg(model_differ(&w.below.rows, &at_close) == NULL, "%s",
                          model_differ(&w.below.rows, &at_close));
        else
            ck_assert_msg(model_differ(&x.got, &at_close) == NULL, "%s",
                          model_differ(&x.got, &at_close));
        check_contents(&w);
        model_release(&at_close);
        model_release(&x.got);
    }
    world_release(&w);
}
END_TEST

/* A window that opens and fires between two checkpoints must cost the database nothing. */
START_TEST(row_that_is_born_and_dies_between_flushes_never_gets_below)
{
    struct world w;
    struct key_batch keys;
    struct row_evicted evicted;
    struct err err = {0};

    world_init(&w, ROWS_DIRTY, 16, false, 5);
    for (uint64_t n = 0; n < 100; n++)
        add_key(&w.keys, n);
    keys = key_builder_batch(&w.keys);
    do_upsert(&w, keys);
    do_del(&w, keys);
    ck_assert_ok(row_cache_evict(w.cache, SIZE_MAX, &w.below.sink, &evicted, &err));
    ck_assert_uint_eq(w.below.puts + w.below.deletes, 0);
    world_release(&w);
}
END_TEST

START_TEST(deleting_what_exists_below_leaves_a_tombstone)
{
    struct world w;
    struct key_batch keys;
    struct row_evicted evicted;
    struct err err = {0};

    world_init(&w, ROWS_DIRTY, 16, false, 5);
    add_key(&w.keys, 1);
    keys = key_builder_batch(&w.keys);
    do_upsert(&w, keys);
    ck_assert_ok(row_cache_evict(w.cache, SIZE_MAX, &w.below.sink, &evicted, &err));
    ck_assert_uint_eq(evicted.rows, 1);
    ck_assert_uint_eq(w.below.rows.count, 1);
    do_del(&w, keys); /* not cached: may exist */
    do_get(&w, keys);
    ck_assert_ok(row_cache_evict(w.cache, SIZE_MAX, &w.below.sink, &evicted, &err));
    ck_assert_uint_eq(w.below.rows.count, 0);
    world_release(&w);
}
END_TEST

/* The tombstone is with the writer, the database still has the old row: a key that comes and goes
 * meanwhile must not be forgotten, or the next lookup finds the old row again. */
START_TEST(tombstone_on_its_way_to_the_database_is_not_forgotten)
{
    struct world w;
    struct key_batch keys;
    struct row_snapshot *s;
    struct row_view views[10];
    struct row_evicted evicted;
    struct err err = {0};

    world_init(&w, ROWS_DIRTY, 16, false, 5);
    add_key(&w.keys, 1);
    keys = key_builder_batch(&w.keys);
    do_upsert(&w, keys);
    ck_assert_ok(row_cache_evict(w.cache, SIZE_MAX, &w.below.sink, &evicted, &err));
    do_get(&w, keys);
    do_del(&w, keys);
    row_group_close(w.group);
    s = row_snapshot_new(w.cache, true);
    ck_assert_uint_eq(row_snapshot_rows(s)->next(row_snapshot_rows(s), views, 10), 1);
    ck_assert(views[0].tombstone);
    do_upsert(&w, keys);
    do_del(&w, keys);
    do_get(&w, keys); /* asserts absence */
    row_snapshot_free(s);
    row_snapshot_done(w.group);
    world_release(&w);
}
END_TEST

/* ---- loading --------------------------------------------------------------------------------- */

/* One row below, and a load that has read it. */
static struct key_batch loading_world(struct world *w)
{
    world_init(w, ROWS_DIRTY, 16, false, 5);
    add_key(&w->keys, 1);
    do_upsert(w, key_builder_batch(&w->keys));
    evict(w, SIZE_MAX);
    load_begin(w);
    return key_builder_batch(&w->keys);
}

static void flush_epoch(struct world *w)
{
    struct writer x = {w, {0}};

    row_group_close(w->group);
    write_snapshot(&x);
    row_group_retire(w->group);
}

START_TEST(loaded_row_is_found_without_a_lookup_and_is_not_written_again)
{
    struct world w;
    struct key_batch keys = loading_world(&w);
    uint64_t puts = w.below.puts;

    load_some(&w, 64);
    ck_assert(w.complete);
    w.below.fail = true; /* nobody asks */
    do_upsert(&w, keys);
    w.below.fail = false;
    flush_epoch(&w);
    ck_assert_uint_eq(w.below.puts, puts + 1);
    flush_epoch(&w);
    ck_assert_uint_eq(w.below.puts, puts + 1);
    world_release(&w);
}
END_TEST

/* Deleted, and the deletion written, after it was read: the tombstone must still be there. */
START_TEST(loaded_row_that_was_deleted_meanwhile_stays_deleted)
{
    struct world w;
    struct key_batch keys = loading_world(&w);
    struct row_cache_stats stats;

    do_del(&w, keys);
    flush_epoch(&w);
    ck_assert_uint_eq(w.below.rows.count, 0);
    row_cache_tidy(w.cache);
    row_cache_tidy(w.cache);
    load_some(&w, 64);
    do_get(&w, keys); /* asserts absence */
    row_cache_tidy(w.cache);
    row_cache_stats(w.cache, &stats);
    ck_assert_uint_eq(stats.rows, 0); /* it goes when the load has ended */
    world_release(&w);
}
END_TEST

START_TEST(loaded_row_that_was_changed_meanwhile_keeps_the_change)
{
    struct world w;
    struct key_batch keys = loading_world(&w);

    do_put(&w, keys);
    if (_i == 1)
        flush_epoch(&w);
    load_some(&w, 64);
    do_get(&w, keys);
    world_release(&w);
}
END_TEST

/* Changed, written and evicted: what was read is old, and nothing in the cache says so. */
START_TEST(eviction_ends_a_load)
{
    struct world w;
    struct key_batch keys = loading_world(&w);

    do_put(&w, keys);
    evict(&w, SIZE_MAX);
    load_some(&w, 64);
    ck_assert(!w.loading && !w.complete);
    do_get(&w, keys);
    world_release(&w);
}
END_TEST

START_TEST(loaded_value_of_another_size_is_damage)
{
    struct world w;
    struct key_batch keys = loading_world(&w);
    struct bytes value = bytes_of("short", 5);
    bool loading;
    struct err err = {0};

    ck_assert_rc_msg(row_cache_load(w.cache, &keys, &value, &loading, &err), RC_CORRUPT,
                     "5 bytes, the state's values have 16");
    world_release(&w);
}
END_TEST

START_TEST(failed_lookups_and_writes_change_nothing)
{
    struct world w;
    struct key_batch keys;
    void *rows[200];
    uint8_t fresh[200];
    struct row_evicted evicted;
    struct err err = {0};

    world_init(&w, ROWS_DIRTY, 16, true, 5);
    for (uint64_t n = 0; n < 100; n++)
        add_key(&w.keys, n);
    keys = key_builder_batch(&w.keys);
    do_upsert(&w, keys);
    w.below.fail = true;
    ck_assert_rc(row_cache_evict(w.cache, SIZE_MAX, &w.below.sink, &evicted, &err), RC_IO);
    check_contents(&w);
    key_builder_clear(&w.keys);
    for (uint64_t n = 50; n < 200; n++)
        add_key(&w.keys, n);
    keys = key_builder_batch(&w.keys);
    ck_assert_rc(row_cache_upsert(w.cache, &keys, rows, fresh, &w.below.loader, &err), RC_IO);
    check_contents(&w);
    w.below.fail = false;
    do_upsert(&w, keys);
    check_contents(&w);
    world_release(&w);
}
END_TEST

START_TEST(eviction_frees_memory_and_keeps_what_was_used_again)
{
    struct world w;
    struct row_view view;
    struct key_batch keys;
    struct row_evicted evicted;
    size_t before, hot_left = 0;
    struct err err = {0};

    world_init(&w, ROWS_DIRTY, 64, false, 5);
    for (uint64_t n = 0; n < 6000; n += 100) {
        key_builder_clear(&w.keys);
        for (uint64_t k = n; k < n + 100; k++)
            add_key(&w.keys, k);
        do_upsert(&w, key_builder_batch(&w.keys));
    }
    for (uint64_t n = 0; n < 100; n++) { /* every 60th key is hot */
        key_builder_clear(&w.keys);
        add_key(&w.keys, n * 60);
        do_upsert(&w, key_builder_batch(&w.keys));
    }
    before = row_group_bytes(w.group);
    ck_assert_ok(row_cache_evict(w.cache, before / 2, &w.below.sink, &evicted, &err));
    ck_assert_uint_le(row_group_bytes(w.group), before * 3 / 4);
    ck_assert_uint_ge(evicted.rows, 1500);
    key_builder_clear(&w.keys);
    for (uint64_t n = 0; n < 100; n++)
        add_key(&w.keys, n * 60);
    keys = key_builder_batch(&w.keys);
    for (uint32_t i = 0; i < keys.count; i++)
        hot_left += row_cache_peek(w.cache, key_batch_at(&keys, i), &view);
    ck_assert_uint_eq(hot_left, 100);
    check_contents(&w);
    world_release(&w);
}
END_TEST

/* Without tidying, a state whose keys come and go would grow for ever. */
START_TEST(memory_of_dead_rows_comes_back)
{
    struct world w;

    world_init(&w, ROWS_ALL, 64, false, 5);
    for (uint64_t n = 0; n < 60000; n += 100) {
        key_builder_clear(&w.keys);
        for (uint64_t k = n; k < n + 100; k++)
            add_key(&w.keys, k);
        do_upsert(&w, key_builder_batch(&w.keys));
        if (n >= 1000) {
            key_builder_clear(&w.keys);
            for (uint64_t k = n - 1000; k < n - 900; k++)
                if (k % 50 != 0)
                    add_key(&w.keys, k); /* a few stay behind in every slab */
            do_del(&w, key_builder_batch(&w.keys));
        }
        row_cache_tidy(w.cache);
    }
    ck_assert_uint_le(row_group_bytes(w.group), 1500000); /* 6.8 MB passed through */
    check_contents(&w);
    world_release(&w);
}
END_TEST

/* A value from below that needs more room than its place moves its row; what is left of the place is nobody's. A
 * state that is written whole looks at all places. */
START_TEST(a_row_that_moved_when_it_was_looked_up_is_written_once)
{
    struct world w;
    struct bytes values[64], got[64];
    struct key_batch keys;
    struct row_snapshot *s;
    struct err err = {0};

    world_init(&w, ROWS_DIRTY, 0, false, 7);
    for (uint64_t n = 0; n < 64; n++)
        add_key(&w.keys, n);
    keys = key_builder_batch(&w.keys);
    for (uint32_t i = 0; i < keys.count; i++) {
        values[i] = bytes_of("a value of some length, which differs from row to row", 20 + i % 30);
        model_put(&w.below.rows, key_batch_at(&keys, i), values[i]);
    }
    ck_assert_ok(row_cache_get(w.cache, &keys, got, &w.below.loader, &err));
    for (uint32_t i = 0; i < keys.count; i++)
        ck_assert(bytes_eq(got[i], values[i]));
    w.below.fail = true; /* and lookups that fail leave nothing either */
    key_builder_clear(&w.keys);
    add_key(&w.keys, 1000);
    keys = key_builder_batch(&w.keys);
    ck_assert_rc(row_cache_get(w.cache, &keys, got, &w.below.loader, &err), RC_IO);
    w.below.fail = false;
    row_cache_close_whole(w.cache);
    row_group_close(w.group);
    s = row_snapshot_new(w.cache, true);
    below_take(&w.below, row_snapshot_rows(s)); /* asserts the order, so that no key comes twice */
    row_snapshot_free(s);
    row_snapshot_done(w.group);
    ck_assert_uint_eq(w.below.puts, 64);
    world_release(&w);
}
END_TEST

/* Sorting by the bytes behind the shared ones, with ties, short keys and two-byte groups. */
START_TEST(snapshot_rows_come_in_bytewise_order)
{
    struct row_group *g = row_group_new(ROWS_DIRTY, 3);
    struct row_cache_config config = {0, 2, false, KEY_NS_VOID, 16u << 10};
    struct row_cache *c = row_cache_new(g, &config);
    struct below below;
    struct key_builder keys;
    struct rng rng;
    struct bytes values[128] = {{0}};
    struct row_snapshot *s;
    struct err err = {0};

    below_init(&below);
    rng_seed(&rng, 4);
    key_builder_init(&keys, 32768, KEY_NS_VOID);
    for (int round = 0; round < 60; round++) {
        struct key_batch batch;

        key_builder_clear(&keys);
        for (int i = 0; i < 128; i++) {
            uint8_t raw[24] = {0, (uint8_t)rng_below(&rng, 3), 0, 0, 0, 9};
            size_t len = 2 + rng_below(&rng, 20);

            if (len > 6)
                raw[len - 1] = (uint8_t)rng_below(&rng, 256);
            if (len > 12)
                raw[8] = (uint8_t)rng_below(&rng, 4);
            MUST(key_builder_add_raw(&keys, bytes_of(raw, len), &err) == RC_OK, "%s", err.msg);
        }
        batch = key_builder_batch(&keys);
        for (int i = 0; i < 128; i++)
            values[i] = bytes_of("", 0);
        ck_assert_ok(row_cache_put(c, &batch, values, true, &err));
    }
    row_group_close(g);
    s = row_snapshot_new(c, true);
    ck_assert_uint_gt(row_snapshot_rows(s)->rows_max, 1000);
    below_take(&below, row_snapshot_rows(s)); /* asserts the order */
    row_snapshot_free(s);
    row_snapshot_done(g);
    row_group_free(g);
    key_builder_release(&keys);
    model_release(&below.rows);
}
END_TEST

TEST_MAIN("row_cache",
          tcase_add_loop_test(tc, random_batches_agree_with_a_sorted_map, 0, 3 * ARRAY_LEN(shapes));
          tcase_add_loop_test(tc, writer_on_another_thread_gets_what_the_closed_epoch_held, 0,
                              ARRAY_LEN(shapes));
          tcase_add_test(tc, row_that_is_born_and_dies_between_flushes_never_gets_below);
          tcase_add_test(tc, deleting_what_exists_below_leaves_a_tombstone);
          tcase_add_test(tc, tombstone_on_its_way_to_the_database_is_not_forgotten);
          tcase_add_test(tc, loaded_row_is_found_without_a_lookup_and_is_not_written_again);
          tcase_add_test(tc, loaded_row_that_was_deleted_meanwhile_stays_deleted);
          tcase_add_loop_test(tc, loaded_row_that_was_changed_meanwhile_keeps_the_change, 0, 2);
          tcase_add_test(tc, eviction_ends_a_load);
          tcase_add_test(tc, loaded_value_of_another_size_is_damage);
          tcase_add_test(tc, failed_lookups_and_writes_change_nothing);
          tcase_add_test(tc, eviction_frees_memory_and_keeps_what_was_used_again);
          tcase_add_test(tc, memory_of_dead_rows_comes_back);
          tcase_add_test(tc, a_row_that_moved_when_it_was_looked_up_is_written_once);
          tcase_add_test(tc, snapshot_rows_come_in_bytewise_order))
