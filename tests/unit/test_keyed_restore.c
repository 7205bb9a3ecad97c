/* links: backend */
/* States that become others while they are restored: from and to both backends, whole and split
 * over ranges. What a restore does otherwise is in test_rocks_backend and prop_backends_agree. */
#include "backend/key_codec.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/tmpdir.h"

#define KEYS 20000u /* more than fit the row cache */

static const struct state_desc counts = {
    "counts", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "ROW<`n` BIGINT>", 16, 0, "", 0};
static const struct state_desc wider = {
    "counts", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "ROW<`m` BIGINT, `n` BIGINT>", 24, 0,
    "",       0};
static const struct state_desc words = {
    "words", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "STRING", 0, 0, "", 0};
static const struct state_desc gone = {
    "gone", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "STRING", 0, 0, "", 0};
static const struct state_desc new_gone = {
    "gone", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "BYTES", 0, 0, "", 0};

static const struct { enum backend_kind from, to; } kinds[] = {
    {BACKEND_HASHMAP, BACKEND_HASHMAP},
    {BACKEND_HASHMAP, BACKEND_ROCKSDB},
    {BACKEND_ROCKSDB, BACKEND_HASHMAP},
    {BACKEND_ROCKSDB, BACKEND_ROCKSDB},
};
static const struct key_group_range all = {0, 127};

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

/* { 8 bytes of `ctx`, the old value's number } */
static enum rc widen(const void *ctx, const uint8_t *from, uint8_t *to, struct err *err)
{
    const uint64_t *limit = ctx;

    if (get_le64(from + 8) >= *limit)
        return err_set(err, RC_INVALID, "%llu does not fit",
                       (unsigned long long)get_le64(from + 8));
    memset(to, 0, 24);
    put_le64(to + 8, 7);
    memcpy(to + 16, from + 8, 8);
    return RC_OK;
}

static uint64_t no_limit = UINT64_MAX, some_limit = KEYS / 2;
static const struct state_change changes[] = {{&counts, &wider, widen, &no_limit},
                                              {&gone, NULL, NULL, NULL}};

static enum rc try_open(enum backend_kind kind, struct key_group_range range,
                        const struct keyed_handle *h, size_t count,
                        const struct state_change *change, size_t change_count,
                        struct keyed_backend **out, struct err *err)
{
    struct keyed_backend_config config = {.env = dir_target_env(),
                                          .kind = kind,
                                          .range = range,
                                          .key_group_count = 128,
                                          .local_dir =
                                              arena_printf(arena, "%s/db-%d", tmp.path, opened++),
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "GroupAggregate[k] (1/1)",
                                          .memory_bytes = 1u << 20,
                                          .max_open_files = -1,
                                          .restore = h,
                                          .restore_count = count,
                                          .restore_operator = "GroupAggregate[k]",
                                          .changes = change,
                                          .change_count = change_count};

    return keyed_backend_open(&config, out, err);
}

static struct keyed_state *open_state(struct keyed_backend *b, const struct state_desc *desc)
{
    struct keyed_state *s;
    struct err err = {0};

    ck_assert_ok(keyed_state_open(b, desc, &s, &err));
    return s;
}

/* Numbers n = 0 .. KEYS - 1 under their own key: in `counts` n, in the texts "<n>". */
static void fill(struct keyed_backend *b)
{
    struct keyed_state *s = open_state(b, &counts), *w = open_state(b, &words),
                       *g = open_state(b, &gone);
    struct key_builder keys;
    static uint8_t rows[1000][16];
    static char texts[1000][20];
    static struct bytes values[1000], text_values[1000];
    struct err err = {0};

    key_builder_init(&keys, 128, KEY_NS_VOID);
    for (uint32_t n = 0; n < KEYS;) {
        struct key_batch batch;

        key_builder_clear(&keys);
        for (uint32_t i = 0; i < 1000; i++, n++) {
            uint8_t row[16] = {0};

            put_le64(row + 8, n);
            put_le64(rows[i] + 8, n);
            values[i] = bytes_of(rows[i], 16);
            text_values[i] =
                bytes_of(texts[i], (size_t)snprintf(texts[i], sizeof texts[i], "%u", n));
            if (key_builder_add(&keys, n % 128, bytes_of(row, 16), 0, (struct bytes){0}, &err) !=
                RC_OK)
                ck_abort_msg("%s", err.msg);
        }
        batch = key_builder_batch(&keys);
        ck_assert_ok(keyed_put(s, &batch, values, &err));
        ck_assert_ok(keyed_put(w, &batch, text_values, &err));
        ck_assert_ok(keyed_put(g, &batch, text_values, &err));
    }
    key_builder_release(&keys);
}

