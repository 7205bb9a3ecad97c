/* inspect_text.c - the report for people. */
#include "checkpoint/flink/flink_inventory.h"
#include "checkpoint/flink/flink_text.h"
#include "checkpoint/inspect_priv.h"
#include "checkpoint/snapshot_list.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT_MAX INSPECT_TEXT_MAX
#define PREVIEW_BYTES 100
#define PREVIEW_ITEMS 20
#define ORPHANS_SHOWN 1000

static const char *id_text(const struct snapshot_view *v)
{
    return v->checkpoint_id == 0 ? "savepoint" : path_base(v->dir);
}

/* ---- inside of a snapshot ------------------------------------------------------------------- */

static void print_states(const struct operator_meta *op, struct buf *out)
{
    const struct keyed_handle *h = operator_states(op);

    for (size_t i = 0; h != NULL && i < h->state_count; i++) {
        const struct state_desc *d = &h->states[i];

        buf_printf(out, "    state %s: %s, key %s", d->name, state_kind_str(d->kind), d->key_type);
        if (strcmp(d->namespace_type, "VOID") != 0)
            buf_printf(out, ", namespace %s", d->namespace_type);
        if (d->user_key_type[0] != '\0')
            buf_printf(out, ", map key %s", d->user_key_type);
        if (d->value_type[0] != '\0')
            buf_printf(out, ", value %s", d->value_type);
        if (d->ttl_ms > 0)
            buf_printf(out, ", ttl %" PRIu64 " ms", d->ttl_ms);
        if (d->operand_operator[0] != '\0')
            buf_printf(out, ", may hold operands of %s %u", d->operand_operator,
                       d->operand_version);
        buf_append_str(out, "\n");
    }
}

static void print_files(const struct state_file *files, size_t count, const char *unnamed,
                        struct buf *out)
{
    char size[TEXT_MAX];

    for (size_t i = 0; i < count; i++) {
        const struct state_file *f = &files[i];

        buf_printf(out, "        %-20s %10s  %-9s %s%s\n",
                   f->local_name[0] == '\0' ? unnamed : f->local_name,
                   inspect_size_text(f->size_bytes, size), file_scope_str(f->scope),
                   f->path == NULL ? "" : f->path, f->newly_written ? "  new" : "");
    }
}

/* What is understood is always shown, other bytes only on request. */
static void print_items(const struct inspect *in, const struct list_state *l, struct buf *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < l->item_count; i++) {
        json_t *described = in->options->describe == NULL
                                ? NULL
                                : in->options->describe(l->name, l->items[i]);

        if (described == NULL && !in->options->files)
            continue;
        if (shown++ < PREVIEW_ITEMS) {
            buf_append_str(out, "        ");
            if (described != NULL)
                inspect_print_item(described, out);
            else
                buf_append_escaped(out, l->items[i], PREVIEW_BYTES);
            buf_append_str(out, "\n");
        }
        json_decref(described);
    }
    if (shown > PREVIEW_ITEMS)
        buf_printf(out, "        ... and %zu more\n", shown - PREVIEW_ITEMS);
}

static void print_list(const struct inspect *in, const struct list_state *l, struct buf *out)
{
    char size[TEXT_MAX];
    uint64_t bytes = 0;

    for (size_t i = 0; i < l->item_count; i++)
        bytes += l->items[i].len;
    buf_printf(out, "      list %s: %s, %zu items, %s\n", l->name, list_mode_str(l->mode),
               l->item_count, inspect_size_text(bytes, size));
    print_items(in, l, out);
}

/* What a write-ahead sink has not seen confirmed by its target. */
static void print_logs(const struct inspect *in, const struct subtask_state *s, struct buf *out)
{
    char size[TEXT_MAX];
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->log_count; i++)
        bytes += s->logs[i].size_bytes;
    buf_printf(out, "      logs: %zu files, %s\n", s->log_count, inspect_size_text(bytes, size));
    if (in->options->files)
        print_files(s->logs, s->log_count, "(log)", out);
}

