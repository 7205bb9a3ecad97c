/* fuzz_metadata.c - any bytes as a _metadata: refused, or a tree that obeys every rule and encodes
 * again.
 *
 * The first byte chooses: as given (even), or as a protobuf message that is wrapped in a valid
 * frame and header (odd), since no fuzzer guesses a digest. */
#include "tests/fuzz/framed_metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct checkpoint_metadata m;
    struct err err = {0};
    struct buf file = {0}, again = {0};
    enum rc rc;

    if (size > 0 && data[0] % 2 == 1)
        framed_metadata(bytes_of(data + 1, size - 1), &file);
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
