/* fuzz_log_record.c - any bytes as an item of a write-ahead sink of either kind, and as the head of a log: decoded
 * or refused with a message, and what is decoded encodes to the same bytes. */
#include "sink/log_file.h"
#include "sink/log_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_record(struct bytes in, struct arena *arena)
{
    struct log_record r;
    struct err err = {0};
    enum rc rc = log_record_decode(in, arena, "fuzz", &r, &err);

    if (rc == RC_OK)
        ASSERT(bytes_eq(log_record_encode(&r, arena), in));
    else
        ASSERT(err.rc == rc && err.msg[0] != '\0');
}

static void fuzz_position(struct bytes in, struct arena *arena)
{
    struct log_position p;
    struct err err = {0};
    enum rc rc = log_position_decode(in, "fuzz", &p, &err);

    if (rc == RC_OK)
        ASSERT(bytes_eq(log_position_encode(&p, arena), in));
    else
        ASSERT(err.rc == rc && err.msg[0] != '\0');
}

static void fuzz_head(struct bytes in, struct arena *arena)
{
    struct log_head h;
    struct err err = {0};
    struct buf again = {0};
    size_t end;
    enum rc rc = log_head_decode(in, arena, "fuzz", &h, &end, &err);

    if (rc == RC_OK) {
        log_head_encode(&h, &again); /* a varint may be longer than needed */
        ASSERT(again.len <= end && end <= in.len);
        ASSERT(h.key_count <= h.column_count);
        for (uint32_t i = 0; i < h.key_count; i++)
            ASSERT(h.key[i] < h.column_count);
    } else {
        ASSERT(err.rc == rc && err.msg[0] != '\0');
    }
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);

    fuzz_record(bytes_of(data, size), arena);
    fuzz_position(bytes_of(data, size), arena);
    fuzz_head(bytes_of(data, size), arena);
    arena_free(arena);
    return 0;
}
