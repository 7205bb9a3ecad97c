/* vertices_api.c - vertices, subtasks and the plan in Flink's JSON shapes; see routes.h */
#include "job/rest/api_priv.h"

#include <stdlib.h>

static const char *const flink_task_states[] = {
    "DEPLOYING", "RUNNING",     "INITIALIZING", "FINISHED",  "CREATED",
    "CANCELING", "RECONCILING", "CANCELED",     "SCHEDULED", "FAILED"};

void count_task_states(const struct vertex_view *v, uint32_t counts[8])
{
    for (uint32_t i = 0; i < v->parallelism; i++)
        counts[v->subtasks[i].state]++;
}

static uint32_t count_of(const uint32_t counts[8], const char *state)
{
    for (uint32_t s = 0; s < 8; s++)
        if (strcmp(task_state_str((enum task_state)s), state) == 0)
            return counts[s];
    return 0; /* a state that varve's tasks never have */
}

json_t *task_counts_json(const uint32_t counts[8], bool lower_case_with_total)
{
    json_t *o = json_object();
    uint32_t total = 0;

    for (size_t i = 0; i < ARRAY_LEN(flink_task_states); i++) {
        char name[16];
        size_t len = strlen(flink_task_states[i]);

        for (size_t k = 0; k <= len; k++)
            name[k] = (char)(lower_case_with_total && flink_task_states[i][k] >= 'A'
                                 ? flink_task_states[i][k] + 32
                                 : flink_task_states[i][k]);
        json_object_set_new(o, name, json_integer(count_of(counts, flink_task_states[i])));
        total += count_of(counts, flink_task_states[i]);
    }
    if (lower_case_with_total)
        json_object_set_new(o, "total", json_integer(total));
    return o;
}

struct io_sums {
    uint64_t read_bytes, write_bytes, read_records, write_records, busy_ms, idle_ms,
        backpressured_ms;
};

/* A task reads what its first operator takes and writes what its last gives out. */
static void add_io(const struct subtask_view *s, struct io_sums *io)
{
    if (s->operator_count > 0) {
        const struct operator_view *first = &s->operators[0],
                                   *last = &s->operators[s->operator_count - 1];

        io->read_bytes += first->bytes_in;
        io->read_records += first->records_in;
        io->write_bytes += last->bytes_out;
        io->write_records += last->records_out;
    }
    io->busy_ms += s->busy_ms;
    io->idle_ms += s->idle_ms;
    io->backpressured_ms += s->backpressured_ms;
}

static json_t *io_json(const struct io_sums *io)
{
    return json_pack("{s: I, s: b, s: I, s: b, s: I, s: b, s: I, s: b, s: I, s: I, s: f}",
                     "read-bytes", (json_int_t)io->read_bytes, "read-bytes-complete", 1,
                     "write-bytes", (json_int_t)io->write_bytes, "write-bytes-complete", 1,
                     "read-records", (json_int_t)io->read_records, "read-records-complete", 1,
                     "write-records", (json_int_t)io->write_records, "write-records-complete", 1,
                     "accumulated-backpressured-time", (json_int_t)io->backpressured_ms,
                     "accumulated-idle-time", (json_int_t)io->idle_ms, "accumulated-busy-time",
                     (double)io->busy_ms);
}

/* The state that describes all subtasks: the least far along of those that matter. */
static const char *vertex_state(const uint32_t counts[8])
{
    static const enum task_state order[] = {TASK_FAILED,       TASK_CANCELING, TASK_CANCELED,
                                            TASK_INITIALIZING, TASK_DEPLOYING, TASK_CREATED,
                                            TASK_RUNNING,      TASK_FINISHED};

    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (counts[order[i]] > 0)
            return task_state_str(order[i]);
    return task_state_str(TASK_CREATED);
}

static void times_of(const struct vertex_view *v, int64_t *start, int64_t *end)
{
    *start = -1;
    *end = -1;
    for (uint32_t i = 0; i < v->parallelism; i++) {
        const struct subtask_view *s = &v->subtasks[i];

        if (s->start_wall_ms > 0 && (*start < 0 || s->start_wall_ms < *start))
            *start = s->start_wall_ms;
        if (s->end_wall_ms > *end)
            *end = s->end_wall_ms;
    }
    for (uint32_t i = 0; i < v->parallelism; i++)
        if (v->subtasks[i].end_wall_ms <= 0)
            *end = -1;
}

