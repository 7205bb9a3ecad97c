/* links: backend */
/* Time-to-live: what expires when, what is left of it in memory and on disk, and clocks that jump. */
#include "backend/state.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/tmpdir.h"

#define GROUPS 128u
#define TTL 1000u
#define DAY_MS (24 * 3600 * 1000LL)
#define NOON 1700000000000LL

static struct tmpdir tmp;
static struct arena *arena;
static struct dir_target target;
static struct sim_clock sim;
static struct env env;
static struct keyed_backend *backend;
static struct key_builder keys;
static struct err err;

static void setup(void)
{
    tmpdir_make(&tmp);
    arena = arena_new(0);
    dir_target_init(&target, fs_posix(), tmp.path);
    target.inline_max = 100;
    sim_clock_init(&sim, NOON);
    env = *dir_target_env();
    env.clock = &sim.clock;
    err = (struct err){0};
    backend = NULL;
    key_builder_init(&keys, GROUPS, KEY_NS_VOID);
}

static void teardown(void)
{
    keyed_backend_close(backend);
    key_builder_release(&keys);
    dir_target_release(&target);
    arena_free(arena);
    tmpdir_remove(&tmp);
}

/* Loops: the lower bit is the backend. */
static void open_backend(int kind, const struct keyed_handle *from)
{
    static int opened;
    struct keyed_backend_config config = {
        .env = &env,
        .kind = kind & 1 ? BACKEND_ROCKSDB : BACKEND_HASHMAP,
        .range = {0, GROUPS - 1},
        .key_group_count = GROUPS,
        .local_dir = arena_printf(arena, "%s/db-%d", tmp.path, opened++),
        .backend_id = "0123456789abcdef0123456789abcdef",
        .name = "test",
        .memory_bytes = 16 << 20,
        .max_open_files = -1,
        .restore_count = from != NULL,
        .restore = from,
        .restore_operator = "test",
    };

    keyed_backend_close(backend);
    ck_assert_ok(keyed_backend_open(&config, &backend, &err));
}

static struct state *open_kind(enum state_kind kind, uint32_t fixed, uint64_t ttl_ms,
                               const struct state_options *options)
{
    struct state_desc d = {.name = "s",
                           .kind = kind,
                           .key_type = "BYTES",
                           .namespace_type = "VOID",
                           .user_key_type = kind == STATE_MAP ? "BYTES" : "",
                           .value_type = "BYTES",
                           .fixed_value_bytes = fixed,
                           .ttl_ms = ttl_ms,
                           .operand_operator = ""};
    struct state *s;

    ck_assert_ok(state_open(backend, &d, options, &s, &err));
    return s;
}

static const struct state_options renewed = {.ttl_update = TTL_ON_READ_AND_WRITE};
static const struct state_options shown = {.ttl_visibility = TTL_RETURN_EXPIRED_IF_NOT_CLEANED_UP};

static struct key_batch key(const char *name)
{
    struct key_batch k;
    struct bytes copy;

    key_builder_clear(&keys);
    ck_assert_ok(key_builder_add(&keys, (uint8_t)name[0] % GROUPS, bytes_of_str(name), 0,
                                 (struct bytes){0}, &err));
    k = key_builder_batch(&keys);
    copy = arena_bytes_copy(arena, key_batch_at(&k, 0));
    return key_batch_one(copy, arena_calloc(arena, 2, sizeof(uint32_t)));
}

static void put(struct state *s, const char *k, const char *v)
{
    struct key_batch batch = key(k);
    struct bytes value = bytes_of_str(v);

    ck_assert_ok(state_value_put(s, &batch, &value, &err));
}

static const char *get(struct state *s, const char *k)
{
    struct key_batch batch = key(k);
    struct bytes v;

    ck_assert_ok(state_value_get(s, &batch, &v, &err));
    return v.data == NULL ? "none" : arena_strndup(arena, (const char *)v.data, v.len);
}

/* Bytes of the raw row; -1: there is none. */
static int row_bytes(struct state *s, const char *k)
{
    struct key_batch batch = key(k);
    struct bytes v;

    ck_assert_ok(keyed_get(state_rows(s), &batch, &v, &err));
    return v.data == NULL ? -1 : (int)v.len;
}

