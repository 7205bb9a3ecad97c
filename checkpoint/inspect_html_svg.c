/* inspect_html_svg.c - the drawings of inspect's page: what each checkpoint took, and how long
 * shared files live in them. Both are cut to what an eye can use, and say so. */
#include "base/arena.h"
#include "checkpoint/inspect_priv.h"
#include "checkpoint/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX INSPECT_TEXT_MAX

/* ---- sizes and durations -------------------------------------------------------------------- */

#define COLUMNS_MAX 480u
#define CHART_WIDTH 960.0
#define CHART_LEFT 80.0
#define PANEL_HEIGHT 130.0

/* One or several checkpoints: the largest of each. */
struct column {
    uint64_t first_id, last_id;
    uint64_t full_bytes, new_bytes, duration_ms;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* *per: checkpoints in each. Freed by the caller. */
static struct column *make_columns(const struct job_dir_view *job, size_t *count, size_t *per)
{
    struct column *columns = mem_calloc(COLUMNS_MAX + 1, sizeof *columns);
    size_t readable = 0, at = 0;

    for (size_t i = 0; i < job->snapshot_count; i++)
        readable += job->snapshots[i].readable;
    *per = (readable + COLUMNS_MAX - 1) / COLUMNS_MAX;
    for (size_t i = 0; i < job->snapshot_count; i++) {
        const struct snapshot_view *v = &job->snapshots[i];
        int64_t took_ms = inspect_ms_between(v->trigger_wall_ms, v->completed_wall_ms);
        struct column *c;

        if (!v->readable)
            continue;
        c = &columns[at++ / *per];
        if (c->first_id == 0)
            c->first_id = v->checkpoint_id;
        c->last_id = v->checkpoint_id;
        c->full_bytes = larger(c->full_bytes, v->sizes.full_bytes);
        c->new_bytes = larger(c->new_bytes, v->sizes.new_bytes);
        c->duration_ms = larger(c->duration_ms, took_ms > 0 ? (uint64_t)took_ms : 0);
    }
    *count = *per == 0 ? 0 : (at + *per - 1) / *per;
    return columns;
}

static void print_bar(double x, double width, double height, const char *colour,
                      const struct column *c, const char *text, struct buf *out)
{
    buf_printf(out,
               "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"var(--%s)\">"
               "<title>",
               x, PANEL_HEIGHT - height, width, height, colour);
    if (c->first_id == c->last_id)
        buf_printf(out, "%" PRIu64 ": %s</title></rect>\n", c->first_id, text);
    else
        buf_printf(out, "%" PRIu64 " to %" PRIu64 ": %s at most</title></rect>\n", c->first_id,
                   c->last_id, text);
}

static double scaled(uint64_t value, uint64_t max)
{
    return max == 0 ? 0 : (double)value / (double)max * (PANEL_HEIGHT - 16);
}

static void panel_begin(const char *what, const char *max, const struct column *columns,
                        size_t count, struct buf *out)
{
    buf_printf(out,
               "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" role=\"img\" aria-label=\"%s\">\n"
               "<text x=\"%.0f\" y=\"22\" text-anchor=\"end\">%s</text>"
               "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">0</text>"
               "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--line)\"/>\n",
               CHART_WIDTH, PANEL_HEIGHT + 20, CHART_WIDTH, what, CHART_LEFT - 6, max,
               CHART_LEFT - 6, PANEL_HEIGHT, CHART_LEFT, CHART_WIDTH, PANEL_HEIGHT, PANEL_HEIGHT);
    buf_printf(out,
               "<text x=\"%.0f\" y=\"%.0f\">%" PRIu64 "</text>"
               "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%" PRIu64 "</text>\n",
               CHART_LEFT, PANEL_HEIGHT + 15, columns[0].first_id, CHART_WIDTH, PANEL_HEIGHT + 15,
               columns[count - 1].last_id);
}

static void print_sizes(const struct column *columns, size_t count, double step, struct buf *out)
{
    char full[TEXT_MAX], new[TEXT_MAX];
    uint64_t max = 0;

    for (size_t i = 0; i < count; i++)
        max = larger(max, larger(columns[i].full_bytes, columns[i].new_bytes));
    panel_begin("sizes", inspect_size_text(max, full), columns, count, out);
    for (size_t i = 0; i < count; i++) {
        const struct column *c = &columns[i];
        double x = CHART_LEFT + step * (double)i, wide = step * 0.8;

        print_bar(x, wide, scaled(c->full_bytes, max), "full", c,
                  inspect_size_text(c->full_bytes, full), out);
        print_bar(x, wide, scaled(c->new_bytes, max), "new", c,
                  inspect_size_text(c->new_bytes, new), out);
    }
    buf_append_str(out, "</svg>\n");
}

static void print_durations(const struct column *columns, size_t count, double step,
                            struct buf *out)
{
    char text[TEXT_MAX];
    uint64_t max = 0;

