/* handle_codec.c - see handle_codec.h */
#include "backend/handle_codec.h"

#define MAGIC "VARVEHDL"
#define VERSION 1u
#define HEADER_BYTES 48u

enum header_offset {
    AT_VERSION = 8,
    AT_RESERVED = 12,
    AT_BODY_BYTES = 16,
    AT_DIGEST = 24,
    AT_CHECK = 40
};

/* A field more would be lost on the way: encode it, decode it, raise VERSION. */
_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(struct keyed_handle) == 88 && sizeof(struct state_desc) == 80 &&
                    sizeof(struct state_file) == 88),
               "every field has its place in the bytes");

/* ---- encode ---------------------------------------------------------------------------------- */

static void put_blob(struct buf *out, struct bytes b)
{
    buf_append_varint(out, b.len);
    buf_append(out, b.data, b.len);
}

static void put_text(struct buf *out, const char *s)
{
    put_blob(out, bytes_of_str(s == NULL ? "" : s));
}

static void put_state(struct buf *out, const struct state_desc *d)
{
    put_text(out, d->name);
    buf_append_varint(out, d->kind);
    put_text(out, d->key_type);
    put_text(out, d->namespace_type);
    put_text(out, d->user_key_type);
    put_text(out, d->value_type);
    buf_append_varint(out, d->fixed_value_bytes);
    buf_append_varint(out, d->ttl_ms);
    put_text(out, d->operand_operator);
    buf_append_varint(out, d->operand_version);
}

static void put_file(struct buf *out, const struct state_file *f)
{
    put_text(out, f->local_name);
    buf_append_varint(out, f->scope);
    if (f->scope == FILE_INLINE)
        put_blob(out, f->inline_bytes);
    else
        put_text(out, f->path);
    buf_append_varint(out, f->size_bytes);
    buf_append(out, f->digest.b, sizeof f->digest.b);
    buf_append_varint(out, f->newly_written);
}

static void put_body(struct buf *out, const struct keyed_handle *h)
{
    uint64_t last = 0;

    buf_append_varint(out, h->kind);
    buf_append_varint(out, h->key_group_count);
    buf_append_varint(out, h->range.first);
    buf_append_varint(out, h->range.last);
    put_text(out, h->backend_id);
    buf_append_varint(out, h->entry_count);
    buf_append_le64(out, (uint64_t)h->ttl_clock_ms);
    buf_append_varint(out, h->state_count);
    for (size_t i = 0; i < h->state_count; i++)
        put_state(out, &h->states[i]);
    buf_append_varint(out, h->file_count);
    for (size_t i = 0; i < h->file_count; i++)
        put_file(out, &h->files[i]);
    buf_append_varint(out, h->group_offset_count);
    for (size_t i = 0; i < h->group_offset_count; i++) {
        buf_append_varint(out, h->group_offsets[i] - last);
        last = h->group_offsets[i];
    }
}

void handle_encode(const struct keyed_handle *h, struct buf *out)
{
    size_t start = out->len;
    struct digest128 digest;
    struct bytes body;
    uint8_t *header;

    buf_reserve(out, HEADER_BYTES);
    out->len += HEADER_BYTES;
    put_body(out, h);
    header = out->data + start;
    body = bytes_of(header + HEADER_BYTES, out->len - start - HEADER_BYTES);
    digest = digest_of(body);
    memcpy(header, MAGIC, 8);
    put_le32(header + AT_VERSION, VERSION);
    put_le32(header + AT_RESERVED, 0);
    put_le64(header + AT_BODY_BYTES, body.len);
    memcpy(header + AT_DIGEST, digest.b, sizeof digest.b);
    put_le64(header + AT_CHECK, hash64(bytes_of(header, AT_CHECK)));
}

/* ---- decode ---------------------------------------------------------------------------------- */

struct decoder {
    struct reader in;
    struct arena *arena;
    struct err *err;
};

static enum rc take_number(struct decoder *d, uint64_t least, uint64_t most, uint64_t *out,
                           const char *field)
{
    RETURN_IF_ERR(reader_varint(&d->in, out, field, d->err));
    if (*out < least || *out > most)
        return err_set(d->err, RC_CORRUPT, "%s: %s %llu is not in %llu..%llu", d->in.what, field,
                       (unsigned long long)*out, (unsigned long long)least,
                       (unsigned long long)most);
    return RC_OK;
}

static enum rc take_u32(struct decoder *d, uint32_t least, uint32_t most, uint32_t *out,
                        const char *field)
{
    uint64_t v = 0;

    RETURN_IF_ERR(take_number(d, least, most, &v, field));
    *out = (uint32_t)v;
    return RC_OK;
}

