/* links: state */
/* varve_state.h: stores, states, raw access, scans, keys, timers; every wrong argument is an
 * answer. The kinds of state: test_vv_kinds.c; snapshots: test_vv_snapshot.c, test_vv_dir.c. */
#include "base/fs.h"
#include "tests/lib/state_rig.h"

#include <sys/resource.h>

static const char *const backends[] = {"hashmap", "rocksdb"};

static struct tmpdir tmp;
static struct rig rig;
static vv_error error;
static vv_key_builder *builder;

static void setup(void)
{
    tmpdir_make(&tmp);
    ck_assert_vv(vv_key_builder_new(RIG_GROUPS, VV_NS_NONE, &builder, &error));
}

static void teardown(void)
{
    vv_key_builder_free(builder);
    rig_close(&rig);
    tmpdir_remove(&tmp);
}

static void open_rig(int backend)
{
    rig_open(&rig, &tmp, backends[backend], 0, 127, NULL, 0);
}

/* ---- stores ---------------------------------------------------------------------------------- */

static const struct {
    vv_option option;
    const char *message;
} bad_options[] = {
    {{"state.backend.typ", "rocksdb"}, "unknown option state.backend.typ"},
    {{"state.backend.type", "forst"}, "state.backend.type: \"forst\""},
    {{"state.backend.rocksdb.localdir", ""}, "state.backend.rocksdb.localdir"},
    {{"state.backend.rocksdb.memory.fixed-per-slot", "much"}, "\"much\" is not a size"},
    {{"taskmanager.memory.managed.size", "9 mb"}, "a store needs at least 10485760"},
    {{"state.backend.rocksdb.files.open", "-2"}, "\"-2\""},
    {{"state.backend.rocksdb.files.open", "7x"}, "\"7x\""},
    {{"varve.restore.load-cache", "maybe"}, "neither true nor false"},
    {{"varve.restore.verify-files", "never"}, "\"never\" is none of"},
    {{NULL, "x"}, "without a key"},
    {{"state.backend.type", NULL}, "without a value"},
    {{"state.backend.type", "rocksdb"}, "state.backend.rocksdb.localdir is not set"},
};

/* Else a slip in an option would be found when the state is lost. */
START_TEST(a_wrong_option_is_refused_and_named)
{
    vv_store_config config = {.last_group = 127,
                              .group_count = 128,
                              .options = &bad_options[_i].option,
                              .option_count = 1};
    vv_store *store = (vv_store *)&config;

    ck_assert_vv_code(vv_store_open(&config, &store, &error), VV_INVALID, bad_options[_i].message);
    ck_assert_ptr_null(store);
    ck_assert_msg(strncmp(error.message, "vv_store_open: ", 15) == 0, "%s", error.message);
}
END_TEST

static const struct {
    uint32_t first, last, count;
} bad_ranges[] = {{0, 0, 0},     {0, 1, 1},     {5, 4, 128},
                  {0, 128, 128}, {0, 0, 32769}, {UINT32_MAX, UINT32_MAX, 128}};

START_TEST(a_range_that_is_none_is_refused)
{
    vv_store_config config = {.first_group = bad_ranges[_i].first,
                              .last_group = bad_ranges[_i].last,
                              .group_count = bad_ranges[_i].count};
    vv_store *store;

    ck_assert_vv_code(vv_store_open(&config, &store, &error), VV_INVALID, "");
}
END_TEST

START_TEST(a_store_refuses_what_it_needs_and_does_not_get)
{
    vv_restore restore = {0};
    vv_store_config config = {.last_group = 127, .group_count = 128};
    vv_store *store;

    ck_assert_vv_code(vv_store_open(&config, NULL, &error), VV_INVALID, "out is NULL");
    ck_assert_vv_code(vv_store_open(NULL, &store, &error), VV_INVALID, "config is NULL");
    ck_assert_int_eq(vv_store_open(NULL, &store, NULL), VV_INVALID);
    config.option_count = 1;
    ck_assert_vv_code(vv_store_open(&config, &store, &error), VV_INVALID, "options is NULL");
    config.option_count = 0;
    config.restore_count = 1;
    ck_assert_vv_code(vv_store_open(&config, &store, &error), VV_INVALID, "restore is NULL");
    config.restore = &restore;
    ck_assert_vv_code(vv_store_open(&config, &store, &error), VV_INVALID, "handle is NULL");
    vv_store_close(NULL);
    ck_assert_str_eq(vv_store_id(NULL), "");
    ck_assert_uint_eq(vv_store_state_count(NULL), 0);
}
END_TEST

/* A database left by a process that died would stay for ever. */
START_TEST(two_stores_in_one_place_have_directories_of_their_own_that_go_with_them)
{
    struct rig other;

    rig_open(&rig, &tmp, "rocksdb", 0, 63, NULL, 0);
    rig_open(&other, &tmp, "rocksdb", 64, 127, NULL, 0);
    ck_assert_str_ne(vv_store_id(rig.store), vv_store_id(other.store));
    rig_add(&rig, 0, 63, 0, 1000, 1);
    rig_add(&other, 64, 127, 0, 1000, 1);
    rig_close(&other);
    rig_close(&rig);
    ck_assert_int_eq(fs_rmdir(fs_posix(), tmpdir_at(&tmp, "local"), NULL), RC_OK); /* empty */
}
END_TEST

