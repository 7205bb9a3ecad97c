/* flink_bytes.h - serializer snapshots as Flink writes them, piece by piece, from the format's
 * description (docs/FORMAT.md "State that Flink wrote"): for tests of who reads them. */
#ifndef VARVE_TESTS_LIB_FLINK_BYTES_H
#define VARVE_TESTS_LIB_FLINK_BYTES_H

#include "base/arena.h"

#define FLINK_BASE "org.apache.flink.api.common.typeutils.base."
#define FLINK_RUNTIME "org.apache.flink.api.java.typeutils.runtime."
#define FLINK_TABLE "org.apache.flink.table.runtime.typeutils."

static inline void flink_utf(struct buf *b, const char *text)
{
    buf_append_be16(b, (uint16_t)strlen(text));
    buf_append_str(b, text);
}
static inline void flink_class(struct buf *b, const char *name, uint32_t version)
{
    flink_utf(b, name);
    buf_append_be32(b, version);
}
static inline void flink_nested(struct buf *b, uint32_t count)
{
    buf_append_be32(b, 1333245);
    buf_append_be32(b, 1);
    buf_append_be32(b, count);
}
static inline void flink_composite(struct buf *b, const char *name, uint32_t outer)
{
    flink_class(b, name, 3);
    buf_append_be32(b, 911108);
    buf_append_be32(b, outer);
}
/* "Long", "String", ... */
static inline void flink_simple(struct buf *b, const char *type)
{
    struct buf name = {0};

    buf_printf(&name, FLINK_BASE "%sSerializer$%sSerializerSnapshot", type, type);
    flink_class(b, buf_cstr(&name), 3);
    buf_release(&name);
}
static inline void flink_map_header(struct buf *b, uint32_t count)
{
    buf_append_be64(b, 0x4F2C69A3D70ull);
    buf_append_be32(b, count);
}
/* An entry of a Pojo's map of fields, with what `type` writes. */
static inline void flink_pojo_field(struct buf *b, const char *name, struct bytes serializer)
{
    flink_utf(b, name);
    buf_append_u8(b, 1);
    buf_append_be32(b, (uint32_t)(4 + 2 + strlen(name) - 1));
    flink_utf(b, "C");
    flink_utf(b, name);
    buf_append_u8(b, 1);
    buf_append_be32(b, (uint32_t)serializer.len);
    buf_append(b, serializer.data, serializer.len);
}

#endif
