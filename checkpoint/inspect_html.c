/* inspect_html.c - the report as one page that needs nothing else: no script, no file, no network.
 *
 * Tables are cut at a number of lines, and say so: a browser is to open the page of any directory.
 * Every text that came from a file goes through html_text. The charts are inspect_html_svg.c's. */
#include "base/utf8.h"
#include "checkpoint/flink/flink_inventory.h"
#include "checkpoint/inspect_priv.h"
#include "checkpoint/snapshot_list.h"

#include <inttypes.h>

#define ROWS_MAX 1000u    /* of checkpoints, newest first */
#define ITEMS_MAX 200u    /* positions and parts of an operator */
#define ORPHANS_MAX 200u
#define TEXT_MAX INSPECT_TEXT_MAX

static const char STYLE[] =
    "<style>\n"
    ":root{color-scheme:light dark;--fg:#1c1e21;--bg:#fcfcfb;--dim:#6a6f76;--line:#d9dbde;"
    "--bad:#b3261e;--full:#3b6ea8;--new:#d08c2e;--time:#5b8c5a;--use:#3b6ea8}\n"
    "@media(prefers-color-scheme:dark){:root{--fg:#e4e6e8;--bg:#17191c;--dim:#9aa0a6;"
    "--line:#34383d;--bad:#f2837a;--full:#7fb0e6;--new:#e6b366;--time:#8fc28e;--use:#7fb0e6}}\n"
    "body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1200px;padding:0 1em;"
    "color:var(--fg);background:var(--bg)}\n"
    "h1{font-size:1.3em;overflow-wrap:anywhere}h2{font-size:1.15em;margin-top:2em;"
    "border-top:1px solid var(--line);padding-top:1em;overflow-wrap:anywhere}h3{font-size:1em}\n"
    "table{border-collapse:collapse}th,td{padding:.15em .7em .15em 0;text-align:left;"
    "vertical-align:top;border-bottom:1px solid var(--line)}th{color:var(--dim);"
    "font-weight:normal}\n"
    ".n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    ".dim{color:var(--dim)}.bad{color:var(--bad)}\n"
    "code,pre{font:12px/1.4 ui-monospace,monospace}pre{white-space:pre-wrap;"
    "overflow-wrap:anywhere}td code{overflow-wrap:anywhere}\n"
    ".wide{overflow-x:auto}svg{max-width:100%;height:auto}svg text{fill:var(--dim);"
    "font:11px system-ui,sans-serif}\n"
    "</style>\n";

void html_text(const char *s, struct buf *out)
{
    struct bytes text = bytes_of_str(s);

    for (size_t at = 0; at < text.len;) {
        uint32_t code;
        size_t len = utf8_next(text, at, &code);
        uint8_t utf8[4];

        if (code == '&')
            buf_append_str(out, "&amp;");
        else if (code == '<')
            buf_append_str(out, "&lt;");
        else if (code == '>')
            buf_append_str(out, "&gt;");
        else if (code == '"')
            buf_append_str(out, "&quot;");
        else if (code == '\'')
            buf_append_str(out, "&#39;");
        else if ((code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0))
            buf_append_str(out, "\xef\xbf\xbd");
        else
            buf_append(out, utf8, utf8_put(code, utf8));
        at += len;
    }
}

static void cell(const char *tag, const char *s, struct buf *out)
{
    buf_printf(out, "<td><%s>", tag);
    html_text(s, out);
    buf_printf(out, "</%s></td>", tag);
}

static void size_cell(uint64_t bytes, struct buf *out)
{
    char size[TEXT_MAX];

    buf_printf(out, "<td class=n title=\"%" PRIu64 " bytes\">%s</td>", bytes,
               inspect_size_text(bytes, size));
}

/* ---- inside of a snapshot ------------------------------------------------------------------- */

