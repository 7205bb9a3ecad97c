/* flink_handles.c - state handles as a _metadata holds them: a tag, then what the tag says. */
#include "checkpoint/flink/flink_handles_priv.h"

#include "checkpoint/flink/data_input.h"

#define HANDLE_DEPTH_MAX 8u
#define HANDLES_MAX (1u << 20) /* of one list */
#define OFFSETS_MAX (1u << 26)
#define LISTS_MAX 65536u

static enum rc read_offsets(struct flink_decode *d, size_t count, int64_t **out, struct err *err)
{
    struct bytes raw;

    if (count > reader_left(d->r) / 8)
        return data_fault(d->r, d->r->pos, err, "%zu offsets do not fit into the %zu bytes left",
                          count, reader_left(d->r));
    RETURN_IF_ERR(reader_take(d->r, count * 8, &raw, "offsets", err));
    *out = ARENA_ARRAY(d->arena, count, int64_t);
    for (size_t i = 0; i < count; i++)
        (*out)[i] = (int64_t)get_be64(raw.data + i * 8);
    return RC_OK;
}

static enum rc read_range(struct flink_decode *d, struct flink_range *out, struct err *err)
{
    size_t at = d->r->pos;
    int32_t first, count;

    RETURN_IF_ERR(data_i32(d->r, &first, "first key group", err));
    RETURN_IF_ERR(data_i32(d->r, &count, "count of key groups", err));
    if (first < 0 || count < 0 || (int64_t)first + count > FLINK_GROUPS_MAX)
        return data_fault(d->r, at, err, "key groups %d and %d more of them", first, count);
    *out = (struct flink_range){(uint32_t)first, (uint32_t)count};
    return RC_OK;
}

static enum rc read_groups(struct flink_decode *d, struct flink_groups **out, struct err *err)
{
    struct flink_groups *g = ARENA_NEW(d->arena, struct flink_groups);

    *out = g;
    RETURN_IF_ERR(read_range(d, &g->range, err));
    RETURN_IF_ERR(read_offsets(d, g->range.count, &g->offsets, err));
    return flink_read_stream(d, &g->stream, err);
}

/* ---- streams -------------------------------------------------------------------------------- */

static enum rc read_segment(struct flink_decode *d, struct flink_stream *s, struct err *err)
{
    size_t at = d->r->pos;
    int32_t scope;

    RETURN_IF_ERR(data_i64(d->r, &s->start, "start of a segment", err));
    RETURN_IF_ERR(data_i64(d->r, &s->size, "size of a segment", err));
    RETURN_IF_ERR(data_i32(d->r, &scope, "scope of a segment", err));
    if (s->start < 0 || s->size < 0 || s->start > INT64_MAX - s->size || scope < 0 || scope > 1)
        return data_fault(d->r, at, err, "a segment of scope %d, %lld bytes from %lld on", scope,
                          (long long)s->size, (long long)s->start);
    s->shared = scope == 1;
    RETURN_IF_ERR(data_utf(d->r, d->arena, &s->path, "path of a segment", err));
    return data_utf(d->r, d->arena, &s->logical_id, "logical file id", err);
}

static enum rc read_stream_fields(struct flink_decode *d, struct flink_stream *s, size_t at,
                                  struct err *err)
{
    switch (s->tag) {
    case FLINK_STREAM_NONE:
    case FLINK_STREAM_EMPTY:
        return RC_OK;
    case FLINK_STREAM_BYTES:
        RETURN_IF_ERR(data_utf(d->r, d->arena, &s->path, "name of an inlined stream", err));
        RETURN_IF_ERR(data_blob(d->r, &s->data, "inlined stream", err));
        s->size = (int64_t)s->data.len;
        return RC_OK;
    case FLINK_STREAM_FILE:
        RETURN_IF_ERR(data_i64(d->r, &s->size, "size of a file", err));
        return data_utf(d->r, d->arena, &s->path, "path of a file", err);
    case FLINK_STREAM_RELATIVE:
        RETURN_IF_ERR(data_utf(d->r, d->arena, &s->path, "path of a relative file", err));
        return data_i64(d->r, &s->size, "size of a relative file", err);
    case FLINK_STREAM_SEGMENT:
        return read_segment(d, s, err);
    case FLINK_STREAM_GROUPS:
        RETURN_IF_ERR(read_groups(d, &s->groups, err));
        s->size = s->groups->stream.size;
        return RC_OK;
    }
    return data_fault(d->r, at, err, "a stream handle of the unknown kind %d", (int)s->tag);
}

enum rc flink_read_stream(struct flink_decode *d, struct flink_stream *out, struct err *err)
{
    size_t at = d->r->pos;
    uint8_t tag;
    enum rc rc;

