/* metrics_api.c - /metrics in Prometheus text, and Flink's [{id, value}] lists; see routes.h */
#include "job/rest/api_priv.h"

#include <stdio.h>

#define JOBS_SCRAPED_MAX 1000u

/* ---- Prometheus text
 * ------------------------------------------------------------------------------ */

/* A label value: backslash, quote and line end escaped. */
static void label(struct buf *out, const char *name, const char *value, bool first)
{
    buf_printf(out, "%s%s=\"", first ? "" : ",", name);
    for (; *value != '\0'; value++) {
        if (*value == '\\' || *value == '"')
            buf_append_u8(out, '\\');
        if (*value == '\n')
            buf_append_str(out, "\\n");
        else
            buf_append_u8(out, (uint8_t)*value);
    }
    buf_append_u8(out, '"');
}

static void job_labels(struct buf *out, const struct job_view *v)
{
    label(out, "job_id", v->id, true);
    label(out, "job_name", v->name, false);
}

static void head(struct buf *out, const char *name, const char *type)
{
    buf_printf(out, "# TYPE %s %s\n", name, type);
}

struct scrape {
    size_t count;
    struct job_view *views;
    struct checkpoint_stats *checkpoints;
};

static void job_metric(struct buf *out, const struct scrape *s, const char *name,
                       int64_t (*value)(const struct job_view *, const struct checkpoint_stats *))
{
    char full[96];

    snprintf(full, sizeof full, "flink_jobmanager_job_%s", name);
    head(out, full, "gauge");
    for (size_t i = 0; i < s->count; i++) {
        buf_printf(out, "%s{", full);
        job_labels(out, &s->views[i]);
        buf_printf(out, "} %lld\n", (long long)value(&s->views[i], &s->checkpoints[i]));
    }
}

static int64_t last_duration(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return c->latest_completed != NULL ? c->latest_completed->end_to_end_ms : -1;
}
static int64_t last_size(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return c->latest_completed != NULL ? (int64_t)c->latest_completed->checkpointed_bytes : -1;
}
static int64_t last_full_size(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return c->latest_completed != NULL ? (int64_t)c->latest_completed->state_bytes : -1;
}
static int64_t last_persisted(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return c->latest_completed != NULL ? (int64_t)c->latest_completed->persisted_bytes : -1;
}
static int64_t checkpoints_completed(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return (int64_t)c->completed_count;
}
static int64_t failed_count(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return (int64_t)c->failed_count;
}
static int64_t in_progress_count(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return (int64_t)c->in_progress_count;
}
static int64_t total_count(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return (int64_t)c->total_count;
}
static int64_t restore_time(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)v;
    return c->restored ? c->restored_wall_ms : -1;
}
static int64_t restarts(const struct job_view *v, const struct checkpoint_stats *c)
{
    (void)c;
    return v->restarts;
}

static void operator_metric(struct buf *out, const struct scrape *s, const char *name,
                            int64_t (*value)(const struct operator_view *))
{
    char full[96];

    snprintf(full, sizeof full, "flink_taskmanager_job_task_operator_%s", name);
    head(out, full, "gauge");
    for (size_t j = 0; j < s->count; j++)
        for (uint32_t v = 0; v < s->views[j].vertex_count; v++) {
            const struct vertex_view *vertex = &s->views[j].vertices[v];

            for (uint32_t t = 0; t < vertex->parallelism; t++)
                for (uint32_t o = 0; o < vertex->subtasks[t].operator_count; o++) {
                    const struct operator_view *op = &vertex->subtasks[t].operators[o];

                    buf_printf(out, "%s{", full);
                    job_labels(out, &s->views[j]);
                    label(out, "task_id", vertex->id, false);
                    label(out, "task_name", vertex->name, false);
                    buf_printf(out, ",subtask_index=\"%u\"", t);
                    label(out, "operator_id", op->id, false);
                    label(out, "operator_name", op->name, false);
                    buf_printf(out, "} %lld\n", (long long)value(op));
                }
        }
}

