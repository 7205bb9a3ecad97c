/* links: checkpoint */
#include "checkpoint/flink/flink_import_order.h"

#include "tests/lib/check_ext.h"

#include <string.h>

static struct arena *arena;
static struct buf out;
static struct err err;

static void setup(void)
{
    arena = arena_new(0);
    out = (struct buf){0};
    err = (struct err){0};
}

static void teardown(void)
{
    buf_release(&out);
    arena_free(arena);
}

static const struct state_desc states[] = {
    {"accState", STATE_VALUE, "ROW<`k` INT>", "VOID", "", "ROW<`n` BIGINT>", 24, 86400000, "varve-totals", 2},
    {"distinct", STATE_MAP, "ROW<`k` INT>", "BIGINT", "INT", "BIGINT", 9, 0, "", 0},
};
static const struct import_operator operators[] = {
    {"0123456789abcdef0123456789abcdef", "totals", "GroupAggregate[k]", 2, states},
    {"ffffffffffffffffffffffffffffffff", "", "Sink: o", 0, NULL},
};
static const struct metadata_pair settings[] = {{"s3.secret-key", "a 'secret'"}, {"s3.endpoint", ""}};
static const struct rebase_rule rules[] = {{"/theirs", "/there"}, {"", "/mirror"}};
static const struct import_order order = {
    .dir = "/theirs/chk-7",
    .below = "/ours/.varve-import-1",
    .look_only = true,
    .mapping_path = "mapping.yaml",
    .mapping = {(const uint8_t *)"drop: [a]\n", 10},
    .rebase = {2, rules},
    .operator_count = 2,
    .operators = operators,
    .setting_count = 2,
    .settings = settings,
};

static void same_state(const struct state_desc *a, const struct state_desc *b)
{
    ck_assert_str_eq(a->name, b->name);
    ck_assert_int_eq(a->kind, b->kind);
    ck_assert_str_eq(a->key_type, b->key_type);
    ck_assert_str_eq(a->namespace_type, b->namespace_type);
    ck_assert_str_eq(a->user_key_type, b->user_key_type);
    ck_assert_str_eq(a->value_type, b->value_type);
    ck_assert_uint_eq(a->fixed_value_bytes, b->fixed_value_bytes);
    ck_assert_uint_eq(a->ttl_ms, b->ttl_ms);
    ck_assert_str_eq(a->operand_operator, b->operand_operator);
    ck_assert_uint_eq(a->operand_version, b->operand_version);
}

START_TEST(an_order_comes_over_whole)
{
    struct import_order got = {0};

    import_order_put(&order, &out);
    ck_assert_ok(import_order_get(buf_bytes(&out), arena, &got, &err));
    ck_assert_str_eq(got.dir, order.dir);
    ck_assert_str_eq(got.below, order.below);
    ck_assert(got.look_only && !got.allow_non_restored);
    ck_assert_str_eq(got.mapping_path, "mapping.yaml");
    ck_assert_uint_eq(got.rebase.count, 2);
    ck_assert_str_eq(got.rebase.rules[0].from, "/theirs");
    ck_assert_str_eq(got.rebase.rules[1].from, "");
    ck_assert_str_eq(got.rebase.rules[1].to, "/mirror");
    ck_assert_bytes_str(got.mapping, "drop: [a]\n");
    ck_assert_uint_eq(got.setting_count, 2);
    ck_assert_str_eq(got.settings[0].key, "s3.secret-key");
    ck_assert_str_eq(got.settings[0].value, "a 'secret'");
    ck_assert_str_eq(got.settings[1].value, "");
    ck_assert_uint_eq(got.operator_count, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(got.operators[i].id, operators[i].id);
        ck_assert_str_eq(got.operators[i].uid, operators[i].uid);
        ck_assert_str_eq(got.operators[i].name, operators[i].name);
        ck_assert_uint_eq(got.operators[i].state_count, operators[i].state_count);
        for (size_t s = 0; s < operators[i].state_count; s++)
            same_state(&got.operators[i].states[s], &operators[i].states[s]);
    }
}
END_TEST

