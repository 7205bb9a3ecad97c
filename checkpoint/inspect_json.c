/* inspect_json.c - the report as JSON: names and order are stable; new names may come. */
#include "base/json.h"
#include "checkpoint/inspect_priv.h"

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
    print_escaped(bytes_of_str(s), SIZE_MAX, &escaped);
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

static json_t *list_json(const struct list_state *l, bool items)
{
    json_t *o = json_object(), *preview = json_array();
    uint64_t bytes = 0;

    for (size_t i = 0; i < l->item_count; i++) {
        struct buf escaped = {0};

        bytes += l->items[i].len;
        if (!items || i >= PREVIEW_ITEMS)
            continue;
        print_escaped(l->items[i], PREVIEW_BYTES, &escaped);
        add(preview, json_string(buf_cstr(&escaped)));
        buf_release(&escaped);
    }
    put(o, "name", text(l->name));
    put(o, "mode", text(list_mode_str(l->mode)));
    put(o, "item_count", integer(l->item_count));
    put(o, "size", integer(bytes));
    if (items)
        put(o, "items", preview);
    else
        json_decref(preview);
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
    put(o, "shared_files", integer(s->shared_count));
    put(o, "exclusive_files", integer(s->exclusive_count));
    put(o, "inline_files", integer(s->inline_count));
    return o;
}

static json_t *subtask_json(const struct subtask_state *s, bool items)
{
    json_t *o = json_object(), *keyed = json_array(), *lists = json_array();
    struct metadata_sizes sizes = {0};

    subtask_metadata_sizes(s, &sizes);
    put(o, "index", integer(s->subtask_index));
    put(o, "finished", json_boolean(s->finished));
    put(o, "sizes", sizes_json(&sizes));
    for (size_t i = 0; i < s->keyed_count; i++)
        add(keyed, keyed_json(&s->keyed[i]));
    for (size_t i = 0; i < s->list_count; i++)
        add(lists, list_json(&s->lists[i], items));
    put(o, "keyed", keyed);
    put(o, "lists", lists);
    return o;
}

static json_t *operator_json(const struct operator_meta *op, bool items)
{
    json_t *o = json_object(), *subtasks = json_array();
    struct metadata_sizes sizes = {0};

    for (size_t i = 0; i < op->subtask_count; i++) {
        subtask_metadata_sizes(&op->subtasks[i], &sizes);
        add(subtasks, subtask_json(&op->subtasks[i], items));
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

    for (size_t i = 0; i < v->fault_count; i++) {
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

static void put_metadata(json_t *o, const struct checkpoint_metadata *m, bool items)
{
    json_t *settings = json_object(), *operators = json_array();

    put(o, "job_id", text(m->job_id));
    put(o, "job_name", text(m->job_name));
    put(o, "trigger_ms", json_integer(m->trigger_wall_ms));
    put(o, "completed_ms", json_integer(m->completed_wall_ms));
    put(o, "duration_ms", json_integer(m->completed_wall_ms - m->trigger_wall_ms));
    put(o, "varve_version", text(m->varve_version));
    put(o, "rocksdb_version", text(m->rocksdb_version));
    put(o, "sql", text(m->sql));
    for (size_t i = 0; i < m->setting_count; i++)
        if (json_object_set_new(settings, m->settings[i].key, text(m->settings[i].value)) != 0)
            continue; /* a key that is not UTF-8 is no option of ours */
    put(o, "settings", settings);
    for (size_t i = 0; i < m->operator_count; i++)
        add(operators, operator_json(&m->operators[i], items));
    put(o, "operators", operators);
}

static json_t *snapshot_json(const struct snapshot_view *v, bool items)
{
    json_t *o = json_object();

    put(o, "path", text(v->dir));
    put(o, "status", text(snapshot_status_str(v->status)));
    put(o, "reason", text(v->reason));
    put(o, "checkpoint_id", v->checkpoint_id == 0 ? json_null() : integer(v->checkpoint_id));
    put(o, "kind", v->meta == NULL ? json_null() : text(snapshot_kind_str(v->meta->kind)));
    if (v->status == SNAPSHOT_INCOMPLETE) {
        put(o, "size", integer(v->dir_bytes));
        put(o, "changed_ms", json_integer(v->changed_wall_ms));
    }
    if (v->meta == NULL)
        return o;
    put(o, "sizes", sizes_json(&v->sizes));
    put(o, "metadata_size", integer(v->metadata_bytes));
    put(o, "linked", integer(v->linked_bytes));
    put(o, "not_linked", integer(v->single_bytes));
    put(o, "faults", faults_json(v));
    put_metadata(o, v->meta, items);
    return o;
}

static json_t *orphans_json(const struct orphan_report *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->orphan_count; i++) {
        json_t *o = json_object();

        put(o, "kind", text(orphan_kind_str(r->orphans[i].kind)));
        put(o, "path", text(r->orphans[i].path));
        put(o, "size", integer(r->orphans[i].size_bytes));
        put(o, "changed_ms", json_integer(r->orphans[i].changed_wall_ms));
        add(list, o);
    }
    return list;
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

static void put_job(json_t *o, const struct job_view_dir *job, bool items)
{
    json_t *checkpoints = json_array(), *shared = json_object();

    put(o, "path", text(job->dir));
    put(o, "job_id", text(job->job_id));
    put(o, "job_name", text(job->job_name));
    put(o, "newest_seen_id", integer(job->orphans.newest_seen_id));
    put(shared, "files", integer(job->orphans.shared_file_count));
    put(shared, "size", integer(job->orphans.shared_bytes));
    put(shared, "unreferenced_files", integer(job->unreferenced_count));
    put(shared, "unreferenced_size", integer(job->unreferenced_bytes));
    put(o, "shared", shared);
    put(o, "orphans", orphans_json(&job->orphans));
    if (job->orphans.ended.job_name != NULL)
        put(o, "ended", ended_json(&job->orphans.ended));
    if (job->orphans.ended_fault != NULL)
        put(o, "ended_fault", text(job->orphans.ended_fault));
    for (size_t i = 0; i < job->snapshot_count; i++)
        add(checkpoints, snapshot_json(&job->snapshots[i], items));
    put(o, "checkpoints", checkpoints);
}

static void put_root(json_t *o, const struct inspect_view *v, bool items)
{
    json_t *jobs = json_array(), *savepoints = json_array();

    for (size_t i = 0; i < v->job_count; i++) {
        json_t *job = json_object();

        put_job(job, &v->jobs[i], items);
        add(jobs, job);
    }
    for (size_t i = 0; i < v->snapshot_count; i++)
        add(savepoints, snapshot_json(&v->snapshots[i], items));
    put(o, "path", text(v->path));
    put(o, "jobs", jobs);
    put(o, "savepoints", savepoints);
}

void inspect_print_json(const struct inspect_view *v, const struct inspect_options *options,
                        struct buf *out)
{
    json_t *o = json_object();

    switch (v->type) {
    case INSPECT_SNAPSHOT:
        put(o, "type", text("snapshot"));
        put(o, "snapshot", snapshot_json(&v->snapshots[0], options->files));
        break;
    case INSPECT_JOB:
        put(o, "type", text("job"));
        put_job(o, &v->jobs[0], options->files);
        break;
    case INSPECT_ROOT:
        put(o, "type", text("root"));
        put_root(o, v, options->files);
        break;
    }
    json_dump_to(o, true, out);
    buf_append_str(out, "\n");
    json_decref(o);
}