static uint64_t raw_rows(struct state *s)
{
    struct keyed_cursor *c;
    struct bytes k[500], v[500];
    uint64_t n = 0;
    uint32_t got;

    ck_assert_ok(keyed_scan_open(state_rows(s), (struct bytes){0}, &c, &err));
    do {
        if (keyed_scan_next(c, 500, k, v, &got, &err) != RC_OK)
            ck_abort_msg("%s", err.msg);
        n += got;
    } while (got > 0);
    keyed_scan_close(c);
    return n;
}

static void snapshot(uint64_t id, struct keyed_handle *h)
{
    struct keyed_snapshot *s;

    ck_assert_ok(keyed_snapshot_begin(backend, id, &s, &err));
    ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, h, &err));
    keyed_snapshot_free(s);
    keyed_notify_complete(backend, id);
    dir_target_resolve(&target, arena, h);
}

/* ---- the clock ------------------------------------------------------------------------------- */

START_TEST(the_clock_never_goes_back)
{
    struct ttl_clock c;

    ttl_clock_init(&c, &sim.clock);
    ck_assert_int_eq(ttl_clock_seen(&c), INT64_MIN);
    ck_assert_int_eq(ttl_clock_now(&c), NOON);
    sim_clock_advance_ms(&sim, 5);
    ck_assert_int_eq(ttl_clock_now(&c), NOON + 5);
    sim_clock_set_wall_ms(&sim, NOON - DAY_MS);
    sim_clock_advance_ms(&sim, 5);
    ck_assert_int_eq(ttl_clock_now(&c), NOON + 10); /* and it goes on */
    sim_clock_set_wall_ms(&sim, NOON + DAY_MS);
    ck_assert_int_eq(ttl_clock_now(&c), NOON + DAY_MS);
    ttl_clock_raise(&c, NOON);
    ck_assert_int_eq(ttl_clock_now(&c), NOON + DAY_MS);
    ttl_clock_raise(&c, NOON + 2 * DAY_MS);
    sim_clock_advance_ms(&sim, 1);
    ck_assert_int_eq(ttl_clock_now(&c), NOON + 2 * DAY_MS + 1);
    ck_assert_int_eq(ttl_clock_seen(&c), NOON + 2 * DAY_MS + 1);
    ttl_clock_raise(&c, INT64_MAX);
    sim_clock_advance_ms(&sim, 1);
    ck_assert_int_eq(ttl_clock_now(&c), INT64_MAX);
}
END_TEST

START_TEST(an_entry_lives_for_its_time_and_no_longer)
{
    ck_assert(!ttl_expired(100, 50, 149));
    ck_assert(ttl_expired(100, 50, 150));
    ck_assert(!ttl_expired(INT64_MAX - 10, 50, INT64_MAX)); /* its end is past all time */
    ck_assert(!ttl_expired(100, INT64_MAX, INT64_MAX));
    ck_assert(ttl_expired(-100, 50, -50));
}
END_TEST

/* ---- stored values --------------------------------------------------------------------------- */

/* T is the time 0, t the time 100; the time-to-live is 10, and it is 50. */
#define T "\0\0\0\0\0\0\0\0"
#define t "\0\0\0\0\0\0\0\x64"
#define ONE "\0\0\0\1"
#define LIT(s) {(const uint8_t *)(s), sizeof(s) - 1}
static const struct {
    enum state_kind kind;
    uint32_t fixed;
    struct bytes stored;
    enum ttl_verdict verdict;
    struct bytes left;
} filtered[] = {
    {STATE_VALUE, 0, LIT(t "v"), TTL_KEEP, LIT("")},
    {STATE_VALUE, 0, LIT(T "v"), TTL_DROP, LIT("")},
    {STATE_VALUE, 0, LIT("short"), TTL_KEEP, LIT("")},
    {STATE_AGGREGATING, 1, LIT(T "v"), TTL_DROP, LIT("")},
    {STATE_MAP, 0, LIT("\0" T "v"), TTL_DROP, LIT("")},
    {STATE_MAP, 0, LIT("\1" T), TTL_DROP, LIT("")},
    {STATE_MAP, 0, LIT("\0" t "v"), TTL_KEEP, LIT("")},
    {STATE_MAP, 0, LIT("\0" T), TTL_DROP, LIT("")},
    {STATE_MAP, 0, LIT("\0\0\0\0\0"), TTL_KEEP, LIT("")},
    {STATE_LIST, 1, LIT(t ","), TTL_KEEP, LIT("")},
    {STATE_LIST, 1, LIT(T ","), TTL_DROP, LIT("")},
    {STATE_LIST, 1, LIT(T "a," t ",," T "c"), TTL_CHANGED, LIT(t ",")},
    {STATE_LIST, 1, LIT(t "a," T ",," t "c"), TTL_CHANGED, LIT(t "a," t "c")},
    {STATE_LIST, 0, LIT(T ONE "a," t ONE "b"), TTL_CHANGED, LIT(t ONE "b")},
    {STATE_LIST, 0, LIT(T ONE "a," T ONE "b"), TTL_DROP, LIT("")},
    {STATE_LIST, 0, LIT(T ONE "a;" T ONE "b"), TTL_KEEP, LIT("")}, /* no list */
    {STATE_LIST, 0, LIT(T ONE "a," T ONE), TTL_KEEP, LIT("")},
    {STATE_LIST, 0, LIT(T "\xff\xff\xff\xff"), TTL_KEEP, LIT("")},
    {STATE_LIST, 0, LIT(""), TTL_KEEP, LIT("")},
};

