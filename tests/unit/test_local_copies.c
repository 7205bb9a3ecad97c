/* links: checkpoint */
/* local_copies: the newest checkpoint's files and no others, proven before they are used, and never missed when they are not there. */
#include "checkpoint/local_copies.h"

#include "base/arena.h"
#include "checkpoint/layout.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

#define ROOT "/local/copies"
#define FILES 3

static struct fs *sim, *fs;
static struct env env;
static struct arena *arena;
static struct local_copies *copies;
static struct err err;

/* A checkpoint of the files 0 to FILES-1, by content. */
static struct state_file files[FILES];
static struct keyed_handle keyed;
static struct subtask_state subtask;
static struct operator_meta op;
static struct checkpoint_metadata meta;

static struct bytes content(size_t i)
{
    return bytes_of_str(arena_printf(arena, "content of file %zu", i));
}

static const char *name_of(size_t i)
{
    char name[LAYOUT_NAME_MAX];

    layout_shared_name(digest_of(content(i)), name);
    return arena_strdup(arena, name);
}

static const char *local_of(size_t i)
{
    return arena_printf(arena, "/local/db/%zu.sst", i);
}

static const char *copy_of(uint64_t checkpoint, size_t i)
{
    return arena_printf(arena, ROOT "/%llu/%s", (unsigned long long)checkpoint, name_of(i));
}

static void put(const char *path, struct bytes bytes)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(sim, path, &file, &err));
    ck_assert_ok(fs_append(file, bytes, &err));
    ck_assert_ok(fs_close(&file, &err));
}

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
    sim = sim_fs_new(NULL);
    fs = fault_fs_new(sim);
    env = (struct env){.fs = fs};
    ck_assert_ok(fs_mkdirs(sim, "/local/db", &err));
    for (size_t i = 0; i < FILES; i++) {
        put(local_of(i), content(i));
        files[i] = (struct state_file){
            .scope = FILE_SHARED,
            .local_name = "1.sst",
            .path = arena_printf(arena, LAYOUT_SHARED_PREFIX "%s", name_of(i)),
            .size_bytes = content(i).len,
            .digest = digest_of(content(i)),
            .resolved_path = "s3://far/away",
        };
    }
    keyed = (struct keyed_handle){.kind = KEYED_ROCKS, .files = files, .file_count = FILES};
    subtask = (struct subtask_state){.keyed = &keyed, .keyed_count = 1};
    op = (struct operator_meta){.name = "op", .subtasks = &subtask, .subtask_count = 1};
    meta = (struct checkpoint_metadata){
        .checkpoint_id = 7, .operators = &op, .operator_count = 1};
    ck_assert_ok(local_copies_new(&env, ROOT, &copies, &err));
}

static void teardown(void)
{
    local_copies_free(copies);
    fault_fs_free(fs);
    sim_fs_free(sim);
    arena_free(arena);
}

static void keep(uint64_t checkpoint)
{
    for (size_t i = 0; i < FILES; i++)
        local_copies_add(copies, checkpoint, local_of(i), name_of(i));
}

static void use(size_t want_used)
{
    size_t used, fetched, here = 0;

    local_copies_use(copies, &meta, arena, &used, &fetched);
    for (size_t i = 0; i < FILES; i++)
        here += !path_is_remote(files[i].resolved_path);
    ck_assert_uint_eq(used, want_used);
    ck_assert_uint_eq(here, want_used);
    ck_assert_uint_eq(fetched, FILES - want_used);
}

START_TEST(a_copy_is_a_link_that_outlives_what_it_was_made_of)
{
    struct fs_stat st, from;

    keep(7);
    local_copies_completed(copies, 7);
    ck_assert_ok(fs_stat(sim, local_of(1), &from, &err));
    ck_assert_ok(fs_stat(sim, copy_of(7, 1), &st, &err));
    ck_assert_uint_eq(st.inode, from.inode);
    ck_assert_ok(fs_unlink(sim, local_of(1), &err)); /* a compaction's */
    use(FILES);
    ck_assert_str_eq(files[1].resolved_path, copy_of(7, 1));
}
END_TEST

