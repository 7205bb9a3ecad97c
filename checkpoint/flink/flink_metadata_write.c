/* flink_metadata_write.c - see flink_metadata_write.h */
#include "checkpoint/flink/flink_metadata_write.h"

#include "checkpoint/flink/data_output.h"

#define MASTER_MAGIC 0xC96B1696u

struct writer {
    struct buf *out;
    int32_t version;
    enum rc rc; /* the first error */
    struct err *err;
};

static void fail(struct writer *w, enum rc rc, const char *what)
{
    if (w->rc == RC_OK)
        w->rc = err_set(w->err, rc, "_metadata of version %d: %s", w->version, what);
}

static void put_text(struct writer *w, struct bytes text)
{
    if (!data_put_utf(w->out, text))
        fail(w, RC_LIMIT, "a text of more than 65535 bytes");
}

static void put_i32(struct writer *w, size_t n)
{
    if (n > INT32_MAX)
        fail(w, RC_LIMIT, "more than 2147483647 bytes or elements in one place");
    buf_append_be32(w->out, (uint32_t)n);
}

static void put_i64(struct writer *w, int64_t n)
{
    buf_append_be64(w->out, (uint64_t)n);
}

static void put_blob(struct writer *w, struct bytes b)
{
    put_i32(w, b.len);
    buf_append(w->out, b.data, b.len);
}

