/* inspect_json.c - the report as JSON: names and order are stable; new names may come.
 *
 * Their schema is docs/inspect.schema.json. One line for each element of the long lists. */
#include "base/json.h"
#include "checkpoint/flink/flink_inventory.h"
#include "checkpoint/flink/flink_json.h"
#include "checkpoint/inspect_priv.h"
#include "checkpoint/snapshot_list.h"

#define PREVIEW_BYTES 256
#define PREVIEW_ITEMS 1000

static json_t *integer(uint64_t v)
{
    return json_integer((json_int_t)v);
}

/* Text of others may hold any bytes: what is not UTF-8 is escaped. */
static json_t *text(const char *s)
{
    json_t *value = json_string(s);
    struct buf escaped = {0};

    if (value != NULL)
        return value;
    buf_append_escaped(&escaped, bytes_of_str(s), SIZE_MAX);
    value = json_string(buf_cstr(&escaped));
    buf_release(&escaped);
    return value;
}

static void put(json_t *object, const char *name, json_t *value_take)
{
    ASSERT(value_take != NULL && json_object_set_new(object, name, value_take) == 0);
}

static void add(json_t *array, json_t *value_take)
{
    ASSERT(value_take != NULL && json_array_append_new(array, value_take) == 0);
}

static json_t *file_json(const struct state_file *f)
{
    json_t *o = json_object();
    char hex[DIGEST_HEX_LEN + 1];

    digest_hex(f->digest, hex);
    put(o, "name", text(f->local_name));
    put(o, "scope", text(file_scope_str(f->scope)));
    put(o, "path", f->path == NULL ? json_null() : text(f->path));
    put(o, "size", integer(f->size_bytes));
    put(o, "new", json_boolean(f->newly_written));
    put(o, "digest", text(hex));
    return o;
}

static json_t *state_json(const struct state_desc *s)
{
    json_t *o = json_object();

    put(o, "name", text(s->name));
    put(o, "kind", text(state_kind_str(s->kind)));
    put(o, "key", text(s->key_type));
    put(o, "namespace", text(s->namespace_type));
    put(o, "user_key", text(s->user_key_type));
    put(o, "value", text(s->value_type));
    put(o, "fixed_value_bytes", integer(s->fixed_value_bytes));
    put(o, "ttl_ms", integer(s->ttl_ms));
    put(o, "merge_operator", text(s->operand_operator));
    return o;
}

static json_t *keyed_json(const struct keyed_handle *h)
{
    json_t *o = json_object(), *states = json_array(), *files = json_array();

    put(o, "kind", text(keyed_kind_str(h->kind)));
    put(o, "first_key_group", integer(h->range.first));
    put(o, "last_key_group", integer(h->range.last));
    put(o, "keys", integer(h->entry_count));
    put(o, "backend_id", text(h->backend_id));
    for (size_t i = 0; i < h->state_count; i++)
        add(states, state_json(&h->states[i]));
    for (size_t i = 0; i < h->file_count; i++)
        add(files, file_json(&h->files[i]));
    put(o, "states", states);
    put(o, "files", files);
    return o;
}

/* What is understood as an object; other bytes as text, on request. */
static json_t *items_json(const struct inspect *in, const struct list_state *l)
{
    json_t *list = json_array();

    for (size_t i = 0; i < l->item_count && json_array_size(list) < PREVIEW_ITEMS; i++) {
        json_t *described = in->options->describe == NULL
                                ? NULL
                                : in->options->describe(l->name, l->items[i]);
        struct buf escaped = {0};

        if (described == NULL && !in->options->files)
            continue;
        if (described == NULL) {
            buf_append_escaped(&escaped, l->items[i], PREVIEW_BYTES);
            described = json_string(buf_cstr(&escaped));
            buf_release(&escaped);
        }
        add(list, described);
    }
    return list;
}

static json_t *list_json(const struct inspect *in, const struct list_state *l)
{
    json_t *o = json_object();
    uint64_t bytes = 0;

    for (size_t i = 0; i < l->item_count; i++)
        bytes += l->items[i].len;
    put(o, "name", text(l->name));
    put(o, "mode", text(list_mode_str(l->mode)));
    put(o, "item_count", integer(l->item_count));
    put(o, "size", integer(bytes));
    put(o, "items", items_json(in, l));
    return o;
}

