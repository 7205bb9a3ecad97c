/* progress.c - see progress.h */
#include "job/cli/progress.h"

#include "job/cli/meter.h"
#include "job/rest/row_json.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define TERMINAL_INTERVAL_MS 200
#define PLAIN_INTERVAL_MS 1000

struct progress {
    const struct cli *cli;
    struct dispatcher *dispatcher;
    struct arena *arena;
    int64_t start_mono_ns, last_mono_ns;
    uint64_t last_rows, last_backpressured_ms, last_all_ms;
    bool shown;
};

/* ---- sums
 * ----------------------------------------------------------------------------------------- */

static bool has_output(const struct graph *g, uint32_t vertex)
{
    for (uint32_t e = 0; e < g->edge_count; e++)
        if (g->edges[e].from_vertex == vertex)
            return true;
    return false;
}

static void add_vertex(const struct job_view *v, uint32_t index, struct job_totals *t)
{
    const struct vertex_view *vertex = &v->vertices[index];
    const struct graph_vertex *g = &v->graph->vertices[index];
    bool sink = !has_output(v->graph, index);

    for (uint32_t i = 0; i < vertex->parallelism; i++) {
        const struct subtask_view *s = &vertex->subtasks[i];

        for (uint32_t o = 0; o < s->operator_count; o++) {
            t->bad_rows += s->operators[o].bad_rows;
            t->null_fields += s->operators[o].null_fields;
            t->late_dropped += s->operators[o].late_dropped;
            if (g->operators[o].is_source)
                t->rows_in += s->operators[o].records_out;
        }
        if (sink && s->operator_count > 0)
            t->rows_out += s->operators[s->operator_count - 1].records_in;
        if (s->backpressured_ms >= t->backpressured_ms) {
            t->backpressured_ms = s->backpressured_ms;
            t->busy_ms = s->busy_ms;
            t->idle_ms = s->idle_ms;
        }
    }
}

void job_totals_of(const struct job_view *v, struct job_totals *out)
{
    *out = (struct job_totals){0};
    for (uint32_t i = 0; i < v->vertex_count; i++)
        add_vertex(v, i, out);
}

/* ---- the line
 * ------------------------------------------------------------------------------------- */

struct progress *progress_new(const struct cli *cli, struct dispatcher *dispatcher)
{
    struct progress *p = mem_calloc(1, sizeof *p);

    p->cli = cli;
    p->dispatcher = dispatcher;
    p->arena = arena_new(0);
    p->start_mono_ns = p->last_mono_ns = clock_mono_ns(cli->env.clock);
    return p;
}

struct shown_sums {
    size_t running, ended;
    struct job_totals totals;
    uint32_t restarts;
    const char *name, *state;             /* of one job */
    const struct checkpoint_detail *last; /* newest completed */
    uint64_t failed_checkpoints;
};

static void add_job(struct progress *p, struct job *job, struct shown_sums *s)
{
    struct checkpoint_stats c = {0};
    struct job_view v;
    struct job_totals t;

    job_view(job, p->arena, &v);
    job_checkpoint_stats(job, p->arena, &c);
    job_totals_of(&v, &t);
    if (job_state_is_final(v.state))
        s->ended++;
    else
        s->running++;
    s->name = v.name;
    s->state = job_state_str(v.state);
    s->restarts += v.restarts;
    s->failed_checkpoints += c.failed_count;
    s->totals.rows_in += t.rows_in;
    s->totals.rows_out += t.rows_out;
    s->totals.bad_rows += t.bad_rows;
    s->totals.late_dropped += t.late_dropped;
    s->totals.busy_ms += t.busy_ms;
    s->totals.idle_ms += t.idle_ms;
    s->totals.backpressured_ms += t.backpressured_ms;
    if (c.latest_completed != NULL &&
        (s->last == NULL || c.latest_completed->latest_ack_wall_ms > s->last->latest_ack_wall_ms))
        s->last = c.latest_completed;
}

