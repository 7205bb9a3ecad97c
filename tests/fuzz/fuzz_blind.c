/* Operands of totals are bytes of files: whatever they are, merging answers, and in two steps as in
 * one. Each begins with its length, a byte; the first is the row below, if it has any. */
#include "backend/blind.h"

#include <stdlib.h>

#define OPERANDS_MAX 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bytes take(const uint8_t **at, const uint8_t *end)
{
    size_t len = *at < end ? *(*at)++ : 0;
    struct bytes b;

    if (len > (size_t)(end - *at))
        len = (size_t)(end - *at);
    b = bytes_of(*at, len);
    *at += len;
    return b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    struct bytes below = take(&at, end), operands[OPERANDS_MAX], joined;
    struct buf once = {0}, part = {0}, twice = {0};
    size_t count = 0;

    if (below.len == 0)
        below.data = NULL;
    while (at < end && count < OPERANDS_MAX)
        operands[count++] = take(&at, end);
    if (blind_merge(below, operands, count, false, &once)) {
        if (!blind_merge((struct bytes){0}, operands, count, true, &part))
            abort();
        joined = buf_bytes(&part);
        if (!blind_merge(below, &joined, 1, false, &twice) ||
            !bytes_eq(buf_bytes(&once), buf_bytes(&twice)))
            abort();
    }
    buf_release(&once);
    buf_release(&part);
    buf_release(&twice);
    return 0;
}
