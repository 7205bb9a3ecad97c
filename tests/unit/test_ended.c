/* links: checkpoint */
#include "checkpoint/ended.h"

#include "base/hash.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

#define JOB_ID "0123456789abcdef0123456789abcdef"
#define JOB_DIR "/ckpt/" JOB_ID
#define CHECK_LINE (6u + DIGEST_HEX_LEN + 1u) /* "check=<hex>\n" */
#define TAIL "job_id=" JOB_ID "\njob_name=job\nfingerprint=aa\n"

static struct fs *fs;
static struct arena *arena;
static struct err err;

static void setup(void)
{
    fs = sim_fs_new(NULL);
    arena = arena_new(0);
    err = (struct err){0};
    ck_assert_ok(fs_mkdir(fs, "/ckpt", &err));
    ck_assert_ok(fs_mkdir(fs, JOB_DIR, &err));
    ck_assert_ok(fs_sync_dir(fs, "/", &err));
    ck_assert_ok(fs_sync_dir(fs, "/ckpt", &err));
}

static void teardown(void)
{
    sim_fs_free(fs);
    arena_free(arena);
}

static const struct {
    struct ended ended;
    const char *text;
} notes[] = {
    {{JOB_END_FINISHED, 17, 1764454445123, NULL, JOB_ID, "job", "aa"},
     "state=FINISHED\ncheckpoint_id=17\ntimestamp=1764454445123\nsavepoint=\n" TAIL},
    {{JOB_END_FINISHED, 0, -5, NULL, JOB_ID, "job", "aa"},
     "state=FINISHED\ncheckpoint_id=0\ntimestamp=0\nsavepoint=\n" TAIL},
    {{JOB_END_CANCELED, 1, 0, NULL, JOB_ID, "two\nlines\\n", ""},
     "state=CANCELED\ncheckpoint_id=1\ntimestamp=0\nsavepoint=\njob_id=" JOB_ID
     "\njob_name=two\\nlines\\\\n\nfingerprint=\n"},
    {{JOB_END_FAILED, INT64_MAX, INT64_MAX, NULL, JOB_ID, "job", "aa"},
     "state=FAILED\ncheckpoint_id=9223372036854775807\ntimestamp=9223372036854775807\n"
     "savepoint=\n" TAIL},
    {{JOB_END_FINISHED, 4, 2, "/sp\n/savepoint-1", JOB_ID, "job", "aa"},
     "state=FINISHED\ncheckpoint_id=4\ntimestamp=2\nsavepoint=/sp\\n/savepoint-1\n" TAIL},
};

START_TEST(a_note_is_read_as_it_was_written)
{
    const struct ended *want = &notes[_i].ended;
    char hex[DIGEST_HEX_LEN + 1];
    struct ended got;
    struct buf text = {0};

    ck_assert_rc(ended_read(fs, JOB_DIR, arena, &got, &err), RC_NOT_FOUND);
    err_clear(&err);
    ck_assert_ok(ended_write(fs, JOB_DIR, &notes[0].ended, &err));
    ck_assert_ok(ended_write(fs, JOB_DIR, want, &err)); /* replaces */
    ck_assert_ok(fs_read_all(fs, JOB_DIR "/ENDED", 1000, &text, &err));
    ck_assert_uint_gt(text.len, CHECK_LINE);
    digest_hex(digest_of(bytes_of(text.data + CHECK_LINE, text.len - CHECK_LINE)), hex);
    ck_assert_bytes_str(bytes_of(text.data, CHECK_LINE), arena_printf(arena, "check=%s\n", hex));
    ck_assert_str_eq(buf_cstr(&text) + CHECK_LINE, notes[_i].text);
    buf_release(&text);
    ck_assert_ok(ended_read(fs, JOB_DIR, arena, &got, &err));
    ck_assert_int_eq(got.end, want->end);
    ck_assert_uint_eq(got.checkpoint_id, want->checkpoint_id);
    ck_assert_int_eq(got.wall_ms, want->wall_ms < 0 ? 0 : want->wall_ms);
    ck_assert_pstr_eq(got.savepoint_dir, want->savepoint_dir);
    ck_assert_str_eq(got.job_id, want->job_id);
    ck_assert_str_eq(got.job_name, want->job_name);
    ck_assert_str_eq(got.fingerprint, want->fingerprint);
    ck_assert_ok(ended_remove(fs, JOB_DIR, &err));
    ck_assert_ok(ended_remove(fs, JOB_DIR, &err));
    ck_assert_rc(ended_read(fs, JOB_DIR, arena, &got, &err), RC_NOT_FOUND);
}
END_TEST

