/* inspect_text.c - the report for people. */
#include "checkpoint/inspect_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define TEXT_MAX 32
#define PREVIEW_BYTES 100
#define PREVIEW_ITEMS 20

/* "1.2 MB"; exact below 10,000 bytes. */
static const char *size_text(uint64_t bytes, char out[TEXT_MAX])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double v = (double)bytes / 1000;
    size_t unit = 0;

    if (bytes < 10000) {
        snprintf(out, TEXT_MAX, "%" PRIu64 " B", bytes);
        return out;
    }
    while (v >= 1000 && unit + 1 < ARRAY_LEN(units)) {
        v /= 1000;
        unit++;
    }
    snprintf(out, TEXT_MAX, "%.1f %s", v, units[unit]);
    return out;
}

/* ISO 8601, UTC. */
static const char *time_text(int64_t wall_ms, char out[TEXT_MAX])
{
    time_t seconds = (time_t)(wall_ms / 1000 - (wall_ms % 1000 < 0));
    struct tm tm;
    size_t len = 0;

    if (gmtime_r(&seconds, &tm) != NULL)
        len = strftime(out, TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    if (len == 0)
        snprintf(out, TEXT_MAX, "%" PRId64 " ms", wall_ms);
    else
        snprintf(out + len, TEXT_MAX - len, ".%03dZ", (int)(wall_ms - (int64_t)seconds * 1000));
    return out;
}

static const char *id_text(const struct snapshot_view *v)
{
    return v->checkpoint_id == 0 ? "savepoint" : path_base(v->dir);
}

/* ---- inside of a snapshot ------------------------------------------------------------------- */

static void print_states(const struct operator_meta *op, struct buf *out)
{
    /* All handles of an operator have the same states: the first one that has any stands for all.
     */
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++) {
            const struct keyed_handle *h = &op->subtasks[s].keyed[k];

            for (size_t i = 0; i < h->state_count; i++) {
                const struct state_desc *d = &h->states[i];

                buf_printf(out, "    state %s: %s, key %s", d->name, state_kind_str(d->kind),
                           d->key_type);
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
            if (h->state_count > 0)
                return;
        }
}

static void print_files(const struct keyed_handle *h, struct buf *out)
{
    char size[TEXT_MAX];

    for (size_t i = 0; i < h->file_count; i++) {
        const struct state_file *f = &h->files[i];

        buf_printf(out, "        %-20s %10s  %-9s %s%s\n",
                   f->local_name[0] == '\0' ? "(stream)" : f->local_name,
                   size_text(f->size_bytes, size), file_scope_str(f->scope),
                   f->path == NULL ? "" : f->path, f->newly_written ? "  new" : "");
    }
}

static void print_list(const struct list_state *l, bool items, struct buf *out)
{
    char size[TEXT_MAX];
    uint64_t bytes = 0;

    for (size_t i = 0; i < l->item_count; i++)
        bytes += l->items[i].len;
    buf_printf(out, "      list %s: %s, %zu items, %s\n", l->name, list_mode_str(l->mode),
               l->item_count, size_text(bytes, size));
    for (size_t i = 0; items && i < l->item_count; i++) {
        if (i == PREVIEW_ITEMS) {
            buf_printf(out, "        ... and %zu more\n", l->item_count - i);
            break;
        }
        buf_append_str(out, "        ");
        print_escaped(l->items[i], PREVIEW_BYTES, out);
        buf_append_str(out, "\n");
    }
}

static void print_subtask(const struct subtask_state *s, bool files, struct buf *out)
{
    struct metadata_sizes sizes = {0};
    char full[TEXT_MAX], new[TEXT_MAX];

    subtask_metadata_sizes(s, &sizes);
    if (s->finished) {
        buf_printf(out, "    subtask %" PRIu32 ": had finished\n", s->subtask_index);
        return;
    }
    if (s->keyed_count + s->list_count == 0)
        return;
    buf_printf(out, "    subtask %" PRIu32 ": %s, new %s\n", s->subtask_index,
               size_text(sizes.full_bytes, full), size_text(sizes.new_bytes, new));
    for (size_t k = 0; k < s->keyed_count; k++) {
        const struct keyed_handle *h = &s->keyed[k];

        buf_printf(out, "      key groups %" PRIu32 "..%" PRIu32 ": %s, %zu files", h->range.first,
                   h->range.last, keyed_kind_str(h->kind), h->file_count);
        if (h->entry_count > 0)
            buf_printf(out, ", %" PRIu64 " keys", h->entry_count);
        buf_append_str(out, "\n");
        if (files)
            print_files(h, out);
    }
    for (size_t l = 0; l < s->list_count; l++)
        print_list(&s->lists[l], files, out);
}

static void print_operator(const struct operator_meta *op, bool files, struct buf *out)
{
    struct metadata_sizes sizes = {0};
    char full[TEXT_MAX], new[TEXT_MAX];
    uint64_t keys = operator_entry_count(op);

    for (size_t s = 0; s < op->subtask_count; s++)
        subtask_metadata_sizes(&op->subtasks[s], &sizes);
    buf_printf(out, "  operator %s\n", op->name);
    buf_printf(out, "    id %s, parallelism %" PRIu32 ", max parallelism %" PRIu32 ", %s, new %s",
               op->id, op->parallelism, op->key_group_count, size_text(sizes.full_bytes, full),
               size_text(sizes.new_bytes, new));
    if (op->uid[0] != '\0')
        buf_printf(out, ", uid %s", op->uid);
    if (keys > 0)
        buf_printf(out, ", %" PRIu64 " keys", keys);
    buf_printf(out, "%s\n", op->finished ? ", finished" : "");
    print_states(op, out);
    for (size_t s = 0; s < op->subtask_count; s++)
        print_subtask(&op->subtasks[s], files, out);
}

static void print_faults(const struct snapshot_view *v, const char *indent, struct buf *out)
{
    for (size_t i = 0; i < v->fault_count; i++)
        buf_printf(out, "%s%s (%" PRIu64 " bytes, operator \"%s\" subtask %" PRIu32 "): %s\n",
                   indent, v->faults[i].path, v->faults[i].size_bytes, v->faults[i].operator_name,
                   v->faults[i].subtask_index, v->faults[i].reason);
}

static void print_sizes(const struct snapshot_view *v, struct buf *out)
{
    const struct metadata_sizes *s = &v->sizes;
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX], e[TEXT_MAX];

    buf_printf(out,
               "  size %s: shared %s in %" PRIu64 " files, exclusive %s in %" PRIu64
               ", inline %s in %" PRIu64 "; new %s\n",
               size_text(s->full_bytes, a), size_text(s->shared_bytes, b), s->shared_count,
               size_text(s->exclusive_bytes, c), s->exclusive_count, size_text(s->inline_bytes, d),
               s->inline_count, size_text(s->new_bytes, e));
    buf_printf(out, "  _metadata %s; files that are hard links %s, that are not %s\n",
               size_text(v->metadata_bytes, a), size_text(v->linked_bytes, b),
               size_text(v->single_bytes, c));
}

