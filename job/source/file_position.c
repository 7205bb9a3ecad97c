/* file_position.c - see file_position.h
 *
 * Items: kind byte, then
 *   1  folder: u8 layout version (1), varint length and bytes of the root's path
 *   2  file:   u8 flags (1: done), varint offset, varint line, varint head length, le64 head hash,
 * varint length and path */
#include "job/source/file_position.h"

#include "base/hash.h"

#include <stdlib.h>

enum { ITEM_FOLDER = 1, ITEM_FILE = 2 };
#define LAYOUT_VERSION 1u
#define FLAG_DONE 1u

uint32_t file_owner(const char *path, uint32_t parallelism)
{
    return (uint32_t)(hash64(bytes_of_str(path)) % parallelism);
}

static void append_blob(struct buf *out, const char *text)
{
    buf_append_varint(out, strlen(text));
    buf_append_str(out, text);
}

void file_positions_encode(const char *root, const struct file_entries *entries,
                           struct arena *arena, struct bytes **items, size_t *count)
{
    struct buf item = {0};
    size_t n = 1;

    for (size_t i = 0; i < entries->count; i++)
        n += entries->items[i].mine;
    *items = ARENA_ARRAY(arena, n, struct bytes);
    *count = n;
    buf_append_u8(&item, ITEM_FOLDER);
    buf_append_u8(&item, LAYOUT_VERSION);
    append_blob(&item, root);
    n = 0;
    (*items)[n++] = arena_bytes_copy(arena, buf_bytes(&item));
    for (size_t i = 0; i < entries->count; i++) {
        const struct file_entry *e = &entries->items[i];

        if (!e->mine)
            continue;
        buf_clear(&item);
        buf_append_u8(&item, ITEM_FILE);
        buf_append_u8(&item, e->done ? FLAG_DONE : 0);
        buf_append_varint(&item, e->offset);
        buf_append_varint(&item, e->line);
        buf_append_varint(&item, e->head.len);
        buf_append_le64(&item, e->head.hash);
        append_blob(&item, e->path);
        (*items)[n++] = arena_bytes_copy(arena, buf_bytes(&item));
    }
    buf_release(&item);
}

static enum rc take_text(struct reader *r, struct arena *arena, const char *field, const char **out,
                         struct err *err)
{
    struct bytes text;

    RETURN_IF_ERR(reader_blob(r, &text, field, err));
    if (text.len >= FS_PATH_MAX || (text.len > 0 && memchr(text.data, '\0', text.len) != NULL))
        return err_set(err, RC_CORRUPT, "%s: %s: not a path", r->what, field);
    *out = arena_strndup(arena, (const char *)text.data, text.len);
    return RC_OK;
}

static enum rc decode_file(struct reader *r, struct arena *arena, struct file_entry *e,
                           struct err *err)
{
    uint64_t head_len;
    uint8_t flags;

    RETURN_IF_ERR(reader_u8(r, &flags, "flags", err));
    RETURN_IF_ERR(reader_varint(r, &e->offset, "offset", err));
    RETURN_IF_ERR(reader_varint(r, &e->line, "line", err));
    RETURN_IF_ERR(reader_varint(r, &head_len, "head length", err));
    RETURN_IF_ERR(reader_le64(r, &e->head.hash, "head hash", err));
    RETURN_IF_ERR(take_text(r, arena, "path", &e->path, err));
    if (head_len > FILE_HEAD_BYTES_MAX || e->line == 0)
        return err_set(err, RC_CORRUPT, "%s: of %s: head length %llu, line %llu", r->what, e->path,
                       (unsigned long long)head_len, (unsigned long long)e->line);
    e->head.len = (uint32_t)head_len;
    e->done = (flags & FLAG_DONE) != 0;
    return RC_OK;
}

static enum rc decode_item(struct bytes item, struct arena *arena, struct file_entries *out,
                           const char **root, struct err *err)
{
    struct reader r;
    uint8_t kind, version;

    reader_init(&r, item, "file position");
    RETURN_IF_ERR(reader_u8(&r, &kind, "kind", err));
    if (kind == ITEM_FOLDER) {
        RETURN_IF_ERR(reader_u8(&r, &version, "version", err));
        if (version != LAYOUT_VERSION)
            return err_set(err, RC_VERSION,
                           "file position: layout version %u, this program reads %u", version,
                           LAYOUT_VERSION);
        RETURN_IF_ERR(take_text(&r, arena, "folder", root, err));
    } else if (kind == ITEM_FILE) {
        RETURN_IF_ERR(decode_file(&r, arena, &out->items[out->count], err));
        out->count++;
    } else {
        return err_set(err, RC_CORRUPT, "file position: item of kind %u", kind);
    }
    return reader_end(&r, err);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file_entry *)a)->path, ((const struct file_entry *)b)->path);
}

enum rc file_positions_decode(const struct bytes *items, size_t count, uint32_t subtask_index,
                              uint32_t parallelism, struct arena *arena, struct file_entries *out,
                              const char **root, struct err *err)
{
    size_t dealt = 0;

    *root = "";
    *out = (struct file_entries){ARENA_ARRAY(arena, count, struct file_entry), 0};
    for (size_t i = 0; i < count; i++)
        RETURN_IF_ERR(decode_item(items[i], arena, out, root, err));
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, by_path);
    for (size_t i = 0; i < out->count; i++) {
        struct file_entry *e = &out->items[i];

        if (i > 0 && strcmp(e->path, out->items[i - 1].path) == 0)
            return err_set(err, RC_CORRUPT, "file position: two subtasks have read '%s'", e->path);
        e->mine = (e->done ? file_owner(e->path, parallelism)
                           : (uint32_t)(dealt++ % parallelism)) == subtask_index;
    }
    return RC_OK;
}
