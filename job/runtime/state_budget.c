/* state_budget.c - see state_budget.h */
#include "job/runtime/state_budget.h"

#include "backend/files_plan.h"
#include "job/runtime/deployment.h"

#define FILES_A_TASK 4u /* input, parts */
#define MIB (1ull << 20)

struct sums {
    uint32_t tasks, keyed, slots;
};

static struct sums sums_of(const struct graph *g)
{
    struct sums s = {.slots = 1};

    for (uint32_t v = 0; v < g->vertex_count; v++) {
        const struct graph_vertex *vertex = &g->vertices[v];

        s.tasks += vertex->parallelism;
        for (uint32_t o = 0; o < vertex->operator_count; o++)
            s.keyed += vertex->operators[o].keyed ? vertex->parallelism : 0;
        if (vertex->parallelism > s.slots)
            s.slots = vertex->parallelism;
    }
    return s;
}

static enum rc divide_memory(const struct config *c, const struct sums *s, struct memory_plan *out,
                             struct err *err)
{
    bool per_slot = config_has(c, OPT_ROCKS_MEMORY_PER_SLOT);
    uint64_t total = per_slot ? s->slots * config_bytes(c, OPT_ROCKS_MEMORY_PER_SLOT)
                              : config_bytes(c, OPT_MANAGED_MEMORY);
    uint64_t least = memory_plan_least(s->keyed);
    struct memory_demand demand = {
        .total_bytes = total, .subtasks = s->keyed, .cores = deployment_slots(c)};

    if (total < least)
        return err_set(err, RC_INVALID,
                       "%s: %u subtasks with keyed state need at least %llu mb together, it gives %llu mb%s",
                       option_at(per_slot ? OPT_ROCKS_MEMORY_PER_SLOT : OPT_MANAGED_MEMORY)->key,
                       s->keyed, (unsigned long long)((least + MIB - 1) / MIB),
                       (unsigned long long)(total / MIB), per_slot ? ", all slots together" : "");
    memory_plan_make(&demand, out);
    return RC_OK;
}

static enum rc divide_files(const struct config *c, const struct sums *s, uint64_t most, int *out,
                            struct err *err)
{
    uint64_t reserve = FILES_RESERVE + (uint64_t)s->tasks * FILES_A_TASK;
    uint64_t need = files_plan_least(reserve, s->keyed);

    if (most < need)
        return err_set(err, RC_INVALID,
                       "this process may have %llu open files (ulimit -n); %u tasks, %u of them with "
                       "keyed state in RocksDB, need at least %llu",
                       (unsigned long long)most, s->tasks, s->keyed, (unsigned long long)need);
    *out = files_plan_each(most, reserve, s->keyed, config_int(c, OPT_ROCKS_FILES_OPEN));
    return RC_OK;
}

enum rc state_budget_make(const struct config *config, const struct graph *graph,
                          uint64_t open_files_max, struct state_budget *out, struct err *err)
{
    struct sums s = sums_of(graph);

    *out = (struct state_budget){0};
    if (config_enum(config, OPT_BACKEND_TYPE) != BACKEND_TYPE_ROCKSDB || s.keyed == 0)
        return RC_OK;
    out->limited = true;
    RETURN_IF_ERR(divide_memory(config, &s, &out->memory, err));
    return divide_files(config, &s, open_files_max, &out->files, err);
}