/* Rows that had not arrived when the subtask took its snapshot. */
static void print_channels(const struct inspect *in, const struct subtask_state *s, struct buf *out)
{
    char size[TEXT_MAX];

    for (size_t i = 0; i < s->channel_count; i++) {
        const struct channel_handle *h = &s->channels[i];

        buf_printf(out, "      in flight from %s: %" PRIu64 " rows%s, %s, %s\n", h->from_id,
                   h->row_count, h->updates ? " with changes" : "", h->partitioning,
                   inspect_size_text(h->file.size_bytes, size));
        if (in->options->files)
            print_files(&h->file, 1, "(in flight)", out);
    }
}

/* flink: the same subtask as Flink wrote it; NULL: it did not. */
static void print_subtask(const struct inspect *in, const struct subtask_state *s,
                          const struct flink_subtask *flink, struct buf *out)
{
    struct metadata_sizes sizes = {0};
    char full[TEXT_MAX], new[TEXT_MAX];

    subtask_metadata_sizes(s, &sizes);
    if (s->finished) {
        buf_printf(out, "    subtask %" PRIu32 ": had finished\n", s->subtask_index);
        return;
    }
    if (s->keyed_count + s->list_count + s->log_count + s->channel_count + s->stream_count == 0)
        return;
    buf_printf(out, "    subtask %" PRIu32 ": %s", s->subtask_index,
               inspect_size_text(sizes.full_bytes, full));
    if (flink == NULL)
        buf_printf(out, ", new %s", inspect_size_text(sizes.new_bytes, new));
    buf_append_str(out, "\n");
    for (size_t k = 0; k < s->keyed_count; k++) {
        const struct keyed_handle *h = &s->keyed[k];

        buf_printf(out, "      key groups %" PRIu32 "..%" PRIu32 ": %s, %zu files", h->range.first,
                   h->range.last, keyed_kind_str(h->kind), h->file_count);
        if (h->entry_count > 0)
            buf_printf(out, ", %" PRIu64 " keys", h->entry_count);
        buf_append_str(out, "\n");
        if (in->options->files)
            print_files(h->files, h->file_count, "(stream)", out);
    }
    if (s->log_count > 0)
        print_logs(in, s, out);
    print_channels(in, s, out);
    for (size_t l = 0; l < s->list_count; l++)
        print_list(in, &s->lists[l], out);
    if (flink == NULL)
        return;
    flink_print_subtask(flink, out);
    if (in->options->files)
        print_files(s->streams, s->stream_count, "(stream)", out);
}

static void print_operator(const struct inspect *in, const struct operator_meta *op,
                           const struct flink_operator *flink,
                           const struct flink_inventory *described, struct buf *out)
{
    struct metadata_sizes sizes = {0};
    char full[TEXT_MAX], new[TEXT_MAX];
    uint64_t keys = operator_entry_count(op);

    for (size_t s = 0; s < op->subtask_count; s++)
        subtask_metadata_sizes(&op->subtasks[s], &sizes);
    buf_printf(out, "  operator %s\n", op->name);
    buf_printf(out, "    id %s, parallelism %" PRIu32 ", max parallelism %" PRIu32 ", %s", op->id,
               op->parallelism, op->key_group_count, inspect_size_text(sizes.full_bytes, full));
    if (flink == NULL)
        buf_printf(out, ", new %s", inspect_size_text(sizes.new_bytes, new));
    if (op->uid[0] != '\0')
        buf_printf(out, ", uid %s", op->uid);
    if (keys > 0)
        buf_printf(out, ", %" PRIu64 " keys", keys);
    buf_printf(out, "%s\n", op->finished ? ", finished" : "");
    print_states(op, out);
    if (flink != NULL) {
        flink_print_operator(flink, out);
        inspect_flink_text(described, out);
    }
    for (size_t s = 0; s < op->subtask_count; s++)
        print_subtask(in, &op->subtasks[s], flink == NULL ? NULL : &flink->subtasks[s], out);
}

