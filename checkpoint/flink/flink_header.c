/* What a stream of a reader's states begins with. See flink_keyed.h. */
#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/flink_keyed_priv.h"
#include "checkpoint/flink/flink_sql_type.h"

#define PROXY_VERSION 6
#define BEFORE_KEY 5u /* version, compression */

/* ---- as it lies ------------------------------------------------------------------------------ */

/* Up to where it ends or, when nobody knows where that is, the first key group begins. */
static enum rc read_description(struct flink_reader *r, struct flink_input *in, struct arena *arena,
                                struct bytes *out, struct err *err)
{
    struct flink_states again;
    size_t want = SIZE_MAX;
    struct bytes shown;
    struct reader reader;

    for (uint32_t i = 0; r->groups != NULL && i < r->groups->range.count; i++)
        if (r->groups->offsets[i] > 0 && (uint64_t)r->groups->offsets[i] < want)
            want = (size_t)r->groups->offsets[i];
    if (want > flink_input_size(in))
        want = (size_t)flink_input_size(in);
    RETURN_IF_ERR(flink_input_seek(in, 0, UINT64_MAX, false, err));
    RETURN_IF_ERR(flink_input_want(in, want, &shown, err));
    *out = arena_bytes_copy(arena, bytes_of(shown.data, shown.len < want ? shown.len : want));
    if (r->states.cut != NULL)
        return RC_OK;
    reader_init(&reader, *out, flink_input_name(in));
    RETURN_IF_ERR(flink_states_keyed(&reader, arena, &again, err));
    out->len = reader.pos;
    return RC_OK;
}

static enum rc take_apart(struct bytes all, const char *what, struct arena *arena,
                          struct flink_header *out, struct err *err)
{
    const struct flink_serializer *key;
    struct reader r;
    uint16_t count;

    reader_init(&r, all, what);
    r.pos = BEFORE_KEY < all.len ? BEFORE_KEY : all.len;
    RETURN_IF_ERR(flink_serializer_record(&r, arena, &key, err));
    out->key = bytes_of(all.data + BEFORE_KEY, r.pos - BEFORE_KEY);
    RETURN_IF_ERR(data_u16(&r, &count, "number of states", err));
    out->state_count = count;
    out->states = bytes_of(all.data + r.pos, all.len - r.pos);
    return RC_OK;
}

static enum rc header_as_it_lies(struct flink_reader *r, struct arena *arena,
                                 struct flink_header *out, struct err *err)
{
    const struct flink_incremental *inc = r->from.handle->incremental;
    struct flink_input *in = r->in;
    struct bytes all;
    enum rc rc;

    if (in == NULL)
        RETURN_IF_ERR(flink_input_open(r->from.fs, &inc->meta,
                                       flink_place(r->from.places, &inc->meta), &in, err));
    rc = read_description(r, in, arena, &all, err);
    if (rc == RC_OK)
        rc = take_apart(all, flink_input_name(in), arena, out, err);
    if (in != r->in)
        flink_input_close(in);
    return rc;
}

/* ---- of raw timers --------------------------------------------------------------------------- */

static void put_text(struct buf *b, struct bytes modified)
{
    buf_append_be16(b, (uint16_t)modified.len);
    buf_append(b, modified.data, modified.len);
}

/* As PriorityQueue states are recorded: no options, one serializer. */
static void put_timers(struct buf *b, const struct flink_state *s)
{
    struct buf snapshot = {0};

    put_text(b, s->raw_name);
    buf_append_be32(b, FLINK_STATE_TIMERS);
    buf_append_be32(b, 0);
    buf_append_be32(b, 1);
    put_text(b, bytes_of_str("VALUE_SERIALIZER"));
    flink_put_snapshot_of_timer(s->raw_key, s->raw_namespace, &snapshot);
    flink_put_record(buf_bytes(&snapshot), b);
    buf_release(&snapshot);
}

static void header_of_timers(const struct flink_states *states, struct arena *arena,
                             struct flink_header *out)
{
    struct buf b = {0};

    if (states->count > 0) {
        flink_put_record(states->states[0].raw_key, &b);
        out->key = arena_bytes_copy(arena, buf_bytes(&b));
    }
    buf_clear(&b);
    for (size_t i = 0; i < states->count; i++)
        put_timers(&b, &states->states[i]);
    out->states = arena_bytes_copy(arena, buf_bytes(&b));
    out->state_count = (uint32_t)states->count;
    buf_release(&b);
}

enum rc flink_reader_header(struct flink_reader *r, struct arena *arena, struct flink_header *out,
                            struct err *err)
{
    *out = (struct flink_header){0};
    if (r->form != FLINK_FORM_RAW_TIMERS)
        return header_as_it_lies(r, arena, out, err);
    header_of_timers(&r->states, arena, out);
    return RC_OK;
}

void flink_header_put(const struct flink_header *parts, size_t count, struct buf *out)
{
    uint32_t states = 0;
    const struct flink_header *keyed = parts;

    for (size_t i = 0; i < count; i++) {
        states += parts[i].state_count;
        keyed = keyed->key.len > 0 ? keyed : &parts[i];
    }
    buf_append_be32(out, PROXY_VERSION);
    buf_append_u8(out, 0);
    buf_append(out, keyed->key.data, keyed->key.len);
    buf_append_be16(out, (uint16_t)states);
    for (size_t i = 0; i < count; i++)
        buf_append(out, parts[i].states.data, parts[i].states.len);
}