static const char *const strangers[] = {
    "",
    "state=FINISHED",
    "state=FINISHED\ncheckpoint_id=1\ntimestamp=2\nsavepoint=\n",
    "state=FINISHED\ncheckpoint_id=1\ntimestamp=2\nsavepoint=\n" TAIL "more=1\n",
    "state=finished\ncheckpoint_id=1\ntimestamp=2\nsavepoint=\n" TAIL,
    "state=SUSPENDED\ncheckpoint_id=1\ntimestamp=2\nsavepoint=\n" TAIL,
    "checkpoint_id=1\nstate=FINISHED\ntimestamp=2\nsavepoint=\n" TAIL,
    "state=FINISHED\ncheckpoint_id=\ntimestamp=2\nsavepoint=\n" TAIL,
    "state=FINISHED\ncheckpoint_id=-1\ntimestamp=2\nsavepoint=\n" TAIL,
    "state=FINISHED\ncheckpoint_id=9223372036854775808\ntimestamp=2\nsavepoint=\n" TAIL,
    "state=FINISHED\ncheckpoint_id=1\ntimestamp=99999999999999999999\nsavepoint=\n" TAIL,
    "state=FINISHED\ncheckpoint_id=1\ntimestamp=2\nsavepoint=relative\n" TAIL,
    "state=FINISHED\ncheckpoint_id=0\ntimestamp=2\nsavepoint=/savepoint\n" TAIL,
    "state=FINISHED\ncheckpoint_id=1\ntimestamp=2\nsavepoint=/a\\x\n" TAIL,
    "state=FINISHED\ncheckpoint_id=1\ntimestamp=2\nsavepoint=/a\\\n" TAIL,
};

static void write_bytes(struct bytes content)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(fs, JOB_DIR "/ENDED", &file, &err));
    ck_assert_ok(fs_append(file, content, &err));
    ck_assert_ok(fs_close(&file, &err));
}

START_TEST(anything_else_is_refused_with_its_place)
{
    struct ended got;

    write_bytes(bytes_of_str(strangers[_i]));
    ck_assert_rc_msg(ended_read(fs, JOB_DIR, arena, &got, &err), RC_CORRUPT,
                     JOB_DIR "/ENDED: not the lines that say how a job ended");
}
END_TEST

START_TEST(a_note_of_an_earlier_version_has_no_digest_and_is_read)
{
    struct ended got;

    write_bytes(bytes_of_str(notes[0].text));
    ck_assert_ok(ended_read(fs, JOB_DIR, arena, &got, &err));
    ck_assert_uint_eq(got.checkpoint_id, 17);
}
END_TEST

START_TEST(no_flipped_bit_and_no_cut_passes)
{
    struct ended got;
    struct buf text = {0};

    ck_assert_ok(ended_write(fs, JOB_DIR, &notes[0].ended, &err));
    ck_assert_ok(fs_read_all(fs, JOB_DIR "/ENDED", 1000, &text, &err));
    for (size_t bit = 0; bit < text.len * 8; bit++) {
        ck_assert(sim_fs_flip(fs, JOB_DIR "/ENDED", bit / 8, (uint8_t)(1u << (bit % 8))));
        ck_assert_rc_msg(ended_read(fs, JOB_DIR, arena, &got, &err), RC_CORRUPT, JOB_DIR "/ENDED");
        ck_assert(sim_fs_flip(fs, JOB_DIR "/ENDED", bit / 8, (uint8_t)(1u << (bit % 8))));
    }
    for (size_t len = 0; len < text.len; len++) {
        ck_assert_ok(ended_remove(fs, JOB_DIR, &err));
        write_bytes(bytes_of(text.data, len));
        ck_assert_rc(ended_read(fs, JOB_DIR, arena, &got, &err), RC_CORRUPT);
    }
    buf_release(&text);
}
END_TEST

START_TEST(a_directory_in_its_place_is_no_passing_trouble)
{
    struct ended got;

    ck_assert_ok(fs_mkdir(fs, JOB_DIR "/ENDED", &err));
    ck_assert_rc_msg(ended_read(fs, JOB_DIR, arena, &got, &err), RC_CORRUPT, JOB_DIR "/ENDED");
}
END_TEST

/* Before the write, at each operation of it, after it: the old note or the new one. */
START_TEST(a_crash_leaves_one_of_the_two)
{
    struct ended got;
    uint64_t k;

    for (k = 0;; k++) {
        struct rng rng;

        rng_seed(&rng, (uint64_t)_i * 100 + k);
        ck_assert_ok(ended_write(fs, JOB_DIR, &notes[4].ended, &err));
        sim_fs_crash_at(fs, k);
        if (ended_write(fs, JOB_DIR, &notes[0].ended, &err) == RC_OK)
            break;
        err_clear(&err);
        sim_fs_crash(fs, &rng);
        ck_assert_ok(ended_read(fs, JOB_DIR, arena, &got, &err));
        ck_assert(got.checkpoint_id == 4 || got.checkpoint_id == 17);
    }
    ck_assert_uint_ge(k, 5);
    ck_assert_ok(ended_read(fs, JOB_DIR, arena, &got, &err));
    ck_assert_uint_eq(got.checkpoint_id, 17);
}
END_TEST

TEST_MAIN("ended", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, a_note_is_read_as_it_was_written, 0, ARRAY_LEN(notes));
          tcase_add_loop_test(tc, anything_else_is_refused_with_its_place, 0,
                              ARRAY_LEN(strangers));
          tcase_add_test(tc, a_note_of_an_earlier_version_has_no_digest_and_is_read);
          tcase_add_test(tc, no_flipped_bit_and_no_cut_passes);
          tcase_add_test(tc, a_directory_in_its_place_is_no_passing_trouble);
          tcase_add_loop_test(tc, a_crash_leaves_one_of_the_two, 0, 20);)
