/* flink_lists.c - see flink_lists.h */
#include "checkpoint/flink/flink_lists.h"

#include "checkpoint/flink/flink_input.h"

#define SNAPPY_MARK_BYTES 10u /* before the first chunk */

#include <inttypes.h>
#include <stdlib.h>

struct flink_lists {
    const struct flink_operator_state *handle;
    struct arena *arena;
    struct flink_input *in;
    struct flink_states states;
    uint64_t *offsets; /* of all items, ascending, and the stream's size */
    size_t offset_count;
};

static int by_offset(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void gather_offsets(struct flink_lists *l)
{
    size_t count = 1;

    for (size_t i = 0; i < l->handle->list_count; i++)
        count += l->handle->lists[i].offset_count;
    l->offsets = ARENA_ARRAY(l->arena, count, uint64_t);
    for (size_t i = 0; i < l->handle->list_count; i++)
        for (size_t k = 0; k < l->handle->lists[i].offset_count; k++)
            l->offsets[l->offset_count++] = (uint64_t)l->handle->lists[i].offsets[k];
    l->offsets[l->offset_count++] = flink_input_size(l->in);
    qsort(l->offsets, l->offset_count, sizeof *l->offsets, by_offset);
}

static uint64_t end_of(const struct flink_lists *l, uint64_t offset)
{
    size_t low = 0, high = l->offset_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (l->offsets[middle] <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->offset_count ? l->offsets[low] : flink_input_size(l->in);
}

enum rc flink_lists_open(struct fs *fs, struct flink_places *places,
                         const struct flink_operator_state *handle, struct flink_lists **out,
                         struct err *err)
{
    struct flink_lists *l = mem_calloc(1, sizeof *l);
    enum rc rc;

    l->handle = handle;
    l->arena = arena_new(0);
    GOTO_IF_ERR(
        flink_input_open(fs, &handle->stream, flink_place(places, &handle->stream), &l->in, err));
    gather_offsets(l);
    if (flink_input_size(l->in) > 0) /* an empty one has no lists */
        rc = flink_input_states(l->in, flink_states_operator, l->arena, &l->states, err);
out:
    if (rc != RC_OK) {
        flink_lists_close(l);
        return rc;
    }
    *out = l;
    return RC_OK;
}

void flink_lists_close(struct flink_lists *l)
{
    if (l == NULL)
        return;
    flink_input_close(l->in);
    arena_free(l->arena);
    mem_free(l);
}

const struct flink_states *flink_lists_states(const struct flink_lists *l)
{
    return &l->states;
}

const char *flink_list_word(const struct flink_list *list)
{
    return list->mode == FLINK_UNION       ? "OPERATOR_LIST UNION"
           : list->mode == FLINK_BROADCAST ? "BROADCAST"
                                           : "OPERATOR_LIST SPLIT_DISTRIBUTE";
}

const struct flink_state *flink_lists_state(const struct flink_lists *l,
                                            const struct flink_list *list)
{
    return flink_state_find(&l->states, list->name);
}

/* All from an offset to where the next item begins. */
static enum rc read_bytes(struct flink_lists *l, uint64_t offset, struct bytes *out,
                          struct err *err)
{
    size_t want = 4096;

    RETURN_IF_ERR(
        flink_input_seek(l->in, offset, end_of(l, offset), l->states.compressed, err));
    for (;; want *= 2) {
        RETURN_IF_ERR(flink_input_want(l->in, want, out, err));
        if (out->len < want)
            return RC_OK;
    }
}

enum rc flink_lists_bytes(struct flink_lists *l, const struct flink_list *list, size_t i,
                          struct bytes *out, struct err *err)
{
    ASSERT(i < list->offset_count);
    if (list->offsets[i] < 0)
        return err_set(err, RC_CORRUPT, "%s: item %zu has the offset %" PRId64,
                       flink_input_name(l->in), i, list->offsets[i]);
    return read_bytes(l, (uint64_t)list->offsets[i], out, err);
}

bool flink_lists_compressed(const struct flink_lists *l)
{
    return l->states.compressed;
}

/* Up to where it ends or, when nobody knows where that is, to the first item. */
enum rc flink_lists_header(struct flink_lists *l, struct bytes *out, struct err *err)
{
    uint64_t end = l->offsets[0], mark = l->states.compressed ? SNAPPY_MARK_BYTES : 0;
    struct flink_states again;
    struct reader r;
    uint8_t *copy;

    RETURN_IF_ERR(flink_input_seek(l->in, 0, UINT64_MAX, false, err));
    RETURN_IF_ERR(flink_input_want(l->in, (size_t)end, out, err));
    out->len = out->len < end ? out->len : (size_t)end;
    if (l->states.cut == NULL) {
        reader_init(&r, *out, flink_input_name(l->in));
        RETURN_IF_ERR(flink_states_operator(&r, l->arena, &again, err));
        out->len = r.pos;
    } else if (out->len > mark) {
        out->len -= mark;
    }
    copy = arena_copy(l->arena, out->data, out->len);
    if (l->states.version >= 6)
        copy[4] = 0; /* not compressed */
    *out = bytes_of(copy, out->len);
    return RC_OK;
}

/* How many entries a broadcast state has: it says so first. */
static enum rc read_count(struct reader *r, uint32_t *out, struct err *err)
{
    RETURN_IF_ERR(reader_be32(r, out, "number of entries", err));
    if (*out > FLINK_VALUE_PARTS_MAX / 2 || *out > r->all.len)
        return err_set(err, RC_CORRUPT, "%s: %u entries in %zu bytes", r->what, *out, r->all.len);
    return RC_OK;
}

/* As a map whose entries have their two serializers: never null, so without flags. */
static enum rc read_broadcast(const struct flink_state *s, struct bytes b, const char *what,
                              struct arena *arena, struct flink_value *out, struct err *err)
{
    struct flink_decoder d = {.arena = arena};
    struct reader r;
    uint32_t count;

    reader_init(&r, b, what);
    d.r = &r;
    RETURN_IF_ERR(read_count(&r, &count, err));
    *out = (struct flink_value){.kind = FLINK_VALUE_MAP,
                                .parts = ARENA_ARRAY(arena, 2 * (size_t)count + 1,
                                                     struct flink_value)};
    for (; out->part_count < 2 * (size_t)count && reader_left(&r) > 0; out->part_count++)
        RETURN_IF_ERR(flink_value_read(&d, out->part_count % 2 == 0 ? s->key : s->value,
                                       &out->parts[out->part_count], err));
    if (out->part_count < 2 * (size_t)count && !d.spent)
        return err_set(err, RC_CORRUPT, "%s: %zu of %u entries, then its bytes end", what,
                       out->part_count / 2, count);
    return reader_end(&r, err);
}

/* The next value, as its bytes. An opaque one takes all that is left: so only the last may be. */
static enum rc take_value(struct flink_decoder *d, const struct flink_serializer *s, bool last,
                          struct bytes *out, struct err *err)
{
    size_t at = d->r->pos;
    struct flink_value unused;

    RETURN_IF_ERR(flink_value_read(d, s, &unused, err));
    if (d->spent && !last)
        return err_set(err, RC_UNSUPPORTED, "%s: nobody can tell where an entry ends", d->r->what);
    *out = bytes_of(d->r->all.data + at, d->r->pos - at);
    return RC_OK;
}

enum rc flink_lists_entries(struct flink_lists *l, const struct flink_list *list, size_t i,
                            struct arena *arena, struct flink_broadcast_entry **out,
                            size_t *count, struct err *err)
{
    const struct flink_state *s = flink_lists_state(l, list);
    struct flink_decoder d = {.arena = arena};
    struct reader r;
    struct bytes all;
    uint32_t entries;

    RETURN_IF_ERR(flink_lists_bytes(l, list, i, &all, err));
    if (s == NULL || s->kind != FLINK_STATE_BROADCAST)
        return err_set(err, RC_UNSUPPORTED, "%s: nothing says what its entries are",
                       flink_input_name(l->in));
    reader_init(&r, all, flink_input_name(l->in));
    d.r = &r;
    RETURN_IF_ERR(read_count(&r, &entries, err));
    *count = entries;
    *out = ARENA_ARRAY(arena, (size_t)entries + 1, struct flink_broadcast_entry);
    for (uint32_t k = 0; k < entries; k++) {
        RETURN_IF_ERR(take_value(&d, s->key, false, &(*out)[k].key, err));
        RETURN_IF_ERR(take_value(&d, s->value, k + 1 == entries, &(*out)[k].value, err));
    }
    return reader_end(&r, err);
}

enum rc flink_lists_item(struct flink_lists *l, const struct flink_list *list, size_t i,
                         struct arena *arena, struct bytes *bytes, struct flink_value *value,
                         struct err *err)
{
    const struct flink_state *s = flink_lists_state(l, list);
    const char *what = arena_printf(arena, "%s: item %zu, offsets from %" PRId64 " on",
                                    flink_input_name(l->in), i, list->offsets[i]);

    RETURN_IF_ERR(flink_lists_bytes(l, list, i, bytes, err));
    if (s == NULL) {
        *value = (struct flink_value){.kind = FLINK_VALUE_OPAQUE, .text = *bytes};
        return RC_OK;
    }
    if (s->kind == FLINK_STATE_BROADCAST)
        return read_broadcast(s, *bytes, what, arena, value, err);
    return flink_value_of(*bytes, s->value, arena, what, value, err);
}
