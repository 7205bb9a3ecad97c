/* part_file.c - see part_file.h */
#include "sink/part_file.h"

#define BUFFER_BYTES ((size_t)64 << 10)
#define READ_PIECE ((size_t)1 << 20)

struct part_file {
    struct fs_file *file;
    struct arena *arena; /* of the record's strings */
    struct part_record record;
    struct digest_stream *digest;
    struct buf buffer; /* appended, not written yet */
};

/* ---- names ----------------------------------------------------------------------------------- */

enum rc part_dir(const struct part_record *r, const char *base, char *out, struct err *err)
{
    base = base == NULL ? r->base : base;
    if (r->bucket[0] != '\0')
        return path_join(out, FS_PATH_MAX, base, r->bucket, err);
    if (strlen(base) >= FS_PATH_MAX)
        return err_set(err, RC_LIMIT, "%.64s...: the path is longer than %d bytes", base,
                       FS_PATH_MAX - 1);
    memcpy(out, base, strlen(base) + 1);
    return RC_OK;
}

enum rc part_path(const struct part_record *r, const char *base, bool hidden, char *out,
                  struct err *err)
{
    char dir[FS_PATH_MAX];

    RETURN_IF_ERR(part_dir(r, base, dir, err));
    return path_join(out, FS_PATH_MAX, dir, hidden ? r->temp_name : r->name, err);
}

struct part_record part_record_copy(const struct part_record *from, struct arena *arena)
{
    struct part_record copy = *from;

    copy.base = arena_strdup(arena, from->base);
    copy.bucket = arena_strdup(arena, from->bucket);
    copy.name = arena_strdup(arena, from->name);
    copy.temp_name = arena_strdup(arena, from->temp_name);
    return copy;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct part_file *part_new(const struct part_record *record)
{
    struct part_file *p = mem_calloc(1, sizeof *p);

    p->arena = arena_new(1024);
    p->record = part_record_copy(record, p->arena);
    p->digest = digest_stream_new();
    return p;
}

void part_file_abandon(struct part_file *p)
{
    if (p == NULL)
        return;
    fs_abandon(&p->file);
    digest_stream_free(p->digest);
    buf_release(&p->buffer);
    arena_free(p->arena);
    mem_free(p);
}

enum rc part_file_create(struct fs *fs, const struct part_record *record, struct part_file **out,
                         struct err *err)
{
    char final_path[FS_PATH_MAX], temp_path[FS_PATH_MAX];
    struct part_file *p;
    enum rc rc;

    *out = NULL;
    RETURN_IF_ERR(part_path(record, NULL, false, final_path, err));
    RETURN_IF_ERR(part_path(record, NULL, true, temp_path, err));
    if (fs_exists(fs, final_path))
        return err_set(err, RC_EXISTS, "%s is there already", final_path);
    p = part_new(record);
    p->record.size_bytes = p->record.row_count = 0;
    p->record.checkpoint_id = 0;
    rc = fs_create(fs, temp_path, &p->file, err);
    if (rc != RC_OK) {
        part_file_abandon(p);
        return rc;
    }
    *out = p;
    return RC_OK;
}

/* Digest of the file from its start to its end, into the stream. */
static enum rc digest_whole(struct fs_file *file, struct digest_stream *digest, struct err *err)
{
    uint8_t *piece = mem_alloc(READ_PIECE);
    uint64_t at = 0;
    enum rc rc = RC_OK;
    size_t got;

    do {
        rc = fs_read_at(file, at, piece, READ_PIECE, &got, err);
        digest_stream_add(digest, bytes_of(piece, got));
        at += got;
    } while (rc == RC_OK && got == READ_PIECE);
    mem_free(piece);
    return rc;
}

enum rc part_file_resume(struct fs *fs, const struct part_record *record, struct part_file **out,
                         struct err *err)
{
    char path[FS_PATH_MAX];
    struct part_file *p = part_new(record);
    enum rc rc;

