/* links: checkpoint */
/* Two checkpoints of random state, compared key by key: against the sorted maps that say what they
 * hold. Each side of either backend, at any parallelism. */
#include "checkpoint/state_difference.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/keyed_job.h"

static const struct {
    const char *kinds[2];
    uint32_t parallelism[2];
} cases[] = {{{"r", "r"}, {1, 1}}, {{"h", "h"}, {2, 3}}, {{"h", "r"}, {1, 4}}, {{"rh", "rh"}, {5, 2}}};

static struct keyed_job job;
static struct keyed_checkpoint checkpoints[2];

static void make_checkpoints(int i)
{
    keyed_job_init(&job, (uint64_t)i);
    job.key_space = 800;
    for (int side = 0; side < 2; side++) {
        keyed_job_open(&job, cases[i].parallelism[side], cases[i].kinds[side],
                       side == 0 ? NULL : &checkpoints[0]);
        for (int step = 0; step < (side == 0 ? 60 : 15); step++)
            keyed_job_step(&job);
        keyed_job_checkpoint(&job, &checkpoints[side], 0);
        keyed_job_close(&job);
    }
}

static void release(void)
{
    keyed_checkpoint_release(&checkpoints[0]);
    keyed_checkpoint_release(&checkpoints[1]);
    keyed_job_release(&job);
}

static struct operator_meta operator_of(struct keyed_checkpoint *c)
{
    struct operator_meta op = {.uid = "", .name = "Toy", .parallelism = c->count,
                               .key_group_count = KEYED_JOB_GROUPS, .subtask_count = c->count};

    op.subtasks = ARENA_ARRAY(c->arena, c->count, struct subtask_state);
    for (uint32_t i = 0; i < c->count; i++)
        op.subtasks[i] = (struct subtask_state){.subtask_index = i, .keyed_count = 1, .keyed = &c->handles[i]};
    return op;
}

static void add(struct entry_sum *sum, const struct model_entry *e)
{
    sum->entries++;
    sum->bytes += e->key.len + e->value.len;
}

static void expect(const struct model_state *a, const struct model_state *b,
                   struct entry_sum out[ENTRY_CHANGES])
{
    memset(out, 0, ENTRY_CHANGES * sizeof *out);
    for (size_t i = 0; a != NULL && i < a->count; i++)
        if (b == NULL || model_get(b, a->entries[i].key) == NULL)
            add(&out[ENTRY_REMOVED], &a->entries[i]);
    for (size_t i = 0; b != NULL && i < b->count; i++) {
        const struct model_entry *was = a == NULL ? NULL : model_get(a, b->entries[i].key);

        add(&out[was == NULL                                     ? ENTRY_ADDED
                 : bytes_eq(was->value, b->entries[i].value) ? ENTRY_SAME
                                                             : ENTRY_CHANGED],
            &b->entries[i]);
    }
}

static void check(struct state_source *const sources[2], uint32_t state)
{
    struct entry_sum got[ENTRY_CHANGES], want[ENTRY_CHANGES];
    struct err err = {0};

    expect(sources[0] == NULL ? NULL : &checkpoints[0].models[state],
           sources[1] == NULL ? NULL : &checkpoints[1].models[state], want);
    ck_assert_ok(state_difference(sources[0], sources[1], keyed_job_descs[state].name, KEYED_JOB_GROUPS,
                                  got, &err));
    for (int i = 0; i < ENTRY_CHANGES; i++) {
        ck_assert_msg(got[i].entries == want[i].entries && got[i].bytes == want[i].bytes,
                      "state %u, change %d: %llu entries, %llu bytes instead of %llu, %llu", state, i,
                      (unsigned long long)got[i].entries, (unsigned long long)got[i].bytes,
                      (unsigned long long)want[i].entries, (unsigned long long)want[i].bytes);
    }
}

START_TEST(what_was_added_changed_and_removed_is_counted)
{
    struct operator_meta ops[2];
    struct state_source *sources[2], *none[2] = {NULL, NULL};
    struct err err = {0};

    make_checkpoints(_i);
    for (int side = 0; side < 2; side++) {
        ops[side] = operator_of(&checkpoints[side]);
        ck_assert_ok(fs_mkdir(fs_posix(), tmpdir_at(&job.tmp, side == 0 ? "a" : "b"), &err));
        ck_assert_ok(state_source_open(fs_posix(), &ops[side], tmpdir_at(&job.tmp, side == 0 ? "a" : "b"),
                                       &sources[side], &err));
    }
    for (uint32_t s = 0; s < 4; s++) { /* not the one of which anything may expire at any time */
        check(sources, s);
        none[1] = sources[1];
        check(none, s); /* all of it is new */
        none[1] = NULL;
        none[0] = sources[0];
        check(none, s); /* all of it is gone */
        none[0] = NULL;
    }
    state_source_close(sources[0]);
    state_source_close(sources[1]);
    release();
}
END_TEST

/* C1: whoever walks two handles of one key group would count twice. */
START_TEST(handles_that_overlap_are_corrupt)
{
    struct operator_meta op;
    struct state_source *source;
    struct err err = {0};

    make_checkpoints(1);
    op = operator_of(&checkpoints[0]);
    op.subtasks[1].keyed[0].range.first = op.subtasks[0].keyed[0].range.last;
    ck_assert_rc_msg(state_source_open(fs_posix(), &op, job.tmp.path, &source, &err), RC_CORRUPT,
                     "subtasks 0 and 1");
    release();
}
END_TEST

START_TEST(handles_with_other_types_are_told)
{
    struct operator_meta op;
    struct state_source *source;
    const struct state_desc *states;
    struct err err = {0};
    size_t count;

    make_checkpoints(1);
    op = operator_of(&checkpoints[0]);
    ck_assert_ok(state_source_open(fs_posix(), &op, job.tmp.path, &source, &err));
    ck_assert_ok(state_source_states(source, &states, &count, &err));
    ck_assert_uint_eq(count, KEYED_JOB_STATES);
    state_source_close(source);
    op.subtasks[1].keyed[0].states[0].value_type = "ROW<STRING>";
    ck_assert_ok(state_source_open(fs_posix(), &op, job.tmp.path, &source, &err));
    ck_assert_rc_msg(state_source_states(source, &states, &count, &err), RC_UNSUPPORTED, "is STRING");
    state_source_close(source);
    release();
}
END_TEST

TEST_MAIN("state_difference",
          tcase_add_loop_test(tc, what_was_added_changed_and_removed_is_counted, 0, ARRAY_LEN(cases));
          tcase_add_test(tc, handles_that_overlap_are_corrupt);
          tcase_add_test(tc, handles_with_other_types_are_told);)