static void put_offsets(struct writer *w, const int64_t *offsets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_i64(w, offsets[i]);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void put_stream(struct writer *w, const struct flink_stream *s);

static void put_groups(struct writer *w, const struct flink_groups *g)
{
    buf_append_be32(w->out, g->range.first);
    buf_append_be32(w->out, g->range.count);
    put_offsets(w, g->offsets, g->range.count);
    put_stream(w, &g->stream);
}

static void put_stream(struct writer *w, const struct flink_stream *s)
{
    buf_append_u8(w->out, (uint8_t)s->tag);
    switch (s->tag) {
    case FLINK_STREAM_NONE:
    case FLINK_STREAM_EMPTY:
        return;
    case FLINK_STREAM_BYTES:
        put_text(w, s->path);
        put_blob(w, s->data);
        return;
    case FLINK_STREAM_FILE:
        put_i64(w, s->size);
        put_text(w, s->path);
        return;
    case FLINK_STREAM_RELATIVE:
        put_text(w, s->path);
        put_i64(w, s->size);
        return;
    case FLINK_STREAM_SEGMENT:
        put_i64(w, s->start);
        put_i64(w, s->size);
        put_i32(w, s->shared);
        put_text(w, s->path);
        put_text(w, s->logical_id);
        return;
    case FLINK_STREAM_GROUPS:
        put_groups(w, s->groups);
        return;
    }
}

/* ---- keyed state ----------------------------------------------------------------------------- */

static void put_files(struct writer *w, const struct flink_db_file *files, size_t count)
{
    put_i32(w, count);
    for (size_t i = 0; i < count; i++) {
        put_text(w, files[i].local_name);
        put_stream(w, &files[i].stream);
    }
}

static void put_database(struct writer *w, const struct flink_keyed *k)
{
    const struct flink_incremental *i = k->incremental;

    put_i64(w, i->checkpoint_id);
    put_text(w, i->backend_id);
    buf_append_be32(w->out, k->range.first);
    buf_append_be32(w->out, k->range.count);
    put_i64(w, i->checkpointed_size);
    put_stream(w, &i->meta);
    put_files(w, i->shared, i->shared_count);
    put_files(w, i->private, i->private_count);
    put_text(w, k->handle_id);
}

/* The forms that Flink still writes, but for changes. */
static void put_keyed(struct writer *w, const struct flink_keyed *k)
{
    buf_append_u8(w->out, (uint8_t)k->tag);
    switch (k->tag) {
    case FLINK_KEYED_NONE:
        return;
    case FLINK_KEYED_SAVEPOINT:
    case FLINK_KEYED_GROUPS_OLD:
        put_groups(w, k->groups);
        return;
    case FLINK_KEYED_GROUPS:
        put_groups(w, k->groups);
        put_text(w, k->handle_id);
        return;
    case FLINK_KEYED_INCREMENTAL:
        put_database(w, k);
        return;
    default:
        fail(w, RC_UNSUPPORTED, "keyed state in a form that is only read (changes, or of old versions)");
    }
}

/* ---- operator state and channels ------------------------------------------------------------- */

/* said: there is a handle, if only the null one. */
static void put_lists(struct writer *w, bool said, const struct flink_operator_state *s)
{
    said = said || s->tag != 0;
    put_i32(w, said);
    if (said)
        buf_append_u8(w->out, s->tag);
    if (s->tag == 0)
        return;
    put_i32(w, s->list_count);
    for (size_t i = 0; i < s->list_count; i++) {
        put_text(w, s->lists[i].name);
        buf_append_u8(w->out, (uint8_t)s->lists[i].mode);
        put_i32(w, s->lists[i].offset_count);
        put_offsets(w, s->lists[i].offsets, s->lists[i].offset_count);
    }
    if (s->tag == FLINK_LISTS_MERGED) {
        put_text(w, s->taskowned_dir);
        put_text(w, s->shared_dir);
        buf_append_u8(w->out, s->empty);
    }
    put_stream(w, &s->stream);
}

static void put_channel(struct writer *w, const struct flink_channel_handle *h)
{
    const struct flink_channel *c = h->channels;

    put_i32(w, (size_t)h->subtask_index);
    buf_append_be32(w->out, (uint32_t)c->a);
    buf_append_be32(w->out, (uint32_t)c->b);
    put_i32(w, c->offset_count);
    put_offsets(w, c->offsets, c->offset_count);
    put_i64(w, h->size);
    put_stream(w, &h->stream);
}

static void put_merged_channels(struct writer *w, const struct flink_channel_handle *h)
{
    struct buf *out = w->out, blob = {0};

    put_i32(w, (size_t)h->subtask_index);
    put_i64(w, h->size);
    put_stream(w, &h->stream);
    w->out = &blob;
    put_i32(w, h->channel_count);
    for (size_t i = 0; i < h->channel_count; i++) {
        const struct flink_channel *c = &h->channels[i];

        buf_append_be32(&blob, (uint32_t)c->a);
        buf_append_be32(&blob, (uint32_t)c->b);
        put_i64(w, c->size);
        put_i32(w, c->offset_count);
        put_offsets(w, c->offsets, c->offset_count);
    }
    w->out = out;
    put_blob(w, buf_bytes(&blob));
    buf_release(&blob);
}

/* `tag`: of plain ones; merged ones have that and 2. Before version 6 there are no tags. */
static void put_channels(struct writer *w, const struct flink_channel_handle *all, size_t count,
                         uint8_t tag)
{
    put_i32(w, count);
    for (size_t i = 0; i < count; i++) {
        const struct flink_channel_handle *h = &all[i];

        if (w->version >= 6)
            buf_append_u8(w->out, h->merged ? tag + 2 : tag);
        if (h->merged && w->version < 6)
            fail(w, RC_UNSUPPORTED, "merged channels: version 6 has them");
        else if (h->merged)
            put_merged_channels(w, h);
        else
            put_channel(w, h);
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

static void put_subtask(struct writer *w, const struct flink_subtask *s)
{
    buf_append_be32(w->out, s->finished ? ~s->index : s->index); /* ~i is -i - 1 */
    if (s->finished)
        return;
    put_lists(w, s->has_managed, &s->managed);
    put_lists(w, s->has_raw, &s->raw);
    put_keyed(w, &s->managed_keyed);
    put_keyed(w, &s->raw_keyed);
    put_channels(w, s->inputs, s->input_count, 1);
    put_channels(w, s->outputs, s->output_count, 2);
}

static void put_operator(struct writer *w, const struct flink_operator *op)
{
    if (w->version >= 5) {
        put_text(w, op->name);
        put_text(w, op->uid);
    }
    buf_append(w->out, op->id, FLINK_ID_BYTES);
    buf_append_be32(w->out, (uint32_t)op->parallelism);
    buf_append_be32(w->out, (uint32_t)op->max_parallelism);
    put_stream(w, &op->coordinator);
    if (op->finished) {
        buf_append_be32(w->out, UINT32_MAX);
        return;
    }
    put_i32(w, op->subtask_count);
    for (size_t i = 0; i < op->subtask_count; i++)
        put_subtask(w, &op->subtasks[i]);
}

static void put_masters(struct writer *w, const struct flink_metadata *m)
{
    struct buf *out = w->out, one = {0};

    put_i32(w, m->master_count);
    for (size_t i = 0; i < m->master_count; i++) {
        buf_clear(&one);
        w->out = &one;
        buf_append_be32(&one, (uint32_t)m->masters[i].version);
        put_text(w, m->masters[i].name);
        put_blob(w, m->masters[i].bytes);
        w->out = out;
        buf_append_be32(out, MASTER_MAGIC);
        put_blob(w, buf_bytes(&one));
    }
    buf_release(&one);
}

/* ---- properties ------------------------------------------------------------------------------ */

/* An object of CheckpointProperties as Flink 1.15 to 2.3 write it for a savepoint: kept in all cases,
 * forced, of SavepointType(format, "Savepoint", NONE). */
static const char before_format[] =
    "\254\355\000\005sr\0008org.apache.flink.runtime.checkpoint.CheckpointProperties\000\000\000"
    "\000\000\000\000\002\002\000\010Z\000\020discardCancelledZ\000\015discardFailedZ\000\017dis"
    "cardFinishedZ\000\017discardSubsumedZ\000\020discardSuspendedZ\000\006forcedZ\000\011unclai"
    "medL\000\016checkpointTypet\0002Lorg/apache/flink/runtime/checkpoint/SnapshotType;xp\000"
    "\000\000\000\000\001\000sr\0001org.apache.flink.runtime.checkpoint.SavepointType\240\207"
    "\323\010\244X\024\270\002\000\003L\000\012formatTypet\0005Lorg/apache/flink/core/execution/"
    "SavepointFormatType;L\000\004namet\000\022Ljava/lang/String;L\000\024postCheckpointActiont"
    "\000HLorg/apache/flink/runtime/checkpoint/SavepointType$PostCheckpointAction;xp~r\0003org.a"
    "pache.flink.core.execution.SavepointFormatType\000\000\000\000\000\000\000\000\022\000\000x"
    "r\000\016java.lang.Enum\000\000\000\000\000\000\000\000\022\000\000xp";

static const char after_format[] =
    "t\000\011Savepoint~r\000Forg.apache.flink.runtime.checkpoint.SavepointType$PostCheckpointAc"
    "tion\000\000\000\000\000\000\000\000\022\000\000xq\000~\000\011t\000\004NONE";

static void put_properties(struct buf *out, enum flink_properties p)
{
    const char *format = p == FLINK_PROPERTIES_CANONICAL ? "CANONICAL" : "NATIVE";

    buf_append(out, before_format, sizeof before_format - 1);
    buf_append_u8(out, 't');
    buf_append_be16(out, (uint16_t)strlen(format));
    buf_append_str(out, format);
    buf_append(out, after_format, sizeof after_format - 1);
}

enum rc flink_metadata_encode(const struct flink_metadata *m, enum flink_properties properties,
                              struct buf *out, struct err *err)
{
    struct writer w = {.out = out, .version = m->version < 3 ? 3 : m->version, .err = err};

    buf_append_be32(out, FLINK_MAGIC);
    buf_append_be32(out, (uint32_t)w.version);
    put_i64(&w, m->checkpoint_id);
    put_masters(&w, m);
    put_i32(&w, m->operator_count);
    for (size_t i = 0; i < m->operator_count; i++)
        put_operator(&w, &m->operators[i]);
    if (w.version >= 4)
        put_properties(out, properties);
    return w.rc;
}