static void print_operators(const struct inspect *in, const struct snapshot_view *v,
                            const struct checkpoint_metadata *m, struct buf *out)
{
    struct arena *arena = m->flink == NULL ? NULL : arena_new(0);
    const struct flink_inventory *all =
        m->flink == NULL ? NULL : inspect_flink_states(in, v, m->flink, arena);

    for (size_t i = 0; i < m->operator_count; i++) {
        const struct flink_operator *flink = m->flink == NULL ? NULL : &m->flink->operators[i];

        print_operator(in, &m->operators[i], flink, flink == NULL ? NULL : &all[i], out);
    }
    arena_free(arena);
}

static void print_faults(const struct snapshot_view *v, const char *indent, struct buf *out)
{
    for (size_t i = 0; i < v->kept_count; i++)
        buf_printf(out, "%s%s (%" PRIu64 " bytes, operator \"%s\" subtask %" PRIu32 "): %s\n",
                   indent, v->faults[i].path, v->faults[i].size_bytes, v->faults[i].operator_name,
                   v->faults[i].subtask_index, v->faults[i].reason);
    if (v->fault_count > v->kept_count)
        buf_printf(out, "%s... and %zu more: varve inspect %s lists them all\n", indent,
                   v->fault_count - v->kept_count, v->dir);
}

static void print_sizes(const struct snapshot_view *v, bool flink, struct buf *out)
{
    const struct metadata_sizes *s = &v->sizes;
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX], e[TEXT_MAX];

    buf_printf(out,
               "  size %s: shared %s in %" PRIu64 " files, exclusive %s in %" PRIu64
               ", inline %s in %" PRIu64,
               inspect_size_text(s->full_bytes, a), inspect_size_text(s->shared_bytes, b),
               s->shared_count, inspect_size_text(s->exclusive_bytes, c), s->exclusive_count,
               inspect_size_text(s->inline_bytes, d), s->inline_count);
    if (flink)
        buf_append_str(out, "\n");
    else
        buf_printf(out, "; new %s\n", inspect_size_text(s->new_bytes, e));
    if (v->only_known)
        buf_printf(out, "  no other checkpoint here names %s of it\n",
                   inspect_size_text(v->only_bytes, a));
    buf_printf(out, "  _metadata %s; files that are hard links %s, that are not %s\n",
               inspect_size_text(v->metadata_bytes, a), inspect_size_text(v->linked_bytes, b),
               inspect_size_text(v->single_bytes, c));
}

/* Each line of it behind an indent, so that it cannot be taken for ours. */
static void print_sql(const char *sql, struct buf *out)
{
    if (sql[0] == '\0')
        return;
    buf_append_str(out, "  SQL:\n");
    while (sql[0] != '\0') {
        size_t len = strcspn(sql, "\n");

        buf_printf(out, "    %.*s\n", (int)len, sql);
        sql += len + (sql[len] == '\n');
    }
}

static void print_outside(const struct inspect *in, const struct snapshot_view *v,
                          const struct checkpoint_metadata *m, struct buf *out)
{
    json_t *list = inspect_outside(in, v, m);

    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_append_str(out, "  ");
        inspect_print_item(json_array_get(list, i), out);
        buf_append_str(out, "\n");
    }
    json_decref(list);
}

static void print_origin(const struct inspect *in, const struct checkpoint_metadata *m,
                         struct buf *out)
{
    char when[TEXT_MAX], age[TEXT_MAX];

    buf_printf(out, "  %s %" PRIu64 " of job \"%s\" (%s)\n", snapshot_kind_str(m->kind),
               m->checkpoint_id, m->job_name, m->job_id);
    buf_printf(out,
               "  triggered %s, complete after %" PRId64 " ms, %s; varve %s, RocksDB %s\n",
               inspect_time_text(m->trigger_wall_ms, when),
               inspect_ms_between(m->trigger_wall_ms, m->completed_wall_ms),
               inspect_ago_text(in, m->completed_wall_ms, age),
               m->varve_version, m->rocksdb_version);
}

