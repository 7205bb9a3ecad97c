/* zframe.c - see zframe.h */
#include "base/zframe.h"

#include "base/arena.h"

#include <zstd.h>

/* A header that promises much costs nothing until content follows: memory grows by what arrives. */
#define FIRST_PIECE ((size_t)1 << 20)

void zframe_compress(struct bytes plain, int level, struct buf *out)
{
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(plain.len), got;

    ASSERT(ctx != NULL && level >= 1 && level <= 19 && !ZSTD_isError(bound));
    ASSERT(!ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, level)));
    ASSERT(!ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1)));
    ASSERT(!ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_contentSizeFlag, 1)));
    buf_reserve(out, bound);
    got = ZSTD_compress2(ctx, out->data + out->len, bound, plain.data, plain.len);
    ASSERT(!ZSTD_isError(got)); /* the room is enough, so only memory can lack */
    out->len += got;
    ZSTD_freeCCtx(ctx);
}

/* Exactly one frame, no skippable one; *size_bytes is its content's size, or UNKNOWN. */
static enum rc check_frame(struct bytes frame, const char *what, unsigned long long *size_bytes,
                           struct err *err)
{
    size_t frame_len;

    if (frame.len < 4 || get_le32(frame.data) != ZSTD_MAGICNUMBER)
        return err_set(err, RC_CORRUPT, "%s: no zstd frame", what);
    *size_bytes = ZSTD_getFrameContentSize(frame.data, frame.len);
    if (*size_bytes == ZSTD_CONTENTSIZE_ERROR)
        return err_set(err, RC_CORRUPT, "%s: the zstd frame's header is damaged", what);
    frame_len = ZSTD_findFrameCompressedSize(frame.data, frame.len);
    if (ZSTD_isError(frame_len))
        return err_set(err, RC_CORRUPT, "%s: zstd frame of %zu bytes: %s", what, frame.len,
                       ZSTD_getErrorName(frame_len));
    if (frame_len != frame.len)
        return err_set(err, RC_CORRUPT, "%s: %zu bytes follow the zstd frame", what,
                       frame.len - frame_len);
    return RC_OK;
}

static enum rc over_limit(const char *what, size_t limit_bytes, struct err *err)
{
    return err_set(err, RC_LIMIT, "%s: the zstd frame's content exceeds the limit of %zu bytes",
                   what, limit_bytes);
}

/* Decompress to the end, never holding more than limit_bytes of content. */
static enum rc inflate(ZSTD_DCtx *ctx, struct bytes frame, size_t limit_bytes, struct buf *out,
                       const char *what, struct err *err)
{
    ZSTD_inBuffer in = {.src = frame.data, .size = frame.len};
    size_t start = out->len, piece = FIRST_PIECE, more;

    do {
        size_t room = limit_bytes - (out->len - start);
        uint8_t probe;
        ZSTD_outBuffer to = {.dst = &probe, .size = 1}; /* at the limit: is there one byte more? */

        if (room > 0) {
            room = room < piece ? room : piece;
            buf_reserve(out, room);
            to = (ZSTD_outBuffer){.dst = out->data + out->len, .size = room};
        }
        more = ZSTD_decompressStream(ctx, &to, &in);
        if (ZSTD_isError(more))
            return err_set(err, RC_CORRUPT, "%s: zstd: %s", what, ZSTD_getErrorName(more));
        if (room == 0 && to.pos > 0)
            return over_limit(what, limit_bytes, err);
        if (more != 0 && to.pos == 0 && in.pos == in.size)
            return err_set(err, RC_CORRUPT, "%s: zstd: the frame is cut", what);
        out->len += to.pos;
        piece = out->len - start > FIRST_PIECE ? out->len - start : FIRST_PIECE;
    } while (more != 0);
    return RC_OK;
}

enum rc zframe_decompress(struct bytes frame, size_t limit_bytes, struct buf *out, const char *what,
                          struct err *err)
{
    unsigned long long size_bytes = 0;
    size_t start = out->len;
    ZSTD_DCtx *ctx;
    enum rc rc;

    RETURN_IF_ERR(check_frame(frame, what, &size_bytes, err));
    if (size_bytes != ZSTD_CONTENTSIZE_UNKNOWN && size_bytes > limit_bytes)
        return err_set(err, RC_LIMIT, "%s: the zstd frame holds %llu bytes, the limit is %zu", what,
                       size_bytes, limit_bytes);
    ctx = ZSTD_createDCtx();
    ASSERT(ctx != NULL);
    rc = inflate(ctx, frame, limit_bytes, out, what, err);
    ZSTD_freeDCtx(ctx);
    if (rc != RC_OK)
        out->len = start; /* no content that is not proven */
    return rc;
}