static json_t *sizes_json(const struct metadata_sizes *s)
{
    json_t *o = json_object();

    put(o, "full", integer(s->full_bytes));
    put(o, "new", integer(s->new_bytes));
    put(o, "shared", integer(s->shared_bytes));
    put(o, "exclusive", integer(s->exclusive_bytes));
    put(o, "inline", integer(s->inline_bytes));
    put(o, "logs", integer(s->log_bytes));
    put(o, "shared_files", integer(s->shared_count));
    put(o, "exclusive_files", integer(s->exclusive_count));
    put(o, "inline_files", integer(s->inline_count));
    put(o, "log_files", integer(s->log_count));
    put(o, "in_flight", integer(s->in_flight_bytes));
    put(o, "in_flight_rows", integer(s->in_flight_rows));
    return o;
}

static json_t *channel_json(const struct channel_handle *h)
{
    json_t *o = json_object();

    put(o, "from", text(h->from_id));
    put(o, "ordinal", integer(h->ordinal));
    put(o, "partitioning", text(h->partitioning));
    put(o, "row_type", text(h->row_type));
    put(o, "rows", integer(h->row_count));
    put(o, "updates", json_boolean(h->updates));
    put(o, "file", file_json(&h->file));
    return o;
}

static json_t *subtask_json(const struct inspect *in, const struct subtask_state *s)
{
    json_t *o = json_object(), *keyed = json_array(), *lists = json_array();
    json_t *logs = json_array(), *channels = json_array(), *streams = json_array();
    struct metadata_sizes sizes = {0};

    subtask_metadata_sizes(s, &sizes);
    put(o, "index", integer(s->subtask_index));
    put(o, "finished", json_boolean(s->finished));
    put(o, "sizes", sizes_json(&sizes));
    for (size_t i = 0; i < s->keyed_count; i++)
        add(keyed, keyed_json(&s->keyed[i]));
    for (size_t i = 0; i < s->list_count; i++)
        add(lists, list_json(in, &s->lists[i]));
    put(o, "keyed", keyed);
    put(o, "lists", lists);
    for (size_t i = 0; i < s->log_count; i++)
        add(logs, file_json(&s->logs[i]));
    put(o, "logs", logs);
    for (size_t i = 0; i < s->channel_count; i++)
        add(channels, channel_json(&s->channels[i]));
    put(o, "in_flight", channels);
    for (size_t i = 0; i < s->stream_count; i++)
        add(streams, file_json(&s->streams[i]));
    put(o, "streams", streams);
    return o;
}

static json_t *operator_json(const struct inspect *in, const struct operator_meta *op)
{
    json_t *o = json_object(), *subtasks = json_array();
    struct metadata_sizes sizes = {0};

    for (size_t i = 0; i < op->subtask_count; i++) {
        subtask_metadata_sizes(&op->subtasks[i], &sizes);
        add(subtasks, subtask_json(in, &op->subtasks[i]));
    }
    put(o, "id", text(op->id));
    put(o, "uid", text(op->uid));
    put(o, "name", text(op->name));
    put(o, "parallelism", integer(op->parallelism));
    put(o, "max_parallelism", integer(op->key_group_count));
    put(o, "finished", json_boolean(op->finished));
    put(o, "keys", integer(operator_entry_count(op)));
    put(o, "sizes", sizes_json(&sizes));
    put(o, "subtasks", subtasks);
    return o;
}

static json_t *faults_json(const struct snapshot_view *v)
{
    json_t *faults = json_array();

    for (size_t i = 0; i < v->kept_count; i++) {
        json_t *o = json_object();

        put(o, "path", text(v->faults[i].path));
        put(o, "operator", text(v->faults[i].operator_name));
        put(o, "subtask", integer(v->faults[i].subtask_index));
        put(o, "size", integer(v->faults[i].size_bytes));
        put(o, "reason", text(v->faults[i].reason));
        add(faults, o);
    }
    return faults;
}

static json_t *settings_json(const struct checkpoint_metadata *m)
{
    json_t *settings = json_object();

    for (size_t i = 0; i < m->setting_count; i++)
        if (json_object_set_new(settings, m->settings[i].key, text(m->settings[i].value)) != 0)
            continue; /* a key that is not UTF-8 is no option of ours */
    return settings;
}

