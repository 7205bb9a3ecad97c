/* flink_json.c - see flink_json.h */
#include "checkpoint/flink/flink_json.h"

#define JAVA_SHOWN_MAX 100000u

json_t *flink_text_json(struct bytes text)
{
    json_t *value = json_stringn((const char *)text.data, text.len);
    struct buf escaped = {0};

    if (value != NULL)
        return value;
    buf_append_escaped(&escaped, text, SIZE_MAX);
    value = json_string(buf_cstr(&escaped));
    buf_release(&escaped);
    return value;
}

static void put(json_t *object, const char *name, json_t *value_take)
{
    ASSERT(value_take != NULL && json_object_set_new(object, name, value_take) == 0);
}

static void put_text(json_t *object, const char *name, struct bytes text)
{
    put(object, name, flink_text_json(text));
}

static void put_str(json_t *object, const char *name, const char *text)
{
    put(object, name, json_string(text));
}

static void put_int(json_t *object, const char *name, int64_t v)
{
    put(object, name, json_integer(v));
}

static void add(json_t *array, json_t *value_take)
{
    ASSERT(value_take != NULL && json_array_append_new(array, value_take) == 0);
}

static json_t *hex_json(struct bytes b)
{
    static const char digits[] = "0123456789abcdef";
    struct buf hex = {0};
    json_t *value;

    for (size_t i = 0; i < b.len; i++) {
        buf_append_u8(&hex, (uint8_t)digits[b.data[i] >> 4]);
        buf_append_u8(&hex, (uint8_t)digits[b.data[i] & 15]);
    }
    value = json_string(buf_cstr(&hex));
    buf_release(&hex);
    return value;
}

static json_t *offsets_json(const int64_t *offsets, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        add(list, json_integer(offsets[i]));
    return list;
}

static json_t *range_json(struct flink_range r)
{
    json_t *list = json_array();

    add(list, json_integer((json_int_t)r.first));
    add(list, json_integer((json_int_t)r.first + (json_int_t)r.count - 1));
    return list;
}

/* ---- Java ----------------------------------------------------------------------------------- */

static json_t *java_json(const struct java_value *v, uint32_t depth, uint32_t *left);

static json_t *java_items(const struct java_value *v, uint32_t depth, uint32_t *left)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->item_count && *left > 0; i++)
        add(list, java_json(v->items[i], depth, left));
    return list;
}

static json_t *java_object(const struct java_value *v, uint32_t depth, uint32_t *left)
{
    json_t *o = json_object();

    put_text(o, "class", v->class_name);
    for (size_t i = 0; i < v->field_count && *left > 0; i++) {
        json_t *value = java_json(v->fields[i].value, depth, left);

        /* a name that is no UTF-8 is none that a compiler made */
        (void)json_object_setn_new(o, (const char *)v->fields[i].name.data, v->fields[i].name.len,
                                   value);
    }
    if (v->item_count > 0)
        put(o, "data", java_items(v, depth, left));
    return o;
}

static json_t *java_named(const char *name, struct bytes class_name)
{
    json_t *o = json_object();

    put_text(o, name, class_name);
    return o;
}

static json_t *java_json(const struct java_value *v, uint32_t depth, uint32_t *left)
{
    json_t *o;

    if (depth > JAVA_DEPTH_MAX || *left == 0)
        return json_string("...");
    (*left)--;
    switch (v->kind) {
    case JAVA_NULL:
        return json_null();
    case JAVA_BOOLEAN:
        return json_boolean(v->integer != 0);
    case JAVA_INTEGER:
        return json_integer(v->integer);
    case JAVA_REAL:
        o = json_real(v->real);
        return o != NULL ? o : json_null(); /* not a number */
    case JAVA_STRING:
        return flink_text_json(v->text);
    case JAVA_ENUM:
        o = java_named("enum", v->class_name);
        put_text(o, "value", v->text);
        return o;
    case JAVA_OBJECT:
        return java_object(v, depth + 1, left);
    case JAVA_ARRAY:
        return java_items(v, depth + 1, left);
    case JAVA_BLOCK:
        o = json_object();
        put(o, "block", hex_json(v->text));
        return o;
    case JAVA_CLASS:
        return java_named("javaClass", v->class_name);
    case JAVA_CLASS_DESC:
        break;
    }
    return java_named("classDesc", v->class_name);
}

json_t *java_value_json(const struct java_value *v)
{
    uint32_t left = JAVA_SHOWN_MAX;

    return java_json(v, 0, &left);
}

/* ---- handles -------------------------------------------------------------------------------- */

