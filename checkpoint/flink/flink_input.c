/* flink_input.c - see flink_input.h */
#include "checkpoint/flink/flink_input.h"

#include "checkpoint/flink/snappy_frame.h"

#include <inttypes.h>

#define READ_BYTES (256u << 10)

#define HEADER_BYTES_FIRST (64u << 10)
#define HEADER_BYTES_CUT (1u << 20) /* one that cannot be read to its end is not looked for further */

struct flink_input {
    struct fs_file *file; /* NULL: inlined */
    struct bytes inlined;
    char *name;
    uint64_t start, size; /* of the stream in its file */
    bool compressed;
    uint64_t next, end; /* offset of the next raw byte; what is not read any more */
    struct buf window;  /* shown bytes begin at `shown` */
    size_t shown;
    struct buf raw; /* of a chunk */
};

static enum rc measure(struct flink_input *in, const struct flink_stream *s, struct err *err)
{
    uint64_t length;

    RETURN_IF_ERR(fs_size(in->file, &length, err));
    if (s->tag == FLINK_STREAM_SEGMENT) {
        if (s->start < 0 || s->size < 0 || (uint64_t)s->start > length ||
            (uint64_t)s->size > length - (uint64_t)s->start)
            return err_set(err, RC_CORRUPT,
                           "%s: %" PRIu64 " bytes long, its segment is %" PRId64
                           " bytes from %" PRId64 " on",
                           in->name, length, s->size, s->start);
        in->start = (uint64_t)s->start;
        in->size = (uint64_t)s->size;
        return RC_OK;
    }
    if (s->size >= 0 && length != (uint64_t)s->size)
        return err_set(err, RC_CORRUPT, "%s: %" PRIu64 " bytes long, _metadata says %" PRId64,
                       in->name, length, s->size);
    in->size = length;
    return RC_OK;
}

enum rc flink_input_open(struct fs *fs, const struct flink_stream *stream, const char *path,
                         struct flink_input **out, struct err *err)
{
    struct flink_input *in = mem_calloc(1, sizeof *in);
    struct buf name = {0};
    enum rc rc = RC_OK;

    if (stream->tag == FLINK_STREAM_BYTES || stream->tag == FLINK_STREAM_EMPTY) {
        buf_append_str(&name, "inlined ");
        buf_append_escaped(&name, stream->path, 200);
        in->name = mem_strdup(buf_cstr(&name));
        in->inlined = stream->tag == FLINK_STREAM_BYTES ? stream->data : (struct bytes){0};
        in->size = in->inlined.len;
    } else if (path[0] == '\0') {
        rc = err_set(err, RC_UNSUPPORTED, "a stream of form %d has no file", (int)stream->tag);
    } else {
        in->name = mem_strdup(path);
        rc = fs_open_read(fs, path, &in->file, err);
        if (rc == RC_OK)
            rc = measure(in, stream, err);
    }
    buf_release(&name);
    if (rc != RC_OK) {
        flink_input_close(in);
        return rc;
    }
    *out = in;
    return RC_OK;
}

void flink_input_close(struct flink_input *in)
{
    if (in == NULL)
        return;
    fs_abandon(&in->file);
    buf_release(&in->window);
    buf_release(&in->raw);
    mem_free(in->name);
    mem_free(in);
}

uint64_t flink_input_size(const struct flink_input *in)
{
    return in->size;
}

const char *flink_input_name(const struct flink_input *in)
{
    return in->name;
}

uint64_t flink_input_offset(const struct flink_input *in)
{
    return in->compressed ? in->next : in->next - (in->window.len - in->shown);
}

enum rc flink_input_seek(struct flink_input *in, uint64_t offset, uint64_t end, bool compressed,
                         struct err *err)
{
    if (offset > in->size)
        return err_set(err, RC_CORRUPT, "%s: an offset of %" PRIu64 ", it has %" PRIu64 " bytes",
                       in->name, offset, in->size);
    in->end = end < in->size ? end : in->size;
    if (in->end < offset)
        in->end = offset;
    buf_clear(&in->window);
    buf_reserve(&in->window, 1); /* nothing has an address too */
    in->shown = 0;
    in->next = offset;
    in->compressed = compressed;
    return RC_OK;
}

enum rc flink_input_uncompress(struct flink_input *in, struct err *err)
{
    return flink_input_seek(in, flink_input_offset(in), in->end, true, err);
}

