#include "job/cli/child.h"

#include "base/scratch.h"
#include "tests/lib/check_ext.h"

#include <signal.h>

static struct cli cli;

static void setup(void)
{
    cli = (struct cli){.env = {.fs = fs_posix(), .clock = clock_posix()}, .quiet = true};
}

static int give(struct cli *c, void *ctx)
{
    (void)c;
    return *(int *)ctx;
}

static int die(struct cli *c, void *ctx)
{
    (void)c;
    signal(*(int *)ctx, SIG_DFL); /* a sanitizer's own report is not wanted here */
    raise(*(int *)ctx);
    return EXIT_DONE;
}

START_TEST(the_code_of_the_work_comes_back)
{
    int code = _i;

    ck_assert_int_eq(cli_in_child(&cli, "/some/chk-1", give, &code), code);
}
END_TEST

/* What the tool survives, whoever wrote the database. */
START_TEST(a_child_that_is_ended_is_wrong_and_not_the_end)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGKILL, SIGBUS};
    int number = signals[_i];

    ck_assert_int_eq(cli_in_child(&cli, "/some/chk-1", die, &number), EXIT_WRONG);
}
END_TEST

START_TEST(a_scratch_directory_is_new_and_goes)
{
    char one[FS_PATH_MAX], two[FS_PATH_MAX];
    struct fs_file *lock = NULL, *other = NULL;
    struct err err = {0};

    ck_assert_ok(cli_scratch_make(&cli, one, &lock, &err));
    ck_assert_ok(cli_scratch_make(&cli, two, &other, &err)); /* the first has its lock, and stays */
    ck_assert_str_ne(one, two);
    ck_assert(fs_exists(cli.env.fs, one) && fs_exists(cli.env.fs, two));
    scratch_remove(&cli.env, one, &lock);
    scratch_remove(&cli.env, two, &other);
    ck_assert(!fs_exists(cli.env.fs, one) && !fs_exists(cli.env.fs, two));
}
END_TEST

TEST_MAIN("child", tcase_add_checked_fixture(tc, setup, NULL);
          tcase_add_loop_test(tc, the_code_of_the_work_comes_back, 0, 4);
          tcase_add_loop_test(tc, a_child_that_is_ended_is_wrong_and_not_the_end, 0, 4);
          tcase_add_test(tc, a_scratch_directory_is_new_and_goes);)
