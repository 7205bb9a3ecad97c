/* fuzz_flink_stream.c - any bytes as a stream of keyed state, in each of its forms: refused with a
 * reason, or entries to its end; and as Snappy frames. Input: a byte that says which form, one with
 * the number of key groups, an offset of 4 bytes for each, the stream. */
#include "checkpoint/flink/flink_keyed.h"
#include "checkpoint/flink/snappy_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void scan_all(struct flink_reader *r, size_t state)
{
    struct key_group_range all = {0, 127};
    struct flink_scan *scan;
    struct bytes key, value;
    struct err err = {0};
    enum rc rc;

    if (flink_scan_open(r, state, all, (struct bytes){0}, &scan, &err) != RC_OK)
        return;
    do {
        rc = flink_scan_next(scan, &key, &value, &err);
        ASSERT(rc == RC_OK || err.msg[0] != '\0');
    } while (rc == RC_OK && key.data != NULL);
    flink_scan_close(scan);
}

static void uncompress(struct bytes b)
{
    struct buf out = {0};

    while (b.len >= SNAPPY_CHUNK_HEADER) {
        struct snappy_chunk chunk = snappy_chunk_of(b.data);
        struct err err = {0};

        b = bytes_of(b.data + SNAPPY_CHUNK_HEADER, b.len - SNAPPY_CHUNK_HEADER);
        if (chunk.body_len > b.len ||
            snappy_chunk_read(chunk, bytes_of(b.data, chunk.body_len), &out, &err) != RC_OK)
            break;
        b = bytes_of(b.data + chunk.body_len, b.len - chunk.body_len);
    }
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum flink_keyed_tag tags[] = {FLINK_KEYED_SAVEPOINT, FLINK_KEYED_GROUPS,
                                                FLINK_KEYED_GROUPS};
    struct flink_groups groups = {.stream = {.tag = FLINK_STREAM_BYTES}};
    struct flink_keyed handle = {.groups = &groups};
    struct flink_keyed_source from = {.fs = fs_posix(),
                                      .scratch_dir = "/nowhere",
                                      .handle = &handle,
                                      .key_group_count = 128};
    struct arena *arena;
    struct flink_reader *r;
    int64_t offsets[16];
    struct err err = {0};
    uint32_t count;

    if (size < 2)
        return 0;
    uncompress(bytes_of(data, size));
    handle.tag = tags[data[0] % 3];
    from.raw = data[0] % 3 == 2;
    count = 1 + data[1] % 16;
    data += 2;
    size -= 2;
    if (size < 4 * (size_t)count)
        return 0;
    for (uint32_t i = 0; i < count; i++, data += 4, size -= 4)
        offsets[i] = (int32_t)get_be32(data);
    groups.range = handle.range = (struct flink_range){0, count};
    groups.offsets = offsets;
    groups.stream.data = bytes_of(data, size);
    groups.stream.path = bytes_of_str("fuzz");
    groups.stream.size = (int64_t)size;
    arena = arena_new(0);
    from.places = flink_places_new(fs_posix(), NULL, "/nowhere", NULL, arena);
    if (flink_reader_open(&from, &r, &err) == RC_OK) {
        for (size_t i = 0; i < flink_reader_states(r)->count && i < 8; i++)
            scan_all(r, i);
        flink_reader_close(r);
    } else {
        ASSERT(err.msg[0] != '\0');
    }
    arena_free(arena);
    return 0;
}
