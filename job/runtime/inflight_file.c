/* inflight_file.c - see inflight_file.h */
#include "job/runtime/inflight_file.h"

#include "job/batch_codec.h"

#define MAGIC "VARVEFLT"
#define VERSION 1u

const char *inflight_row_type(struct arena *arena, const struct schema *schema)
{
    struct buf text = {0};
    const char *out;

    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (i > 0)
            buf_append_str(&text, ", ");
        type_print(schema->fields[i].type, true, &text);
    }
    out = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

void inflight_file_head(const char *row_type, struct buf *out)
{
    size_t start = out->len;

    buf_append(out, MAGIC, 8);
    buf_append_le32(out, VERSION);
    buf_append_le32(out, (uint32_t)strlen(row_type));
    buf_append_str(out, row_type);
    buf_append_le64(out, hash64(bytes_of(out->data + start, out->len - start)));
}

static enum rc take_head(struct reader *in, struct bytes *row_type, struct err *err)
{
    uint32_t version, len;
    struct bytes magic;
    uint64_t check;
    size_t end;

    RETURN_IF_ERR(reader_take(in, 8, &magic, "magic", err));
    if (memcmp(magic.data, MAGIC, 8) != 0)
        return err_set(err, RC_CORRUPT, "%s: no rows in flight: it does not begin with %s",
                       in->what, MAGIC);
    RETURN_IF_ERR(reader_le32(in, &version, "version", err));
    if (version != VERSION)
        return err_set(err, RC_VERSION, "%s: version %u, this program reads %u", in->what, version,
                       VERSION);
    RETURN_IF_ERR(reader_le32(in, &len, "length of the row type", err));
    if (len > INFLIGHT_ROW_TYPE_MAX)
        return err_set(err, RC_CORRUPT, "%s: a row type of %u bytes, at most %u", in->what, len,
                       INFLIGHT_ROW_TYPE_MAX);
    RETURN_IF_ERR(reader_take(in, len, row_type, "row type", err));
    end = in->pos;
    RETURN_IF_ERR(reader_le64(in, &check, "check of the head", err));
    if (hash64(bytes_of(in->all.data, end)) != check)
        return err_set(err, RC_CORRUPT, "%s: check at byte %zu differs", in->what, end);
    return RC_OK;
}

enum rc inflight_file_decode(struct bytes content, const char *what, const struct schema *schema,
                             inflight_batch_fn *fn, void *ctx, uint64_t *rows, struct err *err)
{
    struct arena *arena = arena_new(1024);
    const char *want = inflight_row_type(arena, schema);
    struct batch_builder *b = batch_builder_new(schema);
    struct bytes row_type = {0};
    struct reader in;
    enum rc rc;

    *rows = 0;
    reader_init(&in, content, what);
    GOTO_IF_ERR(take_head(&in, &row_type, err));
    if (!bytes_eq(row_type, bytes_of_str(want)))
        GOTO_IF_ERR(err_set(err, RC_INVALID, "%s: rows in flight are (%.*s), the job has (%s)", what,
                            (int)(row_type.len < 400 ? row_type.len : 400),
                            (const char *)row_type.data, want));
    while (reader_left(&in) > 0) {
        GOTO_IF_ERR(batch_decode(&in, schema, b, err));
        *rows += batch_builder_rows(b);
        GOTO_IF_ERR(fn(ctx, batch_take(b), err));
    }
out:
    batch_builder_free(b);
    arena_free(arena);
    return rc;
}

static enum rc load(struct fs *fs, const struct state_file *f, struct buf *content,
                    struct bytes *out, struct err *err)
{
    *out = f->inline_bytes;
    if (f->scope != FILE_INLINE) {
        if (f->size_bytes > INFLIGHT_FILE_MAX)
            return err_set(err, RC_LIMIT, "%s: %llu bytes in flight exceed %llu", f->resolved_path,
                           (unsigned long long)f->size_bytes,
                           (unsigned long long)INFLIGHT_FILE_MAX);
        RETURN_IF_ERR(fs_read_all(fs, f->resolved_path, (size_t)f->size_bytes, content, err));
        *out = buf_bytes(content);
    }
    if (out->len != f->size_bytes || !digest_eq(digest_of(*out), f->digest))
        return err_set(err, RC_CORRUPT, "%s: %zu bytes of another digest than _metadata says",
                       f->scope == FILE_INLINE ? "rows in flight" : f->resolved_path, out->len);
    return RC_OK;
}

enum rc inflight_file_read(struct fs *fs, const struct channel_handle *h,
                           const struct schema *schema, inflight_batch_fn *fn, void *ctx,
                           struct err *err)
{
    const char *what = h->file.scope == FILE_INLINE ? "rows in flight" : h->file.resolved_path;
    struct buf content = {0};
    struct bytes bytes;
    uint64_t rows = 0;
    enum rc rc;

    GOTO_IF_ERR(load(fs, &h->file, &content, &bytes, err));
    GOTO_IF_ERR(inflight_file_decode(bytes, what, schema, fn, ctx, &rows, err));
    if (rows != h->row_count)
        rc = err_set(err, RC_CORRUPT, "%s: %llu rows, _metadata says %llu", what,
                     (unsigned long long)rows, (unsigned long long)h->row_count);
out:
    buf_release(&content);
    return rc;
}