START_TEST(what_is_left_of_a_stored_value)
{
    struct ttl_shape shape = {filtered[_i].kind, filtered[_i].fixed, 10};
    struct buf out = {0};

    ck_assert_int_eq(ttl_filter(&shape, filtered[_i].stored, 50, &out), filtered[_i].verdict);
    ck_assert_bytes_eq(buf_bytes(&out), filtered[_i].left);
    buf_clear(&out);
    shape.ttl_ms = 0;
    ck_assert_int_eq(ttl_filter(&shape, filtered[_i].stored, 50, &out), TTL_KEEP);
    buf_release(&out);
}
END_TEST

static const struct {
    enum state_kind kind;
    uint64_t from_ttl, to_ttl;
    struct bytes stored, is;
} converted[] = {
    {STATE_VALUE, 0, 9, LIT("v"), LIT(t "v")},
    {STATE_VALUE, 9, 0, LIT(t "v"), LIT("v")},
    {STATE_VALUE, 9, 0, LIT(T "v"), LIT("")},
    {STATE_MAP, 0, 9, LIT("\0v"), LIT("\0" t "v")},
    {STATE_MAP, 9, 0, LIT("\1" t), LIT("\1")},
    {STATE_LIST, 0, 9, LIT(ONE "a," ONE "b"), LIT(t ONE "a," t ONE "b")},
    {STATE_LIST, 9, 0, LIT(t ONE "a," T ONE "b," t ONE "c"), LIT(ONE "a," ONE "c")},
    {STATE_LIST, 9, 0, LIT(T ONE "a"), LIT("")},
};

START_TEST(time_to_live_is_put_on_and_taken_off)
{
    struct ttl_shape from = {converted[_i].kind, 0, converted[_i].from_ttl};
    struct ttl_shape to = {converted[_i].kind, 0, converted[_i].to_ttl};
    struct buf out = {0};
    bool left;

    ck_assert_ok(ttl_convert(&from, &to, converted[_i].stored, 100, &left, &out, &err));
    ck_assert_bytes_eq(buf_bytes(&out), converted[_i].is);
    ck_assert_int_eq(left, converted[_i].is.len > 0);
    buf_release(&out);
}
END_TEST

START_TEST(what_is_no_value_is_not_converted)
{
    struct ttl_shape off = {STATE_LIST, 0, 0}, on = {STATE_LIST, 0, 9};
    struct buf out = {0};
    bool left;

    ck_assert_rc(ttl_convert(&off, &on, bytes_of_str("xyz"), 1, &left, &out, &err), RC_CORRUPT);
    off.kind = on.kind = STATE_VALUE;
    ck_assert_rc(ttl_convert(&on, &off, bytes_of_str("xyz"), 1, &left, &out, &err), RC_CORRUPT);
    buf_release(&out);
}
END_TEST
#undef T
#undef t

/* ---- reading and writing --------------------------------------------------------------------- */

