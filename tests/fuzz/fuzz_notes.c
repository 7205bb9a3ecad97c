/* fuzz_notes.c - any bytes as ENDED and as ORIGIN: read or refused with a message, and what is read is written back as the same bytes. */
#include "checkpoint/ended.h"
#include "checkpoint/lineage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Leading zeros aside there is one spelling only. */
static void check(struct bytes in, const struct buf *out)
{
    ASSERT(out->len <= in.len);
    if (out->len == in.len)
        ASSERT(bytes_eq(buf_bytes(out), in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = bytes_of(data, size);
    struct arena *arena = arena_new(0);
    struct run_origin origin;
    struct ended ended;
    struct err err = {0};
    struct buf out = {0};

    if (ended_parse((struct note){in, arena}, &ended, &err) == RC_OK) {
        ended_encode(&ended, &out);
        check(in, &out);
    } else {
        ASSERT(err.rc == RC_CORRUPT && err.msg[0] != '\0');
    }
    buf_clear(&out);
    err_clear(&err);
    if (origin_parse((struct note){in, arena}, &origin, &err) == RC_OK) {
        origin_encode(&origin, &out);
        check(in, &out);
    } else {
        ASSERT(err.rc == RC_CORRUPT && err.msg[0] != '\0');
    }
    buf_release(&out);
    arena_free(arena);
    return 0;
}
