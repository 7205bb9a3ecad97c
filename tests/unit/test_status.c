/* links: base */
/* test_status.c - messages of struct err, and ASSERT. */
#include "base/status.h"

#include "tests/lib/check_ext.h"

#include <errno.h>
#include <signal.h>

START_TEST(every_code_has_a_word_of_its_own)
{
    for (int a = RC_OK; a <= RC_DONE; a++) {
        ck_assert_str_ne(rc_name((enum rc)a), "unknown");
        for (int b = RC_OK; b < a; b++)
            ck_assert_str_ne(rc_name((enum rc)a), rc_name((enum rc)b));
    }
    ck_assert_str_eq(rc_name((enum rc)(RC_DONE + 1)), "unknown");
}
END_TEST

/* An error while cleaning up must not hide why the work failed. */
START_TEST(the_first_error_wins)
{
    struct err err = {0};

    ck_assert_int_eq(err_set(&err, RC_CORRUPT, "first %d", 1), RC_CORRUPT);
    ck_assert_int_eq(err_set(&err, RC_IO, "second"), RC_IO);
    ck_assert_int_eq(err_os(&err, ENOSPC, "third"), RC_IO);
    ck_assert_int_eq(err.rc, RC_CORRUPT);
    ck_assert_str_eq(err.msg, "first 1");
    err_clear(&err);
    ck_assert_int_eq(err_os(&err, ENOSPC, "write %s", "x"), RC_IO);
    ck_assert_str_eq(err.msg, "write x: No space left on device");
    ck_assert_int_eq(err.os_errno, ENOSPC);
}
END_TEST

static const struct {
    int os_errno;
    enum rc rc;
} os_cases[] = {{ENOENT, RC_NOT_FOUND}, {ENOTDIR, RC_NOT_FOUND}, {EEXIST, RC_EXISTS},
                {EXDEV, RC_IO},         {ENOSPC, RC_IO},         {EIO, RC_IO}};

START_TEST(errno_chooses_the_code)
{
    struct err err = {0};

    ck_assert_rc(err_os(&err, os_cases[_i].os_errno, "x"), os_cases[_i].rc);
    ck_assert_int_eq(err_os(NULL, os_cases[_i].os_errno, "x"), os_cases[_i].rc);
}
END_TEST

START_TEST(wrapping_puts_what_is_known_above_before)
{
    struct err err = {0};

    err_set(&err, RC_NOT_FOUND, "open a: gone");
    ck_assert_int_eq(err_wrap(&err, RC_NOT_FOUND, "restore %s", "chk-7"), RC_NOT_FOUND);
    ck_assert_str_eq(err.msg, "restore chk-7: open a: gone");
    err_clear(&err);
    ck_assert_int_eq(err_wrap(&err, RC_LIMIT, "no message below"), RC_LIMIT);
    ck_assert_str_eq(err.msg, "no message below: limit");
    ck_assert_int_eq(err.rc, RC_LIMIT);
    ck_assert_int_eq(err_wrap(NULL, RC_LIMIT, "x"), RC_LIMIT);
}
END_TEST

START_TEST(a_message_too_long_is_cut_visibly)
{
    struct err err = {0};

    err_set(&err, RC_IO, "%*s", 3 * ERR_MSG_MAX, "x");
    ck_assert_uint_eq(strlen(err.msg), ERR_MSG_MAX - 1);
    ck_assert_str_eq(err.msg + ERR_MSG_MAX - 4, "...");
    err_wrap(&err, RC_IO, "prefix");
    ck_assert_uint_eq(strlen(err.msg), ERR_MSG_MAX - 1);
    ck_assert_str_eq(err.msg + ERR_MSG_MAX - 4, "...");
    ck_assert_int_eq(strncmp(err.msg, "prefix:", 7), 0);
    err_clear(&err);
    err_os(&err, EIO, "%*s", 3 * ERR_MSG_MAX, "x");
    ck_assert_uint_eq(strlen(err.msg), ERR_MSG_MAX - 1);
}
END_TEST

START_TEST(a_broken_promise_aborts)
{
    ASSERT(_i == 1);
}
END_TEST

TEST_MAIN("status", tcase_add_test(tc, every_code_has_a_word_of_its_own);
          tcase_add_test(tc, the_first_error_wins);
          tcase_add_loop_test(tc, errno_chooses_the_code, 0, ARRAY_LEN(os_cases));
          tcase_add_test(tc, wrapping_puts_what_is_known_above_before);
          tcase_add_test(tc, a_message_too_long_is_cut_visibly);
          tcase_add_test_raise_signal(tc, a_broken_promise_aborts, SIGABRT))