START_TEST(a_value_expires_after_its_last_write)
{
    struct state *s;

    open_backend(_i, NULL);
    s = open_kind(STATE_VALUE, 0, TTL, NULL);
    put(s, "a", "1");
    sim_clock_advance_ms(&sim, TTL - 1);
    ck_assert_str_eq(get(s, "a"), "1"); /* a read does not renew it */
    put(s, "b", "2");
    sim_clock_advance_ms(&sim, 1);
    ck_assert_int_eq(row_bytes(s, "a"), 9);
    ck_assert_str_eq(get(s, "a"), "none");
    ck_assert_int_eq(row_bytes(s, "a"), -1); /* and has removed it */
    ck_assert_str_eq(get(s, "b"), "2");
    put(s, "a", "3");
    ck_assert_str_eq(get(s, "a"), "3");
    state_close(s);
}
END_TEST

START_TEST(reads_renew_when_asked_to)
{
    struct state *s;

    open_backend(_i, NULL);
    s = open_kind(STATE_VALUE, 0, TTL, &renewed);
    put(s, "a", "1");
    for (int i = 0; i < 5; i++) {
        sim_clock_advance_ms(&sim, TTL - 1);
        ck_assert_str_eq(get(s, "a"), "1");
    }
    sim_clock_advance_ms(&sim, TTL);
    ck_assert_str_eq(get(s, "a"), "none");
    state_close(s);
}
END_TEST

START_TEST(an_expired_value_may_be_shown_until_it_is_cleaned_up)
{
    struct state *s;

    open_backend(_i, NULL);
    s = open_kind(STATE_VALUE, 0, TTL, &shown);
    put(s, "a", "1");
    sim_clock_advance_ms(&sim, TTL);
    ck_assert_str_eq(get(s, "a"), "1");
    ck_assert_str_eq(get(s, "a"), "none"); /* the read was the clean-up */
    state_close(s);
}
END_TEST

/* What GROUP BY does. */
START_TEST(an_expired_row_is_fresh_again)
{
    struct state *s;
    struct key_batch batch;
    uint8_t fresh;
    void *row;

    open_backend(_i, NULL);
    s = open_kind(STATE_AGGREGATING, 8, TTL,
                  &(struct state_options){.functions = &(struct state_functions){
                                              .add = (void *)1, .merge = (void *)1}});
    batch = key("a");
    ck_assert_ok(state_upsert(s, &batch, &row, &fresh, &err));
    ck_assert_int_eq(fresh, 1);
    put_be64(row, 7);
    sim_clock_advance_ms(&sim, TTL - 1);
    ck_assert_ok(state_upsert(s, &batch, &row, &fresh, &err)); /* a write: renews */
    ck_assert_int_eq(fresh, 0);
    ck_assert_uint_eq(get_be64(row), 7);
    sim_clock_advance_ms(&sim, TTL - 1);
    ck_assert_ok(state_upsert(s, &batch, &row, &fresh, &err));
    ck_assert_int_eq(fresh, 0);
    sim_clock_advance_ms(&sim, TTL);
    ck_assert_ok(state_upsert(s, &batch, &row, &fresh, &err));
    ck_assert_int_eq(fresh, 1);
    ck_assert_uint_eq(get_be64(row), 0);
    ck_assert_int_eq(row_bytes(s, "a"), 16);
    state_close(s);
}
END_TEST

static void add(struct state *s, const char *k, const char *element)
{
    struct key_batch batch = key(k);
    struct bytes e = bytes_of_str(element);

    ck_assert_ok(state_list_add(s, &batch, &e, &err));
}

