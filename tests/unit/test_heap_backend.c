/* links: backend */
#include "backend/key_codec.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/tmpdir.h"

#include <signal.h>

static const struct state_desc acc = {
    "accState", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "ROW<`n` BIGINT>", 16, 0, "", 0};

static struct keyed_backend *open_backend(struct key_group_range range, size_t count,
                                          const struct keyed_handle *restore)
{
    struct keyed_backend_config config = {
        .env = dir_target_env(),
        .kind = BACKEND_HASHMAP,
        .range = range,
        .key_group_count = 128,
        .backend_id = "0123456789abcdef0123456789abcdef",
        .name = "test",
        .restore_count = count,
        .restore = restore,
        .restore_operator = "GroupAggregate[k]",
    };
    struct keyed_backend *b;
    struct err err = {0};

    ck_assert_ok(keyed_backend_open(&config, &b, &err));
    return b;
}

static void add_keys(struct key_builder *b, uint32_t from, uint32_t to)
{
    struct err err = {0};

    for (uint32_t i = from; i < to; i++) {
        uint8_t row[16] = {0};

        put_le64(row + 8, i);
        if (key_builder_add(b, i % 128, bytes_of(row, 16), 0, (struct bytes){0}, &err) != RC_OK)
            ck_abort_msg("%s", err.msg);
    }
}

START_TEST(state_of_other_types_is_refused_with_both_shown)
{
    struct keyed_backend *b = open_backend((struct key_group_range){0, 127}, 0, NULL);
    struct state_desc other = acc;
    struct keyed_state *s, *again;
    struct err err = {0};

    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    ck_assert_ok(keyed_state_open(b, &acc, &again, &err));
    ck_assert_ptr_eq(s, again);
    other.value_type = "ROW<`n` INT>";
    ck_assert_rc_msg(keyed_state_open(b, &other, &s, &err), RC_INVALID, "ROW<`n` BIGINT>");
    ck_assert_rc_msg(keyed_state_open(b, &other, &s, &err), RC_INVALID, "ROW<`n` INT>");
    other = acc;
    other.kind = STATE_TIMER;
    other.name = "ttl";
    other.ttl_ms = 5;
    ck_assert_rc_msg(keyed_state_open(b, &other, &s, &err), RC_INVALID, "time-to-live");
    other.name = "";
    ck_assert_rc(keyed_state_open(b, &other, &s, &err), RC_INVALID);
    other = acc;
    other.name = "wide";
    other.fixed_value_bytes = STATE_FIXED_BYTES_MAX + 1;
    ck_assert_rc_msg(keyed_state_open(b, &other, &s, &err), RC_LIMIT, "65538 bytes, at most 65537");
    keyed_backend_close(b);
    keyed_backend_close(NULL);
}
END_TEST

/* C1: a key that was routed to the wrong subtask is a bug of ours, not data. */
START_TEST(key_outside_the_range_is_an_assertion)
{
    struct keyed_backend *b = open_backend((struct key_group_range){0, 3}, 0, NULL);
    struct keyed_state *s;
    struct key_builder keys;
    struct key_batch batch;
    struct err err = {0};

    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    key_builder_init(&keys, 128, KEY_NS_VOID);
    add_keys(&keys, 4, 5);
    batch = key_builder_batch(&keys);
    ck_assert_ok(keyed_del(s, &batch, &err)); /* aborts */
}
END_TEST

/* A state that the new job does not open any more stays in its checkpoints; a handle of another
 * key-group count, or two that overlap, are refused. */
