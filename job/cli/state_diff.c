/* state_diff.c - see state_diff.h */
#include "job/cli/state_diff.h"

#include "checkpoint/assign.h"
#include "checkpoint/flink/flink_newest.h"
#include "job/cli/child.h"
#include "job/cli/state_diff_priv.h"

static const struct schema_field columns[] = {
    {"operator", {.kind = TYPE_VARCHAR}},     {"state", {.kind = TYPE_VARCHAR}},
    {"added", {.kind = TYPE_BIGINT}},         {"changed", {.kind = TYPE_BIGINT}},
    {"removed", {.kind = TYPE_BIGINT}},       {"same", {.kind = TYPE_BIGINT}},
    {"added_bytes", {.kind = TYPE_BIGINT}},   {"changed_bytes", {.kind = TYPE_BIGINT}},
    {"removed_bytes", {.kind = TYPE_BIGINT}}, {"same_bytes", {.kind = TYPE_BIGINT}},
    {"operator_id", {.kind = TYPE_VARCHAR}},
};

enum rc diff_put_row(struct comparing *c, struct bytes operator_word, struct bytes state,
                     const struct entry_sum sums[ENTRY_CHANGES], const char *operator_id,
                     struct err *err)
{
    struct batch_builder *b = row_writer_rows(c->rows);

    batch_append_bytes(b, 0, operator_word);
    batch_append_bytes(b, 1, state);
    for (uint32_t i = 0; i < ENTRY_CHANGES; i++)
        batch_append_int(b, 2 + i, (int64_t)sums[i].entries);
    for (uint32_t i = 0; i < ENTRY_CHANGES; i++)
        batch_append_int(b, 2 + ENTRY_CHANGES + i, (int64_t)sums[i].bytes);
    batch_append_bytes(b, 2 + 2 * ENTRY_CHANGES, bytes_of_str(operator_id));
    batch_row_end(b, ROW_INSERT);
    return row_writer_next(c->rows, err);
}

static enum rc put_row(struct comparing *c, const struct operator_meta *op, const char *state,
                       const struct entry_sum sums[ENTRY_CHANGES], struct err *err)
{
    return diff_put_row(c, bytes_of_str(op->uid[0] != '\0' ? op->uid : op->name),
                        bytes_of_str(state), sums, op->id, err);
}

static const struct operator_meta *find_operator(const struct checkpoint_metadata *m, const char *id)
{
    for (size_t i = 0; i < m->operator_count; i++)
        if (strcmp(m->operators[i].id, id) == 0)
            return &m->operators[i];
    return NULL;
}

enum rc diff_check_groups(const char *operator_name, uint32_t first, uint32_t second,
                          struct err *err)
{
    if (first == second)
        return RC_OK;
    return err_set(err, RC_UNSUPPORTED,
                   "operator \"%s\": max parallelism %u and %u: keys of one lie in other groups than "
                   "those of the other; varve export --max-parallelism makes them the same",
                   operator_name, first, second);
}

/* All states of an operator that either side has; NULL: that side has no such operator. */
static enum rc compare_states(struct comparing *c, const struct operator_meta *const ops[2],
                              struct state_source *const sources[2], struct err *err)
{
    const struct operator_meta *op = ops[1] != NULL ? ops[1] : ops[0];
    struct arena *arena = c->cli->arena;
    struct state_desc *states[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};

    for (int side = 0; side < 2; side++)
        if (ops[side] != NULL)
            assign_states_of(ops[side], arena, &states[side], &counts[side]);
    if (counts[0] > 0 && counts[1] > 0)
        RETURN_IF_ERR(diff_check_groups(ops[1]->name, ops[0]->key_group_count,
                                        ops[1]->key_group_count, err));
    else if (counts[0] > 0)
        op = ops[0];
    for (int side = 1; side >= 0; side--) { /* the second's in their order, then what is gone */
        for (size_t i = 0; i < counts[side]; i++) {
            const char *name = states[side][i].name;
            struct entry_sum sums[ENTRY_CHANGES];

            if (side == 0 && state_desc_find(states[1], counts[1], name) != NULL)
                continue;
            RETURN_IF_ERR(
                state_difference(sources[0], sources[1], name, op->key_group_count, sums, err));
            RETURN_IF_ERR(put_row(c, op, name, sums, err));
        }
    }
    return RC_OK;
}