static enum rc take_text(struct decoder *d, size_t least, size_t most, const char **out,
                         const char *field)
{
    struct bytes b;

    RETURN_IF_ERR(reader_blob(&d->in, &b, field, d->err));
    if (b.len < least || b.len > most)
        return err_set(d->err, RC_CORRUPT, "%s: %s of %zu bytes: needs %zu to %zu", d->in.what,
                       field, b.len, least, most);
    if (b.len > 0 && memchr(b.data, '\0', b.len) != NULL)
        return err_set(d->err, RC_CORRUPT, "%s: %s holds a NUL", d->in.what, field);
    *out = arena_strndup(d->arena, (const char *)b.data, b.len);
    return RC_OK;
}

/* How many of something that takes at least `size` bytes each: the memory for them is bounded by
 * the bytes that are there. */
static enum rc take_count(struct decoder *d, size_t most, size_t size, size_t *out,
                          const char *field)
{
    uint64_t n = 0;

    RETURN_IF_ERR(take_number(d, 0, most, &n, field));
    if (n > reader_left(&d->in) / size)
        return err_set(d->err, RC_CORRUPT, "%s: %s %llu do not fit in %zu bytes", d->in.what, field,
                       (unsigned long long)n, reader_left(&d->in));
    *out = (size_t)n;
    return RC_OK;
}

static enum rc take_state(struct decoder *d, struct state_desc *s)
{
    uint32_t kind;

    RETURN_IF_ERR(take_text(d, 1, 255, &s->name, "state name"));
    RETURN_IF_ERR(take_u32(d, STATE_VALUE, STATE_TIMER, &kind, "state kind"));
    s->kind = (enum state_kind)kind;
    RETURN_IF_ERR(take_text(d, 0, HANDLE_TEXT_MAX, &s->key_type, "key type"));
    RETURN_IF_ERR(take_text(d, 0, HANDLE_TEXT_MAX, &s->namespace_type, "namespace type"));
    RETURN_IF_ERR(take_text(d, 0, HANDLE_TEXT_MAX, &s->user_key_type, "user key type"));
    RETURN_IF_ERR(take_text(d, 0, HANDLE_TEXT_MAX, &s->value_type, "value type"));
    RETURN_IF_ERR(take_u32(d, 0, STATE_FIXED_BYTES_MAX, &s->fixed_value_bytes, "fixed value bytes"));
    RETURN_IF_ERR(take_number(d, 0, INT64_MAX, &s->ttl_ms, "time-to-live"));
    RETURN_IF_ERR(take_text(d, 0, HANDLE_TEXT_MAX, &s->operand_operator, "operand operator"));
    return take_u32(d, 0, UINT32_MAX, &s->operand_version, "operand version");
}

static enum rc take_states(struct decoder *d, struct keyed_handle *h)
{
    RETURN_IF_ERR(take_count(d, HANDLE_STATES_MAX, 10, &h->state_count, "states"));
    h->states = ARENA_ARRAY(d->arena, h->state_count, struct state_desc);
    for (size_t i = 0; i < h->state_count; i++) {
        RETURN_IF_ERR(take_state(d, &h->states[i]));
        for (size_t j = 0; j < i; j++)
            if (strcmp(h->states[i].name, h->states[j].name) == 0)
                return err_set(d->err, RC_CORRUPT, "%s: two states %s", d->in.what,
                               h->states[i].name);
    }
    return RC_OK;
}

static enum rc take_file(struct decoder *d, struct state_file *f)
{
    uint32_t scope, newly;
    struct bytes digest;

    RETURN_IF_ERR(take_text(d, 0, 255, &f->local_name, "local name"));
    RETURN_IF_ERR(take_u32(d, FILE_INLINE, FILE_SHARED, &scope, "file scope"));
    f->scope = (enum file_scope)scope;
    if (f->scope == FILE_INLINE)
        RETURN_IF_ERR(reader_blob(&d->in, &f->inline_bytes, "content", d->err));
    else
        RETURN_IF_ERR(take_text(d, 1, HANDLE_PATH_MAX, &f->path, "path"));
    f->inline_bytes = arena_bytes_copy(d->arena, f->inline_bytes);
    RETURN_IF_ERR(take_number(d, 0, INT64_MAX, &f->size_bytes, "file size"));
    if (f->scope == FILE_INLINE && f->size_bytes != f->inline_bytes.len)
        return err_set(d->err, RC_CORRUPT, "%s: %zu bytes inside for a file of %llu", d->in.what,
                       f->inline_bytes.len, (unsigned long long)f->size_bytes);
    RETURN_IF_ERR(reader_take(&d->in, sizeof f->digest.b, &digest, "digest", d->err));
    memcpy(f->digest.b, digest.data, sizeof f->digest.b);
    RETURN_IF_ERR(take_u32(d, 0, 1, &newly, "newly written"));
    f->newly_written = newly == 1;
    return RC_OK;
}

