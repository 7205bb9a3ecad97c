#include "backend/keyed_stream.h"

#include "base/rng.h"

static const char stream_magic[8] = {'V', 'V', 'K', 'S', 'T', 'R', 'M', '1'};
#define STREAM_VERSION 1u
#define BLOCK_MAGIC 0x4B4C4256u /* "VBLK" */
#define END_MAGIC 0x444E4556u   /* "VEND" */
#define END_BODY_BYTES 16u

/* ---- writing --------------------------------------------------------------------------------- */

struct keyed_stream_writer {
    struct snapshot_target *target;
    struct snapshot_stream *stream;
    struct key_group_range range;
    uint64_t *offsets;   /* per group of the range */
    uint32_t next_group; /* first group whose offset is not known yet */
    uint64_t at;         /* bytes appended */
    uint64_t entries, blocks;
    uint32_t group, state_id, block_entries;
    struct buf block; /* header and body of the block being filled */
};

static enum rc append(struct keyed_stream_writer *w, struct bytes b, struct err *err)
{
    RETURN_IF_ERR(w->target->ops->stream_append(w->stream, b, err));
    w->at += b.len;
    return RC_OK;
}

static void put_header(uint8_t *h, uint32_t magic, uint32_t group, uint32_t state_id,
                       uint32_t entries, struct bytes body)
{
    put_le32(h, magic);
    put_le32(h + 4, group);
    put_le32(h + 8, state_id);
    put_le32(h + 12, entries);
    put_le64(h + 16, body.len);
    put_le64(h + 24, hash64_seed(body, hash64(bytes_of(h, 24))));
}

enum rc keyed_stream_writer_open(struct snapshot_target *target, struct key_group_range range,
                                 uint32_t key_group_count, uint32_t state_count,
                                 struct keyed_stream_writer **out, struct err *err)
{
    struct keyed_stream_writer *w = mem_calloc(1, sizeof *w);
    uint8_t h[KEYED_STREAM_HEADER_BYTES] = {0};
    enum rc rc;

    w->target = target;
    w->range = range;
    w->next_group = range.first;
    w->offsets = mem_calloc(range.last - range.first + 1, sizeof *w->offsets);
    memcpy(h, stream_magic, 8);
    put_le32(h + 8, STREAM_VERSION);
    put_le32(h + 12, key_group_count);
    put_le32(h + 16, range.first);
    put_le32(h + 20, range.last);
    put_le32(h + 24, state_count);
    put_le64(h + 32, hash64(bytes_of(h, 32)));
    rc = target->ops->stream_open(target, &w->stream, err);
    if (rc == RC_OK)
        rc = append(w, bytes_of(h, sizeof h), err);
    if (rc != RC_OK) {
        keyed_stream_abort(w);
        return rc;
    }
    *out = w;
    return RC_OK;
}

void keyed_stream_abort(struct keyed_stream_writer *w)
{
    if (w == NULL)
        return;
    if (w->stream != NULL)
        w->target->ops->stream_abort(w->stream);
    mem_free(w->offsets);
    buf_release(&w->block);
    mem_free(w);
}

static enum rc end_block(struct keyed_stream_writer *w, struct err *err)
{
    struct bytes body;

    if (w->block_entries == 0)
        return RC_OK;
    body =
        bytes_of(w->block.data + KEYED_BLOCK_HEADER_BYTES, w->block.len - KEYED_BLOCK_HEADER_BYTES);
    put_header(w->block.data, BLOCK_MAGIC, w->group, w->state_id, w->block_entries, body);
    RETURN_IF_ERR(append(w, buf_bytes(&w->block), err));
    w->blocks++;
    w->block_entries = 0;
    buf_clear(&w->block);
    return RC_OK;
}

enum rc keyed_stream_write(struct keyed_stream_writer *w, uint32_t group, uint32_t state_id,
                           struct bytes key, struct bytes value, struct err *err)
{
    static const uint8_t header[KEYED_BLOCK_HEADER_BYTES];

    ASSERT(key_group_range_has(w->range, group));
    if (w->block_entries > 0 &&
        (group != w->group || state_id != w->state_id || w->block.len >= KEYED_BLOCK_BODY_FULL))
        RETURN_IF_ERR(end_block(w, err));
    if (w->block_entries == 0) {
        ASSERT(group >= w->group || w->entries == 0);
        while (w->next_group <= group)
            w->offsets[w->next_group++ - w->range.first] = w->at;
        w->group = group;
        w->state_id = state_id;
        buf_append(&w->block, header, sizeof header);
    }
    buf_append_varint(&w->block, key.len);
    buf_append(&w->block, key.data, key.len);
    buf_append_varint(&w->block, value.len);
    buf_append(&w->block, value.data, value.len);
    w->block_entries++;
    w->entries++;
    return RC_OK;
}