static void print_item(const struct inspect *in, const struct list_state *l, struct bytes item,
                       struct buf *out)
{
    json_t *described =
        in->options->describe == NULL ? NULL : in->options->describe(l->name, item);
    struct buf text = {0};

    if (described != NULL)
        inspect_print_item(described, &text);
    else
        buf_append_escaped(&text, item, 100);
    buf_append_str(out, "<li><code>");
    html_text(buf_cstr(&text), out);
    buf_append_str(out, "</code></li>\n");
    buf_release(&text);
    json_decref(described);
}

static void print_lists(const struct inspect *in, const struct operator_meta *op, struct buf *out)
{
    size_t shown = 0;

    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t l = 0; l < op->subtasks[s].list_count; l++) {
            const struct list_state *list = &op->subtasks[s].lists[l];

            buf_printf(out, "<div>subtask %" PRIu32 ", list <code>", op->subtasks[s].subtask_index);
            html_text(list->name, out);
            buf_printf(out, "</code>, %s, %zu items<ul>\n", list_mode_str(list->mode),
                       list->item_count);
            for (size_t i = 0; i < list->item_count && shown < ITEMS_MAX; i++, shown++)
                print_item(in, list, list->items[i], out);
            buf_append_str(out, "</ul></div>\n");
        }
    if (shown == ITEMS_MAX)
        buf_printf(out, "<div class=dim>of this operator the first %u items are shown</div>\n",
                   ITEMS_MAX);
}

static void print_states(const struct operator_meta *op, struct buf *out)
{
    const struct keyed_handle *h = operator_states(op);

    for (size_t i = 0; h != NULL && i < h->state_count; i++) {
        const struct state_desc *d = &h->states[i];

        buf_append_str(out, "<div>state <code>");
        html_text(d->name, out);
        buf_printf(out, "</code>: %s, key <code>", state_kind_str(d->kind));
        html_text(d->key_type, out);
        buf_append_str(out, "</code>, value <code>");
        html_text(d->value_type, out);
        buf_append_str(out, "</code>");
        if (d->ttl_ms > 0)
            buf_printf(out, ", time-to-live %" PRIu64 " ms", d->ttl_ms);
        buf_append_str(out, "</div>\n");
    }
}

static void print_ranges(const struct operator_meta *op, struct buf *out)
{
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++)
            buf_printf(out,
                       "<div class=dim>subtask %" PRIu32 ": key groups %" PRIu32 "..%" PRIu32
                       ", %s, %zu files</div>\n",
                       op->subtasks[s].subtask_index, op->subtasks[s].keyed[k].range.first,
                       op->subtasks[s].keyed[k].range.last,
                       keyed_kind_str(op->subtasks[s].keyed[k].kind),
                       op->subtasks[s].keyed[k].file_count);
}

static void print_in_flight(const struct operator_meta *op, struct buf *out)
{
    char size[TEXT_MAX];

    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].channel_count; k++)
            buf_printf(out,
                       "<div class=dim>subtask %" PRIu32 ": %" PRIu64
                       " rows in flight from %s, %s</div>\n",
                       op->subtasks[s].subtask_index, op->subtasks[s].channels[k].row_count,
                       op->subtasks[s].channels[k].from_id,
                       inspect_size_text(op->subtasks[s].channels[k].file.size_bytes, size));
}

/* flink: its states where Flink wrote it; NULL. */
static void print_operator(const struct inspect *in, const struct operator_meta *op,
                           const struct flink_inventory *flink, struct arena *arena,
                           struct buf *out)
{
    struct metadata_sizes sizes = {0};

