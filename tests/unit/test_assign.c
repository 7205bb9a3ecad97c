/* links: checkpoint */
#include "checkpoint/assign.h"

#include "base/rng.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sample_metadata.h"

static struct arena *arena;
static struct err err;
static struct checkpoint_metadata *m;

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
    m = sample_metadata(arena, 7, 1);
    m->operator_count = 2; /* the source and the aggregate */
}

static void teardown(void)
{
    arena_free(arena);
}

static struct assign_operator operator_of(const char *id, const char *name, uint32_t parallelism)
{
    struct assign_operator op = {.name = name, .parallelism = parallelism, .key_group_count = 128};

    memcpy(op.id, id, sizeof op.id);
    return op;
}

static void two_operators(struct assign_operator ops[2], uint32_t parallelism)
{
    ops[0] = operator_of(SAMPLE_SOURCE_ID, "Source: clicks", parallelism);
    ops[1] = operator_of(SAMPLE_AGG_ID, "GroupAggregate[k]", parallelism);
}

/* C1, C10: whatever the parallelism, each key group of the snapshot comes to the subtask that owns
 * it. */
START_TEST(every_key_group_goes_to_its_owner)
{
    uint32_t parallelism = (uint32_t)_i;
    struct assign_operator ops[2];
    struct assignment a;

    two_operators(ops, parallelism);
    ck_assert_ok(assign_restore(m, ops, 2, false, arena, &a, &err));
    for (uint32_t group = 0; group < 128; group++) {
        const struct subtask_state *owner =
            &a.operators[1].subtasks[keygroup_owner(group, parallelism, 128)];
        size_t having = 0;

        for (size_t k = 0; k < owner->keyed_count; k++)
            having += key_group_range_has(owner->keyed[k].range, group);
        ck_assert_msg(having == 1, "group %u at parallelism %u: %zu handles", group, parallelism,
                      having);
    }
    for (uint32_t i = 0; i < parallelism; i++)
        for (size_t k = 0; k < a.operators[1].subtasks[i].keyed_count; k++)
            ck_assert_uint_le(a.operators[1].subtasks[i].keyed[k].range.first,
                              keygroup_range_of(i, parallelism, 128).last);
    ck_assert(a.operators[1].restored && !a.operators[1].finished);
    ck_assert_uint_eq(a.operators[1].key_group_count, 128);
}
END_TEST

static void make_list(const char *name, enum list_mode mode, const size_t *counts,
                      size_t subtask_count)
{
    struct operator_meta *op = &m->operators[0];

    op->parallelism = (uint32_t)subtask_count;
    op->subtask_count = subtask_count;
    op->subtasks = ARENA_ARRAY(arena, subtask_count, struct subtask_state);
    for (size_t s = 0; s < subtask_count; s++) {
        struct list_state *list = ARENA_NEW(arena, struct list_state);

        op->subtasks[s] =
            (struct subtask_state){.subtask_index = (uint32_t)s, .list_count = 1, .lists = list};
        *list = (struct list_state){.name = name,
                                    .mode = mode,
                                    .item_count = counts[s],
                                    .items = ARENA_ARRAY(arena, counts[s], struct bytes)};
        for (size_t i = 0; i < counts[s]; i++)
            list->items[i] = bytes_of_str(arena_printf(arena, "%zu%zu", s, i));
    }
}

static const char *dealt(const struct subtask_state *s)
{
    struct buf text = {0};
    const char *copy;

    for (size_t i = 0; s->list_count > 0 && i < s->lists[0].item_count; i++)
        buf_printf(&text, "%.*s ", (int)s->lists[0].items[i].len,
                   (const char *)s->lists[0].items[i].data);
    copy = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    return copy;
}

/* Old subtasks hold 3, 0 and 2 items, named "<subtask><index>". */
static const struct {
    enum list_mode mode;
    uint32_t parallelism;
    const char *subtasks[4];
} deals[] = {
    {LIST_SPLIT, 1, {"00 01 02 20 21 "}},
    {LIST_SPLIT, 2, {"00 02 21 ", "01 20 "}},
    {LIST_SPLIT, 3, {"00 01 02 ", "", "20 21 "}}, /* unchanged: everyone keeps what was its own */
    {LIST_SPLIT, 4, {"00 21 ", "01 ", "02 ", "20 "}},
    {LIST_UNION, 2, {"00 01 02 20 21 ", "00 01 02 20 21 "}},
    {LIST_UNION, 3, {"00 01 02 20 21 ", "00 01 02 20 21 ", "00 01 02 20 21 "}},
    {LIST_UNION, 1, {"00 01 02 20 21 "}},
    {LIST_BROADCAST, 1, {"00 01 02 "}},
    {LIST_BROADCAST, 2, {"00 01 02 ", "00 01 02 "}},
    {LIST_BROADCAST, 4, {"00 01 02 ", "00 01 02 ", "00 01 02 ", "00 01 02 "}},
};

