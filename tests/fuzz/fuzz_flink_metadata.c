/* fuzz_flink_metadata.c - any bytes as a Flink _metadata: refused with a reason, or a tree that can be
 * walked, checked and shown. Seeds: what Flink wrote. */
#include "checkpoint/flink/flink_json.h"
#include "checkpoint/flink/flink_metadata_write.h"

static enum rc see(void *ctx, const struct flink_stream_use *use, struct err *err UNUSED)
{
    uint64_t *seen = ctx;

    ASSERT(use->stream->tag != FLINK_STREAM_NONE && use->op != NULL);
    *seen += use->stream->path.len + use->stream->data.len;
    return RC_OK;
}

/* What is written of it reads as it did, but for the properties, which say what is written. */
static void write_again(const struct flink_metadata *m, struct arena *arena)
{
    static const char *const others[] = {"properties", "propertiesOffset", "length"};
    struct flink_metadata again;
    struct buf out = {0}, first = {0}, second = {0};
    struct err err = {0};
    enum rc rc = flink_metadata_encode(m, FLINK_PROPERTIES_CANONICAL, &out, &err);
    json_t *a, *b;

    ASSERT(rc == RC_OK || (err.rc == rc && err.msg[0] != '\0'));
    if (rc == RC_OK) {
        ASSERT(flink_metadata_decode(buf_bytes(&out), arena, "again", &again, &err) == RC_OK);
        a = flink_metadata_json(m);
        b = flink_metadata_json(&again);
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
            json_object_del(a, others[i]);
            json_object_del(b, others[i]);
        }
        json_dump_to(a, false, &first); /* json_equal finds no key that holds a NUL */
        json_dump_to(b, false, &second);
        ASSERT(bytes_eq(buf_bytes(&first), buf_bytes(&second)));
        json_decref(a);
        json_decref(b);
    }
    buf_release(&out);
    buf_release(&first);
    buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct flink_metadata m;
    struct err err = {0};
    uint64_t seen = 0;
    enum rc rc = flink_metadata_decode(bytes_of(data, size), arena, "fuzz", &m, &err);

    if (rc == RC_OK) {
        ASSERT(flink_metadata_recognise(bytes_of(data, size)));
        ASSERT(flink_metadata_each_stream(&m, see, &seen, &err) == RC_OK);
        json_decref(flink_metadata_json(&m));
        if (m.version >= 3 && m.trailing_bytes == 0)
            write_again(&m, arena);
        rc = flink_metadata_check(&m, "fuzz", &err);
    }
    ASSERT(rc == RC_OK || (err.rc == rc && err.msg[0] != '\0'));
    arena_free(arena);
    return 0;
}
