/* fuzz_metadata.c - any bytes as a _metadata: refused, or a tree that obeys every rule and encodes
 * again.
 *
 * The first byte chooses: as given (even), or as a protobuf message that is wrapped in a valid
 * frame and header (odd), since no fuzzer guesses a digest. */
#include "base/zframe.h"
#include "checkpoint/metadata.h"

#define HEADER_BYTES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void wrap(struct bytes message, struct buf *file)
{
    static const uint8_t head[20] = "\x56\x2a\x4d\x18\x38\0\0\0VARVECKP\1\0\0";
    struct digest128 digest;

    buf_append(file, head, sizeof head);
    buf_append(file, (const uint8_t[HEADER_BYTES - sizeof head]){0}, HEADER_BYTES - sizeof head);
    zframe_compress(message, 1, file);
    digest = digest_of(bytes_of(file->data + HEADER_BYTES, file->len - HEADER_BYTES));
    put_le64(file->data + 24, file->len - HEADER_BYTES);
    put_le64(file->data + 32, message.len);
    memcpy(file->data + 40, digest.b, sizeof digest.b);
    put_le64(file->data + 56, hash64(bytes_of(file->data, 56)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct checkpoint_metadata m;
    struct err err = {0};
    struct buf file = {0}, again = {0};
    enum rc rc;

    if (size > 0 && data[0] % 2 == 1)
        wrap(bytes_of(data + 1, size - 1), &file);
    else if (size > 0)
        buf_append(&file, data + 1, size - 1);
    rc = metadata_own_decode(buf_bytes(&file), arena, "fuzz", &m, &err);
    if (rc == RC_OK) {
        ASSERT(metadata_check(&m, "fuzz", &err) == RC_OK);
        metadata_own_encode(&m, &again);
        ASSERT(metadata_own_decode(buf_bytes(&again), arena, "again", &m, &err) == RC_OK);
    } else {
        ASSERT(err.rc == rc && err.msg[0] != '\0');
    }
    buf_release(&file);
    buf_release(&again);
    arena_free(arena);
    return 0;
}