static const char *list_of(struct state *s, const char *k)
{
    struct key_batch batch = key(k);
    struct state_list l;
    struct bytes e;
    struct buf text = {0};
    enum rc rc;
    const char *out;

    ck_assert_ok(state_list_get(s, &batch, &l, &err));
    while (state_list_next(&l, &e, &rc, &err))
        buf_append(&text, e.data, e.len);
    ck_assert_msg(rc == RC_OK, "%s", err.msg);
    out = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

START_TEST(elements_of_a_list_expire_one_by_one)
{
    struct state *s;

    open_backend(_i, NULL);
    s = open_kind(STATE_LIST, 0, TTL, NULL);
    add(s, "a", "x");
    sim_clock_advance_ms(&sim, TTL / 2);
    add(s, "a", "y");
    ck_assert_str_eq(list_of(s, "a"), "xy");
    sim_clock_advance_ms(&sim, TTL / 2);
    ck_assert_str_eq(list_of(s, "a"), "y");
    sim_clock_advance_ms(&sim, TTL / 2);
    ck_assert_str_eq(list_of(s, "a"), "");
    ck_assert_int_eq(row_bytes(s, "a"), -1);
    state_close(s);
}
END_TEST

START_TEST(reads_renew_all_elements_that_are_left)
{
    struct state *s;

    open_backend(_i, NULL);
    s = open_kind(STATE_LIST, 0, TTL, &renewed);
    add(s, "a", "x");
    sim_clock_advance_ms(&sim, TTL);
    add(s, "a", "y");
    sim_clock_advance_ms(&sim, TTL - 1);
    ck_assert_str_eq(list_of(s, "a"), "y");
    ck_assert_int_eq(row_bytes(s, "a"), 13);
    sim_clock_advance_ms(&sim, TTL - 1);
    ck_assert_str_eq(list_of(s, "a"), "y");
    state_close(s);
}
END_TEST

/* A list that is only appended to does not keep what has expired: it would run into its limit. */
START_TEST(appending_for_ever_does_not_grow_for_ever)
{
    struct state *s;
    struct state_options o = {.value_bytes_max = 20000};

    open_backend(_i, NULL);
    s = open_kind(STATE_LIST, 0, TTL, &o);
    for (int i = 0; i < 20000; i++) { /* 18 bytes each, 500 of them alive */
        add(s, "a", "12345");
        sim_clock_advance_ms(&sim, 2);
    }
    ck_assert_int_lt(row_bytes(s, "a"), 20000);
    state_close(s);
}
END_TEST

START_TEST(entries_of_a_map_expire_one_by_one)
{
    struct state *s;
    struct key_batch batch;
    struct bytes user[2] = {bytes_of_str("u1"), bytes_of_str("u2")}, v[2] = {{0}, {0}}, u;
    struct state_map_iter *it;
    uint8_t present;
    bool empty;
    enum rc rc;

    open_backend(_i, NULL);
    s = open_kind(STATE_MAP, 0, TTL, NULL);
    batch = key("a");
    ck_assert_ok(state_map_put(s, &batch, &user[0], &v[0], &err)); /* a null */
    sim_clock_advance_ms(&sim, TTL / 2);
    v[1] = bytes_of_str("two");
    ck_assert_ok(state_map_put(s, &batch, &user[1], &v[1], &err));
    ck_assert_ok(state_map_get(s, &batch, &user[0], &v[0], &present, &err));
    ck_assert(present && v[0].data == NULL);
    sim_clock_advance_ms(&sim, TTL / 2);
    ck_assert_ok(state_map_get(s, &batch, &user[0], NULL, &present, &err));
    ck_assert(!present);
    it = state_map_iter_new(s, key_batch_at(&batch, 0));
    ck_assert(state_map_iter_next(it, &u, &v[0], &rc, &err));
    ck_assert_bytes_str(u, "u2");
    ck_assert_bytes_str(v[0], "two");
    ck_assert(!state_map_iter_next(it, &u, &v[0], &rc, &err));
    ck_assert_int_eq(rc, RC_OK);
    state_map_iter_free(it);
    sim_clock_advance_ms(&sim, TTL / 2);
    ck_assert_ok(state_map_is_empty(s, key_batch_at(&batch, 0), &empty, &err));
    ck_assert(empty);
    state_close(s);
}
END_TEST

/* ---- clocks that jump (B47) ------------------------------------------------------------------ */

/* Restored with a wall clock a day back, an expired value stays expired, and one that is alive
 * lives no longer than it would have. */
START_TEST(a_clock_set_back_revives_nothing_and_keeps_nothing_for_ever)
{
    struct keyed_handle h;
    struct state *s;

    open_backend(_i, NULL);
    s = open_kind(STATE_VALUE, 0, TTL, NULL);
    put(s, "old", "1");
    sim_clock_advance_ms(&sim, TTL - 1);
    put(s, "young", "2");
    sim_clock_advance_ms(&sim, 1);
    sim_clock_set_wall_ms(&sim, NOON - DAY_MS); /* while it runs */
    ck_assert_str_eq(get(s, "old"), "none");
    ck_assert_str_eq(get(s, "young"), "2");
    put(s, "later", "3");
    snapshot(1, &h);
    ck_assert_int_ne(h.ttl_clock_ms, 0);
    state_close(s);
    open_backend(_i >> 1, &h);
    s = open_kind(STATE_VALUE, 0, TTL, NULL);
    ck_assert_str_eq(get(s, "old"), "none");
    ck_assert_str_eq(get(s, "young"), "2");
    sim_clock_advance_ms(&sim, TTL - 1);
    ck_assert_str_eq(get(s, "young"), "none");
    ck_assert_str_eq(get(s, "later"), "3");
    sim_clock_advance_ms(&sim, 1);
    ck_assert_str_eq(get(s, "later"), "none");
    ck_assert_int_lt(clock_wall_ms(&sim.clock), NOON);
    state_close(s);
}
END_TEST

/* The documented choice: a stop counts, as in the reference. */
START_TEST(what_outlived_its_time_during_a_stop_has_expired)
{
    struct keyed_handle h;
    struct state *s;

    open_backend(_i, NULL);
    s = open_kind(STATE_VALUE, 0, TTL, NULL);
    put(s, "a", "1");
    snapshot(1, &h);
    state_close(s);
    sim_clock_set_wall_ms(&sim, NOON + DAY_MS);
    open_backend(_i >> 1, &h);
    s = open_kind(STATE_VALUE, 0, TTL, NULL);
    ck_assert_str_eq(get(s, "a"), "none");
    put(s, "a", "2");
    ck_assert_str_eq(get(s, "a"), "2");
    state_close(s);
}
END_TEST

/* ---- what stays in memory and on disk (B46) -------------------------------------------------- */

static void put_many(struct state *s, uint32_t from, uint32_t to)
{
    struct bytes values[1000];

    while (from < to) {
        struct key_batch batch;

        key_builder_clear(&keys);
        for (; from < to && keys.count < 1000; from++) {
            uint8_t row[16] = {0};

            put_le64(row + 8, from);
            values[keys.count] = bytes_of("0123456789abcdef", 16);
            if (key_builder_add(&keys, from % GROUPS, bytes_of(row, 16), 0, (struct bytes){0},
                                &err) != RC_OK)
                ck_abort_msg("%s", err.msg);
        }
        batch = key_builder_batch(&keys);
        ck_assert_ok(state_value_put(s, &batch, values, &err));
    }
}

START_TEST(a_snapshot_leaves_out_what_has_expired)
{
    struct keyed_handle h;
    struct state *s;

    open_backend(_i, NULL);
    s = open_kind(STATE_VALUE, 16, TTL, NULL);
    put_many(s, 0, 5000);
    sim_clock_advance_ms(&sim, TTL);
    put_many(s, 5000, 6000);
    snapshot(1, &h);
    ck_assert(h.kind != KEYED_STREAM || h.entry_count == 1000);
    state_close(s);
    open_backend(_i >> 1, &h);
    s = open_kind(STATE_VALUE, 16, TTL, NULL);
    ck_assert_uint_eq(raw_rows(s), 1000);
    state_close(s);
}
END_TEST

static uint64_t bytes_of_files(const struct keyed_handle *h)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < h->file_count; i++)
        sum += h->files[i].size_bytes;
    return sum;
}