static void put_flink_states(const struct inspect *in, const struct snapshot_view *v,
                             const struct flink_metadata *m, json_t *operators)
{
    struct arena *arena = arena_new(0);
    const struct flink_inventory *all = inspect_flink_states(in, v, m, arena);

    for (size_t i = 0; i < m->operator_count; i++)
        inspect_flink_json(&all[i], json_array_get(operators, i));
    arena_free(arena);
}

static void put_metadata(const struct inspect *in, json_t *o, const struct snapshot_view *v,
                         const struct checkpoint_metadata *m)
{
    json_t *operators = json_array(), *outside;

    put(o, "job_id", text(m->job_id));
    put(o, "job_name", text(m->job_name));
    put(o, "varve_version", text(m->varve_version));
    put(o, "rocksdb_version", text(m->rocksdb_version));
    put(o, "sql", text(m->sql));
    put(o, "settings", settings_json(m));
    for (size_t i = 0; i < m->operator_count; i++)
        add(operators, operator_json(in, &m->operators[i]));
    if (m->flink != NULL)
        put_flink_states(in, v, m->flink, operators);
    put(o, "operators", operators);
    if (m->flink != NULL)
        put(o, "flink", flink_metadata_json(m->flink));
    outside = inspect_outside(in, v, m);
    if (outside != NULL)
        put(o, "outside", outside);
}

/* meta NULL: not asked for, or unreadable. */
static json_t *snapshot_object(const struct inspect *in, const struct snapshot_view *v,
                               const struct checkpoint_metadata *meta)
{
    json_t *o = json_object();

    put(o, "path", text(v->dir));
    put(o, "status", text(snapshot_status_str(v->status)));
    put(o, "reason", text(v->reason));
    put(o, "checkpoint_id", v->checkpoint_id == 0 ? json_null() : integer(v->checkpoint_id));
    put(o, "kind", v->readable ? text(snapshot_kind_str(v->kind)) : json_null());
    if (v->status == SNAPSHOT_INCOMPLETE) {
        put(o, "size", integer(v->dir_bytes));
        put(o, "changed_ms", json_integer(v->changed_wall_ms));
        put(o, "age_ms", json_integer(inspect_ms_between(v->changed_wall_ms, in->now_wall_ms)));
    }
    if (!v->readable)
        return o;
    put(o, "trigger_ms", json_integer(v->trigger_wall_ms));
    put(o, "completed_ms", json_integer(v->completed_wall_ms));
    put(o, "duration_ms",
        json_integer(inspect_ms_between(v->trigger_wall_ms, v->completed_wall_ms)));
    put(o, "age_ms", json_integer(inspect_ms_between(v->completed_wall_ms, in->now_wall_ms)));
    put(o, "sizes", sizes_json(&v->sizes));
    put(o, "only", v->only_known ? integer(v->only_bytes) : json_null());
    put(o, "metadata_size", integer(v->metadata_bytes));
    put(o, "linked", integer(v->linked_bytes));
    put(o, "not_linked", integer(v->single_bytes));
    put(o, "fault_count", integer(v->fault_count));
    put(o, "faults", faults_json(v));
    if (meta != NULL)
        put_metadata(in, o, v, meta);
    return o;
}

static json_t *orphan_json(const struct inspect *in, const struct orphan *orphan)
{
    json_t *o = json_object();

    put(o, "kind", text(orphan_kind_str(orphan->kind)));
    put(o, "reason", text(orphan_reason_str(orphan->kind)));
    put(o, "path", text(orphan->path));
    put(o, "size", integer(orphan->size_bytes));
    put(o, "changed_ms", json_integer(orphan->changed_wall_ms));
    put(o, "age_ms", json_integer(inspect_ms_between(orphan->changed_wall_ms, in->now_wall_ms)));
    return o;
}

static json_t *ended_json(const struct ended *e)
{
    json_t *o = json_object();

    put(o, "state", text(ended_word(e->end)));
    put(o, "id", integer(e->checkpoint_id));
    put(o, "savepoint", e->savepoint_dir == NULL ? json_null() : text(e->savepoint_dir));
    put(o, "ended_ms", json_integer(e->wall_ms));
    put(o, "job_id", text(e->job_id));
    put(o, "job_name", text(e->job_name));
    return o;
}