enum rc diff_scratch(struct comparing *c, int side, const char **dir, struct err *err)
{
    *dir = arena_printf(c->cli->arena, "%s/%c", c->scratch, "ab"[side]);
    return fs_mkdir(c->cli->env.fs, *dir, err);
}

void diff_show_progress(void *ctx, uint64_t done_groups, uint64_t all_groups)
{
    meter_show(ctx, "key groups", done_groups, all_groups, false);
}

static enum rc compare_operator(struct comparing *c, const char *id, struct err *err)
{
    const struct operator_meta *ops[2];
    struct state_source *sources[2] = {NULL, NULL};
    enum rc rc = RC_OK;

    for (int side = 0; side < 2; side++)
        ops[side] = find_operator(c->snapshots[side].meta, id);
    for (int side = 0; side < 2 && rc == RC_OK; side++)
        if (ops[side] != NULL)
            rc = state_source_open(c->cli->env.fs, ops[side],
                                   arena_printf(c->cli->arena, "%s/%c", c->scratch, "ab"[side]),
                                   &sources[side], err);
    if (rc == RC_OK) {
        state_source_watch(sources[ops[1] != NULL], diff_show_progress, c->meter);
        rc = compare_states(c, ops, sources, err);
    }
    for (int side = 0; side < 2; side++)
        state_source_close(sources[side]);
    return rc;
}

/* Which of the two Flink wrote, as directories; NULL. */
static enum rc find_flinks(struct comparing *c, const char *dirs[2], struct err *err)
{
    const struct recovery_options options = {0};
    int other;

    for (int side = 0; side < 2; side++)
        dirs[side] = flink_newest(c->cli->env.fs, c->paths[side], c->cli->arena);
    if ((dirs[0] == NULL) == (dirs[1] == NULL))
        return RC_OK;
    other = dirs[1] == NULL;
    RETURN_IF_ERR(
        recovery_open(&c->cli->env, c->paths[other], &options, &c->snapshots[other], err));
    return err_set(err, RC_UNSUPPORTED,
                   "%s was written by Flink and the other was not: their operators and states have "
                   "nothing in common by which to compare them",
                   dirs[0] != NULL ? dirs[0] : dirs[1]);
}

static enum rc compare(struct comparing *c, struct err *err)
{
    const struct recovery_options options = {0};
    const struct checkpoint_metadata *m;
    const char *flink_dirs[2], *scratch;

    RETURN_IF_ERR(find_flinks(c, flink_dirs, err));
    if (flink_dirs[0] != NULL)
        return diff_flink(c, flink_dirs, err);
    for (int side = 0; side < 2; side++) {
        RETURN_IF_ERR(
            recovery_open(&c->cli->env, c->paths[side], &options, &c->snapshots[side], err));
        cli_say(c->cli, "%c  %s", "AB"[side], c->snapshots[side].dir);
        RETURN_IF_ERR(diff_scratch(c, side, &scratch, err));
    }
    m = c->snapshots[1].meta;
    for (size_t i = 0; i < m->operator_count; i++)
        RETURN_IF_ERR(compare_operator(c, m->operators[i].id, err));
    for (size_t i = 0; i < c->snapshots[0].meta->operator_count; i++) {
        const char *id = c->snapshots[0].meta->operators[i].id;

        if (find_operator(m, id) == NULL)
            RETURN_IF_ERR(compare_operator(c, id, err));
    }
    return row_writer_finish(c->rows, err);
}

static int compare_in_child(struct cli *cli, void *ctx)
{
    struct comparing *c = ctx;
    const struct schema schema = {ARRAY_LEN(columns), arena_copy(cli->arena, columns, sizeof columns),
                                  -1};
    enum row_format format;
    struct err err = {0};
    enum rc rc = row_format_of(cli, NULL, &format, &err);

    c->rows = row_writer_new(&schema, format);
    c->meter = meter_new(cli);
    if (rc == RC_OK)
        rc = compare(c, &err);
    meter_free(c->meter);
    row_writer_free(c->rows);
    recovered_release(&c->snapshots[0]);
    recovered_release(&c->snapshots[1]);
    return rc == RC_OK ? EXIT_DONE : cli_fail(cli, &err);
}

int state_diff(struct cli *cli, const char *a, const char *b)
{
    struct comparing c = {.cli = cli, .paths = {a, b}};

    return cli_in_child_with_scratch(cli, a, c.scratch, compare_in_child, &c);
}
