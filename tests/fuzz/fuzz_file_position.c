/* Positions of a file source from a checkpoint: no crash, and what was taken is written and read
 * again as it was. The first byte chooses the parallelism; the rest is cut into items at 0xff 0xfe.
 */
#include "job/source/file_position.h"

#define ITEMS_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes items[ITEMS_MAX], *again;
    struct file_entries entries, second;
    struct arena *arena = arena_new(0);
    size_t count = 0, again_count, from = 1;
    const char *root;
    struct err err = {0};

    for (size_t i = 1; i + 1 < size && count + 1 < ITEMS_MAX; i++) {
        if (data[i] != 0xff || data[i + 1] != 0xfe)
            continue;
        items[count++] = bytes_of(data + from, i - from);
        from = i + 2;
    }
    if (from < size)
        items[count++] = bytes_of(data + from, size - from);
    if (count > 0 &&
        file_positions_decode(items, count, 0, 1, arena, &entries, &root, &err) == RC_OK) {
        /* One subtask has them all. */
        file_positions_encode(root, &entries, arena, &again, &again_count);
        ASSERT(again_count == entries.count + 1);
        ASSERT(file_positions_decode(again, again_count, 0, 1, arena, &second, &root, &err) ==
               RC_OK);
        ASSERT(second.count == entries.count);
        for (size_t i = 0; i < entries.count; i++) {
            ASSERT(strcmp(entries.items[i].path, second.items[i].path) == 0);
            ASSERT(entries.items[i].offset == second.items[i].offset &&
                   entries.items[i].line == second.items[i].line &&
                   entries.items[i].done == second.items[i].done);
        }
    }
    /* Any share of any parallelism is taken or refused alike. */
    if (size > 1 && count > 0) {
        struct err other = {0};
        uint32_t parallelism = 1 + data[0] % 7u;
        size_t owned = 0;
        enum rc rc = RC_OK;

        for (uint32_t s = 0; s < parallelism; s++) {
            rc = file_positions_decode(items, count, s, parallelism, arena, &second, &root, &other);
            ASSERT((rc == RC_OK) == (err.msg[0] == '\0'));
            for (size_t i = 0; rc == RC_OK && i < second.count; i++)
                owned += second.items[i].mine;
        }
        ASSERT(rc != RC_OK || owned == second.count);
    }
    arena_free(arena);
    return 0;
}