    for (size_t s = 0; s < op->subtask_count; s++)
        subtask_metadata_sizes(&op->subtasks[s], &sizes);
    buf_append_str(out, "<tr>");
    cell("b", op->name, out);
    cell("code", op->uid[0] != '\0' ? op->uid : op->id, out);
    buf_printf(out, "<td class=n>%" PRIu32 "</td><td class=n>%" PRIu32 "</td><td class=n>%" PRIu64
                    "</td>",
               op->parallelism, op->key_group_count, operator_entry_count(op));
    size_cell(sizes.full_bytes, out);
    size_cell(sizes.new_bytes, out);
    buf_append_str(out, "<td>");
    if (op->finished)
        buf_append_str(out, "<div>finished</div>");
    print_states(op, out);
    if (flink != NULL)
        inspect_flink_html(flink, arena, out);
    print_ranges(op, out);
    print_in_flight(op, out);
    print_lists(in, op, out);
    buf_append_str(out, "</td></tr>\n");
}

static void print_outside(const struct inspect *in, const struct snapshot_view *v,
                          const struct checkpoint_metadata *m, struct buf *out)
{
    json_t *list = inspect_outside(in, v, m);
    struct buf text = {0};

    if (json_array_size(list) > 0)
        buf_append_str(out, "<h3>Outside, and not known to it</h3><ul>\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_clear(&text);
        inspect_print_item(json_array_get(list, i), &text);
        buf_append_str(out, "<li><code>");
        html_text(buf_cstr(&text), out);
        buf_append_str(out, "</code></li>\n");
    }
    if (json_array_size(list) > 0)
        buf_append_str(out, "</ul>\n");
    buf_release(&text);
    json_decref(list);
}

static void print_inside(const struct inspect *in, const struct snapshot_view *v,
                         const struct checkpoint_metadata *m, struct buf *out)
{
    struct arena *arena = m->flink == NULL ? NULL : arena_new(0);
    const struct flink_inventory *flink =
        m->flink == NULL ? NULL : inspect_flink_states(in, v, m->flink, arena);

    buf_append_str(out, "<div class=wide><table><tr><th>operator<th>uid or id<th class=n>"
                        "parallelism<th class=n>max<th class=n>keys<th class=n>full<th class=n>new"
                        "<th>states, key groups, positions</tr>\n");
    for (size_t i = 0; i < m->operator_count; i++)
        print_operator(in, &m->operators[i], flink == NULL ? NULL : &flink[i], arena, out);
    arena_free(arena);
    buf_append_str(out, "</table></div>\n");
    print_outside(in, v, m, out);
    if (m->sql[0] != '\0') {
        buf_append_str(out, "<h3>SQL</h3><pre>");
        html_text(m->sql, out);
        buf_append_str(out, "</pre>\n");
    }
    if (m->setting_count > 0)
        buf_append_str(out, "<h3>Settings</h3><table>\n");
    for (size_t i = 0; i < m->setting_count; i++) {
        buf_append_str(out, "<tr>");
        cell("code", m->settings[i].key, out);
        cell("code", m->settings[i].value, out);
        buf_append_str(out, "</tr>\n");
    }
    if (m->setting_count > 0)
        buf_append_str(out, "</table>\n");
    if (m->flink != NULL) {
        buf_printf(out, "<p class=dim>written by Flink: metadata of version %d</p>\n",
                   m->flink->version);
        return;
    }
    buf_append_str(out, "<p class=dim>varve ");
    html_text(m->varve_version, out);
    buf_append_str(out, ", RocksDB ");
    html_text(m->rocksdb_version, out);
    buf_append_str(out, "</p>\n");
}

/* ---- the history ---------------------------------------------------------------------------- */

static void print_faults(const struct snapshot_view *v, struct buf *out)
{
    buf_append_str(out, "<div class=bad>");
    html_text(v->reason, out);
    buf_append_str(out, "</div>");
    for (size_t i = 0; i < v->kept_count; i++) {
        buf_append_str(out, "<div><code>");
        html_text(v->faults[i].path, out);
        buf_append_str(out, "</code>: ");
        html_text(v->faults[i].reason, out);
        buf_append_str(out, " (");
        html_text(v->faults[i].operator_name, out);
        buf_printf(out, ", subtask %" PRIu32 ")</div>", v->faults[i].subtask_index);
    }
    if (v->fault_count > v->kept_count)
        buf_printf(out, "<div>... and %zu more</div>", v->fault_count - v->kept_count);
}

