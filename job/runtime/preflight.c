/* preflight.c - see preflight.h: collects; preflight_print.c shows. */
#include "job/runtime/preflight.h"

#include "base/nearest.h"
#include "checkpoint/state_types.h"
#include "job/list_items.h"
#include "job/runtime/state_budget.h"
#include "job/runtime/supervisor_priv.h"
#include "job/source/source.h"

#define POSITIONS_MAX 1000u /* of a source */

void preflight_release(struct preflight *p)
{
    for (size_t i = 0; i < p->operator_count; i++)
        for (size_t k = 0; k < p->operators[i].position_count; k++)
            json_decref(p->operators[i].positions[k]);
    restore_plan_release(&p->plan);
    arena_free(p->arena);
    *p = (struct preflight){0};
}

/* ---- one operator --------------------------------------------------------------------------- */

static const struct state_change *change_of(const struct state_fit *fit, const char *name)
{
    for (size_t i = 0; i < fit->change_count; i++)
        if (strcmp(fit->changes[i].was->name, name) == 0)
            return &fit->changes[i];
    return NULL;
}

static bool is_same(const struct state_desc *was, const struct state_desc *is)
{
    struct buf differ = {0};
    bool same;

    state_differences(was, is, &differ);
    same = differ.len == 0;
    buf_release(&differ);
    return same;
}

static const char *fate_of_old(const struct preflight_operator *op, const struct state_desc *was,
                               const struct state_desc *is)
{
    const struct state_change *change = change_of(&op->verdict.fit, was->name);

    if (op->fate == PREFLIGHT_REFUSED)
        return is == NULL ? "gone" : is_same(was, is) ? "the same" : "differs";
    if (change == NULL)
        return "kept";
    return change->is == NULL ? "dropped" : "rewritten";
}

/* Those of the snapshot, then those that are new. */
static void add_states(struct preflight *p, struct preflight_operator *op)
{
    const struct operator_spec *spec = op->verdict.spec;
    struct state_desc *old = NULL;
    size_t old_count = 0;

    if (op->verdict.old != NULL)
        assign_states_of(op->verdict.old, p->arena, &old, &old_count);
    op->states = ARENA_ARRAY(p->arena, old_count + spec->state_count, struct preflight_state);
    for (size_t i = 0; i < old_count; i++) {
        const struct state_desc *is =
            state_desc_find(spec->states, spec->state_count, old[i].name);

        op->states[op->state_count++] =
            (struct preflight_state){old[i].name, fate_of_old(op, &old[i], is), &old[i], is};
    }
    for (size_t i = 0; i < spec->state_count; i++)
        if (state_desc_find(old, old_count, spec->states[i].name) == NULL)
            op->states[op->state_count++] = (struct preflight_state){
                spec->states[i].name, "starts empty", NULL, &spec->states[i]};
}

static void add_positions(struct preflight *p, struct preflight_operator *op)
{
    const struct operator_meta *old = op->verdict.old;

    op->positions = ARENA_ARRAY(p->arena, POSITIONS_MAX, json_t *);
    for (size_t s = 0; s < old->subtask_count; s++)
        for (size_t l = 0; l < old->subtasks[s].list_count; l++) {
            const struct list_state *list = &old->subtasks[s].lists[l];

            for (size_t i = 0; strcmp(list->name, SOURCE_POSITIONS_LIST) == 0 &&
                               i < list->item_count && op->position_count < POSITIONS_MAX;
                 i++) {
                json_t *item = list_item_describe(list->name, list->items[i]);

                if (item != NULL)
                    op->positions[op->position_count++] = item;
            }
        }
}

/* Of what would be dropped, the one that may have been meant. */
static const char *nearest_dropped(const struct preflight *p, const char *name)
{
    const char **names = ARENA_ARRAY(p->arena, p->dropped_count + 1, const char *);

    for (size_t i = 0; i < p->dropped_count; i++)
        names[i] = p->dropped[i].name;
    return nearest_of(name, names, p->dropped_count);
}

/* Whether anything of what the snapshot has of it comes along. */
static bool takes_over(const struct preflight_operator *op)
{
    const struct operator_meta *old = op->verdict.old;

    for (size_t i = 0; i < op->state_count; i++)
        if (op->states[i].was != NULL && op->states[i].is != NULL)
            return true;
    for (size_t s = 0; s < old->subtask_count; s++)
        for (size_t l = 0; l < old->subtasks[s].list_count; l++)
            if (old->subtasks[s].lists[l].item_count > 0)
                return true;
    return op->verdict.spec->state_count == 0 || op->verdict.in_flight_rows > 0;
}

