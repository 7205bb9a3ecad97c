/* links: checkpoint
 *
 * Flink's _metadata against what a program of others, written from the format's description alone,
 * reads in the same bytes (tests/conformance/golden/flink-metadata/README.md). Files that Flink itself
 * wrote are the seeds of fuzz_flink_metadata. */
#include "checkpoint/flink/flink_json.h"

#include "base/fs.h"
#include "base/hash.h"
#include "checkpoint/flink/data_input.h"
#include "tests/lib/check_ext.h"

#define GOLDEN TESTS_DIR "/conformance/golden/flink-metadata"
#define SEEDS TESTS_DIR "/fuzz/corpus/flink_metadata"

static struct arena *arena;
static struct buf file;

static void setup(void)
{
    arena = arena_new(0);
    file = (struct buf){0};
}

static void teardown(void)
{
    buf_release(&file);
    arena_free(arena);
}

static void load(const char *dir, const char *name)
{
    struct err err = {0};
    char path[FS_PATH_MAX];

    buf_clear(&file);
    ck_assert_ok(path_join(path, sizeof path, dir, name, &err));
    ck_assert_ok(fs_read_all(fs_posix(), path, 1u << 24, &file, &err));
}

static enum rc decode(struct bytes bytes, struct flink_metadata *m, struct err *err)
{
    return flink_metadata_decode(bytes, arena, "chk-4/_metadata", m, err);
}

/* Every handle of every version, also those that Flink only reads. */
static const char *const forms[] = {"old-forms-2", "changelog-3", "channels-5", "merged-6"};

START_TEST(every_form_reads_as_an_independent_reader_has_it)
{
    struct err err = {0};
    struct flink_metadata m;
    json_t *got, *want;
    json_error_t where;
    struct buf text = {0};

    load(GOLDEN, arena_printf(arena, "%s.json", forms[_i]));
    want = json_loadb((const char *)file.data, file.len, JSON_ALLOW_NUL, &where);
    ck_assert_msg(want != NULL, "%s", where.text);
    load(GOLDEN, arena_printf(arena, "%s.bin", forms[_i]));
    ck_assert_ok(decode(buf_bytes(&file), &m, &err));
    got = flink_metadata_json(&m);
    json_dump_to(got, true, &text);
    ck_assert_msg(json_equal(got, want), "%s reads as %s", forms[_i], buf_cstr(&text));
    ck_assert_ok(flink_metadata_check(&m, "m", &err));
    buf_release(&text);
    json_decref(got);
    json_decref(want);
}
END_TEST

/* A cut anywhere is refused, with file and offset; never a smaller tree. */
START_TEST(every_cut_is_refused)
{
    struct err err = {0};
    struct flink_metadata m;

    load(GOLDEN, arena_printf(arena, "%s.bin", forms[_i]));
    for (size_t len = 0; len < file.len; len++) {
        uint8_t *cut = mem_alloc(len); /* so that a sanitizer sees a byte too far */

        memcpy(cut, file.data, len);
        ck_assert_rc_msg(decode(bytes_of(cut, len), &m, &err), RC_CORRUPT, "chk-4/_metadata");
        mem_free(cut);
        arena_reset(arena);
    }
}
END_TEST

/* What Flink wrote; how many streams of each role the oracle finds. */
static const struct {
    const char *name;
    int32_t version;
    int64_t checkpoint_id;
    size_t operator_count;
    uint64_t by_role[FLINK_ROLE_CHANNEL + 1];
} fixtures[] = {
#include "tests/conformance/golden/flink-metadata/counts.inc"
};

static enum rc count_role(void *ctx, const struct flink_stream_use *use, struct err *err UNUSED)
{
    uint64_t *by_role = ctx;

    by_role[use->role]++;
    return RC_OK;
}

