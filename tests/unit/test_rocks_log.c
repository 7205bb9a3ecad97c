/* links: backend
 *
 * The MANIFEST of a database that Flink's RocksDB wrote (tests/conformance/golden). */
#include "backend/rocks_log.h"

#include "base/fs.h"
#include "tests/lib/check_ext.h"

static struct buf file;

static void setup(void)
{
    struct err err = {0};

    file = (struct buf){0};
    ck_assert_ok(fs_read_all(fs_posix(),
                             TESTS_DIR "/conformance/golden/flink-2.3.0-tumble/MANIFEST-000005",
                             1u << 20, &file, &err));
}

static void teardown(void)
{
    buf_release(&file);
}

START_TEST(what_rocksdb_wrote_is_whole)
{
    struct err err = {0};

    ck_assert_ok(rocks_log_check(buf_bytes(&file), "MANIFEST", &err));
}
END_TEST

START_TEST(every_flipped_bit_is_found_with_its_place)
{
    struct err err = {0};

    for (size_t bit = 0; bit < file.len * 8; bit++) {
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_rc_msg(rocks_log_check(buf_bytes(&file), "MANIFEST", &err), RC_CORRUPT,
                         "at offset");
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
END_TEST

/* At the end of a record there is nothing to see: a log may end anywhere between two. */
START_TEST(a_cut_within_a_record_is_found)
{
    struct err err = {0};
    size_t unseen = 0;

    for (size_t len = 0; len < file.len; len++) {
        unseen += rocks_log_check(bytes_of(file.data, len), "MANIFEST", &err) == RC_OK;
        err_clear(&err);
    }
    ck_assert_uint_lt(unseen, file.len / 20);
}
END_TEST

TEST_MAIN("rocks_log", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, what_rocksdb_wrote_is_whole);
          tcase_add_test(tc, every_flipped_bit_is_found_with_its_place);
          tcase_add_test(tc, a_cut_within_a_record_is_found);)
