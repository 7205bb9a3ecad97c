/* flink_copy.c - see flink_copy.h */
#include "checkpoint/flink/flink_copy.h"

#include "checkpoint/flink/flink_input.h"

#define PIECE_BYTES (256u << 10)

static enum rc open_whole(const struct flink_copy *c, const struct flink_stream *s,
                          struct flink_input **out, struct err *err)
{
    RETURN_IF_ERR(flink_input_open(c->fs, s, flink_place(c->places, s), out, err));
    return flink_input_seek(*out, 0, UINT64_MAX, false, err);
}

enum rc flink_copy_stream(const struct flink_copy *c, const struct flink_stream *s,
                          struct flink_stream *out, struct err *err)
{
    struct flink_input *in = NULL;
    struct flink_file f = {0};
    struct bytes shown;
    enum rc rc;

    GOTO_IF_ERR(open_whole(c, s, &in, err));
    flink_file_init(c->target, &f);
    for (;;) {
        GOTO_IF_ERR(flink_input_want(in, PIECE_BYTES, &shown, err));
        if (shown.len == 0)
            break;
        buf_append(&f.buf, shown.data, shown.len);
        flink_input_skip(in, shown.len);
        if (f.buf.len >= FLINK_TARGET_BUFFER)
            GOTO_IF_ERR(flink_file_flush(&f, f.buf.len, err));
    }
    rc = flink_file_finish(&f, c->arena, out, err);
out:
    flink_file_release(&f);
    flink_input_close(in);
    return rc;
}

enum rc flink_copy_coordinator(const struct flink_copy *c, const struct flink_stream *s,
                               struct flink_stream *out, struct err *err)
{
    struct flink_input *in = NULL;
    struct bytes all;
    enum rc rc;

    *out = *s;
    if (s->tag == FLINK_STREAM_NONE || s->tag == FLINK_STREAM_BYTES)
        return RC_OK;
    GOTO_IF_ERR(open_whole(c, s, &in, err));
    GOTO_IF_ERR(flink_input_want(in, (size_t)flink_input_size(in), &all, err));
    *out = (struct flink_stream){.tag = FLINK_STREAM_BYTES,
                                 .path = s->path,
                                 .data = arena_bytes_copy(c->arena, all),
                                 .size = (int64_t)all.len};
out:
    flink_input_close(in);
    return rc;
}

enum rc flink_copy_lists(const struct flink_copy *c, const struct flink_operator_state *from,
                         struct flink_operator_state *out, struct err *err)
{
    *out = (struct flink_operator_state){0};
    if (flink_lists_empty(from))
        return RC_OK;
    *out = *from; /* offsets count from where the stream begins, so they stay */
    out->tag = FLINK_LISTS;
    return flink_copy_stream(c, &from->stream, &out->stream, err);
}
