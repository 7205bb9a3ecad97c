/* fuzz_ended.c - any bytes as the note of a job's end: read or refused with a message, and what is
 * read says the same when it is written and read again. */
#include "checkpoint/ended.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct ended first, second;
    struct err err = {0};
    struct buf text = {0};

    if (ended_parse(bytes_of(data, size), arena, &first, &err) == RC_OK) {
        ended_encode(&first, &text);
        ASSERT(ended_parse(buf_bytes(&text), arena, &second, &err) == RC_OK);
        ASSERT(first.end == second.end && first.checkpoint_id == second.checkpoint_id &&
               first.wall_ms == second.wall_ms);
        ASSERT(strcmp(first.job_name, second.job_name) == 0);
        ASSERT((first.savepoint_dir == NULL) == (second.savepoint_dir == NULL));
        ASSERT(first.savepoint_dir == NULL ||
               strcmp(first.savepoint_dir, second.savepoint_dir) == 0);
    } else {
        ASSERT(err.rc == RC_CORRUPT && err.msg[0] != '\0');
    }
    buf_release(&text);
    arena_free(arena);
    return 0;
}