START_TEST(lists_are_dealt_out_by_their_mode)
{
    struct assign_operator ops[2];
    struct assignment a;

    make_list("splits", deals[_i].mode, (size_t[]){3, 0, 2}, 3);
    two_operators(ops, deals[_i].parallelism);
    ck_assert_ok(assign_restore(m, ops, 2, false, arena, &a, &err));
    for (uint32_t i = 0; i < deals[_i].parallelism; i++)
        ck_assert_str_eq(dealt(&a.operators[0].subtasks[i]), deals[_i].subtasks[i]);
}
END_TEST

/* C10: the order in which the tree has subtasks, lists and handles is nobody's business. */
START_TEST(the_order_of_handles_and_subtasks_does_not_matter)
{
    struct rng rng;

    rng_seed(&rng, 5);
    make_list("splits", LIST_SPLIT, (size_t[]){3, 1, 2, 4}, 4);
    for (int round = 0; round < 50; round++) {
        struct assign_operator ops[2];
        struct assignment a;
        struct subtask_state *s = m->operators[0].subtasks, *g = m->operators[1].subtasks;
        size_t x = rng_below(&rng, 4), y = rng_below(&rng, 4);
        struct subtask_state t = s[x];

        s[x] = s[y];
        s[y] = t;
        t = g[0];
        g[0] = g[1];
        g[1] = t;
        two_operators(ops, 3);
        ck_assert_ok(assign_restore(m, ops, 2, false, arena, &a, &err));
        ck_assert_str_eq(dealt(&a.operators[0].subtasks[0]), "00 10 30 33 ");
        ck_assert_str_eq(dealt(&a.operators[0].subtasks[1]), "01 20 31 ");
        ck_assert_str_eq(dealt(&a.operators[0].subtasks[2]), "02 21 32 ");
        ck_assert_uint_eq(a.operators[1].subtasks[1].keyed_count, 2);
        ck_assert_uint_eq(a.operators[1].subtasks[1].keyed[0].range.first, 0);
    }
}
END_TEST

START_TEST(an_operator_that_is_new_starts_empty)
{
    struct assign_operator ops[3];
    struct assignment a;

    two_operators(ops, 2);
    ops[2] = operator_of("44444444444444444444444444444444", "new", 2);
    ck_assert_ok(assign_restore(m, ops, 3, false, arena, &a, &err));
    ck_assert(!a.operators[2].restored);
    ck_assert_uint_eq(a.operators[2].subtasks[1].keyed_count, 0);
    ck_assert_uint_eq(a.operators[2].subtasks[1].subtask_index, 1);
}
END_TEST

/* B27 */
START_TEST(state_of_a_gone_operator_is_refused_with_its_name_keys_and_bytes_or_listed_as_dropped)
{
    struct assign_operator ops[2];
    struct assignment a;
    struct buf text = {0};

    two_operators(ops, 2);
    ops[1] = operator_of("44444444444444444444444444444444", "GroupAggregate[x]", 2);
    ck_assert_rc_msg(assign_restore(m, ops, 2, false, arena, &a, &err), RC_INVALID,
                     "operator \"GroupAggregate[k]\" (" SAMPLE_AGG_ID "): 2001 keys, 166 bytes\n"
                     "not in the snapshot, would start empty: \"GroupAggregate[x]\"\n"
                     "start with -n (--allow-non-restored-state) to drop it");
    ck_assert_ok(assign_restore(m, ops, 2, true, arena, &a, &err));
    ck_assert_uint_eq(a.dropped_count, 1);
    ck_assert_str_eq(a.dropped[0].name, "GroupAggregate[k]");
    ck_assert_uint_eq(a.dropped[0].entry_count, 2001);
    ck_assert_uint_eq(a.dropped[0].size_bytes, 166);
    assign_print_dropped(&a, &text);
    ck_assert_str_eq(buf_cstr(&text),
                     "operator \"GroupAggregate[k]\" (" SAMPLE_AGG_ID "): 2001 keys, 166 bytes\n");
    buf_release(&text);
}
END_TEST