static void print_snapshot(const struct snapshot_view *v, bool files, struct buf *out)
{
    const struct checkpoint_metadata *m = v->meta;
    char when[TEXT_MAX], size[TEXT_MAX];

    buf_printf(out, "%s: %s\n", v->dir, snapshot_status_str(v->status));
    if (v->reason[0] != '\0')
        buf_printf(out, "  %s\n", v->reason);
    if (v->status == SNAPSHOT_INCOMPLETE)
        buf_printf(out, "  %s, last changed %s\n", size_text(v->dir_bytes, size),
                   time_text(v->changed_wall_ms, when));
    if (m == NULL)
        return;
    print_faults(v, "    ", out);
    buf_printf(out, "  %s %" PRIu64 " of job \"%s\" (%s)\n", snapshot_kind_str(m->kind),
               m->checkpoint_id, m->job_name, m->job_id);
    buf_printf(out, "  triggered %s, complete after %" PRId64 " ms; varve %s, RocksDB %s\n",
               time_text(m->trigger_wall_ms, when), m->completed_wall_ms - m->trigger_wall_ms,
               m->varve_version, m->rocksdb_version);
    print_sizes(v, out);
    for (size_t i = 0; i < m->operator_count; i++)
        print_operator(&m->operators[i], files, out);
    for (size_t i = 0; files && i < m->setting_count; i++)
        buf_printf(out, "  set %s = %s\n", m->settings[i].key, m->settings[i].value);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void print_row(const struct snapshot_view *v, struct buf *out)
{
    const struct metadata_sizes *s = &v->sizes;
    char when[TEXT_MAX], full[TEXT_MAX], new[TEXT_MAX], shared[TEXT_MAX], exclusive[TEXT_MAX],
        inlined[TEXT_MAX];

    if (v->meta == NULL) {
        buf_printf(out, "  %-12s %-11s %-11s %s", id_text(v), "-", snapshot_status_str(v->status),
                   v->reason);
        if (v->status == SNAPSHOT_INCOMPLETE)
            buf_printf(out, ", %s, last changed %s", size_text(v->dir_bytes, full),
                       time_text(v->changed_wall_ms, when));
        buf_append_str(out, "\n");
        return;
    }
    buf_printf(out, "  %-12s %-11s %-11s %-25s %7" PRId64 " %10s %10s %10s %10s %10s\n", id_text(v),
               snapshot_kind_str(v->meta->kind), snapshot_status_str(v->status),
               time_text(v->meta->completed_wall_ms, when),
               v->meta->completed_wall_ms - v->meta->trigger_wall_ms,
               size_text(s->full_bytes, full), size_text(s->new_bytes, new),
               size_text(s->shared_bytes, shared), size_text(s->exclusive_bytes, exclusive),
               size_text(s->inline_bytes, inlined));
    if (v->status == SNAPSHOT_DAMAGED)
        buf_printf(out, "    %s\n", v->reason);
    print_faults(v, "    ", out);
}

static void print_head(struct buf *out)
{
    buf_printf(out, "  %-12s %-11s %-11s %-25s %7s %10s %10s %10s %10s %10s\n", "SNAPSHOT", "KIND",
               "STATUS", "COMPLETED", "MS", "FULL", "NEW", "SHARED", "EXCLUSIVE", "INLINE");
}

static void print_orphans(const struct orphan_report *r, struct buf *out)
{
    char when[TEXT_MAX], size[TEXT_MAX];

    for (size_t i = 0; i < r->orphan_count; i++)
        buf_printf(out, "    %s %s, %s, last changed %s\n", orphan_kind_str(r->orphans[i].kind),
                   r->orphans[i].path, size_text(r->orphans[i].size_bytes, size),
                   time_text(r->orphans[i].changed_wall_ms, when));
}

static void print_end(const struct ended *e, struct buf *out)
{
    unsigned long long id = e->checkpoint_id;

    if (e->savepoint_dir != NULL)
        buf_printf(out, "  stopped with savepoint %s (%llu)\n", e->savepoint_dir, id);
    else
        buf_printf(out, "  %s at checkpoint %llu (job \"%s\", %s)\n", ended_word(e->end), id,
                   e->job_name, e->job_id);
}

static void print_job(const struct job_view_dir *job, bool files, struct buf *out)
{
    char a[TEXT_MAX], b[TEXT_MAX];

    buf_printf(out, "%s: job \"%s\" (%s)\n", job->dir, job->job_name, job->job_id);
    if (job->snapshot_count == 0)
        buf_append_str(out, "  no checkpoint\n");
    else
        print_head(out);
    for (size_t i = 0; i < job->snapshot_count; i++)
        print_row(&job->snapshots[i], out);
    buf_printf(out, "  shared/: %zu files, %s; %zu of them, %s, in no readable _metadata\n",
               job->orphans.shared_file_count, size_text(job->orphans.shared_bytes, a),
               job->unreferenced_count, size_text(job->unreferenced_bytes, b));
    if (job->orphans.ended.job_name != NULL)
        print_end(&job->orphans.ended, out);
    if (job->orphans.ended_fault != NULL)
        buf_printf(out, "  %s\n", job->orphans.ended_fault);
    if (files) {
        print_orphans(&job->orphans, out);
        for (size_t i = 0; i < job->snapshot_count; i++)
            print_snapshot(&job->snapshots[i], true, out);
    }
}

/* Names come out of files: none may drive the reader's terminal. */
static void append_plain(const struct buf *text, struct buf *out)
{
    for (size_t i = 0; i < text->len; i++) {
        uint8_t c = text->data[i];

        if ((c < 0x20 && c != '\n') || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_append_u8(out, c);
    }
}

void inspect_print_text(const struct inspect_view *v, const struct inspect_options *options,
                        struct buf *out)
{
    struct buf text = {0};

    for (size_t i = 0; i < v->job_count; i++)
        print_job(&v->jobs[i], options->files, &text);
    for (size_t i = 0; i < v->snapshot_count; i++)
        print_snapshot(&v->snapshots[i], options->files, &text);
    append_plain(&text, out);
    buf_release(&text);
}
