/* links: checkpoint */
/* The tasks of a job as the coordinator sees them. */
#include "checkpoint/task_table.h"

#include "tests/lib/check_ext.h"

/* a(2) -> b(3) by hash, b -> c(3) pointwise, d(1) -> c by hash */
static const struct stats_vertex vertices[] = {
    {"aa", "A", 2}, {"bb", "B", 3}, {"cc", "C", 3}, {"dd", "D", 1}};
static const struct coordinator_edge edges[] = {{0, 1, false}, {1, 2, true}, {3, 2, false}};
#define TASKS 9

static struct task_table *t;

static void setup(void)
{
    t = task_table_new(vertices, 4, edges, 3);
}
static void teardown(void)
{
    task_table_free(t);
}

START_TEST(only_drawn_phases_follow_each_other)
{
    enum task_phase from = (enum task_phase)(_i / TASK_PHASE_COUNT),
                    to = (enum task_phase)(_i % TASK_PHASE_COUNT);
    bool drawn = (from == TASK_DOWN && to == TASK_UP) || (from == TASK_UP && to == TASK_AT_END) ||
                 (from == TASK_AT_END && to == TASK_RELEASED) ||
                 (to == TASK_GONE && from > TASK_DOWN && from < TASK_GONE);

    ck_assert_int_eq(task_may_move(from, to), drawn);
}
END_TEST

START_TEST(tasks_are_counted_named_and_reset)
{
    struct arena *arena = arena_new(0);
    uint32_t vertex, subtask;

    ck_assert_uint_eq(task_table_size(t), TASKS);
    ck_assert(task_table_move(t, 4, TASK_UP));
    ck_assert(!task_table_move(t, 4, TASK_RELEASED));
    ck_assert_int_eq(task_table_phase(t, 4), TASK_UP);
    ck_assert_uint_eq(task_table_count(t, TASK_DOWN), TASKS - 1);
    task_table_locate(t, 4, &vertex, &subtask);
    ck_assert(vertex == 1 && subtask == 2);
    ck_assert_str_eq(task_table_name(t, 4, arena), "B (3/3)");
    ck_assert_str_eq(task_table_name(t, 8, arena), "D (1/1)");
    task_table_reset(t);
    ck_assert_uint_eq(task_table_count(t, TASK_DOWN), TASKS);
    arena_free(arena);
}
END_TEST

static const struct {
    const char *gone, *heads; /* a character a task */
} cases[] = {
    {".........", "hh......h"},
    {"g........", ".h......h"},
    {"gg.......", "..hhh...h"},
    {"ggg......", "...hh...h"},
    {"gg......g", "..hhh...."},
    {"ggg.....g", "...hhh..."}, /* c0 has no input left; c1 and c2 are fed by b1 and b2 */
    {"ggggg...g", ".....hhh."},
    {"ggggggg.g", ".......h."},
};
START_TEST(barriers_enter_where_no_input_brings_them)
{
    struct barrier barrier = {.checkpoint_id = 1, .kind = CHECKPOINT_PERIODIC};
    bool expected[TASKS], heads[TASKS];
    struct pending *p;

    for (int i = 0; i < TASKS; i++)
        expected[i] = cases[_i].gone[i] != 'g';
    p = pending_new(&barrier, expected, TASKS, 0);
    task_table_heads(t, p, heads);
    for (int i = 0; i < TASKS; i++)
        ck_assert_msg(heads[i] == (cases[_i].heads[i] == 'h'), "%s: task %d", cases[_i].gone, i);
    pending_free(p);
}
END_TEST

TEST_MAIN("task_table", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, only_drawn_phases_follow_each_other, 0,
                        TASK_PHASE_COUNT * TASK_PHASE_COUNT);
    tcase_add_test(tc, tasks_are_counted_named_and_reset);
    tcase_add_loop_test(tc, barriers_enter_where_no_input_brings_them, 0, ARRAY_LEN(cases));
})
