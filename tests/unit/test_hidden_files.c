/* links: sink */
#include "sink/hidden_files.h"

#include "sink/committable.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

#define UUID "01234567-89ab-4def-8123-456789abcdef"

static struct err err;

struct seen {
    struct fs *fs;
    size_t count;
    uint64_t counters;
};

static enum rc note(void *ctx, const struct hidden_file *f, struct err *e)
{
    struct seen *s = ctx;

    ck_assert_str_eq(f->uuid, UUID);
    ck_assert_uint_eq(f->subtask_index, 1);
    s->count++;
    s->counters += f->counter;
    return fs_unlink(s->fs, f->path, e); /* it may be deleted meanwhile */
}

static void put(struct fs *fs, const char *dir, uint64_t counter)
{
    char name[PART_NAME_MAX], temp[PART_NAME_MAX], path[FS_PATH_MAX];
    struct fs_file *f;

    part_name_make(UUID, 1, counter, name);
    part_temp_name_make(name, UUID, temp);
    ck_assert_ok(path_join(path, sizeof path, dir, temp, &err));
    ck_assert_ok(fs_create(fs, path, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_ok(path_join(path, sizeof path, dir, name, &err)); /* and a finished one */
    ck_assert_ok(fs_create(fs, path, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
}

START_TEST(hidden_parts_are_found_in_partitions_and_nowhere_else)
{
    static const char *const dirs[] = {"/out", "/out/d=1", "/out/d=1/h=2", "/out/.d=3",
                                       "/out/other"};
    struct fs *fs = sim_fs_new(NULL);
    struct seen seen = {.fs = fs};

    err = (struct err){0};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        ck_assert_ok(fs_mkdirs(fs, dirs[i], &err));
        put(fs, dirs[i], i + 1);
    }
    ck_assert_ok(hidden_files_each(fs, "/out", note, &seen, &err));
    ck_assert_uint_eq(seen.count, 3);
    ck_assert_uint_eq(seen.counters, 1 + 2 + 3);
    ck_assert_ok(hidden_files_each(fs, "/out", note, &seen, &err));
    ck_assert_uint_eq(seen.count, 3); /* gone */
    ck_assert_rc(hidden_files_each(fs, "/nowhere", note, &seen, &err), RC_NOT_FOUND);
    sim_fs_free(fs);
}
END_TEST

TEST_MAIN("hidden_files",
          tcase_add_test(tc, hidden_parts_are_found_in_partitions_and_nowhere_else);)