START_TEST(statistics_count_what_is_there)
{
    vv_stats stats;

    open_rig(_i);
    rig_add(&rig, 0, 127, 0, 1000, 1);
    ck_assert_vv(vv_store_stats(rig.store, &stats, &error));
    ck_assert_uint_eq(stats.entries_cached, 1000);
    ck_assert_uint_gt(stats.cache_bytes, 1000 * 8);
    ck_assert_uint_ge(stats.lookups, 1000);
    ck_assert_vv_code(vv_store_stats(NULL, &stats, &error), VV_INVALID, "store is NULL");
    ck_assert_vv_code(vv_store_stats(rig.store, NULL, &error), VV_INVALID, "out is NULL");
}
END_TEST

/* Several stores of one slot: each its rows, all together one cache, and never more of them. */
START_TEST(stores_share_memory_and_files)
{
    vv_store_config config = {.last_group = 127, .group_count = 128};
    vv_option options[4] = {0};
    vv_memory_part part;
    vv_memory *memory;
    vv_store *stores[3];
    struct rig r = {.tmp = &tmp, .backend = "rocksdb"};

    rig_options(&r, options);
    config.options = options;
    config.option_count = 2;
    ck_assert_vv(vv_memory_new(64u << 20, 2, 1, &memory, &error));
    config.memory = memory;
    for (int i = 0; i < 2; i++)
        ck_assert_vv(vv_store_open(&config, &stores[i], &error));
    ck_assert_vv_code(vv_store_open(&config, &stores[2], &error), VV_LIMIT, "made for 2 stores");
    ck_assert_ptr_eq(vv_store_memory(stores[0]), memory);
    vv_memory_free(memory); /* the stores keep it */
    ck_assert_vv(vv_memory_part_at(memory, 0, &part, &error));
    ck_assert_str_eq(part.name, "rows");
    ck_assert_uint_gt(part.configured_bytes, 1u << 20);
    vv_store_close(stores[0]);
    config.memory = vv_store_memory(stores[1]);
    ck_assert_vv(vv_store_open(&config, &stores[0], &error));
    config.option_count = 3; /* memory of its own, too */
    ck_assert_vv_code(vv_store_open(&config, &stores[2], &error), VV_INVALID, "own memory");
    vv_store_close(stores[0]);
    vv_store_close(stores[1]);
}
END_TEST

START_TEST(wrong_memory_is_refused)
{
    vv_memory_part part;
    vv_memory *memory;

    ck_assert_vv_code(vv_memory_new(11u << 20, 2, 1, &memory, &error), VV_INVALID, "12582912");
    ck_assert_ptr_null(memory);
    ck_assert_vv_code(vv_memory_new(64u << 20, 0, 1, &memory, &error), VV_INVALID, "0 stores");
    ck_assert_vv_code(vv_memory_new(64u << 20, 1, 0, &memory, &error), VV_INVALID, "0 threads");
    ck_assert_vv_code(vv_memory_new(64u << 20, 1, 1, NULL, &error), VV_INVALID, "out is NULL");
    ck_assert_vv(vv_memory_new(64u << 20, 1, 1, &memory, &error));
    ck_assert_vv_code(vv_memory_part_at(memory, 99, &part, &error), VV_NOT_FOUND, "part 99");
    ck_assert_vv_code(vv_memory_part_at(memory, 0, NULL, &error), VV_INVALID, "out is NULL");
    ck_assert_vv_code(vv_memory_part_at(NULL, 0, &part, &error), VV_INVALID, "memory is NULL");
    vv_memory_free(memory);
    vv_memory_free(NULL);
    ck_assert_ptr_null(vv_store_memory(NULL));
    open_rig(0);
    ck_assert_ptr_null(vv_store_memory(rig.store));
}
END_TEST

/* B39: a process with few files is told how many it needs, not at its first compaction. */
START_TEST(too_few_open_files_are_refused_with_the_number)
{
    struct rlimit limit = {80, 80};
    struct rig r = {.tmp = &tmp, .backend = "rocksdb"};
    vv_option options[4];
    vv_store_config config = {.last_group = 127, .group_count = 128, .options = options};
    vv_store *store;

    config.option_count = rig_options(&r, options);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_vv_code(vv_store_open(&config, &store, &error), VV_LIMIT, "need at least 88");
}
END_TEST

/* ---- states ---------------------------------------------------------------------------------- */

