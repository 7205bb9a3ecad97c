/* links: base */
/* test_hash.c - digests of content. */
#include "base/hash.h"

#include "base/arena.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/gen.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

/* Expected values: xxhsum -H2 of Debian's xxhash 0.8.1. Names of files in shared/ depend on them.
 */
static const struct {
    const char *text, *hex;
} digest_cases[] = {
    {"", "99aa06d3014798d86001c324468d497f"},
    {"a", "a96faf705af16834e6c632b61e964e1f"},
    {"abc", "06b05ab6733a618578af5f94892f3950"},
    {"varve: a yearly layer of sediment\n", "5d51293a16776b1b33ad223d0e9487e7"},
};

START_TEST(a_digest_prints_as_xxhsum_does_and_parses_back)
{
    struct digest128 d = digest_of(bytes_of_str(digest_cases[_i].text)), back;
    char hex[DIGEST_HEX_LEN + 1];

    digest_hex(d, hex);
    ck_assert_str_eq(hex, digest_cases[_i].hex);
    ck_assert(digest_parse(hex, &back));
    ck_assert(digest_eq(d, back));
}
END_TEST

static const char *const bad_hex[] = {
    "",
    "9",
    "99aa06d3014798d86001c324468d497",
    "99aa06d3014798d86001c324468d497f0",
    "99AA06d3014798d86001c324468d497f",
    "99aa06d3014798d86001c324468d497g",
    " 9aa06d3014798d86001c324468d497f",
    "99aa06d3014798d8 001c324468d497f",
    "99aa06d3014798d86001c324468d497f.sst",
};

START_TEST(only_32_lower_case_digits_are_a_digest)
{
    struct digest128 d;

    ck_assert(!digest_parse(bad_hex[_i], &d));
}
END_TEST

START_TEST(pieces_give_the_digest_of_the_whole)
{
    struct digest_stream *s = digest_stream_new();
    struct buf b = {0};
    struct rng r;
    size_t at = 0;

    rng_seed(&r, gen_seed(3));
    gen_bytes(&r, 100000, &b);
    while (at < b.len) {
        size_t n = gen_len(&r, 0, 3000);

        n = n < b.len - at ? n : b.len - at;
        digest_stream_add(s, bytes_of(b.data + at, n));
        at += n;
        ck_assert(digest_eq(digest_stream_end(s), digest_of(bytes_of(b.data, at))));
    }
    digest_stream_add(s, (struct bytes){0});
    ck_assert(digest_eq(digest_stream_end(s), digest_of(buf_bytes(&b))));
    digest_stream_free(s);
    digest_stream_free(NULL);
    buf_release(&b);
}
END_TEST

static const size_t file_sizes[] = {0, 1, 1000, 1 << 20, (1 << 20) + 1, 3 << 20};

START_TEST(a_file_has_the_digest_of_its_content)
{
    struct fs *fs = sim_fs_new(NULL);
    struct fs_file *f;
    struct err err = {0};
    struct buf b = {0};
    struct digest128 d;
    struct rng r;
    uint64_t size;

    rng_seed(&r, 4);
    gen_bytes(&r, file_sizes[_i], &b);
    ck_assert_ok(fs_create(fs, "/f", &f, &err));
    ck_assert_ok(fs_append(f, buf_bytes(&b), &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_ok(digest_file(fs, "/f", &d, &size, &err));
    ck_assert_uint_eq(size, file_sizes[_i]);
    ck_assert(digest_eq(d, digest_of(buf_bytes(&b))));
    buf_release(&b);
    sim_fs_free(fs);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_has_no_digest)
{
    struct fs *disk = sim_fs_new(NULL), *fs = fault_fs_new(disk);
    struct err err = {0};
    struct digest128 d;
    uint64_t size;
    struct fs_file *f;

    ck_assert_rc(digest_file(fs, "/absent", &d, &size, &err), RC_NOT_FOUND);
    ck_assert_ok(fs_create(fs, "/f", &f, &err));
    ck_assert_ok(fs_close(&f, &err));
    fault_fs_add(fs, (struct fault){.kinds = FAULT_READ, .times = 1, .os_errno = EIO});
    ck_assert_rc_msg(digest_file(fs, "/f", &d, &size, &err), RC_IO, "read /f");
    fault_fs_free(fs);
    sim_fs_free(disk);
}
END_TEST

START_TEST(a_seed_changes_the_hash)
{
    struct bytes b = bytes_of_str("key");

    ck_assert_uint_eq(hash64(b), hash64_seed(b, 0));
    ck_assert_uint_ne(hash64(b), hash64_seed(b, 1));
    ck_assert_uint_ne(hash64(b), hash64(bytes_of_str("kez")));
}
END_TEST

TEST_MAIN("hash", tcase_add_loop_test(tc, a_digest_prints_as_xxhsum_does_and_parses_back, 0,
                                      ARRAY_LEN(digest_cases));
          tcase_add_loop_test(tc, only_32_lower_case_digits_are_a_digest, 0, ARRAY_LEN(bad_hex));
          tcase_add_test(tc, pieces_give_the_digest_of_the_whole);
          tcase_add_loop_test(tc, a_file_has_the_digest_of_its_content, 0, ARRAY_LEN(file_sizes));
          tcase_add_test(tc, a_file_that_cannot_be_read_has_no_digest);
          tcase_add_test(tc, a_seed_changes_the_hash))