/* All but the first line. */
static void print_inside(const struct inspect *in, const struct snapshot_view *v,
                         const struct checkpoint_metadata *m, struct buf *out)
{
    char when[TEXT_MAX], age[TEXT_MAX];

    if (m->flink != NULL) {
        buf_printf(out, "  %s %" PRIu64 " of a job of Flink's (%s)\n", snapshot_kind_str(m->kind),
                   m->checkpoint_id, m->job_id[0] == '\0' ? "its id is not recorded" : m->job_id);
        buf_printf(out, "  last changed %s, %s\n", inspect_time_text(m->completed_wall_ms, when),
                   inspect_ago_text(in, m->completed_wall_ms, age));
        flink_print_head(m->flink, out);
    } else {
        print_origin(in, m, out);
    }
    print_sizes(v, m->flink != NULL, out);
    print_operators(in, v, m, out);
    print_outside(in, v, m, out);
    for (size_t i = 0; i < m->setting_count; i++)
        buf_printf(out, "  set %s = %s\n", m->settings[i].key, m->settings[i].value);
    print_sql(m->sql, out);
}

static void print_snapshot(const struct inspect *in, const struct snapshot_view *v,
                           const struct checkpoint_metadata *m, struct buf *out)
{
    char when[TEXT_MAX], size[TEXT_MAX], age[TEXT_MAX];

    buf_printf(out, "%s: %s\n", v->dir, snapshot_status_str(v->status));
    if (v->reason[0] != '\0')
        buf_printf(out, "  %s\n", v->reason);
    if (v->status == SNAPSHOT_INCOMPLETE)
        buf_printf(out, "  %s, last changed %s, %s\n", inspect_size_text(v->dir_bytes, size),
                   inspect_time_text(v->changed_wall_ms, when),
                   inspect_ago_text(in, v->changed_wall_ms, age));
    print_faults(v, "    ", out);
    if (m != NULL)
        print_inside(in, v, m, out);
}

/* ---- tables --------------------------------------------------------------------------------- */

#define ROW_FORMAT "  %-12s %-11s %-11s %-25s %7s %10s %10s %10s %10s %10s %10s %10s\n"

static void print_row(const struct inspect *in, const struct snapshot_view *v, struct buf *out)
{
    const struct metadata_sizes *s = &v->sizes;
    char when[TEXT_MAX], ms[TEXT_MAX], age[TEXT_MAX], full[TEXT_MAX], new[TEXT_MAX],
        only[TEXT_MAX], shared[TEXT_MAX], exclusive[TEXT_MAX], inlined[TEXT_MAX];

    if (!v->readable) {
        buf_printf(out, "  %-12s %-11s %-11s %s", id_text(v), "-", snapshot_status_str(v->status),
                   v->reason);
        if (v->status == SNAPSHOT_INCOMPLETE)
            buf_printf(out, ", %s, last changed %s, %s", inspect_size_text(v->dir_bytes, full),
                       inspect_time_text(v->changed_wall_ms, when),
                       inspect_ago_text(in, v->changed_wall_ms, age));
        buf_append_str(out, "\n");
        return;
    }
    snprintf(ms, sizeof ms, "%" PRId64,
             inspect_ms_between(v->trigger_wall_ms, v->completed_wall_ms));
    buf_printf(out, ROW_FORMAT, id_text(v), snapshot_kind_str(v->kind),
               snapshot_status_str(v->status), inspect_time_text(v->completed_wall_ms, when), ms,
               inspect_age_text(in, v->completed_wall_ms, age),
               inspect_size_text(s->full_bytes, full), inspect_size_text(s->new_bytes, new),
               v->only_known ? inspect_size_text(v->only_bytes, only) : "?",
               inspect_size_text(s->shared_bytes, shared),
               inspect_size_text(s->exclusive_bytes, exclusive),
               inspect_size_text(s->inline_bytes, inlined));
    if (v->status == SNAPSHOT_DAMAGED)
        buf_printf(out, "    %s\n", v->reason);
    print_faults(v, "    ", out);
}