START_TEST(a_state_is_described_as_it_was_opened)
{
    vv_state_desc desc = {.name = "m",
                          .kind = VV_MAP,
                          .ns = VV_NS_BYTES,
                          .key_type = "K",
                          .user_key_type = "U",
                          .value_type = "V",
                          .fixed_value_bytes = 4},
                  got;
    vv_state *s;

    open_rig(_i);
    ck_assert_vv(vv_state_open(rig.store, &desc, &s, &error));
    ck_assert_uint_eq(vv_store_state_count(rig.store), 2);
    ck_assert_vv(vv_store_state_at(rig.store, 1, &got, &error));
    ck_assert_str_eq(got.name, "m");
    ck_assert_int_eq(got.kind, VV_MAP);
    ck_assert_int_eq(got.ns, VV_NS_BYTES);
    ck_assert_str_eq(got.key_type, "K");
    ck_assert_str_eq(got.user_key_type, "U");
    ck_assert_str_eq(got.value_type, "V");
    ck_assert_uint_eq(got.fixed_value_bytes, 4);
    ck_assert_vv_code(vv_store_state_at(rig.store, 2, &got, &error), VV_NOT_FOUND, "state 2 of 2");
    ck_assert_vv_code(vv_store_state_at(rig.store, 0, NULL, &error), VV_INVALID, "out is NULL");
    ck_assert_vv_code(vv_store_state_at(NULL, 0, &got, &error), VV_INVALID, "store is NULL");
}
END_TEST

static const struct {
    vv_state_desc desc;
    vv_code code;
    const char *message;
} bad_descs[] = {
    {{.kind = VV_VALUE}, VV_INVALID, "name is NULL"},
    {{.name = "", .kind = VV_VALUE}, VV_INVALID, "1 to 255 bytes"},
    {{.name = "default", .kind = VV_VALUE}, VV_INVALID, "default"},
    {{.name = "s"}, VV_INVALID, "kind 0"},
    {{.name = "s", .kind = VV_TIMERS}, VV_INVALID, "kind 6"},
    {{.name = "s", .kind = VV_VALUE, .ns = (vv_namespace)3}, VV_INVALID, "ns 3"},
    {{.name = "s", .kind = VV_VALUE, .fixed_value_bytes = VV_FIXED_MAX + 1}, VV_LIMIT, "65537"},
    {{.name = "s", .kind = VV_VALUE, .ttl_ms = UINT64_MAX}, VV_LIMIT, "ttl_ms"},
    {{.name = "s", .kind = VV_VALUE, .ttl_ms = 1, .ttl_update = (vv_ttl_update)2},
     VV_INVALID,
     "ttl_update 2"},
    {{.name = "counts", .kind = VV_VALUE}, VV_EXISTS, "open already"},
};

START_TEST(a_wrong_description_is_refused)
{
    vv_state *s;

    open_rig(0);
    ck_assert_vv_code(vv_state_open(rig.store, &bad_descs[_i].desc, &s, &error), bad_descs[_i].code,
                      bad_descs[_i].message);
    ck_assert_ptr_null(s);
    ck_assert_vv_code(vv_state_open(rig.store, NULL, &s, &error), VV_INVALID, "desc is NULL");
    ck_assert_vv_code(vv_state_open(NULL, &bad_descs[_i].desc, &s, &error), VV_INVALID,
                      "store is NULL");
    ck_assert_vv_code(vv_state_open(rig.store, &bad_descs[_i].desc, NULL, &error), VV_INVALID,
                      "out is NULL");
}
END_TEST

/* ---- raw access ------------------------------------------------------------------------------ */

START_TEST(what_is_put_is_there_until_it_is_deleted)
{
    static const char *const names[] = {"a", "b", "c", "b"};
    vv_state *s;
    vv_bytes values[4] = {BYTES("1"), BYTES("2"), BYTES(""), BYTES("4")}, got[4];
    vv_keys keys;

    open_rig(_i);
    s = rig_state(&rig, "texts", VV_VALUE, 0, NULL);
    keys = rig_keys(builder, names, 4);
    ck_assert_vv(vv_raw_put(s, &keys, values, &error));
    ck_assert_vv(vv_raw_get(s, &keys, got, &error));
    ck_assert_vv_bytes(got[0], "1");
    ck_assert_vv_bytes(got[1], "4"); /* the later one in the batch */
    ck_assert(got[2].data != NULL && got[2].len == 0);
    ck_assert_vv(vv_raw_delete_one(s, first_key(keys), &error));
    ck_assert_vv(vv_raw_get_one(s, first_key(keys), got, &error));
    ck_assert_ptr_null(got[0].data);
    ck_assert_vv(vv_raw_put_one(s, first_key(keys), values[3], &error));
    ck_assert_vv(vv_raw_get_one(s, first_key(keys), got, &error));
    ck_assert_vv_bytes(got[0], "4");
    ck_assert_vv(vv_raw_delete(s, &keys, &error));
    ck_assert_vv(vv_raw_get(s, &keys, got, &error));
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_null(got[i].data);
}
END_TEST

START_TEST(an_upsert_hands_out_the_row_itself)
{
    uint8_t key[RIG_KEY_BYTES], fresh = 7;
    uint64_t n = 5;
    void *row;
    vv_bytes value;

    open_rig(_i);
    rig_key(42, key);
    ck_assert_vv(
        vv_raw_upsert_one(rig.counts, (vv_bytes){key, RIG_KEY_BYTES}, &row, &fresh, &error));
    ck_assert_uint_eq(fresh, 1);
    memcpy(row, &n, 8);
    ck_assert_vv(vv_value_upsert(rig.counts, &(vv_keys){1, key, (uint32_t[]){0, RIG_KEY_BYTES}},
                                 &row, &fresh, &error));
    ck_assert_uint_eq(fresh, 0);
    ck_assert_mem_eq(row, &n, 8);
    ck_assert_vv(vv_raw_get_one(rig.counts, (vv_bytes){key, RIG_KEY_BYTES}, &value, &error));
    ck_assert_mem_eq(value.data, &n, 8);
}
END_TEST

