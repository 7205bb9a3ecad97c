/* links: checkpoint */
/* Copies of a snapshot, made of the toy job's checkpoint; with other key groups: test_keyed_regroup and
 * tests/e2e/export_verb.py. */
#include "checkpoint/export.h"

#include "checkpoint/layout.h"
#include "checkpoint/recovery.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

#define CHK "/ckpt/" SCENE_JOB_ID "/chk-3"
#define OUT "/out/below/copy"

static struct fs *sim;
static struct scene scene;
static struct recovered from;
static struct export_options options;
static struct export_result result;

static void setup(void)
{
    struct err err = {0};

    sim = sim_fs_new(NULL);
    scene_init(&scene, sim, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
    for (uint64_t id = 1; id <= 3; id++)
        ck_assert_ok(scene_checkpoint(&scene, id, &err));
    scene_close(&scene);
    ck_assert_ok(recovery_open(&scene.env, CHK, &(struct recovery_options){0}, &from, &err));
    options = (struct export_options){0};
}

static void teardown(void)
{
    recovered_release(&from);
    sim_fs_free(sim);
}

static enum rc export(const char *dir, struct err *err)
{
    return export_snapshot(&scene.env, from.meta, dir, &options, &result, err);
}

static enum rc check_file(void *ctx, const struct operator_meta *op, const struct subtask_state *s,
                          struct state_file *f, struct err *err)
{
    size_t *files = ctx;

    (void)op, (void)s, (void)err;
    ck_assert_int_ne(f->scope, FILE_SHARED);
    ck_assert(f->newly_written);
    if (f->scope == FILE_INLINE)
        return RC_OK;
    ++*files;
    ck_assert_ptr_nonnull(strstr(f->resolved_path, OUT "/"));
    return RC_OK;
}

/* The copy is whole by its digests, names nothing outside, and the rest of its tree is the source's. */
static void check_copy(void)
{
    struct recovered copy;
    struct err err = {0};
    size_t files = 0;

    ck_assert_ok(recovery_open(&scene.env, OUT, &(struct recovery_options){.digests = true}, &copy, &err));
    ck_assert_int_eq(copy.meta->kind, CHECKPOINT_SAVEPOINT);
    ck_assert_uint_eq(copy.meta->checkpoint_id, 3);
    ck_assert_str_eq(copy.meta->job_id, SCENE_JOB_ID);
    ck_assert_uint_eq(copy.meta->operators[0].subtasks[0].keyed[0].file_count,
                      from.meta->operators[0].subtasks[0].keyed[0].file_count);
    for (size_t i = 0; i < from.meta->operators[0].subtasks[0].keyed[0].file_count; i++) {
        const struct state_file *a = &from.meta->operators[0].subtasks[0].keyed[0].files[i];
        const struct state_file *b = &copy.meta->operators[0].subtasks[0].keyed[0].files[i];

        ck_assert_str_eq(a->local_name, b->local_name);
        ck_assert(digest_eq(a->digest, b->digest));
        ck_assert_int_eq(a->scope == FILE_INLINE, b->scope == FILE_INLINE);
    }
    ck_assert_ok(metadata_each_file(copy.meta, check_file, &files, &err));
    ck_assert_uint_gt(files, 3);
    recovered_release(&copy);
}

static enum rc count_name(void *ctx, const char *name, struct err *err)
{
    (void)name, (void)err;
    ++*(size_t *)ctx;
    return RC_OK;
}

START_TEST(a_copy_needs_nothing_but_itself)
{
    struct recovered moved;
    struct err err = {0};
    size_t names = 0;

    ck_assert_ok(export(OUT, &err));
    ck_assert_ok(fs_remove_tree(sim, "/ckpt", &err));
    check_copy();
    ck_assert_ok(fs_list(sim, OUT, count_name, &names, &err));
    ck_assert_uint_eq(names, result.file_count + 1);
    ck_assert_ok(fs_rename(sim, OUT, "/moved", &err));
    ck_assert_ok(recovery_open(&scene.env, "/moved", &(struct recovery_options){.digests = true}, &moved, &err));
    recovered_release(&moved);
}
END_TEST

/* A hard link would be quicker, and the source's end would not matter; but a byte that goes bad goes
 * bad in both. */
START_TEST(nothing_is_shared_with_the_source)
{
    struct err err = {0};

    ck_assert_ok(export(OUT, &err));
    for (size_t i = 0; i < from.meta->operators[0].subtasks[0].keyed[0].file_count; i++) {
        const struct state_file *f = &from.meta->operators[0].subtasks[0].keyed[0].files[i];
        char path[FS_PATH_MAX];
        struct fs_stat a, b;

        if (f->scope != FILE_SHARED)
            continue;
        ck_assert_ok(path_join(path, sizeof path, OUT, path_base(f->path), &err));
        ck_assert_ok(fs_stat(sim, f->resolved_path, &a, &err));
        ck_assert_ok(fs_stat(sim, path, &b, &err));
        ck_assert_uint_ne(a.inode, b.inode);
    }
}
END_TEST

START_TEST(an_empty_directory_is_taken_and_another_is_not)
{
    struct err err = {0};
    struct fs_file *f;

    ck_assert_ok(fs_mkdirs(sim, OUT, &err));
    ck_assert_ok(export(OUT, &err));
    check_copy();
    ck_assert_rc_msg(export(OUT, &err), RC_EXISTS, "is not empty");
    check_copy();
    ck_assert_ok(fs_create(sim, "/file", &f, &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_rc_msg(export("/file", &err), RC_EXISTS, "no directory");
    ck_assert(fs_exists(sim, "/file"));
}
END_TEST

/* One byte of the i-th file that is no inline one. */
static const char *damage(size_t which)
{
    struct err err = {0};

    for (size_t i = 0; i < from.meta->operators[0].subtasks[0].keyed[0].file_count; i++) {
        const struct state_file *f = &from.meta->operators[0].subtasks[0].keyed[0].files[i];
        struct buf content = {0};
        struct fs_file *file;

        if (f->scope == FILE_INLINE || which-- > 0)
            continue;
        ck_assert_ok(fs_read_all(sim, f->resolved_path, 1u << 20, &content, &err));
        content.data[content.len / 2] ^= 1;
        ck_assert_ok(fs_unlink(sim, f->resolved_path, &err));
        ck_assert_ok(fs_create(sim, f->resolved_path, &file, &err));
        ck_assert_ok(fs_append(file, buf_bytes(&content), &err));
        ck_assert_ok(fs_close(&file, &err));
        buf_release(&content);
        return f->resolved_path;
    }
    return NULL;
}

START_TEST(a_damaged_file_is_not_copied)
{
    const char *path = damage((size_t)_i);
    struct err err = {0};

    ck_assert_ptr_nonnull(path);
    ck_assert_rc_msg(export(OUT, &err), RC_CORRUPT, path);
    ck_assert(!fs_exists(sim, OUT));
    ck_assert(fs_exists(sim, CHK "/_metadata"));
}
END_TEST

/* Each operation fails once: an error that is no crash, no _metadata that is not whole, and then it
 * works, once what is left of the failed one is away. */
START_TEST(a_failure_anywhere_leaves_no_snapshot)
{
    struct fs *faulty = fault_fs_new(sim);
    uint64_t failures = 0;

    scene.env.fs = faulty;
    for (uint64_t k = 0;; k++) {
        struct err err = {0};
        enum rc rc;

        fault_fs_add(faulty, (struct fault){.at = k, .times = 1, .os_errno = EIO});
        rc = export(OUT, &err);
        if (fault_fs_hits(faulty) == failures) {
            ck_assert_ok(rc);
            break;
        }
        failures++;
        fault_fs_clear(faulty);
        if (rc == RC_OK)
            check_copy(); /* of a question whose answer does not matter */
        else
            ck_assert_msg(!fs_exists(sim, OUT "/_metadata"), "operation %u: %s", (unsigned)k, err.msg);
        err_clear(&err);
        ck_assert_ok(fs_remove_tree(sim, "/out", &err));
    }
    fault_fs_clear(faulty);
    check_copy();
    ck_assert_uint_gt(failures, 50);
    scene.env.fs = sim;
    fault_fs_free(faulty);
}
END_TEST

START_TEST(too_few_key_groups_are_refused_before_anything_is_written)
{
    struct err err = {0};

    from.meta->operators[0].parallelism = 4;
    options.key_group_count = 3;
    ck_assert_rc_msg(export(OUT, &err), RC_INVALID, "parallelism 4");
    options.key_group_count = KEY_GROUP_COUNT_MAX + 1;
    ck_assert_rc_msg(export(OUT, &err), RC_INVALID, "at most");
    ck_assert(!fs_exists(sim, "/out"));
}
END_TEST

TEST_MAIN("export", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_copy_needs_nothing_but_itself);
          tcase_add_test(tc, nothing_is_shared_with_the_source);
          tcase_add_test(tc, an_empty_directory_is_taken_and_another_is_not);
          tcase_add_loop_test(tc, a_damaged_file_is_not_copied, 0, SCENE_FILES + 1);
          tcase_add_test(tc, a_failure_anywhere_leaves_no_snapshot);
          tcase_add_test(tc, too_few_key_groups_are_refused_before_anything_is_written);)