/* Until the database is that small; compactions take their real time. */
static void wait_for_compaction(uint64_t bytes)
{
    struct keyed_stats stats;

    for (int i = 0; i < 5000; i++) {
        keyed_stats(backend, &stats);
        if (stats.db_live_sst_bytes <= bytes)
            return;
        clock_sleep_ns(clock_posix(), NS_PER_MS);
    }
    ck_abort_msg("still %llu bytes in the database", (unsigned long long)stats.db_live_sst_bytes);
}

/* 200,000 keys that live for 2 seconds; nothing is written or read any more; a checkpoint every
 * second. Two checkpoints after their end none of them is left in the database. */
START_TEST(expired_rows_leave_the_disk_without_being_read)
{
    struct keyed_handle h;
    struct state *s;
    uint64_t full = 0, last = 0;

    open_backend(BACKEND_ROCKSDB, NULL);
    s = open_kind(STATE_VALUE, 16, 2000, NULL);
    put_many(s, 0, 200000);
    for (uint64_t id = 1; id <= 10; id++) {
        snapshot(id, &h);
        last = bytes_of_files(&h);
        if (id <= 2)
            full = last;
        if (id >= 4)
            wait_for_compaction(10000);
        if (id >= 5)
            ck_assert_uint_lt(last, 20000);
        sim_clock_advance_ms(&sim, 1000);
    }
    ck_assert_uint_gt(full, 500000);
    state_close(s);
    open_backend(BACKEND_ROCKSDB, &h);
    s = open_kind(STATE_VALUE, 16, 2000, NULL);
    ck_assert_uint_eq(raw_rows(s), 0);
    state_close(s);
}
END_TEST