static void line_of(struct progress *p, const struct shown_sums *s, int64_t now, struct buf *out)
{
    char n[CLI_NUMBER_MAX], size[CLI_NUMBER_MAX];
    double seconds = (double)(now - p->last_mono_ns) / NS_PER_S;
    uint64_t rows = s->totals.rows_in,
             all = s->totals.busy_ms + s->totals.idle_ms + s->totals.backpressured_ms;
    uint64_t rate = rows > p->last_rows && seconds > 0
                        ? (uint64_t)((double)(rows - p->last_rows) / seconds)
                        : 0;

    if (s->running + s->ended == 1)
        buf_printf(out, "%.40s %s", s->name, s->state);
    else
        buf_printf(out, "%zu jobs running, %zu ended", s->running, s->ended);
    buf_printf(out, " | %s", cli_duration_text((now - p->start_mono_ns) / NS_PER_MS, n));
    buf_printf(out, " | in %s", cli_count_text(rows, n));
    buf_printf(out, " (%s/s)", cli_count_text(rate, n));
    buf_printf(out, " out %s", cli_count_text(s->totals.rows_out, n));
    if (s->last != NULL)
        buf_printf(out, " | checkpoint %llu %s %s", (unsigned long long)s->last->id,
                   cli_duration_text(s->last->end_to_end_ms, n),
                   cli_size_text(s->last->state_bytes, size));
    if (s->failed_checkpoints > 0)
        buf_printf(out, " (%llu failed)", (unsigned long long)s->failed_checkpoints);
    if (s->restarts > 0)
        buf_printf(out, " | restarts %u", s->restarts);
    if (all > p->last_all_ms && s->totals.backpressured_ms >= p->last_backpressured_ms)
        buf_printf(out, " | backpressure %llu%%",
                   (unsigned long long)((s->totals.backpressured_ms - p->last_backpressured_ms) *
                                        100 / (all - p->last_all_ms)));
    if (s->totals.bad_rows > 0)
        buf_printf(out, " | bad rows %s", cli_count_text(s->totals.bad_rows, n));
    if (s->totals.late_dropped > 0)
        buf_printf(out, " | late rows %s", cli_count_text(s->totals.late_dropped, n));
    p->last_rows = rows;
    p->last_all_ms = all;
    p->last_backpressured_ms = s->totals.backpressured_ms;
}

static void show(struct progress *p, struct buf *line)
{
    fflush(stdout);
    if (p->cli->err_tty) {
        size_t width = meter_terminal_width() - 1;

        if (line->len > width)
            line->len = width;
        /* The cursor goes back to the start, so that whatever is written next takes the line's
         * place. */
        fprintf(stderr, "\r%s\033[K\r", buf_cstr(line));
        p->shown = true;
    } else {
        fprintf(stderr, "%s\n", buf_cstr(line));
    }
    fflush(stderr);
}

void progress_tick(struct progress *p)
{
    int64_t now = clock_mono_ns(p->cli->env.clock);
    struct job *jobs[DISPATCHER_JOBS_MAX];
    struct shown_sums s = {0};
    struct buf line = {0};
    size_t n;

    if (p->cli->quiet ||
        now - p->last_mono_ns <
            (p->cli->err_tty ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS) * NS_PER_MS)
        return;
    n = dispatcher_list(p->dispatcher, jobs, DISPATCHER_JOBS_MAX);
    arena_reset(p->arena);
    for (size_t i = 0; i < n; i++) {
        add_job(p, jobs[i], &s);
        dispatcher_release(p->dispatcher, jobs[i]);
    }
    if (s.running > 0) {
        line_of(p, &s, now, &line);
        show(p, &line);
        buf_release(&line);
    }
    p->last_mono_ns = now;
}

void progress_clear(struct progress *p)
{
    if (!p->shown)
        return;
    fputs("\033[K", stderr);
    fflush(stderr);
    p->shown = false;
}

void progress_free(struct progress *p)
{
    if (p == NULL)
        return;
    progress_clear(p);
    arena_free(p->arena);
    mem_free(p);
}

/* ---- the report
 * ----------------------------------------------------------------------------------- */

/* The savepoint of a stop, unless the job went on from something else since. */
static bool ends_in_stop(const struct checkpoint_stats *c)
{
    const struct checkpoint_detail *s = c->latest_savepoint;

    return s != NULL && s->external_path != NULL && checkpoint_kind_is_sync(s->kind) &&
           (c->latest_completed == NULL || c->latest_completed->id < s->id) &&
           !(c->restored && c->restored_id < s->id && c->restored_wall_ms > s->latest_ack_wall_ms);
}

void job_resume_path(struct job *job, char out[FS_PATH_MAX])
{
    struct arena *a = arena_new(0);
    struct checkpoint_stats c = {0};
    const char *path = NULL;

    job_checkpoint_stats(job, a, &c);
    if (ends_in_stop(&c))
        path = c.latest_savepoint->external_path;
    else if (c.latest_completed != NULL && c.latest_completed->external_path != NULL &&
             !c.latest_completed->discarded)
        path = c.latest_completed->external_path;
    else if (c.restored)
        path = c.restored_path;
    snprintf(out, FS_PATH_MAX, "%s", path != NULL ? path : "");
    arena_free(a);
}