START_TEST(an_operator_without_state_may_go)
{
    struct assign_operator op = operator_of(SAMPLE_AGG_ID, "GroupAggregate[k]", 2);
    struct assignment a;

    m->operators[0].subtasks[0].list_count = 0;
    ck_assert_ok(assign_restore(m, &op, 1, false, arena, &a, &err));
    ck_assert_uint_eq(a.dropped_count, 0);
}
END_TEST

/* B22: Flink names a hash and no cure. */
START_TEST(another_max_parallelism_is_refused_with_both_numbers_and_the_value_to_set)
{
    struct assign_operator ops[2];
    struct assignment a;

    two_operators(ops, 2);
    ops[1].key_group_count = (uint32_t)(_i == 0 ? 256 : 64);
    ops[1].key_group_count_set = true;
    ck_assert_rc_msg(assign_restore(m, ops, 2, false, arena, &a, &err), RC_INVALID,
                     _i == 0 ? "operator \"GroupAggregate[k]\": its state was written with max "
                               "parallelism 128, the job "
                               "sets 256"
                             : "the job sets 64");
    err = (struct err){0};
    ck_assert_rc_msg(assign_restore(m, ops, 2, false, arena, &a, &err), RC_INVALID,
                     "set 'pipeline.max-parallelism' = '128'");
    ops[1].key_group_count_set = false; /* a default: the stored one is adopted */
    ck_assert_ok(assign_restore(m, ops, 2, false, arena, &a, &err));
    ck_assert_uint_eq(a.operators[1].key_group_count, 128);
}
END_TEST

START_TEST(a_parallelism_above_the_key_groups_is_refused)
{
    struct assign_operator ops[2];
    struct assignment a;

    two_operators(ops, 129);
    ops[0].parallelism = 1;
    ck_assert_rc_msg(
        assign_restore(m, ops, 2, false, arena, &a, &err), RC_INVALID,
        "parallelism 129 exceeds the max parallelism 128 that its state was written with; set "
        "'parallelism.default' to at most 128");
}
END_TEST

START_TEST(a_finished_operator_stays_finished)
{
    struct assign_operator ops[2];
    struct assignment a;

    m->operators[0].finished = true;
    m->operators[0].subtasks[0] = (struct subtask_state){.finished = true};
    two_operators(ops, 2);
    ck_assert_ok(assign_restore(m, ops, 2, false, arena, &a, &err));
    ck_assert(a.operators[0].finished && a.operators[0].restored);
    ck_assert(!a.operators[1].finished);
}
END_TEST

START_TEST(subtasks_that_disagree_about_a_list_are_refused)
{
    struct assign_operator ops[2];
    struct assignment a;

    make_list("splits", LIST_SPLIT, (size_t[]){1, 1}, 2);
    m->operators[0].subtasks[1].lists[0].mode = LIST_UNION;
    two_operators(ops, 2);
    ck_assert_rc_msg(assign_restore(m, ops, 2, false, arena, &a, &err), RC_CORRUPT,
                     "list \"splits\"");
}
END_TEST

START_TEST(states_of_an_operator_are_listed_once)
{
    struct state_desc *states;
    size_t count;

    assign_states_of(&m->operators[1], arena, &states, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(states[0].name, "accState");
}
END_TEST

TEST_MAIN(
    "assign", tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, every_key_group_goes_to_its_owner, 1, 129);
    tcase_add_loop_test(tc, lists_are_dealt_out_by_their_mode, 0, ARRAY_LEN(deals));
    tcase_add_test(tc, the_order_of_handles_and_subtasks_does_not_matter);
    tcase_add_test(tc, an_operator_that_is_new_starts_empty); tcase_add_test(
        tc, state_of_a_gone_operator_is_refused_with_its_name_keys_and_bytes_or_listed_as_dropped);
    tcase_add_test(tc, an_operator_without_state_may_go); tcase_add_loop_test(
        tc, another_max_parallelism_is_refused_with_both_numbers_and_the_value_to_set, 0, 2);
    tcase_add_test(tc, a_parallelism_above_the_key_groups_is_refused);
    tcase_add_test(tc, a_finished_operator_stays_finished);
    tcase_add_test(tc, subtasks_that_disagree_about_a_list_are_refused);
    tcase_add_test(tc, states_of_an_operator_are_listed_once);)
