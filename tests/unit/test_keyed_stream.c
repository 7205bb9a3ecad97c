/* links: backend */
#include "backend/keyed_stream.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/model_state.h"
#include "tests/lib/tmpdir.h"

static struct tmpdir tmp;
static struct dir_target target;
static struct arena *arena;

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

/* Groups 2..5 of 128, two states; group 3 has nothing; state 1 of group 5 has more than a block. */
static void write_sample(struct keyed_handle *h)
{
    struct state_desc *states = ARENA_ARRAY(arena, 2, struct state_desc);
    struct keyed_stream_writer *w;
    struct err err = {0};
    uint8_t key[5] = {0};
    uint8_t value[600];

    *h = (struct keyed_handle){.kind = KEYED_STREAM,
                               .range = {2, 5},
                               .key_group_count = 128,
                               .backend_id = "id",
                               .state_count = 2,
                               .states = states};
    ck_assert_ok(keyed_stream_writer_open(&target.base, h->range, 128, 2, &w, &err));
    memset(value, 'v', sizeof value);
    key[0] = 2;
    ck_assert_ok(keyed_stream_write(w, 2, 0, bytes_of(key, 2), bytes_of("ab", 2), &err));
    ck_assert_ok(keyed_stream_write(w, 2, 1, bytes_of(key, 3), bytes_of(NULL, 0), &err));
    key[0] = 4;
    ck_assert_ok(keyed_stream_write(w, 4, 1, bytes_of(key, 1), bytes_of("c", 1), &err));
    key[0] = 5;
    for (uint32_t i = 0; i < 1000; i++) {
        put_be32(key + 1, i);
        if (keyed_stream_write(w, 5, 1, bytes_of(key, 5), bytes_of(value, sizeof value), &err) !=
            RC_OK)
            ck_abort_msg("%s", err.msg);
    }
    ck_assert_ok(keyed_stream_finish(w, arena, h, &err));
    ck_assert_uint_eq(h->entry_count, 1003);
    dir_target_resolve(&target, arena, h);
}

struct seen {
    struct model_state states[2];
    int calls;
};

static enum rc see(void *ctx, uint32_t state_id, uint32_t count, const struct bytes *keys,
                   const struct bytes *values, struct err *err)
{
    struct seen *s = ctx;

    (void)err;
    s->calls++;
    for (uint32_t i = 0; i < count; i++)
        model_put(&s->states[state_id], keys[i], values[i]);
    return RC_OK;
}

static void seen_release(struct seen *s)
{
    model_release(&s->states[0]);
    model_release(&s->states[1]);
}

START_TEST(what_is_written_is_read)
{
    struct keyed_handle h;
    struct seen s = {0};
    struct err err = {0};

    target.inline_max = _i == 0 ? 0 : 10u << 20;
    write_sample(&h);
    ck_assert_int_eq(h.files[0].scope, _i == 0 ? FILE_EXCLUSIVE : FILE_INLINE);
    ck_assert_ok(
        keyed_stream_read(fs_posix(), &h, (struct key_group_range){0, 127}, see, &s, &err));
    ck_assert_uint_eq(s.states[0].count, 1);
    ck_assert_uint_eq(s.states[1].count, 1002);
    ck_assert_bytes_str(s.states[0].entries[0].value, "ab");
    ck_assert_uint_eq(s.states[1].entries[0].value.len, 0);
    ck_assert_int_ge(s.calls, 5); /* 600 kB of group 5 took several blocks */
    seen_release(&s);
}
END_TEST

/* A reader at another parallelism takes its groups only, by their offsets. */
START_TEST(range_clips)
{
    static const struct {
        struct key_group_range range;
        size_t count0, count1;
    } rows[] = {{{2, 2}, 1, 1},      {{3, 3}, 0, 0}, {{3, 4}, 0, 1},
                {{5, 127}, 0, 1000}, {{6, 9}, 0, 0}, {{0, 1}, 0, 0}};
    struct keyed_handle h;
    struct seen s = {0};
    struct err err = {0};

    write_sample(&h);
    ck_assert_ok(keyed_stream_read(fs_posix(), &h, rows[_i].range, see, &s, &err));
    ck_assert_uint_eq(s.states[0].count, rows[_i].count0);
    ck_assert_uint_eq(s.states[1].count, rows[_i].count1);
    seen_release(&s);
}
END_TEST