static enum rc take_files(struct decoder *d, struct keyed_handle *h)
{
    RETURN_IF_ERR(take_count(d, HANDLE_FILES_MAX, 21, &h->file_count, "files"));
    if (h->kind == KEYED_STREAM && h->file_count != 1)
        return err_set(d->err, RC_CORRUPT, "%s: a stream of %zu files", d->in.what, h->file_count);
    h->files = ARENA_ARRAY(d->arena, h->file_count, struct state_file);
    for (size_t i = 0; i < h->file_count; i++)
        RETURN_IF_ERR(take_file(d, &h->files[i]));
    return RC_OK;
}

static enum rc take_offsets(struct decoder *d, struct keyed_handle *h)
{
    size_t want = h->kind == KEYED_STREAM ? h->range.last - h->range.first + 1 : 0;
    uint64_t last = 0;

    RETURN_IF_ERR(take_count(d, KEY_GROUP_COUNT_MAX, 1, &h->group_offset_count, "offsets"));
    if (h->group_offset_count != want)
        return err_set(d->err, RC_CORRUPT, "%s: %zu offsets instead of %zu", d->in.what,
                       h->group_offset_count, want);
    h->group_offsets = ARENA_ARRAY(d->arena, want, uint64_t);
    for (size_t i = 0; i < want; i++) {
        uint64_t step = 0;

        RETURN_IF_ERR(take_number(d, 0, INT64_MAX - last, &step, "offset"));
        last += step;
        h->group_offsets[i] = last;
    }
    return RC_OK;
}

static enum rc take_body(struct decoder *d, struct keyed_handle *h)
{
    uint64_t ttl_clock = 0;
    uint32_t kind;

    RETURN_IF_ERR(take_u32(d, KEYED_ROCKS, KEYED_STREAM, &kind, "kind"));
    h->kind = (enum keyed_handle_kind)kind;
    RETURN_IF_ERR(take_u32(d, 1, KEY_GROUP_COUNT_MAX, &h->key_group_count, "key groups"));
    RETURN_IF_ERR(take_u32(d, 0, h->key_group_count - 1, &h->range.first, "first key group"));
    RETURN_IF_ERR(
        take_u32(d, h->range.first, h->key_group_count - 1, &h->range.last, "last key group"));
    RETURN_IF_ERR(take_text(d, 1, 255, &h->backend_id, "store id"));
    RETURN_IF_ERR(take_number(d, 0, UINT64_MAX, &h->entry_count, "entries"));
    RETURN_IF_ERR(reader_le64(&d->in, &ttl_clock, "clock", d->err));
    h->ttl_clock_ms = (int64_t)ttl_clock;
    RETURN_IF_ERR(take_states(d, h));
    RETURN_IF_ERR(take_files(d, h));
    RETURN_IF_ERR(take_offsets(d, h));
    return reader_end(&d->in, d->err);
}

static enum rc check_header(struct bytes b, struct err *err)
{
    if (b.len < HEADER_BYTES)
        return err_set(err, RC_CORRUPT, "handle: %zu bytes, the header alone has %u", b.len,
                       HEADER_BYTES);
    if (memcmp(b.data, MAGIC, 8) != 0)
        return err_set(err, RC_VERSION, "handle: these bytes are none: no %s at their beginning",
                       MAGIC);
    if (get_le64(b.data + AT_CHECK) != hash64(bytes_of(b.data, AT_CHECK)))
        return err_set(err, RC_CORRUPT, "handle: header: check at byte %d differs", AT_CHECK);
    if (get_le32(b.data + AT_VERSION) != VERSION || get_le32(b.data + AT_RESERVED) != 0)
        return err_set(err, RC_VERSION, "handle: version %u, this program reads %u",
                       get_le32(b.data + AT_VERSION), VERSION);
    if (b.len > HANDLE_BYTES_MAX)
        return err_set(err, RC_LIMIT, "handle: %zu bytes exceed %u", b.len, HANDLE_BYTES_MAX);
    if (get_le64(b.data + AT_BODY_BYTES) != b.len - HEADER_BYTES)
        return err_set(err, RC_CORRUPT, "handle: %zu bytes behind the header, which says %llu",
                       b.len - HEADER_BYTES, (unsigned long long)get_le64(b.data + AT_BODY_BYTES));
    return RC_OK;
}

enum rc handle_decode(struct bytes bytes, struct arena *arena, struct keyed_handle *out,
                      struct err *err)
{
    struct decoder d = {.arena = arena, .err = err};
    struct digest128 digest;

    *out = (struct keyed_handle){0};
    RETURN_IF_ERR(check_header(bytes, err));
    reader_init(&d.in, bytes_of(bytes.data + HEADER_BYTES, bytes.len - HEADER_BYTES), "handle");
    digest = digest_of(d.in.all);
    if (memcmp(digest.b, bytes.data + AT_DIGEST, sizeof digest.b) != 0)
        return err_set(err, RC_CORRUPT, "handle: its digest differs");
    return take_body(&d, out);
}