/* The engine asserts what is checked here: each of these would end the process. */
static const struct {
    uint8_t data[6];
    uint32_t offsets[4], count;
    vv_code code;
    const char *message;
} bad_keys[] = {
    {{63, 1, 64, 2}, {0, 2, 4}, 2, VV_INVALID, "key 1: key group 64 is outside 32..63"},
    {{31, 1}, {0, 2}, 1, VV_INVALID, "key 0: key group 31"},
    {{40}, {0, 0}, 1, VV_INVALID, "key 0: 0 bytes"},
    {{40, 40}, {0, 1, 1, 2}, 3, VV_INVALID, "key 1: 0 bytes"},
    {{40, 40, 40}, {0, 2, 1, 3}, 3, VV_INVALID, "key 1: offsets descend from 2 to 1"},
    {{40}, {5, 4}, 1, VV_INVALID, "offsets descend from 5 to 4"},
    {{40}, {0, 1}, VV_BATCH_MAX + 1, VV_LIMIT, "1048577 keys"},
};

START_TEST(keys_that_are_not_the_stores_are_refused_by_every_call)
{
    vv_keys keys = {bad_keys[_i].count, bad_keys[_i].data, bad_keys[_i].offsets};
    vv_bytes values[3] = {BYTES("12345678"), BYTES("12345678"), BYTES("12345678")};
    void *rows[3];
    uint8_t fresh[3];
    int64_t at[3] = {0};
    vv_timers *timers;

    rig_open(&rig, &tmp, backends[_i % 2], 32, 63, NULL, 0);
    ck_assert_vv(vv_timers_open(rig.store, VV_EVENT_TIME, "t", VV_NS_NONE, "", &timers, &error));
#define REFUSED(call) ck_assert_vv_code(call, bad_keys[_i].code, bad_keys[_i].message)
    REFUSED(vv_raw_upsert(rig.counts, &keys, rows, fresh, &error));
    REFUSED(vv_raw_get(rig.counts, &keys, values, &error));
    REFUSED(vv_raw_put(rig.counts, &keys, values, &error));
    REFUSED(vv_raw_delete(rig.counts, &keys, &error));
    REFUSED(vv_value_upsert(rig.counts, &keys, rows, fresh, &error));
    REFUSED(vv_value_get(rig.counts, &keys, values, &error));
    REFUSED(vv_value_put(rig.counts, &keys, values, &error));
    REFUSED(vv_clear(rig.counts, &keys, &error));
    REFUSED(vv_timers_register(timers, &keys, at, &error));
    REFUSED(vv_timers_delete(timers, &keys, at, &error));
#undef REFUSED
}
END_TEST

START_TEST(two_bytes_of_key_group_are_read_where_there_are_more_than_128)
{
    vv_state_desc desc = {.name = "s", .kind = VV_VALUE};
    vv_store_config config = {.first_group = 300, .last_group = 599, .group_count = 600};
    vv_store *store;
    vv_state *s;

    ck_assert_vv(vv_store_open(&config, &store, &error));
    ck_assert_vv(vv_state_open(store, &desc, &s, &error));
    ck_assert_vv(vv_raw_put_one(s, BYTES("\x01\x2c"), BYTES("v"), &error));
    ck_assert_vv_code(vv_raw_put_one(s, BYTES("\x01\x2b"), BYTES("v"), &error), VV_INVALID,
                      "key group 299");
    ck_assert_vv_code(vv_raw_put_one(s, BYTES("\x02\x58"), BYTES("v"), &error), VV_INVALID,
                      "key group 600");
    ck_assert_vv_code(vv_raw_put_one(s, BYTES("\x01"), BYTES("v"), &error), VV_INVALID, "1 bytes");
    vv_store_close(store);
}
END_TEST

START_TEST(values_of_another_size_are_refused)
{
    static const char *const names[] = {"a", "b"};
    vv_bytes values[2] = {BYTES("12345678"), BYTES("1234")};
    vv_keys keys = rig_keys(builder, names, 2);
    vv_state *s;
    vv_bytes got;
    void *row;
    uint8_t fresh;

    open_rig(_i);
    s = rig_state(&rig, "varying", VV_VALUE, 0, NULL);
    ck_assert_vv_code(vv_raw_put(rig.counts, &keys, values, &error), VV_INVALID,
                      "value 1 has 4 bytes instead of 8");
    ck_assert_vv_code(vv_value_put(rig.counts, &keys, values, &error), VV_INVALID, "4 bytes");
    ck_assert_vv(vv_raw_get_one(rig.counts, first_key(keys), &got, &error));
    ck_assert_ptr_null(got.data); /* nothing of the batch was done */
    ck_assert_vv_code(vv_raw_put_one(s, first_key(keys), (vv_bytes){NULL, 0}, &error), VV_INVALID,
                      "value 0 is NULL");
    ck_assert_vv_code(vv_raw_upsert_one(s, first_key(keys), &row, &fresh, &error), VV_INVALID,
                      "vary in size");
    ck_assert_vv_code(vv_value_upsert(s, &keys, &row, &fresh, &error), VV_INVALID, "in place");
}
END_TEST