    for (size_t i = 0; i < count; i++)
        max = larger(max, columns[i].duration_ms);
    snprintf(text, sizeof text, "%" PRIu64 " ms", max);
    panel_begin("durations", text, columns, count, out);
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%" PRIu64 " ms", columns[i].duration_ms);
        print_bar(CHART_LEFT + step * (double)i, step * 0.8, scaled(columns[i].duration_ms, max),
                  "time", &columns[i], text, out);
    }
    buf_append_str(out, "</svg>\n");
}

void html_chart(const struct job_dir_view *job, struct buf *out)
{
    size_t count, per;
    struct column *columns = make_columns(job, &count, &per);
    double step = count == 0 ? 0 : (CHART_WIDTH - CHART_LEFT) / (double)count;

    if (step > 40)
        step = 40;
    if (count > 0) {
        buf_append_str(out, "<h3>Size <span style=\"color:var(--full)\">full</span>, "
                            "<span style=\"color:var(--new)\">new</span>, and "
                            "<span style=\"color:var(--time)\">duration</span></h3>\n");
        print_sizes(columns, count, step, out);
        print_durations(columns, count, step, out);
    }
    if (per > 1)
        buf_printf(out, "<p class=dim>Each bar is the largest of %zu checkpoints.</p>\n", per);
    mem_free(columns);
}

/* ---- shared files --------------------------------------------------------------------------- */

#define USERS_MAX 64u /* newest checkpoints; bits of a word */
#define FILES_MAX 500u
#define USE_WIDTH 8u

struct use {
    const struct shared_file *file;
    uint64_t users; /* bit i: the i-th of the checkpoints shown */
};
struct usage {
    const struct job_dir_view *job;
    const struct snapshot_view *snapshots[USERS_MAX]; /* ascending */
    size_t snapshot_count, readable_count;
    uint64_t *users; /* of each entry of the table */
    size_t at;       /* being read */
};

static enum rc note_use(void *ctx, const struct operator_meta *op UNUSED,
                        const struct subtask_state *subtask UNUSED, struct state_file *file,
                        struct err *err UNUSED)
{
    struct usage *u = ctx;
    const struct shared_files *t = &u->job->orphans.shared;
    const struct shared_file *f;

    if (file->scope != FILE_SHARED)
        return RC_OK;
    f = shared_files_find(t, file->digest);
    if (f != NULL)
        u->users[f - t->items] |= UINT64_C(1) << u->at;
    return RC_OK;
}

static void read_usage(struct inspect *in, struct usage *u)
{
    const struct job_dir_view *job = u->job;
    size_t skip, seen = 0;

    for (size_t i = 0; i < job->snapshot_count; i++)
        u->readable_count += job->snapshots[i].readable;
    skip = u->readable_count > USERS_MAX ? u->readable_count - USERS_MAX : 0;
    for (size_t i = 0; i < job->snapshot_count; i++)
        if (job->snapshots[i].readable && seen++ >= skip)
            u->snapshots[u->snapshot_count++] = &job->snapshots[i];
    for (u->at = 0; u->at < u->snapshot_count; u->at++) {
        const struct checkpoint_metadata *meta = inspect_reread(in, u->snapshots[u->at]);
        enum rc rc UNUSED;

        if (meta != NULL)
            rc = metadata_each_file(meta, note_use, u, NULL);
    }
}

static int by_size(const void *a, const void *b)
{
    const struct use *x = a, *y = b;

    if (x->file->size_bytes != y->file->size_bytes)
        return x->file->size_bytes < y->file->size_bytes ? 1 : -1;
    return memcmp(x->file->digest.b, y->file->digest.b, sizeof x->file->digest.b);
}

