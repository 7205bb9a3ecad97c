/* A checkpoint of random state of both backends, whole and then not what its handle says, with
 * digests that are right all the same. */
#include "backend/handle_check.h"

#include "backend/rocks_sst.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/keyed_job.h"

static const char *const kinds[] = {"h", "r"};

static struct keyed_job job;
static struct keyed_checkpoint checkpoint;
static struct keyed_handle *handle;
static struct err err;
static size_t begun, faults;
static char reason[ERR_MSG_MAX];

static void make_checkpoint(int kind)
{
    keyed_job_init(&job, 7);
    job.key_space = 3000;
    job.target.inline_max = 20000;
    keyed_job_open(&job, 1, kinds[kind], NULL);
    for (int i = 0; i < 60; i++)
        keyed_job_step(&job);
    keyed_job_checkpoint(&job, &checkpoint, 0);
    keyed_job_close(&job);
    handle = &checkpoint.handles[0];
    err = (struct err){0};
}

static void end(void)
{
    keyed_checkpoint_release(&checkpoint);
    keyed_job_release(&job);
}

static bool begin_file(void *ctx UNUSED, size_t file)
{
    ck_assert_uint_lt(file, handle->file_count);
    begun++;
    return true;
}

static void note_fault(void *ctx UNUSED, size_t file, const char *text)
{
    ck_assert_uint_lt(file, handle->file_count);
    faults++;
    snprintf(reason, sizeof reason, "%s", text);
}

static enum rc check_handle(void)
{
    static const struct handle_check_files files = {begin_file, note_fault, NULL};

    begun = faults = 0;
    return handle_check(fs_posix(), handle, tmpdir_at(&job.tmp, "look"), &files, &err);
}

static size_t first_sst(void)
{
    for (size_t i = 0; i < handle->file_count; i++)
        if (strstr(handle->files[i].local_name, ".sst") != NULL)
            return i;
    ck_abort_msg("no SST");
    return 0;
}

START_TEST(what_a_job_wrote_is_what_its_handle_says)
{
    make_checkpoint(_i);
    ck_assert_ok(check_handle());
    ck_assert_uint_eq(faults, 0);
    ck_assert_uint_ge(begun, 1);
    ck_assert(!fs_exists(fs_posix(), tmpdir_at(&job.tmp, "look")));
    end();
}
END_TEST

/* Keys of groups that a subtask does not own would be lost at a restore. */
START_TEST(keys_outside_the_handles_groups_are_a_fault)
{
    make_checkpoint(1);
    handle->range.last = 20;
    ck_assert_ok(check_handle());
    ck_assert_uint_ge(faults, 1);
    ck_assert_ptr_nonnull(strstr(reason, "key groups 0..20"));
    end();
}
END_TEST

/* The digest may be that of a file that was bad when it was taken. */
START_TEST(a_block_that_is_not_what_its_checksum_says_is_a_fault)
{
    struct state_file *f;
    struct buf content = {0};
    struct fs_file *out;
    const char *path;

    make_checkpoint(1);
    f = &handle->files[first_sst()];
    ck_assert_ok(fs_read_all(fs_posix(), f->resolved_path, 1 << 26, &content, &err));
    content.data[10] ^= 1;
    path = tmpdir_at(&job.tmp, "bad.sst");
    ck_assert_ok(fs_create(fs_posix(), path, &out, &err));
    ck_assert_ok(fs_append(out, buf_bytes(&content), &err));
    ck_assert_ok(fs_close(&out, &err));
    f->digest = digest_of(buf_bytes(&content));
    f->resolved_path = path;
    f->scope = FILE_SHARED;
    ck_assert_ok(check_handle());
    ck_assert_uint_eq(faults, 1);
    ck_assert_msg(strstr(reason, "checksum mismatch") != NULL, "%s", reason);
    buf_release(&content);
    end();
}
END_TEST

START_TEST(a_file_that_the_handle_lacks_or_an_entry_too_many_is_a_fault)
{
    size_t sst;

    make_checkpoint(1);
    sst = first_sst();
    handle->files[sst] = handle->files[--handle->file_count];
    ck_assert_rc_msg(check_handle(), RC_CORRUPT, "");
    end();
    make_checkpoint(0);
    handle->entry_count++;
    ck_assert_ok(check_handle());
    ck_assert_uint_eq(faults, 1);
    ck_assert_ptr_nonnull(strstr(reason, "its handle says"));
    end();
}
END_TEST

START_TEST(an_sst_alone_knows_its_entries_and_its_bounds)
{
    uint64_t entries;
    const char *path;

    make_checkpoint(1);
    path = tmpdir_at(&job.tmp, "alone.sst");
    {
        const struct state_file *f = &handle->files[first_sst()];

        if (f->scope == FILE_INLINE) {
            struct fs_file *out;

            ck_assert_ok(fs_create(fs_posix(), path, &out, &err));
            ck_assert_ok(fs_append(out, f->inline_bytes, &err));
            ck_assert_ok(fs_close(&out, &err));
        } else {
            ck_assert_ok(fs_copy(fs_posix(), f->resolved_path, path, &err));
        }
    }
    ck_assert_ok(rocks_sst_check(path, (struct bytes){0}, (struct bytes){0}, &entries, &err));
    ck_assert_uint_gt(entries, 0);
    ck_assert_rc_msg(
        rocks_sst_check(path, bytes_of_str("\x7f\xff"), (struct bytes){0}, &entries, &err),
        RC_CORRUPT, "outside");
    ck_assert_rc_msg(rocks_sst_check(path, (struct bytes){0}, bytes_of("\0", 1), &entries, &err),
                     RC_CORRUPT, "outside");
    end();
}
END_TEST

TEST_MAIN("handle_check",
          tcase_add_loop_test(tc, what_a_job_wrote_is_what_its_handle_says, 0, 2);
          tcase_add_test(tc, keys_outside_the_handles_groups_are_a_fault);
          tcase_add_test(tc, a_block_that_is_not_what_its_checksum_says_is_a_fault);
          tcase_add_test(tc, a_file_that_the_handle_lacks_or_an_entry_too_many_is_a_fault);
          tcase_add_test(tc, an_sst_alone_knows_its_entries_and_its_bounds);)
