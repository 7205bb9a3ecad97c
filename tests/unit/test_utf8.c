/* links: base */
/* test_utf8.c - which bytes are well-formed UTF-8, said in one place for SQL text, rows, _metadata and REST. */
#include "base/utf8.h"
#include "tests/lib/check_ext.h"

static const struct {
    const char *text;
    size_t bad_at; /* SIZE_MAX: nowhere */
    const char *valid; /* with U+FFFD for each bad byte */
} texts[] = {
    {"", SIZE_MAX, ""},
    {"plain", SIZE_MAX, "plain"},
    {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb1", SIZE_MAX, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb1"},
    {"a\x80", 1, "a\xef\xbf\xbd"},
    {"ab\xc3", 2, "ab\xef\xbf\xbd"},                              /* cut */
    {"eight by\x80", 8, "eight by\xef\xbf\xbd"},                  /* behind the step of eight */
    {"eight b\xc3\xa4\xff", 9, "eight b\xc3\xa4\xef\xbf\xbd"},    /* across it */
    {"\xc0\xaf", 0, "\xef\xbf\xbd\xef\xbf\xbd"},                  /* overlong */
    {"\xe0\x80\xaf", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  /* overlong */
    {"x\xed\xa0\x80", 1, "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
    {"\xf4\x90\x80\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* past U+10FFFF */
    {"\xf0\x9f\x90x", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx"},
};

START_TEST(what_is_not_well_formed_is_found_and_replaced)
{
    struct bytes text = bytes_of_str(texts[_i].text);
    size_t bad_at = texts[_i].bad_at == SIZE_MAX ? text.len : texts[_i].bad_at;
    struct buf valid = {0};

    ck_assert_uint_eq(utf8_invalid_at(text), bad_at);
    ck_assert(utf8_is_valid(text) == (bad_at == text.len));
    utf8_append_valid(text, &valid);
    ck_assert_str_eq(buf_cstr(&valid), texts[_i].valid);
    buf_release(&valid);
}
END_TEST

/* Every code point goes to bytes and back; surrogates do not come back. An assertion costs a system call: only when wrong. */
START_TEST(each_code_point_reads_back)
{
    for (uint32_t v = 0; v <= 0x10ffff; v++) {
        uint8_t bytes[4];
        uint32_t len = utf8_put(v, bytes), back, got, none, next;
        bool surrogate = v >= 0xd800 && v < 0xe000, right;

        got = utf8_get(bytes, bytes + len, &back);
        right = surrogate ? got == UINT32_MAX && back == 1 : got == v && back == len;
        right = right && utf8_next(bytes_of(bytes, len), 0, &next) == back && next == (surrogate ? 0xfffd : v);
        for (uint32_t cut = 1; cut < len; cut++)
            right = right && utf8_get(bytes, bytes + cut, &none) == UINT32_MAX;
        if (!right)
            ck_abort_msg("U+%04X: %x, %u bytes", v, got, back);
    }
}
END_TEST

TEST_MAIN("utf8", tcase_add_loop_test(tc, what_is_not_well_formed_is_found_and_replaced, 0, ARRAY_LEN(texts));
          tcase_add_test(tc, each_code_point_reads_back);)