START_TEST(an_answer_comes_over_whole)
{
    const char *lines[] = {"operator \"a\": its list", ""};
    const struct import_answer answer = {.rc = RC_CORRUPT,
                                         .message = "sst 7: block at 4096",
                                         .dropped_count = 2,
                                         .dropped = lines,
                                         .converted_count = 1,
                                         .converted = lines,
                                         .written = "/ours/sp",
                                         .tree = bytes_of_str("a tree")};
    struct import_answer got = {0};

    import_answer_put(&answer, &out);
    ck_assert_ok(import_answer_get(buf_bytes(&out), arena, &got, &err));
    ck_assert_int_eq(got.rc, RC_CORRUPT);
    ck_assert_str_eq(got.message, answer.message);
    ck_assert_uint_eq(got.dropped_count, 2);
    ck_assert_str_eq(got.dropped[0], lines[0]);
    ck_assert_str_eq(got.dropped[1], "");
    ck_assert_uint_eq(got.converted_count, 1);
    ck_assert_str_eq(got.converted[0], lines[0]);
    ck_assert_str_eq(got.written, "/ours/sp");
    ck_assert_bytes_str(got.tree, "a tree");
}
END_TEST

/* A process that is ended in the middle has said half of it. */
START_TEST(every_cut_is_an_error)
{
    const char *lines[] = {"a line"};
    const struct import_answer answer = {.message = "", .dropped_count = 1, .dropped = lines,
                                         .written = "/ours/sp", .tree = bytes_of_str("a tree")};
    struct import_answer got_answer;
    struct import_order got;

    import_order_put(&order, &out);
    for (size_t len = 0; len < out.len; len++)
        ck_assert_rc(import_order_get(bytes_of(out.data, len), arena, &got, &err), RC_CORRUPT);
    buf_append_u8(&out, 0);
    ck_assert_rc(import_order_get(buf_bytes(&out), arena, &got, &err), RC_CORRUPT);
    buf_clear(&out);
    import_answer_put(&answer, &out);
    for (size_t len = 0; len < out.len; len++)
        ck_assert_rc(import_answer_get(bytes_of(out.data, len), arena, &got_answer, &err), RC_CORRUPT);
}
END_TEST

START_TEST(numbers_out_of_range_are_refused)
{
    static const struct metadata_pair nul = {"k", "v"};
    struct import_order one = order, got;
    struct import_answer answer = {.rc = RC_DONE + 1, .message = "", .written = "", .tree = bytes_of_str("")};
    struct import_answer got_answer;
    struct state_desc wrong = states[0];
    struct import_operator op = operators[0];

    import_answer_put(&answer, &out);
    ck_assert_rc_msg(import_answer_get(buf_bytes(&out), arena, &got_answer, &err), RC_CORRUPT, "code is");
    buf_clear(&out);
    op.states = &wrong;
    op.state_count = 1;
    wrong.kind = 0;
    one.operators = &op;
    one.operator_count = 1;
    import_order_put(&one, &out);
    ck_assert_rc_msg(import_order_get(buf_bytes(&out), arena, &got, &err), RC_CORRUPT, "of kind 0");
    buf_clear(&out);
    op.id = "short";
    import_order_put(&one, &out);
    ck_assert_rc_msg(import_order_get(buf_bytes(&out), arena, &got, &err), RC_CORRUPT, "operator id");
    buf_clear(&out);
    one.operator_count = 0;
    one.setting_count = 1;
    one.settings = &nul;
    import_order_put(&one, &out);
    *(uint8_t *)memchr(out.data, 'v', out.len) = 0;
    ck_assert_rc_msg(import_order_get(buf_bytes(&out), arena, &got, &err), RC_CORRUPT, "byte 0");
}
END_TEST

TEST_MAIN("flink_import_order", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, an_order_comes_over_whole);
          tcase_add_test(tc, an_answer_comes_over_whole);
          tcase_add_test(tc, every_cut_is_an_error);
          tcase_add_test(tc, numbers_out_of_range_are_refused);)
