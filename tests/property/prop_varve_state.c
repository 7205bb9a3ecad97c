/* links: state */
/* A program that knows varve_state.h alone, against sorted maps: keys in a layout of its own,
 * random changes in several stores, snapshots written by another thread into a directory while the
 * stores go on, cancelled, removed and swept, handles carried as bytes, restores over other ranges
 * and into the other backend. VARVE_TEST_SEED=n tries another seed,
 * VARVE_SOAK=1 ten times the rounds. */
#include "base/thread.h"
#include "tests/lib/gen.h"
#include "tests/lib/model_state.h"
#include "tests/lib/state_rig.h"

#include <inttypes.h>

#define STORES_MAX 4u
#define KEYS_MAX 400u
#define ROUNDS 30 /* at least: until there were two restores */

/* ck_assert writes to a pipe each time: too slow for every row. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != VV_OK)                                                                       \
            ck_abort_msg("seed %" PRIu64 ": %s: %s", w.seed, #call, w.error.message);              \
    } while (0)

struct store {
    vv_store *store;
    vv_state *counts, *owned; /* fixed values; a map of owners with keys of our own */
    uint32_t first, last;
};
struct shot { /* a finished snapshot of all stores, and what it must hold */
    struct buf handles[STORES_MAX];
    uint32_t count;
    struct model_state counts, owned;
};
static struct world {
    uint64_t seed;
    struct rng rng;
    struct tmpdir tmp;
    vv_dir *dir;
    struct store stores[STORES_MAX];
    uint32_t count;
    struct model_state counts, owned;
    struct shot last;
    uint64_t id;
    uint32_t restores;
    vv_error error;
} w;

/* group | owner (1 to 3 bytes, 0xFF) | member: nothing that a vv_key_builder would make. */
static uint32_t random_key(uint8_t *out, bool owned, uint32_t *owner_len)
{
    uint32_t len = 1, n = (uint32_t)rng_below(&w.rng, 300);

    for (uint32_t i = 0; i <= n % 3; i++)
        out[len++] = (uint8_t)(n % 7 + i);
    out[len++] = 0xFF;
    out[0] = (uint8_t)vv_key_group((vv_bytes){out + 1, len - 1}, RIG_GROUPS);
    *owner_len = len;
    for (uint32_t i = owned ? (uint32_t)rng_below(&w.rng, 4) : 0; i > 0; i--)
        out[len++] = (uint8_t)rng_below(&w.rng, 3);
    if (!owned) {
        put_be32(out + len, (uint32_t)rng_below(&w.rng, 200));
        len += 4;
    }
    return len;
}

static struct store *store_of(uint32_t group)
{
    for (uint32_t i = 0; i < w.count; i++)
        if (group >= w.stores[i].first && group <= w.stores[i].last)
            return &w.stores[i];
    ck_abort_msg("no store for key group %u", group);
}

/* ---- opening and looking --------------------------------------------------------------------- */

static void open_stores(uint32_t count, const struct shot *from)
{
    vv_restore restore[STORES_MAX] = {0};
    size_t handles = from == NULL ? 0 : from->count, order[STORES_MAX];

    gen_order(&w.rng, order, handles);
    for (uint32_t i = 0; i < handles; i++) {
        vv_handle *h;
        const struct buf *bytes = &from->handles[order[i]];

        MUST(vv_handle_decode(bytes->data, bytes->len, &h, &w.error));
        restore[i] = (vv_restore){.handle = h, .dir = tmpdir_at(&w.tmp, "snapshots")};
    }
    for (uint32_t i = 0; i < count; i++) {
        struct rig r = {.tmp = &w.tmp, .backend = gen_chance(&w.rng, 50) ? "rocksdb" : "hashmap",
                        .memory = "10 mb"}; /* the least: rows leave the cache */
        vv_state_desc counts = {.name = "counts", .kind = VV_VALUE, .fixed_value_bytes = 8},
                      owned = {.name = "owned", .kind = VV_MAP, .ns = VV_NS_BYTES};
        struct store *s = &w.stores[i];
        vv_option options[4];
        vv_store_config config = {.group_count = RIG_GROUPS, .options = options};

        config.option_count = rig_options(&r, options);
        config.restore = restore;
        config.restore_count = handles;
        MUST(vv_key_group_range(i, count, RIG_GROUPS, &s->first, &s->last, &w.error));
        config.first_group = s->first;
        config.last_group = s->last;
        MUST(vv_store_open(&config, &s->store, &w.error));
        MUST(vv_state_open(s->store, &owned, &s->owned, &w.error));
        MUST(vv_state_open(s->store, &counts, &s->counts, &w.error));
    }
    w.count = count;
    for (uint32_t i = 0; i < handles; i++)
        vv_handle_free((vv_handle *)(uintptr_t)restore[i].handle);
}

static void close_stores(void)
{
    for (uint32_t i = 0; i < w.count; i++)
        vv_store_close(w.stores[i].store);
    w.count = 0;
}

