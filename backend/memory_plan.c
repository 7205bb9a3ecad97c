#include "backend/memory_plan.h"

#define LEAST_SHARED_BYTES (8ull << 20)
#define LEAST_SUBTASK_BYTES (2ull << 20)
#define FLUSHES_MAX 4u
#define COMPACTIONS_MAX 4u
#define WRITE_BUFFER_BYTES_MAX (64ull << 20)
#define FILE_BYTES_LEAST (256ull << 10)

/* Of the whole, at most: */
#define FLUSH_PART 8u
#define COMPACTION_PART 16u
#define WRITE_BUFFER_PART 16u
/* Of what is left: blocks get this many tenths, rows the rest, an eighth of the rows again being images. */
#define BLOCK_TENTHS 3u
#define IMAGE_PART 8u

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t memory_plan_least(uint32_t subtasks)
{
    return LEAST_SHARED_BYTES + subtasks * LEAST_SUBTASK_BYTES;
}

void memory_plan_make(const struct memory_demand *d, struct memory_plan *out)
{
    uint64_t total = d->total_bytes, left = total, own;

    *out = (struct memory_plan){.total_bytes = total, .subtasks = d->subtasks};
    out->flushes = (uint32_t)least(least(d->subtasks, d->cores), FLUSHES_MAX);
    out->flush_bytes = least(MEMORY_FLUSH_BYTES, total / FLUSH_PART / out->flushes);
    out->compactions = (uint32_t)least((d->cores + 1) / 2, COMPACTIONS_MAX);
    out->compaction_bytes = least(MEMORY_COMPACTION_BYTES, total / COMPACTION_PART / out->compactions);
    out->write_buffer_bytes = least(WRITE_BUFFER_BYTES_MAX, total / WRITE_BUFFER_PART);
    left -= out->flushes * out->flush_bytes + out->compactions * out->compaction_bytes + out->write_buffer_bytes;
    out->block_bytes = left * BLOCK_TENTHS / 10;
    own = (left - out->block_bytes) / d->subtasks;
    out->image_bytes = own / (IMAGE_PART + 1);
    out->row_bytes = own - out->image_bytes;
    out->file_bytes = least(MEMORY_FILE_BYTES, 4 * out->compaction_bytes);
    if (out->file_bytes < FILE_BYTES_LEAST)
        out->file_bytes = FILE_BYTES_LEAST;
}
