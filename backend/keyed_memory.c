#include "backend/keyed_memory.h"

#include "backend/rocks.h"
#include "base/arena.h"
#include "base/thread.h"

#include <stdatomic.h>

struct keyed_memory {
    struct memory_plan plan;
    struct rocks_shared *rocks; /* NULL: retired */
    _Atomic uint64_t used[MEMORY_PARTS], peak[MEMORY_PARTS];
    struct mutex mutex;
    struct cond flush_ended;
    uint32_t flushes GUARDED_BY(mutex);
};

const char *memory_part_name(enum memory_part p)
{
    static const char *const names[] = {"rows",          "images",  "blocks",
                                        "write-buffers", "flushes", "compactions"};

    ASSERT((unsigned)p < ARRAY_LEN(names));
    return names[p];
}

struct keyed_memory *keyed_memory_new(const struct memory_plan *plan)
{
    struct keyed_memory *m = mem_calloc(1, sizeof *m);

    m->plan = *plan;
    m->rocks = rocks_shared_new(plan->block_bytes, plan->write_buffer_bytes);
    mutex_init(&m->mutex);
    cond_init(&m->flush_ended);
    return m;
}

void keyed_memory_free(struct keyed_memory *m)
{
    if (m == NULL)
        return;
    rocks_shared_free(m->rocks);
    cond_release(&m->flush_ended);
    mutex_release(&m->mutex);
    mem_free(m);
}

void keyed_memory_retire(struct keyed_memory *m)
{
    mutex_lock(&m->mutex);
    rocks_shared_free(m->rocks);
    m->rocks = NULL;
    mutex_unlock(&m->mutex);
}

const struct memory_plan *keyed_memory_plan(const struct keyed_memory *m)
{
    return &m->plan;
}

struct rocks_shared *keyed_memory_rocks(struct keyed_memory *m)
{
    return m->rocks;
}

static void note_peak(struct keyed_memory *m, enum memory_part p, uint64_t now)
{
    uint64_t peak = atomic_load_explicit(&m->peak[p], memory_order_relaxed);

    while (peak < now && !atomic_compare_exchange_weak(&m->peak[p], &peak, now))
        ;
}

void keyed_memory_count(struct keyed_memory *m, enum memory_part p, uint64_t *counted, uint64_t now)
{
    uint64_t delta = now - *counted; /* modulo 2^64 */

    if (delta == 0)
        return;
    *counted = now;
    note_peak(m, p, atomic_fetch_add(&m->used[p], delta) + delta);
}

void keyed_memory_flush_begin(struct keyed_memory *m)
{
    mutex_lock(&m->mutex);
    while (m->flushes >= m->plan.flushes)
        cond_wait(&m->flush_ended, &m->mutex);
    m->flushes++;
    mutex_unlock(&m->mutex);
}

void keyed_memory_flush_end(struct keyed_memory *m)
{
    mutex_lock(&m->mutex);
    m->flushes--;
    cond_signal(&m->flush_ended);
    mutex_unlock(&m->mutex);
}

static void set_used(struct keyed_memory *m, enum memory_part p, uint64_t now)
{
    atomic_store(&m->used[p], now);
    note_peak(m, p, now);
}

void keyed_memory_sample(struct keyed_memory *m)
{
    struct rocks_shared_use use = {0};

    mutex_lock(&m->mutex);
    if (m->rocks != NULL)
        rocks_shared_use(m->rocks, &use);
    mutex_unlock(&m->mutex);
    set_used(m, MEMORY_BLOCKS, use.cache_bytes);
    set_used(m, MEMORY_WRITE_BUFFERS, use.write_buffer_bytes);
}

static void limit(struct memory_use *u)
{
    u->used = u->used < u->configured ? u->used : u->configured;
    u->peak = u->peak < u->configured ? u->peak : u->configured;
}

bool keyed_memory_buffers_have(struct keyed_memory *m, uint64_t bytes)
{
    struct rocks_shared_use use;

    rocks_shared_use(m->rocks, &use);
    return use.write_buffer_bytes + bytes <= m->plan.write_buffer_bytes;
}

void keyed_memory_stats(struct keyed_memory *m, struct keyed_memory_stats *out)
{
    const struct memory_plan *plan = &m->plan;
    const uint64_t configured[MEMORY_PARTS] = {
        plan->subtasks * plan->row_bytes,     plan->subtasks * plan->image_bytes,
        plan->block_bytes + plan->write_buffer_bytes, plan->write_buffer_bytes,
        plan->flushes * plan->flush_bytes,    plan->compactions * plan->compaction_bytes,
    };

    keyed_memory_sample(m);
    for (int p = 0; p < MEMORY_PARTS; p++)
        out->parts[p] = (struct memory_use){configured[p], atomic_load(&m->used[p]),
                                            atomic_load(&m->peak[p])};
    /* Each backend says what it saw a moment ago; together they have no more threads than these. */
    limit(&out->parts[MEMORY_COMPACTIONS]);
}