static void snapshot(struct keyed_backend *b, uint64_t id, struct keyed_handle *h)
{
    struct keyed_snapshot *s;
    struct err err = {0};

    ck_assert_ok(keyed_snapshot_begin(b, id, &s, &err));
    ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, h, &err));
    keyed_snapshot_free(s);
    dir_target_resolve(&target, arena, h);
}

static void take_old(enum backend_kind kind, struct keyed_handle *h)
{
    struct keyed_backend *b;
    struct err err = {0};

    ck_assert_ok(try_open(kind, all, NULL, 0, NULL, 0, &b, &err));
    fill(b);
    snapshot(b, 1, h);
    keyed_backend_close(b);
}

/* How many entries; the sum of what `value_of` gives of each. */
static uint32_t sum_up(struct keyed_state *s, uint64_t (*value_of)(struct bytes), uint64_t *sum)
{
    struct keyed_cursor *c;
    struct bytes keys[500], values[500];
    uint32_t got, n = 0;
    struct err err = {0};

    *sum = 0;
    ck_assert_ok(keyed_scan_open(s, (struct bytes){0}, &c, &err));
    do {
        if (keyed_scan_next(c, 500, keys, values, &got, &err) != RC_OK)
            ck_abort_msg("%s", err.msg);
        for (uint32_t i = 0; i < got; i++)
            *sum += value_of(values[i]);
        n += got;
    } while (got > 0);
    keyed_scan_close(c);
    return n;
}

static uint64_t of_wider(struct bytes v)
{
    if (v.len != 24 || get_le64(v.data + 8) != 7)
        ck_abort_msg("a value of %zu bytes was not rewritten", v.len);
    return get_le64(v.data + 16);
}

static uint64_t of_text(struct bytes v)
{
    uint64_t n = 0;

    for (size_t i = 0; i < v.len; i++)
        n = 10 * n + (uint64_t)(v.data[i] - '0');
    return n;
}

/* The sums over all backends together. */
struct expected {
    uint32_t entries;
    uint64_t counts, words;
};
static void look(struct keyed_backend *b, struct expected *e)
{
    uint64_t sum, words_sum;
    uint32_t n = sum_up(open_state(b, &wider), of_wider, &sum);

    ck_assert_uint_eq(sum_up(open_state(b, &words), of_text, &words_sum), n);
    e->entries += n;
    e->counts += sum;
    e->words += words_sum;
}

static void check_all(const struct expected *e)
{
    ck_assert_uint_eq(e->entries, KEYS);
    ck_assert_uint_eq(e->counts, (uint64_t)KEYS * (KEYS - 1) / 2);
    ck_assert_uint_eq(e->words, (uint64_t)KEYS * (KEYS - 1) / 2);
}

/* Otherwise: old values under a new type, or a state that is carried along for ever. */
START_TEST(a_state_is_rewritten_and_another_dropped_while_they_are_restored)
{
    struct keyed_handle h, again;
    struct keyed_backend *b;
    struct expected e = {0}, after = {0};
    uint64_t sum;
    struct err err = {0};

    take_old(kinds[_i].from, &h);
    ck_assert_ok(try_open(kinds[_i].to, all, &h, 1, changes, 2, &b, &err));
    look(b, &e);
    check_all(&e);
    ck_assert_uint_eq(sum_up(open_state(b, &new_gone), of_text, &sum), 0);
    snapshot(b, 2, &again);
    keyed_backend_close(b);
    ck_assert_uint_eq(again.state_count, 3);

    ck_assert_ok(try_open(kinds[_i].to, all, &again, 1, NULL, 0, &b, &err));
    look(b, &after);
    check_all(&after);
    ck_assert_uint_eq(sum_up(open_state(b, &new_gone), of_text, &sum), 0);
    keyed_backend_close(b);
}
END_TEST

