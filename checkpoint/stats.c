/* stats.c - see stats.h */
#include "checkpoint/stats.h"

#include <math.h>
#include <stdlib.h>

#define SUMMARY_WINDOW 10000
#define HISTORY_DEFAULT 10

/* ---- one checkpoint, shared by history and the "latest" pointers ----------------------------- */

struct tracked {
    unsigned refs;
    struct checkpoint_detail
        detail; /* strings and vertices owned; vertex ids and names are the tracker's */
};

/* Values of completed checkpoints: extremes of all, percentiles of the last SUMMARY_WINDOW. */
struct series {
    int64_t min, max, sum;
    uint64_t count;
    size_t held, cap;
    int64_t *ring;
};
struct stats_tracker {
    uint32_t vertex_count, history_size;
    struct stats_vertex *vertices; /* strings owned */
    uint32_t subtask_count;
    uint64_t restored_count, total_count, completed_count, failed_count;
    struct tracked **history; /* newest first */
    size_t history_count;
    struct tracked *latest_completed, *latest_savepoint, *latest_failed;
    struct series checkpointed_bytes, state_bytes, end_to_end_ms, processed_bytes, persisted_bytes;
    bool restored, restored_is_savepoint;
    uint64_t restored_id;
    int64_t restored_wall_ms;
    char *restored_path;
};

const char *checkpoint_status_str(enum checkpoint_status s)
{
    static const char *const names[] = {"IN_PROGRESS", "COMPLETED", "FAILED"};

    ASSERT(s <= CHECKPOINT_FAILED);
    return names[s];
}

const char *checkpoint_type_str(enum checkpoint_kind k)
{
    if (!checkpoint_kind_is_savepoint(k))
        return "CHECKPOINT";
    return checkpoint_kind_is_sync(k) ? "SYNC_SAVEPOINT" : "SAVEPOINT";
}

static void tracked_release(struct tracked **slot)
{
    struct tracked *t = *slot;

    *slot = NULL;
    if (t == NULL || --t->refs > 0)
        return;
    for (uint32_t v = 0; v < t->detail.vertex_count; v++)
        mem_free(t->detail.vertices[v].subtasks);
    mem_free(t->detail.vertices);
    mem_free((void *)(uintptr_t)t->detail.external_path);
    mem_free((void *)(uintptr_t)t->detail.failure_message);
    mem_free(t);
}

static void tracked_hold(struct tracked **slot, struct tracked *t)
{
    t->refs++;
    tracked_release(slot);
    *slot = t;
}

static struct tracked *tracked_new(const struct stats_tracker *tracker, uint64_t id,
                                   enum checkpoint_kind kind, int64_t now_wall_ms)
{
    struct tracked *t = mem_calloc(1, sizeof *t);
    struct checkpoint_detail *d = &t->detail;

    t->refs = 1;
    *d = (struct checkpoint_detail){
        .id = id,
        .status = CHECKPOINT_IN_PROGRESS,
        .kind = kind,
        .trigger_wall_ms = now_wall_ms,
        .latest_ack_wall_ms = -1,
        .end_to_end_ms = -1,
        .failure_wall_ms = -1,
        .subtask_count = tracker->subtask_count,
        .vertex_count = tracker->vertex_count,
        .vertices = mem_calloc(tracker->vertex_count, sizeof *d->vertices),
    };
    for (uint32_t v = 0; v < tracker->vertex_count; v++) {
        struct vertex_checkpoint_stats *s = &d->vertices[v];

        s->id = tracker->vertices[v].id;
        s->name = tracker->vertices[v].name;
        s->subtask_count = tracker->vertices[v].parallelism;
        s->latest_ack_wall_ms = s->end_to_end_ms = -1;
        s->subtasks = mem_calloc(s->subtask_count, sizeof *s->subtasks);
        for (uint32_t i = 0; i < s->subtask_count; i++)
            s->subtasks[i] = (struct subtask_checkpoint_stats){
                .index = i,
                .ack_wall_ms = -1,
                .end_to_end_ms = -1,
                .ack = {.sync_ms = -1, .async_ms = -1, .alignment_ms = -1, .start_delay_ms = -1},
            };
    }
    return t;
}