json_t *vertex_summary_json(const struct vertex_view *v, int64_t now_ms)
{
    uint32_t counts[8] = {0};
    struct io_sums io = {0};
    int64_t start, end;

    count_task_states(v, counts);
    for (uint32_t i = 0; i < v->parallelism; i++)
        add_io(&v->subtasks[i], &io);
    times_of(v, &start, &end);
    return json_pack("{s: s, s: s, s: o, s: i, s: i, s: s, s: I, s: I, s: I, s: o, s: o}", "id",
                     v->id, "slotSharingGroupId", v->id, "name", text_json(v->name),
                     "maxParallelism", (int)v->key_group_count, "parallelism", (int)v->parallelism,
                     "status", vertex_state(counts), "start-time", (json_int_t)start, "end-time",
                     (json_int_t)end, "duration",
                     (json_int_t)(start < 0 ? -1 : (end > 0 ? end : now_ms) - start), "tasks",
                     task_counts_json(counts, false), "metrics", io_json(&io));
}

static json_t *html_escaped(const char *text)
{
    struct buf b = {0};
    json_t *s;

    for (; *text != '\0'; text++) {
        if (*text == '<')
            buf_append_str(&b, "&lt;");
        else if (*text == '>')
            buf_append_str(&b, "&gt;");
        else if (*text == '&')
            buf_append_str(&b, "&amp;");
        else
            buf_append_u8(&b, (uint8_t)*text);
    }
    buf_append_str(&b, "<br/>");
    s = text_json(buf_cstr(&b));
    buf_release(&b);
    return s;
}

json_t *plan_json(const struct job_view *view)
{
    static const char *const ship[] = {"FORWARD", "REBALANCE", "HASH", "GLOBAL"};
    const struct graph *g = view->graph;
    json_t *nodes = json_array();

    for (uint32_t i = g->vertex_count; i-- > 0;) { /* sinks first, as Flink lists them */
        const struct graph_vertex *v = &g->vertices[i];
        json_t *node = json_pack("{s: s, s: s, s: i, s: s, s: o, s: {}}", "id", v->id, "operator",
                                 "", "parallelism", (int)v->parallelism, "operator_strategy", "",
                                 "description", html_escaped(v->name), "optimizer_properties");
        json_t *inputs = json_array();

        for (uint32_t e = 0; e < g->edge_count; e++)
            if (g->edges[e].to_vertex == i)
                json_array_append_new(
                    inputs,
                    json_pack("{s: i, s: s, s: s, s: s}", "num", (int)json_array_size(inputs), "id",
                              g->vertices[g->edges[e].from_vertex].id, "ship_strategy",
                              ship[g->edges[e].partitioning], "exchange", "pipelined_bounded"));
        if (json_array_size(inputs) > 0)
            json_object_set(node, "inputs", inputs);
        json_decref(inputs);
        json_array_append_new(nodes, node);
    }
    return json_pack("{s: s, s: o, s: s, s: o}", "jid", view->id, "name", text_json(view->name),
                     "type", "STREAMING", "nodes", nodes);
}

/* ---- one vertex
 * ----------------------------------------------------------------------------------- */

static const struct vertex_view *find_vertex(struct call *c, struct job_view *view)
{
    job_view(c->job, c->request->arena, view);
    for (uint32_t i = 0; i < view->vertex_count; i++)
        if (strcmp(view->vertices[i].id, c->param[1]) == 0)
            return &view->vertices[i];
    answer_error(c, 404, "Vertex %.100s not found", c->param[1]);
    return NULL;
}