static enum rc write_end(struct keyed_stream_writer *w, struct err *err)
{
    uint8_t end[KEYED_BLOCK_HEADER_BYTES + END_BODY_BYTES];

    while (w->next_group <= w->range.last)
        w->offsets[w->next_group++ - w->range.first] = w->at;
    put_le64(end + KEYED_BLOCK_HEADER_BYTES, w->entries);
    put_le64(end + KEYED_BLOCK_HEADER_BYTES + 8, w->blocks);
    put_header(end, END_MAGIC, 0, 0, 0, bytes_of(end + KEYED_BLOCK_HEADER_BYTES, END_BODY_BYTES));
    return append(w, bytes_of(end, sizeof end), err);
}

enum rc keyed_stream_finish(struct keyed_stream_writer *w, struct arena *arena,
                            struct keyed_handle *out, struct err *err)
{
    struct snapshot_stream *stream;
    size_t groups = w->range.last - w->range.first + 1;
    enum rc rc;

    GOTO_IF_ERR(end_block(w, err));
    GOTO_IF_ERR(write_end(w, err));
    out->files = ARENA_NEW(arena, struct state_file);
    out->file_count = 1;
    stream = w->stream;
    w->stream = NULL; /* ended, whatever the code */
    GOTO_IF_ERR(w->target->ops->stream_finish(stream, arena, &out->files[0], err));
    out->files[0].local_name = "";
    out->group_offset_count = groups;
    out->group_offsets = arena_copy(arena, w->offsets, groups * sizeof *w->offsets);
    out->entry_count = w->entries;
out:
    keyed_stream_abort(w);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *shown_name(const struct state_file *f)
{
    const char *name = f->scope == FILE_INLINE ? f->local_name : f->resolved_path;

    ASSERT(name != NULL);
    return name[0] == '\0' ? "inline stream" : name;
}

enum rc state_file_measure(struct fs *fs, const struct state_file *f, struct err *err)
{
    struct fs_stat st = {.size_bytes = f->inline_bytes.len};

    if (f->scope != FILE_INLINE)
        RETURN_IF_ERR(fs_stat(fs, f->resolved_path, &st, err));
    if (st.size_bytes == f->size_bytes)
        return RC_OK;
    return err_set(err, RC_CORRUPT, "%s: %llu bytes, the snapshot names %llu", shown_name(f),
                   (unsigned long long)st.size_bytes, (unsigned long long)f->size_bytes);
}

enum rc state_file_prove(struct fs *fs, const struct state_file *f, struct err *err)
{
    char got[DIGEST_HEX_LEN + 1], want[DIGEST_HEX_LEN + 1];
    struct digest128 digest;
    uint64_t size = f->size_bytes;

    RETURN_IF_ERR(state_file_measure(fs, f, err));
    if (f->scope == FILE_INLINE)
        digest = digest_of(f->inline_bytes);
    else
        RETURN_IF_ERR(digest_file(fs, f->resolved_path, &digest, &size, err));
    if (size == f->size_bytes && digest_eq(digest, f->digest))
        return RC_OK;
    digest_hex(digest, got);
    digest_hex(f->digest, want);
    return err_set(err, RC_CORRUPT, "%s: digest %s, the snapshot names %s", shown_name(f), got,
                   want);
}

struct keyed_stream_reader {
    const struct keyed_handle *h;
    const char *what;     /* path, or "inline stream" */
    struct fs_file *file; /* NULL: inline */
    uint64_t size, end_at; /* end_at: of the end block */
    struct buf body;
    struct bytes *keys, *values;
    uint32_t cap;
};

static enum rc read_exact(struct keyed_stream_reader *r, uint64_t at, size_t len, uint8_t *out,
                          struct err *err)
{
    size_t got;

    if (at > r->size || len > r->size - at)
        return err_set(err, RC_CORRUPT, "%s: %zu bytes at offset %llu of %llu", r->what, len,
                       (unsigned long long)at, (unsigned long long)r->size);
    if (r->file == NULL) {
        if (len > 0)
            memcpy(out, r->h->files[0].inline_bytes.data + at, len);
        return RC_OK;
    }
    RETURN_IF_ERR(fs_read_at(r->file, at, out, len, &got, err));
    if (got < len)
        return err_set(err, RC_CORRUPT, "%s: ends at offset %llu", r->what,
                       (unsigned long long)(at + got));
    return RC_OK;
}

static enum rc check_header(struct keyed_stream_reader *r, struct err *err)
{
    uint8_t h[KEYED_STREAM_HEADER_BYTES];