/* Rows that are renewed all the time survive the compactions. */
START_TEST(what_is_alive_stays_on_disk)
{
    struct keyed_handle h;
    struct state *s;

    open_backend(BACKEND_ROCKSDB, NULL);
    s = open_kind(STATE_VALUE, 16, 3000, NULL);
    put_many(s, 0, 100000);
    for (uint64_t id = 1; id <= 12; id++) {
        put_many(s, (uint32_t)(id % 3) * 10000, (uint32_t)(id % 3 + 1) * 10000);
        snapshot(id, &h);
        sim_clock_advance_ms(&sim, 1000);
    }
    state_close(s);
    open_backend(BACKEND_ROCKSDB, &h);
    s = open_kind(STATE_VALUE, 16, 3000, NULL);
    {
        struct state_keys *k =
            state_keys_new(s, (struct bytes){0}, (struct key_group_range){0, GROUPS - 1});
        struct bytes found[100];
        uint32_t got, n = 0;

        do {
            ck_assert_ok(state_keys_next(k, found, 100, &got, &err));
            n += got;
        } while (got > 0);
        ck_assert_uint_eq(n, 20000); /* of the last two rounds: 11, at 10 s, and 12, at 11 s */
        state_keys_free(k);
    }
    state_close(s);
}
END_TEST

START_TEST(memory_comes_back_with_use)
{
    struct keyed_stats before, after;
    struct state *s;

    open_backend(BACKEND_HASHMAP, NULL);
    s = open_kind(STATE_VALUE, 16, TTL, NULL);
    put_many(s, 0, 200000);
    keyed_stats(backend, &before);
    sim_clock_advance_ms(&sim, TTL);
    for (int i = 0; i < 250; i++)
        put_many(s, 0, 1000); /* others' rows go, one or so a row that is written */
    keyed_stats(backend, &after);
    ck_assert_uint_eq(before.entries_cached, 200000);
    ck_assert_uint_eq(after.entries_cached, 1000);
    ck_assert_uint_lt(after.cache_bytes, before.cache_bytes * 6 / 10); /* the index stays */
    state_close(s);
}
END_TEST

/* ---- another time-to-live after a restore ---------------------------------------------------- */

static const struct {
    uint64_t was, is;
    const char *at_once, *later; /* the value after TTL / 2 and after 2 * TTL */
} changes[] = {
    {TTL, 10 * TTL, "1", "1"},
    {TTL, TTL / 4, "none", "none"},
    {TTL, 0, "1", "1"},
    {0, TTL, "1", "none"},
};

static void change_ttl(int i, int was_kind, int is_kind)
{
    struct keyed_handle h;
    struct state *s;

    open_backend(was_kind, NULL);
    s = open_kind(STATE_VALUE, 8, changes[i].was, NULL);
    put(s, "a", "34567890");
    state_close(s);
    snapshot(1, &h);
    sim_clock_advance_ms(&sim, TTL / 2);
    open_backend(is_kind, &h);
    s = open_kind(STATE_VALUE, 8, changes[i].is, NULL);
    ck_assert_str_eq(get(s, "a"), strcmp(changes[i].at_once, "1") == 0 ? "34567890" : "none");
    put(s, "b", "12345678");
    sim_clock_advance_ms(&sim, 3 * TTL / 2);
    ck_assert_str_eq(get(s, "a"), strcmp(changes[i].later, "1") == 0 ? "34567890" : "none");
    snapshot(2, &h);
    ck_assert_uint_eq(h.states[0].ttl_ms, changes[i].is);
    state_close(s);
    open_backend(was_kind, &h);
    s = open_kind(STATE_VALUE, 8, changes[i].is, NULL);
    ck_assert_str_eq(get(s, "a"), strcmp(changes[i].later, "1") == 0 ? "34567890" : "none");
    state_close(s);
}

