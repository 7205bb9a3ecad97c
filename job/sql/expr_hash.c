/* expr_hash.c - digests and encodings of text and binary: MD5, SHA-1, SHA-2 (libcrypto), HEX,
 * UNHEX, Base64, BIN. Digests are lower case hex, HEX is upper case, as the reference has it. */
#include "job/sql/expr_priv.h"

#include <openssl/evp.h>

static enum rc digest(struct call *c, uint32_t i, const EVP_MD *md)
{
    static const char hex[] = "0123456789abcdef";
    struct bytes b = vec_bytes(&c->args[0], i);
    uint8_t raw[EVP_MAX_MD_SIZE], *to;
    unsigned len = 0;

    if (EVP_Digest(b.data, b.len, raw, &len, md, NULL) != 1)
        return call_fail(c, i, RC_UNSUPPORTED, "libcrypto refuses this digest");
    to = out_room(c, i, (size_t)len * 2);
    for (unsigned k = 0; k < len; k++) {
        to[2 * k] = (uint8_t)hex[raw[k] >> 4];
        to[2 * k + 1] = (uint8_t)hex[raw[k] & 15];
    }
    return RC_OK;
}

/* param: 5 MD5, 1 SHA-1, else bits of SHA-2 */
static enum rc row_digest(struct call *c, uint32_t i)
{
    switch (c->e->param) {
    case 5:
        return digest(c, i, EVP_md5());
    case 1:
        return digest(c, i, EVP_sha1());
    case 224:
        return digest(c, i, EVP_sha224());
    case 384:
        return digest(c, i, EVP_sha384());
    case 512:
        return digest(c, i, EVP_sha512());
    default:
        return digest(c, i, EVP_sha256());
    }
}

/* SHA2(x, bits) */
static enum rc row_sha2(struct call *c, uint32_t i)
{
    switch (vec_int(&c->args[1], i)) {
    case 224:
        return digest(c, i, EVP_sha224());
    case 256:
        return digest(c, i, EVP_sha256());
    case 384:
        return digest(c, i, EVP_sha384());
    case 512:
        return digest(c, i, EVP_sha512());
    default:
        return call_fail(c, i, RC_INVALID, "expected 224, 256, 384 or 512 bits");
    }
}

static enum rc too_long(struct call *c, uint32_t i, size_t len)
{
    return call_fail(c, i, RC_LIMIT, "the result has %zu bytes, at most %u", len, VALUE_BYTES_MAX);
}

/* Of an integer: its digits without leading zeros, a negative one as 64 bits. Of text or binary:
 * two digits a byte. */
static enum rc row_hex(struct call *c, uint32_t i)
{
    static const char hex[] = "0123456789ABCDEF";
    uint8_t digits[16], *to;
    struct bytes b;

    if (type_is_integer(c->args[0].c.type.kind)) {
        uint64_t v = (uint64_t)vec_int(&c->args[0], i);
        size_t at = sizeof digits;

        do {
            digits[--at] = (uint8_t)hex[v & 15];
            v >>= 4;
        } while (v != 0);
        out_bytes(c, i, bytes_of(digits + at, sizeof digits - at));
        return RC_OK;
    }
    b = vec_bytes(&c->args[0], i);
    if (b.len > VALUE_BYTES_MAX / 2)
        return too_long(c, i, b.len * 2);
    to = out_room(c, i, b.len * 2);
    for (size_t k = 0; k < b.len; k++) {
        to[2 * k] = (uint8_t)hex[b.data[k] >> 4];
        to[2 * k + 1] = (uint8_t)hex[b.data[k] & 15];
    }
    return RC_OK;
}

static enum rc bind_hex(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    enum type_kind k = e->args[0]->type.kind;

    if (k == TYPE_NULL)
        e->args[0] = node_null(b, type_of(TYPE_VARCHAR), ast->pos);
    else if (!type_is_integer(k) && !type_is_varlen(k))
        return bind_error(b, ast->pos, RC_INVALID,
                          "HEX: argument 1 is %s, expected an integer, text or binary",
                          type_str(b->arena, e->args[0]->type, false));
    return RC_OK;
}

