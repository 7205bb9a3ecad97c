/* Keyed streams from outside. The digest of the whole file and the checksums would stop every
 * change, so they are made to fit: what is fuzzed is what stands behind them. Input: first byte =
 * number of groups, then the stream. */
#include "backend/keyed_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rc take(void *ctx, uint32_t state_id, uint32_t count, const struct bytes *keys,
                    const struct bytes *values, struct err *err)
{
    uint64_t *sum = ctx;

    (void)err;
    for (uint32_t i = 0; i < count; i++) {
        for (size_t j = 0; j < keys[i].len; j++)
            *sum += keys[i].data[j];
        for (size_t j = 0; j < values[i].len; j++)
            *sum += values[i].data[j] * (state_id + 1);
    }
    return RC_OK;
}

/* Checksums of header, blocks and end block, as far as their lengths lead. */
static void make_fit(uint8_t *p, size_t len)
{
    size_t at = KEYED_STREAM_HEADER_BYTES;

    if (len >= at)
        put_le64(p + 32, hash64(bytes_of(p, 32)));
    while (len - at >= KEYED_BLOCK_HEADER_BYTES && at < len) {
        uint64_t body = get_le64(p + at + 16);

        if (body > len - at - KEYED_BLOCK_HEADER_BYTES)
            break;
        put_le64(p + at + 24, hash64_seed(bytes_of(p + at + KEYED_BLOCK_HEADER_BYTES, (size_t)body),
                                          hash64(bytes_of(p + at, 24))));
        at += KEYED_BLOCK_HEADER_BYTES + (size_t)body;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state_desc states[3] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
    struct state_file file = {.local_name = "", .scope = FILE_INLINE};
    struct keyed_handle h = {.kind = KEYED_STREAM,
                             .key_group_count = 300,
                             .state_count = 3,
                             .states = states,
                             .files = &file,
                             .file_count = 1};
    uint64_t offsets[16], sum = 0;
    uint8_t *copy;
    struct err err = {0};

    if (size < 1 + KEYED_STREAM_HEADER_BYTES)
        return 0;
    copy = mem_alloc(size - 1);
    memcpy(copy, data + 1, size - 1);
    h.range = (struct key_group_range){5, 5 + data[0] % 16u};
    h.group_offset_count = data[0] % 16u + 1;
    h.group_offsets = offsets;
    /* Groups begin where the bytes say, often all at the header's end. */
    for (size_t i = 0; i < h.group_offset_count; i++)
        offsets[i] =
            i == 0 ? KEYED_STREAM_HEADER_BYTES : offsets[i - 1] + copy[i % (size - 1)] % 64u;
    put_le32(copy + 12, 300);
    put_le32(copy + 16, h.range.first);
    put_le32(copy + 20, h.range.last);
    put_le32(copy + 24, 3);
    make_fit(copy, size - 1);
    if (size - 1 >= 48)
        h.entry_count = get_le64(copy + size - 1 - 16);
    file.inline_bytes = bytes_of(copy, size - 1);
    file.size_bytes = size - 1;
    file.digest = digest_of(file.inline_bytes);
    (void)!keyed_stream_read(fs_posix(), &h, h.range, take, &sum, &err);
    mem_free(copy);
    return sum == 0x123456789abcdefull ? 1 : 0;
}
