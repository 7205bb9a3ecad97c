/* flink_text.c - see flink_text.h */
#include "checkpoint/flink/flink_text.h"

#include "checkpoint/flink/data_input.h"

static void put_text(struct bytes text, struct buf *out)
{
    buf_append(out, text.data, text.len);
}

static const char *word_of(const struct java_value *v)
{
    return v != NULL && (v->kind == JAVA_STRING || v->kind == JAVA_ENUM)
               ? (const char *)v->text.data
               : NULL;
}

/* "Savepoint, CANONICAL, then NONE": name and enums of the type. */
static void put_type(const struct java_value *type, struct buf *out)
{
    static const char *const fields[] = {"formatType", "postCheckpointAction",
                                         "sharingFilesStrategy"};
    const char *name = word_of(java_field(type, "name"));

    buf_printf(out, "  properties: %s", name == NULL ? "of an unknown kind" : name);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *word = word_of(java_field(type, fields[i]));

        if (word != NULL)
            buf_printf(out, ", %s", word);
    }
}

void flink_print_head(const struct flink_metadata *m, struct buf *out)
{
    static const char *const discards[][2] = {
        {"discardCancelled", "cancelled"}, {"discardFailed", "failed"},
        {"discardFinished", "finished"},   {"discardSubsumed", "subsumed"},
        {"discardSuspended", "suspended"},
    };
    const struct java_value *type =
        m->properties == NULL ? NULL : java_field(m->properties, "checkpointType");
    const char *before = "; goes when";

    buf_printf(out, "  written by Flink: metadata of version %d\n", m->version);
    for (size_t i = 0; i < m->master_count; i++) {
        buf_append_str(out, "  hook ");
        put_text(m->masters[i].name, out);
        buf_printf(out, ": version %d, %zu bytes\n", m->masters[i].version,
                   m->masters[i].bytes.len);
    }
    if (type == NULL)
        return;
    put_type(type, out);
    for (size_t i = 0; i < ARRAY_LEN(discards); i++) {
        const struct java_value *flag = java_field(m->properties, discards[i][0]);

        if (flag == NULL || flag->integer == 0)
            continue;
        buf_printf(out, "%s %s", before, discards[i][1]);
        before = ",";
    }
    buf_append_str(out, "\n");
}

/* What of it is known: FLIP-27 sources begin with their version and that of their enumerator. */
void flink_print_operator(const struct flink_operator *op, struct buf *out)
{
    if (op->coordinator.tag != FLINK_STREAM_NONE)
        buf_printf(out, "    coordinator state: %zu bytes\n", op->coordinator.data.len);
}

static void put_lists(const struct flink_operator_state *s, const char *raw, struct buf *out)
{
    for (size_t i = 0; i < s->list_count; i++) {
        buf_printf(out, "      %slist ", raw);
        put_text(s->lists[i].name, out);
        buf_printf(out, ": %s, %zu items\n", flink_mode_str(s->lists[i].mode),
                   s->lists[i].offset_count);
    }
}

static void put_keyed(const struct flink_keyed *k, const char *raw, struct buf *out)
{
    const struct flink_incremental *i = k->incremental;
    const struct flink_changelog *c = k->changelog;

    if (i != NULL && i->checkpointed_size >= 0)
        buf_printf(out, "      %suploaded for this checkpoint: %lld bytes\n", raw,
                   (long long)i->checkpointed_size);
    else if (k->groups != NULL && raw[0] != '\0')
        buf_printf(out, "      %skeyed state of key groups %u..%u\n", raw, k->range.first,
                   k->range.first + k->range.count - 1);
    if (c != NULL)
        buf_printf(out,
                   "      %schangelog: %zu handles of materialization %lld, and %zu of later "
                   "changes, which varve does not apply\n",
                   raw, c->materialized_count, (long long)c->materialization_id, c->change_count);
}

static void put_channels(const struct flink_channel_handle *handles, size_t count,
                         const char *way, struct buf *out)
{
    size_t channels = 0, buffers = 0;
    int64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        channels += handles[i].channel_count;
        bytes = handles[i].size > INT64_MAX - bytes || handles[i].size < 0
                    ? bytes
                    : bytes + handles[i].size;
        for (size_t c = 0; c < handles[i].channel_count; c++)
            buffers += handles[i].channels[c].offset_count;
    }
    if (count > 0)
        buf_printf(out, "      in flight, %s: %zu buffers of %zu channels, %lld bytes\n", way,
                   buffers, channels, (long long)bytes);
}

void flink_print_subtask(const struct flink_subtask *s, struct buf *out)
{
    put_lists(&s->managed, "", out);
    put_lists(&s->raw, "raw ", out);
    put_keyed(&s->managed_keyed, "", out);
    put_keyed(&s->raw_keyed, "raw ", out);
    put_channels(s->inputs, s->input_count, "input", out);
    put_channels(s->outputs, s->output_count, "output", out);
}