static void print_row(const struct inspect *in, const struct snapshot_view *v, struct buf *out)
{
    char when[TEXT_MAX], age[TEXT_MAX];

    buf_append_str(out, "<tr>");
    cell("span", path_base(v->dir), out);
    buf_printf(out, "<td>%s</td><td%s>%s</td>", v->readable ? snapshot_kind_str(v->kind) : "",
               v->status == SNAPSHOT_COMPLETE ? "" : " class=bad", snapshot_status_str(v->status));
    if (!v->readable) {
        buf_append_str(out, "<td colspan=9>");
        print_faults(v, out);
        if (v->status == SNAPSHOT_INCOMPLETE)
            buf_printf(out, "<div>%s, last changed %s</div>",
                       inspect_size_text(v->dir_bytes, when),
                       inspect_ago_text(in, v->changed_wall_ms, age));
        buf_append_str(out, "</td></tr>\n");
        return;
    }
    buf_printf(out, "<td class=n>%s</td><td class=n>%s</td><td class=n>%" PRId64 " ms</td>",
               inspect_time_text(v->completed_wall_ms, when),
               inspect_age_text(in, v->completed_wall_ms, age),
               inspect_ms_between(v->trigger_wall_ms, v->completed_wall_ms));
    size_cell(v->sizes.full_bytes, out);
    size_cell(v->sizes.new_bytes, out);
    if (v->only_known)
        size_cell(v->only_bytes, out);
    else
        buf_append_str(out, "<td class=n>?</td>");
    size_cell(v->sizes.shared_bytes, out);
    size_cell(v->sizes.exclusive_bytes, out);
    size_cell(v->sizes.inline_bytes, out);
    buf_append_str(out, "</tr>\n");
    if (v->status == SNAPSHOT_DAMAGED) {
        buf_append_str(out, "<tr><td></td><td colspan=11>");
        print_faults(v, out);
        buf_append_str(out, "</td></tr>\n");
    }
}

static void print_head(struct buf *out)
{
    buf_append_str(out,
                   "<div class=wide><table><tr><th>snapshot<th>kind<th>status<th class=n>completed"
                   "<th class=n>age<th class=n>duration<th class=n>full<th class=n>new<th class=n "
                   "title=\"bytes that no other checkpoint here names\">only<th class=n>shared"
                   "<th class=n>exclusive<th class=n>inline</tr>\n");
}

static void print_orphans(const struct inspect *in, const struct orphan_report *r, struct buf *out)
{
    char age[TEXT_MAX];

    if (r->orphan_count == 0)
        return;
    buf_append_str(out, "<h3>Named by no _metadata</h3><div class=wide><table>\n");
    for (size_t i = 0; i < r->orphan_count && i < ORPHANS_MAX; i++) {
        buf_printf(out, "<tr><td>%s</td>", orphan_kind_str(r->orphans[i].kind));
        size_cell(r->orphans[i].size_bytes, out);
        buf_printf(out, "<td class=n>%s</td>",
                   inspect_age_text(in, r->orphans[i].changed_wall_ms, age));
        cell("code", r->orphans[i].path, out);
        buf_append_str(out, "</tr>\n");
    }
    buf_append_str(out, "</table></div>\n");
    if (r->orphan_count > ORPHANS_MAX)
        buf_printf(out, "<p class=dim>%zu more are not shown; varve orphans lists them.</p>\n",
                   r->orphan_count - ORPHANS_MAX);
}