/* Those of the oldest checkpoints first, as sediment lies the other way up. */
static int by_users(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    int first_x = __builtin_ctzll(x->users), first_y = __builtin_ctzll(y->users);

    if (first_x != first_y)
        return first_x < first_y ? -1 : 1;
    return by_size(a, b);
}

static bool used(const struct use *use, const struct usage *u, size_t i)
{
    return i < u->snapshot_count && (use->users >> i & 1) != 0;
}

/* "12..15, 17", and a bar for each run. */
static void print_use(const struct use *use, const struct usage *u, struct buf *out)
{
    char hex[DIGEST_HEX_LEN + 1], size[TEXT_MAX];
    struct buf runs = {0}, bars = {0};

    for (size_t i = 0, last; i < u->snapshot_count; i = last + 1) {
        last = i;
        if (!used(use, u, i))
            continue;
        while (used(use, u, last + 1))
            last++;
        buf_printf(&runs, "%s%" PRIu64, runs.len == 0 ? "" : ", ", u->snapshots[i]->checkpoint_id);
        if (last > i)
            buf_printf(&runs, "..%" PRIu64, u->snapshots[last]->checkpoint_id);
        buf_printf(&bars, "<rect x=\"%zu\" y=\"3\" width=\"%zu\" height=\"9\"/>", i * USE_WIDTH,
                   (last - i + 1) * USE_WIDTH - 1);
    }
    digest_hex(use->file->digest, hex);
    buf_printf(out,
               "<tr><td><code title=\"%s.sst\">%.8s</code></td><td class=n>%s</td><td%s</td>"
               "<td>%s</td><td><svg width=\"%zu\" height=\"14\" fill=\"var(--use)\">%s</svg></td>"
               "</tr>\n",
               hex, hex, inspect_size_text(use->file->size_bytes, size),
               use->file->present ? ">" : " class=bad>missing", buf_cstr(&runs),
               u->snapshot_count * USE_WIDTH, buf_cstr(&bars));
    buf_release(&runs);
    buf_release(&bars);
}

static void print_uses(const struct usage *u, struct use *uses, size_t count, struct buf *out)
{
    size_t shown = count < FILES_MAX ? count : FILES_MAX;
    uint64_t left_bytes = 0;
    char size[TEXT_MAX];

    qsort(uses, count, sizeof *uses, by_size);
    for (size_t i = shown; i < count; i++)
        left_bytes += uses[i].file->size_bytes;
    qsort(uses, shown, sizeof *uses, by_users);
    buf_append_str(out, "<h3>Which checkpoint uses which shared file</h3>\n<p class=dim>");
    if (u->readable_count > u->snapshot_count)
        buf_printf(out, "Of the newest %zu of %zu checkpoints. ", u->snapshot_count,
                   u->readable_count);
    if (count > shown)
        buf_printf(out, "The %zu largest files; %zu smaller ones, %s, are not shown. ", shown,
                   count - shown, inspect_size_text(left_bytes, size));
    buf_append_str(out, "A file's full name is what its short one shows when pointed at.</p>\n"
                        "<div class=wide><table><tr><th>file<th class=n>size<th><th>used by<th>");
    buf_printf(out, "%" PRIu64 " to %" PRIu64 "</tr>\n", u->snapshots[0]->checkpoint_id,
               u->snapshots[u->snapshot_count - 1]->checkpoint_id);
    for (size_t i = 0; i < shown; i++)
        print_use(&uses[i], u, out);
    buf_append_str(out, "</table></div>\n");
}

void html_shared(struct inspect *in, const struct job_dir_view *job, struct buf *out)
{
    const struct shared_files *t = &job->orphans.shared;
    struct usage u = {.job = job, .users = mem_calloc(t->count + 1, sizeof *u.users)};
    struct use *uses = mem_calloc(t->count + 1, sizeof *uses);
    size_t count = 0;

    read_usage(in, &u);
    for (size_t i = 0; i < t->count; i++)
        if (u.users[i] != 0)
            uses[count++] = (struct use){&t->items[i], u.users[i]};
    if (count > 0)
        print_uses(&u, uses, count, out);
    mem_free(uses);
    mem_free(u.users);
}
