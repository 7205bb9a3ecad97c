/* vv_memory.c - memory that stores share (varve_state.h). */
#include "backend/vv_priv.h"

struct vv_memory {
    struct keyed_memory *memory;
    atomic_uint refs; /* of the caller and of each store */
    atomic_uint stores;
};

static enum rc memory_new(uint64_t total_bytes, uint32_t stores, uint32_t threads, vv_memory **out,
                          struct err *err)
{
    struct memory_demand demand = {
        .total_bytes = total_bytes, .subtasks = stores, .cores = threads};
    struct memory_plan plan;

    CHECK_NULL(out);
    *out = NULL;
    if (stores < 1 || stores > VV_KEY_GROUPS_MAX || threads < 1)
        return err_set(err, RC_INVALID, "%u stores, %u threads", stores, threads);
    if (total_bytes < memory_plan_least(stores))
        return err_set(err, RC_INVALID, "%llu bytes: %u stores need at least %llu",
                       (unsigned long long)total_bytes, stores,
                       (unsigned long long)memory_plan_least(stores));
    memory_plan_make(&demand, &plan);
    *out = mem_calloc(1, sizeof **out);
    (*out)->memory = keyed_memory_new(&plan);
    atomic_init(&(*out)->refs, 1);
    return RC_OK;
}

vv_code vv_memory_new(uint64_t total_bytes, uint32_t stores, uint32_t threads, vv_memory **out,
                      vv_error *error)
{
    ANSWER(memory_new(total_bytes, stores, threads, out, err));
}

enum rc memory_own(uint64_t total_bytes, vv_memory **out, struct err *err)
{
    return memory_new(total_bytes, 1, 1, out, err);
}

void vv_memory_free(vv_memory *m)
{
    if (m == NULL || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    keyed_memory_free(m->memory);
    mem_free(m);
}

enum rc memory_enter(vv_memory *m, struct err *err)
{
    uint32_t most = keyed_memory_plan(m->memory)->subtasks;

    if (atomic_fetch_add(&m->stores, 1) >= most) {
        atomic_fetch_sub(&m->stores, 1);
        return err_set(err, RC_LIMIT, "memory was made for %u stores, and so many are open", most);
    }
    atomic_fetch_add(&m->refs, 1);
    return RC_OK;
}

void memory_leave(vv_memory *m)
{
    atomic_fetch_sub(&m->stores, 1);
    vv_memory_free(m);
}

struct keyed_memory *memory_engine(const vv_memory *m)
{
    return m->memory;
}

static enum rc part_at(vv_memory *memory, size_t index, vv_memory_part *out, struct err *err)
{
    struct keyed_memory_stats stats;

    CHECK_NULL(memory);
    CHECK_NULL(out);
    if (index >= MEMORY_PARTS)
        return err_set(err, RC_NOT_FOUND, "part %zu of %d", index, (int)MEMORY_PARTS);
    keyed_memory_sample(memory->memory);
    keyed_memory_stats(memory->memory, &stats);
    *out = (vv_memory_part){
        .name = memory_part_name((enum memory_part)index),
        .configured_bytes = stats.parts[index].configured,
        .used_bytes = stats.parts[index].used,
        .peak_bytes = stats.parts[index].peak,
    };
    return RC_OK;
}

vv_code vv_memory_part_at(vv_memory *memory, size_t index, vv_memory_part *out, vv_error *error)
{
    ANSWER(part_at(memory, index, out, err));
}