START_TEST(what_flink_wrote_is_read_whole)
{
    uint64_t by_role[FLINK_ROLE_CHANNEL + 1] = {0};
    struct err err = {0};
    struct flink_metadata m;

    load(SEEDS, fixtures[_i].name);
    ck_assert_ok(decode(buf_bytes(&file), &m, &err));
    ck_assert_ok(flink_metadata_check(&m, "m", &err));
    ck_assert_int_eq(m.version, fixtures[_i].version);
    ck_assert_int_eq(m.checkpoint_id, fixtures[_i].checkpoint_id);
    ck_assert_uint_eq(m.operator_count, fixtures[_i].operator_count);
    ck_assert_uint_eq(m.trailing_bytes, 0);
    ck_assert_ok(flink_metadata_each_stream(&m, count_role, by_role, &err));
    for (size_t i = 0; i < ARRAY_LEN(by_role); i++)
        ck_assert_msg(by_role[i] == fixtures[_i].by_role[i], "%s: %llu streams of role %zu",
                      fixtures[_i].name, (unsigned long long)by_role[i], i);
    ck_assert(m.properties->kind == JAVA_OBJECT);
    ck_assert(java_field(m.properties, "checkpointType") != NULL);
}
END_TEST

/* A flipped bit gives an error or a tree, never a crash; most of these bytes have no checksum. */
START_TEST(flipped_bits_do_no_harm)
{
    struct err err = {0};
    struct flink_metadata m;

    load(SEEDS, fixtures[_i].name);
    for (size_t at = 0; at < file.len; at += 1 + file.len / 3000) {
        uint8_t bit = (uint8_t)(1u << (at % 8));

        file.data[at] ^= bit;
        if (decode(buf_bytes(&file), &m, &err) == RC_OK && flink_metadata_check(&m, "m", &err) == RC_OK)
            json_decref(flink_metadata_json(&m));
        err_clear(&err);
        file.data[at] ^= bit;
        arena_reset(arena);
    }
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    enum rc rc;
    const char *message;
} refused[] = {
    {"\x49\x60\x67\x2E\0\0\0\6", 8, RC_CORRUPT, "0x4960672e is not Flink's magic at offset 0"},
    {"\x49\x60\x67\x2D\0\0\0\1", 8, RC_VERSION, "version 1, by Flink 1.1 or 1.2"},
    {"\x49\x60\x67\x2D\0\0\0\7", 8, RC_VERSION, "version 7: versions 2 to 6"},
    {"\x49\x60\x67\x2D\0\0\0\3\xff\0\0\0\0\0\0\0", 16, RC_CORRUPT, "checkpoint id -"},
    {"\x49\x60\x67\x2D\0\0\0\3\0\0\0\0\0\0\0\1\xff\xff\xff\xff", 20, RC_CORRUPT,
     "count of master states: -1 at offset 16"},
    {"\x49\x60\x67\x2D\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\0\0\1\0\0", 24, RC_CORRUPT,
     "count of operators: 65536 do not fit into the 0 bytes left at offset 20"},
    {"\x49\x60\x67\x2D\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1"
     "0123456789abcdef\0\0\0\1\0\0\0\1\x09\0\0\0\0", 53, RC_CORRUPT,
     "stream handle of the unknown kind 9 at offset 48"},
};

START_TEST(what_is_wrong_is_named_with_its_place)
{
    struct err err = {0};
    struct flink_metadata m;

    ck_assert_rc_msg(decode(bytes_of(refused[_i].bytes, refused[_i].len), &m, &err),
                     refused[_i].rc, refused[_i].message);
}
END_TEST

static enum rc check_changed(void (*change)(struct flink_metadata *m), struct err *err)
{
    struct flink_metadata m;

    load(SEEDS, "rocksdb-incremental-chk-4");
    if (decode(buf_bytes(&file), &m, err) != RC_OK)
        ck_abort_msg("%s", err->msg);
    change(&m);
    return flink_metadata_check(&m, "m", err);
}

static void overlap(struct flink_metadata *m)
{
    m->operators[0].subtasks[1].managed_keyed.range = m->operators[0].subtasks[0].managed_keyed.range;
}

