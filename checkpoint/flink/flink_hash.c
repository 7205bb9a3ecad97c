/* flink_hash.c - see flink_hash.h */
#include "checkpoint/flink/flink_hash.h"

#include "base/utf8.h"

static uint32_t hash_of_long(uint64_t v)
{
    return (uint32_t)(v ^ v >> 32);
}

/* Over UTF-16 code units. */
static uint32_t hash_of_text(struct bytes text)
{
    uint32_t hash = 0, point;

    for (size_t at = 0; at < text.len;) {
        at += utf8_next(text, at, &point);
        if (point >= 0x10000) {
            hash = 31 * hash + (0xD800 + ((point - 0x10000) >> 10));
            point = 0xDC00 + ((point - 0x10000) & 0x3FF);
        }
        hash = 31 * hash + point;
    }
    return hash;
}

static uint32_t hash_of_real(const struct flink_value *v)
{
    double d = v->real;
    float f = (float)d;
    uint64_t bits;
    uint32_t low;

    if (v->single) {
        memcpy(&low, &f, sizeof low);
        return d != d ? 0x7fc00000u : low;
    }
    memcpy(&bits, &d, sizeof bits);
    return hash_of_long(d != d ? 0x7ff8000000000000ull : bits);
}

/* Flink's own tuples: a class that was derived from one may have a hash of its own. */
static bool is_plain_tuple(const struct flink_serializer *s)
{
    return bytes_start_with(s->type, bytes_of_str("org.apache.flink.api.java.tuple.Tuple"));
}

static bool hash_of_tuple(const struct flink_serializer *s, const struct flink_value *v,
                          uint32_t *hash)
{
    *hash = 0;
    if (v->part_count != s->child_count || !is_plain_tuple(s))
        return false;
    for (size_t i = 0; i < s->child_count; i++) {
        uint32_t part;

        if (!flink_hash(s->children[i], &v->parts[i], &part))
            return false;
        *hash = i == 0 ? part : 31 * *hash + part;
    }
    return true;
}

/* LongValue and its like lie in bytes as Long does, but three of them hash otherwise. */
static bool is_value_class(const struct flink_serializer *s)
{
    return bytes_end_with(s->snapshot_class, bytes_of_str("ValueSerializerSnapshot"));
}

bool flink_hash(const struct flink_serializer *s, const struct flink_value *v, uint32_t *hash)
{
    s = flink_serializer_bare(s);
    if (s->coding == FLINK_NULLABLE)
        return flink_hash(s->children[0], v, hash);
    *hash = 0;
    if (v->kind == FLINK_VALUE_NULL)
        return true;
    switch (s->coding) {
    case FLINK_BOOLEAN:
        *hash = is_value_class(s) ? v->integer != 0 : v->integer ? 1231 : 1237;
        return true;
    case FLINK_BYTE:
    case FLINK_SHORT:
    case FLINK_INT:
        *hash = (uint32_t)v->integer;
        return true;
    case FLINK_LONG:
        *hash = hash_of_long((uint64_t)v->integer) + (is_value_class(s) ? 43 : 0);
        return true;
    case FLINK_FLOAT:
    case FLINK_DOUBLE:
        *hash = hash_of_real(v) + (is_value_class(s) && !v->single ? 31 : 0);
        return true;
    case FLINK_CHAR:
    case FLINK_STRING:
        *hash = hash_of_text(v->text);
        return utf8_is_valid(v->text); /* half a pair is no code point */
    case FLINK_TUPLE:
        return hash_of_tuple(s, v, hash);
    default:
        return false;
    }
}