static uint64_t memory_peak_bytes(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss * 1024 : 0;
}

/* One line for each operator that met something odd, added over its subtasks. */
static void say_oddities(const struct cli *cli, const struct job_view *v)
{
    char n[CLI_NUMBER_MAX], m[CLI_NUMBER_MAX];

    for (uint32_t i = 0; i < v->vertex_count; i++) {
        const struct vertex_view *vertex = &v->vertices[i];

        for (uint32_t o = 0; vertex->parallelism > 0 && o < vertex->subtasks[0].operator_count;
             o++) {
            uint64_t bad = 0, nulled = 0, late = 0;

            for (uint32_t k = 0; k < vertex->parallelism; k++) {
                bad += vertex->subtasks[k].operators[o].bad_rows;
                nulled += vertex->subtasks[k].operators[o].null_fields;
                late += vertex->subtasks[k].operators[o].late_dropped;
            }
            if (bad > 0 || nulled > 0)
                cli_say(cli, "  bad input    %s rows skipped, %s fields taken as null: %s",
                        cli_count_text(bad, n), cli_count_text(nulled, m),
                        vertex->subtasks[0].operators[o].name);
            if (late > 0)
                cli_say(cli, "  late         %s rows dropped: %s", cli_count_text(late, n),
                        vertex->subtasks[0].operators[o].name);
        }
    }
}

/* A key or a key group that gets far more rows than others: it bounds how well the job divides (B43). */
static void say_hot(const struct cli *cli, const struct job_view *v)
{
    for (uint32_t i = 0; i < v->vertex_count; i++) {
        const struct vertex_view *vertex = &v->vertices[i];

        for (uint32_t o = 0; vertex->parallelism > 0 && o < vertex->subtasks[0].operator_count;
             o++) {
            const char *name = vertex->subtasks[0].operators[o].name;
            const struct hot_group *g;
            const struct hot_key *k;
            struct hot_view hot;

            vertex_hot_keys(vertex, o, &hot);
            k = hot_view_key(&hot);
            g = hot_view_group(&hot, vertex->key_group_count);
            if (k != NULL)
                cli_say(cli, "  hottest key  %s with %.0f%% of the rows: %s", k->text,
                        100 * k->share, name);
            if (g != NULL)
                cli_say(cli,
                        "  hot group    key group %u with %.0f%% of the rows, %.1f%% would be even: %s",
                        g->group, 100 * g->share, 100.0 / vertex->key_group_count, name);
        }
    }
}

static json_t *hot_json(const struct job_view *v)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < v->vertex_count; i++) {
        const struct vertex_view *vertex = &v->vertices[i];

        for (uint32_t o = 0; vertex->parallelism > 0 && o < vertex->subtasks[0].operator_count;
             o++) {
            struct hot_view hot;
            json_t *entry;

            vertex_hot_keys(vertex, o, &hot);
            if (hot.samples == 0)
                continue;
            entry = hot_view_json(&hot);
            json_object_set_new(entry, "name", text_json(vertex->subtasks[0].operators[o].name));
            json_array_append_new(list, entry);
        }
    }
    return list;
}

/* What each part of the one number took at most, of what it may take. */
static void say_memory(const struct cli *cli, const struct keyed_memory_stats *m)
{
    struct buf line = {0};
    char a[CLI_NUMBER_MAX], b[CLI_NUMBER_MAX];

    for (int p = 0; p < MEMORY_PARTS; p++)
        buf_printf(&line, "%s%s %s of %s", p == 0 ? "" : ", ", memory_part_name((enum memory_part)p),
                   cli_size_text(m->parts[p].peak, a), cli_size_text(m->parts[p].configured, b));
    cli_say(cli, "  keyed state  at most: %s", buf_cstr(&line));
    buf_release(&line);
}

static json_t *memory_json(const struct job_view *v)
{
    json_t *parts = json_object();

    if (!v->memory_limited) {
        json_decref(parts);
        return json_null();
    }
    for (int p = 0; p < MEMORY_PARTS; p++)
        json_object_set_new(parts, memory_part_name((enum memory_part)p),
                            json_pack("{s: I, s: I}", "configured",
                                      (json_int_t)v->memory.parts[p].configured, "peak",
                                      (json_int_t)v->memory.parts[p].peak));
    return parts;
}

static const char *state_colour(const struct cli *cli, enum job_state s)
{
    if (!cli->colour)
        return "";
    return s == JOB_FINISHED ? "\033[32m" : s == JOB_FAILED ? "\033[31m" : "\033[33m";
}