static json_t *operators_json(const struct subtask_view *s)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < s->operator_count; i++) {
        const struct operator_view *o = &s->operators[i];
        const struct keyed_stats *k = &o->keyed;

        json_array_append_new(
            list, json_pack("{s: s, s: o, s: I, s: I, s: I, s: I, s: I, s: {s: I, s: I, s: I, s: "
                            "I, s: I, s: I}}",
                            "id", o->id, "name", text_json(o->name), "numRecordsIn",
                            (json_int_t)o->records_in, "numRecordsOut", (json_int_t)o->records_out,
                            "numLateRecordsDropped", (json_int_t)o->late_dropped, "numBadRows",
                            (json_int_t)o->bad_rows, "numNullFields", (json_int_t)o->null_fields,
                            "state", "entriesCached", (json_int_t)k->entries_cached, "cacheBytes",
                            (json_int_t)k->cache_bytes, "dirtyRows", (json_int_t)k->dirty_rows,
                            "liveSstBytes", (json_int_t)k->db_live_sst_bytes, "blockCacheBytes",
                            (json_int_t)k->block_cache_bytes, "writeBufferBytes",
                            (json_int_t)k->write_buffer_bytes));
    }
    return list;
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Sorts the values: there is at least one. */
static json_t *spread_json(int64_t *values, uint32_t n)
{
    int64_t sum = 0;

    qsort(values, n, sizeof *values, compare_values);
    for (uint32_t i = 0; i < n; i++)
        sum += values[i];
    return json_pack("{s: I, s: I, s: I, s: I, s: I, s: I, s: I, s: I}", "min",
                     (json_int_t)values[0], "max", (json_int_t)values[n - 1], "avg",
                     (json_int_t)(sum / n), "sum", (json_int_t)sum, "median",
                     (json_int_t)values[n / 2], "p25", (json_int_t)values[n / 4], "p75",
                     (json_int_t)values[n * 3 / 4], "p95",
                     (json_int_t)values[(uint32_t)((uint64_t)n * 95 / 100)]);
}

/* -1: not started. */
static int64_t duration_of(const struct subtask_view *s, int64_t now)
{
    return s->start_wall_ms <= 0 ? -1
                                 : (s->end_wall_ms > 0 ? s->end_wall_ms : now) - s->start_wall_ms;
}
static int64_t started_for(const struct subtask_view *s, int64_t now)
{
    int64_t duration = duration_of(s, now);

    return duration > 0 ? duration : 0;
}

/* Over the subtasks. Of the time in each state only that since the start is known: it counts as
 * RUNNING. */
static json_t *aggregated_json(struct call *c, const struct vertex_view *v, int64_t now)
{
    static const char *const names[] = {"read-bytes",
                                        "write-bytes",
                                        "read-records",
                                        "write-records",
                                        "accumulated-backpressured-time",
                                        "accumulated-idle-time",
                                        "accumulated-busy-time"};
    int64_t *values[ARRAY_LEN(names)],
        *durations = ARENA_ARRAY(c->request->arena, v->parallelism, int64_t);
    json_t *metrics = json_object();

    for (size_t m = 0; m < ARRAY_LEN(names); m++)
        values[m] = ARENA_ARRAY(c->request->arena, v->parallelism, int64_t);
    for (uint32_t i = 0; i < v->parallelism; i++) {
        struct io_sums io = {0};

        add_io(&v->subtasks[i], &io);
        values[0][i] = (int64_t)io.read_bytes;
        values[1][i] = (int64_t)io.write_bytes;
        values[2][i] = (int64_t)io.read_records;
        values[3][i] = (int64_t)io.write_records;
        values[4][i] = (int64_t)io.backpressured_ms;
        values[5][i] = (int64_t)io.idle_ms;
        values[6][i] = (int64_t)io.busy_ms;
        durations[i] = started_for(&v->subtasks[i], now);
    }
    for (size_t m = 0; m < ARRAY_LEN(names); m++)
        json_object_set_new(metrics, names[m], spread_json(values[m], v->parallelism));
    return json_pack("{s: o, s: {s: o}}", "metrics", metrics, "status-duration", "RUNNING",
                     spread_json(durations, v->parallelism));
}

/* Ours: which keys and key groups get most of the rows, by operator that keeps state by key. */
static json_t *hot_json(const struct vertex_view *v)
{
    json_t *list = json_array();

    for (uint32_t o = 0; o < v->subtasks[0].operator_count; o++) {
        struct hot_view hot;
        json_t *entry;

        vertex_hot_keys(v, o, &hot);
        if (hot.samples == 0)
            continue;
        entry = hot_view_json(&hot);
        json_object_set_new(entry, "id", json_string(v->subtasks[0].operators[o].id));
        json_object_set_new(entry, "name", text_json(v->subtasks[0].operators[o].name));
        json_array_append_new(list, entry);
    }
    return list;
}

