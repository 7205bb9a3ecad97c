/* Stored values are bytes of files: whatever they are, unpacking answers, and what it takes is what
 * packing makes of it. The first two bytes say the shape. */
#include "backend/value_pack.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct value_shape s;
    uint8_t value[255], again[512];
    size_t len;

    if (size < 2 || data[0] == 0)
        return 0;
    s = (struct value_shape){data[0], data[1] % 10};
    s.head = s.head > s.bytes ? s.bytes : s.head;
    if (!value_unpack(s, bytes_of(data + 2, size - 2), value))
        return 0;
    len = value_pack(s, value, again);
    if (size - 2 < s.bytes && (len != size - 2 || memcmp(again, data + 2, len) != 0))
        abort();
    if (len != 0 && (!value_unpack(s, bytes_of(again, len), again + 256) ||
                     memcmp(again + 256, value, s.bytes) != 0))
        abort();
    return 0;
}