#define OPERATOR_VALUE(fn, expr)                                                                   \
    static int64_t fn(const struct operator_view *o)                                               \
    {                                                                                              \
        return (int64_t)(expr);                                                                    \
    }
OPERATOR_VALUE(op_records_in, o->records_in)
OPERATOR_VALUE(op_records_out, o->records_out)
OPERATOR_VALUE(op_bytes_in, o->bytes_in)
OPERATOR_VALUE(op_bytes_out, o->bytes_out)
OPERATOR_VALUE(op_late, o->late_dropped)
OPERATOR_VALUE(op_bad_rows, o->bad_rows)
OPERATOR_VALUE(op_null_fields, o->null_fields)
OPERATOR_VALUE(op_watermark, o->watermark_ms)
OPERATOR_VALUE(op_cached, o->keyed.entries_cached)
OPERATOR_VALUE(op_cache_bytes, o->keyed.cache_bytes)
OPERATOR_VALUE(op_dirty, o->keyed.dirty_rows)
OPERATOR_VALUE(op_sst_bytes, o->keyed.db_live_sst_bytes)
OPERATOR_VALUE(op_sst_files, o->keyed.db_sst_files)
OPERATOR_VALUE(op_l0, o->keyed.l0_files)
OPERATOR_VALUE(op_pending_compaction, o->keyed.pending_compaction_bytes)
OPERATOR_VALUE(op_block_cache, o->keyed.block_cache_bytes)
OPERATOR_VALUE(op_write_buffer, o->keyed.write_buffer_bytes)
OPERATOR_VALUE(op_lookups, o->keyed.lookups)
OPERATOR_VALUE(op_misses, o->keyed.misses)
OPERATOR_VALUE(op_hot_key, o->hot.key_count > 0 ? 1000 * o->hot.keys[0].share : 0)
OPERATOR_VALUE(op_hot_group, o->hot.group_count > 0 ? 1000 * o->hot.groups[0].share : 0)
OPERATOR_VALUE(op_flush_wait_ms, o->keyed.flush_wait_ns / NS_PER_MS)

static const struct {
    const char *name;
    int64_t (*value)(const struct job_view *, const struct checkpoint_stats *);
} job_metrics[] = {
    {"lastCheckpointDuration", last_duration},
    {"lastCheckpointSize", last_size},
    {"lastCheckpointFullSize", last_full_size},
    {"lastCheckpointPersistedData", last_persisted},
    {"numberOfCompletedCheckpoints", checkpoints_completed},
    {"numberOfFailedCheckpoints", failed_count},
    {"numberOfInProgressCheckpoints", in_progress_count},
    {"totalNumberOfCheckpoints", total_count},
    {"lastCheckpointRestoreTimestamp", restore_time},
    {"numRestarts", restarts},
};
static const struct {
    const char *name;
    int64_t (*value)(const struct operator_view *);
} operator_metrics[] = {
    {"numRecordsIn", op_records_in},
    {"numRecordsOut", op_records_out},
    {"numBytesIn", op_bytes_in},
    {"numBytesOut", op_bytes_out},
    {"numLateRecordsDropped", op_late},
    {"numBadRows", op_bad_rows},
    {"numNullFields", op_null_fields},
    {"currentInputWatermark", op_watermark},
    {"rowCacheEntries", op_cached},
    {"rowCacheBytes", op_cache_bytes},
    {"rowCacheDirtyRows", op_dirty},
    {"rocksdb_total_sst_files_size", op_sst_bytes},
    {"rocksdb_num_files", op_sst_files},
    {"rocksdb_num_files_at_level0", op_l0},
    {"rocksdb_estimate_pending_compaction_bytes", op_pending_compaction},
    {"rocksdb_block_cache_usage", op_block_cache},
    {"rocksdb_cur_size_all_mem_tables", op_write_buffer},
    {"stateLookups", op_lookups},
    {"stateLookupMisses", op_misses},
    {"stateFlushWaitMs", op_flush_wait_ms},
    {"hottestKeyPermille", op_hot_key},
    {"hottestKeyGroupPermille", op_hot_group},
};

