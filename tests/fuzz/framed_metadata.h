/* framed_metadata.h - any bytes as the message of a _metadata whose header and digests are right: no
 * fuzzer guesses a digest. docs/FORMAT.md. For the fuzz targets of this folder. */
#ifndef VARVE_TESTS_FUZZ_FRAMED_METADATA_H
#define VARVE_TESTS_FUZZ_FRAMED_METADATA_H

#include "base/zframe.h"
#include "checkpoint/metadata.h"

#define FRAMED_HEADER_BYTES 64

static inline void framed_metadata(struct bytes message, struct buf *file)
{
    static const uint8_t head[20] = "\x56\x2a\x4d\x18\x38\0\0\0VARVECKP\1\0\0";
    struct digest128 digest;

    buf_append(file, head, sizeof head);
    buf_append(file, (const uint8_t[FRAMED_HEADER_BYTES - sizeof head]){0},
               FRAMED_HEADER_BYTES - sizeof head);
    zframe_compress(message, 1, file);
    digest = digest_of(
        bytes_of(file->data + FRAMED_HEADER_BYTES, file->len - FRAMED_HEADER_BYTES));
    put_le64(file->data + 24, file->len - FRAMED_HEADER_BYTES);
    put_le64(file->data + 32, message.len);
    memcpy(file->data + 40, digest.b, sizeof digest.b);
    put_le64(file->data + 56, hash64(bytes_of(file->data, 56)));
}

#endif