    *out = (struct flink_stream){0};
    RETURN_IF_ERR(reader_u8(d->r, &tag, "kind of a stream handle", err));
    if (++d->depth > HANDLE_DEPTH_MAX)
        return data_fault(d->r, at, err, "handles nested deeper than %u", HANDLE_DEPTH_MAX);
    out->tag = (enum flink_stream_tag)tag;
    rc = read_stream_fields(d, out, at, err);
    d->depth--;
    return rc;
}

/* ---- keyed ---------------------------------------------------------------------------------- */

static enum rc read_db_files(struct flink_decode *d, struct flink_db_file **out, size_t *count,
                             struct err *err)
{
    RETURN_IF_ERR(data_count(d->r, 3, HANDLES_MAX, count, "count of database files", err));
    *out = ARENA_ARRAY(d->arena, *count, struct flink_db_file);
    for (size_t i = 0; i < *count; i++) {
        RETURN_IF_ERR(data_utf(d->r, d->arena, &(*out)[i].local_name, "name of a database file",
                               err));
        RETURN_IF_ERR(flink_read_stream(d, &(*out)[i].stream, err));
    }
    return RC_OK;
}

static enum rc read_incremental(struct flink_decode *d, struct flink_keyed *k, struct err *err)
{
    struct flink_incremental *i = ARENA_NEW(d->arena, struct flink_incremental);

    k->incremental = i;
    i->checkpointed_size = -1;
    RETURN_IF_ERR(data_i64(d->r, &i->checkpoint_id, "checkpoint of a keyed handle", err));
    RETURN_IF_ERR(data_utf(d->r, d->arena, &i->backend_id, "backend id", err));
    RETURN_IF_ERR(read_range(d, &k->range, err));
    if (k->tag == FLINK_KEYED_INCREMENTAL)
        RETURN_IF_ERR(data_i64(d->r, &i->checkpointed_size, "checkpointed size", err));
    RETURN_IF_ERR(flink_read_stream(d, &i->meta, err));
    RETURN_IF_ERR(read_db_files(d, &i->shared, &i->shared_count, err));
    RETURN_IF_ERR(read_db_files(d, &i->private, &i->private_count, err));
    return k->tag == FLINK_KEYED_INCREMENTAL
               ? data_utf(d->r, d->arena, &k->handle_id, "state handle id", err)
               : RC_OK;
}

static enum rc read_keyed_list(struct flink_decode *d, struct flink_keyed **out, size_t *count,
                               struct err *err)
{
    RETURN_IF_ERR(data_count(d->r, 1, HANDLES_MAX / 16, count, "count of keyed handles", err));
    *out = ARENA_ARRAY(d->arena, *count, struct flink_keyed);
    for (size_t i = 0; i < *count; i++)
        RETURN_IF_ERR(flink_read_keyed(d, &(*out)[i], err));
    return RC_OK;
}

static enum rc read_changelog(struct flink_decode *d, struct flink_keyed *k, struct err *err)
{
    struct flink_changelog *c = ARENA_NEW(d->arena, struct flink_changelog);

    k->changelog = c;
    RETURN_IF_ERR(read_range(d, &k->range, err));
    RETURN_IF_ERR(data_i64(d->r, &c->checkpointed_size, "checkpointed size", err));
    RETURN_IF_ERR(read_keyed_list(d, &c->materialized, &c->materialized_count, err));
    RETURN_IF_ERR(read_keyed_list(d, &c->changes, &c->change_count, err));
    RETURN_IF_ERR(data_i64(d->r, &c->materialization_id, "materialization id", err));
    c->checkpoint_id = c->materialization_id;
    if (k->tag == FLINK_KEYED_CHANGELOG)
        RETURN_IF_ERR(data_i64(d->r, &c->checkpoint_id, "checkpoint of a changelog", err));
    return data_utf(d->r, d->arena, &k->handle_id, "state handle id", err);
}

static enum rc read_changes(struct flink_decode *d, struct flink_keyed *k, struct err *err)
{
    struct flink_changes *c = ARENA_NEW(d->arena, struct flink_changes);

    k->changes = c;
    RETURN_IF_ERR(read_range(d, &k->range, err));
    RETURN_IF_ERR(data_i64(d->r, &c->from, "first change", err));
    RETURN_IF_ERR(data_i64(d->r, &c->to, "last change", err));
    RETURN_IF_ERR(data_count(d->r, 8, HANDLES_MAX, &c->change_count, "count of changes", err));
    c->changes = ARENA_ARRAY(d->arena, c->change_count, struct flink_change);
    for (size_t i = 0; i < c->change_count; i++) {
        RETURN_IF_ERR(data_i32(d->r, &c->changes[i].key_group, "key group of a change", err));
        RETURN_IF_ERR(data_blob(d->r, &c->changes[i].bytes, "change", err));
    }
    return data_utf(d->r, d->arena, &k->handle_id, "state handle id", err);
}

