/* fuzz_json.c - any bytes as a REST body: refused with a message, or a value that survives dump and
 * parse. */
#include "base/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct buf once = {0}, twice = {0};
    json_t *value, *again;
    enum rc rc = json_parse(bytes_of(data, size), 1 << 16, &value, &err);

    if (rc != RC_OK) {
        ASSERT((rc == RC_INVALID || rc == RC_LIMIT) && err.rc == rc && err.msg[0] != '\0' &&
               value == NULL);
        return 0;
    }
    json_dump_to(value, size % 2 == 0, &once);
    ASSERT(json_parse(buf_bytes(&once), SIZE_MAX, &again, &err) == RC_OK);
    ASSERT(json_equal(value, again));
    json_dump_to(again, size % 2 == 0, &twice);
    ASSERT(bytes_eq(buf_bytes(&once), buf_bytes(&twice))); /* the order of keys, too */
    json_decref(value);
    json_decref(again);
    buf_release(&once);
    buf_release(&twice);
    return 0;
}