static void look_at(vv_state *state, struct model_state *out)
{
    vv_bytes keys[50], values[50];
    vv_scan *scan;
    uint32_t got;

    MUST(vv_scan_open(state, (vv_bytes){0}, gen_chance(&w.rng, 50) ? VV_SCAN_COPY : VV_SCAN_LIVE,
                      &scan, &w.error));
    do {
        MUST(vv_scan_next(scan, 50, keys, values, &got, &w.error));
        for (uint32_t i = 0; i < got; i++)
            model_put(out, bytes_of(keys[i].data, keys[i].len),
                      bytes_of(values[i].data, values[i].len));
    } while (got > 0);
    vv_scan_close(scan);
}

static void compare(const char *when)
{
    struct model_state counts = {0}, owned = {0};
    const char *wrong;

    for (uint32_t i = 0; i < w.count; i++) {
        look_at(w.stores[i].counts, &counts);
        look_at(w.stores[i].owned, &owned);
    }
    wrong = model_differ(&counts, &w.counts);
    if (wrong == NULL)
        wrong = model_differ(&owned, &w.owned);
    if (wrong != NULL)
        ck_abort_msg("seed %" PRIu64 ", %s: %s", w.seed, when, wrong);
    model_release(&counts);
    model_release(&owned);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* A batch of keys of one store. */
static uint32_t random_batch(struct store *s, bool owned, uint8_t *data, uint32_t *offsets)
{
    uint32_t want = (uint32_t)rng_below(&w.rng, KEYS_MAX), count = 0, ignored;

    offsets[0] = 0;
    for (uint32_t tries = 0; tries < want; tries++) {
        uint32_t len = random_key(data + offsets[count], owned, &ignored);
        uint8_t group = data[offsets[count]];

        if (group >= s->first && group <= s->last) {
            offsets[count + 1] = offsets[count] + len;
            count++;
        }
    }
    return count;
}

static void change_counts(struct store *s)
{
    static uint8_t data[KEYS_MAX * 16];
    static uint32_t offsets[KEYS_MAX + 1];
    static void *rows[KEYS_MAX];
    static uint8_t fresh[KEYS_MAX];
    vv_keys keys = {random_batch(s, false, data, offsets), data, offsets};

    if (gen_chance(&w.rng, 20)) {
        MUST(vv_raw_delete(s->counts, &keys, &w.error));
        for (uint32_t i = 0; i < keys.count; i++)
            model_del(&w.counts, bytes_of(data + offsets[i], offsets[i + 1] - offsets[i]));
        return;
    }
    MUST(vv_raw_upsert(s->counts, &keys, rows, fresh, &w.error));
    for (uint32_t i = 0; i < keys.count; i++) {
        struct bytes key = bytes_of(data + offsets[i], offsets[i + 1] - offsets[i]);
        const struct model_entry *e = model_get(&w.counts, key);

        if ((e == NULL) != (fresh[i] == 1))
            ck_abort_msg("seed %" PRIu64 ": fresh is %u", w.seed, fresh[i]);
        put_be64(rows[i], get_be64(rows[i]) + 1);
        model_put(&w.counts, key, bytes_of(rows[i], 8));
    }
}

static void change_owned(struct store *s)
{
    static uint8_t data[KEYS_MAX * 16], bytes[300];
    static uint32_t offsets[KEYS_MAX + 1];
    static vv_bytes values[KEYS_MAX];
    vv_keys keys = {random_batch(s, true, data, offsets), data, offsets};

    for (uint32_t i = 0; i < keys.count; i++)
        values[i] = (vv_bytes){bytes, gen_len(&w.rng, 0, sizeof bytes)};
    memset(bytes, (int)rng_below(&w.rng, 256), sizeof bytes);
    MUST(vv_raw_put(s->owned, &keys, values, &w.error));
    for (uint32_t i = 0; i < keys.count; i++)
        model_put(&w.owned, bytes_of(data + offsets[i], offsets[i + 1] - offsets[i]),
                  bytes_of(values[i].data, values[i].len));
}

/* The entries of one owner by its prefix; then they go, one by one. */
static void clear_owner(struct store *s)
{
    uint8_t key[16];
    vv_bytes keys[20], values[20];
    uint32_t owner_len, got, seen = 0, want = 0;
    vv_scan *scan;

    random_key(key, true, &owner_len);
    if (key[0] < s->first || key[0] > s->last)
        return;
    for (size_t i = 0; i < w.owned.count; i++)
        want += w.owned.entries[i].key.len >= owner_len &&
                memcmp(w.owned.entries[i].key.data, key, owner_len) == 0;
    MUST(vv_scan_open(s->owned, (vv_bytes){key, owner_len}, VV_SCAN_COPY, &scan, &w.error));
    do {
        MUST(vv_scan_next(scan, 20, keys, values, &got, &w.error));
        for (uint32_t i = 0; i < got; i++, seen++) {
            MUST(vv_raw_delete_one(s->owned, keys[i], &w.error));
            model_del(&w.owned, bytes_of(keys[i].data, keys[i].len));
        }
    } while (got > 0);
    vv_scan_close(scan);
    if (seen != want)
        ck_abort_msg("seed %" PRIu64 ": %u entries of an owner, not %u", w.seed, seen, want);
}

static void change(void)
{
    for (uint64_t n = rng_below(&w.rng, 12); n > 0; n--) {
        struct store *s = store_of((uint32_t)rng_below(&w.rng, RIG_GROUPS));

        switch (rng_below(&w.rng, 4)) {
        case 0:
        case 1:
            change_counts(s);
            break;
        case 2:
            change_owned(s);
            break;
        default:
            clear_owner(s);
        }
    }
}

/* ---- snapshots ------------------------------------------------------------------------------- */

struct writer {
    vv_snapshot *snapshot;
    char name[40];
    vv_handle *handle;
    vv_code code;
    vv_error error;
};
static void write_snapshots(void *arg)
{
    struct writer *all = arg;

    for (uint32_t i = 0; i < w.count; i++)
        all[i].code =
            vv_dir_write(w.dir, all[i].snapshot, all[i].name, &all[i].handle, &all[i].error);
}

static void shot_release(struct shot *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        buf_release(&s->handles[i]);
    model_release(&s->counts);
    model_release(&s->owned);
    *s = (struct shot){0};
}

/* Names are known from the id: those of older snapshots go, and what only they named. */
static void forget_older(uint64_t id)
{
    for (uint32_t i = 0; i < STORES_MAX; i++) {
        char name[40];

        snprintf(name, sizeof name, "%" PRIu64 "-%u", id, i);
        if (vv_dir_remove(w.dir, name, &w.error) != VV_OK && w.error.code != VV_NOT_FOUND)
            ck_abort_msg("%s", w.error.message);
    }
    MUST(vv_dir_sweep(w.dir, NULL, &w.error));
}

static void snapshot(void)
{
    struct writer writers[STORES_MAX] = {0};
    struct shot now = {.count = w.count};
    bool cancel = gen_chance(&w.rng, 20), whole = true;
    struct thread *t;

    w.id++;
    for (uint32_t i = 0; i < w.count; i++) {
        MUST(vv_snapshot_begin(w.stores[i].store, w.id, &writers[i].snapshot, &w.error));
        snprintf(writers[i].name, sizeof writers[i].name, "%" PRIu64 "-%u", w.id, i);
    }
    model_copy(&w.counts, &now.counts);
    model_copy(&w.owned, &now.owned);
    t = thread_start("writer", write_snapshots, writers);
    change();
    if (cancel)
        vv_snapshot_cancel(writers[w.count - 1].snapshot);
    change();
    thread_join(t);
    for (uint32_t i = 0; i < w.count; i++) {
        const struct writer *x = &writers[i];

        if (x->code != VV_OK && !(cancel && x->code == VV_CANCELLED))
            ck_abort_msg("seed %" PRIu64 ": %s", w.seed, x->error.message);
        whole = whole && x->code == VV_OK;
        vv_snapshot_free(x->snapshot);
        buf_reserve(&now.handles[i], vv_handle_encode(x->handle, NULL, 0));
        now.handles[i].len = vv_handle_encode(x->handle, now.handles[i].data, now.handles[i].cap);
        vv_handle_free(x->handle);
    }
    for (uint32_t i = 0; i < w.count; i++)
        MUST((whole ? vv_store_notify_complete : vv_store_notify_aborted)(w.stores[i].store, w.id,
                                                                          &w.error));
    if (!whole) {
        shot_release(&now);
        return;
    }
    shot_release(&w.last);
    w.last = now;
    if (w.id > 1)
        forget_older(w.id - 1);
}

static void restore(void)
{
    close_stores();
    model_release(&w.counts);
    model_release(&w.owned);
    model_copy(&w.last.counts, &w.counts);
    model_copy(&w.last.owned, &w.owned);
    open_stores((uint32_t)gen_between(&w.rng, 1, STORES_MAX), &w.last);
    compare("after a restore");
}

START_TEST(stores_are_what_sorted_maps_are)
{
    w = (struct world){.seed = gen_seed(20 + (uint64_t)_i)};
    rng_seed(&w.rng, w.seed);
    tmpdir_make(&w.tmp);
    MUST(vv_dir_open(tmpdir_at(&w.tmp, "snapshots"), &w.dir, &w.error));
    open_stores((uint32_t)gen_between(&w.rng, 1, STORES_MAX), NULL);
    for (int left = gen_length(ROUNDS, 10); left > 0 || w.restores < 2; left--) {
        change();
        if (gen_chance(&w.rng, 25))
            snapshot();
        if (gen_chance(&w.rng, 10))
            compare("in between");
        if (w.last.count > 0 && gen_chance(&w.rng, 10)) {
            restore();
            w.restores++;
        }
    }
    compare("at the end");
    close_stores();
    shot_release(&w.last);
    model_release(&w.counts);
    model_release(&w.owned);
    vv_dir_close(w.dir);
    tmpdir_remove(&w.tmp);
}
END_TEST

TEST_MAIN("prop_varve_state", {
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, stores_are_what_sorted_maps_are, 0, 6);
})