static enum rc read_change_files(struct flink_decode *d, struct flink_keyed *k, struct err *err)
{
    struct flink_changes *c = ARENA_NEW(d->arena, struct flink_changes);

    k->changes = c;
    RETURN_IF_ERR(read_range(d, &k->range, err));
    RETURN_IF_ERR(data_count(d->r, 9, HANDLES_MAX, &c->part_count, "count of change logs", err));
    c->parts = ARENA_ARRAY(d->arena, c->part_count, struct flink_change_part);
    for (size_t i = 0; i < c->part_count; i++) {
        RETURN_IF_ERR(data_i64(d->r, &c->parts[i].offset, "offset in a change log", err));
        RETURN_IF_ERR(flink_read_stream(d, &c->parts[i].stream, err));
    }
    RETURN_IF_ERR(data_i64(d->r, &c->size, "size of change logs", err));
    RETURN_IF_ERR(data_i64(d->r, &c->checkpointed_size, "checkpointed size", err));
    RETURN_IF_ERR(data_utf(d->r, d->arena, &k->handle_id, "state handle id", err));
    c->storage = bytes_of_str("filesystem");
    return k->tag == FLINK_KEYED_CHANGE_FILES
               ? data_utf(d->r, d->arena, &c->storage, "change log storage", err)
               : RC_OK;
}

static enum rc read_keyed_fields(struct flink_decode *d, struct flink_keyed *k, size_t at,
                                 struct err *err)
{
    switch (k->tag) {
    case FLINK_KEYED_NONE:
        return RC_OK;
    case FLINK_KEYED_GROUPS_OLD:
    case FLINK_KEYED_SAVEPOINT:
    case FLINK_KEYED_GROUPS:
        RETURN_IF_ERR(read_groups(d, &k->groups, err));
        k->range = k->groups->range;
        return k->tag == FLINK_KEYED_GROUPS
                   ? data_utf(d->r, d->arena, &k->handle_id, "state handle id", err)
                   : RC_OK;
    case FLINK_KEYED_INCREMENTAL_OLD:
    case FLINK_KEYED_INCREMENTAL:
        return read_incremental(d, k, err);
    case FLINK_KEYED_CHANGELOG_OLD:
    case FLINK_KEYED_CHANGELOG:
        return read_changelog(d, k, err);
    case FLINK_KEYED_CHANGES:
        return read_changes(d, k, err);
    case FLINK_KEYED_CHANGE_FILES_OLD:
    case FLINK_KEYED_CHANGE_FILES:
        return read_change_files(d, k, err);
    }
    return data_fault(d->r, at, err, "a keyed handle of the unknown kind %d", (int)k->tag);
}

enum rc flink_read_keyed(struct flink_decode *d, struct flink_keyed *out, struct err *err)
{
    size_t at = d->r->pos;
    uint8_t tag;
    enum rc rc;

    *out = (struct flink_keyed){0};
    RETURN_IF_ERR(reader_u8(d->r, &tag, "kind of a keyed handle", err));
    if (++d->depth > HANDLE_DEPTH_MAX)
        return data_fault(d->r, at, err, "handles nested deeper than %u", HANDLE_DEPTH_MAX);
    out->tag = (enum flink_keyed_tag)tag;
    rc = read_keyed_fields(d, out, at, err);
    d->depth--;
    return rc;
}

/* ---- operator state ------------------------------------------------------------------------- */

static enum rc read_list(struct flink_decode *d, struct flink_list *out, struct err *err)
{
    size_t at;
    uint8_t mode;

    RETURN_IF_ERR(data_utf(d->r, d->arena, &out->name, "name of a list state", err));
    at = d->r->pos;
    RETURN_IF_ERR(reader_u8(d->r, &mode, "mode of a list state", err));
    if (mode > FLINK_BROADCAST)
        return data_fault(d->r, at, err, "a list state of the unknown mode %u", mode);
    out->mode = (enum flink_mode)mode;
    RETURN_IF_ERR(data_count(d->r, 8, OFFSETS_MAX, &out->offset_count, "count of offsets", err));
    return read_offsets(d, out->offset_count, &out->offsets, err);
}

enum rc flink_read_operator_state(struct flink_decode *d, struct flink_operator_state *out,
                                  struct err *err)
{
    size_t at = d->r->pos;