void api_vertex(struct call *c)
{
    struct job_view view;
    const struct vertex_view *v = find_vertex(c, &view);
    int64_t now = clock_wall_ms(c->api->env->clock);
    json_t *subtasks;

    if (v == NULL)
        return;
    subtasks = json_array();
    for (uint32_t i = 0; i < v->parallelism; i++) {
        const struct subtask_view *s = &v->subtasks[i];
        struct io_sums io = {0};

        add_io(s, &io);
        json_array_append_new(
            subtasks,
            json_pack(
                "{s: i, s: s, s: i, s: s, s: I, s: I, s: I, s: o, s: s, s: {s: I}, s: I, s: o}",
                "subtask", (int)i, "status", task_state_str(s->state), "attempt", (int)s->attempt,
                "endpoint", "localhost", "start-time", (json_int_t)s->start_wall_ms, "end-time",
                (json_int_t)s->end_wall_ms, "duration", (json_int_t)duration_of(s, now), "metrics",
                io_json(&io), "taskmanager-id", "varve", "status-duration",
                task_state_str(s->state), (json_int_t)duration_of(s, now), "start_time",
                (json_int_t)s->start_wall_ms, "operators", operators_json(s)));
    }
    answer_json(c, 200,
                json_pack("{s: s, s: o, s: i, s: i, s: I, s: o, s: o, s: o}", "id", v->id, "name",
                          text_json(v->name), "parallelism", (int)v->parallelism, "maxParallelism",
                          (int)v->key_group_count, "now", (json_int_t)now, "subtasks", subtasks,
                          "aggregated", aggregated_json(c, v, now), "hot", hot_json(v)));
}

void api_vertex_subtask_times(struct call *c)
{
    struct job_view view;
    const struct vertex_view *v = find_vertex(c, &view);
    int64_t now = clock_wall_ms(c->api->env->clock);
    json_t *subtasks;

    if (v == NULL)
        return;
    subtasks = json_array();
    for (uint32_t i = 0; i < v->parallelism; i++) {
        const struct subtask_view *s = &v->subtasks[i];
        json_t *times = json_object();

        json_object_set_new(times, task_state_str(s->state),
                            json_integer(s->end_wall_ms > 0 ? s->end_wall_ms : s->start_wall_ms));
        json_array_append_new(
            subtasks,
            json_pack(
                "{s: i, s: s, s: I, s: o}", "subtask", (int)i, "endpoint", "localhost", "duration",
                (json_int_t)started_for(s, now),
                "timestamps", times));
    }
    answer_json(c, 200,
                json_pack("{s: s, s: o, s: I, s: o}", "id", v->id, "name", text_json(v->name),
                          "now", (json_int_t)now, "subtasks", subtasks));
}

void api_vertex_watermarks(struct call *c)
{
    struct job_view view;
    const struct vertex_view *v = find_vertex(c, &view);
    json_t *list;

    if (v == NULL)
        return;
    list = json_array();
    for (uint32_t i = 0; i < v->parallelism; i++) {
        const struct subtask_view *s = &v->subtasks[i];

        if (s->operator_count > 0)
            json_array_append_new(
                list,
                json_pack("{s: o, s: o}", "id", json_sprintf("%u.currentInputWatermark", i),
                          "value", json_sprintf("%lld", (long long)s->operators[0].watermark_ms)));
    }
    answer_json(c, 200, list);
}

void api_vertex_backpressure(struct call *c)
{
    struct job_view view;
    const struct vertex_view *v = find_vertex(c, &view);
    double worst = 0;
    json_t *subtasks;
    const char *level;

    if (v == NULL)
        return;
    subtasks = json_array();
    for (uint32_t i = 0; i < v->parallelism; i++) {
        const struct subtask_view *s = &v->subtasks[i];
        double all = (double)(s->busy_ms + s->idle_ms + s->backpressured_ms);
        double ratio = all > 0 ? (double)s->backpressured_ms / all : 0;

        level = ratio <= 0.1 ? "ok" : ratio <= 0.5 ? "low" : "high";
        worst = ratio > worst ? ratio : worst;
        json_array_append_new(
            subtasks, json_pack("{s: i, s: s, s: s, s: f, s: f, s: f}", "subtask", (int)i,
                                "backpressureLevel", level, "backpressure-level", level, "ratio",
                                ratio, "idleRatio", all > 0 ? (double)s->idle_ms / all : 0.0,
                                "busyRatio", all > 0 ? (double)s->busy_ms / all : 0.0));
    }
    level = worst <= 0.1 ? "ok" : worst <= 0.5 ? "low" : "high";
    answer_json(c, 200,
                json_pack("{s: s, s: s, s: s, s: I, s: o}", "status", "ok", "backpressureLevel",
                          level, "backpressure-level", level, "end-timestamp",
                          (json_int_t)clock_wall_ms(c->api->env->clock), "subtasks", subtasks));
}