    *out = NULL;
    GOTO_IF_ERR(part_path(record, NULL, true, path, err));
    GOTO_IF_ERR(fs_open_append(fs, path, record->size_bytes, &p->file, err));
    GOTO_IF_ERR(digest_whole(p->file, p->digest, err));
    if (!digest_eq(digest_stream_end(p->digest), record->digest))
        rc = err_set(err, RC_CORRUPT, "%s: its first %llu bytes are not those of the checkpoint",
                     path, (unsigned long long)record->size_bytes);
out:
    if (rc != RC_OK) {
        part_file_abandon(p);
        return rc;
    }
    *out = p;
    return RC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum rc flush(struct part_file *p, struct err *err)
{
    RETURN_IF_ERR(fs_append(p->file, buf_bytes(&p->buffer), err));
    buf_clear(&p->buffer);
    return RC_OK;
}

enum rc part_file_append(struct part_file *p, struct bytes data, uint64_t row_count,
                         int64_t now_wall_ms, struct err *err)
{
    if (p->buffer.len + data.len > BUFFER_BYTES)
        RETURN_IF_ERR(flush(p, err));
    if (data.len >= BUFFER_BYTES)
        RETURN_IF_ERR(fs_append(p->file, data, err));
    else
        buf_append(&p->buffer, data.data, data.len);
    digest_stream_add(p->digest, data);
    p->record.size_bytes += data.len;
    p->record.row_count += row_count;
    p->record.last_write_wall_ms = now_wall_ms;
    return RC_OK;
}

enum rc part_file_sync(struct part_file *p, struct err *err)
{
    RETURN_IF_ERR(flush(p, err));
    return fs_sync(p->file, err);
}

const struct part_record *part_file_record(struct part_file *p)
{
    p->record.digest = digest_stream_end(p->digest);
    return &p->record;
}

struct part_age part_file_age(const struct part_file *p)
{
    return (struct part_age){p->record.size_bytes, p->record.created_wall_ms,
                             p->record.last_write_wall_ms};
}

enum rc part_file_finish(struct part_file *p, struct arena *arena, struct part_record *out,
                         struct err *err)
{
    enum rc rc;

    GOTO_IF_ERR(part_file_sync(p, err));
    *out = part_record_copy(part_file_record(p), arena);
    GOTO_IF_ERR(fs_close(&p->file, err));
out:
    part_file_abandon(p);
    return rc;
}

/* ---- into view ------------------------------------------------------------------------------- */

/* fs_exists that tells "not there" from "cannot look". */
static enum rc look(struct fs *fs, const char *path, bool *there, uint64_t *size_bytes,
                    struct err *err)
{
    struct fs_stat st;
    struct err why = {0};
    enum rc rc = fs_stat(fs, path, &st, &why);

    *there = rc == RC_OK;
    *size_bytes = st.size_bytes;
    if (rc == RC_OK || rc == RC_NOT_FOUND)
        return RC_OK;
    err_set(err, rc, "%s", why.msg);
    return rc;
}

enum rc part_commit(struct fs *fs, const struct part_record *r, struct err *err)
{
    char final_path[FS_PATH_MAX], temp_path[FS_PATH_MAX];
    bool hidden, visible;
    uint64_t size_bytes, ignored;

    RETURN_IF_ERR(part_path(r, NULL, false, final_path, err));
    RETURN_IF_ERR(part_path(r, NULL, true, temp_path, err));
    RETURN_IF_ERR(look(fs, temp_path, &hidden, &size_bytes, err));
    RETURN_IF_ERR(look(fs, final_path, &visible, &ignored, err));
    if (hidden && visible)
        return err_set(err, RC_EXISTS, "commit %s: %s is there already and is not overwritten",
                       temp_path, final_path);
    if (visible)
        return RC_OK;
    if (!hidden)
        return err_set(err, RC_NOT_FOUND,
                       "commit %s (%llu rows): neither the hidden nor the finished file is there",
                       final_path, (unsigned long long)r->row_count);
    if (size_bytes != r->size_bytes) /* somebody else wrote to it */
        return err_set(err, RC_CORRUPT, "commit %s: it has %llu bytes instead of %llu", temp_path,
                       (unsigned long long)size_bytes, (unsigned long long)r->size_bytes);
    return fs_rename(fs, temp_path, final_path, err);
}