START_TEST(what_is_missing_is_refused)
{
    static const char *const names[] = {"a"};
    vv_keys keys = rig_keys(builder, names, 1), none = {1, NULL, keys.offsets}, empty = {0};
    vv_bytes value = BYTES("12345678");
    void *row;
    uint8_t fresh;

    open_rig(0);
    ck_assert_vv_code(vv_raw_get(NULL, &keys, &value, &error), VV_INVALID, "state is NULL");
    ck_assert_vv_code(vv_raw_put(NULL, &keys, &value, &error), VV_INVALID, "state is NULL");
    ck_assert_vv_code(vv_raw_delete(NULL, &keys, &error), VV_INVALID, "state is NULL");
    ck_assert_vv_code(vv_raw_upsert(NULL, &keys, &row, &fresh, &error), VV_INVALID,
                      "state is NULL");
    ck_assert_vv_code(vv_raw_get(rig.counts, NULL, &value, &error), VV_INVALID, "NULL");
    ck_assert_vv_code(vv_raw_get(rig.counts, &none, &value, &error), VV_INVALID, "without data");
    none = (vv_keys){1, keys.data, NULL};
    ck_assert_vv_code(vv_raw_get(rig.counts, &none, &value, &error), VV_INVALID, "without offsets");
    ck_assert_vv_code(vv_raw_get(rig.counts, &keys, NULL, &error), VV_INVALID, "values is NULL");
    ck_assert_vv_code(vv_raw_put(rig.counts, &keys, NULL, &error), VV_INVALID, "values is NULL");
    ck_assert_vv_code(vv_raw_upsert(rig.counts, &keys, NULL, &fresh, &error), VV_INVALID, "rows");
    ck_assert_vv_code(vv_raw_upsert(rig.counts, &keys, &row, NULL, &error), VV_INVALID, "fresh");
    ck_assert_vv_code(vv_raw_get_one(rig.counts, (vv_bytes){NULL, 3}, &value, &error), VV_INVALID,
                      "without data");
    ck_assert_vv_code(
        vv_raw_get_one(rig.counts, (vv_bytes){keys.data, (size_t)2 << 30}, &value, &error),
        VV_LIMIT, "exceeds");
    ck_assert_vv(vv_raw_get(rig.counts, &empty, NULL, &error));
    ck_assert_vv(vv_raw_put(rig.counts, &empty, NULL, &error));
    ck_assert_vv(vv_raw_delete(rig.counts, &empty, &error));
    ck_assert_vv(vv_raw_upsert(rig.counts, &empty, NULL, NULL, &error));
}
END_TEST

/* ---- scans ----------------------------------------------------------------------------------- */

START_TEST(a_scan_gives_every_entry_once_in_order_of_its_key)
{
    uint8_t last[RIG_KEY_BYTES] = {0};
    vv_bytes keys[77], values[77];
    vv_scan *scan;
    uint32_t got, seen = 0;

    open_rig(_i % 2);
    rig_add(&rig, 0, 127, 0, 3000, 1);
    ck_assert_vv(vv_scan_open(rig.counts, (vv_bytes){0}, _i / 2 == 0 ? VV_SCAN_LIVE : VV_SCAN_COPY,
                              &scan, &error));
    do {
        ck_assert_vv(vv_scan_next(scan, 77, keys, values, &got, &error));
        for (uint32_t i = 0; i < got; i++, seen++) {
            ck_assert(seen == 0 || memcmp(keys[i].data, last, RIG_KEY_BYTES) > 0);
            memcpy(last, keys[i].data, RIG_KEY_BYTES);
            ck_assert_uint_eq(values[i].len, 8);
        }
    } while (got > 0);
    ck_assert_uint_eq(seen, 3000);
    vv_scan_close(scan);
}
END_TEST

/* The engine's cursors need the state to hold still; a copy does not. */
START_TEST(a_live_scan_forbids_changes_and_a_copy_does_not)
{
    uint8_t key[RIG_KEY_BYTES], fresh;
    vv_bytes k = {key, RIG_KEY_BYTES}, value = BYTES("12345678"), got_key, got_value;
    vv_keys keys = {1, key, (uint32_t[]){0, RIG_KEY_BYTES}};
    vv_scan *live, *copy;
    uint32_t got;
    void *row;

    open_rig(_i);
    rig_key(1, key);
    ck_assert_vv(vv_raw_put_one(rig.counts, k, value, &error));
    ck_assert_vv(vv_scan_open(rig.counts, (vv_bytes){0}, VV_SCAN_COPY, &copy, &error));
    ck_assert_vv(vv_scan_open(rig.counts, (vv_bytes){0}, VV_SCAN_LIVE, &live, &error));
    ck_assert_vv_code(vv_raw_put_one(rig.counts, k, value, &error), VV_STATE, "live scan");
    ck_assert_vv_code(vv_raw_delete_one(rig.counts, k, &error), VV_STATE, "live scan");
    ck_assert_vv_code(vv_raw_upsert_one(rig.counts, k, &row, &fresh, &error), VV_STATE, "scan");
    ck_assert_vv_code(vv_value_put(rig.counts, &keys, &value, &error), VV_STATE, "live scan");
    ck_assert_vv_code(vv_clear(rig.counts, &keys, &error), VV_STATE, "live scan");
    ck_assert_vv(vv_raw_get_one(rig.counts, k, &got_value, &error));
    vv_scan_close(live);
    ck_assert_vv(vv_raw_delete_one(rig.counts, k, &error));
    ck_assert_vv(vv_scan_next(copy, 1, &got_key, &got_value, &got, &error));
    ck_assert_uint_eq(got, 1);
    ck_assert_vv_bytes(got_value, "12345678");
    ck_assert_vv(vv_scan_next(copy, 1, &got_key, &got_value, &got, &error));
    ck_assert_uint_eq(got, 0);
    vv_scan_close(copy);
}
END_TEST

