/* log_record.c - see log_record.h */
#include "sink/log_record.h"

#include <inttypes.h>
#include <stdio.h>

#define MAGIC 0x7677616cu          /* "vwal" */
#define POSITION_MAGIC 0x76776c70u /* "vwlp" */
#define ENTRY_BYTES 48u

void log_writer_name(const char *uuid, uint32_t subtask_index, char out[LOG_WRITER_MAX])
{
    snprintf(out, LOG_WRITER_MAX, "%s-%" PRIu32, uuid, subtask_index);
}

void log_name_make(const char *uuid, uint32_t subtask_index, uint64_t number,
                   char out[LOG_NAME_MAX])
{
    snprintf(out, LOG_NAME_MAX, "%s-%" PRIu32 "-%" PRIu64 ".log", uuid, subtask_index, number);
}

static void append_head(struct buf *b, uint32_t magic, const char *uuid, uint32_t subtask_index,
                        uint64_t last_number)
{
    buf_append_be32(b, magic);
    buf_append_u8(b, LOG_RECORD_VERSION);
    buf_append(b, uuid, UUID_LEN);
    buf_append_be32(b, subtask_index);
    buf_append_be64(b, last_number);
}

struct bytes log_record_encode(const struct log_record *r, struct arena *arena)
{
    struct buf b = {0};
    struct bytes out;

    append_head(&b, MAGIC, r->uuid, r->subtask_index, r->last_number);
    buf_append_be32(&b, (uint32_t)r->log_count);
    for (size_t i = 0; i < r->log_count; i++) {
        buf_append_be64(&b, r->logs[i].number);
        buf_append_be64(&b, r->logs[i].checkpoint_id);
        buf_append_be64(&b, r->logs[i].size_bytes);
        buf_append_be64(&b, r->logs[i].row_count);
        buf_append(&b, r->logs[i].digest.b, sizeof r->logs[i].digest.b);
    }
    out = arena_bytes_copy(arena, buf_bytes(&b));
    buf_release(&b);
    return out;
}

struct bytes log_position_encode(const struct log_position *p, struct arena *arena)
{
    struct buf b = {0};
    struct bytes out;

    append_head(&b, POSITION_MAGIC, p->uuid, p->subtask_index, p->last_number);
    buf_append_u8(&b, p->earlier);
    out = arena_bytes_copy(arena, buf_bytes(&b));
    buf_release(&b);
    return out;
}

bool log_record_recognise(struct bytes item)
{
    return item.len >= 4 && get_be32(item.data) == MAGIC;
}

bool log_position_recognise(struct bytes item)
{
    return item.len >= 4 && get_be32(item.data) == POSITION_MAGIC;
}

static bool is_uuid(struct bytes text)
{
    static const char form[UUID_LEN + 1] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; i < UUID_LEN; i++) {
        uint8_t c = text.data[i];

        if (form[i] == '-' ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return true;
}

static enum rc take_entry(struct reader *r, uint64_t above, uint64_t last, struct log_entry *e,
                          struct err *err)
{
    struct bytes digest;

    RETURN_IF_ERR(reader_be64(r, &e->number, "log number", err));
    if (e->number <= above || e->number > last)
        return err_set(err, RC_CORRUPT,
                       "%s: log number %" PRIu64 " at offset %zu is not between %" PRIu64
                       " and %" PRIu64,
                       r->what, e->number, r->pos - 8, above + 1, last);
    RETURN_IF_ERR(reader_be64(r, &e->checkpoint_id, "checkpoint id", err));
    RETURN_IF_ERR(reader_be64(r, &e->size_bytes, "size", err));
    RETURN_IF_ERR(reader_be64(r, &e->row_count, "row count", err));
    RETURN_IF_ERR(reader_take(r, sizeof e->digest.b, &digest, "digest", err));
    memcpy(e->digest.b, digest.data, sizeof e->digest.b);
    if (e->size_bytes > INT64_MAX)
        return err_set(err, RC_CORRUPT, "%s: size %" PRIu64 " is no file's", r->what, e->size_bytes);
    return RC_OK;
}

/* What items of both kinds begin with. */
static enum rc take_head(struct reader *r, uint32_t magic_wanted, char uuid_out[UUID_LEN + 1],
                         uint32_t *subtask_index, uint64_t *last_number, struct err *err)
{
    struct bytes uuid;
    uint32_t magic;
    uint8_t version;

    RETURN_IF_ERR(reader_be32(r, &magic, "magic", err));
    if (magic != magic_wanted)
        return err_set(err, RC_CORRUPT, "%s: not an item of a write-ahead sink (it begins with %08x)",
                       r->what, magic);
    RETURN_IF_ERR(reader_u8(r, &version, "version", err));
    if (version != LOG_RECORD_VERSION)
        return err_set(err, RC_VERSION, "%s: version %u; this program reads version %d", r->what,
                       version, LOG_RECORD_VERSION);
    RETURN_IF_ERR(reader_take(r, UUID_LEN, &uuid, "uuid", err));
    if (!is_uuid(uuid))
        return err_set(err, RC_CORRUPT, "%s: uuid at offset %zu is not one", r->what,
                       r->pos - UUID_LEN);
    memcpy(uuid_out, uuid.data, UUID_LEN);
    RETURN_IF_ERR(reader_be32(r, subtask_index, "subtask", err));
    RETURN_IF_ERR(reader_be64(r, last_number, "last number", err));
    if (*last_number > INT64_MAX) /* what the target's table holds, and a name */
        return err_set(err, RC_CORRUPT, "%s: last number %" PRIu64 " is past 2^63-1", r->what,
                       *last_number);
    return RC_OK;
}

enum rc log_record_decode(struct bytes item, struct arena *arena, const char *what,
                          struct log_record *out, struct err *err)
{
    struct reader r;
    uint32_t count;

    *out = (struct log_record){0};
    reader_init(&r, item, what);
    RETURN_IF_ERR(
        take_head(&r, MAGIC, out->uuid, &out->subtask_index, &out->last_number, err));
    RETURN_IF_ERR(reader_be32(&r, &count, "log count", err));
    if (count > reader_left(&r) / ENTRY_BYTES)
        return err_set(err, RC_CORRUPT, "%s: %" PRIu32 " logs do not fit into %zu bytes", what, count,
                       reader_left(&r));
    out->logs = ARENA_ARRAY(arena, count, struct log_entry);
    for (; out->log_count < count; out->log_count++)
        RETURN_IF_ERR(take_entry(&r,
                                 out->log_count == 0 ? 0 : out->logs[out->log_count - 1].number,
                                 out->last_number, &out->logs[out->log_count], err));
    return reader_end(&r, err);
}

enum rc log_position_decode(struct bytes item, const char *what, struct log_position *out,
                            struct err *err)
{
    struct reader r;
    uint8_t earlier;

    *out = (struct log_position){0};
    reader_init(&r, item, what);
    RETURN_IF_ERR(take_head(&r, POSITION_MAGIC, out->uuid, &out->subtask_index, &out->last_number,
                            err));
    RETURN_IF_ERR(reader_u8(&r, &earlier, "earlier", err));
    if (earlier > 1)
        return err_set(err, RC_CORRUPT, "%s: earlier at offset %zu is %u, not 0 or 1", what,
                       r.pos - 1, earlier);
    out->earlier = earlier == 1;
    return reader_end(&r, err);
}
