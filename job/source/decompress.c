/* decompress.c - see decompress.h */
#include "job/source/decompress.h"

#include "base/arena.h"

#include <zlib.h>
#include <zstd.h>

struct decompressor {
    enum compression kind;
    bool between; /* the last member or frame is complete, no other has begun */
    z_stream gzip;
    ZSTD_DStream *zstd;
};

/* ---- recognising ----------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), e = strlen(end);

    return n >= e && strcmp(name + n - e, end) == 0;
}

static bool begins(struct bytes head, const char *magic, size_t len)
{
    return head.len >= len && memcmp(head.data, magic, len) == 0;
}

static bool is_zstd(struct bytes head)
{
    uint32_t magic;

    if (head.len < 4)
        return false;
    magic = get_le32(head.data);
    return magic == ZSTD_MAGICNUMBER ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

enum rc compression_of(const char *name, struct bytes head, enum compression *out, struct err *err)
{
    *out = COMPRESSION_NONE;
    if (begins(head, "\x1f\x8b", 2))
        *out = COMPRESSION_GZIP;
    else if (is_zstd(head))
        *out = COMPRESSION_ZSTD;
    else if (begins(head, "BZh", 3) && head.len > 3 && head.data[3] >= '1' && head.data[3] <= '9' &&
             (ends_with(name, ".bz2") || ends_with(name, ".bzip2")))
        return err_set(err, RC_UNSUPPORTED, "%s: bzip2 is not supported; gzip and zstd are", name);
    else if (begins(head,
                    "\xfd"
                    "7zXZ\0",
                    6))
        return err_set(err, RC_UNSUPPORTED, "%s: xz is not supported; gzip and zstd are", name);
    if (*out != COMPRESSION_GZIP && (ends_with(name, ".gz") || ends_with(name, ".gzip")))
        return err_set(err, RC_CORRUPT, "%s: is named like a gzip file but does not begin like one",
                       name);
    if (*out != COMPRESSION_ZSTD && (ends_with(name, ".zst") || ends_with(name, ".zstd")))
        return err_set(err, RC_CORRUPT, "%s: is named like a zstd file but does not begin like one",
                       name);
    return RC_OK;
}

/* ---- gzip ------------------------------------------------------------------------------------ */

#define GZIP_WINDOW_BITS (15 + 16) /* largest window; the gzip header is required */

static enum rc gzip_run(struct decompressor *d, struct bytes in, size_t *used, uint8_t *out,
                        size_t cap, size_t *made, struct err *err)
{
    uInt in_len = in.len < UINT32_MAX ? (uInt)in.len : UINT32_MAX;
    uInt out_len = cap < UINT32_MAX ? (uInt)cap : UINT32_MAX;
    int code;

    if (d->between) {
        ASSERT(inflateReset(&d->gzip) == Z_OK);
        d->between = false;
    }
    d->gzip.next_in = (Bytef *)(uintptr_t)in.data;
    d->gzip.avail_in = in_len;
    d->gzip.next_out = out;
    d->gzip.avail_out = out_len;
    code = inflate(&d->gzip, Z_NO_FLUSH);
    *used = in_len - d->gzip.avail_in;
    *made = out_len - d->gzip.avail_out;
    if (code == Z_STREAM_END)
        d->between = true;
    else if (code != Z_OK && code != Z_BUF_ERROR)
        return err_set(err, RC_CORRUPT, "gzip: %s",
                       code == Z_NEED_DICT   ? "needs a dictionary"
                       : d->gzip.msg != NULL ? d->gzip.msg
                                             : zError(code));
    return RC_OK;
}

/* ---- zstd ------------------------------------------------------------------------------------ */

static enum rc zstd_run(struct decompressor *d, struct bytes in, size_t *used, uint8_t *out,
                        size_t cap, size_t *made, struct err *err)
{
    ZSTD_inBuffer from = {in.data, in.len, 0};
    ZSTD_outBuffer to = {out, cap, 0};
    size_t left = ZSTD_decompressStream(d->zstd, &to, &from);

    *used = from.pos;
    *made = to.pos;
    if (ZSTD_isError(left))
        return err_set(err, RC_CORRUPT, "zstd: %s", ZSTD_getErrorName(left));
    d->between = left == 0;
    return RC_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

struct decompressor *decompressor_new(enum compression kind)
{
    struct decompressor *d = mem_calloc(1, sizeof *d);

    ASSERT(kind != COMPRESSION_NONE);
    d->kind = kind;
    d->between = true;
    if (kind == COMPRESSION_GZIP) {
        ASSERT(inflateInit2(&d->gzip, GZIP_WINDOW_BITS) == Z_OK);
    } else {
        d->zstd = ZSTD_createDStream();
        ASSERT(d->zstd != NULL);
        ASSERT(!ZSTD_isError(
            ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX)));
    }
    return d;
}

void decompressor_free(struct decompressor *d)
{
    if (d == NULL)
        return;
    if (d->kind == COMPRESSION_GZIP)
        (void)inflateEnd(&d->gzip);
    else
        (void)ZSTD_freeDStream(d->zstd);
    mem_free(d);
}

enum rc decompressor_run(struct decompressor *d, struct bytes in, bool in_end, size_t *used,
                         uint8_t *out, size_t cap, size_t *made, bool *done, struct err *err)
{
    ASSERT(cap > 0);
    *used = *made = 0;
    *done = false;
    if (in.len == 0 && d->between) {
        *done = in_end;
        return RC_OK;
    }
    if (d->kind == COMPRESSION_GZIP)
        RETURN_IF_ERR(gzip_run(d, in, used, out, cap, made, err));
    else
        RETURN_IF_ERR(zstd_run(d, in, used, out, cap, made, err));
    if (in_end && *used == in.len) {
        *done = d->between;
        if (!d->between && *made == 0)
            return err_set(err, RC_CORRUPT, "%s: the file is cut: its compressed data does not end",
                           d->kind == COMPRESSION_GZIP ? "gzip" : "zstd");
    }
    return RC_OK;
}