START_TEST(restore_keeps_unopened_states_and_refuses_bad_handles)
{
    struct tmpdir tmp;
    struct dir_target target;
    struct arena *arena = arena_new(0);
    struct keyed_backend *b = open_backend((struct key_group_range){0, 127}, 0, NULL);
    struct keyed_state *s;
    struct keyed_snapshot *snap;
    struct keyed_handle h, twice[2];
    struct key_builder keys;
    struct key_batch batch;
    void *rows[300];
    uint8_t fresh[300];
    struct err err = {0};
    struct keyed_backend_config config = {.env = dir_target_env(),
                                          .range = {0, 127},
                                          .key_group_count = 128,
                                          .backend_id = "x",
                                          .name = "test",
                                          .restore_operator = "GroupAggregate[k]"};

    tmpdir_make(&tmp);
    dir_target_init(&target, fs_posix(), tmp.path);
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    key_builder_init(&keys, 128, KEY_NS_VOID);
    add_keys(&keys, 0, 300);
    batch = key_builder_batch(&keys);
    ck_assert_ok(keyed_upsert(s, &batch, rows, fresh, &err));
    for (int round = 0; round < 2; round++) {
        ck_assert_ok(keyed_snapshot_begin(b, 1, &snap, &err));
        ck_assert_ok(keyed_snapshot_write(snap, &target.base, arena, &h, &err));
        keyed_snapshot_free(snap);
        keyed_backend_close(b);
        ck_assert_uint_eq(h.entry_count, 300);
        ck_assert_uint_eq(h.state_count, 1);
        dir_target_resolve(&target, arena, &h);
        b = open_backend((struct key_group_range){0, 127}, 1, &h); /* opens no state */
    }
    twice[0] = twice[1] = h;
    twice[1].range.first = 100;
    config.restore = twice;
    config.restore_count = 2;
    keyed_backend_close(b);
    ck_assert_rc_msg(keyed_backend_open(&config, &b, &err), RC_CORRUPT,
                     "two handles hold key groups 100..127");
    config.restore_count = 1;
    config.key_group_count = 256;
    ck_assert_rc_msg(keyed_backend_open(&config, &b, &err), RC_INVALID,
                     "restore GroupAggregate[k]: restored state has 128 key groups");
    key_builder_release(&keys);
    arena_free(arena);
    dir_target_release(&target);
    tmpdir_remove(&tmp);
}
END_TEST

/* A failed or given-up write leaves the backend as it was: the next snapshot holds everything. */
START_TEST(failed_snapshot_leaves_the_state_whole)
{
    struct tmpdir tmp;
    struct dir_target target;
    struct arena *arena = arena_new(0);
    struct keyed_backend *b = open_backend((struct key_group_range){0, 127}, 0, NULL);
    struct keyed_state *s;
    struct keyed_snapshot *snap;
    struct keyed_handle h;
    struct key_builder keys;
    struct key_batch batch;
    void *rows[300];
    uint8_t fresh[300];
    struct err err = {0};

    tmpdir_make(&tmp);
    dir_target_init(&target, fs_posix(), tmp.path);
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    key_builder_init(&keys, 128, KEY_NS_VOID);
    add_keys(&keys, 0, 300);
    batch = key_builder_batch(&keys);
    ck_assert_ok(keyed_upsert(s, &batch, rows, fresh, &err));
    for (int at = 0; at < 60; at += 7) {
        ck_assert_ok(keyed_snapshot_begin(b, 1, &snap, &err));
        ck_assert_ok(keyed_del(s, &batch, &err));
        ck_assert_ok(keyed_upsert(s, &batch, rows, fresh, &err));
        target.fail_after = at;
        ck_assert_rc(keyed_snapshot_write(snap, &target.base, arena, &h, &err), RC_IO);
        keyed_snapshot_free(snap);
    }
    target.fail_after = -1;
    target.cancel = true;
    ck_assert_ok(keyed_snapshot_begin(b, 2, &snap, &err));
    ck_assert_rc(keyed_snapshot_write(snap, &target.base, arena, &h, &err), RC_CANCELLED);
    keyed_snapshot_free(snap);
    ck_assert_ok(keyed_snapshot_begin(b, 3, &snap, &err));
    keyed_snapshot_free(snap); /* instead of a write */
    target.cancel = false;
    ck_assert_ok(keyed_snapshot_begin(b, 4, &snap, &err));
    ck_assert_ok(keyed_snapshot_write(snap, &target.base, arena, &h, &err));
    keyed_snapshot_free(snap);
    ck_assert_uint_eq(h.entry_count, 300);
    keyed_backend_close(b);
    key_builder_release(&keys);
    arena_free(arena);
    dir_target_release(&target);
    tmpdir_remove(&tmp);
}
END_TEST

TEST_MAIN("heap_backend", tcase_add_test(tc, state_of_other_types_is_refused_with_both_shown);
          tcase_add_test_raise_signal(tc, key_outside_the_range_is_an_assertion, SIGABRT);
          tcase_add_test(tc, restore_keeps_unopened_states_and_refuses_bad_handles);
          tcase_add_test(tc, failed_snapshot_leaves_the_state_whole))
