/* links: job */
#include "job/sql/sql_error.h"
#include "base/nearest.h"
#include "job/sql/text_width.h"
#include "tests/lib/check_ext.h"

static const struct {
    const char *text;
    size_t width;
} widths[] = {
    {"", 0},
    {"abc", 3},
    {"\xc3\xa4\xc3\xb6", 2},
    {"a\xcc\x88", 1},                /* a combining mark takes no column */
    {"\xe6\xbc\xa2\xe5\xad\x97", 4}, /* two wide characters */
    {"\xf0\x9f\x90\xb1", 2},
    {"\xef\xbd\xb1", 1}, /* half-width katakana */
    {"\xff", 1},         /* not UTF-8: as one character */
};

START_TEST(text_takes_so_many_columns)
{
    ck_assert_uint_eq(text_width(bytes_of_str(widths[_i].text)), widths[_i].width);
}
END_TEST

static const struct {
    const char *text;
    size_t bad_at; /* SIZE_MAX: nowhere */
} utf8[] = {
    {"plain", SIZE_MAX},
    {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb1", SIZE_MAX},
    {"a\x80", 1},
    {"ab\xc3", 2},
    {"\xc0\xaf", 0},         /* overlong */
    {"\xe0\x80\xaf", 0},     /* overlong */
    {"x\xed\xa0\x80", 1},    /* a surrogate */
    {"\xf4\x90\x80\x80", 0}, /* past U+10FFFF */
    {"\xf0\x9f\x90x", 0},
};

START_TEST(what_is_not_utf8_is_found)
{
    size_t len = strlen(utf8[_i].text);

    ck_assert_uint_eq(utf8_invalid_at(bytes_of_str(utf8[_i].text)),
                      utf8[_i].bad_at == SIZE_MAX ? len : utf8[_i].bad_at);
}
END_TEST

static const char *const candidates[] = {"path", "format", "rows-per-second", "connector", "a"};
static const struct {
    const char *word, *nearest;
} nearest[] = {
    {"pth", "path"},
    {"PATH", "path"},
    {"ptah", "path"},
    {"fromat", "format"},
    {"rows_per_seconds", "rows-per-second"},
    {"xyz", NULL},
    {"", NULL},
    {"b", NULL},
    {"conector", "connector"},
};

START_TEST(the_nearest_word_is_near)
{
    const char *found = nearest_of(nearest[_i].word, candidates, ARRAY_LEN(candidates));

    if (nearest[_i].nearest == NULL)
        ck_assert_ptr_null(found);
    else
        ck_assert_str_eq(found, nearest[_i].nearest);
}
END_TEST

/* A long line is shown around the caret only. */
START_TEST(a_long_line_is_cut_around_the_caret)
{
    struct err err = {0};
    char text[3001];
    const char *caret;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[1499] = '?';
    sql_error_at(&err, RC_INVALID, text, (struct sql_pos){1, 1500, 1499}, "here");
    ck_assert_uint_lt(strlen(err.msg), 250);
    caret = strchr(err.msg, '^');
    ck_assert_ptr_nonnull(caret);
    ck_assert_int_eq(strchr(err.msg, '?') - strchr(err.msg, '\n'), caret - strrchr(err.msg, '\n'));
}
END_TEST

TEST_MAIN("text_width", tcase_add_loop_test(tc, text_takes_so_many_columns, 0, ARRAY_LEN(widths));
          tcase_add_loop_test(tc, what_is_not_utf8_is_found, 0, ARRAY_LEN(utf8));
          tcase_add_loop_test(tc, the_nearest_word_is_near, 0, ARRAY_LEN(nearest));
          tcase_add_test(tc, a_long_line_is_cut_around_the_caret))
