/* restore_plan.c - see restore_plan.h */
#include "job/runtime/restore_plan.h"

#include "checkpoint/discard.h"
#include "checkpoint/flink/flink_newest.h"
#include "checkpoint/layout.h"
#include "job/runtime/inflight_assign.h"
#include "job/runtime/restore_flink.h"

void restore_plan_release(struct restore_plan *p)
{
    restore_flink_forget(p);
    recovered_release(&p->recovered);
    arena_free(p->arena);
    *p = (struct restore_plan){0};
}

/* ---- assignment -------------------------------------------------------------------------------
 */

static const struct operator_meta *find_operator(const struct checkpoint_metadata *m,
                                                 const char *id)
{
    for (size_t i = 0; i < m->operator_count; i++) {
        if (strcmp(m->operators[i].id, id) == 0)
            return &m->operators[i];
    }
    return NULL;
}

static enum rc fit_states(const struct operator_spec *spec, const struct checkpoint_metadata *m,
                          bool allow_non_restored, struct arena *arena, struct state_fit *out,
                          struct err *err)
{
    const struct operator_meta *old = find_operator(m, spec->id);
    struct fit_request r = {.operator_name = spec->name,
                            .allow_non_restored = allow_non_restored,
                            .arena = arena};
    struct state_desc *states = NULL;

    *out = (struct state_fit){.said = ""};
    if (old == NULL)
        return RC_OK;
    assign_states_of(old, arena, &states, &r.old_count);
    r.old = states;
    if (r.old_count == 0)
        return RC_OK; /* it had no keyed state: nothing to fit */
    return spec->fit_states == NULL
               ? state_fit_same(&r, spec->states, spec->state_count, out, err)
               : spec->fit_states(spec->spec, &r, out, err);
}

/* One number for the job: the exchange routes by it. */
static enum rc adopt_key_groups(const struct graph *g, const struct checkpoint_metadata *m,
                                const struct assign_operator *ops, const struct assignment *a,
                                uint32_t *key_group_count, struct err *err)
{
    const char *by = NULL;

    *key_group_count = g->key_group_count;
    for (size_t i = 0; i < a->operator_count; i++) {
        if (!a->operators[i].restored)
            continue;
        if (a->operators[i].finished)
            return err_set(err, RC_UNSUPPORTED,
                           "operator %s had ended before checkpoint %llu: going on with ended "
                           "operators is not built",
                           ops[i].name, (unsigned long long)m->checkpoint_id);
        if (by != NULL && a->operators[i].key_group_count != *key_group_count)
            return err_set(err, RC_UNSUPPORTED,
                           "operators %s and %s of checkpoint %llu have %u and %u key groups: a "
                           "job with different "
                           "numbers is not built",
                           by, ops[i].name, (unsigned long long)m->checkpoint_id, *key_group_count,
                           a->operators[i].key_group_count);
        *key_group_count = a->operators[i].key_group_count;
        by = ops[i].name;
    }
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        if (g->vertices[v].parallelism > *key_group_count)
            return err_set(err, RC_INVALID,
                           "%s: parallelism %u exceeds the %u key groups of the restored state "
                           "(pipeline.max-parallelism)",
                           g->vertices[v].name, g->vertices[v].parallelism, *key_group_count);
    }
    return RC_OK;
}

static const struct operator_spec *spec_by_exact_id(const struct graph *g, const char *exact_id)
{
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++) {
            const struct operator_spec *spec = &g->vertices[v].operators[o];

            if (strcmp(spec->exact_id, exact_id) == 0)
                return spec;
        }
    }
    return NULL;
}

/* An operator's id says more when the job has others of its kind: so one that is there in full text
 * gets the id that it has in this job, and what then has that id without being it gets none. */
static struct checkpoint_metadata *with_ids_of(const struct graph *g,
                                               const struct checkpoint_metadata *m,
                                               struct arena *arena)
{
    struct checkpoint_metadata *out = ARENA_NEW(arena, struct checkpoint_metadata);

    *out = *m;
    if (m->operator_count > 0)
        out->operators = arena_copy(arena, m->operators, m->operator_count * sizeof *m->operators);
    for (size_t i = 0; i < out->operator_count; i++) {
        struct operator_meta *op = &out->operators[i];
        const struct operator_spec *spec =
            op->exact_id[0] != '\0' ? spec_by_exact_id(g, op->exact_id) : NULL;

        if (spec == NULL || strcmp(op->id, spec->id) == 0)
            continue;
        for (size_t k = 0; k < out->operator_count; k++) {
            if (strcmp(out->operators[k].id, spec->id) == 0)
                memcpy(out->operators[k].id, op->id, sizeof op->id);
        }
        memcpy(op->id, spec->id, sizeof op->id);
    }
    return out;
}

