/* log_file.c - see log_file.h */
#include "sink/log_file.h"

#include <inttypes.h>

#define MAGIC 0x766c6f67u /* "vlog" */
#define BUFFER_BYTES (64u << 10)
#define BLOCK_HEAD_BYTES 8u

/* ---- head ------------------------------------------------------------------------------------ */

static void put_text(struct buf *b, const char *text)
{
    buf_append_varint(b, strlen(text));
    buf_append_str(b, text);
}

void log_head_encode(const struct log_head *h, struct buf *out)
{
    buf_append_be32(out, MAGIC);
    buf_append_u8(out, LOG_FILE_VERSION);
    put_text(out, h->table);
    buf_append_varint(out, h->column_count);
    for (uint32_t i = 0; i < h->column_count; i++)
        put_text(out, h->columns[i]);
    buf_append_varint(out, h->key_count);
    for (uint32_t i = 0; i < h->key_count; i++)
        buf_append_varint(out, h->key[i]);
}

static enum rc take_text(struct reader *r, struct arena *arena, const char *field, const char **out,
                         struct err *err)
{
    struct bytes text;

    RETURN_IF_ERR(reader_blob(r, &text, field, err));
    if (text.len == 0 || memchr(text.data, '\0', text.len) != NULL)
        return err_set(err, RC_CORRUPT, "%s: %s at offset %zu is empty or holds a NUL", r->what,
                       field, r->pos - text.len);
    *out = arena_strndup(arena, (const char *)text.data, text.len);
    return RC_OK;
}

static enum rc take_count(struct reader *r, uint64_t least, uint64_t most, const char *field,
                          uint32_t *out, struct err *err)
{
    uint64_t v;

    RETURN_IF_ERR(reader_varint(r, &v, field, err));
    if (v < least || v > most)
        return err_set(err, RC_CORRUPT, "%s: %s %" PRIu64 " is not between %" PRIu64 " and %" PRIu64,
                       r->what, field, v, least, most);
    *out = (uint32_t)v;
    return RC_OK;
}

static enum rc take_columns(struct reader *r, struct arena *arena, struct log_head *out,
                            struct err *err)
{
    const char **columns;
    uint32_t *key;

    RETURN_IF_ERR(take_count(r, 1, LOG_COLUMNS_MAX, "column count", &out->column_count, err));
    columns = ARENA_ARRAY(arena, out->column_count, const char *);
    for (uint32_t i = 0; i < out->column_count; i++)
        RETURN_IF_ERR(take_text(r, arena, "column", &columns[i], err));
    RETURN_IF_ERR(take_count(r, 0, out->column_count, "key count", &out->key_count, err));
    key = ARENA_ARRAY(arena, out->key_count, uint32_t);
    for (uint32_t i = 0; i < out->key_count; i++) {
        RETURN_IF_ERR(take_count(r, 0, out->column_count - 1, "key column", &key[i], err));
        for (uint32_t j = 0; j < i; j++)
            if (key[j] == key[i])
                return err_set(err, RC_CORRUPT, "%s: key column %u twice", r->what, key[i]);
    }
    out->columns = columns;
    out->key = key;
    return RC_OK;
}

enum rc log_head_decode(struct bytes file, struct arena *arena, const char *what,
                        struct log_head *out, size_t *end, struct err *err)
{
    struct reader r;
    uint32_t magic;
    uint8_t version;

