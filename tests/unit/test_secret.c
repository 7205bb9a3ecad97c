/* Passwords are shown nowhere: SQL text of every shape. */
#include "job/sql/secret.h"

#include "tests/lib/check_ext.h"

static const struct {
    const char *sql, *shown;
} texts[] = {
    {"", ""},
    {"SELECT 1", "SELECT 1"},
    {"WITH ('password' = 'p', 'url'='u')", "WITH ('password' = '******', 'url'='u')"},
    {"WITH ('PassWord'='a''b', 'x'='y')", "WITH ('PassWord'='******', 'x'='y')"},
    {"('s3.secret-key'\n =\n 'k')", "('s3.secret-key'\n =\n '******')"},
    {"('password' = '')", "('password' = '******')"},
    {"('password' = 'cut off", "('password' = '******'"},
    {"SELECT 'password', 'x'", "SELECT 'password', 'x'"},
    {"SELECT 'it''s' -- don't\n('password' = 'p')", "SELECT 'it''s' -- don't\n('password' = '******')"},
    {"/*+ OPTIONS('password'='p') */ ('table-name' = 'password')",
     "/*+ OPTIONS('password'='******') */ ('table-name' = 'password')"},
    {"('a'='b''' , 'password'='p')('token'='t')", "('a'='b''' , 'password'='******')('token'='******')"},
    {"'", "'"},
    {"/* don't */ ('password'='p')", "/* don't */ ('password'='******')"},
    {"/*/ don't */ ('password'='p')", "/*/ don't */ ('password'='******')"},
    {"/**/('password'='p')/* '", "/**/('password'='******')/* '"},
    {"`it's` ('password'='p')`", "`it's` ('password'='******')`"},
    {"-", "-"},
    {"/*", "/*"},
    {"/* 'password'='p'", "/* 'password'='p'"},
    {"('password' 'p')", "('password' '******')"},
    {"('password' =\n\n'p'\n)", "('password' =\n\n'******'\n)"},
    {"('password' = p)", "('password' = p)"},
};
START_TEST(values_of_secret_options_are_masked_and_nothing_else)
{
    struct buf out = {0};

    secret_mask(texts[_i].sql, &out);
    ck_assert_str_eq(buf_cstr(&out), texts[_i].shown);
    ck_assert_int_eq(secret_within(bytes_of_str(texts[_i].sql)),
                     strcmp(texts[_i].sql, texts[_i].shown) != 0);
    buf_release(&out);
}
END_TEST

/* A message shows one line of a script. */
START_TEST(a_line_is_secret_when_its_value_began_before_it)
{
    struct bytes text = bytes_of_str("('password' =\n'p\nq'\n, 'a' = 'b')");

    ck_assert(!secret_overlaps(text, 0, 13));
    ck_assert(secret_overlaps(text, 14, 16));
    ck_assert(secret_overlaps(text, 17, 19));
    ck_assert(!secret_overlaps(text, 20, text.len));
}
END_TEST

START_TEST(keys_are_secret_by_their_words)
{
    ck_assert(secret_key("password") && secret_key("properties.sasl.PASSWORD") &&
              secret_key("fs.azure.account.key") && secret_key("my-token"));
    ck_assert(!secret_key("username") && !secret_key("url") && !secret_key(""));
}
END_TEST

TEST_MAIN("secret",
          tcase_add_loop_test(tc, values_of_secret_options_are_masked_and_nothing_else, 0,
                              ARRAY_LEN(texts));
          tcase_add_test(tc, a_line_is_secret_when_its_value_began_before_it);
          tcase_add_test(tc, keys_are_secret_by_their_words);)