static json_t *stream_json(const struct flink_stream *s)
{
    static const char *const types[] = {
        [FLINK_STREAM_BYTES] = "bytes",       [FLINK_STREAM_FILE] = "file",
        [FLINK_STREAM_GROUPS] = "keyGroups",  [FLINK_STREAM_RELATIVE] = "relative",
        [FLINK_STREAM_SEGMENT] = "segment",   [FLINK_STREAM_EMPTY] = "emptySegment",
    };
    json_t *o;

    if (s->tag == FLINK_STREAM_NONE)
        return json_null();
    o = json_object();
    put_str(o, "type", types[s->tag]);
    put_int(o, "tag", s->tag);
    if (s->tag == FLINK_STREAM_GROUPS) {
        put(o, "keyGroupRange", range_json(s->groups->range));
        put(o, "offsets", offsets_json(s->groups->offsets, s->groups->range.count));
        put(o, "stream", stream_json(&s->groups->stream));
        return o;
    }
    put_int(o, "size", s->size);
    if (s->tag == FLINK_STREAM_BYTES)
        put_text(o, "name", s->path);
    else if (s->tag != FLINK_STREAM_EMPTY)
        put_text(o, "path", s->path);
    if (s->tag == FLINK_STREAM_SEGMENT) {
        put_int(o, "start", s->start);
        put_str(o, "scope", s->shared ? "SHARED" : "EXCLUSIVE");
        put_text(o, "logicalFileId", s->logical_id);
    }
    return o;
}

static json_t *files_json(const struct flink_db_file *files, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *o = json_object();

        put_text(o, "localPath", files[i].local_name);
        put(o, "handle", stream_json(&files[i].stream));
        add(list, o);
    }
    return list;
}

static json_t *keyed_json(const struct flink_keyed *k);

static json_t *keyed_list_json(const struct flink_keyed *keyed, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        add(list, keyed_json(&keyed[i]));
    return list;
}

static void put_incremental(json_t *o, const struct flink_keyed *k)
{
    const struct flink_incremental *i = k->incremental;

    put_int(o, "checkpointId", i->checkpoint_id);
    put_text(o, "backendId", i->backend_id);
    if (k->tag == FLINK_KEYED_INCREMENTAL)
        put_int(o, "checkpointedSize", i->checkpointed_size);
    put(o, "meta", stream_json(&i->meta));
    put(o, "shared", files_json(i->shared, i->shared_count));
    put(o, "private", files_json(i->private, i->private_count));
}

static void put_changelog(json_t *o, const struct flink_changelog *c)
{
    put_int(o, "checkpointedSize", c->checkpointed_size);
    put(o, "materialized", keyed_list_json(c->materialized, c->materialized_count));
    put(o, "nonMaterialized", keyed_list_json(c->changes, c->change_count));
    put_int(o, "materializationId", c->materialization_id);
    put_int(o, "checkpointId", c->checkpoint_id);
}

static void put_changes(json_t *o, const struct flink_changes *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->change_count; i++) {
        json_t *change = json_object();

        put_int(change, "keyGroup", c->changes[i].key_group);
        put(change, "bytes", hex_json(c->changes[i].bytes));
        add(list, change);
    }
    put_int(o, "from", c->from);
    put_int(o, "to", c->to);
    put(o, "changes", list);
}

static void put_change_files(json_t *o, const struct flink_changes *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->part_count; i++) {
        json_t *part = json_object(), *handle = stream_json(&c->parts[i].stream);

        put_int(part, "offset", c->parts[i].offset);
        if (json_is_object(handle))
            put(handle, "atLeast", json_true()); /* Flink leaves the first byte out of the size */
        put(part, "handle", handle);
        add(list, part);
    }
    put(o, "parts", list);
    put_int(o, "size", c->size);
    put_int(o, "checkpointedSize", c->checkpointed_size);
    put_text(o, "storage", c->storage);
}

static bool has_handle_id(enum flink_keyed_tag tag)
{
    return tag != FLINK_KEYED_GROUPS_OLD && tag != FLINK_KEYED_SAVEPOINT &&
           tag != FLINK_KEYED_INCREMENTAL_OLD;
}

static json_t *keyed_json(const struct flink_keyed *k)
{
    json_t *o;

    if (k->tag == FLINK_KEYED_NONE)
        return json_null();
    o = json_object();
    put_str(o, "type",
            k->groups != NULL ? k->tag == FLINK_KEYED_SAVEPOINT ? "savepointKeyGroups" : "keyGroups"
            : k->incremental != NULL ? "incremental"
            : k->changelog != NULL   ? "changelog"
            : k->tag == FLINK_KEYED_CHANGES ? "changelogBytes"
                                            : "changelogFiles");
    put_int(o, "tag", k->tag);
    put(o, "keyGroupRange", range_json(k->range));
    if (k->groups != NULL) {
        put(o, "offsets", offsets_json(k->groups->offsets, k->groups->range.count));
        put(o, "stream", stream_json(&k->groups->stream));
    }
    if (k->incremental != NULL)
        put_incremental(o, k);
    if (k->changelog != NULL)
        put_changelog(o, k->changelog);
    if (k->tag == FLINK_KEYED_CHANGES)
        put_changes(o, k->changes);
    else if (k->changes != NULL)
        put_change_files(o, k->changes);
    if (has_handle_id(k->tag))
        put_text(o, "stateHandleId", k->handle_id);
    return o;
}