    *out = (struct log_head){0};
    reader_init(&r, file, what);
    RETURN_IF_ERR(reader_be32(&r, &magic, "magic", err));
    if (magic != MAGIC)
        return err_set(err, RC_CORRUPT, "%s: not a log (it begins with %08x)", what, magic);
    RETURN_IF_ERR(reader_u8(&r, &version, "version", err));
    if (version != LOG_FILE_VERSION)
        return err_set(err, RC_VERSION, "%s: version %u; this program reads version %d", what,
                       version, LOG_FILE_VERSION);
    RETURN_IF_ERR(take_text(&r, arena, "table", &out->table, err));
    RETURN_IF_ERR(take_columns(&r, arena, out, err));
    *end = r.pos;
    return RC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct log_writer {
    struct fs *fs;
    struct fs_file *file;
    struct buf buffer;
    struct digest_stream *digest;
    uint64_t size_bytes, row_count; /* with what is in the buffer */
};

void log_writer_abandon(struct log_writer *w)
{
    if (w == NULL)
        return;
    fs_abandon(&w->file);
    buf_release(&w->buffer);
    digest_stream_free(w->digest);
    mem_free(w);
}

static enum rc put_out(struct log_writer *w, struct bytes data, struct err *err)
{
    digest_stream_add(w->digest, data);
    return data.len == 0 ? RC_OK : fs_append(w->file, data, err);
}

static enum rc flush(struct log_writer *w, struct err *err)
{
    enum rc rc = put_out(w, buf_bytes(&w->buffer), err);

    buf_clear(&w->buffer);
    return rc;
}

enum rc log_writer_create(struct fs *fs, const char *path, const struct log_head *head,
                          struct log_writer **out, struct err *err)
{
    struct log_writer *w = mem_calloc(1, sizeof *w);
    enum rc rc = fs_create(fs, path, &w->file, err);

    w->fs = fs;
    w->digest = digest_stream_new();
    log_head_encode(head, &w->buffer);
    w->size_bytes = w->buffer.len;
    if (rc != RC_OK) {
        log_writer_abandon(w);
        return rc;
    }
    *out = w;
    return RC_OK;
}

enum rc log_writer_append(struct log_writer *w, struct bytes rows, uint32_t row_count,
                          struct err *err)
{
    ASSERT(row_count > 0);
    if (rows.len > LOG_BLOCK_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%s: %u rows of %zu bytes, the limit is %u", w->file->path,
                       row_count, rows.len, LOG_BLOCK_BYTES_MAX);
    buf_append_be32(&w->buffer, (uint32_t)rows.len);
    buf_append_be32(&w->buffer, row_count);
    w->size_bytes += BLOCK_HEAD_BYTES + rows.len;
    w->row_count += row_count;
    if (w->buffer.len + rows.len < BUFFER_BYTES) {
        buf_append(&w->buffer, rows.data, rows.len);
        return RC_OK;
    }
    RETURN_IF_ERR(flush(w, err));
    return put_out(w, rows, err);
}

uint64_t log_writer_size(const struct log_writer *w)
{
    return w->size_bytes;
}

enum rc log_writer_finish(struct log_writer *w, uint64_t *size_bytes, uint64_t *row_count,
                          struct digest128 *digest, struct err *err)
{
    char dir[FS_PATH_MAX];
    enum rc rc;

    GOTO_IF_ERR(path_dir(dir, sizeof dir, w->file->path, err));
    GOTO_IF_ERR(flush(w, err));
    GOTO_IF_ERR(fs_sync(w->file, err));
    GOTO_IF_ERR(fs_close(&w->file, err));
    GOTO_IF_ERR(fs_sync_dir(w->fs, dir, err));
    *size_bytes = w->size_bytes;
    *row_count = w->row_count;
    *digest = digest_stream_end(w->digest);
out:
    log_writer_abandon(w);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct log_reader {
    struct fs_file *file;
    struct arena *arena; /* of the head */
    struct log_head head;
    struct digest_stream *digest;
    struct digest128 want;
    uint64_t size_bytes, row_count, at, rows_seen;
    uint32_t block_left;
    uint8_t *piece;
};

void log_reader_free(struct log_reader *r)
{
    if (r == NULL)
        return;
    fs_abandon(&r->file);
    digest_stream_free(r->digest);
    arena_free(r->arena);
    mem_free(r->piece);
    mem_free(r);
}

/* Exactly `len` bytes from where it stands; they count in the digest. */
static enum rc take(struct log_reader *r, void *out, size_t len, struct err *err)
{
    size_t got;

