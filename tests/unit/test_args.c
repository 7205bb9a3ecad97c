/* test_args.c - options of a verb in any order, and what is said about the wrong ones. */
#include "job/cli/args.h"
#include "tests/lib/check_ext.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(0);
}
static void teardown(void)
{
    arena_free(arena);
}

static const struct arg_option known[] = {
    {.name = "--fromSavepoint", .alias = "-s", .value = "PATH", .help = "start from"},
    {.name = "--detached", .alias = "-d", .help = "go on alone"},
    {.name = "--define", .alias = "-D", .value = "KEY=VALUE", .repeats = true, .help = "set"},
    {.name = "--json", .help = "as JSON"},
};

/* Words up to NULL, as main's argv[1..]. */
static enum rc parse(const char *const *words, struct args *out, struct err *err)
{
    struct arg_option *options = arena_copy(arena, known, sizeof known);
    int n = 0;

    while (words[n] != NULL)
        n++;
    return args_parse(arena, n, (char **)(uintptr_t)words, 0, options, ARRAY_LEN(known), out, err);
}

START_TEST(options_and_arguments_mix_in_any_order)
{
    const char *words[] = {"a.sql", "-d", "-s", "/p", "b", "--json", NULL};
    struct err err = {0};
    struct args a;

    ck_assert_ok(parse(words, &a, &err));
    ck_assert_uint_eq(a.positional_count, 2);
    ck_assert_str_eq(a.positional[0], "a.sql");
    ck_assert_str_eq(a.positional[1], "b");
    ck_assert_str_eq(args_get(&a, "--fromSavepoint")->text, "/p");
    ck_assert(args_get(&a, "--detached")->given);
    ck_assert(args_get(&a, "--json")->given);
    ck_assert(!args_get(&a, "--define")->given);
}
END_TEST

/* Each spelling of a value; "=" belongs to long names only, and a value may hold more of them. */
static const struct {
    const char *words[4];
    const char *value;
} spellings[] = {
    {{"-D", "a.b=1", NULL}, "a.b=1"},    {{"-Da.b=1", NULL}, "a.b=1"},
    {{"--define=a.b=1", NULL}, "a.b=1"}, {{"--define", "a.b=1", NULL}, "a.b=1"},
    {{"-D", "-x", NULL}, "-x"}, /* whatever follows is the value */
    {{"--define=", NULL}, ""},
};

START_TEST(a_value_can_be_written_in_several_ways)
{
    struct err err = {0};
    struct args a;

    ck_assert_ok(parse(spellings[_i].words, &a, &err));
    ck_assert_uint_eq(args_get(&a, "--define")->count, 1);
    ck_assert_str_eq(args_get(&a, "--define")->all[0], spellings[_i].value);
    ck_assert_uint_eq(a.positional_count, 0);
}
END_TEST

START_TEST(a_repeated_option_keeps_its_values_in_order)
{
    const char *words[] = {"-D", "a=1", "-Db=2", "--define=c=3", NULL};
    struct err err = {0};
    struct args a;

    ck_assert_ok(parse(words, &a, &err));
    ck_assert_uint_eq(args_get(&a, "--define")->count, 3);
    ck_assert_str_eq(args_get(&a, "--define")->all[0], "a=1");
    ck_assert_str_eq(args_get(&a, "--define")->all[2], "c=3");
    ck_assert_str_eq(args_get(&a, "--define")->text, "c=3");
}
END_TEST

START_TEST(two_dashes_end_the_options_and_one_is_an_argument)
{
    const char *words[] = {"-", "--", "-d", "--json", NULL};
    struct err err = {0};
    struct args a;

    ck_assert_ok(parse(words, &a, &err));
    ck_assert_uint_eq(a.positional_count, 3);
    ck_assert_str_eq(a.positional[0], "-");
    ck_assert_str_eq(a.positional[1], "-d");
    ck_assert(!args_get(&a, "--detached")->given);
}
END_TEST

static const struct {
    const char *words[4];
    const char *message;
} mistakes[] = {
    {{"--fromSavepont", "x", NULL},
     "unknown option --fromSavepont (did you mean --fromSavepoint?)"},
    {{"--detachd", NULL}, "--detached"},
    {{"--jsno", NULL}, "--json"},
    {{"-z", NULL}, "unknown option -z"},
    {{"-s", NULL}, "option --fromSavepoint needs a value: PATH"},
    {{"--json=1", NULL}, "option --json takes no value"},
    {{"-d", "-d", NULL}, "option --detached is given twice"},
    {{"-s", "a", "--fromSavepoint=b"}, "is given twice"},
};

START_TEST(a_mistake_names_the_option_and_what_was_meant)
{
    const char *words[5] = {0};
    struct err err = {0};
    struct args a;

    memcpy(words, mistakes[_i].words, sizeof mistakes[_i].words);
    ck_assert_rc_msg(parse(words, &a, &err), RC_INVALID, mistakes[_i].message);
}
END_TEST

START_TEST(more_arguments_than_the_limit_are_refused)
{
    const char *words[ARGS_POSITIONAL_MAX + 2];
    struct err err = {0};
    struct args a;

    for (size_t i = 0; i <= ARGS_POSITIONAL_MAX; i++)
        words[i] = "x";
    words[ARGS_POSITIONAL_MAX + 1] = NULL;
    ck_assert_rc(parse(words, &a, &err), RC_LIMIT);
}
END_TEST

START_TEST(the_usage_text_has_a_line_for_each_option)
{
    struct buf text = {0};

    args_usage(known, ARRAY_LEN(known), &text);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&text), "  -s, --fromSavepoint PATH "));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&text), "      --json "));
    buf_release(&text);
}
END_TEST

TEST_MAIN("args", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, options_and_arguments_mix_in_any_order);
          tcase_add_loop_test(tc, a_value_can_be_written_in_several_ways, 0, ARRAY_LEN(spellings));
          tcase_add_test(tc, a_repeated_option_keeps_its_values_in_order);
          tcase_add_test(tc, two_dashes_end_the_options_and_one_is_an_argument);
          tcase_add_loop_test(tc, a_mistake_names_the_option_and_what_was_meant, 0,
                              ARRAY_LEN(mistakes));
          tcase_add_test(tc, more_arguments_than_the_limit_are_refused);
          tcase_add_test(tc, the_usage_text_has_a_line_for_each_option))
