/* check_ext.h - Check with assertions for our result codes and byte slices, and a main.
 *
 *     START_TEST(cut_varint_is_corrupt) { struct err err = {0}; ... } END_TEST
 *     TEST_MAIN("bytes", tcase_add_test(tc, cut_varint_is_corrupt); tcase_add_loop_test(tc, ...);)
 *
 * The assertions that take a call expect a `struct err err` in scope, which the call got by
 * address; they print its message. */
#ifndef VARVE_TESTS_LIB_CHECK_EXT_H
#define VARVE_TESTS_LIB_CHECK_EXT_H

#include "base/bytes.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* The call gave RC_OK. Reads the local `err` for the message. */
#define ck_assert_ok(call)                                                                         \
    do {                                                                                           \
        enum rc ck_rc_ = (call);                                                                   \
        ck_assert_msg(ck_rc_ == RC_OK, "%s: %s: %s", #call, rc_name(ck_rc_), err.msg);             \
    } while (0)

/* The call gave `want`; when err was filled it says the same and has a message; err is cleared. */
#define ck_assert_rc(call, want)                                                                   \
    do {                                                                                           \
        enum rc ck_rc_ = (call);                                                                   \
        ck_assert_msg(ck_rc_ == (want), "%s: %s, expected %s: %s", #call, rc_name(ck_rc_),         \
                      rc_name(want), err.msg);                                                     \
        if (ck_rc_ != RC_OK)                                                                       \
            ck_assert_msg(err.rc == ck_rc_ && err.msg[0] != '\0',                                  \
                          "%s: returned %s but err says %s \"%s\"", #call, rc_name(ck_rc_),        \
                          rc_name(err.rc), err.msg);                                               \
        err_clear(&err);                                                                           \
    } while (0)

/* ... and its message holds `part`. */
#define ck_assert_rc_msg(call, want, part)                                                         \
    do {                                                                                           \
        enum rc ck_rc_ = (call);                                                                   \
        ck_assert_msg(ck_rc_ == (want), "%s: %s, expected %s: %s", #call, rc_name(ck_rc_),         \
                      rc_name(want), err.msg);                                                     \
        ck_assert_msg(strstr(err.msg, (part)) != NULL, "%s: message \"%s\" lacks \"%s\"", #call,   \
                      err.msg, (part));                                                            \
        err_clear(&err);                                                                           \
    } while (0)

/* Two slices hold the same bytes; else prints both in hex around the first difference. */
#define ck_assert_bytes_eq(got, want)                                                              \
    do {                                                                                           \
        struct bytes ck_got_ = (got), ck_want_ = (want);                                           \
        if (!bytes_eq(ck_got_, ck_want_)) {                                                        \
            char ck_g_[3 * 24 + 8], ck_w_[3 * 24 + 8];                                             \
            size_t ck_at_ = check_ext_differ(ck_got_, ck_want_);                                   \
            check_ext_hex(ck_got_, ck_at_, ck_g_, sizeof ck_g_);                                   \
            check_ext_hex(ck_want_, ck_at_, ck_w_, sizeof ck_w_);                                  \
            ck_abort_msg("%s (%zu bytes) != %s (%zu bytes) from byte %zu on: %s instead of %s",    \
                         #got, ck_got_.len, #want, ck_want_.len, ck_at_, ck_g_, ck_w_);            \
        }                                                                                          \
    } while (0)

#define ck_assert_bytes_str(got, text) ck_assert_bytes_eq(got, bytes_of_str(text))

/* First index at which the slices differ; the shorter length when one is a prefix. */
static inline size_t check_ext_differ(struct bytes a, struct bytes b)
{
    size_t i = 0;

    while (i < a.len && i < b.len && a.data[i] == b.data[i])
        i++;
    return i;
}

/* At most 24 bytes from `from` on as "0a ff .. " into out. */
static inline void check_ext_hex(struct bytes b, size_t from, char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = from; i < b.len && at + 4 < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%02x ", b.data[i]);
    if (at == 0)
        snprintf(out, cap, "(end)");
}

/* main of a test program with one case; the rest is a list of tcase_add_* calls on `tc`, and may
 * set tcase_set_timeout(tc, s) and tcase_add_checked_fixture(tc, ..). */
#define TEST_MAIN(name, ...)                                                                       \
    int main(void)                                                                                 \
    {                                                                                              \
        Suite *suite = suite_create(name);                                                         \
        TCase *tc = tcase_create(name);                                                            \
        SRunner *runner = srunner_create(suite);                                                   \
        int failed;                                                                                \
                                                                                                   \
        tcase_set_timeout(tc, 60);                                                                 \
        __VA_ARGS__;                                                                               \
        suite_add_tcase(suite, tc);                                                                \
        srunner_run_all(runner, CK_ENV);                                                           \
        failed = srunner_ntests_failed(runner);                                                    \
        srunner_free(runner);                                                                      \
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;                                          \
    }

#endif