static void print_job_facts(const struct job_dir_view *job, struct buf *out)
{
    const struct orphan_report *r = &job->orphans;
    char a[TEXT_MAX], b[TEXT_MAX];

    buf_append_str(out, "<h2>");
    html_text(job->job_name[0] != '\0' ? job->job_name : "a job without a name", out);
    buf_append_str(out, "</h2>\n<p><code>");
    html_text(job->dir, out);
    buf_append_str(out, "</code><br>job ");
    html_text(job->job_id, out);
    buf_printf(out,
               "; %zu snapshots; shared/ holds %zu files, %s, of which %zu, %s, are in no readable "
               "_metadata",
               job->snapshot_count, r->shared_file_count, inspect_size_text(r->shared_bytes, a),
               r->unnamed_count, inspect_size_text(r->unnamed_bytes, b));
    if (r->ended.job_name != NULL) {
        buf_printf(out, "<br>the run ended: %s at %" PRIu64 " ", ended_word(r->ended.end),
                   r->ended.checkpoint_id);
        html_text(r->ended.savepoint_dir == NULL ? "" : r->ended.savepoint_dir, out);
    }
    if (r->ended_fault != NULL) {
        buf_append_str(out, "<br>");
        html_text(r->ended_fault, out);
    }
    buf_append_str(out, "</p>\n");
}

/* ---- the printer ---------------------------------------------------------------------------- */

static void page_begin(struct inspect *in, const struct snapshot_list *l)
{
    char when[TEXT_MAX];
    struct buf *out = &in->out;

    buf_append_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>varve "
                        "inspect ");
    html_text(l->path, out);
    buf_append_str(out, "</title>\n");
    buf_append_str(out, STYLE);
    buf_append_str(out, "</head><body>\n<h1>");
    html_text(l->path, out);
    buf_printf(out, "</h1>\n<p class=dim>as it was at %s</p>\n",
               inspect_time_text(in->now_wall_ms, when));
}

static enum rc page_job(struct inspect *in, const struct snapshot_list *l UNUSED,
                        const struct job_dir_view *job, bool first UNUSED, struct err *err)
{
    struct buf *out = &in->out;

    print_job_facts(job, out);
    html_chart(job, out);
    print_head(out);
    for (size_t i = 0; i < job->snapshot_count && i < ROWS_MAX; i++)
        print_row(in, &job->snapshots[job->snapshot_count - 1 - i], out);
    buf_append_str(out, "</table></div>\n");
    if (job->snapshot_count > ROWS_MAX)
        buf_printf(out, "<p class=dim>The newest %u of %zu; varve inspect --json lists all.</p>\n",
                   ROWS_MAX, job->snapshot_count);
    html_shared(in, job, out);
    print_orphans(in, &job->orphans, out);
    if (job->newest_meta != NULL) {
        buf_append_str(out, "<h3>Inside of ");
        html_text(path_base(job->newest->dir), out);
        buf_append_str(out, ", the newest</h3>\n");
        print_inside(in, job->newest, job->newest_meta, out);
    }
    return inspect_flush(in, false, err);
}

static void page_snapshots(struct inspect *in, const struct snapshot_list *l)
{
    if (l->count > 0 && l->items[l->count - 1].job == SNAPSHOT_ALONE)
        buf_append_str(&in->out, "<h2>Savepoints</h2>\n");
}

static void page_snapshot(struct inspect *in, const struct snapshot_list *l UNUSED,
                          const struct snapshot_view *v, const struct checkpoint_metadata *meta,
                          bool first UNUSED)
{
    struct buf *out = &in->out;

    print_head(out);
    print_row(in, v, out);
    buf_append_str(out, "</table></div>\n");
    if (meta == NULL)
        return;
    buf_append_str(out, "<p>of job ");
    html_text(meta->job_name, out);
    buf_printf(out, " (%s)</p>\n", meta->job_id);
    print_inside(in, v, meta, out);
}

static void page_end(struct inspect *in, const struct snapshot_list *l UNUSED)
{
    buf_append_str(&in->out, "</body></html>\n");
}

const struct inspect_printer inspect_html = {page_begin, page_job, page_snapshots, page_snapshot,
                                             page_end};