static void look_at_operator(struct preflight *p, struct preflight_operator *op)
{
    const struct restore_verdict *v = &op->verdict;

    if (v->fault != NULL)
        op->fate = PREFLIGHT_REFUSED;
    else if (!v->spec->stateful && !v->spec->keyed)
        op->fate = PREFLIGHT_STATELESS;
    else if (p->meta == NULL)
        op->fate = PREFLIGHT_FRESH;
    else
        op->fate = v->old != NULL ? PREFLIGHT_RESTORED : PREFLIGHT_EMPTY;
    if (op->fate == PREFLIGHT_EMPTY)
        op->nearest = nearest_dropped(p, v->spec->name);
    add_states(p, op);
    if (op->fate == PREFLIGHT_RESTORED && !takes_over(op))
        op->fate = PREFLIGHT_EMPTY;
    if (v->old != NULL && v->spec->is_source)
        add_positions(p, op);
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Files that are at fault keep a snapshot from being opened, not its _metadata from being shown. */
static void find_meta(const struct env *env, struct preflight *p)
{
    struct checkpoint_metadata *m;
    uint64_t bytes;

    p->meta = p->plan.recovered.meta;
    if (p->meta != NULL || p->plan.recovered.dir == NULL)
        return;
    m = ARENA_NEW(p->arena, struct checkpoint_metadata);
    if (recovery_read_metadata(env->fs, p->plan.recovered.dir, p->arena, m, &bytes, NULL) == RC_OK)
        p->meta = m;
}

static void look_at_operators(struct preflight *p)
{
    static const struct checkpoint_metadata nothing;
    struct restore_verdict *verdicts = restore_plan_judge(
        p->graph, p->meta != NULL ? p->meta : &nothing, p->plan.allow_non_restored, p->arena,
        &p->operator_count);

    p->operators = ARENA_ARRAY(p->arena, p->operator_count, struct preflight_operator);
    for (size_t i = 0; i < p->operator_count; i++) {
        p->operators[i].verdict = verdicts[i];
        look_at_operator(p, &p->operators[i]);
    }
}

/* Of a start that is refused the plan has not come to it. */
static uint32_t most_parallelism(const struct preflight *p)
{
    for (size_t i = 0; i < p->operator_count; i++) {
        const struct operator_meta *old = p->operators[i].verdict.old;

        for (size_t s = 0; old != NULL && s < old->subtask_count; s++)
            if (old->subtasks[s].keyed_count > 0)
                return old->key_group_count;
    }
    return p->plan.key_group_count;
}

/* What a start checks before it makes anything, in its order. */
static enum rc check_start(const struct env *env, const struct config *config,
                           const struct graph *graph, const struct job_restore *restore,
                           struct preflight *p, struct err *err)
{
    struct job_restore look = restore == NULL ? (struct job_restore){0} : *restore;
    struct state_budget budget;
    enum rc rc;

    look.look_only = true;
    rc = restore_plan_make(env, config, graph, &look, &p->plan, err);

    if (rc == RC_OK)
        rc = state_budget_make(config, graph, fs_open_files_max(env->fs), &budget, err);
    if (rc == RC_OK)
        rc = job_check_claim(&p->plan, p->checkpoint_dir, err);
    return rc == RC_OK ? job_check_operators(graph, p->checkpoint_dir, true, err) : rc;
}

enum rc preflight_make(const struct env *env, const struct config *config,
                       const struct graph *graph, const struct job_restore *restore,
                       struct preflight *out, struct err *err)
{
    struct preflight *p = out;
    struct err fault = {0};
    char dir[FS_PATH_MAX];
    enum rc rc;

    *p = (struct preflight){.arena = arena_new(0), .graph = graph};
    RETURN_IF_ERR(config_check(config, err));
    RETURN_IF_ERR(graph_check(graph, err));
    RETURN_IF_ERR(job_checkpoint_dir(config, dir, err));
    p->checkpoint_dir = arena_strdup(p->arena, dir);
    rc = check_start(env, config, graph, restore, p, &fault);
    if (rc == RC_DONE)
        return err_set(err, rc, "%s", fault.msg);
    if (rc != RC_OK)
        p->fault = arena_strdup(p->arena, fault.msg);
    find_meta(env, p);
    p->dropped_count = p->plan.assignment.dropped_count;
    p->dropped = p->plan.assignment.dropped;
    if (p->meta != NULL)
        metadata_sizes_of(p->meta, &p->sizes);
    if (p->fault == NULL || p->meta != NULL) /* of a snapshot that is not there nothing is known */
        look_at_operators(p);
    p->most_parallelism = most_parallelism(p);
    return RC_OK;
}