static json_t *operator_state_json(const struct flink_operator_state *s)
{
    json_t *o, *states;

    if (s->tag == 0)
        return json_null();
    o = json_object();
    states = json_object();
    put_str(o, "type", "operator");
    put_int(o, "tag", s->tag);
    for (size_t i = 0; i < s->list_count; i++) {
        json_t *list = json_object();

        put_str(list, "mode", flink_mode_str(s->lists[i].mode));
        put(list, "offsets", offsets_json(s->lists[i].offsets, s->lists[i].offset_count));
        if (json_object_setn_new(states, (const char *)s->lists[i].name.data,
                                 s->lists[i].name.len, list) != 0)
            continue; /* no UTF-8: a lone surrogate */
    }
    put(o, "states", states);
    if (s->tag == 17) {
        put_text(o, "taskOwnedDir", s->taskowned_dir);
        put_text(o, "sharedDir", s->shared_dir);
        put(o, "empty", json_boolean(s->empty));
    }
    put(o, "stream", stream_json(&s->stream));
    return o;
}

static void put_channel(json_t *o, bool input, const struct flink_channel *c)
{
    put_int(o, input ? "gate" : "partition", c->a);
    put_int(o, input ? "channel" : "subpartition", c->b);
    put(o, "offsets", offsets_json(c->offsets, c->offset_count));
    put_int(o, "size", c->size);
}

static json_t *channel_json(bool input, const struct flink_channel_handle *h)
{
    json_t *o = json_object(), *list;

    put_str(o, "type", h->merged ? "merged" : "channel");
    put_int(o, "subtask", h->subtask_index);
    if (h->merged) {
        list = json_array();
        for (size_t i = 0; i < h->channel_count; i++) {
            json_t *c = json_object();

            put_channel(c, input, &h->channels[i]);
            add(list, c);
        }
        put_int(o, "size", h->size);
        put(o, "channels", list);
    } else {
        put_channel(o, input, h->channels);
    }
    put(o, "stream", stream_json(&h->stream));
    return o;
}

static json_t *channels_json(bool input, const struct flink_channel_handle *handles, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        add(list, channel_json(input, &handles[i]));
    return list;
}

/* ---- operators ------------------------------------------------------------------------------ */

static json_t *subtask_json(int32_t version, const struct flink_subtask *s)
{
    json_t *o = json_object();

    put_int(o, "index", s->index);
    if (s->finished) {
        put(o, "finished", json_true());
        return o;
    }
    if (s->has_managed)
        put(o, "managedOperator", operator_state_json(&s->managed));
    if (s->has_raw)
        put(o, "rawOperator", operator_state_json(&s->raw));
    put(o, "managedKeyed", keyed_json(&s->managed_keyed));
    put(o, "rawKeyed", keyed_json(&s->raw_keyed));
    if (version >= 3) {
        put(o, "inputChannels", channels_json(true, s->inputs, s->input_count));
        put(o, "outputChannels", channels_json(false, s->outputs, s->output_count));
    }
    return o;
}

static json_t *operator_json(int32_t version, const struct flink_operator *op)
{
    json_t *o = json_object(), *subtasks = json_array();
    char hex[2 * FLINK_ID_BYTES + 1];

    if (version >= 5) {
        put_text(o, "name", op->name);
        put_text(o, "uid", op->uid);
    }
    flink_id_hex(op->id, hex);
    put_str(o, "id", hex);
    put_int(o, "parallelism", op->parallelism);
    put_int(o, "maxParallelism", op->max_parallelism);
    if (version >= 3)
        put(o, "coordinator", stream_json(&op->coordinator));
    for (size_t i = 0; i < op->subtask_count; i++)
        add(subtasks, subtask_json(version, &op->subtasks[i]));
    if (op->finished) {
        put(o, "fullyFinished", json_true());
        json_decref(subtasks);
    } else {
        put(o, "subtasks", subtasks);
    }
    return o;
}

json_t *flink_metadata_json(const struct flink_metadata *m)
{
    json_t *o = json_object(), *masters = json_array(), *operators = json_array();

    put_int(o, "version", m->version);
    put_int(o, "checkpointId", m->checkpoint_id);
    for (size_t i = 0; i < m->master_count; i++) {
        json_t *master = json_object();

        put_int(master, "version", m->masters[i].version);
        put_text(master, "name", m->masters[i].name);
        put(master, "bytes", hex_json(m->masters[i].bytes));
        add(masters, master);
    }
    put(o, "masterStates", masters);
    for (size_t i = 0; i < m->operator_count; i++)
        add(operators, operator_json(m->version, &m->operators[i]));
    put(o, "operators", operators);
    if (m->properties != NULL) {
        put(o, "properties", java_value_json(m->properties));
        put_int(o, "propertiesOffset", (int64_t)m->properties_offset);
    }
    put_int(o, "length", (int64_t)m->length);
    put_int(o, "trailingBytes", (int64_t)m->trailing_bytes);
    return o;
}
