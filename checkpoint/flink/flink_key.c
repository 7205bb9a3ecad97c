/* flink_key.c - see flink_key.h */
#include "checkpoint/flink/flink_key.h"

#include "backend/keygroup.h"
#include "checkpoint/flink/data_input.h"

#define LIST_DELIMITER ','

bool flink_key_is_ambiguous(const struct flink_serializer *key,
                            const struct flink_serializer *namespace)
{
    return key->length < 0 && namespace->length < 0;
}

/* ---- lengths: low byte first, until the rest is 0 -------------------------------------------- */

static enum rc check_length(struct reader *r, size_t len, const char *what, struct err *err)
{
    size_t at = r->pos, rest = len;
    uint8_t byte;

    do {
        RETURN_IF_ERR(reader_u8(r, &byte, what, err));
        if (byte != (rest & 0xFF))
            return data_fault(r, at, err, "%s is not %zu, which is what was read", what, len);
        rest >>= 8;
    } while (rest > 0);
    return RC_OK;
}

static void put_length(size_t len, struct buf *out)
{
    do {
        buf_append_u8(out, (uint8_t)len);
        len >>= 8;
    } while (len > 0);
}

void flink_key_put(const struct flink_states *states, const struct flink_state *s,
                   uint32_t prefix_len, uint32_t key_group, struct bytes key,
                   struct bytes namespace, struct buf *out)
{
    bool lengths = flink_key_is_ambiguous(states->key, s->namespace);

    buf_reserve(out, prefix_len);
    keygroup_put_prefix(out->data + out->len, prefix_len, key_group);
    out->len += prefix_len;
    buf_append(out, key.data, key.len);
    if (lengths)
        put_length(key.len, out);
    buf_append(out, namespace.data, namespace.len);
    if (lengths)
        put_length(namespace.len, out);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static enum rc read_group(struct reader *r, uint32_t prefix_len, uint32_t *out, struct err *err)
{
    struct bytes b;

    RETURN_IF_ERR(reader_take(r, prefix_len, &b, "key group", err));
    *out = keygroup_get_prefix(b.data, prefix_len);
    return RC_OK;
}

static enum rc read_timer(struct flink_decoder *d, const struct flink_state *s,
                          struct flink_key *out, struct err *err)
{
    size_t at = d->r->pos;
    struct flink_value timer;

    RETURN_IF_ERR(flink_value_read(d, s->value, &timer, err));
    if (timer.kind != FLINK_VALUE_RECORD || timer.part_count < 3) { /* its serializer is opaque */
        out->opaque = true;
        out->key = timer;
        return RC_OK;
    }
    out->timer_ms = timer.parts[0].integer;
    out->key = timer.parts[1];
    out->namespace = timer.parts[2];
    out->opaque = d->spent;
    out->key_bytes = bytes_of(d->r->all.data + at + 8, d->r->pos - at - 8);
    return RC_OK;
}

static enum rc read_parts(struct flink_decoder *d, const struct flink_states *states,
                          const struct flink_state *s, struct flink_key *out, struct err *err)
{
    bool lengths = flink_key_is_ambiguous(states->key, s->namespace);
    struct reader *r = d->r;
    size_t at = r->pos;

    RETURN_IF_ERR(flink_value_read(d, states->key, &out->key, err));
    out->key_bytes = bytes_of(r->all.data + at, r->pos - at);
    out->opaque = d->spent;
    if (out->opaque)
        return RC_OK;
    if (lengths)
        RETURN_IF_ERR(check_length(r, r->pos - at, "length of the key", err));
    at = r->pos;
    RETURN_IF_ERR(flink_value_read(d, s->namespace, &out->namespace, err));
    out->opaque = d->spent;
    if (out->opaque)
        return RC_OK;
    if (lengths)
        RETURN_IF_ERR(check_length(r, r->pos - at, "length of the namespace", err));
    out->owner_len = r->pos;
    out->has_user_key = s->type == FLINK_TYPE_MAP && s->user_key != NULL;
    if (out->has_user_key)
        RETURN_IF_ERR(flink_value_read(d, s->user_key, &out->user_key, err));
    return RC_OK;
}

enum rc flink_key_read(const struct flink_states *states, const struct flink_state *s,
                       uint32_t prefix_len, struct bytes composite, struct arena *arena,
                       struct flink_key *out, struct err *err)
{
    struct flink_decoder d = {.arena = arena};
    struct reader r;

