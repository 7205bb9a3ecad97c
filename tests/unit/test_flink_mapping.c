/* links: checkpoint
 *
 * The file that maps Flink's state to a job's: what it says, and what is said of one that is wrong. */
#include "checkpoint/flink/flink_mapping.h"

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

START_TEST(every_part_is_read_with_its_place)
{
    static const char text[] = "operators:\n"
                               "  - uid: counts\n"
                               "    operator: totals\n"
                               "    states:\n"
                               "      - from: per-user\n"
                               "        to: accState\n"
                               "        key: {user: key.f0, 'n m': 7}\n"
                               "        value:\n"
                               "          COUNT(*): value.f1\n"
                               "          \"SUM(v)\": '7'\n"
                               "      - {from: seen, to: \"distinctAcc_x\", map_key: map_key, value: value}\n"
                               "    drop: [old, older]\n"
                               "  - {id: 0123456789abcdef0123456789abcdef, operator: sink}\n"
                               "drop:\n"
                               "  - gone\n";
    struct flink_mapping m;
    struct err err = {0};
    const struct mapped_operator *op;

    ck_assert_ok(flink_mapping_read(bytes_of_str(text), "m.yaml", arena, &m, &err));
    ck_assert_uint_eq(m.operator_count, 2);
    op = &m.operators[0];
    ck_assert_str_eq(op->uid, "counts");
    ck_assert_ptr_null(op->id);
    ck_assert_str_eq(op->to.name, "totals");
    ck_assert_uint_eq(op->state_count, 2);
    ck_assert_str_eq(op->states[0].from, "per-user");
    ck_assert_str_eq(op->states[0].to, "accState");
    ck_assert_uint_eq(op->states[0].key.count, 2);
    ck_assert_str_eq(op->states[0].key.columns[1].name, "n m");
    ck_assert_uint_eq(op->states[0].key.columns[1].source->line, 7);
    ck_assert_uint_eq(op->states[0].key.columns[1].source->column, 36);
    ck_assert(!op->states[0].key.columns[1].source->quoted);
    ck_assert_ptr_null(op->states[0].map_key.at);
    ck_assert_str_eq(op->states[0].value.columns[0].name, "COUNT(*)");
    ck_assert(op->states[0].value.columns[1].source->quoted);
    ck_assert_str_eq(op->states[1].map_key.columns[0].name, "");
    ck_assert_str_eq(op->states[1].map_key.columns[0].source->text, "map_key");
    ck_assert_uint_eq(op->drop_count, 2);
    ck_assert_str_eq(op->drops[1].name, "older");
    ck_assert_str_eq(m.operators[1].id, "0123456789abcdef0123456789abcdef");
    ck_assert_uint_eq(m.operators[1].state_count, 0);
    ck_assert_uint_eq(m.drop_count, 1);
    ck_assert_uint_eq(m.drops[0].at->line, 15);
}
END_TEST

#define OP "operators:\n- uid: a\n  operator: b\n"
static const struct {
    const char *text, *said;
} wrong[] = {
    {"", "m.yaml: an empty mapping"},
    {"- a\n", "m.yaml:1:1: a mapping is a map"},
    {"operatrs: []\n", "m.yaml:1:1: a mapping has no key \"operatrs\" (did you mean operators?); it has operators, drop"},
    {"operators: {a: b}\n", "m.yaml:1:12: operators is a list"},
    {"operators:\n  # - uid: a\n", "m.yaml:1:11: operators is a list, and has no items yet"},
    {"operators:\n- operator: b\n", "m.yaml:2:3: an operator has a uid or an id"},
    {"operators:\n- {uid: a, id: b, operator: c}\n", "m.yaml:2:3: an operator has a uid or an id"},
    {"operators:\n- {id: 0123, operator: c}\n", "m.yaml:2:8: an id is 32 hex digits"},
    {"operators:\n- uid: a\n", "m.yaml:2:3: an operator needs a key \"operator\""},
    {"operators:\n- {uid: a, operator: []}\n", "m.yaml:2:22: operator must be a text"},
    {"operators:\n- {uid: a, operator: b}\n- {uid: a, operator: c}\n", "m.yaml:3:3: this operator stands already in line 2"},
    {OP "  states: [{from: x}]\n", "m.yaml:4:12: a state needs a key \"to\""},
    {OP "  states: [{from: x, to: y, vaule: z}]\n", "a state has no key \"vaule\" (did you mean value?); it has from, to, key, map_key, value"},
    {OP "  states: [{from: x, to: y}, {from: z, to: y}]\n", "state \"y\" of the job comes from \"x\" already"},
    {OP "  states: [{from: x, to: y, key: []}]\n", "m.yaml:4:34: a path such as"},
    {OP "  states: [{from: x, to: y, key: {a: }}]\n", "a path such as"},
    {OP "  drop: x\n", "m.yaml:4:9: drop is a list"},
    {"drop: [[x]]\n", "m.yaml:1:8: an item of drop must be a text"},
    {OP "  drop: [x, y, x]\n", "m.yaml:4:16: \"x\" is to be dropped already, by line 4"},
    {"drop: [x]\ndrop: [y]\n", "m.yaml:2:1: drop stands already in line 1"},
    {"drop: [&a x, *a]\n", "m.yaml:1:14: aliases"},
    {"drop: [\"a\\0b\"]\n", "a NUL character"},
    {"drop: [x\n", "m.yaml:2:1: "},
    {"---\ndrop: [x]\n---\ndrop: [x]\n", "m.yaml:3:1: a second document"},
    {"[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]", "more than 16 levels"},
    {"? [a]\n: b\n", "a key must be plain text"},
};

START_TEST(what_is_wrong_is_said_with_its_place)
{
    struct flink_mapping m;
    struct err err = {0};
    enum rc rc = flink_mapping_read(bytes_of_str(wrong[_i].text), "m.yaml", arena, &m, &err);

    ck_assert_msg(rc == RC_INVALID || rc == RC_LIMIT, "row %d: %s", _i, rc_name(rc));
    ck_assert_msg(strstr(err.msg, wrong[_i].said) != NULL, "row %d: %s", _i, err.msg);
}
END_TEST

START_TEST(sizes_are_bounded)
{
    struct flink_mapping m;
    struct buf text = {0};
    struct err err = {0};

    buf_append_str(&text, "drop: [");
    for (int i = 0; i < 4097; i++)
        buf_append_str(&text, "x,");
    buf_append_str(&text, "]");
    ck_assert_rc_msg(flink_mapping_read(buf_bytes(&text), "m.yaml", arena, &m, &err), RC_LIMIT, "more than 4096 items");
    while (text.len <= YAML_TREE_BYTES_MAX)
        buf_append_str(&text, "# a comment of some length\n");
    ck_assert_rc_msg(flink_mapping_read(buf_bytes(&text), "m.yaml", arena, &m, &err), RC_LIMIT, "at most 1048576");
    buf_release(&text);
}
END_TEST

TEST_MAIN("flink_mapping", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, every_part_is_read_with_its_place);
          tcase_add_loop_test(tc, what_is_wrong_is_said_with_its_place, 0, ARRAY_LEN(wrong));
          tcase_add_test(tc, sizes_are_bounded);)
