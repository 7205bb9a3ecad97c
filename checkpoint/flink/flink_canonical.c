/* flink_canonical.c - see flink_canonical.h */
#include "checkpoint/flink/flink_canonical.h"

#include "backend/keygroup.h"
#include "base/arena.h"

#include <stdlib.h>

#define METADATA_FOLLOWS 0x80u /* in a key's first byte: it is the last of its state */
#define END_OF_GROUP 0xFFFFu

void flink_canonical_begin(struct flink_canonical *c, struct flink_file *file,
                           struct bytes description, struct flink_range range, uint32_t prefix_len,
                           int64_t *offsets)
{
    *c = (struct flink_canonical){
        .file = file, .range = range, .prefix_len = prefix_len, .offsets = offsets};
    buf_append(&file->buf, description.data, description.len);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static void end_group(struct flink_canonical *c)
{
    if (!c->in_group)
        return;
    c->file->buf.data[c->last_key] |= METADATA_FOLLOWS;
    buf_append_be16(&c->file->buf, END_OF_GROUP);
    c->in_group = false;
}

static enum rc put(struct flink_canonical *c, uint32_t group, uint16_t state, struct bytes key,
                   struct bytes value, struct err *err)
{
    struct buf *b = &c->file->buf;
    size_t entry;

    if (!c->in_group || group != c->group) {
        end_group(c);
        c->offsets[group - c->range.first] = (int64_t)(c->file->written + b->len);
        buf_append_be16(b, state);
    } else if (state != c->state) {
        b->data[c->last_key] |= METADATA_FOLLOWS;
        buf_append_be16(b, state);
    }
    c->in_group = true;
    c->group = group;
    c->state = state;
    entry = b->len;
    buf_reserve(b, key.len + value.len + 8);
    put_be32(b->data + b->len, (uint32_t)key.len);
    c->last_key = b->len + 4;
    memcpy(b->data + c->last_key, key.data, key.len);
    b->len += 4 + key.len;
    put_be32(b->data + b->len, (uint32_t)value.len);
    b->len += 4;
    if (value.len > 0)
        memcpy(b->data + b->len, value.data, value.len);
    b->len += value.len;
    c->entries++;
    if (b->len < FLINK_TARGET_BUFFER)
        return RC_OK;
    c->last_key -= entry; /* the last one stays: its flag is not known yet */
    return flink_file_flush(c->file, entry, err);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int by_state_and_key(const void *a, const void *b)
{
    const struct flink_entry_at *x = a, *y = b;

    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return bytes_cmp(bytes_of(x->key, x->key_len), bytes_of(y->key, y->key_len));
}

/* Everything that waits. */
static enum rc put_run(struct flink_canonical *c, struct err *err)
{
    for (size_t i = 0; i < c->run_count; i++)
        c->items[i].key = c->run.data + c->items[i].at;
    if (!c->run_in_order && c->run_count > 1)
        qsort(c->items, c->run_count, sizeof *c->items, by_state_and_key);
    for (size_t i = 0; i < c->run_count; i++) {
        const struct flink_entry_at *e = &c->items[i];

        RETURN_IF_ERR(put(c, c->run_group, e->state, bytes_of(e->key, e->key_len),
                          bytes_of(e->key + e->key_len, e->value_len), err));
    }
    c->run_count = 0;
    buf_clear(&c->run);
    return RC_OK;
}

static void add_to_run(struct flink_canonical *c, uint16_t state, struct bytes key,
                       struct bytes value)
{
    const struct flink_entry_at *last = c->run_count > 0 ? &c->items[c->run_count - 1] : NULL;

    if (last == NULL)
        c->run_in_order = true;
    else if (c->run_in_order)
        c->run_in_order =
            last->state < state ||
            (last->state == state &&
             bytes_cmp(bytes_of(c->run.data + last->at, last->key_len), key) <= 0);
    if (c->run_count == c->run_cap) {
        c->run_cap = c->run_cap == 0 ? 256 : 2 * c->run_cap;
        c->items = mem_realloc(c->items, c->run_cap * sizeof *c->items);
    }
    c->items[c->run_count++] = (struct flink_entry_at){
        .at = c->run.len,
        .key_len = (uint32_t)key.len,
        .value_len = (uint32_t)value.len,
        .state = state};
    buf_append(&c->run, key.data, key.len);
    buf_append(&c->run, value.data, value.len);
}

static enum rc check(const struct flink_canonical *c, uint32_t state, uint32_t group,
                     struct bytes key, struct bytes value, struct err *err)
{
    bool waits = c->run_count > 0;
    uint32_t least = waits ? c->run_group : c->in_group ? c->group : c->range.first;

    if (state > INT16_MAX)
        return err_set(err, RC_LIMIT, "%u states in one stream, at most %d", state + 1, INT16_MAX);
    if (key.len > INT32_MAX || value.len > INT32_MAX)
        return err_set(err, RC_LIMIT, "an entry of %zu and %zu bytes: at most %d each", key.len,
                       value.len, INT32_MAX);
    if (group < least || group - c->range.first >= c->range.count)
        return err_set(err, RC_CORRUPT, "an entry of key group %u, where %u to %u are written",
                       group, least, c->range.first + c->range.count - 1);
    return RC_OK;
}

enum rc flink_canonical_add(struct flink_canonical *c, uint32_t state, struct bytes key,
                            struct bytes value, bool in_order, struct err *err)
{
    uint32_t group;

    if (key.len < c->prefix_len)
        return err_set(err, RC_CORRUPT, "a key of %zu bytes has no key group", key.len);
    group = keygroup_get_prefix(key.data, c->prefix_len);
    RETURN_IF_ERR(check(c, state, group, key, value, err));
    if (c->run_count > 0 && (group != c->run_group ||
                             c->run.len + key.len + value.len > FLINK_CANONICAL_SORT))
        RETURN_IF_ERR(put_run(c, err));
    if (in_order)
        return put(c, group, (uint16_t)state, key, value, err);
    c->run_group = group;
    add_to_run(c, (uint16_t)state, key, value);
    return RC_OK;
}

enum rc flink_canonical_end(struct flink_canonical *c, struct err *err)
{
    RETURN_IF_ERR(put_run(c, err));
    end_group(c);
    return RC_OK;
}

void flink_canonical_release(struct flink_canonical *c)
{
    buf_release(&c->run);
    mem_free(c->items);
    *c = (struct flink_canonical){0};
}
