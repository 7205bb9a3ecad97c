/* links: checkpoint */
#include "checkpoint/flink/flink_newest.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#define JOB_A "0123456789abcdef0123456789abcdef"
#define JOB_B "fedcba9876543210fedcba9876543210"

static struct tmpdir tmp;
static struct arena *arena;

static void setup(void)
{
    tmpdir_make(&tmp);
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
    tmpdir_remove(&tmp);
}

static void make_dir(const char *name)
{
    struct err err = {0};

    ck_assert_ok(fs_mkdirs(fs_posix(), tmpdir_at(&tmp, name), &err));
}

/* second: when it was written. */
static void make_snapshot(const char *dir, const char *magic, long second)
{
    const char *path = arena_printf(arena, "%s/_metadata", dir);
    const struct timeval times[2] = {{second, 0}, {second, 0}};

    make_dir(dir);
    tmpdir_write(&tmp, path, magic, 4);
    ck_assert_int_eq(utimes(tmpdir_at(&tmp, path), times), 0);
}

#define FLINKS "\x49\x60\x67\x2d"
#define NOBODYS "????"

static void leads_to(const char *given, const char *want)
{
    const char *got = flink_newest(fs_posix(), tmpdir_at(&tmp, given), arena);

    if (want == NULL)
        ck_assert_msg(got == NULL, "%s leads to %s", given, got);
    else
        ck_assert_msg(got != NULL && strcmp(got, tmpdir_at(&tmp, want)) == 0, "%s leads to %s", given,
                      got == NULL ? "nothing" : got);
}

START_TEST(a_snapshot_is_meant_by_itself_and_by_its_file)
{
    make_snapshot("savepoint-012345-0123456789ab", FLINKS, 1000);
    leads_to("savepoint-012345-0123456789ab", "savepoint-012345-0123456789ab");
    leads_to("savepoint-012345-0123456789ab/_metadata", "savepoint-012345-0123456789ab");
    leads_to("there-is-none", NULL);
}
END_TEST

START_TEST(of_a_job_the_newest_complete_one_by_id_is_meant)
{
    make_snapshot(JOB_A "/chk-10", FLINKS, 1000);
    make_snapshot(JOB_A "/chk-9", FLINKS, 2000);
    make_dir(JOB_A "/chk-11");
    leads_to(JOB_A, JOB_A "/chk-10");
}
END_TEST

START_TEST(of_a_root_the_one_that_was_written_last_is_meant)
{
    make_snapshot("root/" JOB_A "/chk-90", FLINKS, 1000);
    make_snapshot("root/" JOB_B "/chk-2", FLINKS, 3000);
    make_snapshot("root/" JOB_B "/chk-3", NOBODYS, 2000);
    leads_to("root", "root/" JOB_B "/chk-2");
    make_snapshot("root/savepoint-012345-0123456789ab", FLINKS, 4000);
    leads_to("root", "root/savepoint-012345-0123456789ab");
    make_snapshot("root/" JOB_A "/chk-91", NOBODYS, 5000); /* not Flink's: who reads varve's says what */
    leads_to("root", NULL);
}
END_TEST

START_TEST(what_is_damaged_among_files_of_flinks_is_flinks)
{
    make_snapshot(JOB_A "/chk-1", NOBODYS, 1000);
    leads_to(JOB_A "/chk-1", NULL);
    tmpdir_write(&tmp, JOB_A "/chk-1/0f3c1e2d-4b5a-4978-8695-a4b3c2d1e0ff", "x", 1);
    leads_to(JOB_A "/chk-1", JOB_A "/chk-1");
}
END_TEST

/* A LOCK is there before the first checkpoint and after the last. */
START_TEST(a_job_of_varves_is_not_even_listed)
{
    make_snapshot(JOB_A "/chk-1", FLINKS, 1000);
    tmpdir_write(&tmp, JOB_A "/LOCK", "", 0);
    leads_to(JOB_A, NULL);
}
END_TEST

TEST_MAIN("flink_newest", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_snapshot_is_meant_by_itself_and_by_its_file);
          tcase_add_test(tc, of_a_job_the_newest_complete_one_by_id_is_meant);
          tcase_add_test(tc, of_a_root_the_one_that_was_written_last_is_meant);
          tcase_add_test(tc, what_is_damaged_among_files_of_flinks_is_flinks);
          tcase_add_test(tc, a_job_of_varves_is_not_even_listed);)
