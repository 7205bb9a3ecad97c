/* leftover_parts.c - see leftover_parts.h */
#include "job/leftover_parts.h"

#include "job/operator/operators.h"
#include "job/rest/row_json.h"
#include "sink/committable.h"
#include "sink/hidden_files.h"
#include "sink/sink.h"

#define LEFTOVERS_MAX 1000u
#define ATTEMPTS_MAX 32u /* deployments of a run whose names are tried */

struct look {
    const struct env *env;
    struct arena *arena;
    const struct checkpoint_metadata *meta;
    const struct operator_meta *op;
    size_t count;
    struct sink_item *items; /* of the operator */
    json_t *found;
};

/* Everything that the sink handed to the snapshot. */
static void take_items(struct look *l)
{
    const struct operator_meta *op = l->op;
    size_t most = 0;

    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t i = 0; i < op->subtasks[s].list_count; i++)
            most += op->subtasks[s].lists[i].item_count;
    l->count = 0;
    l->items = ARENA_ARRAY(l->arena, most, struct sink_item);
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t i = 0; i < op->subtasks[s].list_count; i++) {
            const struct list_state *list = &op->subtasks[s].lists[i];
            bool ours = strcmp(list->name, SINK_STATE_WRITER) == 0 ||
                        strcmp(list->name, SINK_STATE_COMMITTABLES) == 0;

            for (size_t k = 0; ours && k < list->item_count; k++)
                l->count += committable_decode(list->items[k], l->arena, "item",
                                               &l->items[l->count], NULL) == RC_OK;
        }
}

static bool is_known(const struct look *l, const struct hidden_file *f)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i].kind != ITEM_WRITER && strcmp(l->items[i].part.temp_name, f->name) == 0)
            return true;
    return false;
}

static bool is_of_job(const struct look *l, const struct hidden_file *f)
{
    char uuid[UUID_LEN + 1];

    for (uint32_t attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        sink_deployment_uuid(l->meta->job_id, l->op->id, attempt, uuid);
        if (strcmp(uuid, f->uuid) == 0)
            return true;
    }
    return false;
}

static enum rc note_file(void *ctx, const struct hidden_file *f, struct err *err)
{
    struct look *l = ctx;
    struct fs_stat st;

    if (json_array_size(l->found) == LEFTOVERS_MAX)
        return err_set(err, RC_LIMIT, "enough");
    if (is_known(l, f) || fs_stat(l->env->fs, f->path, &st, NULL) != RC_OK)
        return RC_OK;
    json_array_append_new(
        l->found,
        json_pack("{s: s, s: o, s: I, s: I, s: s}", "what", "hidden file", "path",
                  text_json(f->path), "size", (json_int_t)st.size_bytes, "age_ms",
                  (json_int_t)(clock_wall_ms(l->env->clock) - fs_changed_wall_ms(&st)), "of",
                  is_of_job(l, f) ? "this job" : "another run"));
    return RC_OK;
}

/* Each directory of the operator's writers once. */
static void look_below(struct look *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const char *base = l->items[i].writer.base;
        bool seen = l->items[i].kind != ITEM_WRITER;
        enum rc rc UNUSED;

        for (size_t k = 0; k < i && !seen; k++)
            seen = l->items[k].kind == ITEM_WRITER && strcmp(l->items[k].writer.base, base) == 0;
        if (!seen)
            rc = hidden_files_each(l->env->fs, base, note_file, l, NULL);
    }
}

json_t *leftover_parts(const struct env *env, const struct checkpoint_metadata *m)
{
    struct look look = {.env = env, .arena = arena_new(0), .meta = m, .found = json_array()};

    for (size_t i = 0; i < m->operator_count; i++) {
        look.op = &m->operators[i];
        take_items(&look);
        look_below(&look);
    }
    arena_free(look.arena);
    return look.found;
}
