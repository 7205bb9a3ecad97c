/* links: sink */
/* One part file from its hidden name to its final one. */
#include "sink/part_file.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

#define UUID "11111111-1111-4111-8111-111111111111"
#define HIDDEN "/out/.part-x.inprogress.y"
#define FINAL "/out/part-x"

static struct fs *fs;
static struct err err;
static struct arena *arena;
static const struct part_record record = {.base = "/out",
                                          .bucket = "",
                                          .name = "part-x",
                                          .temp_name = ".part-x.inprogress.y",
                                          .created_wall_ms = 5};

static void setup(void)
{
    fs = sim_fs_new(NULL);
    arena = arena_new(0);
    err = (struct err){0};
    ck_assert_ok(fs_mkdir(fs, "/out", &err));
}
static void teardown(void)
{
    arena_free(arena);
    sim_fs_free(fs);
}

static struct part_record make(const char *text)
{
    struct part_file *p;
    struct part_record out;

    ck_assert_ok(part_file_create(fs, &record, &p, &err));
    ck_assert_ok(part_file_append(p, bytes_of_str(text), 1, 7, &err));
    ck_assert_ok(part_file_finish(p, arena, &out, &err));
    return out;
}

START_TEST(record_says_what_is_on_disk)
{
    struct part_record r = make("hello\n");
    struct buf durable = {0};

    ck_assert_uint_eq(r.size_bytes, 6);
    ck_assert_uint_eq(r.row_count, 1);
    ck_assert(digest_eq(r.digest, digest_of(bytes_of_str("hello\n"))));
    ck_assert_int_eq(r.created_wall_ms, 5);
    ck_assert_int_eq(r.last_write_wall_ms, 7);
    ck_assert_ok(fs_sync_dir(fs, "/out", &err));
    ck_assert_ok(fs_sync_dir(fs, "/", &err));
    ck_assert(sim_fs_durable(fs, HIDDEN, &durable));
    ck_assert_bytes_str(buf_bytes(&durable), "hello\n");
    buf_release(&durable);
}
END_TEST

START_TEST(taken_names_are_refused)
{
    struct part_file *p;
    struct part_record r = make("a");

    ck_assert_rc_msg(part_file_create(fs, &record, &p, &err), RC_EXISTS, HIDDEN);
    ck_assert_ok(part_commit(fs, &r, &err));
    ck_assert_rc_msg(part_file_create(fs, &record, &p, &err), RC_EXISTS, FINAL);
}
END_TEST

START_TEST(resumed_part_goes_on_behind_its_recorded_length)
{
    struct part_record r = make("one\ntwo\n"), short_record = r;
    struct part_file *p;

    short_record.size_bytes = 4;
    short_record.digest = digest_of(bytes_of_str("one\n"));
    ck_assert_ok(part_file_resume(fs, &short_record, &p, &err));
    ck_assert_ok(part_file_append(p, bytes_of_str("2\n"), 1, 9, &err));
    ck_assert_ok(part_file_finish(p, arena, &r, &err));
    ck_assert_uint_eq(r.size_bytes, 6);
    ck_assert(digest_eq(r.digest, digest_of(bytes_of_str("one\n2\n"))));
}
END_TEST

START_TEST(resume_refuses_other_or_fewer_bytes)
{
    struct part_record r = make("one\n");
    struct part_file *p;

    r.size_bytes = 5;
    ck_assert_rc_msg(part_file_resume(fs, &r, &p, &err), RC_CORRUPT, HIDDEN);
    r.size_bytes = 4;
    r.digest = digest_of(bytes_of_str("two\n"));
    ck_assert_rc_msg(part_file_resume(fs, &r, &p, &err), RC_CORRUPT,
                     "are not those of the checkpoint");
    ck_assert_ok(fs_unlink(fs, HIDDEN, &err));
    ck_assert_rc_msg(part_file_resume(fs, &r, &p, &err), RC_NOT_FOUND, HIDDEN);
}
END_TEST

START_TEST(commit_is_idempotent_and_never_replaces)
{
    struct part_record r = make("one\n");
    struct fs_file *f;

    ck_assert_ok(part_commit(fs, &r, &err));
    ck_assert_ok(part_commit(fs, &r, &err));
    ck_assert(fs_exists(fs, FINAL) && !fs_exists(fs, HIDDEN));
    ck_assert_ok(fs_create(fs, HIDDEN, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_rc_msg(part_commit(fs, &r, &err), RC_EXISTS, "not overwritten");
    ck_assert_ok(fs_unlink(fs, HIDDEN, &err));
    ck_assert_ok(fs_unlink(fs, FINAL, &err));
    ck_assert_rc_msg(part_commit(fs, &r, &err), RC_NOT_FOUND, "(1 rows)");
}
END_TEST

/* "Cannot look" must not pass for "not there": the caller would report rows as lost. */
START_TEST(commit_tells_a_failed_look_from_a_missing_file)
{
    struct part_record r = make("one\n");
    struct fs *bad = fault_fs_new(fs);

    fault_fs_add(bad, (struct fault){.kinds = FAULT_STAT, .times = 1, .os_errno = EIO});
    ck_assert_rc_msg(part_commit(bad, &r, &err), RC_IO, HIDDEN);
    fault_fs_free(bad);
}
END_TEST

START_TEST(bucket_lies_below_the_base_or_another_one)
{
    struct part_record r = record;
    char path[FS_PATH_MAX];

    r.bucket = "a=1/b=2";
    ck_assert_ok(part_path(&r, NULL, false, path, &err));
    ck_assert_str_eq(path, "/out/a=1/b=2/part-x");
    ck_assert_ok(part_path(&r, "/new", true, path, &err));
    ck_assert_str_eq(path, "/new/a=1/b=2/.part-x.inprogress.y");
    ck_assert_ok(part_dir(&record, NULL, path, &err));
    ck_assert_str_eq(path, "/out");
}
END_TEST

TEST_MAIN("part_file", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, record_says_what_is_on_disk);
    tcase_add_test(tc, taken_names_are_refused);
    tcase_add_test(tc, resumed_part_goes_on_behind_its_recorded_length);
    tcase_add_test(tc, resume_refuses_other_or_fewer_bytes);
    tcase_add_test(tc, commit_is_idempotent_and_never_replaces);
    tcase_add_test(tc, commit_tells_a_failed_look_from_a_missing_file);
    tcase_add_test(tc, bucket_lies_below_the_base_or_another_one);
})
