/* committable.c - see committable.h */
#include "sink/committable.h"

#include <stdio.h>

#define MAGIC 0x76736e6bu /* "vsnk" */

/* ---- names ----------------------------------------------------------------------------------- */

#define PREFIX "part-"
#define IN_PROGRESS ".inprogress."

void part_name_make(const char *uuid, uint32_t subtask_index, uint64_t counter,
                    char out[PART_NAME_MAX])
{
    int len = snprintf(out, PART_NAME_MAX, PREFIX "%s-%u-%llu", uuid, subtask_index,
                       (unsigned long long)counter);

    ASSERT(len > 0 && len < PART_NAME_MAX);
}

void part_temp_name_make(const char *name, const char *uuid, char out[PART_NAME_MAX])
{
    int len = snprintf(out, PART_NAME_MAX, ".%s" IN_PROGRESS "%s", name, uuid);

    ASSERT(len > 0 && len < PART_NAME_MAX);
}

static bool take_text(const char **p, const char *text)
{
    size_t len = strlen(text);

    if (strncmp(*p, text, len) != 0)
        return false;
    *p += len;
    return true;
}

/* 8-4-4-4-12 lower-case hex digits. */
static bool take_uuid(const char **p, char out[UUID_LEN + 1])
{
    for (int i = 0; i < UUID_LEN; i++) {
        char c = (*p)[i];
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        out[i] = c;
    }
    out[UUID_LEN] = '\0';
    *p += UUID_LEN;
    return true;
}

/* Decimal as printed: no leading zero. */
static bool take_number(const char **p, uint64_t *out)
{
    const char *start = *p;

    *out = 0;
    for (; **p >= '0' && **p <= '9'; (*p)++)
        if (__builtin_mul_overflow(*out, 10u, out) ||
            __builtin_add_overflow(*out, (uint64_t)(**p - '0'), out))
            return false;
    return *p > start && (*start != '0' || *p == start + 1);
}

bool part_temp_name_parse(const char *temp_name, char uuid[UUID_LEN + 1], uint32_t *subtask_index,
                          uint64_t *counter)
{
    const char *p = temp_name;
    char other[UUID_LEN + 1];
    uint64_t subtask;

    if (!take_text(&p, "." PREFIX) || !take_uuid(&p, uuid) || !take_text(&p, "-") ||
        !take_number(&p, &subtask) || subtask > UINT32_MAX || !take_text(&p, "-") ||
        !take_number(&p, counter) || !take_text(&p, IN_PROGRESS) || !take_uuid(&p, other))
        return false;
    *subtask_index = (uint32_t)subtask;
    return *p == '\0';
}