static void beyond(struct flink_metadata *m)
{
    m->operators[0].max_parallelism = 100;
}

static void twice(struct flink_metadata *m)
{
    m->operators[0].subtasks[1].index = m->operators[0].subtasks[0].index;
}

static void too_far(struct flink_metadata *m)
{
    m->operators[0].subtasks[1].index = 2;
}

static void nobody(struct flink_metadata *m)
{
    m->operators[0].parallelism = 0;
}

static void behind(struct flink_metadata *m)
{
    m->trailing_bytes = 3;
}

static const struct {
    void (*change)(struct flink_metadata *m);
    const char *message;
} rules[] = {
    {overlap, "two subtasks hold the same key group"},
    {beyond, "key groups beyond the max parallelism"},
    {twice, "is there twice"},
    {too_far, "index beyond the parallelism"},
    {nobody, "parallelism and max parallelism do not fit"},
    {behind, "3 bytes too many"},
};

START_TEST(a_broken_rule_is_named)
{
    struct err err = {0};

    ck_assert_rc_msg(check_changed(rules[_i].change, &err), RC_CORRUPT, rules[_i].message);
}
END_TEST

/* Checked against Flink: how a state named "uni\0€😀" is stored. */
START_TEST(modified_utf8_becomes_utf8)
{
    static const char stored[] = "\x00\x0E\x75\x6E\x69\xC0\x80\xE2\x82\xAC\xED\xA0\xBD\xED\xB8\x80";
    struct err err = {0};
    struct reader r;
    struct bytes text;

    reader_init(&r, bytes_of(stored, 16), "m");
    ck_assert_ok(data_utf(&r, arena, &text, "name", &err));
    ck_assert_bytes_eq(text, bytes_of("uni\0€😀", 11));
    reader_init(&r, bytes_of("\0\2\xC0\x01", 4), "m");
    ck_assert_rc_msg(data_utf(&r, arena, &text, "name", &err), RC_CORRUPT, "malformed");
}
END_TEST

/* An object that holds itself, and a class that is its own base class. */
START_TEST(java_that_turns_in_circles_ends)
{
    static const char itself[] = "\xAC\xED\0\5\x73\x72\0\1A\0\0\0\0\0\0\0\1\2\0\1L\0\1f\x74\0\2LA\x78\x70\x71\0\x7E\0\2";
    static const char own_base[] = "\xAC\xED\0\5\x73\x72\0\1A\0\0\0\0\0\0\0\1\2\0\0\x78\x71\0\x7E\0\0\0\0\0\0";
    const struct java_value *v;
    struct err err = {0};
    struct reader r;

    reader_init(&r, bytes_of(itself, sizeof itself - 1), "m");
    ck_assert_ok(java_stream_read(&r, arena, &v, &err));
    ck_assert_ptr_eq(java_field(v, "f"), v);
    json_decref(java_value_json(v));
    reader_init(&r, bytes_of(own_base, sizeof own_base - 1), "m");
    ck_assert_rc_msg(java_stream_read(&r, arena, &v, &err), RC_CORRUPT, "base classes");
}
END_TEST

TEST_MAIN("flink_metadata", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, every_form_reads_as_an_independent_reader_has_it, 0,
                              ARRAY_LEN(forms));
          tcase_add_loop_test(tc, every_cut_is_refused, 0, ARRAY_LEN(forms));
          tcase_add_loop_test(tc, what_flink_wrote_is_read_whole, 0, ARRAY_LEN(fixtures));
          tcase_add_loop_test(tc, flipped_bits_do_no_harm, 0, ARRAY_LEN(fixtures));
          tcase_add_loop_test(tc, what_is_wrong_is_named_with_its_place, 0, ARRAY_LEN(refused));
          tcase_add_loop_test(tc, a_broken_rule_is_named, 0, ARRAY_LEN(rules));
          tcase_add_test(tc, modified_utf8_becomes_utf8);
          tcase_add_test(tc, java_that_turns_in_circles_ends);)