    RETURN_IF_ERR(fs_read_at(r->file, r->at, out, len, &got, err));
    if (got != len)
        return err_set(err, RC_CORRUPT, "%s: ends at %" PRIu64 " instead of %" PRIu64, r->file->path,
                       r->at + got, r->size_bytes);
    digest_stream_add(r->digest, bytes_of(out, len));
    r->at += len;
    return RC_OK;
}

static enum rc read_head(struct log_reader *r, struct err *err)
{
    size_t most = r->size_bytes < LOG_HEAD_BYTES_MAX ? (size_t)r->size_bytes : LOG_HEAD_BYTES_MAX;
    uint8_t *data = mem_alloc(most);
    size_t got, end;
    enum rc rc;

    GOTO_IF_ERR(fs_read_at(r->file, 0, data, most, &got, err));
    GOTO_IF_ERR(log_head_decode(bytes_of(data, got), r->arena, r->file->path, &r->head, &end, err));
    digest_stream_add(r->digest, bytes_of(data, end));
    r->at = end;
out:
    mem_free(data);
    return rc;
}

enum rc log_reader_open(struct fs *fs, const char *path, uint64_t size_bytes, uint64_t row_count,
                        struct digest128 digest, struct log_reader **out, struct err *err)
{
    struct log_reader *r = mem_calloc(1, sizeof *r);
    uint64_t size;
    enum rc rc;

    *out = NULL;
    r->arena = arena_new(0);
    r->digest = digest_stream_new();
    r->piece = mem_alloc(BUFFER_BYTES);
    r->size_bytes = size_bytes;
    r->row_count = row_count;
    r->want = digest;
    GOTO_IF_ERR(fs_open_read(fs, path, &r->file, err));
    GOTO_IF_ERR(fs_size(r->file, &size, err));
    if (size != size_bytes)
        GOTO_IF_ERR(err_set(err, RC_CORRUPT, "%s: %" PRIu64 " bytes instead of %" PRIu64, path, size,
                            size_bytes));
    GOTO_IF_ERR(read_head(r, err));
    *out = r;
    return RC_OK;
out:
    log_reader_free(r);
    return rc;
}

const struct log_head *log_reader_head(const struct log_reader *r)
{
    return &r->head;
}

static enum rc check_end(const struct log_reader *r, struct err *err)
{
    if (!digest_eq(digest_stream_end(r->digest), r->want))
        return err_set(err, RC_CORRUPT, "%s: digest differs", r->file->path);
    if (r->rows_seen != r->row_count)
        return err_set(err, RC_CORRUPT, "%s: %" PRIu64 " rows instead of %" PRIu64, r->file->path,
                       r->rows_seen, r->row_count);
    return RC_OK;
}

enum rc log_reader_block(struct log_reader *r, uint32_t *row_count, struct err *err)
{
    uint8_t head[BLOCK_HEAD_BYTES];

    ASSERT(r->block_left == 0);
    *row_count = 0;
    if (r->at == r->size_bytes)
        return check_end(r, err);
    RETURN_IF_ERR(take(r, head, sizeof head, err));
    if (get_be32(head) > LOG_BLOCK_BYTES_MAX || get_be32(head) > r->size_bytes - r->at ||
        get_be32(head + 4) == 0)
        return err_set(err, RC_CORRUPT, "%s: block at %" PRIu64 " of %u bytes and %u rows",
                       r->file->path, r->at - BLOCK_HEAD_BYTES, get_be32(head), get_be32(head + 4));
    r->block_left = get_be32(head);
    *row_count = get_be32(head + 4);
    r->rows_seen += *row_count;
    return RC_OK;
}

enum rc log_reader_piece(struct log_reader *r, struct bytes *piece, struct err *err)
{
    size_t len = r->block_left < BUFFER_BYTES ? r->block_left : BUFFER_BYTES;

    *piece = (struct bytes){0};
    if (len == 0)
        return RC_OK;
    RETURN_IF_ERR(take(r, r->piece, len, err));
    r->block_left -= (uint32_t)len;
    *piece = bytes_of(r->piece, len);
    return RC_OK;
}