START_TEST(a_restored_state_takes_another_time_to_live)
{
    change_ttl(_i >> 2, _i & 1, _i >> 1 & 1);
}
END_TEST

START_TEST(many_rows_take_another_shape)
{
    struct keyed_handle h;
    struct state *s;

    open_backend(_i & 1, NULL);
    s = open_kind(STATE_VALUE, 16, 0, NULL);
    put_many(s, 0, 100000);
    state_close(s);
    snapshot(1, &h);
    open_backend(_i >> 1, &h);
    s = open_kind(STATE_VALUE, 16, TTL, NULL);
    ck_assert_uint_eq(raw_rows(s), 100000);
    put_many(s, 0, 10);
    ck_assert_uint_eq(raw_rows(s), 100000);
    sim_clock_advance_ms(&sim, TTL - 1);
    put_many(s, 0, 10);
    sim_clock_advance_ms(&sim, 1);
    snapshot(2, &h);
    state_close(s);
    open_backend(_i & 1, &h);
    s = open_kind(STATE_VALUE, 16, 0, NULL);
    ck_assert_uint_eq(raw_rows(s), 10); /* those that had expired do not come back */
    state_close(s);
}
END_TEST

START_TEST(a_state_that_is_open_keeps_its_time_to_live)
{
    struct state_desc d = {.name = "s",
                           .kind = STATE_VALUE,
                           .key_type = "BYTES",
                           .namespace_type = "VOID",
                           .value_type = "BYTES",
                           .ttl_ms = 7};
    struct state *s, *again;

    open_backend(_i, NULL);
    s = open_kind(STATE_VALUE, 0, TTL, NULL);
    ck_assert_rc_msg(state_open(backend, &d, NULL, &again, &err), RC_INVALID,
                     "time-to-live 1000 ms");
    d.ttl_ms = TTL;
    ck_assert_ok(state_open(backend, &d, NULL, &again, &err));
    state_close(again);
    state_close(s);
}
END_TEST

TEST_MAIN("ttl", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, the_clock_never_goes_back);
          tcase_add_test(tc, an_entry_lives_for_its_time_and_no_longer);
          tcase_add_loop_test(tc, what_is_left_of_a_stored_value, 0, ARRAY_LEN(filtered));
          tcase_add_loop_test(tc, time_to_live_is_put_on_and_taken_off, 0, ARRAY_LEN(converted));
          tcase_add_test(tc, what_is_no_value_is_not_converted);
          tcase_add_loop_test(tc, a_value_expires_after_its_last_write, 0, 2);
          tcase_add_loop_test(tc, reads_renew_when_asked_to, 0, 2);
          tcase_add_loop_test(tc, an_expired_value_may_be_shown_until_it_is_cleaned_up, 0, 2);
          tcase_add_loop_test(tc, an_expired_row_is_fresh_again, 0, 2);
          tcase_add_loop_test(tc, elements_of_a_list_expire_one_by_one, 0, 2);
          tcase_add_loop_test(tc, reads_renew_all_elements_that_are_left, 0, 2);
          tcase_add_loop_test(tc, appending_for_ever_does_not_grow_for_ever, 0, 2);
          tcase_add_loop_test(tc, entries_of_a_map_expire_one_by_one, 0, 2);
          tcase_add_loop_test(tc, a_clock_set_back_revives_nothing_and_keeps_nothing_for_ever, 0, 4);
          tcase_add_loop_test(tc, what_outlived_its_time_during_a_stop_has_expired, 0, 4);
          tcase_add_loop_test(tc, a_snapshot_leaves_out_what_has_expired, 0, 4);
          tcase_add_test(tc, expired_rows_leave_the_disk_without_being_read);
          tcase_add_test(tc, what_is_alive_stays_on_disk);
          tcase_add_test(tc, memory_comes_back_with_use);
          tcase_add_loop_test(tc, a_restored_state_takes_another_time_to_live, 0,
                              4 * (int)ARRAY_LEN(changes));
          tcase_add_loop_test(tc, many_rows_take_another_shape, 0, 4);
          tcase_add_loop_test(tc, a_state_that_is_open_keeps_its_time_to_live, 0, 2))