static void say_report(const struct cli *cli, const struct job_view *v, const struct job_totals *t,
                       const struct checkpoint_stats *c, const char *failure)
{
    int64_t ms = v->end_wall_ms > v->start_wall_ms ? v->end_wall_ms - v->start_wall_ms : 0;
    char a[CLI_NUMBER_MAX], b[CLI_NUMBER_MAX], d[CLI_NUMBER_MAX];

    cli_say(cli, "job %s (%s): %s%s%s after %s", v->name, v->id, state_colour(cli, v->state),
            job_state_str(v->state), cli->colour ? "\033[0m" : "", cli_duration_text(ms, a));
    cli_say(cli, "  rows         %s in, %s out, %s in a second", cli_count_text(t->rows_in, a),
            cli_count_text(t->rows_out, b),
            cli_count_text(ms > 0 ? t->rows_in * 1000 / (uint64_t)ms : t->rows_in, d));
    say_oddities(cli, v);
    say_hot(cli, v);
    if (c->total_count > 0)
        cli_say(cli, "  checkpoints  %llu completed, %llu failed",
                (unsigned long long)c->completed_count, (unsigned long long)c->failed_count);
    if (c->latest_completed != NULL && c->latest_completed->external_path != NULL)
        cli_say(cli, "  last         %s (%s, %s)%s", c->latest_completed->external_path,
                cli_size_text(c->latest_completed->state_bytes, a),
                cli_duration_text(c->latest_completed->end_to_end_ms, b),
                c->latest_completed->discarded ? ", deleted" : "");
    if (c->latest_savepoint != NULL && c->latest_savepoint->external_path != NULL)
        cli_say(cli, "  savepoint    %s", c->latest_savepoint->external_path);
    if (c->latest_failed != NULL && c->latest_failed->failure_message != NULL)
        cli_say(cli, "  last failed  checkpoint %llu: %s", (unsigned long long)c->latest_failed->id,
                c->latest_failed->failure_message);
    if (v->restarts > 0)
        cli_say(cli, "  restarts     %u; rows are counted since the last", v->restarts);
    cli_say(cli, "  memory       %s at most, this process", cli_size_text(memory_peak_bytes(), a));
    if (v->memory_limited)
        say_memory(cli, &v->memory);
    if (failure[0] != '\0')
        cli_error(cli, EXIT_WRONG, "job %s failed: %s", v->name, failure);
}

static json_t *text_or_null(const char *s)
{
    return s != NULL ? text_json(s) : json_null();
}

static void print_report(const struct job_view *v, const struct job_totals *t,
                         const struct checkpoint_stats *c, const char *failure)
{
    cli_print_json(json_pack(
        "{s: s, s: o, s: s, s: I, s: I, s: I, s: I, s: I, s: I, s: i, s: I, s: I, s: o, s: o, s: "
        "I, s: o, s: o, s: o}",
        "jid", v->id, "name", text_json(v->name), "state", job_state_str(v->state), "duration",
        (json_int_t)(v->end_wall_ms - v->start_wall_ms), "rows-in", (json_int_t)t->rows_in,
        "rows-out", (json_int_t)t->rows_out, "bad-rows", (json_int_t)t->bad_rows, "null-fields",
        (json_int_t)t->null_fields, "late-rows", (json_int_t)t->late_dropped, "restarts",
        (int)v->restarts, "checkpoints-completed", (json_int_t)c->completed_count,
        "checkpoints-failed", (json_int_t)c->failed_count, "last-checkpoint",
        text_or_null(c->latest_completed != NULL && !c->latest_completed->discarded
                         ? c->latest_completed->external_path
                         : NULL),
        "last-savepoint",
        text_or_null(c->latest_savepoint != NULL ? c->latest_savepoint->external_path : NULL),
        "memory-peak", (json_int_t)memory_peak_bytes(), "memory-parts", memory_json(v), "hot",
        hot_json(v), "failure",
        failure[0] != '\0' ? text_json(failure) : json_null()));
}

void report_job(const struct cli *cli, struct job *job)
{
    struct arena *a = arena_new(0);
    struct checkpoint_stats c = {0};
    struct job_totals t;
    struct job_view v;
    struct err failure = {0};

    job_view(job, a, &v);
    job_checkpoint_stats(job, a, &c);
    job_totals_of(&v, &t);
    if (v.state == JOB_FAILED)
        job_failure(job, &failure);
    if (cli->json) {
        print_report(&v, &t, &c, failure.msg);
        if (failure.msg[0] != '\0')
            cli_error(cli, EXIT_WRONG, "job %s failed: %s", v.name, failure.msg);
    } else {
        say_report(cli, &v, &t, &c, failure.msg);
    }
    arena_free(a);
}