/* All of a job but its lists. */
static json_t *job_object(const struct job_dir_view *job)
{
    const struct orphan_report *r = &job->orphans;
    json_t *o = json_object(), *shared = json_object();

    put(o, "path", text(job->dir));
    put(o, "job_id", text(job->job_id));
    put(o, "job_name", text(job->job_name));
    put(o, "newest_seen_id", integer(r->newest_seen_id));
    put(o, "flink", r->flink_why == NULL ? json_null() : text(r->flink_why));
    put(shared, "files", integer(r->shared_file_count));
    put(shared, "size", integer(r->shared_bytes));
    put(shared, "unreferenced_files", integer(r->unnamed_count));
    put(shared, "unreferenced_size", integer(r->unnamed_bytes));
    put(o, "shared", shared);
    if (r->ended.job_name != NULL)
        put(o, "ended", ended_json(&r->ended));
    if (r->ended_fault != NULL)
        put(o, "ended_fault", text(r->ended_fault));
    if (job->newest_meta != NULL) {
        put(o, "sql", text(job->newest_meta->sql));
        put(o, "settings", settings_json(job->newest_meta));
    }
    return o;
}

/* ---- the printer ---------------------------------------------------------------------------- */

static void append(struct inspect *in, json_t *value_take)
{
    json_dump_to(value_take, false, &in->out);
    json_decref(value_take);
}

/* An object whose last member, a list, follows piece by piece: without its end. */
static void append_open(struct inspect *in, json_t *object_take)
{
    append(in, object_take);
    in->out.len--; /* the brace */
}

static void append_element(struct inspect *in, bool first, json_t *value_take)
{
    buf_append_str(&in->out, first ? "\n" : ",\n");
    append(in, value_take);
}

static void json_begin(struct inspect *in, const struct snapshot_list *l)
{
    buf_printf(&in->out, "{\"type\":\"%s\"", snapshot_list_type_str(l->type));
    if (l->type == LIST_OF_ROOT) {
        buf_append_str(&in->out, ",\"path\":");
        append(in, text(l->path));
        buf_append_str(&in->out, ",\"jobs\":[");
    }
}

static enum rc json_job(struct inspect *in, const struct snapshot_list *l,
                        const struct job_dir_view *job, bool first, struct err *err)
{
    size_t start, listed = 0;

    buf_append_str(&in->out, l->type == LIST_OF_JOB ? "," : first ? "\n" : ",\n");
    start = in->out.len;
    append_open(in, job_object(job));
    if (l->type == LIST_OF_JOB) { /* its members are the report's own: without its brace */
        in->out.len--;
        memmove(in->out.data + start, in->out.data + start + 1, in->out.len - start);
    }
    buf_append_str(&in->out, ",\"orphans\":[");
    for (size_t i = 0; i < job->orphans.orphan_count; i++) {
        append_element(in, i == 0, orphan_json(in, &job->orphans.orphans[i]));
        RETURN_IF_ERR(inspect_flush(in, false, err));
    }
    buf_append_str(&in->out, "],\"checkpoints\":[");
    for (size_t i = 0; i < job->snapshot_count; i++) {
        const struct snapshot_view *v = &job->snapshots[i];
        bool whole = in->options->files && v->readable;
        const struct checkpoint_metadata *meta = whole ? inspect_reread(in, v) : NULL;

        if (whole && meta == NULL && inspect_is_gone(in, v))
            continue;
        append_element(in, listed++ == 0, snapshot_object(in, v, meta));
        RETURN_IF_ERR(inspect_flush(in, false, err));
    }
    buf_append_str(&in->out, l->type == LIST_OF_JOB ? "]" : "]}");
    return RC_OK;
}

static void json_snapshots(struct inspect *in, const struct snapshot_list *l UNUSED)
{
    buf_append_str(&in->out, "],\"savepoints\":[");
}

static void json_snapshot(struct inspect *in, const struct snapshot_list *l,
                          const struct snapshot_view *v, const struct checkpoint_metadata *meta,
                          bool first)
{
    if (l->type == LIST_OF_ONE)
        buf_append_str(&in->out, ",\"snapshot\":");
    if (l->type == LIST_OF_ROOT)
        append_element(in, first, snapshot_object(in, v, meta));
    else
        append(in, snapshot_object(in, v, meta));
}

static void json_end(struct inspect *in, const struct snapshot_list *l)
{
    buf_append_str(&in->out, l->type == LIST_OF_ROOT ? "]}\n" : "}\n");
}

const struct inspect_printer inspect_json = {json_begin, json_job, json_snapshots, json_snapshot,
                                             json_end};
