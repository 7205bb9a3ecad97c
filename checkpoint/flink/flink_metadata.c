/* flink_metadata.c - see flink_metadata.h: header, operators, subtasks, properties. */
#include "checkpoint/flink/flink_metadata.h"

#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/flink_handles_priv.h"

#define MASTER_MAGIC 0xC96B1696u
#define OPERATORS_MAX 65536u
#define MASTERS_MAX 4096u
#define CHANNELS_MAX (1u << 18) /* of one subtask */
#define VERSION_OLDEST 2
#define VERSION_NEWEST 6

const char *flink_mode_str(enum flink_mode mode)
{
    static const char *const names[] = {"SPLIT_DISTRIBUTE", "UNION", "BROADCAST"};

    return names[mode];
}

bool flink_metadata_recognise(struct bytes file)
{
    return file.len >= 4 && get_be32(file.data) == FLINK_MAGIC;
}

void flink_id_hex(const uint8_t id[FLINK_ID_BYTES], char out[2 * FLINK_ID_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < FLINK_ID_BYTES; i++) {
        out[2 * i] = digits[id[i] >> 4];
        out[2 * i + 1] = digits[id[i] & 15];
    }
    out[2 * (size_t)FLINK_ID_BYTES] = '\0';
}

/* ---- one subtask ---------------------------------------------------------------------------- */

static enum rc read_optional_state(struct flink_decode *d, bool *has,
                                   struct flink_operator_state *out, struct err *err)
{
    int32_t flag;

    RETURN_IF_ERR(data_i32(d->r, &flag, "whether there is operator state", err));
    *has = flag != 0;
    return *has ? flink_read_operator_state(d, out, err) : RC_OK;
}

static enum rc read_channels(struct flink_decode *d, bool input,
                             struct flink_channel_handle **out, size_t *count, struct err *err)
{
    RETURN_IF_ERR(data_count(d->r, 18, CHANNELS_MAX, count, "count of channel handles", err));
    *out = ARENA_ARRAY(d->arena, *count, struct flink_channel_handle);
    for (size_t i = 0; i < *count; i++)
        RETURN_IF_ERR(flink_read_channel(d, input, &(*out)[i], err));
    return RC_OK;
}

static enum rc skip_old_fields(struct flink_decode *d, struct err *err)
{
    size_t at;
    int64_t duration_ms;
    int32_t legacy;

    RETURN_IF_ERR(data_i64(d->r, &duration_ms, "duration", err));
    at = d->r->pos;
    RETURN_IF_ERR(data_i32(d->r, &legacy, "count of legacy states", err));
    return legacy <= 0 ? RC_OK
                       : data_fault(d->r, at, err, "state of Flink 1.1, which nothing reads");
}

static enum rc read_subtask(struct flink_decode *d, struct flink_subtask *s, struct err *err)
{
    size_t at = d->r->pos;
    int32_t index;

    RETURN_IF_ERR(data_i32(d->r, &index, "subtask index", err));
    if (index < 0 && d->version < 3)
        return data_fault(d->r, at, err, "subtask index %d", index);
    s->finished = index < 0;
    s->index = index < 0 ? (uint32_t)(-(index + 1)) : (uint32_t)index;
    if (s->finished)
        return RC_OK;
    if (d->version == 2)
        RETURN_IF_ERR(skip_old_fields(d, err));
    RETURN_IF_ERR(read_optional_state(d, &s->has_managed, &s->managed, err));
    RETURN_IF_ERR(read_optional_state(d, &s->has_raw, &s->raw, err));
    RETURN_IF_ERR(flink_read_keyed(d, &s->managed_keyed, err));
    RETURN_IF_ERR(flink_read_keyed(d, &s->raw_keyed, err));
    if (d->version < 3)
        return RC_OK;
    RETURN_IF_ERR(read_channels(d, true, &s->inputs, &s->input_count, err));
    return read_channels(d, false, &s->outputs, &s->output_count, err);
}

/* ---- operators ------------------------------------------------------------------------------ */

static enum rc read_coordinator(struct flink_decode *d, struct flink_stream *out, struct err *err)
{
    size_t at = d->r->pos;

    RETURN_IF_ERR(flink_read_stream(d, out, err));
    return out->tag == FLINK_STREAM_NONE || out->tag == FLINK_STREAM_BYTES
               ? RC_OK
               : data_fault(d->r, at, err, "a coordinator state that is not inlined but of kind %d",
                            (int)out->tag);
}

static enum rc read_subtasks(struct flink_decode *d, struct flink_operator *op, struct err *err)
{
    size_t at = d->r->pos;
    int32_t count;

    RETURN_IF_ERR(data_i32(d->r, &count, "count of subtasks", err));
    if (count < 0 && d->version >= 3) {
        op->finished = true;
        return op->coordinator.tag == FLINK_STREAM_NONE
                   ? RC_OK
                   : data_fault(d->r, at, err, "a finished operator with a coordinator state");
    }
    if (count < 0 || count > (int32_t)FLINK_GROUPS_MAX ||
        (uint64_t)count * 4 > reader_left(d->r))
        return data_fault(d->r, at, err, "%d subtasks, %zu bytes left", count, reader_left(d->r));
    op->subtasks = ARENA_ARRAY(d->arena, (size_t)count, struct flink_subtask);
    for (int32_t i = 0; i < count; i++) {
        enum rc rc = read_subtask(d, &op->subtasks[i], err);

        if (rc != RC_OK)
            return err_wrap(err, rc, "entry %d of %d subtasks", i, count);
        op->subtask_count++;
    }
    return RC_OK;
}

