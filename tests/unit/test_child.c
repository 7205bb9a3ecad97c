#include "job/cli/child.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cli cli;
static struct tmpdir tmp;

static void setup(void)
{
    tmpdir_make(&tmp);
    setenv("TMPDIR", tmp.path, 1);
    cli = (struct cli){.env = {.fs = fs_posix(), .clock = clock_posix()}, .quiet = true};
}

static void teardown(void)
{
    tmpdir_remove(&tmp);
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

static int look(struct cli *c, const char *path, const char *scratch_dir)
{
    ck_assert_str_eq(path, "/some/chk-1");
    return fs_exists(c->env.fs, scratch_dir) ? EXIT_DONE : EXIT_WRONG;
}

static enum rc no_entry(void *ctx UNUSED, const char *name, struct err *err)
{
    return err_set(err, RC_EXISTS, "%s is left", name);
}

START_TEST(a_scratch_directory_is_there_and_goes)
{
    struct err err = {0};

    ck_assert_int_eq(cli_with_scratch(&cli, "/some/chk-1", look), EXIT_DONE);
    ck_assert_ok(fs_list(cli.env.fs, tmp.path, no_entry, NULL, &err));
}
END_TEST

static int told[2];

/* Until it is ended. */
static int wait_there(struct cli *c UNUSED, const char *path UNUSED, const char *scratch_dir UNUSED)
{
    ck_assert_int_eq(write(told[1], "x", 1), 1);
    for (;;)
        pause();
}

/* Ctrl-C while databases are looked at: both processes end, and leave nothing. */
START_TEST(a_signal_ends_the_child_and_the_process_and_the_scratch_goes)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct err err = {0};
    int status;
    char x;
    pid_t pid;

    ck_assert_int_eq(pipe(told), 0);
    pid = fork();
    if (pid == 0) {
        signal(signals[_i], SIG_DFL);
        cli_with_scratch(&cli, "/some/chk-1", wait_there);
        _exit(0);
    }
    close(told[1]);
    ck_assert_int_eq(read(told[0], &x, 1), 1);
    kill(pid, signals[_i]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), signals[_i]);
    ck_assert_int_eq(read(told[0], &x, 1), 0); /* the child is gone too */
    ck_assert_ok(fs_list(cli.env.fs, tmp.path, no_entry, NULL, &err));
}
END_TEST

TEST_MAIN("child", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, the_code_of_the_work_comes_back, 0, 4);
          tcase_add_loop_test(tc, a_child_that_is_ended_is_wrong_and_not_the_end, 0, 4);
          tcase_add_test(tc, a_scratch_directory_is_there_and_goes);
          tcase_add_loop_test(tc, a_signal_ends_the_child_and_the_process_and_the_scratch_goes, 0, 3);)