/* The dump of docs/FORMAT.md "Keyed stream". */
START_TEST(bytes_are_as_documented)
{
    struct keyed_handle h = {.range = {7, 7}};
    struct keyed_stream_writer *w;
    struct err err = {0};
    struct bytes b;

    target.inline_max = 1000;
    ck_assert_ok(keyed_stream_writer_open(&target.base, h.range, 128, 1, &w, &err));
    ck_assert_ok(keyed_stream_write(w, 7, 0, bytes_of("\7k", 2), bytes_of("val", 3), &err));
    ck_assert_ok(keyed_stream_finish(w, arena, &h, &err));
    b = h.files[0].inline_bytes;
    ck_assert_uint_eq(b.len, 40 + 32 + 7 + 48);
    ck_assert_bytes_eq(bytes_of(b.data, 32),
                       bytes_of("VVKSTRM1\1\0\0\0\x80\0\0\0\7\0\0\0\7\0\0\0\1\0\0\0\0\0\0\0", 32));
    ck_assert_uint_eq(get_le64(b.data + 32), hash64(bytes_of(b.data, 32)));
    ck_assert_bytes_eq(bytes_of(b.data + 40, 24),
                       bytes_of("VBLK\7\0\0\0\0\0\0\0\1\0\0\0\7\0\0\0\0\0\0\0", 24));
    ck_assert_uint_eq(get_le64(b.data + 64),
                      hash64_seed(bytes_of(b.data + 72, 7), hash64(bytes_of(b.data + 40, 24))));
    ck_assert_bytes_eq(bytes_of(b.data + 72, 7), bytes_of("\2\7k\3val", 7));
    ck_assert_bytes_eq(bytes_of(b.data + 79, 24),
                       bytes_of("VEND\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0", 24));
    ck_assert_bytes_eq(bytes_of(b.data + 111, 16),
                       bytes_of("\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16));
    ck_assert_uint_eq(h.group_offsets[0], 40);
}
END_TEST

/* The digest of the whole file catches every flip and cut; its message names the file. */
START_TEST(damaged_file_is_refused)
{
    struct keyed_handle h;
    struct seen s = {0};
    struct bytes content;
    struct err err = {0};

    write_sample(&h);
    content = tmpdir_read(&tmp, h.files[0].path);
    for (size_t at = 0; at < content.len; at += 20011) {
        uint8_t *copy = arena_copy(arena, content.data, content.len);

        copy[at] ^= 1;
        tmpdir_write(&tmp, h.files[0].path, copy, content.len);
        ck_assert_rc_msg(keyed_stream_read(fs_posix(), &h, h.range, see, &s, &err), RC_CORRUPT,
                         "digest");
        tmpdir_write(&tmp, h.files[0].path, content.data, at);
        ck_assert_rc_msg(keyed_stream_read(fs_posix(), &h, h.range, see, &s, &err), RC_CORRUPT,
                         h.files[0].path);
    }
    ck_assert_int_eq(s.calls, 0);
    ck_assert_ok(fs_unlink(fs_posix(), h.files[0].resolved_path, &err));
    ck_assert_rc(keyed_stream_read(fs_posix(), &h, h.range, see, &s, &err), RC_NOT_FOUND);
}
END_TEST

/* Behind the digest: every byte of a stream whose digest was made to fit. Nothing may crash or pass
 * as another entry. */
START_TEST(damage_behind_the_digest_is_found_too)
{
    struct keyed_handle h = {
        .kind = KEYED_STREAM, .range = {7, 8}, .key_group_count = 128, .state_count = 1};
    struct keyed_stream_writer *w;
    struct err err = {0};
    struct bytes good;

    target.inline_max = 1000;
    ck_assert_ok(keyed_stream_writer_open(&target.base, h.range, 128, 1, &w, &err));
    ck_assert_ok(keyed_stream_write(w, 7, 0, bytes_of("\7k", 2), bytes_of("val", 3), &err));
    ck_assert_ok(keyed_stream_write(w, 8, 0, bytes_of("\10k", 2), bytes_of("val", 3), &err));
    ck_assert_ok(keyed_stream_finish(w, arena, &h, &err));
    good = h.files[0].inline_bytes;
    for (size_t at = 0; at < good.len; at++) {
        uint8_t *copy = arena_copy(arena, good.data, good.len);
        struct seen s = {0};
        enum rc rc;

        copy[at] ^= 0x41;
        h.files[0].inline_bytes = bytes_of(copy, good.len);
        h.files[0].digest = digest_of(h.files[0].inline_bytes);
        rc = keyed_stream_read(fs_posix(), &h, h.range, see, &s, &err);
        if (rc != RC_CORRUPT && rc != RC_VERSION)
            ck_abort_msg("byte %zu: %s", at, rc_name(rc));
        err_clear(&err);
        seen_release(&s);
        h.files[0].inline_bytes = bytes_of(good.data, at);
        h.files[0].size_bytes = at;
        h.files[0].digest = digest_of(h.files[0].inline_bytes);
        if (keyed_stream_read(fs_posix(), &h, h.range, see, &s, &err) != RC_CORRUPT)
            ck_abort_msg("cut at %zu", at);
        err_clear(&err);
        seen_release(&s);
        h.files[0].size_bytes = good.len;
    }
}
END_TEST

START_TEST(every_failing_call_of_the_target_is_reported)
{
    struct keyed_stream_writer *w = NULL;
    struct keyed_handle h = {.range = {1, 1}};
    struct err err = {0};
    enum rc rc;

    target.fail_after = _i;
    rc = keyed_stream_writer_open(&target.base, h.range, 128, 1, &w, &err);
    if (rc == RC_OK) {
        rc = keyed_stream_write(w, 1, 0, bytes_of("\1", 1), bytes_of("v", 1), &err);
        if (rc != RC_OK)
            keyed_stream_abort(w);
        else
            rc = keyed_stream_finish(w, arena, &h, &err);
    }
    ck_assert_int_eq(rc, _i < 5 ? RC_IO : RC_OK); /* open, header, block, end, finish */
}
END_TEST

TEST_MAIN("keyed_stream", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, what_is_written_is_read, 0, 2);
          tcase_add_loop_test(tc, range_clips, 0, 6); tcase_add_test(tc, bytes_are_as_documented);
          tcase_add_test(tc, damaged_file_is_refused);
          tcase_add_test(tc, damage_behind_the_digest_is_found_too);
          tcase_add_loop_test(tc, every_failing_call_of_the_target_is_reported, 0, 6))
