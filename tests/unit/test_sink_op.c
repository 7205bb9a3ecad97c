/* test_sink_op.c - when the end of the input brings a sink's parts into view: at once only if no checkpoint comes (C7). */
#include "job/operator/operators.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

static struct env env;
static struct tmpdir tmp;
static struct config *config;
static struct arena *arena;
static struct operator_metrics metrics;
static struct operator_context ctx;
static struct sink_spec spec;
static struct format_options options;
static struct schema schema;
static struct schema_field fields[1];
static struct operator *op;
static struct err err;

static void setup(void)
{
    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    err_clear(&err);
    tmpdir_make(&tmp);
    config = config_new();
    arena = arena_new(0);
    fields[0] = (struct schema_field){.name = "n", .type = type_of(TYPE_BIGINT)};
    schema = (struct schema){.field_count = 1, .fields = fields};
    ck_assert_ok(csv_format.options(arena, 0, NULL, NULL, &options, &err));
    spec = (struct sink_spec){
        .input = &schema,
        .table_name = "out",
        .kind = SINK_FILES,
        .path = arena_strdup(arena, tmpdir_at(&tmp, "out")),
        .format = &csv_format,
        .format_options = &options,
    };
    ctx = (struct operator_context){
        .env = &env,
        .config = config,
        .job_id = "0123456789abcdef0123456789abcdef",
        .operator_id = "fedcba9876543210fedcba9876543210",
        .operator_name = "Sink: out",
        .parallelism = 1,
        .state = operator_state_new(),
        .metrics = &metrics,
    };
    op = NULL;
}
static void teardown(void)
{
    if (op != NULL)
        op->ops->close(op, false);
    operator_state_free(ctx.state);
    arena_free(arena);
    config_free(config);
    tmpdir_remove(&tmp);
}

static void set(const char *key, const char *value)
{
    ck_assert_ok(config_set(config, CONFIG_SET, key, value, &err));
}

static void open_with_one_row(void)
{
    struct batch_builder *rows = batch_builder_new(&schema);

    op = sink_op_new(&spec);
    ck_assert_ok(op->ops->open(op, &ctx, &err));
    batch_append_int(rows, 0, 7);
    batch_row_end(rows, ROW_INSERT);
    ck_assert_ok(op->ops->process(op, batch_builder_view(rows), NULL, &err));
    batch_builder_free(rows);
}

struct names {
    int visible, hidden;
    char hidden_name[300];
};
static enum rc note_name(void *context, const char *name, struct err *e)
{
    struct names *n = context;

    (void)e;
    if (name[0] == '.')
        snprintf(n->hidden_name, sizeof n->hidden_name, "%s", name);
    *(name[0] == '.' ? &n->hidden : &n->visible) += 1;
    return RC_OK;
}
static struct names look(void)
{
    struct names n = {0};

    ck_assert_ok(fs_list(env.fs, spec.path, note_name, &n, &err));
    return n;
}

/* Whether the end of the input commits, by what comes after it. */
static const struct {
    const char *interval, *after_finish;
    bool draining, commits;
} ends[] = {
    {NULL, "true", false, true},    /* no checkpoints: it is the only commit there is */
    {NULL, "true", true, false},    /* the stop's savepoint comes */
    {"1 min", "true", false, false}, /* the final checkpoint comes */
    {"1 min", "true", true, false},
    {"1 min", "false", false, true}, /* no checkpoint after a task's end */
    {"1 min", "false", true, false},
};
START_TEST(end_of_input_commits_only_when_nothing_is_notified_after_it)
{
    struct barrier barrier = {.checkpoint_id = 1};

    if (ends[_i].interval != NULL)
        set("execution.checkpointing.interval", ends[_i].interval);
    set("execution.checkpointing.checkpoints-after-tasks-finish", ends[_i].after_finish);
    open_with_one_row();
    ctx.draining = ends[_i].draining;
    ck_assert_ok(op->ops->end_input(op, NULL, &err));
    ck_assert_int_eq(look().visible, ends[_i].commits);
    ck_assert_int_eq(look().hidden, !ends[_i].commits);
    ck_assert_ok(op->ops->snapshot(op, &barrier, &err));
    ck_assert_int_eq(look().visible, ends[_i].commits);
    ck_assert_ok(op->ops->notify_complete(op, 1, &err));
    ck_assert_int_eq(look().visible, 1);
    ck_assert_int_eq(look().hidden, 0);
}
END_TEST

/* No checkpoint yet: what the failed attempt began is removed, unless a savepoint may name it. */
START_TEST(a_later_attempt_gives_other_names_and_removes_what_nothing_names)
{
    char first[300], part[FS_PATH_MAX];
    struct fs_file *f;

    open_with_one_row();
    snprintf(first, sizeof first, "%s", look().hidden_name);
    snprintf(part, sizeof part, "%s/.part-00000000-0000-4000-8000-000000000000-0-0.inprogress."
             "00000000-0000-4000-8000-000000000001", spec.path); /* another job's */
    ck_assert_ok(fs_create(env.fs, part, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
    op->ops->close(op, false);
    op = NULL;
    ctx.attempt = 2;
    ctx.earlier_run_dead = _i == 1;
    open_with_one_row();
    snprintf(part, sizeof part, "%s/%s", spec.path, first);
    ck_assert_int_eq(fs_exists(env.fs, part), _i == 0);
    ck_assert_int_eq(look().hidden, _i == 0 ? 3 : 2);
    ck_assert_int_eq(look().visible, 0);
}
END_TEST

TEST_MAIN("sink_op", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, end_of_input_commits_only_when_nothing_is_notified_after_it, 0,
                              (int)ARRAY_LEN(ends));
          tcase_add_loop_test(
              tc, a_later_attempt_gives_other_names_and_removes_what_nothing_names, 0, 2);)