static const char *const memory_words[] = {"configured", "used", "peak"};

static uint64_t memory_value(const struct job_view *v, int part, size_t word)
{
    const struct memory_use *u = &v->memory.parts[part];

    return word == 0 ? u->configured : word == 1 ? u->used : u->peak;
}

/* The parts of the one number, of jobs that keep keyed state in RocksDB. */
static void memory_metrics(struct buf *out, const struct scrape *s)
{
    for (size_t w = 0; w < ARRAY_LEN(memory_words); w++) {
        char full[96];

        snprintf(full, sizeof full, "flink_jobmanager_job_stateMemory_%s", memory_words[w]);
        head(out, full, "gauge");
        for (size_t j = 0; j < s->count; j++) {
            for (int p = 0; s->views[j].memory_limited && p < MEMORY_PARTS; p++) {
                buf_printf(out, "%s{", full);
                job_labels(out, &s->views[j]);
                label(out, "part", memory_part_name((enum memory_part)p), false);
                buf_printf(out, "} %llu\n", (unsigned long long)memory_value(&s->views[j], p, w));
            }
        }
    }
}

void api_metrics(struct call *c)
{
    struct job **jobs = ARENA_ARRAY(c->request->arena, JOBS_SCRAPED_MAX, struct job *);
    struct scrape s = {.count = dispatcher_list(c->api->dispatcher, jobs, JOBS_SCRAPED_MAX)};
    struct buf *out = &c->answer->body;

    s.views = ARENA_ARRAY(c->request->arena, s.count + 1, struct job_view);
    s.checkpoints = ARENA_ARRAY(c->request->arena, s.count + 1, struct checkpoint_stats);
    for (size_t i = 0; i < s.count; i++) {
        job_view(jobs[i], c->request->arena, &s.views[i]);
        job_checkpoint_stats(jobs[i], c->request->arena, &s.checkpoints[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(job_metrics); i++)
        job_metric(out, &s, job_metrics[i].name, job_metrics[i].value);
    memory_metrics(out, &s);
    for (size_t i = 0; i < ARRAY_LEN(operator_metrics); i++)
        operator_metric(out, &s, operator_metrics[i].name, operator_metrics[i].value);
    for (size_t i = 0; i < s.count; i++)
        dispatcher_release(c->api->dispatcher, jobs[i]);
    c->answer->status = 200;
    c->answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- Flink's lists
 * -------------------------------------------------------------------------------- */

/* Whether the list "a,b,c" has the name. */
static bool asked_for(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; at != NULL; at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1) {
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* Names alone, or with ?get= the values of those asked for. */
static void add_metric(json_t *list, const char *get, const char *name, long long value)
{
    if (get == NULL)
        json_array_append_new(list, json_pack("{s: s}", "id", name));
    else if (asked_for(get, name))
        json_array_append_new(
            list, json_pack("{s: s, s: o}", "id", name, "value", json_sprintf("%lld", value)));
}

void api_job_metrics(struct call *c)
{
    const char *get = http_query(c->request, "get");
    struct job_view view;
    struct checkpoint_stats stats = {0};
    json_t *list = json_array();

    job_view(c->job, c->request->arena, &view);
    job_checkpoint_stats(c->job, c->request->arena, &stats);
    for (size_t i = 0; i < ARRAY_LEN(job_metrics); i++)
        add_metric(list, get, job_metrics[i].name, (long long)job_metrics[i].value(&view, &stats));
    for (int p = 0; view.memory_limited && p < MEMORY_PARTS; p++) {
        for (size_t w = 0; w < ARRAY_LEN(memory_words); w++) {
            char name[64];

            snprintf(name, sizeof name, "stateMemory.%s.%s",
                     memory_part_name((enum memory_part)p), memory_words[w]);
            add_metric(list, get, name, (long long)memory_value(&view, p, w));
        }
    }
    answer_json(c, 200, list);
}
