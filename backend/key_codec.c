#include "backend/key_codec.h"

#include "base/arena.h"

enum rc key_namespace_parse(const char *type, enum key_namespace *out, struct err *err)
{
    if (strcmp(type, "VOID") == 0)
        *out = KEY_NS_VOID;
    else if (strcmp(type, "BIGINT") == 0)
        *out = KEY_NS_BIGINT;
    else if (strcmp(type, "BYTES") == 0)
        *out = KEY_NS_BYTES;
    else
        return err_set(err, RC_UNSUPPORTED,
                       "namespace type %s: only VOID, BIGINT and BYTES are built", type);
    return RC_OK;
}

void key_builder_init(struct key_builder *b, uint32_t key_group_count, enum key_namespace ns)
{
    *b = (struct key_builder){
        .key_group_count = key_group_count,
        .prefix_len = keygroup_prefix_len(key_group_count),
        .ns = ns,
        .cap = 1024,
    };
    b->offsets = mem_alloc((b->cap + 1) * sizeof *b->offsets);
    b->offsets[0] = 0;
}

void key_builder_release(struct key_builder *b)
{
    buf_release(&b->data);
    mem_free(b->offsets);
    *b = (struct key_builder){0};
}

void key_builder_clear(struct key_builder *b)
{
    buf_clear(&b->data);
    b->count = 0;
}

/* Bytes that write_length puts: little-endian without the leading zeroes, at least one. */
static uint32_t length_size(size_t len)
{
    uint32_t n = 1;

    while ((len >>= 8) != 0)
        n++;
    return n;
}

static uint8_t *write_length(uint8_t *p, size_t len)
{
    do {
        *p++ = (uint8_t)len;
        len >>= 8;
    } while (len != 0);
    return p;
}

static uint8_t *write_bytes(uint8_t *p, struct bytes b)
{
    if (b.len > 0)
        memcpy(p, b.data, b.len);
    return p + b.len;
}

/* Room for one more key of `size` bytes; its first byte in *out. */
static enum rc begin_key(struct key_builder *b, size_t size, uint8_t **out, struct err *err)
{
    if (size > KEY_BATCH_BYTES_MAX - b->data.len)
        return err_set(err, RC_LIMIT, "keys of one batch: %zu + %zu bytes exceed %u", b->data.len,
                       size, KEY_BATCH_BYTES_MAX);
    if (b->count == b->cap) {
        b->cap *= 2;
        b->offsets = mem_realloc(b->offsets, ((size_t)b->cap + 1) * sizeof *b->offsets);
    }
    buf_reserve(&b->data, size);
    *out = b->data.data + b->data.len;
    b->data.len += size;
    b->offsets[++b->count] = (uint32_t)b->data.len;
    return RC_OK;
}

enum rc key_builder_add(struct key_builder *b, uint32_t group, struct bytes row, int64_t window,
                        struct bytes user_key, struct err *err)
{
    uint32_t ns_len = b->ns == KEY_NS_VOID ? 1 : 8;
    uint8_t *p;

    ASSERT(b->ns != KEY_NS_BYTES && group < b->key_group_count);
    RETURN_IF_ERR(begin_key(b, b->prefix_len + 4 + row.len + ns_len + user_key.len, &p, err));
    keygroup_put_prefix(p, b->prefix_len, group);
    p += b->prefix_len;
    put_be32(p, (uint32_t)row.len);
    p = write_bytes(p + 4, row);
    if (b->ns == KEY_NS_VOID)
        *p = 0;
    else
        put_be64(p, (uint64_t)window);
    write_bytes(p + ns_len, user_key);
    return RC_OK;
}

enum rc key_builder_add_ns(struct key_builder *b, uint32_t group, struct bytes row, struct bytes ns,
                           struct bytes user_key, struct err *err)
{
    size_t key_len = 4 + row.len, ns_len = 4 + ns.len; /* as serialized */
    uint8_t *p;

    ASSERT(b->ns == KEY_NS_BYTES && group < b->key_group_count);
    RETURN_IF_ERR(begin_key(b,
                            b->prefix_len + key_len + length_size(key_len) + ns_len +
                                length_size(ns_len) + user_key.len,
                            &p, err));
    keygroup_put_prefix(p, b->prefix_len, group);
    p += b->prefix_len;
    put_be32(p, (uint32_t)row.len);
    p = write_bytes(p + 4, row);
    p = write_length(p, key_len);
    put_be32(p, (uint32_t)ns.len);
    p = write_bytes(p + 4, ns);
    p = write_length(p, ns_len);
    write_bytes(p, user_key);
    return RC_OK;
}

enum rc key_builder_add_raw(struct key_builder *b, struct bytes key, struct err *err)
{
    return key_builder_add_joined(b, key, (struct bytes){0}, err);
}

enum rc key_builder_add_joined(struct key_builder *b, struct bytes owner, struct bytes user_key,
                               struct err *err)
{
    uint8_t *p;

    RETURN_IF_ERR(begin_key(b, owner.len + user_key.len, &p, err));
    write_bytes(write_bytes(p, owner), user_key);
    return RC_OK;
}

