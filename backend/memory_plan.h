/* memory_plan.h - how the one number of memory is divided among what keyed state needs.
 *
 *     total = subtasks x (rows + images) + blocks + write buffers
 *             + flushes x flush + compactions x compaction
 *
 * Rows and images are each backend's own; the rest is there once for all that share the number. A small number is
 * divided by the same rules, with smaller parts; below memory_plan_least a job is refused before it starts.
 *
 * Decides only: keyed_memory.h holds what is decided, rocks.h makes caches of it. Pure; any thread. */
#ifndef VARVE_BACKEND_MEMORY_PLAN_H
#define VARVE_BACKEND_MEMORY_PLAN_H

#include <stdint.h>

struct memory_demand {
    uint64_t total_bytes;
    uint32_t subtasks; /* backends that share it; at least 1 */
    uint32_t cores;    /* at least 1 */
};
struct memory_plan {
    uint64_t total_bytes;
    uint32_t subtasks;
    uint64_t row_bytes;   /* of each backend: rows, their indexes and lists */
    uint64_t image_bytes; /* of each, beyond it, while a closed epoch is written: copies of what it still needs */
    uint64_t block_bytes; /* data blocks, indexes, filters */
    uint64_t write_buffer_bytes;
    uint32_t flushes; /* at a time */
    uint64_t flush_bytes;
    uint32_t compactions; /* threads */
    uint64_t compaction_bytes;
    uint64_t file_bytes; /* an SST file ends here at the latest: its writer's memory grows with it */
};

#define MEMORY_FLUSH_BYTES (32ull << 20)
#define MEMORY_COMPACTION_BYTES (16ull << 20)
#define MEMORY_FILE_BYTES (64ull << 20)

/* The least number that this many backends are started with. */
uint64_t memory_plan_least(uint32_t subtasks);
void memory_plan_make(const struct memory_demand *d, struct memory_plan *out);

#endif