static enum rc read_operator(struct flink_decode *d, struct flink_operator *op, struct err *err)
{
    char hex[2 * FLINK_ID_BYTES + 1];
    int32_t chain_length;
    struct bytes id;
    enum rc rc;

    op->name = op->uid = bytes_of_str("");
    if (d->version >= 5) {
        RETURN_IF_ERR(data_utf(d->r, d->arena, &op->name, "operator name", err));
        RETURN_IF_ERR(data_utf(d->r, d->arena, &op->uid, "operator uid", err));
    }
    RETURN_IF_ERR(reader_take(d->r, FLINK_ID_BYTES, &id, "operator id", err));
    memcpy(op->id, id.data, FLINK_ID_BYTES);
    RETURN_IF_ERR(data_i32(d->r, &op->parallelism, "parallelism", err));
    RETURN_IF_ERR(data_i32(d->r, &op->max_parallelism, "max parallelism", err));
    if (d->version == 2)
        RETURN_IF_ERR(data_i32(d->r, &chain_length, "chain length", err));
    else
        RETURN_IF_ERR(read_coordinator(d, &op->coordinator, err));
    rc = read_subtasks(d, op, err);
    flink_id_hex(op->id, hex);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "operator %s", hex);
}

/* ---- the file ------------------------------------------------------------------------------- */

static enum rc read_master(struct flink_decode *d, struct flink_master_state *out,
                           struct err *err)
{
    size_t at = d->r->pos;
    struct bytes inside;
    struct reader r;
    uint32_t magic;

    RETURN_IF_ERR(reader_be32(d->r, &magic, "master state", err));
    if (magic != MASTER_MAGIC)
        return data_fault(d->r, at, err, "0x%08x where a master state is to begin", magic);
    RETURN_IF_ERR(data_blob(d->r, &inside, "master state", err));
    reader_init(&r, inside, d->r->what);
    RETURN_IF_ERR(data_i32(&r, &out->version, "version of a master state", err));
    RETURN_IF_ERR(data_utf(&r, d->arena, &out->name, "name of a master state", err));
    RETURN_IF_ERR(data_blob(&r, &out->bytes, "bytes of a master state", err));
    return reader_end(&r, err);
}

static enum rc read_version(struct flink_decode *d, struct err *err)
{
    size_t at = d->r->pos;
    uint32_t magic;

    RETURN_IF_ERR(reader_be32(d->r, &magic, "magic", err));
    if (magic != FLINK_MAGIC)
        return data_fault(d->r, at, err, "0x%08x is not Flink's magic", magic);
    RETURN_IF_ERR(data_i32(d->r, &d->version, "version", err));
    if (d->version == 1)
        return err_set(err, RC_VERSION,
                       "%s: metadata of version 1, by Flink 1.1 or 1.2: nothing reads it any more",
                       d->r->what);
    if (d->version < VERSION_OLDEST || d->version > VERSION_NEWEST)
        return err_set(err, RC_VERSION,
                       "%s: Flink metadata of version %d: versions %d to %d can be read",
                       d->r->what, d->version, VERSION_OLDEST, VERSION_NEWEST);
    return RC_OK;
}

static enum rc read_body(struct flink_decode *d, struct flink_metadata *m, struct err *err)
{
    size_t at;

    RETURN_IF_ERR(read_version(d, err));
    m->version = d->version;
    at = d->r->pos;
    RETURN_IF_ERR(data_i64(d->r, &m->checkpoint_id, "checkpoint id", err));
    if (m->checkpoint_id < 0)
        return data_fault(d->r, at, err, "checkpoint id %lld", (long long)m->checkpoint_id);
    RETURN_IF_ERR(
        data_count(d->r, 8, MASTERS_MAX, &m->master_count, "count of master states", err));
    m->masters = ARENA_ARRAY(d->arena, m->master_count, struct flink_master_state);
    for (size_t i = 0; i < m->master_count; i++)
        RETURN_IF_ERR(read_master(d, &m->masters[i], err));
    RETURN_IF_ERR(
        data_count(d->r, 28, OPERATORS_MAX, &m->operator_count, "count of operators", err));
    m->operators = ARENA_ARRAY(d->arena, m->operator_count, struct flink_operator);
    for (size_t i = 0; i < m->operator_count; i++)
        RETURN_IF_ERR(read_operator(d, &m->operators[i], err));
    if (m->version >= 4) {
        enum rc rc;

        m->properties_offset = d->r->pos;
        rc = java_stream_read(d->r, d->arena, &m->properties, err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "checkpoint properties");
    }
    m->length = d->r->all.len;
    m->trailing_bytes = reader_left(d->r);
    return RC_OK;
}

enum rc flink_metadata_decode(struct bytes file, struct arena *arena, const char *what,
                              struct flink_metadata *out, struct err *err)
{
    struct flink_decode d = {.arena = arena};
    struct reader r;

    *out = (struct flink_metadata){0};
    reader_init(&r, file, what);
    d.r = &r;
    return read_body(&d, out, err);
}
