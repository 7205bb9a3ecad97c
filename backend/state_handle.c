#include "backend/state_handle.h"

static const char *copy_str(struct arena *to, const char *s)
{
    return s == NULL ? NULL : arena_strdup(to, s);
}

void state_file_copy(struct arena *to, const struct state_file *from, struct state_file *out)
{
    *out = *from;
    out->local_name = copy_str(to, from->local_name);
    out->path = copy_str(to, from->path);
    out->resolved_path = copy_str(to, from->resolved_path);
    out->inline_bytes = arena_bytes_copy(to, from->inline_bytes);
}

static void state_desc_copy(struct arena *to, const struct state_desc *from, struct state_desc *out)
{
    *out = *from;
    out->name = copy_str(to, from->name);
    out->key_type = copy_str(to, from->key_type);
    out->namespace_type = copy_str(to, from->namespace_type);
    out->user_key_type = copy_str(to, from->user_key_type);
    out->value_type = copy_str(to, from->value_type);
    out->operand_operator = copy_str(to, from->operand_operator);
}

void keyed_handle_copy(struct arena *to, const struct keyed_handle *from, struct keyed_handle *out)
{
    *out = *from;
    out->backend_id = copy_str(to, from->backend_id);
    out->states = ARENA_ARRAY(to, from->state_count, struct state_desc);
    for (size_t i = 0; i < from->state_count; i++)
        state_desc_copy(to, &from->states[i], &out->states[i]);
    out->files = ARENA_ARRAY(to, from->file_count, struct state_file);
    for (size_t i = 0; i < from->file_count; i++)
        state_file_copy(to, &from->files[i], &out->files[i]);
    out->group_offsets = ARENA_ARRAY(to, from->group_offset_count, uint64_t);
    for (size_t i = 0; i < from->group_offset_count; i++)
        out->group_offsets[i] = from->group_offsets[i];
}

void list_state_copy(struct arena *to, const struct list_state *from, struct list_state *out)
{
    *out = *from;
    out->name = copy_str(to, from->name);
    out->items = ARENA_ARRAY(to, from->item_count, struct bytes);
    for (size_t i = 0; i < from->item_count; i++)
        out->items[i] = arena_bytes_copy(to, from->items[i]);
}

void channel_handle_copy(struct arena *to, const struct channel_handle *from,
                         struct channel_handle *out)
{
    *out = *from;
    out->from_id = copy_str(to, from->from_id);
    out->partitioning = copy_str(to, from->partitioning);
    out->row_type = copy_str(to, from->row_type);
    state_file_copy(to, &from->file, &out->file);
}

void subtask_state_copy(struct arena *to, const struct subtask_state *from,
                        struct subtask_state *out)
{
    *out = *from;
    out->keyed = ARENA_ARRAY(to, from->keyed_count, struct keyed_handle);
    for (size_t i = 0; i < from->keyed_count; i++)
        keyed_handle_copy(to, &from->keyed[i], &out->keyed[i]);
    out->lists = ARENA_ARRAY(to, from->list_count, struct list_state);
    for (size_t i = 0; i < from->list_count; i++)
        list_state_copy(to, &from->lists[i], &out->lists[i]);
    out->logs = ARENA_ARRAY(to, from->log_count, struct state_file);
    for (size_t i = 0; i < from->log_count; i++)
        state_file_copy(to, &from->logs[i], &out->logs[i]);
    out->channels = ARENA_ARRAY(to, from->channel_count, struct channel_handle);
    for (size_t i = 0; i < from->channel_count; i++)
        channel_handle_copy(to, &from->channels[i], &out->channels[i]);
    out->streams = ARENA_ARRAY(to, from->stream_count, struct state_file);
    for (size_t i = 0; i < from->stream_count; i++)
        state_file_copy(to, &from->streams[i], &out->streams[i]);
}

static void add_sizes(const struct state_file *files, size_t count, uint64_t *full_bytes,
                      uint64_t *new_bytes)
{
    for (size_t i = 0; i < count; i++) {
        *full_bytes += files[i].size_bytes;
        if (files[i].newly_written)
            *new_bytes += files[i].size_bytes;
    }
}

void subtask_state_sizes(const struct subtask_state *s, uint64_t *full_bytes, uint64_t *new_bytes)
{
    *full_bytes = 0;
    *new_bytes = 0;
    for (size_t i = 0; i < s->keyed_count; i++)
        add_sizes(s->keyed[i].files, s->keyed[i].file_count, full_bytes, new_bytes);
    add_sizes(s->logs, s->log_count, full_bytes, new_bytes);
    for (size_t i = 0; i < s->channel_count; i++)
        add_sizes(&s->channels[i].file, 1, full_bytes, new_bytes);
    add_sizes(s->streams, s->stream_count, full_bytes, new_bytes);
    for (size_t i = 0; i < s->list_count; i++) { /* lists go into every _metadata anew */
        for (size_t j = 0; j < s->lists[i].item_count; j++) {
            *full_bytes += s->lists[i].items[j].len;
            *new_bytes += s->lists[i].items[j].len;
        }
    }
}

const struct state_desc *state_desc_find(const struct state_desc *states, size_t count,
                                         const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(states[i].name, name) == 0)
            return &states[i];
    return NULL;
}

bool state_desc_has_totals(const struct state_desc *d)
{
    return d->fixed_value_bytes != 0 && (d->kind == STATE_VALUE || d->kind == STATE_REDUCING ||
                                         d->kind == STATE_AGGREGATING);
}
