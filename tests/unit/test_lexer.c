/* links: job */
#include "job/sql/lexer.h"
#include "tests/lib/check_ext.h"

/* Tokens as text: keywords upper, names as `name`, strings as 'text', numbers as they are, the end
 * as $. */
static void dump(const char *sql, bool settings, struct buf *out, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct lexer lexer;
    struct sql_token t;

    lexer_init(&lexer, arena, sql);
    do {
        if ((settings ? lexer_next_setting(&lexer, &t, err) : lexer_next(&lexer, &t, err)) !=
            RC_OK) {
            buf_printf(out, "!%u:%u", t.pos.line, t.pos.column);
            break;
        }
        if (t.kind != 0)
            buf_printf(out, "%u:%u[%.*s]", t.pos.line, t.pos.column, (int)t.len, t.text);
    } while (t.kind != 0);
    arena_free(arena);
}

static const struct {
    const char *sql, *tokens;
} cases[] = {
    {"SELECT a", "1:1[SELECT]1:8[a]"},
    {"  a -- comment\n b", "1:3[a]2:2[b]"},
    {"a /* x \n * / ** */ b", "1:1[a]2:12[b]"},
    {"a/**/b", "1:1[a]1:6[b]"},
    {"'it''s'", "1:1[it's]"},
    {"''", "1:1[]"},
    {"'two\nlines' x", "1:1[two\nlines]2:8[x]"},
    {"`a b``c`", "1:1[a b`c]"},
    {"\xc3\xa4\xc3\xb6 x", "1:1[\xc3\xa4\xc3\xb6]1:4[x]"}, /* columns count code points */
    {"'\xf0\x9f\x90\xb1' x", "1:1[\xf0\x9f\x90\xb1]1:5[x]"},
    {"1 1.5 .5 1. 1e3 1.5E-3", "1:1[1]1:3[1.5]1:7[.5]1:10[1.]1:13[1e3]1:17[1.5E-3]"},
    {"a<=b<>c!=d||e=>f",
     "1:1[a]1:2[<=]1:4[b]1:5[<>]1:7[c]1:8[!=]1:10[d]1:11[||]1:13[e]1:14[=>]1:16[f]"},
    {"a$1_b", "1:1[a$1_b]"},
    {"x'0aFF'", "1:1[0aFF]"},
    {"t /*+ OPTIONS('a'='b') */ x",
     "1:1[t]1:3[/*+]1:7[OPTIONS]1:14[(]1:15[a]1:18[=]1:19[b]1:22[)]1:24[*/]1:27[x]"},
    {"2*/* c */3", "1:1[2]1:2[*]1:10[3]"},
    {"\xef\xbb\xbfSELECT", "1:2[SELECT]"}, /* a byte order mark is blank */
    {"a 'open", "1:1[a]!1:3"},
    {"`open", "!1:1"},
    {"``", "!1:1"},
    {"/* open", "!1:1"},
    {"a \"b\"", "1:1[a]!1:3"},
    {"1x", "!1:1"},
    {"1e", "!1:1"},
    {"a == b", "1:1[a]!1:3"},
    {"a ? b", "1:1[a]!1:3"},
    {"U&'x'", "!1:1"},
    {"", ""},
};

START_TEST(text_is_cut_into_tokens_at_their_places)
{
    struct buf out = {0};
    struct err err = {0};

    dump(cases[_i].sql, false, &out, &err);
    ck_assert_str_eq(buf_cstr(&out), cases[_i].tokens);
    ck_assert_int_eq(err.rc != RC_OK,
                     cases[_i].tokens[0] == '!' || strstr(cases[_i].tokens, "]!") != NULL);
    buf_release(&out);
}
END_TEST

static const struct {
    const char *sql, *tokens;
} setting_cases[] = {
    {" 'a.b' = 'c d';", "1:2[a.b]1:8[=]1:10[c d]1:15[;]"},
    {" a.b-c=10s;", "1:2[a.b-c]1:7[=]1:8[10s]1:11[;]"},
    {" table.local-time-zone = America/New_York",
     "1:2[table.local-time-zone]1:24[=]1:26[America/New_York]"},
    {" a = file:///tmp/x -- c\n;", "1:2[a]1:4[=]1:6[file:///tmp/x]2:1[;]"},
    {" a = 'b", "1:2[a]1:4[=]!1:6"},
};

/* Keys and values of SET need no quotes: 10s is no number there, a.b no two names. */
START_TEST(settings_have_words_of_their_own)
{
    struct buf out = {0};
    struct err err = {0};

    dump(setting_cases[_i].sql, true, &out, &err);
    ck_assert_str_eq(buf_cstr(&out), setting_cases[_i].tokens);
    buf_release(&out);
}
END_TEST

/* The table is searched by halves: a word out of order would not be found. */
START_TEST(every_keyword_is_found_in_any_case)
{
    int found = 0;

    for (int kind = 1; kind < 400; kind++) {
        const char *word = lexer_keyword_of(kind);
        char low[32];
        size_t i;

        if (word == NULL)
            continue;
        ck_assert_int_eq(lexer_keyword(word, strlen(word)), kind);
        for (i = 0; word[i] != '\0'; i++)
            low[i] = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] + 32) : word[i];
        ck_assert_int_eq(lexer_keyword(low, i), kind);
        found++;
    }
    ck_assert_int_gt(found, 100);
    ck_assert_int_eq(lexer_keyword("CEILING", 7), lexer_keyword("ceil", 4));
}
END_TEST

TEST_MAIN("lexer",
          tcase_add_loop_test(tc, text_is_cut_into_tokens_at_their_places, 0, ARRAY_LEN(cases));
          tcase_add_loop_test(tc, settings_have_words_of_their_own, 0, ARRAY_LEN(setting_cases));
          tcase_add_test(tc, every_keyword_is_found_in_any_case))
