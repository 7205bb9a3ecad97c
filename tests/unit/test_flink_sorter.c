/* links: checkpoint
 *
 * Entries in any order, some hundred runs of them: out they come by key group, state and key, each once. */
#include "checkpoint/flink/flink_sorter.h"

#include "base/arena.h"
#include "base/rng.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#define COUNT 20000u

/* Entry i: group, state and a key of its own, all functions of i; value: i, and up to 200 bytes. */
static size_t put_entry(uint32_t i, uint8_t key[16], uint8_t value[256], uint16_t *state)
{
    uint64_t mix = splitmix64(i);
    size_t len = 4 + mix % 200;

    put_be16(key, (uint16_t)(mix >> 8 & 0xFF));
    put_be32(key + 2, (uint32_t)(mix >> 16));
    put_be32(key + 6, i);
    *state = (uint16_t)(mix >> 60);
    put_be32(value, i);
    memset(value + 4, (int)(i & 0xFF), len - 4);
    return len;
}

static void check_order(size_t run_bytes, size_t min_files)
{
    struct tmpdir dir;
    struct flink_sorter *s;
    uint8_t *seen = mem_calloc(1, COUNT), last[18] = {0};
    uint32_t count = 0;
    struct bytes key, value;
    struct err err = {0};
    uint16_t state;
    char name[32];

    tmpdir_make(&dir);
    s = flink_sorter_new(fs_posix(), dir.path, 2, run_bytes);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t k[16], v[256];
        size_t len = put_entry(i, k, v, &state);

        ck_assert_ok(flink_sorter_add(s, state, bytes_of(k, 10), bytes_of(v, len), &err));
    }
    ck_assert_ok(flink_sorter_end(s, &err));
    snprintf(name, sizeof name, "sort-%zu", min_files == 0 ? 0 : min_files - 1);
    ck_assert_int_eq(fs_exists(fs_posix(), tmpdir_at(&dir, name)), min_files > 0);
    for (;; count++) {
        uint8_t now[18], k[16], v[256];
        uint16_t wanted;
        size_t len;
        uint32_t i;

        ck_assert_ok(flink_sorter_next(s, &state, &key, &value, &err));
        if (key.data == NULL)
            break;
        i = get_be32(value.data);
        ck_assert_uint_lt(i, COUNT);
        ck_assert(!seen[i]);
        seen[i] = 1;
        len = put_entry(i, k, v, &wanted);
        ck_assert(bytes_eq(key, bytes_of(k, 10)) && bytes_eq(value, bytes_of(v, len)));
        ck_assert_uint_eq(state, wanted);
        memcpy(now, key.data, 2);
        put_be16(now + 2, state);
        memcpy(now + 4, key.data + 2, 8);
        ck_assert_msg(memcmp(last, now, 12) < 0 || count == 0, "entry %u is in no order", count);
        memcpy(last, now, 12);
    }
    ck_assert_uint_eq(count, COUNT);
    flink_sorter_free(s);
    ck_assert(!fs_exists(fs_posix(), tmpdir_at(&dir, name)));
    mem_free(seen);
    tmpdir_remove(&dir);
}

START_TEST(in_memory)
{
    check_order(64u << 20, 0);
}
END_TEST

START_TEST(in_runs_on_disk)
{
    check_order(64u << 10, 30);
}
END_TEST

START_TEST(more_runs_than_there_may_be_are_refused)
{
    struct tmpdir dir;
    struct flink_sorter *s;
    struct err err = {0};
    enum rc rc = RC_OK;
    uint8_t key[6] = {0};

    tmpdir_make(&dir);
    s = flink_sorter_new(fs_posix(), dir.path, 2, 1);
    for (uint32_t i = 0; rc == RC_OK && i < 3000; i++) {
        put_be32(key + 2, i);
        rc = flink_sorter_add(s, 0, bytes_of(key, 6), bytes_of("", 0), &err);
    }
    ck_assert_int_eq(rc, RC_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.msg, "1024 runs"));
    flink_sorter_free(s);
    tmpdir_remove(&dir);
}
END_TEST

TEST_MAIN("flink_sorter", tcase_add_test(tc, in_memory); tcase_add_test(tc, in_runs_on_disk);
          tcase_add_test(tc, more_runs_than_there_may_be_are_refused);)