static int hex_value(uint8_t ch)
{
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    ch |= 0x20;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* Null for what is no hex; an odd digit count has a zero in front. */
static enum rc row_unhex(struct call *c, uint32_t i)
{
    struct bytes b = vec_bytes(&c->args[0], i);
    size_t odd = b.len % 2;
    uint8_t *to = out_room(c, i, (b.len + 1) / 2);

    memset(to, 0, (b.len + 1) / 2);
    for (size_t k = 0; k < b.len; k++) {
        int v = hex_value(b.data[k]);

        if (v < 0) {
            out_null(c, i);
            return RC_OK;
        }
        to[(k + odd) / 2] = (uint8_t)(to[(k + odd) / 2] << 4 | v);
    }
    return RC_OK;
}

/* Digits 0 and 1 of an integer, a negative one as 64 bits. */
static enum rc row_bin(struct call *c, uint32_t i)
{
    uint64_t v = (uint64_t)vec_int(&c->args[0], i);
    uint8_t digits[64];
    size_t at = sizeof digits;

    do {
        digits[--at] = (uint8_t)('0' + (v & 1));
        v >>= 1;
    } while (v != 0);
    out_bytes(c, i, bytes_of(digits + at, sizeof digits - at));
    return RC_OK;
}

static enum rc row_to_base64(struct call *c, uint32_t i)
{
    struct bytes b = vec_bytes(&c->args[0], i);
    size_t len = (b.len + 2) / 3 * 4;
    uint8_t *to;

    if (len > VALUE_BYTES_MAX)
        return too_long(c, i, len);
    to = out_room(c, i, len + 1); /* EVP ends with a NUL */
    EVP_EncodeBlock(to, b.data, (int)b.len);
    out_trim(c, i, len);
    return RC_OK;
}

/* Null for what is no Base64, or no UTF-8 behind it. */
static enum rc row_from_base64(struct call *c, uint32_t i)
{
    struct bytes b = vec_bytes(&c->args[0], i);
    uint8_t *to = out_room(c, i, b.len / 4 * 3 + 3);
    int got = b.len % 4 == 0 ? EVP_DecodeBlock(to, b.data, (int)b.len) : -1;
    size_t len;

    if (got < 0) {
        out_null(c, i);
        return RC_OK;
    }
    len = (size_t)got;
    for (size_t k = 0; k < 2 && k < b.len && b.data[b.len - 1 - k] == '='; k++)
        len--;
    if (!utf8_is_valid(bytes_of(to, len)))
        out_null(c, i);
    else
        out_trim(c, i, len);
    return RC_OK;
}

const struct func hash_funcs[] = {
    {.name = "MD5",
     .args = "y",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_digest,
     .param = 5},
    {.name = "SHA1",
     .args = "y",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_digest,
     .param = 1},
    {.name = "SHA224",
     .args = "y",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_digest,
     .param = 224},
    {.name = "SHA256",
     .args = "y",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_digest,
     .param = 256},
    {.name = "SHA384",
     .args = "y",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_digest,
     .param = 384},
    {.name = "SHA512",
     .args = "y",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_digest,
     .param = 512},
    {.name = "SHA2", .args = "yi", .result = 's', .flags = FUNC_FALLIBLE, .row = row_sha2},
    {.name = "HEX",
     .args = "x",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_hex,
     .bind = bind_hex},
    {.name = "UNHEX", .args = "s", .result = 'y', .flags = FUNC_NULLABLE, .row = row_unhex},
    {.name = "BIN", .args = "i", .result = 's', .row = row_bin},
    {.name = "TO_BASE64", .args = "y", .result = 's', .flags = FUNC_FALLIBLE, .row = row_to_base64},
    {.name = "FROM_BASE64",
     .args = "s",
     .result = 's',
     .flags = FUNC_NULLABLE,
     .row = row_from_base64},
    {.name = NULL},
};