static struct assign_operator *operators_of(const struct graph *g, struct arena *arena,
                                            size_t *count)
{
    struct assign_operator *ops;
    size_t n = 0;

    *count = 0;
    for (uint32_t v = 0; v < g->vertex_count; v++)
        *count += g->vertices[v].operator_count;
    ops = ARENA_ARRAY(arena, *count, struct assign_operator);
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++) {
            const struct operator_spec *spec = &g->vertices[v].operators[o];

            ops[n] = (struct assign_operator){
                .name = spec->name,
                .parallelism = g->vertices[v].parallelism,
                .key_group_count = g->key_group_count,
                .key_group_count_set = g->key_group_count_explicit,
            };
            memcpy(ops[n++].id, spec->id, sizeof spec->id);
        }
    }
    return ops;
}

enum rc restore_plan_assign(const struct graph *g, const struct checkpoint_metadata *snapshot,
                            bool allow_non_restored, struct arena *arena, struct assignment *out,
                            uint32_t *key_group_count, struct err *err)
{
    const struct checkpoint_metadata *m = with_ids_of(g, snapshot, arena);
    size_t n = 0, count;
    struct assign_operator *ops = operators_of(g, arena, &count);

    RETURN_IF_ERR(assign_restore(m, ops, count, allow_non_restored, arena, out, err));
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++)
            RETURN_IF_ERR(fit_states(&g->vertices[v].operators[o], m, allow_non_restored, arena,
                                     &out->operators[n++].fit, err));
    }
    RETURN_IF_ERR(adopt_key_groups(g, m, ops, out, key_group_count, err));
    n = 0;
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++)
            RETURN_IF_ERR(inflight_assign(g, v, o, m, snapshot, *key_group_count, allow_non_restored,
                                          arena, &out->operators[n++], err));
    }
    return RC_OK;
}

/* One operator's place in the graph, and what it is judged by. */
struct judging {
    const struct graph *graph;
    uint32_t vertex, op;
    const struct checkpoint_metadata *m, *written;
    bool allow_non_restored;
    struct arena *arena;
};

static enum rc judge_in_flight(const struct judging *j, struct restore_verdict *v, struct err *err)
{
    struct assigned_operator out = {
        .subtasks = ARENA_ARRAY(j->arena, v->parallelism, struct subtask_state),
        .fit = {.said = ""}};
    enum rc rc = inflight_assign(j->graph, j->vertex, j->op, j->m, j->written,
                                 v->old->key_group_count, j->allow_non_restored, j->arena, &out, err);

    for (size_t s = 0; s < v->old->subtask_count; s++)
        for (size_t h = 0; h < v->old->subtasks[s].channel_count; h++)
            v->in_flight_rows += v->old->subtasks[s].channels[h].row_count;
    v->in_flight_lost = out.fit.said;
    return rc;
}

static enum rc judge_one(const struct judging *j, const struct assign_operator *op,
                         struct restore_verdict *v, struct err *err)
{
    RETURN_IF_ERR(assign_check(v->old, op, err));
    RETURN_IF_ERR(fit_states(v->spec, j->m, j->allow_non_restored, j->arena, &v->fit, err));
    return judge_in_flight(j, v, err);
}

struct restore_verdict *restore_plan_judge(const struct graph *g,
                                           const struct checkpoint_metadata *snapshot,
                                           bool allow_non_restored, struct arena *arena,
                                           size_t *count)
{
    const struct checkpoint_metadata *m = with_ids_of(g, snapshot, arena);
    struct assign_operator *ops = operators_of(g, arena, count);
    struct restore_verdict *verdicts = ARENA_ARRAY(arena, *count, struct restore_verdict);
    size_t n = 0;

    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++, n++) {
            const struct operator_spec *spec = &g->vertices[v].operators[o];
            struct err err = {0};

            const struct judging j = {g, v, o, m, snapshot, allow_non_restored, arena};

            verdicts[n] = (struct restore_verdict){.spec = spec,
                                                   .in_flight_lost = "",
                                                   .parallelism = g->vertices[v].parallelism,
                                                   .old = find_operator(m, spec->id),
                                                   .fit = {.said = ""}};
            if (verdicts[n].old != NULL &&
                judge_one(&j, &ops[n], &verdicts[n], &err) != RC_OK)
                verdicts[n].fault = arena_strdup(arena, err.msg);
        }
    }
    return verdicts;
}

/* What the restored list states name outside the snapshot, e.g. a sink's part files, is there too.
 */