    RETURN_IF_ERR(read_exact(r, 0, sizeof h, h, err));
    if (memcmp(h, stream_magic, 8) != 0)
        return err_set(err, RC_CORRUPT, "%s: not a keyed stream", r->what);
    if (get_le64(h + 32) != hash64(bytes_of(h, 32)))
        return err_set(err, RC_CORRUPT, "%s: header checksum differs", r->what);
    if (get_le32(h + 8) != STREAM_VERSION)
        return err_set(err, RC_VERSION, "%s: version %u, this program reads %u", r->what,
                       get_le32(h + 8), STREAM_VERSION);
    if (get_le32(h + 12) != r->h->key_group_count || get_le32(h + 16) != r->h->range.first ||
        get_le32(h + 20) != r->h->range.last || get_le32(h + 24) != r->h->state_count)
        return err_set(
            err, RC_CORRUPT,
            "%s: key groups %u..%u of %u with %u states, its handle says %u..%u of %u with %zu",
            r->what, get_le32(h + 16), get_le32(h + 20), get_le32(h + 12), get_le32(h + 24),
            r->h->range.first, r->h->range.last, r->h->key_group_count, r->h->state_count);
    return RC_OK;
}

/* Splits the body into entries; each key must belong to the block's group. */
static enum rc split_entries(struct keyed_stream_reader *r, uint64_t at, uint32_t group, uint32_t count,
                             struct err *err)
{
    struct reader in;
    uint32_t prefix_len = keygroup_prefix_len(r->h->key_group_count);

    if (count > r->body.len / 2)
        return err_set(err, RC_CORRUPT, "%s: block at offset %llu: %u entries in %zu bytes",
                       r->what, (unsigned long long)at, count, r->body.len);
    if (count > r->cap) {
        r->keys = mem_realloc(r->keys, count * sizeof *r->keys);
        r->values = mem_realloc(r->values, count * sizeof *r->values);
        r->cap = count;
    }
    reader_init(&in, buf_bytes(&r->body), r->what);
    for (uint32_t i = 0; i < count; i++) {
        RETURN_IF_ERR(reader_blob(&in, &r->keys[i], "key", err));
        RETURN_IF_ERR(reader_blob(&in, &r->values[i], "value", err));
        if (r->keys[i].len < prefix_len ||
            keygroup_get_prefix(r->keys[i].data, prefix_len) != group)
            return err_set(err, RC_CORRUPT,
                           "%s: block at offset %llu: entry %u is not of key group %u", r->what,
                           (unsigned long long)at, i, group);
    }
    return reader_end(&in, err);
}

/* One block at *at, which moves on. */
static enum rc read_block(struct keyed_stream_reader *r, uint64_t *at, uint32_t group,
                          keyed_stream_fn *fn, void *ctx, struct err *err)
{
    uint8_t h[KEYED_BLOCK_HEADER_BYTES];
    uint64_t body_len;
    uint32_t state_id, count;

    RETURN_IF_ERR(read_exact(r, *at, sizeof h, h, err));
    state_id = get_le32(h + 8);
    count = get_le32(h + 12);
    body_len = get_le64(h + 16);
    if (get_le32(h) != BLOCK_MAGIC || get_le32(h + 4) != group || state_id >= r->h->state_count ||
        body_len > KEYED_BLOCK_BODY_MAX || body_len > r->size - *at)
        return err_set(
            err, RC_CORRUPT,
            "%s: no block of key group %u at offset %llu (group %u, state %u, %llu bytes)", r->what,
            group, (unsigned long long)*at, get_le32(h + 4), state_id,
            (unsigned long long)body_len);
    buf_clear(&r->body);
    buf_reserve(&r->body, (size_t)body_len);
    RETURN_IF_ERR(read_exact(r, *at + sizeof h, (size_t)body_len, r->body.data, err));
    r->body.len = (size_t)body_len;
    if (get_le64(h + 24) != hash64_seed(buf_bytes(&r->body), hash64(bytes_of(h, 24))))
        return err_set(err, RC_CORRUPT, "%s: block at offset %llu: checksum differs", r->what,
                       (unsigned long long)*at);
    RETURN_IF_ERR(split_entries(r, *at, group, count, err));
    *at += sizeof h + body_len;
    return fn(ctx, state_id, count, r->keys, r->values, err);
}

static enum rc check_end(struct keyed_stream_reader *r, uint64_t *end_at, struct err *err)
{
    uint8_t end[KEYED_BLOCK_HEADER_BYTES + END_BODY_BYTES];
    struct bytes body = bytes_of(end + KEYED_BLOCK_HEADER_BYTES, END_BODY_BYTES);

