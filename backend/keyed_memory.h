/* keyed_memory.h - the memory that keyed backends share, and the count of what each part takes.
 *
 * Made from a plan (memory_plan.h) before the backends that use it, freed after them. It holds what is there once for
 * all of them: the block cache, the write buffers, and the permission to flush, which is given to a few at a time. What
 * each backend holds by itself it counts here, so that one place knows every part, now and at its most.
 *
 * Thread: any. */
#ifndef VARVE_BACKEND_KEYED_MEMORY_H
#define VARVE_BACKEND_KEYED_MEMORY_H

#include "backend/memory_plan.h"

#include <stdbool.h>

enum memory_part {
    MEMORY_ROWS,          /* row caches */
    MEMORY_IMAGES,        /* copies of rows that a closed epoch still has to write */
    MEMORY_BLOCKS,        /* block cache: data, indexes, filters, and the charge for write buffers: what
                           * these do not use, blocks may */
    MEMORY_WRITE_BUFFERS, /* memtables: a part of the blocks' */
    MEMORY_FLUSHES,       /* sorting, and writing sorted runs */
    MEMORY_COMPACTIONS,   /* what is set aside for those that run */
    MEMORY_PARTS
};
const char *memory_part_name(enum memory_part p); /* "rows" */
struct memory_use {
    uint64_t configured, used, peak;
};
struct keyed_memory_stats {
    struct memory_use parts[MEMORY_PARTS];
};

struct keyed_memory; /* opaque */
struct keyed_memory *keyed_memory_new(const struct memory_plan *plan);
void keyed_memory_free(struct keyed_memory *m); /* NULL is a no-op */
/* All backends are closed: the caches go, the counts stay. */
void keyed_memory_retire(struct keyed_memory *m);
const struct memory_plan *keyed_memory_plan(const struct keyed_memory *m);
void keyed_memory_stats(struct keyed_memory *m, struct keyed_memory_stats *out);

/* Of a part that the caller holds it has `now` bytes, *counted when it said so last. */
void keyed_memory_count(struct keyed_memory *m, enum memory_part p, uint64_t *counted, uint64_t now);
/* Looks at what RocksDB holds: the peaks of blocks and write buffers are of what was seen. */
void keyed_memory_sample(struct keyed_memory *m);
/* Whether a set of rows of that size may go into write buffers. */
bool keyed_memory_buffers_have(struct keyed_memory *m, uint64_t bytes);
/* Waits until fewer than the plan's flushes run. Whoever has begun one depends on nobody else who has. */
void keyed_memory_flush_begin(struct keyed_memory *m);
void keyed_memory_flush_end(struct keyed_memory *m);
struct rocks_shared *keyed_memory_rocks(struct keyed_memory *m);

#endif
