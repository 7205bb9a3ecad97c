/* links: checkpoint
 *
 * What Flink itself wrote (the seeds of fuzz_flink_metadata), read and written again: the same bytes. */
#include "checkpoint/flink/flink_metadata_write.h"

#include "base/arena.h"
#include "base/fs.h"
#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/data_output.h"
#include "tests/lib/check_ext.h"

#define GOLDEN TESTS_DIR "/conformance/golden/flink-metadata"
#define SEEDS TESTS_DIR "/fuzz/corpus/flink_metadata"

static struct arena *arena;
static struct buf file, again;

static void setup(void)
{
    arena = arena_new(0);
    file = again = (struct buf){0};
}

static void teardown(void)
{
    buf_release(&file);
    buf_release(&again);
    arena_free(arena);
}

static enum rc load(const char *dir, const char *name, struct flink_metadata *m, struct err *err)
{
    char path[FS_PATH_MAX];

    buf_clear(&file);
    buf_clear(&again);
    RETURN_IF_ERR(path_join(path, sizeof path, dir, name, err));
    RETURN_IF_ERR(fs_read_all(fs_posix(), path, 1u << 24, &file, err));
    return flink_metadata_decode(buf_bytes(&file), arena, name, m, err);
}

struct seen {
    unsigned versions[7], savepoints, properties;
};

/* Bytes of "a savepoint, canonical or native", as they stand at the end of a file. */
static bool has_properties(enum flink_properties p, size_t offset)
{
    struct err err = {0};
    struct flink_metadata none = {.version = 6};
    struct buf b = {0};
    bool same;

    ck_assert_ok(flink_metadata_encode(&none, p, &b, &err));
    same = bytes_eq(bytes_of(b.data + 24, b.len - 24),
                    bytes_of(file.data + offset, file.len - offset));
    buf_release(&b);
    return same;
}

static enum rc check_seed(void *ctx, const char *name, struct err *err)
{
    struct seen *seen = ctx;
    struct flink_metadata m;

    err_clear(err);
    if (load(SEEDS, name, &m, err) != RC_OK || m.version < 3 || m.trailing_bytes > 0) {
        err_clear(err);
        return RC_OK;
    }
    if (flink_metadata_encode(&m, FLINK_PROPERTIES_CANONICAL, &again, err) == RC_UNSUPPORTED) {
        err_clear(err); /* forms of older versions */
        return RC_OK;
    }
    ck_assert_msg(err->rc == RC_OK, "%s: %s", name, err->msg);
    if (m.version == 3)
        m.properties_offset = file.len;
    ck_assert_msg(again.len >= m.properties_offset &&
                      memcmp(again.data, file.data, m.properties_offset) == 0,
                  "%s: other bytes", name);
    seen->versions[m.version]++;
    if (m.version == 3)
        ck_assert_uint_eq(again.len, file.len);
    else
        seen->savepoints += has_properties(FLINK_PROPERTIES_CANONICAL, m.properties_offset) ||
                            has_properties(FLINK_PROPERTIES_NATIVE, m.properties_offset);
    return RC_OK;
}

START_TEST(what_flink_wrote_is_written_again_byte_for_byte)
{
    struct seen seen = {0};
    struct err err = {0};

    ck_assert_ok(fs_list(fs_posix(), SEEDS, check_seed, &seen, &err));
    for (int v = 4; v <= 6; v++)
        ck_assert_msg(seen.versions[v] > 0, "no file of version %d", v);
    ck_assert_uint_gt(seen.savepoints, 0);
}
END_TEST

START_TEST(channels_of_either_shape_are_written_again)
{
    static const char *const names[] = {"channels-5.bin", "merged-6.bin"};
    struct flink_metadata m;
    struct err err = {0};

    ck_assert_ok(load(GOLDEN, names[_i], &m, &err));
    ck_assert_ok(flink_metadata_encode(&m, FLINK_PROPERTIES_NATIVE, &again, &err));
    ck_assert_uint_ge(again.len, m.properties_offset);
    ck_assert_mem_eq(again.data, file.data, m.properties_offset);
}
END_TEST

START_TEST(what_a_version_does_not_have_is_refused)
{
    struct flink_metadata m;
    struct err err = {0};

    ck_assert_ok(load(GOLDEN, "changelog-3.bin", &m, &err));
    ck_assert_int_eq(flink_metadata_encode(&m, FLINK_PROPERTIES_NATIVE, &again, &err), RC_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.msg, "only read"));
    err_clear(&err);
    ck_assert_ok(load(GOLDEN, "merged-6.bin", &m, &err));
    m.version = 5;
    ck_assert_int_eq(flink_metadata_encode(&m, FLINK_PROPERTIES_NATIVE, &again, &err), RC_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.msg, "merged channels"));
}
END_TEST

START_TEST(texts_are_modified_utf8)
{
    static const char nul[] = "a\0b";
    /* "uni\0€😀" as Flink has it */
    static const uint8_t want[] = {0x00, 0x0E, 0x75, 0x6E, 0x69, 0xC0, 0x80, 0xE2,
                                   0x82, 0xAC, 0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80};
    static const char text[] = "uni\0\xE2\x82\xAC\xF0\x9F\x98\x80";
    uint8_t *long_text = mem_calloc(1, 32769); /* of NULs, two bytes each */
    struct bytes back;
    struct reader r;
    struct err err = {0};

    ck_assert(data_put_utf(&again, bytes_of(text, sizeof text - 1)));
    ck_assert_uint_eq(again.len, sizeof want);
    ck_assert_mem_eq(again.data, want, sizeof want);
    reader_init(&r, buf_bytes(&again), "text");
    ck_assert_ok(data_utf(&r, arena, &back, "text", &err));
    ck_assert(bytes_eq(back, bytes_of(text, sizeof text - 1)));
    buf_clear(&again);
    ck_assert(data_put_utf(&again, bytes_of("\xED\xA0\xBD", 3))); /* half a pair stays */
    ck_assert_mem_eq(again.data, "\0\3\xED\xA0\xBD", 5);
    buf_clear(&again);
    ck_assert(data_put_utf(&again, bytes_of(nul, 3)));
    ck_assert_mem_eq(again.data, "\0\4a\xC0\x80" "b", 6);
    buf_clear(&again);
    ck_assert(data_put_utf(&again, bytes_of(long_text, 32767)));
    buf_clear(&again);
    ck_assert(!data_put_utf(&again, bytes_of(long_text, 32768)));
    ck_assert_uint_eq(again.len, 0);
    mem_free(long_text);
}
END_TEST

TEST_MAIN("flink_metadata_write", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, what_flink_wrote_is_written_again_byte_for_byte);
          tcase_add_loop_test(tc, channels_of_either_shape_are_written_again, 0, 2);
          tcase_add_test(tc, what_a_version_does_not_have_is_refused);
          tcase_add_test(tc, texts_are_modified_utf8);)