static enum rc check_outside(const struct env *env, const struct config *config,
                             const struct graph *g, const struct restore_plan *p, struct err *err)
{
    size_t n = 0;

    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++, n++) {
            const struct operator_spec *spec = &g->vertices[v].operators[o];
            const struct assigned_operator *a = &p->assignment.operators[n];
            struct list_state *lists;
            size_t count = 0;

            if (spec->check_restored == NULL || !a->restored)
                continue;
            for (uint32_t s = 0; s < g->vertices[v].parallelism; s++)
                count += a->subtasks[s].list_count;
            lists = ARENA_ARRAY(p->arena, count + 1, struct list_state);
            count = 0;
            for (uint32_t s = 0; s < g->vertices[v].parallelism; s++)
                for (size_t i = 0; i < a->subtasks[s].list_count; i++)
                    lists[count++] = a->subtasks[s].lists[i];
            RETURN_IF_ERR(spec->check_restored(spec->spec, env, config, lists, count, err));
        }
    }
    return RC_OK;
}

/* ---- which snapshot ---------------------------------------------------------------------------
 */

static enum rc find_snapshot(const struct env *env, const struct config *config,
                             const struct graph *g, const struct job_restore *restore,
                             struct restore_plan *p, struct err *err)
{
    struct recovery_options options = {.job_name = NULL};
    const char *path = restore != NULL ? restore->path : NULL;
    char root[FS_PATH_MAX], fingerprint[OPERATOR_ID_LEN + 1];
    enum rc rc;

    if (path == NULL && config_has(config, OPT_RESTORE_PATH))
        path = config_string(config, OPT_RESTORE_PATH);
    if (path != NULL && path[0] != '\0') { /* '' is how SET says: from nothing */
        const char *dir = flink_newest(env->fs, path, p->arena);

        p->restored = true;
        if (dir != NULL)
            return restore_flink(env, config, g, dir, restore != NULL && restore->look_only, p, err);
        if (config_has(config, OPT_RESTORE_MAPPING) && config_string(config, OPT_RESTORE_MAPPING)[0] != '\0')
            return err_set(err, RC_INVALID,
                           "%s is no snapshot of Flink's, and %s is about such a one", path,
                           option_at(OPT_RESTORE_MAPPING)->key);
        options.preferred_name = g->job_name;
        return recovery_open(env, path, &options, &p->recovered, err);
    }
    if (restore == NULL || !restore->resume)
        return RC_OK;
    if (!config_has(config, OPT_CP_DIR))
        return err_set(err, RC_INVALID,
                       "nothing to resume from: execution.checkpointing.dir is not set");
    RETURN_IF_ERR(path_from_uri(root, sizeof root, config_string(config, OPT_CP_DIR), err));
    graph_fingerprint(g, restore->occurrence, fingerprint);
    options = (struct recovery_options){.job_name = g->job_name,
                                        .fingerprint = fingerprint,
                                        .names_shared = restore->names_shared,
                                        .claimed_count = restore->earlier_count,
                                        .claimed = restore->earlier};
    rc = recovery_newest_of_job(env, root, &options, &p->recovered, err);
    if (rc == RC_NOT_FOUND) {
        err_clear(err);
        return RC_OK; /* a first start */
    }
    p->restored = true;
    return rc;
}

enum rc restore_plan_make(const struct env *env, const struct config *config, const struct graph *g,
                          const struct job_restore *restore, struct restore_plan *out,
                          struct err *err)
{
    struct restore_plan *p = out;
    enum rc rc;

    *p = (struct restore_plan){.key_group_count = g->key_group_count, .arena = arena_new(0)};
    p->allow_non_restored = (restore != NULL && restore->allow_non_restored) ||
                            config_bool(config, OPT_RESTORE_IGNORE_UNCLAIMED);
    p->claim_mode = restore != NULL && restore->claim_mode != CLAIM_NO_CLAIM
                        ? restore->claim_mode
                        : (enum claim_mode)config_enum(config, OPT_RESTORE_CLAIM_MODE);
    RETURN_IF_ERR(find_snapshot(env, config, g, restore, p, err));
    if (!p->restored)
        return RC_OK;
    rc = restore_plan_assign(g, p->recovered.meta, p->allow_non_restored, p->arena, &p->assignment,
                             &p->key_group_count, err);
    if (rc == RC_OK)
        rc = check_outside(env, config, g, p, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "restore from %s", p->recovered.dir);
}

void restore_plan_print_fits(const struct restore_plan *p, const struct graph *g, struct buf *out)
{
    size_t n = 0;

    for (uint32_t v = 0; p->restored && v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++, n++) {
            const char *said = p->assignment.operators[n].fit.said;

            if (said[0] != '\0')
                buf_printf(out, "operator %s: %s\n", g->vertices[v].operators[o].name, said);
        }
    }
}

void restore_plan_print_import_dropped(const struct restore_plan *p, struct buf *out)
{
    if (p->import_dropped_count > 0)
        buf_append_str(out, "dropped:");
    for (size_t i = 0; i < p->import_dropped_count; i++)
        buf_printf(out, "\n  %s", p->import_dropped[i]);
}
