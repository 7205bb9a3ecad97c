/* links: checkpoint */
#include "checkpoint/state_types.h"
#include "tests/lib/check_ext.h"

static struct arena *arena;
static struct buf text;

static void setup(void)
{
    arena = arena_new(0);
}
static void teardown(void)
{
    buf_release(&text);
    arena_free(arena);
}

static const struct {
    const char *type, *columns; /* "name|type;" each */
} parses[] = {
    {"ROW<>", ""},
    {"ROW<`a` BIGINT>", "a|BIGINT;"},
    {"ROW<`a` DECIMAL(10, 2), `b, c` ROW<`x` INT, `y` INT>>",
     "a|DECIMAL(10, 2);b, c|ROW<`x` INT, `y` INT>;"},
    {"ROW<`it``s` STRING, ```` INT>", "it`s|STRING;`|INT;"},
    {"BIGINT", "|BIGINT;"},
    {"", "|;"},
    /* of a damaged snapshot: anything but a crash */
    {"ROW<`a>", "a|;"},
    {"ROW<`>", "|;"},
    {"ROW<a INT>", "|a INT;"},
    {"ROW<`a`>", "a|;"},
};

START_TEST(columns_of_a_type_are_taken_apart)
{
    struct type_column *columns;
    size_t count = type_columns(parses[_i].type, arena, &columns);

    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s|%s;", columns[i].name, columns[i].type);
    ck_assert_str_eq(buf_cstr(&text), parses[_i].columns);
}
END_TEST

/* B24, B25: old and new side by side, column by column. */
static const struct state_desc base_state = {
    .name = "accState",
    .kind = STATE_VALUE,
    .key_type = "ROW<`k` BIGINT>",
    .namespace_type = "VOID",
    .user_key_type = "",
    .value_type = "ROW<`count` BIGINT, `sum` DECIMAL(10, 2)>",
    .operand_operator = "",
};
#define KEY "ROW<`k` BIGINT>"
#define VALUE "ROW<`count` BIGINT, `sum` DECIMAL(10, 2)>"
static const struct {
    const char *key, *value, *namespace;
    enum state_kind kind;
    const char *lines;
} differences[] = {
    {KEY, VALUE, "VOID", STATE_VALUE, ""},
    {"ROW<`k` STRING>", VALUE, "VOID", STATE_VALUE, "\n  key k: was BIGINT, is STRING"},
    {"ROW<`k` INT>", VALUE, "VOID", STATE_VALUE, "\n  key k: was BIGINT, is INT"},
    {"ROW<`k` BIGINT, `j` STRING>", VALUE, "VOID", STATE_VALUE,
     "\n  key j: was not there, is STRING"},
    {"ROW<`MOD(k, 5)` BIGINT>", VALUE, "VOID", STATE_VALUE,
     "\n  key k: was BIGINT, is BIGINT: MOD(k, 5)"},
    {"ROW<`CAST(k AS STRING)` STRING>", VALUE, "VOID", STATE_VALUE,
     "\n  key k: was BIGINT, is STRING: CAST(k AS STRING)"},
    {KEY, "ROW<`count` BIGINT, `sum` DECIMAL(10, 2), `max` BIGINT>", "VOID", STATE_VALUE,
     "\n  value max: was not there, is BIGINT"},
    {KEY, "ROW<`count` BIGINT>", "VOID", STATE_VALUE,
     "\n  value sum: was DECIMAL(10, 2), is gone"},
    {KEY, "ROW<`sum` DECIMAL(10, 2), `count` BIGINT>", "VOID", STATE_VALUE,
     "\n  value count: was column 1, is column 2\n  value sum: was column 2, is column 1"},
    {KEY, "ROW<`count` BIGINT, `sum` DECIMAL(12, 2)>", "VOID", STATE_VALUE,
     "\n  value sum: was DECIMAL(10, 2), is DECIMAL(12, 2)"},
    {KEY, VALUE, "BIGINT", STATE_VALUE, "\n  namespace: was VOID, is BIGINT"},
    {KEY, VALUE, "VOID", STATE_LIST, "\n  kind: was value state, is list state"},
    {KEY, "BIGINT", "VOID", STATE_VALUE,
     "\n  value count: was BIGINT, is gone\n  value sum: was DECIMAL(10, 2), is gone\n"
     "  value: was not there, is BIGINT"},
    /* a name twice: nothing is missing and nothing moved, and still they differ */
    {KEY, "ROW<`count` BIGINT, `sum` DECIMAL(10, 2), `sum` DECIMAL(10, 2)>", "VOID", STATE_VALUE,
     "\n  value: was " VALUE
     ", is ROW<`count` BIGINT, `sum` DECIMAL(10, 2), `sum` DECIMAL(10, 2)>"},
};

START_TEST(old_and_new_types_are_shown_side_by_side)
{
    struct state_desc now = base_state;

    now.key_type = differences[_i].key;
    now.value_type = differences[_i].value;
    now.namespace_type = differences[_i].namespace;
    now.kind = differences[_i].kind;
    state_differences(&base_state, &now, &text);
    ck_assert_str_eq(buf_cstr(&text), differences[_i].lines);
    buf_clear(&text);
    state_key_differences(&base_state, &now, &text);
    if (strcmp(differences[_i].value, VALUE) == 0)
        ck_assert_str_eq(buf_cstr(&text), differences[_i].lines);
    else
        ck_assert_uint_eq(text.len, 0);
}
END_TEST

TEST_MAIN("state_types", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, columns_of_a_type_are_taken_apart, 0, ARRAY_LEN(parses));
          tcase_add_loop_test(tc, old_and_new_types_are_shown_side_by_side, 0,
                              ARRAY_LEN(differences));)
