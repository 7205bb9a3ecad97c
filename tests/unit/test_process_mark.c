/* links: base */
/* test_process_mark.c - whether a process is one of here, and gone. */
#include "base/process_mark.h"

#include "tests/lib/check_ext.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that says its mark and waits. */
static pid_t start_child(char mark[PROCESS_MARK_MAX])
{
    int out[2];
    pid_t pid;

    ck_assert_int_eq(pipe(out), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        process_mark(mark);
        if (write(out[1], mark, PROCESS_MARK_MAX) == PROCESS_MARK_MAX)
            pause();
        _exit(0);
    }
    ck_assert_int_eq(read(out[0], mark, PROCESS_MARK_MAX), PROCESS_MARK_MAX);
    close(out[0]);
    close(out[1]);
    return pid;
}

START_TEST(process_is_gone_once_it_was_killed)
{
    char mark[PROCESS_MARK_MAX] = "", other[PROCESS_MARK_MAX];
    pid_t pid = start_child(mark);
    siginfo_t info;

    ck_assert_msg(mark[0] != '\0', "/proc does not tell");
    ck_assert(!process_is_gone(mark));
    memcpy(other, mark, sizeof other);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    ck_assert(process_is_gone(mark)); /* dead, though its parent has not looked yet */
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert(process_is_gone(mark));
    other[0] = other[0] == '0' ? '1' : '0'; /* of another machine, boot or container: not known */
    ck_assert(!process_is_gone(other));
}
END_TEST

START_TEST(another_process_under_the_same_id_is_not_taken_for_it)
{
    char mark[PROCESS_MARK_MAX], *last = mark;

    process_mark(mark);
    ck_assert(!process_is_gone(mark));
    last += strlen(mark) - 1;
    *last = *last == '0' ? '1' : (char)(*last - 1); /* started before */
    ck_assert(process_is_gone(mark));
}
END_TEST

static const char *const no_marks[] = {"",
                                       "x",
                                       "0123456789abcdef",
                                       "0123456789abcdef-",
                                       "0123456789abcdef-1",
                                       "0123456789abcdef-0-1",
                                       "0123456789abcdef--1-1",
                                       "0123456789abcdef-99999999999-1",
                                       "0123456789abcdef-1-1x"};

START_TEST(what_is_no_mark_says_nothing)
{
    ck_assert(!process_is_gone(no_marks[_i]));
}
END_TEST

TEST_MAIN("process_mark", tcase_add_test(tc, process_is_gone_once_it_was_killed);
          tcase_add_test(tc, another_process_under_the_same_id_is_not_taken_for_it);
          tcase_add_loop_test(tc, what_is_no_mark_says_nothing, 0, (int)ARRAY_LEN(no_marks)))
