/* snappy_frame.c - see snappy_frame.h */
#include "checkpoint/flink/snappy_frame.h"

#include "base/crc32c.h"

enum { CHUNK_COMPRESSED = 0x00, CHUNK_PLAIN = 0x01, CHUNK_SKIP_FROM = 0x80, CHUNK_IDENTIFIER = 0xFF };
#define CRC_BYTES 4u

struct snappy_chunk snappy_chunk_of(const uint8_t header[SNAPPY_CHUNK_HEADER])
{
    return (struct snappy_chunk){header[0], (uint32_t)header[1] | (uint32_t)header[2] << 8 |
                                                (uint32_t)header[3] << 16};
}

/* ---- raw Snappy ------------------------------------------------------------------------------ */

struct raw {
    struct reader r;
    uint8_t *out;
    size_t len, cap; /* so far, and in the end */
};

static enum rc bad(struct err *err, const char *why)
{
    return err_set(err, RC_CORRUPT, "Snappy: %s", why);
}

static enum rc take_number(struct raw *x, unsigned bytes, uint32_t *out, struct err *err)
{
    struct bytes b;

    *out = 0;
    RETURN_IF_ERR(reader_take(&x->r, bytes, &b, "length", err));
    for (unsigned i = 0; i < bytes; i++)
        *out |= (uint32_t)b.data[i] << (8 * i);
    return RC_OK;
}

static enum rc literal(struct raw *x, uint8_t tag, struct err *err)
{
    uint32_t len = tag >> 2;
    struct bytes b;

    if (len >= 60)
        RETURN_IF_ERR(take_number(x, len - 59, &len, err));
    if ((uint64_t)len + 1 > x->cap - x->len)
        return bad(err, "a literal longer than what is left");
    RETURN_IF_ERR(reader_take(&x->r, len + 1, &b, "literal", err));
    memcpy(x->out + x->len, b.data, b.len);
    x->len += b.len;
    return RC_OK;
}

static enum rc copy(struct raw *x, uint8_t tag, struct err *err)
{
    uint32_t len = (tag >> 2) + 1u, offset;

    if ((tag & 3) == 1) {
        len = (tag >> 2 & 7) + 4u;
        RETURN_IF_ERR(take_number(x, 1, &offset, err));
        offset |= (uint32_t)(tag >> 5) << 8;
    } else {
        RETURN_IF_ERR(take_number(x, (tag & 3) == 2 ? 2 : 4, &offset, err));
    }
    if (offset == 0 || offset > x->len)
        return bad(err, "a copy from before the beginning");
    if (len > x->cap - x->len)
        return bad(err, "a copy longer than what is left");
    for (uint32_t i = 0; i < len; i++, x->len++) /* may overlap what it makes */
        x->out[x->len] = x->out[x->len - offset];
    return RC_OK;
}

static enum rc uncompress(struct bytes body, struct buf *out, struct err *err)
{
    struct raw x = {0};
    uint64_t len;
    uint8_t tag;

    reader_init(&x.r, body, "Snappy");
    RETURN_IF_ERR(reader_varint(&x.r, &len, "length", err));
    if (len > SNAPPY_CHUNK_DATA_MAX)
        return bad(err, "a chunk of more than 64 KB");
    buf_reserve(out, len + 1);
    x.out = out->data + out->len;
    x.cap = (size_t)len;
    while (reader_left(&x.r) > 0) {
        RETURN_IF_ERR(reader_u8(&x.r, &tag, "tag", err));
        RETURN_IF_ERR((tag & 3) == 0 ? literal(&x, tag, err) : copy(&x, tag, err));
    }
    if (x.len != x.cap)
        return bad(err, "a chunk shorter than it says");
    out->len += x.len;
    return RC_OK;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

enum rc snappy_chunk_read(struct snappy_chunk chunk, struct bytes body, struct buf *out,
                          struct err *err)
{
    size_t before = out->len;
    uint32_t crc;

    ASSERT(body.len == chunk.body_len);
    buf_reserve(out, 1); /* nothing has an address too */
    if (chunk.type == CHUNK_IDENTIFIER)
        return bytes_eq(body, bytes_of_str("sNaPpY")) ? RC_OK : bad(err, "a wrong identifier");
    if (chunk.type >= CHUNK_SKIP_FROM)
        return RC_OK;
    if (chunk.type > CHUNK_PLAIN)
        return err_set(err, RC_CORRUPT, "Snappy: a chunk of type 0x%02x", chunk.type);
    if (body.len < CRC_BYTES)
        return bad(err, "a chunk without its checksum");
    crc = get_le32(body.data);
    body = bytes_of(body.data + CRC_BYTES, body.len - CRC_BYTES);
    if (chunk.type == CHUNK_COMPRESSED) {
        RETURN_IF_ERR(uncompress(body, out, err));
    } else {
        if (body.len > SNAPPY_CHUNK_DATA_MAX)
            return bad(err, "a chunk of more than 64 KB");
        buf_append(out, body.data, body.len);
    }
    if (crc32c_masked(crc32c(0, bytes_of(out->data + before, out->len - before))) != crc) {
        out->len = before;
        return bad(err, "a chunk's checksum is wrong");
    }
    return RC_OK;
}