START_TEST(wrong_scans_are_refused)
{
    vv_bytes key, value;
    vv_scan *scan;
    uint32_t got = 9;

    open_rig(0);
    ck_assert_vv_code(vv_scan_open(NULL, (vv_bytes){0}, 0, &scan, &error), VV_INVALID, "state");
    ck_assert_vv_code(vv_scan_open(rig.counts, (vv_bytes){0}, 0, NULL, &error), VV_INVALID, "out");
    ck_assert_vv_code(vv_scan_open(rig.counts, (vv_bytes){0}, 2, &scan, &error), VV_INVALID,
                      "flags 2");
    ck_assert_vv_code(vv_scan_open(rig.counts, (vv_bytes){NULL, 2}, 0, &scan, &error), VV_INVALID,
                      "prefix is NULL");
    ck_assert_vv_code(vv_scan_open_group(rig.counts, 128, 0, &scan, &error), VV_INVALID,
                      "key group 128 is outside 0..127");
    ck_assert_ptr_null(scan);
    ck_assert_vv(vv_scan_open_group(rig.counts, 127, 0, &scan, &error));
    ck_assert_vv_code(vv_scan_next(scan, 0, &key, &value, &got, &error), VV_INVALID, "max is 0");
    ck_assert_vv_code(vv_scan_next(scan, 1, NULL, &value, &got, &error), VV_INVALID, "keys");
    ck_assert_vv_code(vv_scan_next(scan, 1, &key, NULL, &got, &error), VV_INVALID, "values");
    ck_assert_vv_code(vv_scan_next(scan, 1, &key, &value, NULL, &error), VV_INVALID, "got");
    ck_assert_vv_code(vv_scan_next(NULL, 1, &key, &value, &got, &error), VV_INVALID, "NULL");
    vv_scan_close(NULL); /* the open one goes with its store */
}
END_TEST

/* ---- keys ------------------------------------------------------------------------------------ */

/* What a binary row of one BIGINT hashes to is fixed by conformance tests; here: padding, ranges.
 */
START_TEST(key_groups_are_the_engines)
{
    uint32_t first, last, next = 0;

    ck_assert_uint_eq(vv_key_group_of_hash(0x05899680u, 128), 116); /* "alice" in Java */
    ck_assert_uint_eq(vv_key_group(BYTES("abc"), 128), vv_key_group(BYTES("abc\0"), 128));
    ck_assert_uint_eq(vv_key_group(BYTES("abc"), 0), VV_NO_GROUP);
    ck_assert_uint_eq(vv_key_group(BYTES("abc"), 32769), VV_NO_GROUP);
    ck_assert_uint_eq(vv_key_group((vv_bytes){NULL, 4}, 128), VV_NO_GROUP);
    ck_assert_uint_eq(vv_key_group_of_hash(1, 0), VV_NO_GROUP);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_vv(vv_key_group_range(i, 3, 128, &first, &last, &error));
        ck_assert_uint_eq(first, next);
        for (uint32_t g = first; g <= last; g++)
            ck_assert_uint_eq(vv_key_group_owner(g, 3, 128), i);
        next = last + 1;
    }
    ck_assert_uint_eq(next, 128);
    ck_assert_uint_eq(vv_key_group_owner(128, 3, 128), VV_NO_GROUP);
    ck_assert_uint_eq(vv_key_group_owner(1, 0, 128), VV_NO_GROUP);
    ck_assert_vv_code(vv_key_group_range(3, 3, 128, &first, &last, &error), VV_INVALID, "3 of 3");
    ck_assert_vv_code(vv_key_group_range(0, 129, 128, &first, &last, &error), VV_INVALID, "129");
    ck_assert_vv_code(vv_key_group_range(0, 1, 0, &first, &last, &error), VV_INVALID,
                      "group_count");
    ck_assert_vv_code(vv_key_group_range(0, 1, 1, NULL, &last, &error), VV_INVALID, "first_group");
}
END_TEST