struct key_batch key_builder_batch(const struct key_builder *b)
{
    return (struct key_batch){b->count, b->data.data, b->offsets};
}

/* Takes the length that stands behind a part of `len` bytes; it must say `len`. */
static enum rc skip_length(struct reader *r, size_t len, const char *field, struct err *err)
{
    uint8_t want[8];
    uint32_t n = (uint32_t)(write_length(want, len) - want);
    struct bytes got;

    RETURN_IF_ERR(reader_take(r, n, &got, field, err));
    if (memcmp(got.data, want, n) != 0)
        return err_set(err, RC_CORRUPT, "%s: %s differs from the part's %zu bytes", r->what, field,
                       len);
    return RC_OK;
}

enum rc key_split(struct bytes key, uint32_t key_group_count, enum key_namespace ns,
                  struct key_parts *out, struct err *err)
{
    struct reader r;
    struct bytes prefix;
    uint32_t row_len, ns_len;

    *out = (struct key_parts){0};
    reader_init(&r, key, "composite key");
    RETURN_IF_ERR(reader_take(&r, keygroup_prefix_len(key_group_count), &prefix, "key group", err));
    out->group = keygroup_get_prefix(prefix.data, (uint32_t)prefix.len);
    if (out->group >= key_group_count)
        return err_set(err, RC_CORRUPT, "composite key: key group %u of %u", out->group,
                       key_group_count);
    RETURN_IF_ERR(reader_be32(&r, &row_len, "row size", err));
    RETURN_IF_ERR(reader_take(&r, row_len, &out->row, "row", err));
    if (ns == KEY_NS_BYTES) {
        RETURN_IF_ERR(skip_length(&r, 4 + (size_t)row_len, "key length", err));
        RETURN_IF_ERR(reader_be32(&r, &ns_len, "namespace size", err));
        RETURN_IF_ERR(reader_take(&r, ns_len, &out->ns, "namespace", err));
        RETURN_IF_ERR(skip_length(&r, 4 + (size_t)ns_len, "namespace length", err));
    } else {
        RETURN_IF_ERR(reader_take(&r, ns == KEY_NS_VOID ? 1 : 8, &out->ns, "namespace", err));
        if (ns == KEY_NS_BIGINT)
            out->window = (int64_t)get_be64(out->ns.data);
    }
    return reader_take(&r, reader_left(&r), &out->user_key, "map key", err);
}

/* Length of a part behind its i32 size at `at`, size included; 0: it does not fit. */
static size_t sized_part(struct bytes key, size_t at)
{
    size_t len;

    if (at + 4 > key.len)
        return 0;
    len = 4 + (size_t)get_be32(key.data + at);
    return len <= key.len - at ? len : 0;
}

uint32_t key_owner_len(struct bytes key, uint32_t prefix_len, enum key_namespace ns)
{
    size_t key_len = sized_part(key, prefix_len), at, ns_len;

    if (key_len == 0)
        return 0;
    at = prefix_len + key_len;
    if (ns == KEY_NS_BYTES) {
        at += length_size(key_len);
        ns_len = sized_part(key, at);
        if (ns_len == 0)
            return 0;
        at += ns_len + length_size(ns_len);
    } else {
        at += ns == KEY_NS_VOID ? 1 : 8;
    }
    return at <= key.len ? (uint32_t)at : 0;
}

void key_prefix_end(struct bytes prefix, struct buf *out)
{
    buf_append(out, prefix.data, prefix.len);
    while (out->len > 0 && out->data[out->len - 1] == 0xFF)
        out->len--;
    if (out->len > 0)
        out->data[out->len - 1]++;
}

#define TEXT_BYTES_MAX 64u

static void part_text(struct bytes part, struct buf *out)
{
    size_t shown = part.len < TEXT_BYTES_MAX ? part.len : TEXT_BYTES_MAX;
    bool text = true;

    for (size_t i = 0; i < shown; i++)
        text = text && part.data[i] >= 0x20 && part.data[i] < 0x7F;
    buf_append_str(out, text ? "\"" : "0x");
    for (size_t i = 0; i < shown; i++)
        buf_printf(out, text ? "%c" : "%02x", part.data[i]);
    buf_append_str(out, shown < part.len ? "..." : "");
    buf_append_str(out, text ? "\"" : "");
}

void key_text(struct bytes key, uint32_t key_group_count, enum key_namespace ns, struct buf *out)
{
    struct key_parts parts;
    struct err ignored = {0};

    if (key_split(key, key_group_count, ns, &parts, &ignored) != RC_OK) {
        buf_append_str(out, "key ");
        part_text(key, out);
        return;
    }
    buf_printf(out, "key group %u, key ", parts.group);
    part_text(parts.row, out);
    if (ns == KEY_NS_BIGINT)
        buf_printf(out, ", namespace %lld", (long long)parts.window);
    if (ns == KEY_NS_BYTES) {
        buf_append_str(out, ", namespace ");
        part_text(parts.ns, out);
    }
    if (parts.user_key.len > 0) {
        buf_append_str(out, ", map key ");
        part_text(parts.user_key, out);
    }
}