START_TEST(only_the_newest_complete_ones_and_those_under_way_stay)
{
    keep(5);
    local_copies_completed(copies, 5);
    keep(6);
    keep(7);
    keep(8);
    local_copies_aborted(copies, 6);
    ck_assert(fs_exists(sim, copy_of(5, 0)) && !fs_exists(sim, ROOT "/6"));
    local_copies_completed(copies, 7);
    ck_assert(!fs_exists(sim, ROOT "/5") && fs_exists(sim, copy_of(7, 0)) &&
              fs_exists(sim, copy_of(8, 0)));
    local_copies_add(copies, 6, local_of(0), name_of(0)); /* a straggler's: goes with the next */
    local_copies_completed(copies, 8);
    ck_assert(!fs_exists(sim, ROOT "/6") && !fs_exists(sim, ROOT "/7"));
    use(0); /* 7 is not here any more */
}
END_TEST

/* What a restart would take is a hole, a stranger's bytes, or nothing: it fetches that one. */
START_TEST(what_is_damaged_short_or_gone_is_fetched)
{
    keep(7);
    local_copies_completed(copies, 7);
    ck_assert_ok(fs_unlink(sim, copy_of(7, 1), &err));
    if (_i == 1)
        put(copy_of(7, 1), bytes_of_str("content of file 9"));
    if (_i == 2)
        put(copy_of(7, 1), bytes_of_str("content"));
    if (_i == 3) {
        ck_assert_ok(fs_remove_tree(sim, ROOT, &err));
        use(0);
        return;
    }
    use(FILES - 1);
    ck_assert_str_eq(files[1].resolved_path, "s3://far/away");
}
END_TEST

/* No checkpoint fails for want of a copy. */
START_TEST(a_full_disk_costs_only_the_copy)
{
    static const uint32_t kinds[] = {FAULT_LINK, FAULT_MKDIR, FAULT_APPEND};

    if (_i == 2) /* on another file system: copied */
        fault_fs_add(fs, (struct fault){.kinds = FAULT_LINK | FAULT_REFLINK, .times = UINT64_MAX, .os_errno = EXDEV});
    fault_fs_add(fs, (struct fault){.kinds = kinds[_i], .times = _i == 1 ? 3 : 1, .os_errno = ENOSPC, .short_write = true});
    keep(7);
    local_copies_completed(copies, 7);
    fault_fs_clear(fs);
    if (_i != 1)
        ck_assert(!fs_exists(sim, copy_of(7, 0))); /* and no half of it */
    use(_i == 1 ? 0 : FILES - 1);
}
END_TEST

/* Where links do not lead from the databases' disk, they do from checkpoint to checkpoint. */
START_TEST(another_file_system_is_copied_to_once)
{
    struct fs_stat st, before;

    fault_fs_add(fs, (struct fault){.kinds = FAULT_LINK | FAULT_REFLINK, .path = "/local/db/*", .times = UINT64_MAX, .os_errno = EXDEV});
    keep(6);
    local_copies_completed(copies, 6);
    ck_assert_ok(fs_stat(sim, copy_of(6, 2), &before, &err));
    keep(7);
    ck_assert_ok(fs_stat(sim, copy_of(7, 2), &st, &err));
    ck_assert_uint_eq(st.inode, before.inode);
    local_copies_completed(copies, 7);
    use(FILES);
}
END_TEST

/* The process dies or the machine loses power at any step: a root of another run is never looked into, and what was half made
 * under this id is made anew or proven. */
START_TEST(what_a_crash_left_is_no_copy)
{
    fault_fs_add(fs, (struct fault){.at = (uint64_t)_i, .times = UINT64_MAX, .os_errno = EIO, .short_write = true});
    keep(7);
    local_copies_completed(copies, 7);
    fault_fs_clear(fs);
    local_copies_free(copies);
    ck_assert_ok(local_copies_new(&env, ROOT, &copies, &err));
    keep(7);
    local_copies_completed(copies, 7);
    use(FILES);
}
END_TEST

TEST_MAIN("local_copies", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_copy_is_a_link_that_outlives_what_it_was_made_of);
    tcase_add_test(tc, only_the_newest_complete_ones_and_those_under_way_stay);
    tcase_add_loop_test(tc, what_is_damaged_short_or_gone_is_fetched, 0, 4);
    tcase_add_loop_test(tc, a_full_disk_costs_only_the_copy, 0, 3);
    tcase_add_test(tc, another_file_system_is_copied_to_once);
    tcase_add_loop_test(tc, what_a_crash_left_is_no_copy, 0, 16);
})