START_TEST(a_built_key_comes_apart_again)
{
    vv_key_builder *b;
    vv_key_parts p;
    vv_keys keys;

    ck_assert_vv(vv_key_builder_new(300, VV_NS_BYTES, &b, &error));
    ck_assert_vv(
        vv_key_builder_add_bytes(b, 299, BYTES("key"), BYTES("ns"), BYTES("user"), &error));
    keys = vv_key_builder_keys(b);
    ck_assert_vv(vv_key_split(first_key(keys), 300, VV_NS_BYTES, &p, &error));
    ck_assert_uint_eq(p.group, 299);
    ck_assert_vv_bytes(p.key, "key");
    ck_assert_vv_bytes(p.ns, "ns");
    ck_assert_vv_bytes(p.user_key, "user");
    ck_assert_vv_code(vv_key_split(BYTES("\x01\x02xyz"), 300, VV_NS_BYTES, &p, &error), VV_CORRUPT,
                      "");
    ck_assert_vv_code(vv_key_split(BYTES("x"), 300, (vv_namespace)7, &p, &error), VV_INVALID, "ns");
    ck_assert_vv_code(vv_key_split(BYTES("x"), 0, VV_NS_NONE, &p, &error), VV_INVALID, "group");
    ck_assert_vv_code(vv_key_split(BYTES("x"), 1, VV_NS_NONE, NULL, &error), VV_INVALID, "out");
    ck_assert_vv_code(vv_key_builder_add(b, 0, BYTES("k"), (vv_bytes){0}, &error), VV_INVALID,
                      "another kind of namespace");
    ck_assert_vv_code(vv_key_builder_add_int64(b, 0, BYTES("k"), 0, (vv_bytes){0}, &error),
                      VV_INVALID, "another kind of namespace");
    ck_assert_vv_code(
        vv_key_builder_add_bytes(b, 300, BYTES("k"), BYTES("n"), (vv_bytes){0}, &error), VV_INVALID,
        "key group 300 of 300");
    ck_assert_vv_code(
        vv_key_builder_add_bytes(b, 1, (vv_bytes){NULL, 1}, BYTES("n"), (vv_bytes){0}, &error),
        VV_INVALID, "key is NULL");
    ck_assert_vv_code(vv_key_builder_add_bytes(b, 1, BYTES("k"),
                                               (vv_bytes){keys.data, (size_t)1 << 40},
                                               (vv_bytes){0}, &error),
                      VV_LIMIT, "ns of");
    ck_assert_vv(vv_key_builder_add_raw(b, BYTES("\0\1any"), &error));
    ck_assert_uint_eq(vv_key_builder_keys(b).count, 2);
    vv_key_builder_clear(b);
    ck_assert_uint_eq(vv_key_builder_keys(b).count, 0);
    vv_key_builder_free(b);
    ck_assert_vv_code(vv_key_builder_new(0, VV_NS_NONE, &b, &error), VV_INVALID, "group_count");
    ck_assert_vv_code(vv_key_builder_new(1, (vv_namespace)9, &b, &error), VV_INVALID, "ns 9");
    ck_assert_vv_code(vv_key_builder_new(1, VV_NS_NONE, NULL, &error), VV_INVALID, "out");
    ck_assert_vv_code(vv_key_builder_add(NULL, 0, BYTES("k"), BYTES(""), &error), VV_INVALID,
                      "builder is NULL");
    ck_assert_vv_code(vv_key_builder_add_raw(NULL, BYTES("k"), &error), VV_INVALID, "builder");
    ck_assert_uint_eq(vv_key_builder_keys(NULL).count, 0);
    vv_key_builder_clear(NULL);
    vv_key_builder_free(NULL);
}
END_TEST

/* ---- timers ---------------------------------------------------------------------------------- */

START_TEST(timers_fire_in_order_and_once)
{
    static const char *const names[] = {"a", "b", "c"};
    vv_keys keys = rig_keys(builder, names, 3), got, b = {1, keys.data, keys.offsets + 1};
    int64_t at[3] = {30, 10, 20};
    const int64_t *got_at;
    vv_timers *t;

    open_rig(_i);
    ck_assert_vv(vv_timers_open(rig.store, VV_EVENT_TIME, "user", VV_NS_NONE, "K", &t, &error));
    ck_assert_int_eq(vv_timers_next_ms(t), INT64_MAX);
    ck_assert_vv(vv_timers_register(t, &keys, at, &error));
    ck_assert_vv(vv_timers_register(t, &keys, at, &error)); /* again: nothing */
    ck_assert_uint_eq(vv_timers_count(t), 3);
    ck_assert_int_eq(vv_timers_next_ms(t), 10);
    ck_assert_vv(vv_timers_delete(t, &b, at + 1, &error));
    ck_assert_vv(vv_timers_pop(t, 25, UINT32_MAX, &got, &got_at, &error));
    ck_assert_uint_eq(got.count, 1);
    ck_assert_int_eq(got_at[0], 20);
    ck_assert_vv(vv_timers_pop(t, INT64_MAX, 10, &got, &got_at, &error));
    ck_assert_uint_eq(got.count, 1);
    ck_assert_int_eq(got_at[0], 30);
    ck_assert_uint_eq(vv_timers_count(t), 0);
}
END_TEST