static void print_orphans(const struct inspect *in, const struct orphan_report *r, struct buf *out)
{
    char age[TEXT_MAX], size[TEXT_MAX];

    for (size_t i = 0; i < r->orphan_count && i < ORPHANS_SHOWN; i++)
        buf_printf(out, "    %s %s, %s, last changed %s\n", orphan_kind_str(r->orphans[i].kind),
                   r->orphans[i].path, inspect_size_text(r->orphans[i].size_bytes, size),
                   inspect_ago_text(in, r->orphans[i].changed_wall_ms, age));
    if (r->orphan_count > ORPHANS_SHOWN)
        buf_printf(out, "    ... and %zu more: varve orphans lists them all\n",
                   r->orphan_count - ORPHANS_SHOWN);
}

static void print_end_note(const struct ended *e, struct buf *out)
{
    unsigned long long id = e->checkpoint_id;

    if (e->savepoint_dir != NULL)
        buf_printf(out, "  stopped with savepoint %s (%llu)\n", e->savepoint_dir, id);
    else
        buf_printf(out, "  %s at checkpoint %llu (job \"%s\", %s)\n", ended_word(e->end), id,
                   e->job_name, e->job_id);
}

static void print_job_foot(const struct inspect *in, const struct job_dir_view *job,
                           struct buf *out)
{
    const struct orphan_report *r = &job->orphans;
    char a[TEXT_MAX], b[TEXT_MAX];

    buf_printf(out, "  shared/: %zu files, %s; %zu of them, %s, in no readable _metadata\n",
               r->shared_file_count, inspect_size_text(r->shared_bytes, a), r->unnamed_count,
               inspect_size_text(r->unnamed_bytes, b));
    if (r->flink_why != NULL)
        buf_printf(out, "  written by Flink: %s\n", r->flink_why);
    if (r->ended.job_name != NULL)
        print_end_note(&r->ended, out);
    if (r->ended_fault != NULL)
        buf_printf(out, "  %s\n", r->ended_fault);
    if (in->options->files)
        print_orphans(in, r, out);
}

/* ---- the printer ---------------------------------------------------------------------------- */

static void append_plain(struct inspect *in, struct buf *text_take)
{
    inspect_append_plain(text_take, &in->out);
    buf_release(text_take);
}

static void text_nothing(struct inspect *in UNUSED, const struct snapshot_list *l UNUSED)
{
}

static enum rc text_job(struct inspect *in, const struct snapshot_list *l,
                        const struct job_dir_view *job, bool first UNUSED, struct err *err)
{
    struct buf text = {0};

    buf_printf(&text, "%s: job \"%s\" (%s)\n", job->dir, job->job_name, job->job_id);
    if (job->snapshot_count == 0)
        buf_append_str(&text, "  no checkpoint\n");
    else
        buf_printf(&text, ROW_FORMAT, "SNAPSHOT", "KIND", "STATUS", "COMPLETED", "MS", "AGE",
                   "FULL", "NEW", "ONLY", "SHARED", "EXCLUSIVE", "INLINE");
    for (size_t i = 0; i < job->snapshot_count; i++) {
        print_row(in, &job->snapshots[i], &text);
        append_plain(in, &text);
        RETURN_IF_ERR(inspect_flush(in, false, err));
    }
    print_job_foot(in, job, &text);
    for (size_t i = 0; in->options->files && i < job->snapshot_count; i++) {
        const struct snapshot_view *v = &job->snapshots[i];

        print_snapshot(in, v, v->readable ? inspect_reread(in, v) : NULL, &text);
        append_plain(in, &text);
        RETURN_IF_ERR(inspect_flush(in, false, err));
    }
    if (!in->options->files && l->type == LIST_OF_JOB && job->newest != NULL)
        print_snapshot(in, job->newest, job->newest_meta, &text);
    append_plain(in, &text);
    return RC_OK;
}

static void text_snapshot(struct inspect *in, const struct snapshot_list *l UNUSED,
                          const struct snapshot_view *v, const struct checkpoint_metadata *meta,
                          bool first UNUSED)
{
    struct buf text = {0};

    print_snapshot(in, v, meta, &text);
    append_plain(in, &text);
}

const struct inspect_printer inspect_text = {text_nothing, text_job, text_nothing, text_snapshot,
                                             text_nothing};
