/* fuzz_zframe.c - any bytes as a zstd frame: refused with a message and nothing appended, or
 * content within the limit; and any bytes as content: they come back. */
#include "base/zframe.h"

#define LIMIT ((size_t)1 << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = {0}, frame = {0};
    struct err err = {0};
    enum rc rc;

    buf_append_str(&out, "before");
    rc = zframe_decompress(bytes_of(data, size), LIMIT, &out, "fuzz", &err);
    if (rc == RC_OK) {
        ASSERT(out.len - 6 <= LIMIT && err.rc == RC_OK);
    } else {
        ASSERT((rc == RC_CORRUPT || rc == RC_LIMIT) && err.rc == rc && err.msg[0] != '\0');
        ASSERT(out.len == 6 && out.cap <= 8 * LIMIT);
    }
    err_clear(&err);
    buf_clear(&out);
    zframe_compress(bytes_of(data, size), 1, &frame);
    ASSERT(zframe_decompress(buf_bytes(&frame), size, &out, "fuzz", &err) == RC_OK);
    ASSERT(bytes_eq(buf_bytes(&out), bytes_of(data, size)));
    buf_release(&out);
    buf_release(&frame);
    return 0;
}