/* ---- summaries ------------------------------------------------------------------------------- */

static void series_add(struct series *s, int64_t value)
{
    s->min = s->count == 0 || value < s->min ? value : s->min;
    s->max = s->count == 0 || value > s->max ? value : s->max;
    if (__builtin_add_overflow(s->sum, value, &s->sum))
        s->sum = INT64_MAX;
    if (s->held == s->cap && s->cap < SUMMARY_WINDOW) {
        s->cap = s->cap == 0 ? 64 : s->cap * 2;
        s->cap = s->cap > SUMMARY_WINDOW ? SUMMARY_WINDOW : s->cap;
        s->ring = mem_realloc(s->ring, s->cap * sizeof(int64_t));
    }
    s->ring[s->count % SUMMARY_WINDOW] = value;
    s->held += s->held < SUMMARY_WINDOW;
    s->count++;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* As commons-math's default: position p * (n + 1), between neighbours linearly. */
static double percentile(const int64_t *sorted, size_t n, double p)
{
    double at = p * ((double)n + 1), whole = floor(at);
    size_t i = (size_t)whole;

    if (n == 0)
        return NAN;
    if (at < 1)
        return (double)sorted[0];
    if (at >= (double)n)
        return (double)sorted[n - 1];
    return (double)sorted[i - 1] + (at - whole) * (double)(sorted[i] - sorted[i - 1]);
}

static void series_view(const struct series *s, struct stats_summary *out)
{
    int64_t *sorted = mem_alloc(s->held * sizeof(int64_t));

    if (s->held > 0)
        memcpy(sorted, s->ring, s->held * sizeof(int64_t));
    qsort(sorted, s->held, sizeof(int64_t), by_value);
    *out = (struct stats_summary){
        .min = s->min,
        .max = s->max,
        .avg = s->count == 0 ? 0 : s->sum / (int64_t)s->count,
        .p50 = percentile(sorted, s->held, 0.5),
        .p90 = percentile(sorted, s->held, 0.9),
        .p95 = percentile(sorted, s->held, 0.95),
        .p99 = percentile(sorted, s->held, 0.99),
        .p999 = percentile(sorted, s->held, 0.999),
    };
    mem_free(sorted);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct stats_tracker *stats_tracker_new(const struct stats_vertex *vertices, uint32_t vertex_count,
                                        uint32_t history_size)
{
    struct stats_tracker *t = mem_calloc(1, sizeof *t);

    t->vertex_count = vertex_count;
    t->history_size = history_size == 0 ? HISTORY_DEFAULT : history_size;
    t->vertices = mem_calloc(vertex_count, sizeof *t->vertices);
    t->history = mem_calloc(t->history_size, sizeof(struct tracked *));
    for (uint32_t v = 0; v < vertex_count; v++) {
        t->vertices[v] = (struct stats_vertex){
            mem_strdup(vertices[v].id), mem_strdup(vertices[v].name), vertices[v].parallelism};
        t->subtask_count += vertices[v].parallelism;
    }
    return t;
}

void stats_tracker_free(struct stats_tracker *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->history_count; i++)
        tracked_release(&t->history[i]);
    tracked_release(&t->latest_completed);
    tracked_release(&t->latest_savepoint);
    tracked_release(&t->latest_failed);
    for (uint32_t v = 0; v < t->vertex_count; v++) {
        mem_free((void *)(uintptr_t)t->vertices[v].id);
        mem_free((void *)(uintptr_t)t->vertices[v].name);
    }
    mem_free(t->vertices);
    mem_free(t->history);
    mem_free(t->checkpointed_bytes.ring);
    mem_free(t->state_bytes.ring);
    mem_free(t->end_to_end_ms.ring);
    mem_free(t->processed_bytes.ring);
    mem_free(t->persisted_bytes.ring);
    mem_free(t->restored_path);
    mem_free(t);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static struct tracked *find(const struct stats_tracker *t, uint64_t id)
{
    for (size_t i = 0; i < t->history_count; i++)
        if (t->history[i]->detail.id == id)
            return t->history[i];
    return NULL;
}

void stats_tracker_restored(struct stats_tracker *t, uint64_t id, bool is_savepoint,
                            const char *path, int64_t now_wall_ms)
{
    char *copy = path == NULL ? NULL : mem_strdup(path); /* may be our own */

    mem_free(t->restored_path);
    t->restored_path = copy;
    t->restored = true;
    t->restored_id = id;
    t->restored_is_savepoint = is_savepoint;
    t->restored_wall_ms = now_wall_ms;
    t->restored_count++;
}

const char *stats_tracker_path(const struct stats_tracker *t, uint64_t id)
{
    const struct tracked *tracked = find(t, id);

    if (tracked == NULL && t->latest_completed != NULL && t->latest_completed->detail.id == id)
        tracked = t->latest_completed;
    if (tracked != NULL)
        return tracked->detail.external_path;
    return t->restored && t->restored_id == id ? t->restored_path : NULL;
}

void stats_tracker_started(struct stats_tracker *t, uint64_t id, enum checkpoint_kind kind,
                           int64_t now_wall_ms)
{
    t->total_count++;
    if (t->history_count == t->history_size)
        tracked_release(&t->history[--t->history_count]);
    memmove(t->history + 1, t->history, t->history_count * sizeof(struct tracked *));
    t->history[0] = tracked_new(t, id, kind, now_wall_ms);
    t->history_count++;
}

void stats_tracker_acked(struct stats_tracker *t, uint64_t id, uint32_t vertex,
                         uint32_t subtask_index, const struct ack_stats *ack, int64_t now_wall_ms)
{
    struct tracked *tracked = find(t, id);
    struct checkpoint_detail *d;
    struct vertex_checkpoint_stats *v;
    struct subtask_checkpoint_stats *s;
    int64_t took_ms;

    if (tracked == NULL)
        return;
    d = &tracked->detail;
    ASSERT(vertex < d->vertex_count && subtask_index < d->vertices[vertex].subtask_count);
    v = &d->vertices[vertex];
    s = &v->subtasks[subtask_index];
    if (s->acked || d->status != CHECKPOINT_IN_PROGRESS)
        return;
    took_ms = now_wall_ms < d->trigger_wall_ms ? 0 : now_wall_ms - d->trigger_wall_ms;
    *s = (struct subtask_checkpoint_stats){subtask_index, true, now_wall_ms, took_ms, *ack};
    v->ack_count++;
    v->latest_ack_wall_ms = now_wall_ms;
    v->end_to_end_ms = took_ms;
    v->checkpointed_bytes += ack->checkpointed_bytes;
    v->state_bytes += ack->state_bytes;
    v->processed_bytes += ack->processed_bytes;
    v->persisted_bytes += ack->persisted_bytes;
    d->ack_count++;
    d->latest_ack_wall_ms = now_wall_ms;
    d->end_to_end_ms = took_ms;
    d->checkpointed_bytes += ack->checkpointed_bytes;
    d->state_bytes += ack->state_bytes;
    d->processed_bytes += ack->processed_bytes;
    d->persisted_bytes += ack->persisted_bytes;
    d->unaligned |= ack->unaligned;
}

static int64_t as_signed(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

void stats_tracker_completed(struct stats_tracker *t, uint64_t id, const char *path,
                             int64_t now_wall_ms)
{
    struct tracked *tracked = find(t, id);
    struct checkpoint_detail *d;

    t->completed_count++;
    if (tracked == NULL)
        return;
    d = &tracked->detail;
    d->status = CHECKPOINT_COMPLETED;
    d->external_path = path == NULL ? NULL : mem_strdup(path);
    if (d->latest_ack_wall_ms < 0) { /* nobody had to ack: all tasks had ended */
        d->latest_ack_wall_ms = now_wall_ms;
        d->end_to_end_ms = now_wall_ms < d->trigger_wall_ms ? 0 : now_wall_ms - d->trigger_wall_ms;
    }
    series_add(&t->checkpointed_bytes, as_signed(d->checkpointed_bytes));
    series_add(&t->state_bytes, as_signed(d->state_bytes));
    series_add(&t->end_to_end_ms, d->end_to_end_ms);
    series_add(&t->processed_bytes, as_signed(d->processed_bytes));
    series_add(&t->persisted_bytes, as_signed(d->persisted_bytes));
    tracked_hold(checkpoint_kind_is_savepoint(d->kind) ? &t->latest_savepoint
                                                       : &t->latest_completed,
                 tracked);
}

void stats_tracker_failed(struct stats_tracker *t, uint64_t id, const char *message,
                          int64_t now_wall_ms)
{
    struct tracked *tracked = find(t, id);
    struct checkpoint_detail *d;

    t->failed_count++;
    if (tracked == NULL)
        return;
    d = &tracked->detail;
    d->status = CHECKPOINT_FAILED;
    d->failure_wall_ms = now_wall_ms;
    d->failure_message = mem_strdup(message);
    d->end_to_end_ms = now_wall_ms < d->trigger_wall_ms ? 0 : now_wall_ms - d->trigger_wall_ms;
    tracked_hold(&t->latest_failed, tracked);
}

void stats_tracker_failed_early(struct stats_tracker *t)
{
    t->total_count++;
    t->failed_count++;
}

void stats_tracker_discarded(struct stats_tracker *t, uint64_t id)
{
    struct tracked *tracked = find(t, id);

    if (tracked != NULL)
        tracked->detail.discarded = true;
    if (t->latest_completed != NULL && t->latest_completed->detail.id == id)
        t->latest_completed->detail.discarded = true;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void detail_copy(struct arena *arena, const struct checkpoint_detail *from,
                        struct checkpoint_detail *out)
{
    *out = *from;
    if (from->external_path != NULL)
        out->external_path = arena_strdup(arena, from->external_path);
    if (from->failure_message != NULL)
        out->failure_message = arena_strdup(arena, from->failure_message);
    out->vertices = ARENA_ARRAY(arena, from->vertex_count, struct vertex_checkpoint_stats);
    for (uint32_t v = 0; v < from->vertex_count; v++) {
        const struct vertex_checkpoint_stats *s = &from->vertices[v];

        out->vertices[v] = *s;
        out->vertices[v].id = arena_strdup(arena, s->id);
        out->vertices[v].name = arena_strdup(arena, s->name);
        out->vertices[v].subtasks =
            arena_copy(arena, s->subtasks, s->subtask_count * sizeof *s->subtasks);
    }
}

static const struct checkpoint_detail *copy_or_null(struct arena *arena, const struct tracked *t)
{
    struct checkpoint_detail *out;

    if (t == NULL)
        return NULL;
    out = ARENA_NEW(arena, struct checkpoint_detail);
    detail_copy(arena, &t->detail, out);
    return out;
}

void stats_tracker_view(const struct stats_tracker *t, struct arena *arena,
                        struct checkpoint_stats *out)
{
    *out = (struct checkpoint_stats){
        .restored_count = t->restored_count,
        .total_count = t->total_count,
        .in_progress_count = t->total_count - t->completed_count - t->failed_count,
        .completed_count = t->completed_count,
        .failed_count = t->failed_count,
        .latest_completed = copy_or_null(arena, t->latest_completed),
        .latest_savepoint = copy_or_null(arena, t->latest_savepoint),
        .latest_failed = copy_or_null(arena, t->latest_failed),
        .restored = t->restored,
        .restored_id = t->restored_id,
        .restored_wall_ms = t->restored_wall_ms,
        .restored_is_savepoint = t->restored_is_savepoint,
        .restored_path = t->restored_path == NULL ? NULL : arena_strdup(arena, t->restored_path),
        .history_count = t->history_count,
        .history = ARENA_ARRAY(arena, t->history_count, struct checkpoint_detail),
    };
    series_view(&t->checkpointed_bytes, &out->checkpointed_bytes);
    series_view(&t->state_bytes, &out->state_bytes);
    series_view(&t->end_to_end_ms, &out->end_to_end_ms);
    series_view(&t->processed_bytes, &out->processed_bytes);
    series_view(&t->persisted_bytes, &out->persisted_bytes);
    for (size_t i = 0; i < t->history_count; i++)
        detail_copy(arena, &t->history[i]->detail, &out->history[i]);
}

const struct checkpoint_detail *checkpoint_stats_find(const struct checkpoint_stats *s, uint64_t id)
{
    for (size_t i = 0; i < s->history_count; i++)
        if (s->history[i].id == id)
            return &s->history[i];
    return NULL;
}