    *out = (struct flink_operator_state){0};
    RETURN_IF_ERR(reader_u8(d->r, &out->tag, "kind of an operator handle", err));
    if (out->tag == 0)
        return RC_OK;
    if (out->tag != 4 && out->tag != 17)
        return data_fault(d->r, at, err, "an operator handle of the unknown kind %u", out->tag);
    RETURN_IF_ERR(data_count(d->r, 7, LISTS_MAX, &out->list_count, "count of list states", err));
    out->lists = ARENA_ARRAY(d->arena, out->list_count, struct flink_list);
    for (size_t i = 0; i < out->list_count; i++)
        RETURN_IF_ERR(read_list(d, &out->lists[i], err));
    if (out->tag == 17) {
        RETURN_IF_ERR(
            data_utf(d->r, d->arena, &out->taskowned_dir, "task-owned directory", err));
        RETURN_IF_ERR(data_utf(d->r, d->arena, &out->shared_dir, "shared directory", err));
        RETURN_IF_ERR(data_bool(d->r, &out->empty, "empty operator state", err));
    }
    return flink_read_stream(d, &out->stream, err);
}

/* ---- channels ------------------------------------------------------------------------------- */

static enum rc read_one_channel(struct flink_decode *d, struct flink_channel_handle *out,
                                struct err *err)
{
    struct flink_channel *c = ARENA_NEW(d->arena, struct flink_channel);

    out->channels = c;
    out->channel_count = 1;
    RETURN_IF_ERR(data_i32(d->r, &out->subtask_index, "subtask of a channel", err));
    RETURN_IF_ERR(data_i32(d->r, &c->a, "gate or partition", err));
    RETURN_IF_ERR(data_i32(d->r, &c->b, "channel", err));
    RETURN_IF_ERR(data_count(d->r, 8, OFFSETS_MAX, &c->offset_count, "count of offsets", err));
    RETURN_IF_ERR(read_offsets(d, c->offset_count, &c->offsets, err));
    RETURN_IF_ERR(data_i64(d->r, &c->size, "size of a channel", err));
    out->size = c->size;
    return flink_read_stream(d, &out->stream, err);
}

static enum rc read_merged_channels(struct flink_decode *outer, struct bytes blob,
                                    struct flink_channel_handle *out, struct err *err)
{
    struct flink_decode inner = *outer, *d = &inner;
    struct reader r;

    reader_init(&r, blob, outer->r->what);
    d->r = &r;
    RETURN_IF_ERR(
        data_count(&r, 20, HANDLES_MAX, &out->channel_count, "count of merged channels", err));
    out->channels = ARENA_ARRAY(d->arena, out->channel_count, struct flink_channel);
    for (size_t i = 0; i < out->channel_count; i++) {
        struct flink_channel *c = &out->channels[i];

        RETURN_IF_ERR(data_i32(&r, &c->a, "gate or partition", err));
        RETURN_IF_ERR(data_i32(&r, &c->b, "channel", err));
        RETURN_IF_ERR(data_i64(&r, &c->size, "size of a channel", err));
        RETURN_IF_ERR(data_count(&r, 8, OFFSETS_MAX, &c->offset_count, "count of offsets", err));
        RETURN_IF_ERR(read_offsets(d, c->offset_count, &c->offsets, err));
    }
    return reader_end(&r, err);
}

static enum rc read_merged(struct flink_decode *d, struct flink_channel_handle *out,
                           struct err *err)
{
    struct bytes blob;
    size_t at;
    enum rc rc;

    out->merged = true;
    RETURN_IF_ERR(data_i32(d->r, &out->subtask_index, "subtask of merged channels", err));
    RETURN_IF_ERR(data_i64(d->r, &out->size, "size of merged channels", err));
    RETURN_IF_ERR(flink_read_stream(d, &out->stream, err));
    at = d->r->pos + 4;
    RETURN_IF_ERR(data_blob(d->r, &blob, "offsets of merged channels", err));
    rc = read_merged_channels(d, blob, out, err);
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "offsets of merged channels, which begin at %zu", at);
}

enum rc flink_read_channel(struct flink_decode *d, bool input, struct flink_channel_handle *out,
                           struct err *err)
{
    size_t at = d->r->pos;
    uint8_t tag;

    *out = (struct flink_channel_handle){0};
    if (d->version < 6)
        return read_one_channel(d, out, err);
    RETURN_IF_ERR(reader_u8(d->r, &tag, "kind of a channel handle", err));
    if (tag == (input ? 1 : 2))
        return read_one_channel(d, out, err);
    if (tag == (input ? 3 : 4))
        return read_merged(d, out, err);
    return data_fault(d->r, at, err, "an %s channel handle of the unknown kind %u",
                      input ? "input" : "output", tag);
}