    if (r->size < KEYED_STREAM_HEADER_BYTES + sizeof end)
        return err_set(err, RC_CORRUPT, "%s: cut: %llu bytes", r->what,
                       (unsigned long long)r->size);
    *end_at = r->size - sizeof end;
    RETURN_IF_ERR(read_exact(r, *end_at, sizeof end, end, err));
    if (get_le32(end) != END_MAGIC || get_le64(end + 16) != END_BODY_BYTES ||
        get_le64(end + 24) != hash64_seed(body, hash64(bytes_of(end, 24))))
        return err_set(err, RC_CORRUPT, "%s: no end block at offset %llu", r->what,
                       (unsigned long long)*end_at);
    if (get_le64(body.data) != r->h->entry_count)
        return err_set(err, RC_CORRUPT, "%s: %llu entries, its handle says %llu", r->what,
                       (unsigned long long)get_le64(body.data),
                       (unsigned long long)r->h->entry_count);
    return RC_OK;
}

static enum rc check_offsets(const struct keyed_stream_reader *r, uint64_t end_at, struct err *err)
{
    const struct keyed_handle *h = r->h;
    uint64_t last = KEYED_STREAM_HEADER_BYTES;

    if (h->group_offset_count != h->range.last - h->range.first + 1)
        return err_set(err, RC_CORRUPT, "%s: %zu offsets for key groups %u..%u", r->what,
                       h->group_offset_count, h->range.first, h->range.last);
    for (size_t i = 0; i < h->group_offset_count; i++) {
        if (h->group_offsets[i] < last || h->group_offsets[i] > end_at)
            return err_set(err, RC_CORRUPT, "%s: offset %llu of key group %zu", r->what,
                           (unsigned long long)h->group_offsets[i], h->range.first + i);
        last = h->group_offsets[i];
    }
    if (h->group_offsets[0] != KEYED_STREAM_HEADER_BYTES)
        return err_set(err, RC_CORRUPT, "%s: first key group at offset %llu", r->what,
                       (unsigned long long)h->group_offsets[0]);
    return RC_OK;
}

enum rc keyed_stream_open(struct fs *fs, const struct keyed_handle *h, bool prove,
                          struct keyed_stream_reader **out, struct err *err)
{
    struct keyed_stream_reader *r;
    enum rc rc;

    if (h->kind != KEYED_STREAM || h->file_count != 1)
        return err_set(err, RC_CORRUPT, "handle of a keyed stream with %zu files", h->file_count);
    r = mem_calloc(1, sizeof *r);
    r->h = h;
    r->what = "inline stream";
    r->size = h->files[0].size_bytes;
    GOTO_IF_ERR(prove ? state_file_prove(fs, &h->files[0], err)
                      : state_file_measure(fs, &h->files[0], err));
    if (h->files[0].scope != FILE_INLINE) {
        r->what = h->files[0].resolved_path;
        GOTO_IF_ERR(fs_open_read(fs, r->what, &r->file, err));
    }
    GOTO_IF_ERR(check_header(r, err));
    GOTO_IF_ERR(check_end(r, &r->end_at, err));
    rc = check_offsets(r, r->end_at, err);
out:
    if (rc == RC_OK)
        *out = r;
    else
        keyed_stream_close(r);
    return rc;
}

void keyed_stream_close(struct keyed_stream_reader *r)
{
    if (r == NULL)
        return;
    fs_abandon(&r->file);
    buf_release(&r->body);
    mem_free(r->keys);
    mem_free(r->values);
    mem_free(r);
}

enum rc keyed_stream_read_group(struct keyed_stream_reader *r, uint32_t group, keyed_stream_fn *fn,
                                void *ctx, struct err *err)
{
    const struct keyed_handle *h = r->h;
    size_t i = group - h->range.first;
    uint64_t at, stop;

    ASSERT(key_group_range_has(h->range, group));
    at = h->group_offsets[i];
    stop = i + 1 < h->group_offset_count ? h->group_offsets[i + 1] : r->end_at;
    while (at < stop)
        RETURN_IF_ERR(read_block(r, &at, group, fn, ctx, err));
    if (at != stop)
        return err_set(err, RC_CORRUPT, "%s: key group %u ends at offset %llu, not %llu", r->what,
                       group, (unsigned long long)at, (unsigned long long)stop);
    return RC_OK;
}

enum rc keyed_stream_read(struct fs *fs, const struct keyed_handle *h, struct key_group_range range,
                          keyed_stream_fn *fn, void *ctx, struct err *err)
{
    struct keyed_stream_reader *r;
    enum rc rc;

    RETURN_IF_ERR(keyed_stream_open(fs, h, true, &r, err));
    range = key_group_range_meet(range, h->range);
    rc = RC_OK;
    for (uint32_t g = range.first; rc == RC_OK && g <= range.last && range.first <= range.last; g++)
        rc = keyed_stream_read_group(r, g, fn, ctx, err);
    keyed_stream_close(r);
    return rc;
}