/* The time of a value that expires goes along; turned on or off is it when the job opens the state. */
START_TEST(values_that_expire_keep_their_time)
{
    struct state_desc was = counts, is = wider;
    struct state_change change = {&was, &is, widen, &no_limit};
    struct keyed_handle h, again;
    struct keyed_backend *b;
    struct keyed_state *s;
    struct keyed_cursor *c;
    struct bytes key, value;
    uint8_t row[16] = {0}, stored[24];
    struct bytes stored_bytes = {stored, sizeof stored};
    struct key_builder keys;
    struct key_batch batch;
    struct err err = {0};
    uint32_t got;

    was.ttl_ms = 3600000;
    is.ttl_ms = 7200000;
    ck_assert_ok(try_open(kinds[_i].from, all, NULL, 0, NULL, 0, &b, &err));
    s = open_state(b, &was);
    key_builder_init(&keys, 128, KEY_NS_VOID);
    ck_assert_ok(key_builder_add(&keys, 3, bytes_of(row, 16), 0, (struct bytes){0}, &err));
    put_be64(stored, (uint64_t)keyed_ttl_now(b) - 1000);
    memcpy(stored + 8, "12345678", 8);
    put_le64(stored + 16, 99);
    batch = key_builder_batch(&keys);
    ck_assert_ok(keyed_put(s, &batch, &stored_bytes, &err));
    snapshot(b, 1, &h);
    keyed_backend_close(b);
    ck_assert_ok(try_open(kinds[_i].to, all, &h, 1, &change, 1, &b, &err));
    s = open_state(b, &is);
    ck_assert_ok(keyed_scan_open(s, (struct bytes){0}, &c, &err));
    ck_assert_ok(keyed_scan_next(c, 1, &key, &value, &got, &err));
    ck_assert_uint_eq(got, 1);
    ck_assert_uint_eq(value.len, 32);
    ck_assert_int_eq(memcmp(value.data, stored, 8), 0);
    ck_assert_uint_eq(of_wider(bytes_of(value.data + 8, 24)), 99);
    keyed_scan_close(c);
    snapshot(b, 2, &again);
    ck_assert_uint_eq(again.states[0].ttl_ms, 7200000);
    keyed_backend_close(b);
    key_builder_release(&keys);
}
END_TEST

/* What is dropped and not opened anew is in no later snapshot. */
START_TEST(a_dropped_state_is_not_in_the_next_snapshot)
{
    struct keyed_handle h, again;
    struct keyed_backend *b;
    struct err err = {0};

    take_old(kinds[_i].from, &h);
    ck_assert_ok(try_open(kinds[_i].to, all, &h, 1, changes, 2, &b, &err));
    snapshot(b, 2, &again);
    keyed_backend_close(b);
    ck_assert_uint_eq(again.state_count, 2);
    for (size_t i = 0; i < again.state_count; i++)
        ck_assert_str_ne(again.states[i].name, "gone");
    ck_assert_ok(try_open(kinds[_i].to, all, &again, 1, NULL, 0, &b, &err));
    keyed_backend_close(b);
}
END_TEST

START_TEST(states_change_in_each_part_of_a_split_range)
{
    static const struct key_group_range parts[] = {{0, 40}, {41, 100}, {101, 127}};
    struct keyed_handle h, again[3];
    struct keyed_backend *b;
    struct expected e = {0}, joined = {0};
    struct err err = {0};

    take_old(kinds[_i].from, &h);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_ok(try_open(kinds[_i].to, parts[i], &h, 1, changes, 2, &b, &err));
        look(b, &e);
        snapshot(b, 2, &again[i]);
        keyed_backend_close(b);
    }
    check_all(&e);
    ck_assert_ok(try_open(kinds[_i].from, all, again, 3, NULL, 0, &b, &err));
    look(b, &joined);
    check_all(&joined);
    keyed_backend_close(b);
}
END_TEST

START_TEST(a_value_that_does_not_fit_ends_the_restore)
{
    static const struct state_change limited[] = {{&counts, &wider, widen, &some_limit}};
    struct keyed_handle h;
    struct keyed_backend *b;
    struct err err = {0};

    take_old(kinds[_i].from, &h);
    ck_assert_rc_msg(try_open(kinds[_i].to, all, &h, 1, limited, 1, &b, &err), RC_INVALID,
                     "does not fit");
    ck_assert_ptr_null(b);
}
END_TEST

/* The change was decided by another description than the one that lies in a handle. */
START_TEST(a_change_of_another_type_than_the_handles_is_refused)
{
    static const struct state_change wrong[] = {{&wider, &counts, widen, &no_limit}};
    struct keyed_handle h;
    struct keyed_backend *b;
    struct err err = {0};

    take_old(kinds[_i].from, &h);
    ck_assert_rc_msg(try_open(kinds[_i].to, all, &h, 1, wrong, 1, &b, &err), RC_CORRUPT,
                     "state counts differs");
}
END_TEST

TEST_MAIN("keyed_restore", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, a_state_is_rewritten_and_another_dropped_while_they_are_restored,
                              0, ARRAY_LEN(kinds));
          tcase_add_loop_test(tc, values_that_expire_keep_their_time, 0, ARRAY_LEN(kinds));
          tcase_add_loop_test(tc, a_dropped_state_is_not_in_the_next_snapshot, 0, ARRAY_LEN(kinds));
          tcase_add_loop_test(tc, states_change_in_each_part_of_a_split_range, 0, ARRAY_LEN(kinds));
          tcase_add_loop_test(tc, a_value_that_does_not_fit_ends_the_restore, 0, ARRAY_LEN(kinds));
          tcase_add_loop_test(tc, a_change_of_another_type_than_the_handles_is_refused, 0,
                              ARRAY_LEN(kinds));)