/* One path component. */
static bool component_valid(const uint8_t *c, size_t len)
{
    if (len == 0 || len > 255 || (len == 1 && c[0] == '.') ||
        (len == 2 && c[0] == '.' && c[1] == '.'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (c[i] < 0x20 || c[i] == 0x7f || c[i] == '/')
            return false;
    return true;
}

static bool components_valid(const uint8_t *p, size_t len)
{
    size_t start = 0;

    if (len >= FS_PATH_MAX)
        return false;
    for (size_t i = 0; i <= len; i++)
        if (i == len || p[i] == '/') {
            if (!component_valid(p + start, i - start))
                return false;
            start = i + 1;
        }
    return true;
}

bool bucket_path_valid(struct bytes bucket)
{
    return bucket.len == 0 || components_valid(bucket.data, bucket.len);
}

bool sink_base_valid(struct bytes base)
{
    return base.len > 0 && base.data[0] == '/' &&
           (base.len == 1 || components_valid(base.data + 1, base.len - 1));
}

static bool name_valid(struct bytes name)
{
    return component_valid(name.data, name.len) && name.data[0] != '.';
}

static bool temp_name_valid(struct bytes name)
{
    return component_valid(name.data, name.len) && name.data[0] == '.';
}

/* ---- encode ---------------------------------------------------------------------------------- */

static void put_text(struct buf *b, const char *text)
{
    buf_append_varint(b, strlen(text));
    buf_append_str(b, text);
}

static void put_part(struct buf *b, const struct part_record *p)
{
    put_text(b, p->base);
    put_text(b, p->bucket);
    put_text(b, p->name);
    put_text(b, p->temp_name);
    buf_append_be64(b, p->checkpoint_id);
    buf_append_be64(b, p->size_bytes);
    buf_append_be64(b, p->row_count);
    buf_append(b, p->digest.b, sizeof p->digest.b);
    buf_append_be64(b, (uint64_t)p->created_wall_ms);
    buf_append_be64(b, (uint64_t)p->last_write_wall_ms);
}

struct bytes committable_encode(const struct sink_item *item, struct arena *arena)
{
    struct buf b = {0};
    struct bytes out;

    buf_append_be32(&b, MAGIC);
    buf_append_u8(&b, COMMITTABLE_VERSION);
    buf_append_u8(&b, (uint8_t)item->kind);
    if (item->kind == ITEM_WRITER) {
        put_text(&b, item->writer.base);
        put_text(&b, item->writer.uuid);
        buf_append_be32(&b, item->writer.subtask_index);
        buf_append_be64(&b, item->writer.next_counter);
    } else {
        put_part(&b, &item->part);
    }
    out = arena_bytes_copy(arena, buf_bytes(&b));
    buf_release(&b);
    return out;
}

/* ---- decode ---------------------------------------------------------------------------------- */

static enum rc take_checked(struct reader *r, struct arena *arena, bool (*valid)(struct bytes),
                            const char *field, const char **out, struct err *err)
{
    size_t at = r->pos;
    struct bytes text;

    RETURN_IF_ERR(reader_blob(r, &text, field, err));
    if (!valid(text))
        return err_set(err, RC_CORRUPT, "%s: %s at offset %zu is not one: \"%.*s\"", r->what, field,
                       at, (int)(text.len > 80 ? 80 : text.len),
                       text.len == 0 ? "" : (const char *)text.data);
    *out = arena_strndup(arena, text.len == 0 ? "" : (const char *)text.data, text.len);
    return RC_OK;
}

static enum rc take_signed(struct reader *r, int64_t *out, const char *field, struct err *err)
{
    uint64_t v;

    RETURN_IF_ERR(reader_be64(r, &v, field, err));
    *out = (int64_t)v;
    return RC_OK;
}

static enum rc take_part(struct reader *r, struct arena *arena, struct part_record *p,
                         struct err *err)
{
    struct bytes digest;

    RETURN_IF_ERR(take_checked(r, arena, sink_base_valid, "sink directory", &p->base, err));
    RETURN_IF_ERR(take_checked(r, arena, bucket_path_valid, "bucket", &p->bucket, err));
    RETURN_IF_ERR(take_checked(r, arena, name_valid, "part name", &p->name, err));
    RETURN_IF_ERR(take_checked(r, arena, temp_name_valid, "hidden name", &p->temp_name, err));
    RETURN_IF_ERR(reader_be64(r, &p->checkpoint_id, "checkpoint id", err));
    RETURN_IF_ERR(reader_be64(r, &p->size_bytes, "size", err));
    RETURN_IF_ERR(reader_be64(r, &p->row_count, "row count", err));
    RETURN_IF_ERR(reader_take(r, sizeof p->digest.b, &digest, "digest", err));
    memcpy(p->digest.b, digest.data, sizeof p->digest.b);
    RETURN_IF_ERR(take_signed(r, &p->created_wall_ms, "creation time", err));
    RETURN_IF_ERR(take_signed(r, &p->last_write_wall_ms, "last write", err));
    if (p->size_bytes > INT64_MAX)
        return err_set(err, RC_CORRUPT, "%s: size %llu is no file's", r->what,
                       (unsigned long long)p->size_bytes);
    return RC_OK;
}

static bool uuid_valid(struct bytes text)
{
    char copy[UUID_LEN + 1] = {0}, out[UUID_LEN + 1];
    const char *p = copy;

    if (text.len != UUID_LEN)
        return false;
    memcpy(copy, text.data, UUID_LEN);
    return take_uuid(&p, out);
}

static enum rc take_writer(struct reader *r, struct arena *arena, struct writer_record *w,
                           struct err *err)
{
    const char *uuid;

    RETURN_IF_ERR(take_checked(r, arena, sink_base_valid, "sink directory", &w->base, err));
    RETURN_IF_ERR(take_checked(r, arena, uuid_valid, "uuid", &uuid, err));
    memcpy(w->uuid, uuid, UUID_LEN + 1);
    RETURN_IF_ERR(reader_be32(r, &w->subtask_index, "subtask", err));
    return reader_be64(r, &w->next_counter, "counter", err);
}

enum rc committable_decode(struct bytes item, struct arena *arena, const char *what,
                           struct sink_item *out, struct err *err)
{
    struct reader r;
    uint32_t magic;
    uint8_t version, kind;

    *out = (struct sink_item){0};
    reader_init(&r, item, what);
    RETURN_IF_ERR(reader_be32(&r, &magic, "magic", err));
    if (magic != MAGIC)
        return err_set(err, RC_CORRUPT, "%s: not an item of a file sink (it begins with %08x)",
                       what, magic);
    RETURN_IF_ERR(reader_u8(&r, &version, "version", err));
    if (version != COMMITTABLE_VERSION)
        return err_set(err, RC_VERSION, "%s: version %u; this program reads version %d", what,
                       version, COMMITTABLE_VERSION);
    RETURN_IF_ERR(reader_u8(&r, &kind, "kind", err));
    out->kind = (enum item_kind)kind;
    switch (kind) {
    case ITEM_PENDING:
    case ITEM_OPEN:
        RETURN_IF_ERR(take_part(&r, arena, &out->part, err));
        break;
    case ITEM_WRITER:
        RETURN_IF_ERR(take_writer(&r, arena, &out->writer, err));
        break;
    default:
        return err_set(err, RC_CORRUPT, "%s: kind %u is unknown", what, kind);
    }
    return reader_end(&r, err);
}