/* Appends up to `len` raw bytes to `to`. */
static enum rc read_raw(struct flink_input *in, size_t len, struct buf *to, struct err *err)
{
    uint64_t left = in->end - in->next;
    size_t got = len < left ? len : (size_t)left;

    if (in->file == NULL) {
        buf_append(to, in->inlined.data + in->next, got);
    } else {
        size_t want = got;

        buf_reserve(to, want);
        RETURN_IF_ERR(
            fs_read_at(in->file, in->start + in->next, to->data + to->len, want, &got, err));
        if (got < want)
            return err_set(err, RC_CORRUPT, "%s: ends while it is read, at %" PRIu64, in->name,
                           in->start + in->next + got);
        to->len += got;
    }
    in->next += got;
    return RC_OK;
}

static enum rc read_chunk(struct flink_input *in, struct err *err)
{
    uint64_t at = in->next;
    struct snappy_chunk chunk;
    enum rc rc;

    buf_clear(&in->raw);
    RETURN_IF_ERR(read_raw(in, SNAPPY_CHUNK_HEADER, &in->raw, err));
    if (in->raw.len < SNAPPY_CHUNK_HEADER)
        return err_set(err, RC_CORRUPT, "%s: a chunk at %" PRIu64 " is cut", in->name, at);
    chunk = snappy_chunk_of(in->raw.data);
    buf_clear(&in->raw);
    RETURN_IF_ERR(read_raw(in, chunk.body_len, &in->raw, err));
    if (in->raw.len < chunk.body_len)
        return err_set(err, RC_CORRUPT, "%s: a chunk at %" PRIu64 " is cut", in->name, at);
    rc = snappy_chunk_read(chunk, buf_bytes(&in->raw), &in->window, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s: chunk at %" PRIu64, in->name, at);
}

enum rc flink_input_want(struct flink_input *in, size_t want, struct bytes *out, struct err *err)
{
    if (want > FLINK_WANT_MAX)
        return err_set(err, RC_LIMIT, "%s: %zu bytes at %" PRIu64 ", at most %u are read at once",
                       in->name, want, flink_input_offset(in), FLINK_WANT_MAX);
    if (in->shown > 0 && in->window.len - in->shown < want) {
        memmove(in->window.data, in->window.data + in->shown, in->window.len - in->shown);
        in->window.len -= in->shown;
        in->shown = 0;
    }
    while (in->window.len - in->shown < want && in->next < in->end) {
        size_t missing = want - (in->window.len - in->shown);

        if (in->compressed)
            RETURN_IF_ERR(read_chunk(in, err));
        else
            RETURN_IF_ERR(
                read_raw(in, missing < READ_BYTES ? READ_BYTES : missing, &in->window, err));
    }
    *out = bytes_of(in->window.data + in->shown, in->window.len - in->shown);
    return RC_OK;
}

void flink_input_skip(struct flink_input *in, size_t n)
{
    ASSERT(n <= in->window.len - in->shown);
    in->shown += n;
}

enum rc flink_input_take(struct flink_input *in, size_t n, struct bytes *out, const char *field,
                         struct err *err)
{
    struct bytes shown;

    RETURN_IF_ERR(flink_input_want(in, n, &shown, err));
    if (shown.len < n)
        return err_set(err, RC_CORRUPT, "%s: %s at %" PRIu64 ": needs %zu bytes, %zu are left",
                       in->name, field, flink_input_offset(in), n, shown.len);
    *out = bytes_of(shown.data, n);
    in->shown += n;
    return RC_OK;
}

enum rc flink_input_states(struct flink_input *in, flink_states_fn *read, struct arena *arena,
                           struct flink_states *out, struct err *err)
{
    size_t want = HEADER_BYTES_FIRST;
    struct bytes shown;
    struct reader r;
    enum rc rc;

    RETURN_IF_ERR(flink_input_seek(in, 0, UINT64_MAX, false, err));
    for (;; want *= 2) {
        struct err why = {0};

        RETURN_IF_ERR(flink_input_want(in, want, &shown, err));
        reader_init(&r, shown, flink_input_name(in));
        rc = read(&r, arena, out, &why);
        if (rc == RC_OK && out->cut != NULL && shown.len >= want && want < HEADER_BYTES_CUT)
            continue; /* it may go on behind the window */
        if (rc == RC_OK || shown.len < want || rc == RC_LIMIT || want >= FLINK_WANT_MAX)
            return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", why.msg);
    }
}
