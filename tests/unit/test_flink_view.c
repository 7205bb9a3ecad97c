/* links: checkpoint
 *
 * Where the files lie that Flink named by absolute path. */
#include "checkpoint/flink/flink_view.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

#define JOB "/new/1be088caad31aa5c7c89b91c026167b8"
#define OLD "file:/old/place/1be088caad31aa5c7c89b91c026167b8"

static struct arena *arena;
static struct fs *fs;

static void touch(const char *path)
{
    struct fs_file *f;
    char dir[FS_PATH_MAX];
    struct err err = {0};

    ck_assert_ok(path_dir(dir, sizeof dir, path, &err));
    ck_assert_ok(fs_mkdirs(fs, dir, &err));
    ck_assert_ok(fs_create(fs, path, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
}

static void setup(void)
{
    arena = arena_new(0);
    fs = sim_fs_new(NULL);
    touch(JOB "/shared/there");
    touch("/new/sp/beside");
}

static void teardown(void)
{
    sim_fs_free(fs);
    arena_free(arena);
}

static struct flink_stream file(const char *path)
{
    return (struct flink_stream){.tag = FLINK_STREAM_FILE, .path = bytes_of_str(path), .size = 1};
}

static const char *place(const char *dir, const struct rebase *rebase, const char *first,
                         const char *path)
{
    struct flink_operator ops[2] = {{.coordinator = file(first)}, {.coordinator = file(path)}};
    struct flink_metadata m = {.operator_count = 2, .operators = ops};

    return flink_place(flink_places_new(fs, &m, dir, rebase, arena), &ops[1].coordinator);
}

/* One file that is there is enough: the missing one is named where it ought to be. */
START_TEST(a_moved_directory_is_found_by_itself)
{
    ck_assert_str_eq(place(JOB "/chk-4", NULL, OLD "/shared/there", OLD "/shared/gone"),
                     JOB "/shared/gone");
    ck_assert_str_eq(place(JOB "/chk-4", NULL, OLD "/shared/gone", OLD "/shared/there"),
                     JOB "/shared/there");
    ck_assert_str_eq(place(JOB "/chk-4", NULL, "file:///x/shared/there", "file:///x/shared/b"),
                     JOB "/shared/b");
    ck_assert_str_eq(place("/new/sp", NULL, "file:/old/sp/beside", "file:/old/sp/b"), "/new/sp/b");
}
END_TEST

START_TEST(what_is_not_here_stays_where_it_was_named)
{
    ck_assert_str_eq(place(JOB "/chk-4", NULL, OLD "/shared/gone", OLD "/shared/gone"),
                     "/old/place/1be088caad31aa5c7c89b91c026167b8/shared/gone");
    ck_assert_str_eq(place(JOB "/chk-4", NULL, OLD "/shared/there", "/else/where/file"),
                     "/else/where/file");
    ck_assert_str_eq(place(JOB "/chk-4", NULL, OLD "/shared/there", "gs://b/shared/x"),
                     "gs://b/shared/x");
}
END_TEST

START_TEST(a_rule_goes_before_all)
{
    static const struct rebase_rule rules[] = {{"/old/place", "/third"}, {"gs://b", "/bucket"}};
    struct rebase rebase = {2, rules};

    ck_assert_str_eq(place(JOB "/chk-4", &rebase, OLD "/shared/there", OLD "/shared/there"),
                     "/third/1be088caad31aa5c7c89b91c026167b8/shared/there");
    ck_assert_str_eq(place(JOB "/chk-4", &rebase, OLD "/shared/there", "gs://b/k"), "/bucket/k");
    ck_assert_str_eq(place(JOB "/chk-4", &rebase, OLD "/shared/there", "/old/places/k"),
                     "/old/places/k");
}
END_TEST

START_TEST(a_relative_file_lies_beside_its_metadata)
{
    struct flink_places *p = flink_places_new(fs, NULL, JOB "/chk-4", NULL, arena);
    struct flink_stream s = {.tag = FLINK_STREAM_RELATIVE, .path = bytes_of_str("a")};

    ck_assert_str_eq(flink_place(p, &s), JOB "/chk-4/a");
}
END_TEST

TEST_MAIN("flink_view", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_moved_directory_is_found_by_itself);
          tcase_add_test(tc, what_is_not_here_stays_where_it_was_named);
          tcase_add_test(tc, a_rule_goes_before_all);
          tcase_add_test(tc, a_relative_file_lies_beside_its_metadata);)