START_TEST(wrong_timers_are_refused)
{
    static const char *const names[] = {"a"};
    vv_keys keys = rig_keys(builder, names, 1), got;
    const int64_t *at;
    int64_t ms = 0;
    vv_timers *t, *u;

    open_rig(0);
    ck_assert_vv(vv_timers_open(rig.store, VV_EVENT_TIME, "t", VV_NS_NONE, NULL, &t, &error));
#define BAD_OPEN(store, time, service, ns, code, part)                                             \
    ck_assert_vv_code(vv_timers_open(store, time, service, ns, "", &u, &error), code, part)
    BAD_OPEN(rig.store, VV_EVENT_TIME, "t", VV_NS_NONE, VV_EXISTS, "open already");
    BAD_OPEN(NULL, VV_EVENT_TIME, "u", VV_NS_NONE, VV_INVALID, "store is NULL");
    BAD_OPEN(rig.store, (vv_time)2, "u", VV_NS_NONE, VV_INVALID, "time 2");
    BAD_OPEN(rig.store, VV_EVENT_TIME, NULL, VV_NS_NONE, VV_INVALID, "service is NULL");
    BAD_OPEN(rig.store, VV_EVENT_TIME, "", VV_NS_NONE, VV_INVALID, "1 to 200");
    BAD_OPEN(rig.store, VV_EVENT_TIME, "u", (vv_namespace)3, VV_INVALID, "ns 3");
#undef BAD_OPEN
    ck_assert_vv(vv_timers_open(rig.store, VV_PROCESSING_TIME, "t", VV_NS_NONE, "", &u, &error));
    ck_assert_vv_code(vv_timers_register(NULL, &keys, &ms, &error), VV_INVALID, "timers is NULL");
    ck_assert_vv_code(vv_timers_register(t, &keys, NULL, &error), VV_INVALID, "at_ms is NULL");
    ck_assert_vv_code(vv_timers_delete(t, NULL, &ms, &error), VV_INVALID, "NULL");
    ck_assert_vv_code(vv_timers_pop(t, 0, 0, &got, &at, &error), VV_INVALID, "max is 0");
    ck_assert_vv_code(vv_timers_pop(t, 0, 1, NULL, &at, &error), VV_INVALID, "keys is NULL");
    ck_assert_vv_code(vv_timers_pop(t, 0, 1, &got, NULL, &error), VV_INVALID, "at_ms is NULL");
    ck_assert_vv_code(vv_timers_pop(NULL, 0, 1, &got, &at, &error), VV_INVALID, "timers is NULL");
    ck_assert_uint_eq(vv_timers_count(NULL), 0);
    ck_assert_int_eq(vv_timers_next_ms(NULL), INT64_MAX);
}
END_TEST

START_TEST(the_version_is_the_headers)
{
    char want[32];

    snprintf(want, sizeof want, "%d.%d.", VV_VERSION_MAJOR, VV_VERSION_MINOR);
    ck_assert_msg(strncmp(vv_version(), want, strlen(want)) == 0, "%s", vv_version());
}
END_TEST

TEST_MAIN("varve_state", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_wrong_option_is_refused_and_named, 0, ARRAY_LEN(bad_options));
    tcase_add_loop_test(tc, a_range_that_is_none_is_refused, 0, ARRAY_LEN(bad_ranges));
    tcase_add_test(tc, a_store_refuses_what_it_needs_and_does_not_get);
    tcase_add_test(tc, two_stores_in_one_place_have_directories_of_their_own_that_go_with_them);
    tcase_add_loop_test(tc, statistics_count_what_is_there, 0, 2);
    tcase_add_test(tc, stores_share_memory_and_files);
    tcase_add_test(tc, wrong_memory_is_refused);
    tcase_add_test(tc, too_few_open_files_are_refused_with_the_number);
    tcase_add_loop_test(tc, a_state_is_described_as_it_was_opened, 0, 2);
    tcase_add_loop_test(tc, a_wrong_description_is_refused, 0, ARRAY_LEN(bad_descs));
    tcase_add_loop_test(tc, what_is_put_is_there_until_it_is_deleted, 0, 2);
    tcase_add_loop_test(tc, an_upsert_hands_out_the_row_itself, 0, 2);
    tcase_add_loop_test(tc, keys_that_are_not_the_stores_are_refused_by_every_call, 0,
                        ARRAY_LEN(bad_keys));
    tcase_add_test(tc, two_bytes_of_key_group_are_read_where_there_are_more_than_128);
    tcase_add_loop_test(tc, values_of_another_size_are_refused, 0, 2);
    tcase_add_test(tc, what_is_missing_is_refused);
    tcase_add_loop_test(tc, a_scan_gives_every_entry_once_in_order_of_its_key, 0, 4);
    tcase_add_loop_test(tc, a_live_scan_forbids_changes_and_a_copy_does_not, 0, 2);
    tcase_add_test(tc, wrong_scans_are_refused);
    tcase_add_test(tc, key_groups_are_the_engines);
    tcase_add_test(tc, a_built_key_comes_apart_again);
    tcase_add_loop_test(tc, timers_fire_in_order_and_once, 0, 2);
    tcase_add_test(tc, wrong_timers_are_refused);
    tcase_add_test(tc, the_version_is_the_headers);
})