    *out = (struct flink_key){0};
    reader_init(&r, composite, "key");
    d.r = &r;
    RETURN_IF_ERR(read_group(&r, prefix_len, &out->key_group, err));
    if (s->kind == FLINK_STATE_TIMERS)
        RETURN_IF_ERR(read_timer(&d, s, out, err));
    else
        RETURN_IF_ERR(read_parts(&d, states, s, out, err));
    if (out->owner_len == 0)
        out->owner_len = composite.len;
    if (s->type == FLINK_TYPE_MAP && s->user_key == NULL) /* an opaque map: bytes of its key */
        return RC_OK;
    if (reader_left(&r) > 0)
        return data_fault(&r, r.pos, err, "the key ends, and %zu bytes are left", reader_left(&r));
    return RC_OK;
}

/* A row: its length, then it. */
bool flink_key_row_hash(const struct flink_key *key, uint32_t *hash)
{
    uint32_t len = key->key_bytes.len < 4 ? 0 : get_be32(key->key_bytes.data);

    if (len == 0 || len % 4 != 0 || len > key->key_bytes.len - 4)
        return false;
    *hash = keygroup_row_hash(bytes_of(key->key_bytes.data + 4, len));
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Elements with a delimiter between them; only reading them tells where it is. */
static enum rc read_list(struct flink_decoder *d, const struct flink_serializer *element,
                         struct flink_value *out, struct err *err)
{
    size_t cap = 8;
    uint8_t byte;

    *out = (struct flink_value){.kind = FLINK_VALUE_LIST,
                                .parts = ARENA_ARRAY(d->arena, 8, struct flink_value)};
    while (reader_left(d->r) > 0) {
        size_t at = d->r->pos;

        if (out->part_count == FLINK_VALUE_PARTS_MAX)
            return err_set(err, RC_LIMIT, "value: a list of more than %u elements",
                           FLINK_VALUE_PARTS_MAX);
        if (out->part_count > 0) {
            RETURN_IF_ERR(reader_u8(d->r, &byte, "delimiter", err));
            if (byte != LIST_DELIMITER)
                return data_fault(d->r, at, err, "0x%02x is no delimiter of list elements", byte);
        }
        if (out->part_count == cap) {
            struct flink_value *more = ARENA_ARRAY(d->arena, 2 * cap, struct flink_value);

            memcpy(more, out->parts, cap * sizeof *more);
            out->parts = more;
            cap *= 2;
        }
        RETURN_IF_ERR(flink_value_read(d, element, &out->parts[out->part_count], err));
        out->part_count++;
    }
    return RC_OK;
}

/* What a time-to-live wraps around a value; the value takes its place. */
static void unwrap_ttl(const struct flink_serializer *s, struct flink_entry *out)
{
    if (flink_serializer_bare(s)->coding != FLINK_TTL || out->value.part_count < 1)
        return;
    out->has_last_access = true;
    out->last_access_ms = out->value.parts[0].integer;
    if (out->value.part_count == 2)
        out->value = out->value.parts[1];
    else
        out->value = (struct flink_value){0};
}

static enum rc read_map_value(struct flink_decoder *d, const struct flink_state *s,
                              struct flink_entry *out, struct err *err)
{
    uint8_t null;

    RETURN_IF_ERR(reader_u8(d->r, &null, "null flag", err));
    if (null > 1)
        return data_fault(d->r, 0, err, "null flag of a map's value: %u", null);
    if (null == 1) { /* a heap backend writes the null's own bytes after it */
        d->r->pos = d->r->all.len;
        return RC_OK;
    }
    RETURN_IF_ERR(flink_value_read(d, s->user_value, &out->value, err));
    unwrap_ttl(s->user_value, out);
    return RC_OK;
}

enum rc flink_entry_read(const struct flink_state *s, struct bytes value, struct arena *arena,
                         struct flink_entry *out, struct err *err)
{
    struct flink_decoder d = {.arena = arena};
    struct reader r;

    *out = (struct flink_entry){0};
    reader_init(&r, value, "value");
    d.r = &r;
    if (s->kind == FLINK_STATE_TIMERS) {
        /* all of it is in the key */
    } else if (s->type == FLINK_TYPE_LIST && s->element != NULL) {
        RETURN_IF_ERR(read_list(&d, s->element, &out->value, err));
    } else if (s->type == FLINK_TYPE_MAP && s->user_value != NULL) {
        RETURN_IF_ERR(read_map_value(&d, s, out, err));
    } else {
        RETURN_IF_ERR(flink_value_read(&d, s->value, &out->value, err));
        unwrap_ttl(s->value, out);
    }
    if (reader_left(&r) > 0)
        return data_fault(&r, r.pos, err, "the value ends, and %zu bytes are left",
                          reader_left(&r));
    return RC_OK;
}
